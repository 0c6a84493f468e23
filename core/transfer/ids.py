"""Ids of messages that have none in their file: the same message gets the same one every time."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from .shapes import Line

_PREFIX = "at-"
_FAMILY_CHARS = len(_PREFIX) + 16


class MadeId(NamedTuple):
    """An id that was made."""

    id: str
    family: str
    """Its beginning, the same for all lines of one time: one of them that is not in a later export, and a new one of
    the same speaker in its place, are one line that was edited. Blank where each line of the file is a message."""


class IdMaker:
    """Makes ids of time and text, which stay the same when a chat or contact gets another name.

    Lines of one file that are alike in everything are numbered; those of two files of a chat are the same.
    """

    def __init__(self) -> None:
        self._seen: dict[int, int] = {}

    def make_id(self, line: Line) -> MadeId:
        """Return the id of a line."""
        made = f"{_PREFIX}{_digest(line.made_of or line.at.isoformat())[:16]}-{_digest(line.text)[:12]}"
        file = line.place.rpartition(": ")[0] or line.place
        known = number_of(f"{file}\x1f{line.room.id}\x1f{made}")
        count = self._seen[known] = self._seen.get(known, 0) + 1
        return MadeId(made if count == 1 else f"{made}-{count}", "" if line.row else made[:_FAMILY_CHARS])


def number_of(made: str) -> int:
    """Return a number in place of an id that was made, to hold many of them in little."""
    return int.from_bytes(hashlib.blake2b(made.encode("utf-8"), digest_size=7).digest(), "big")


def is_of_family(message_id: str | None, family: str) -> bool:
    """Return whether an id was made for a line of that time."""
    return message_id is not None and message_id.startswith(f"{family}-")


def text_digest(text: str) -> str:
    """Return what tells one text from another in the facts that are kept of an import."""
    return _digest(text)[:12]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
