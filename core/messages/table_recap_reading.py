"""Reading recaps for the walk of S11 and for the prompt: newest first, with stored token counts, never their texts.

A page is one statement however long the conversation is, and so are the recaps included now; texts are brought for
those alone that have no count by the present counter.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Integer, and_, bindparam, case, func, or_, select

from ..database.bulk import chunks
from ..database.dialects import ID, Key, Time
from ..database.readers import Reader
from ..database.rows import read_object
from ..database.schema import chat_history_cache, conversations
from ..database.schema_stories import message_recaps
from ..database.section_parts import FIRST, SectionPart, columns
from ..database.sources import CHAT, open_to
from ..database.statements import Part
from .table_recaps import AT_ONCE, OWN

_C = chat_history_cache.c
_R = message_recaps.c


@dataclass(frozen=True, slots=True)
class Row:
    """A message with a recap, as the walk needs it."""

    row_id: int
    conversation: str
    at: datetime | None
    role: str
    sender_id: str
    sender_name: str
    excluded: bool
    metadata: Mapping[str, Any]
    tokens: int | None
    """Of the message's text; None where it was never counted."""
    counter: str
    recap_tokens: int | None
    recap_counter: str


_MESSAGE = (_C.id, _C.interface_path, _C.timestamp, _C.role, _C.sender_id, _C.sender_name, _C.excluded, _C.metadata,
            _C.token_count, _C.token_counter)  # fmt: skip
_COUNT = (_R.token_count.label("recap_tokens"), _R.counter.label("recap_counter"))


@lru_cache(maxsize=2)
def _page(first: bool) -> Any:
    recap = and_(_R.persona_id == _C.persona_id, _R.message_row == _C.id, _R.alternative == OWN)
    # A value of its own, not `memory IS NOT NULL`: with that SQLite takes the recaps first and sorts them all.
    takes_part = case((_R.memory.is_(None), 0), (_R.stale != 0, 0), else_=1)
    chosen = (
        select(*_MESSAGE, *_COUNT)
        .select_from(chat_history_cache.outerjoin(message_recaps, recap))
        .prefix_with("STRAIGHT_JOIN", dialect="mysql")
        .where(_C.persona_id == bindparam("persona"), _C.interface_path == bindparam("conversation"), takes_part == 1)
    )
    if not first:
        at = bindparam("at", type_=Time())
        chosen = chosen.where(_C.timestamp <= at, or_(_C.timestamp < at, _C.id < bindparam("id")))
    return chosen.order_by(_C.timestamp.desc(), _C.id.desc()).limit(bindparam("rows", type_=Integer()))


def page(read: Reader, persona: str, conversation: str, rows: int, *, before: Row | None = None) -> list[Row]:
    """Return the next messages with a memory that is not stale, newest first; `before` is the last one had."""
    values: dict[str, Any] = {"persona": persona, "conversation": conversation, "rows": rows}
    if before is not None:
        values |= {"at": before.at, "id": before.row_id}
    return [_row(r) for r in read(_page(before is None), values)]


_FACTS = select(*_MESSAGE).where(_C.persona_id == bindparam("persona"), _C.id == bindparam("id"))


def facts(read: Reader, persona: str, row_id: int) -> Row | None:
    """Return what decides about one message, None where there is none."""
    found = read(_FACTS, {"persona": persona, "id": row_id})
    return _row(found[0], with_recap=False) if found else None


def _row(r: Any, *, with_recap: bool = True) -> Row:
    return Row(
        r.id, r.interface_path, r.timestamp, r.role, r.sender_id or "", r.sender_name or "", bool(r.excluded),
        read_object(r.metadata) or {}, r.token_count, r.token_counter or "",
        r.recap_tokens if with_recap else None, (r.recap_counter or "") if with_recap else "",
    )  # fmt: skip


_INCLUDED = select(_R.message_row, _R.include).where(
    _R.persona_id == bindparam("persona"),
    _R.conversation_key == bindparam("conversation"),
    _R.alternative == OWN,
    _R.include.is_not(None),
)


def included(read: Reader, persona: str, conversation: str) -> dict[int, str]:
    """Return message row to `include` of the recaps that are included as stored."""
    return {r.message_row: r.include for r in read(_INCLUDED, {"persona": persona, "conversation": conversation})}


