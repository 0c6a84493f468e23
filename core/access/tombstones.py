"""Records deletions, so that a row whose write began before a deletion is not stored after it.

A front end may send deleted lines again at any time. So the time of each deletion is kept for good, under a digest of
the person or conversation.
"""

import hashlib
import threading
from collections.abc import Iterable

from sqlalchemy import Connection, select

from ..database.dialects import upsert
from ..database.engine import Database
from ..database.ids import BITS
from ..database.schema import counters

_NAME = "forgotten"
_KEPT_MILLISECONDS = 15 * 60 * 1000
_MOST = 10_000
_LOCK = threading.Lock()


def note(
    db: Database, persona: str, cutoff: int, *, people: Iterable[str] = (), conversations: Iterable[str] = ()
) -> None:
    """Record in this process that people or conversations were deleted; rows with ids below `cutoff` are rejected."""
    with _LOCK:  # the id below which rows are too late, by digest of the forgotten person or conversation
        before: dict[bytes, int] = db.caches.get(_NAME, {})
        if len(before) >= _MOST:
            before = {each: at for each, at in before.items() if at >= cutoff - (_KEPT_MILLISECONDS << BITS)}
        new = {digest: max(cutoff, before.get(digest, 0)) for digest in _digests(persona, people, conversations)}
        db.caches[_NAME] = before | new


def is_late(
    db: Database, persona: str, row_id: int, *, people: Iterable[str | None] = (), conversation: str | None = None
) -> bool:
    """Return whether one of these people, or the conversation, was forgotten after the row's id was made."""
    before: dict[bytes, int] = db.caches.get(_NAME, {})
    if not before:
        return False
    wanted = _digests(persona, filter(None, people), filter(None, (conversation,)))
    return any(row_id < before.get(digest, 0) for digest in wanted)


def keep(
    connection: Connection, db: Database, persona: str, *, people: Iterable[str] = (), conversations: Iterable[str] = ()
) -> None:
    """Store that these people or conversations were deleted now."""
    names = sorted(_mark(digest) for digest in _digests(persona, people, conversations))
    if names:
        values = [{"persona_id": persona, "name": name, "value": db.ids.one()} for name in names]
        connection.execute(upsert(counters, db.family, ("value",)), values)


def find_cutoff(db: Database, persona: str, person: str | None, conversation: str) -> int:
    """Return the first row id after the last deletion of the person or conversation; 0 if neither was deleted."""
    names = map(_mark, _digests(persona, filter(None, (person,)), (conversation,)))
    chosen = select(counters.c.value).where(counters.c.persona_id == persona, counters.c.name.in_(list(names)))
    return max((int(row.value) for row in db.read(chosen, source=counters.name)), default=0)


def _mark(digest: bytes) -> str:
    return f"{_NAME} {digest.hex()[:40]}"


def _digests(persona: str, people: Iterable[str], conversations: Iterable[str]) -> list[bytes]:
    named = [("person", each) for each in people] + [("conversation", each) for each in conversations]
    return [hashlib.sha256(repr((persona, *each)).encode("utf-8", "replace")).digest() for each in named]
