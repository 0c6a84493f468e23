"""Read updates of python-telegram-bot, with chat, topic, privacy, reply and attachments."""

from __future__ import annotations

from typing import Any

from .. import aio
from ..calls.call import GivenSettings
from ..context.incoming import name_attachments
from ..database.engine import Database
from ..errors import MessageError
from ..scope import Scope
from ..shapes import PERSONA_SENDER, WriteResult
from . import missing, scope_on_server

try:
    from telegram import Message, Update
except ImportError as _error:
    raise missing("python-telegram-bot", "telegram") from _error

__all__ = ["conversation_of", "message_of", "on_edit"]

INTERFACE = "telegram"
_MEDIA = ("video", "video_note", "voice", "audio", "document", "animation", "sticker")


def message_of(update: Update | Message) -> dict[str, Any]:
    """Convert a Telegram update's message to the form that `build_json_prompt` and `save_message` take.

    A private chat is a direct conversation, a group is a server of its own, a topic is a thread of its group.

    Raises:
        MessageError: the update holds no message.
    """
    message = _read(update)
    attachments = _list_attachments(message)
    incoming: dict[str, Any] = {
        **_describe(message),
        "interface": INTERFACE,
        "interface_path": conversation_of(message),
        "chat": {"id": str(message.chat.id), "type": message.chat.type, "title": message.chat.title},
        "server_id": _server_of(message),
        "server_name": message.chat.title,
        "is_private": message.chat.type == "private",
        "attachments": attachments,
        **{each["type"]: each for each in attachments if each["type"] in _MEDIA},
    }
    quoted = message.reply_to_message
    # in a topic, every message replies to the message that opened the topic
    if quoted is not None and quoted.forum_topic_created is None:
        incoming["reply_to_message"] = _describe(quoted)
        if message.quote:
            incoming["reply_to_message"]["text"] = message.quote.text
    return incoming


async def on_edit(
    update: Update | Message, *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> WriteResult:
    """Update the text of a stored message, from an update with `edited_message`.

    Returns:
        Reason `not_found` if the message is not stored, `unchanged` if it already has this text.

    Raises:
        MessageError: the update holds no message.
    """
    message = _read(update)
    return await aio.edit_chat_message(
        str(message.message_id),
        message.text or message.caption or name_attachments(_list_attachments(message)),
        interface_path=conversation_of(message),
        db=db, settings=settings, scope=scope_on_server(_server_of(message), scope, settings),
    )  # fmt: skip


def conversation_of(message: Message) -> str:
    """Return the conversation key of a message: `telegram/chat`, or `telegram/chat/topic` in a topic."""
    topic = f"/{message.message_thread_id}" if message.is_topic_message and message.message_thread_id else ""
    return f"{INTERFACE}/{message.chat.id}{topic}"


def _server_of(message: Message) -> str | None:
    return None if message.chat.type == "private" else str(message.chat.id)


def _read(update: Update | Message) -> Message:
    message = update if isinstance(update, Message) else update.effective_message
    if not isinstance(message, Message):
        what = f"The update holds no message: {type(message).__name__}. Hand over updates with a message alone."
        raise MessageError(what, fields=("update",))
    return message


def _describe(message: Message) -> dict[str, Any]:
    """Return id, date, text and sender of a message; the bot's own messages are the persona's."""
    who, chat = message.from_user, message.sender_chat or message.chat
    if who is None:  # messages posted in the name of a channel
        sender = {"id": str(chat.id), "username": chat.username or "", "full_name": chat.title or ""}
    else:
        sender = {"id": str(who.id), "username": who.username or "", "full_name": who.full_name}
    return {
        "message_id": str(message.message_id),
        "date": message.date,
        "text": message.text or message.caption or "",
        "from_user": sender,
        "sender_id": PERSONA_SENDER if who is not None and who.is_bot and _is_own(message, who.id) else None,
    }


def _is_own(message: Message, user_id: int) -> bool:
    """Return whether the bot itself sent a message; False if the update has no running bot."""
    try:
        return bool(message.get_bot().id == user_id)
    except RuntimeError:  # the update was made without a bot, or by a bot that has not started
        return False


def _list_attachments(message: Message) -> list[dict[str, Any]]:
    media = {"photo": message.photo[-1] if message.photo else None} | {kind: getattr(message, kind) for kind in _MEDIA}
    return [_attachment(kind, each) for kind, each in media.items() if each is not None]


def _attachment(kind: str, media: Any) -> dict[str, Any]:
    names = ("file_id", "file_name", "mime_type", "file_size", "duration", "width", "height")
    return {"type": kind} | {name: value for name in names if (value := getattr(media, name, None)) is not None}