_MEMORIES = (
    select(_C.id, _R.memory, _C.timestamp)
    .select_from(chat_history_cache)
    .join(message_recaps, and_(_R.persona_id == _C.persona_id, _R.message_row == _C.id, _R.alternative == OWN))
    .where(
        _C.persona_id == bindparam("persona"),
        _C.id.in_(bindparam("ids", expanding=True)),
        _R.memory.is_not(None),
    )
)


def memories(read: Reader, persona: str, rows: Collection[int]) -> list[tuple[int, str]]:
    """Return `(message row, memory)` of these messages, oldest message first."""
    found: list[Any] = []
    for part in chunks(sorted(rows), AT_ONCE):
        found += read(_MEMORIES, {"persona": persona, "ids": part})
    found.sort(key=lambda r: (r.timestamp is not None, r.timestamp, r.id))
    return [(r.id, r.memory) for r in found]


_TEXTS = select(_C.id, _C.message_text).where(
    _C.persona_id == bindparam("persona"), _C.id.in_(bindparam("ids", expanding=True))
)


def texts(read: Reader, persona: str, rows: Collection[int]) -> dict[int, str]:
    """Return message row to the message's text."""
    found: dict[int, str] = {}
    for part in chunks(sorted(rows), AT_ONCE):
        found |= {r.id: r.message_text for r in read(_TEXTS, {"persona": persona, "ids": part})}
    return found


# The prompt

SECTION = FIRST + 10
"""Number of the part that brings the included recaps of the conversation."""
_MOST_LINES = 2000


@lru_cache(maxsize=2)
def section(family: str) -> Part:
    """Return what brings the included recaps of `conversation`, unless stories are off for it: text0 is the recap,
    digest that of the message's text."""
    off = select(conversations.c.stories_off).where(
        conversations.c.persona_id == bindparam("persona", type_=Key(64)),
        conversations.c.conversation_key == bindparam("conversation", type_=Key(512)),
    )
    joined = message_recaps.join(chat_history_cache, and_(_C.persona_id == _R.persona_id, _C.id == _R.message_row))
    made = (
        select(*columns(SECTION, _C.id, texts=(_R.memory,), digest=_C.content_hash, at=_C.timestamp))
        .select_from(joined)
        .where(
            _R.persona_id == bindparam("persona", type_=Key(64)),
            _R.conversation_key == bindparam("conversation", type_=Key(512)),
            _R.include.is_not(None),
            _R.alternative == OWN,
            _R.memory.is_not(None),
            _C.audience_id.in_(bindparam("audiences", expanding=True, type_=ID)),
            open_to(CHAT),
            func.coalesce(off.scalar_subquery(), 0) == 0,
        )
        .order_by(_C.timestamp.desc(), _C.id.desc())
        .limit(bindparam("most", type_=Integer()))
    )
    return Part(made.prefix_with("STRAIGHT_JOIN", dialect="mysql"), family, in_order=True)


def section_part(conversation: str) -> SectionPart:
    """Return the part of a prompt's last statement that brings the included recaps of a conversation."""
    return SectionPart(SECTION, section, {"conversation": conversation, "most": _MOST_LINES}, "message_recaps")


# Counts


@lru_cache(maxsize=2)
def _note(of_recaps: bool) -> Any:
    if of_recaps:
        return (
            message_recaps.update()
            .where(_R.persona_id == bindparam("persona"), _R.message_row == bindparam("row"), _R.alternative == OWN)
            .values(token_count=bindparam("count"), counter=bindparam("name"))
        )
    return (
        chat_history_cache.update()
        .where(_C.persona_id == bindparam("persona"), _C.id == bindparam("row"))
        .values(token_count=bindparam("count"), token_counter=bindparam("name"))
    )


def note_counts(
    connection: Connection, persona: str, counter: str, counts: Mapping[int, int], *, of_recaps: bool
) -> None:
    """Store token counts by message row, of recaps or of the messages' own texts, with the counter's name."""
    ready = [{"persona": persona, "row": row, "count": n, "name": counter} for row, n in sorted(counts.items())]
    if ready:
        connection.execute(_note(of_recaps), ready)
