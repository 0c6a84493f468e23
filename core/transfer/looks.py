"""What a file looks like that nothing was taken of, for people: its form and the names in it, never what was said."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

_LOOKED_AT = 1 << 20
_KEYS = 8
_NAME = re.compile(r"[A-Za-z_][\w .-]{0,39}\Z")

WHAT_TO_DO = (
    "Import takes exports of the programs that docs/import.md lists, JSON lines of {conversation, timestamp, "
    "speaker, text}, and {items: [...]}; another file needs to be rewritten as one of these."
)


def describe_file(path: Path) -> str:
    """Return what a file looks like, in one sentence without its end."""
    if path.is_dir():
        names = sorted({child.suffix.lower() or "no ending" for child in path.rglob("*") if child.is_file()})
        return f"it is a folder of files with {', '.join(names[:_KEYS])}" if names else "it is an empty folder"
    try:
        with path.open("rb") as stream:
            head = stream.read(_LOOKED_AT)
    except OSError:
        return "it cannot be read"
    if not head.strip():
        return "it is empty"
    if head.startswith(b"PK\x03\x04"):
        return "it is a zip archive of files that hold no chat"
    text = head.decode("utf-8-sig", errors="replace").lstrip()
    if text.startswith(("{", "[")):
        return _describe_json(text)
    if re.match(r"<(?:!doctype|html)", text, re.IGNORECASE):
        return "it is a page of HTML; export as JSON or text instead"
    if "\x00" in text or text.count("\ufffd") > len(text) // 10:
        return "it is no text"
    return "it is a text that is neither JSON nor a chat of WhatsApp"


def _describe_json(text: str) -> str:
    value = _first_value(text)
    if isinstance(value, dict):
        return f"it is JSON with the keys {_keys(value)}"
    first = value[0] if isinstance(value, list) and value else value
    if isinstance(first, dict):
        return f"it is a JSON list of objects with the keys {_keys(first)}"
    return "it is an empty JSON list" if value == [] else "it is JSON that holds neither chats nor memories"


def _first_value(text: str) -> Any:
    """Return the first value of a text; of one that is cut off, an object of the keys that can be seen."""
    try:
        return json.JSONDecoder().raw_decode(text)[0]
    except (ValueError, RecursionError):
        found = dict.fromkeys(re.findall(r'"([^"\\]{1,40})"\s*:', text[:4096]))
        return [found] if text.startswith("[") else found


def _keys(value: dict[str, Any]) -> str:
    names = [str(key) for key in value if _NAME.match(str(key))]
    return ", ".join(names[:_KEYS]) + (" and more" if len(names) > _KEYS else "") or "of no name"
