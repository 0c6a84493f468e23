"""A Discord bot that remembers: pip install 'prompt-engine[discord]' openai, then python examples/discord_bot.py

DISCORD_TOKEN, MODEL_URL (an OpenAI-compatible server, such as http://127.0.0.1:11434/v1), MODEL_NAME, MODEL_KEY and
DATABASE_URL come from the environment. personas/iris.md, beside config.yaml, says who Iris is.
"""

from __future__ import annotations

import os

import discord
from openai import AsyncOpenAI
from prompt_engine import Scope, aio, parse_answer, to_messages
from prompt_engine.adapters.discord import message_of, on_delete, on_edit

IRIS = Scope("iris")


class Iris(discord.Client):
    """Answers every message, and remembers it."""

    async def on_message(self, message: discord.Message) -> None:
        """Build the prompt, ask the model, send what it says."""
        if message.author == self.user:
            return
        incoming = message_of(message)
        prompt = await aio.build_json_prompt(incoming, scope=IRIS)
        await aio.save_message(incoming, scope=IRIS)
        async with AsyncOpenAI(base_url=os.environ["MODEL_URL"], api_key=os.environ.get("MODEL_KEY", "none")) as model:
            reply = await model.chat.completions.create(model=os.environ["MODEL_NAME"], messages=to_messages(prompt))
        text = parse_answer(reply.choices[0].message.content or "")["text"]
        if not text:
            return
        sent = await message.channel.send(text[:2000])
        await aio.save_chat_message(
            incoming["interface_path"], text, "Iris", "self",
            message_id=str(sent.id), triggered_by=f"discord/{message.author.id}", scope=IRIS,
        )  # fmt: skip

    async def on_message_edit(self, before: discord.Message, after: discord.Message) -> None:
        """What was said is what it says now."""
        await on_edit(after, scope=IRIS)

    async def on_message_delete(self, message: discord.Message) -> None:
        """What was taken back is gone."""
        await on_delete(message, scope=IRIS)


def make_bot() -> Iris:
    """Return the bot, which reads what people write."""
    intents = discord.Intents.default()
    intents.message_content = True
    return Iris(intents=intents)


if __name__ == "__main__":
    make_bot().run(os.environ["DISCORD_TOKEN"])
