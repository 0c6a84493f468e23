"""A Telegram bot that remembers: pip install 'prompt-engine[telegram]' openai, then python examples/telegram_bot.py

TELEGRAM_TOKEN, MODEL_URL (an OpenAI-compatible server, such as http://127.0.0.1:11434/v1), MODEL_NAME, MODEL_KEY and
DATABASE_URL come from the environment.
"""

from __future__ import annotations

import os
from typing import Any

from openai import AsyncOpenAI
from prompt_engine import Scope, aio, parse_answer, to_messages
from prompt_engine.adapters.telegram import message_of, on_edit
from telegram import Update
from telegram.ext import Application, ApplicationBuilder, ContextTypes, MessageHandler, filters

IRIS = Scope("iris")


async def answer(update: Update, context: ContextTypes.DEFAULT_TYPE) -> None:
    """Build the prompt, ask the model, send what it says, and remember both."""
    incoming = message_of(update)
    prompt = await aio.build_json_prompt(incoming, scope=IRIS)
    await aio.save_message(incoming, scope=IRIS)
    async with AsyncOpenAI(base_url=os.environ["MODEL_URL"], api_key=os.environ.get("MODEL_KEY", "none")) as model:
        reply = await model.chat.completions.create(model=os.environ["MODEL_NAME"], messages=to_messages(prompt))
    text = parse_answer(reply.choices[0].message.content or "")["text"]
    if not text:
        return
    sent = await update.effective_message.reply_text(text[:4096])
    await aio.save_chat_message(
        incoming["interface_path"], text, "Iris", "self",
        message_id=str(sent.message_id), triggered_by=f"telegram/{incoming['from_user']['id']}", scope=IRIS,
    )  # fmt: skip


async def correct(update: Update, context: ContextTypes.DEFAULT_TYPE) -> None:
    """What was said is what it says now."""
    await on_edit(update, scope=IRIS)


def make_bot(builder: ApplicationBuilder[Any, Any, Any, Any, Any, Any]) -> Application[Any, Any, Any, Any, Any, Any]:
    """Return the bot: new messages are answered, edited ones stored as they are now."""
    bot = builder.build()
    bot.add_handler(MessageHandler(filters.UpdateType.EDITED_MESSAGE, correct))
    bot.add_handler(MessageHandler(filters.TEXT | filters.CAPTION, answer))
    return bot


if __name__ == "__main__":
    make_bot(Application.builder().token(os.environ["TELEGRAM_TOKEN"])).run_polling()
