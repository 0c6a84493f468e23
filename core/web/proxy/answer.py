"""Read a model's answer in the OpenAI dialect, whole or streamed; a failed answer has no text. Pure."""

import json
import re
from codecs import BOM_UTF8
from collections.abc import Mapping
from typing import Any

from ...text.replies import strip_thoughts
from .messages import read_words

MAX_BYTES = 16_000_000
"""Largest answer that is stored; a larger answer is only passed on."""
_ENDS = ("response.completed", "response.incomplete")
"""Types of the last event of a stream in the Responses API."""
_LINE_END = re.compile(rb"\r\n|\n|\r(?!\Z)")  # the "\n" of a "\r" at the end may come with the next bytes


class AnswerReader:
    """Reader of an answer as its bytes arrive. The first character shows whether they are JSON or events."""

    def __init__(self, length: int | None = None) -> None:
        self._length = length
        self._size = 0
        self._rest = b""
        self._is_stream: bool | None = None
        self._data: list[bytes] = []
        self._parts: list[str] = []
        self._is_done = self._is_finished = self._has_failed = False

    def feed(self, chunk: bytes) -> None:
        self._size += len(chunk)
        if self.is_too_long:
            self._rest, self._data, self._parts = b"", [], []
            return
        self._rest += chunk
        if self._is_stream is None:
            start = self._rest.removeprefix(BOM_UTF8).lstrip()
            if not start:
                return
            self._is_stream, self._rest = not start.startswith(b"{"), start
        if self._is_stream:
            *lines, self._rest = _LINE_END.split(self._rest)
            for line in lines:
                self._read_line(line)

    @property
    def is_too_long(self) -> bool:
        return self._size > MAX_BYTES

    @property
    def is_complete(self) -> bool:
        """Return whether the whole answer has arrived, even if the response has not ended."""
        return self._is_done if self._is_stream else self._size == self._length

    def text(self) -> str | None:
        """Return the answer's text; "" for an answer that is only a tool call, None for a failed or incomplete answer.

        An answer is complete once its finish_reason has arrived.
        """
        if self.is_too_long:
            return None
        if self._is_stream:
            self._read_line(self._rest)
            self._read_event()
            self._rest = b""
            is_whole = (self._is_done or self._is_finished) and not self._has_failed
            return strip_thoughts("".join(self._parts)) if is_whole else None
        choice = self._read_choice(self._rest)
        return None if choice is None or self._has_failed else strip_thoughts(read_words(choice.get("message")))

    def _read_line(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        data = value.strip()
        if name == b"event" and data == b"error":
            self._has_failed = True
        if not line or data == b"[DONE]":
            self._read_event()
            self._is_done = self._is_done or bool(line)
        elif name == b"data":
            self._data.append(data)

    def _read_event(self) -> None:
        """Read the lines of an event as one value, or line by line if the server omits blank lines."""
        lines, self._data = self._data, []
        choice = self._read_choice(b"\n".join(lines))
        for each in [choice] if choice is not None or len(lines) < 2 else map(self._read_choice, lines):
            if each is not None:
                self._parts.append(read_words(each.get("delta")))
                self._is_finished = self._is_finished or bool(each.get("finish_reason"))
                self._is_done = self._is_done or each.get("finish_reason") in _ENDS

    def _read_choice(self, data: bytes) -> dict[str, Any] | None:
        """Parse the first choice of an event; None if the event is invalid. Record whether it reports a failure."""
        try:
            value = json.loads(data)
            self._has_failed = self._has_failed or bool(value.get("error"))
            choice = read_choice(value)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        if choice is None:
            return None
        self._has_failed = self._has_failed or choice.get("finish_reason") == "error" or bool(choice.get("error"))
        return choice


def read_choice(value: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the first choice of an answer or event, of either API; None without a choice."""
    kind = value.get("type")
    if kind in ("response.output_text.delta", "response.refusal.delta"):
        return {"delta": value["delta"]}
    if kind in ("error", "response.failed"):
        return {"error": kind}
    if kind in _ENDS:
        return {"finish_reason": kind}
    if value.get("object") != "response":
        return next((each for each in value["choices"] if isinstance(each, dict) and not each.get("index")), None)
    said = [each for each in value["output"] if isinstance(each, dict) and each.get("type") == "message"]
    is_whole = f"response.{value.get('status')}" in _ENDS
    return {"message": {"content": said}, "finish_reason": "stop"} if is_whole else None
