"""A Telegram bot that remembers: pip install 'prompt-engine[telegram]' openai, then python examples/telegram_bot.py

In groups Telegram shows a bot only what is meant for it. /forget deletes everything it keeps of the sender.
TELEGRAM_TOKEN, MODEL_URL (an OpenAI-compatible server, such as http://127.0.0.1:11434/v1), MODEL_NAME, MODEL_KEY and
DATABASE_URL come from the environment.
"""

from __future__ import annotations

import os
from typing import Any

from openai import AsyncOpenAI, OpenAIError
from prompt_engine import Scope, aio
from prompt_engine.adapters.telegram import message_of, on_edit
from prompt_engine.privacy import scope_of
from telegram import Update
from telegram.ext import Application, ApplicationBuilder, CommandHandler, ContextTypes, MessageHandler, filters

IRIS = Scope("iris")
MAX_CHARS = 12_000


async def answer(update: Update, context: ContextTypes.DEFAULT_TYPE) -> None:
    """Build the prompt, ask the model, send what it says, and remember both."""
    if update.effective_user is None or update.effective_user.is_bot:
        return
    incoming = message_of(update)
    here = scope_of(incoming, scope=IRIS)
    prompt = await aio.build_messages(incoming, max_chars=MAX_CHARS, scope=IRIS)
    await aio.save_message(incoming, scope=IRIS)
    model = context.bot_data["model"]
    try:
        reply = await model.chat.completions.create(model=os.environ["MODEL_NAME"], messages=prompt)
    except OpenAIError:
        await update.effective_message.reply_text("I cannot think just now. Please try again in a minute.")
        return
    text = (reply.choices[0].message.content or "")[:4096]
    if not text:
        return
    sent = await update.effective_message.reply_text(text)
    await aio.save_chat_message(
        here.conversation, text, "Iris", "self",
        message_id=str(sent.message_id), triggered_by=here.participant, scope=here,
    )  # fmt: skip


async def correct(update: Update, context: ContextTypes.DEFAULT_TYPE) -> None:
    """Store the text the message has now."""
    await on_edit(update, scope=IRIS)


async def forget(update: Update, context: ContextTypes.DEFAULT_TYPE) -> None:
    """Delete everything that is kept of the sender, except the privacy level that they have."""
    person, rows = f"telegram/{update.effective_user.id}", await aio.list_privacy(scope=IRIS)
    level = next((row["privacy"] for row in rows if row["user"] == person and not row["conversation"]), None)
    await aio.forget(participant=person, scope=IRIS)
    if level is not None:  # forgetting deletes it, too
        await aio.set_privacy(person, level, scope=IRIS)
    await update.effective_message.reply_text("I have forgotten you.")


def make_bot(builder: ApplicationBuilder[Any, Any, Any, Any, Any, Any]) -> Application[Any, Any, Any, Any, Any, Any]:
    """Return the bot: it answers new messages and stores edited ones."""
    bot = builder.build()
    bot.bot_data["model"] = AsyncOpenAI(
        base_url=os.environ["MODEL_URL"], api_key=os.environ.get("MODEL_KEY", "none"), timeout=60
    )
    bot.add_handler(CommandHandler("forget", forget))
    bot.add_handler(MessageHandler(filters.UpdateType.EDITED_MESSAGE, correct))
    bot.add_handler(MessageHandler(filters.TEXT | filters.CAPTION, answer))
    return bot


if __name__ == "__main__":
    make_bot(Application.builder().token(os.environ["TELEGRAM_TOKEN"])).run_polling()
