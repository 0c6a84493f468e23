"""Rows a search brought, as the last round trip gives them: read, and put together where one comes more than once.

Called by `search.reading.last_statement`; what is asked for stands in `search.reading.by_id`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ...database import sources
from ...database.dialects import from_key, microseconds, read_time
from ...text.folding import fold
from ..ranking.people import NOBODY, PERSONA, Speaker
from . import near as search_near

COLUMNS = 13
"""Columns of every branch of the last round trip."""
NEAR_CHARS = 1000
"""Characters of the text of a row that was brought for its neighbour; more where a snippet needs more."""
_CHAT, _DIARY = sources.CHAT.number, sources.AI_DIARY.number


@dataclass(slots=True)
class FoundRow:
    """A row that may become a hit, with its texts.

    Not frozen: a search makes hundreds, and a frozen one takes three times as long.
    """

    source: int
    id: int
    at_us: int
    texts: tuple[str, ...]
    """The text columns; the diary has four, content first."""
    folded: str
    tags: Any
    """As stored: JSON text, or None for the chat."""
    digest: bytes | None
    conversation: str
    """Conversation key; blank where the row has none."""
    sender: str
    """Sender id of a chat row; blank elsewhere."""
    message_id: str | None
    speaker: Speaker = NOBODY
    """Who said a chat row."""
    chars: int = 0
    """Length of the folded text of a chat row; 0 elsewhere."""
    stretches: list[int] = field(default_factory=list)
    """Numbers of the stretches it was read in (`search.ranking.surroundings`)."""


_NUMBERS = re.compile(rb"(-?\d+) " * COLUMNS)


def unpacked(packed: bytes | str | None) -> list[list[Any]] | None:
    """Return the rows of a packed text as `row_branches` brings them otherwise, texts as texts and keys as bytes.

    None where the text was cut: servers have a greatest length of their own.

    >>> row = "2 7 6 -1 -1 -1 -1 3 -1 4 0 -1 5 a bé 1 2a  bwhen!"
    >>> unpacked(f"1 {row}".encode())
    [[2, 7, 'a bé ', None, None, None, None, b'1 2', None, b'a  b', b'', None, b'when!']]
    >>> unpacked(b"0"), unpacked(f"2 {row}".encode()), unpacked(b"2"), unpacked(None)
    ([], None, None, None)
    """
    if packed is None:
        return None
    said = packed if isinstance(packed, bytes) else packed.encode("utf-8", "surrogateescape")
    count, _, data = said.partition(b" ")
    rows: list[list[Any]] = []
    at, end = 0, len(data)
    while at < end:
        numbers = _NUMBERS.match(data, at)
        if numbers is None:
            return None
        at = numbers.end()
        source, row_id, *sizes = map(int, numbers.groups())
        row: list[Any] = [source, row_id]
        for size in sizes:
            if size < 0:
                row.append(None)
            else:
                row.append(data[at : at + size])
                at += size
        row[2:7] = [None if text is None else text.decode("utf-8", "replace") for text in row[2:7]]
        rows.append(row)
    return rows if at == end and len(rows) == int(count) else None


Rows = dict[tuple[int, int], FoundRow]


class Found:
    """Takes rows as they come; one that comes more than once is in all its stretches.

    What many rows have in common is read once: keys of conversations and people.
    """

    __slots__ = ("_keys", "_rows", "_speakers", "is_whole")

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self.is_whole = True
        """Of no text that holds many rows some are missing."""
        self._keys: dict[Any, str] = {None: ""}
        self._speakers: dict[tuple[Any, Any, int], Speaker] = {}

    def take(self, row: Any) -> None:
        """Take what a branch of `search_read.row_branches` brings: a row, or many in one."""
        if len(row) < COLUMNS or row[1] is None:
            packed = row[0] if len(row) < COLUMNS else row[7]
            found = unpacked(packed)
            self.is_whole &= found is not None
            for one in found or ():
                self.take(one)
            return
        # Of a row asked for by its id there is more of the text.
        part = row[0]
        place = (part if part >= 0 else _CHAT, row[1])
        known = self._rows.get(place)
        if known is None:
            self._rows[place] = self._read(row)
        elif part < 0:
            known.stretches.append(search_near.FIRST - part)
        else:
            made = self._rows[place] = self._read(row)
            made.stretches.extend(known.stretches)

    def _read(self, row: Any) -> FoundRow:
        """Return a row as it is read; of a hash that is none, put there by hand, it has none."""
        part, row_id, text, name, size, fourth, folded, tags, digest, conversation, sender, message, at = row
        keys = self._keys
        if conversation not in keys:
            keys[conversation] = from_key(conversation)
        if sender not in keys:
            keys[sender] = from_key(sender)
        chat = part < 0 or part == _CHAT
        chars, own = divmod(int(size or 0), 2) if chat else (0, 0)
        made = FoundRow(
            _CHAT if part < 0 else part,
            row_id,
            _stored_us(at),
            (text or "",),
            folded or "",
            None,
            bytes(digest) if isinstance(digest, (bytes, bytearray)) else None,
            keys[conversation],
            keys[sender],
            None if message is None else from_key(message),
            NOBODY,
            chars,
        )
        if not chat:
            made.tags = None if tags is None else from_key(tags)
            if part == _DIARY:
                made.texts = (text or "", name or "", size or "", fourth or "")
            return made
        if part < 0:
            made.stretches.append(search_near.FIRST - part)
            made.folded = fold(text[:NEAR_CHARS]) if text else ""
        who = (name, tags, own)
        speaker = self._speakers.get(who)
        if speaker is None:
            speaker = Speaker(name or "", "" if tags is None else from_key(tags), PERSONA if own else "")
            self._speakers[who] = speaker
        made.speaker = speaker
        return made


@lru_cache(maxsize=4096)
def _stored_us(at: Any) -> int:
    """Return a stored time in microseconds; the same rows come again and again."""
    return microseconds(read_time(at))
