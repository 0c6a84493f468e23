"""What a message carries beside its text: a reply, a voice, an image and attachments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..shapes import IncomingMessage
from ..text.hits import known_name
from ..text.host_values import get, is_plain, text_at
from ..text.times import parse_time

NON_TEXT = "[Non-text content]"
"""Stands for a replied-to message without text and caption."""


def input_facts(
    message: IncomingMessage, *, image_data: Any = None, attachments: Any = None
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return `(facts, notes)`: the parts of `input.payload` that are not in every message."""
    notes: list[str] = []
    facts: dict[str, Any] = {"input_source": "voice"} if get(message.raw, "voice") else {}
    found = {
        "image": _image(image_data, notes),
        "attachments": _attachments(attachments, notes),
        "reply_message_id": reply(message.raw),
    }
    facts.update((name, value) for name, value in found.items() if value)
    return facts, tuple(notes)


def _image(image_data: Any, notes: list[str]) -> dict[str, Any]:
    if image_data is None or isinstance(image_data, Mapping):
        return dict(image_data or {})
    notes.append(f"image_data is of type {type(image_data).__name__} and is left out")
    return {}


def _attachments(attachments: Any, notes: list[str]) -> list[Any]:
    if attachments is None:
        return []
    if not isinstance(attachments, (list, tuple)):
        notes.append(f"attachments are of type {type(attachments).__name__} and are left out")
        return []
    return list(attachments)


def reply(raw: Any) -> dict[str, Any] | None:
    """Return text, time and name of the message replied to, as far as known; None when there is none."""
    quoted = get(raw, "reply_to_message")
    if isinstance(quoted, (str, bytes, bytearray)):
        quoted = {"text": quoted}
    if is_plain(quoted):
        return None
    moment = parse_time(get(quoted, "date", "timestamp"))
    who = get(quoted, "from_user", "from")
    facts = {
        "text": text_at(quoted, "text", "caption") or NON_TEXT,
        "timestamp": moment.isoformat() if moment else "",
        "from": known_name(text_at(who, "full_name"), text_at(who, "username")),
    }
    return {name: value for name, value in facts.items() if value}
