"""Read messages of discord.py, with server, thread, privacy, reply and attachments."""

from __future__ import annotations

from typing import Any

from .. import aio
from ..calls.call import GivenSettings
from ..context.incoming import name_attachments
from ..database.engine import Database
from ..scope import Scope
from ..shapes import PERSONA_SENDER, WriteResult
from . import missing, scope_on_server

try:
    import discord
except ImportError as _error:
    raise missing("discord.py", "discord") from _error

__all__ = ["conversation_of", "message_of", "on_delete", "on_edit"]

INTERFACE = "discord"


def message_of(message: discord.Message) -> dict[str, Any]:
    """Convert a Discord message to the form that `build_json_prompt` and `save_message` take.

    These are private: direct and group messages, private threads, threads of an unknown channel, and channels that
    @everyone cannot view, with their threads. Mentions become names. The bot's own messages are the persona's.
    """
    channel, guild, path = message.channel, message.guild, conversation_of(message.channel)
    own, mentioned = getattr(guild or channel, "me", None), [each.id for each in message.mentions]
    types = {discord.DMChannel: "private", discord.GroupChannel: "group_dm"}
    chat_type = next((name for kind, name in types.items() if isinstance(channel, kind)), "guild")
    incoming = {
        **_read(message),
        "interface": INTERFACE,
        "interface_path": path,
        "chat": {"id": path.split("/")[1], "type": chat_type, "title": getattr(channel, "name", None)},
        "server_id": _server_of(message),
        "server_name": guild.name if guild else None,
        "is_private": _is_private(channel, guild),
        "attachments": _list_attachments(message),
        "is_addressed": own.id in mentioned if own and mentioned else None,
    }
    quoted = message.reference and message.reference.resolved
    if isinstance(quoted, discord.Message):
        incoming["reply_to_message"] = _read(quoted)
    return incoming


async def on_edit(
    message: discord.Message, *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> WriteResult:
    """Update the text of a stored message; in `on_raw_message_edit(payload)`, pass `payload.message`.

    Returns:
        Reason `not_found` if the message is not stored, `unchanged` if it already has this text.
    """
    return await aio.edit_chat_message(
        str(message.id), message.clean_content or name_attachments(_list_attachments(message)),
        interface_path=conversation_of(message.channel),
        db=db, settings=settings, scope=scope_on_server(_server_of(message), scope, settings),
    )  # fmt: skip


async def on_delete(
    message: discord.Message | discord.PartialMessage,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Delete a stored message after its deletion on Discord; a partial message with its id suffices.

    Returns:
        Reason `not_found` if the message is not stored.
    """
    return await aio.delete_chat_message(
        str(message.id), interface_path=conversation_of(message.channel),
        db=db, settings=settings, scope=scope_on_server(_server_of(message), scope, settings),
    )  # fmt: skip


def conversation_of(channel: Any) -> str:
    """Return the conversation key: `discord/channel`, or `discord/channel/thread` in a thread."""
    if isinstance(channel, discord.Thread):
        return f"{INTERFACE}/{channel.parent_id}/{channel.id}"
    return f"{INTERFACE}/{channel.id}"


def _server_of(message: discord.Message | discord.PartialMessage) -> str | None:
    return str(message.guild.id) if message.guild else None


def _is_private(channel: Any, guild: Any) -> bool:
    if guild is None:
        return True
    if isinstance(channel, discord.Thread):  # the bot may not see the channel of the thread
        return channel.is_private() or channel.parent is None or _is_private(channel.parent, guild)
    return not channel.permissions_for(guild.default_role).view_channel


def _list_attachments(message: discord.Message) -> list[dict[str, Any]]:
    return [
        {"filename": each.filename, "content_type": each.content_type, "size": each.size, "url": each.url}
        for each in message.attachments
    ]


def _read(message: discord.Message) -> dict[str, Any]:
    """Return id, date, text and sender of a message; the bot's own messages are the persona's."""
    author, own = message.author, getattr(message.guild or message.channel, "me", None)
    return {
        "message_id": str(message.id),
        "date": message.created_at,
        "text": message.clean_content,
        "from_user": {"id": str(author.id), "username": author.name, "full_name": author.display_name},
        "sender_id": PERSONA_SENDER if own is not None and own.id == author.id else None,
    }
