"""What a message carries beside its text: a reply, a voice, a video, images and attachments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..shapes import IncomingMessage, Sender
from ..text.host_values import get, is_plain, number_at, text_at, word_at
from ..text.times import parse_time

NON_TEXT = "[Non-text content]"
"""Stands for a replied-to message without text and caption."""

DEFAULT_VIDEO_TYPE = "video/mp4"

_VIDEO_FIELDS = (
    ("video", "video"),
    ("videos", "video"),
    ("video_note", "video_note"),
    ("video_notes", "video_note"),
)
_MEDIA_LISTS = ("media", "attachments")


def input_facts(
    message: IncomingMessage, *, image_data: Any = None, attachments: Any = None
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return `(facts, notes)`: the parts of `input.payload` that are not in every message."""
    notes: list[str] = []
    facts: dict[str, Any] = {"input_source": "voice" if get(message.raw, "voice") else "text"}
    found = {
        "image": _image(image_data, notes),
        "attachments": _attachments(attachments, notes),
        "video": video(message),
        "reply_message_id": reply(message.raw),
    }
    facts.update((name, value) for name, value in found.items() if value)
    return facts, tuple(notes)


def _image(image_data: Any, notes: list[str]) -> dict[str, Any]:
    if image_data is None or isinstance(image_data, Mapping):
        return dict(image_data or {})
    notes.append(f"image_data is of type {type(image_data).__name__} and is left out")
    return {}


def _attachments(attachments: Any, notes: list[str]) -> list[dict[str, Any]]:
    if attachments is None:
        return []
    if not isinstance(attachments, (list, tuple)):
        notes.append(f"attachments are of type {type(attachments).__name__} and are left out")
        return []
    kept = [dict(item) for item in attachments if isinstance(item, Mapping)]
    if len(kept) < len(attachments):
        notes.append(
            f"attachments: {len(attachments) - len(kept)} of {len(attachments)} are no objects and are left out"
        )
    return kept


def reply(raw: Any) -> dict[str, Any] | None:
    """Return {text, timestamp, from {username, usertag}} of the message replied to, None when there is none."""
    quoted = get(raw, "reply_to_message")
    if isinstance(quoted, (str, bytes, bytearray)):
        quoted = {"text": quoted}
    if is_plain(quoted):
        return None
    moment = parse_time(get(quoted, "date", "timestamp"))
    who = Sender(username=text_at(get(quoted, "from_user", "from"), "username"))
    return {
        "text": text_at(quoted, "text", "caption") or NON_TEXT,
        "timestamp": moment.isoformat() if moment else "",
        "from": {"username": who.shown_username, "usertag": who.usertag},
    }


def video(message: IncomingMessage) -> dict[str, Any] | None:
    """Return the first video or video note of a message as data, None when it has none."""
    kind, item = next(_videos(message.raw), ("", None))
    if item is None:
        return None
    data = {
        "type": kind,
        "filename": _said(item, "file_name", "filename", "name"),
        "mime_type": _said(item, "mime_type", "content_type") or DEFAULT_VIDEO_TYPE,
        "duration": number_at(item, "duration"),
        "width": number_at(item, "width"),
        "height": number_at(item, "height"),
        "file_size": number_at(item, "file_size", "size"),
        "has_audio": _switch(get(item, "has_audio")),
        "caption": _said(item, "caption") or _said(message.raw, "caption"),
    }
    shared = ("caption", "mime_type", "file_size", "duration")
    return {
        "type": kind,
        "source": {
            "interface": message.interface,
            "user_id": message.sender.id or None,
            "chat_id": message.chat_id,
            "message_id": message.message_id,
        },
        "video_data": data,
        "metadata": {"timestamp": message.date.isoformat(), **{name: data[name] for name in shared}},
    }


def _videos(raw: Any) -> Iterator[tuple[str, Any]]:
    for field, kind in _VIDEO_FIELDS:
        for item in _members(get(raw, field)):
            yield kind, item
    for field in _MEDIA_LISTS:
        for item in _members(get(raw, field)):
            said = word_at(item, "type")
            if said in ("video", "video_note"):
                yield said, item
            elif text_at(item, "mime_type", "content_type").lower().startswith("video/"):
                yield "video", item


def _members(value: Any) -> Iterator[Any]:
    """Yield the value, or what a list holds, as far as it can have fields."""
    for item in value if isinstance(value, (list, tuple)) else (value,):
        if not is_plain(item):
            yield item


def _said(value: Any, *names: str) -> str | None:
    return text_at(value, *names) or None


def _switch(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None
