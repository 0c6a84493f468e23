"""The text of an answer in the OpenAI dialect, whole or piece by piece; nothing of one that was cut. Pure."""

from __future__ import annotations

import json
from typing import Any

MOST_BYTES = 16_000_000
"""A longer answer is passed on and not kept."""


class AnswerReader:
    """Reads an answer as its bytes come."""

    def __init__(self, content_type: str) -> None:
        self._is_stream = content_type.partition(";")[0].strip().lower() == "text/event-stream"
        self._rest = b""
        self._parts: list[str] = []
        self._size = 0
        self._whole = False

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self._size += len(chunk)
        if self.is_too_long:
            self._rest, self._parts = b"", []
            return
        self._rest += chunk
        if not self._is_stream:
            return
        *lines, self._rest = self._rest.replace(b"\r\n", b"\n").split(b"\n")
        for line in lines:
            self._read_line(line)

    @property
    def is_too_long(self) -> bool:
        """Whether more came than is kept."""
        return self._size > MOST_BYTES

    def text(self) -> str | None:
        """Return what was answered, blank for an answer without text (a tool call); None while it is not whole."""
        if self.is_too_long:
            return None
        if self._is_stream:
            self._read_line(self._rest)
            return "".join(self._parts) if self._whole else None
        choice = _first_choice(self._rest)
        return None if choice is None else _read_text(choice.get("message"))

    def _read_line(self, line: bytes) -> None:
        if not line.startswith(b"data:"):
            return
        data = line[5:].strip()
        if data == b"[DONE]":
            self._whole = True
            return
        choice = _first_choice(data)
        if choice is not None:
            self._parts.append(_read_text(choice.get("delta")))
            self._whole = self._whole or bool(choice.get("finish_reason"))


def _first_choice(data: bytes) -> dict[str, Any] | None:
    try:
        choices = json.loads(data)["choices"]
        return next(each for each in choices if isinstance(each, dict) and each.get("index", 0) == 0)
    except (ValueError, KeyError, TypeError, StopIteration, RecursionError):
        return None


def _read_text(message: Any) -> str:
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""
