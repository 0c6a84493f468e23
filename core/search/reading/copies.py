"""What was said over and over: a command of a bot, a greeting of every morning."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import bindparam, select

from ...database import sources
from ...database.engine import Database
from ...database.schema import chat_history_cache
from ..ranking.ranking import Candidate
from .found_rows import FoundRow

OFTEN = 8
"""Rows of one text that a round has to read before the others are asked for."""
_CHAT = sources.CHAT.number
_C = chat_history_cache.c
_COPIES = (
    select(_C.id)
    .where(
        _C.persona_id == bindparam("persona"),
        _C.interface_path == bindparam("conversation"),
        _C.content_hash == bindparam("digest"),
    )
    .order_by(_C.timestamp.desc(), _C.id.desc())
)
_STAYS = frozenset(("", "limit", "nearly the same"))
"""What became of a row that others are compared with."""
_AS_ITS_COPIES = _STAYS | {"duplicate", "visible"}
"""What became of a row because of its text, which its copies share."""


class Repeated(NamedTuple):
    """A text that a round found in many messages of a conversation."""

    conversation: str
    digest: bytes
    stay: frozenset[int]
    """Ids of the messages that stand for it: those that are no copies, and the one that is worth most."""


def list_repeated(read: Iterable[tuple[Candidate, FoundRow, str]]) -> list[Repeated]:
    """Return the texts that stand in many of the messages read."""
    found: defaultdict[tuple[str, bytes], list[tuple[Candidate, str]]] = defaultdict(list)
    for c, row, reason in read:
        if row.source == _CHAT and row.digest is not None and row.folded.strip():
            found[row.conversation, row.digest].append((c, reason))
    made = []
    for (conversation, digest), rows in found.items():
        if len(rows) >= OFTEN and any(reason in _AS_ITS_COPIES for _, reason in rows):
            best, _ = max(rows, key=lambda each: each[0].score)
            stay = {c.id for c, reason in rows if reason in _STAYS}
            made.append(Repeated(conversation, digest, frozenset({*stay, best.id})))
    return made


def find_copies(db: Database, persona: str, repeated: Sequence[Repeated]) -> list[tuple[int, int]]:
    """Return source and id of the messages that others stand for; the newest of a text stays as well."""
    made: list[tuple[int, int]] = []
    for one in repeated:
        asked = {"persona": persona, "conversation": one.conversation, "digest": one.digest}
        newest_first = [row.id for row in db.read(_COPIES, asked, source="chat_history_cache")]
        made += [(_CHAT, row_id) for row_id in newest_first[1:] if row_id not in one.stay]
    return made
