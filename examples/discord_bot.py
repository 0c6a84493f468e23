"""A Discord bot that remembers: pip install 'prompt-engine[discord]' openai, then python examples/discord_bot.py

It remembers the channels it may see, and answers direct messages, mentions and replies. A message that only asks it to
forget the sender ("can you forget me?", "delete my data") deletes everything it keeps of them. DISCORD_TOKEN, MODEL_URL
(an OpenAI-compatible server, such as http://127.0.0.1:11434/v1), MODEL_NAME, MODEL_KEY and DATABASE_URL come from the
environment. personas/iris.md, in the folder of config.yaml, describes Iris.
"""

from __future__ import annotations

import asyncio
import os
import re

import discord
from openai import AsyncOpenAI, OpenAIError
from prompt_engine import Scope, aio
from prompt_engine.adapters.discord import message_of, on_delete, on_edit
from prompt_engine.privacy import scope_of

IRIS = Scope("iris")
MAX_CHARS = 12_000
ANSWERS_AT_ONCE = 4
POLITE = r"(?:<@!?\d+>|\b(?:iris|hey|hi|please|pls|(?:can|could|will|would) you|just|now|thanks|thank you)\b|\W)*"
DELETE = r"(?:forget|delete|erase|remove)"
FORGET = re.compile(
    rf"{POLITE}(?:forget (?:all |everything )?(?:about )?me"
    rf"|{DELETE} (?:all )?(?:of )?my (?:data|messages|history|memories|information|info)"
    rf"|{DELETE} (?:everything|all|what) you (?:know|have|remember|stored) (?:about|of|on) me){POLITE}",
    re.IGNORECASE,
)


class Iris(discord.Client):
    """Remembers what people write, and answers where it is spoken to."""

    def __init__(self, *, intents: discord.Intents) -> None:
        super().__init__(intents=intents)
        self.model = AsyncOpenAI(
            base_url=os.environ["MODEL_URL"], api_key=os.environ.get("MODEL_KEY", "none"), timeout=60
        )
        self.answering = asyncio.Semaphore(ANSWERS_AT_ONCE)

    async def on_message(self, message: discord.Message) -> None:
        """Store the message; answer it where it is meant for the bot."""
        if message.author.bot:
            return
        incoming = message_of(message)
        if not self.is_meant(message):
            await aio.save_message(incoming, scope=IRIS)
        elif FORGET.fullmatch(message.content):
            await self.forget(f"discord/{message.author.id}")
            await message.channel.send("I have forgotten you.")
        else:
            async with self.answering:
                await self.answer(message, incoming)

    async def forget(self, person: str) -> None:
        """Delete everything that is kept of a person, except the privacy level that they have."""
        rows = await aio.list_privacy(scope=IRIS)
        level = next((row["privacy"] for row in rows if row["user"] == person and not row["conversation"]), None)
        await aio.forget(participant=person, scope=IRIS)
        if level is not None:  # forgetting deletes it, too
            await aio.set_privacy(person, level, scope=IRIS)

    def is_meant(self, message: discord.Message) -> bool:
        """Return whether a message is direct, mentions the bot, or replies to it."""
        replied = message.reference.resolved if message.reference else None
        to_me = isinstance(replied, discord.Message) and replied.author == self.user
        return message.guild is None or to_me or self.user in message.mentions

    async def answer(self, message: discord.Message, incoming: dict) -> None:
        """Build the prompt, ask the model, send and store what it says."""
        here = scope_of(incoming, scope=IRIS)
        prompt = await aio.build_messages(incoming, max_chars=MAX_CHARS, scope=IRIS)
        await aio.save_message(incoming, scope=IRIS)
        try:
            reply = await self.model.chat.completions.create(model=os.environ["MODEL_NAME"], messages=prompt)
        except OpenAIError:
            await message.channel.send("I cannot think just now. Please try again in a minute.")
            return
        text = (reply.choices[0].message.content or "")[:2000]
        if not text:
            return
        sent = await message.channel.send(text)
        await aio.save_chat_message(
            here.conversation, text, "Iris", "self",
            message_id=str(sent.id), triggered_by=here.participant, scope=here,
        )  # fmt: skip

    async def on_raw_message_edit(self, payload: discord.RawMessageUpdateEvent) -> None:
        """Store the text a message has now, also one from before this program was started."""
        await on_edit(payload.message, scope=IRIS)

    async def on_raw_message_delete(self, payload: discord.RawMessageDeleteEvent) -> None:
        """Delete the message and what was made of it."""
        await self.drop(payload.channel_id, {payload.message_id})

    async def on_raw_bulk_message_delete(self, payload: discord.RawBulkMessageDeleteEvent) -> None:
        """Delete what a moderator removed at once, as with a ban."""
        await self.drop(payload.channel_id, payload.message_ids)

    async def drop(self, channel_id: int, message_ids: set[int]) -> None:
        """Delete messages of a channel."""
        channel = self.get_channel(channel_id) or await self.fetch_channel(channel_id)
        for each in message_ids:
            await on_delete(channel.get_partial_message(each), scope=IRIS)


def make_bot() -> Iris:
    """Return the bot, which reads what people write."""
    intents = discord.Intents.default()
    intents.message_content = True
    return Iris(intents=intents)


if __name__ == "__main__":
    make_bot().run(os.environ["DISCORD_TOKEN"])
