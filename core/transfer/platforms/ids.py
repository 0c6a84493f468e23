"""Ids of lines that have none in their export: made of place and content, the same for the same line every time."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from .values import Line

_PREFIX = "at-"
_FAMILY_CHARS = len(_PREFIX) + 16


class MadeId(NamedTuple):
    """An id that was made."""

    id: str
    family: str
    """Its beginning, the same for all lines of one speaker at one time: one of them that is not in a later export, and
    a new one in its place, are one line that was edited."""


class IdMaker:
    """Makes ids for the lines of one export, in their order; lines that are alike in everything are numbered."""

    def __init__(self) -> None:
        self._seen: dict[int, int] = {}

    def make(self, line: Line) -> MadeId:
        """Return the id of a line."""
        who = line.speaker.id if line.speaker else ""
        place = _digest("\x1f".join((line.room.id, line.made_of or line.at.isoformat(), who)))
        made = f"{_PREFIX}{place[:16]}-{_digest(line.text)[:12]}"
        known = number_of(made)
        count = self._seen[known] = self._seen.get(known, 0) + 1
        return MadeId(made if count == 1 else f"{made}-{count}", made[:_FAMILY_CHARS])


def number_of(made: str) -> int:
    """Return a number in place of an id that was made, to hold many of them in little."""
    return int.from_bytes(hashlib.blake2b(made.encode("utf-8"), digest_size=7).digest(), "big")


def is_of_family(message_id: str | None, family: str) -> bool:
    """Return whether an id was made for a line of that speaker and time."""
    return message_id is not None and message_id.startswith(f"{family}-")


def text_digest(text: str) -> str:
    """Return what tells one text from another in the facts that are kept of an import."""
    return _digest(text)[:12]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
