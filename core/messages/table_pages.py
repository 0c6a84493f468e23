"""Every message of a conversation, a page at a time, for an export; hidden and excluded ones too."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import and_, bindparam, or_, select

from ..database.dialects import Time
from ..database.readers import Reader
from ..database.rows import read_object
from ..database.schema import chat_history_cache

PAGE = 100
"""Messages read at once: few, since each may hold megabytes."""

_C = chat_history_cache.c
_HERE = (
    _C.persona_id == bindparam("persona"),
    _C.interface_path == bindparam("conversation"),
    _C.audience_id.in_(bindparam("audiences", expanding=True)),
)
_AT: Any = bindparam("at", type_=Time())
_AFTER = and_(_C.timestamp >= _AT, or_(_C.timestamp > _AT, and_(_C.timestamp == _AT, _C.id > bindparam("row"))))
_COLUMNS = (_C.id, _C.timestamp, _C.role, _C.sender_id, _C.sender_name, _C.message_text, _C.hidden, _C.excluded,
            _C.metadata)  # fmt: skip
_IN_ORDER = (_C.timestamp, _C.id)
_FIRST = select(*_COLUMNS).where(*_HERE).order_by(*_IN_ORDER).limit(PAGE)
_NEXT = select(*_COLUMNS).where(*_HERE, _AFTER).order_by(*_IN_ORDER).limit(PAGE)
_METADATA = (_C.id, _C.timestamp, _C.metadata)
_FIRST_METADATA = select(*_METADATA).where(*_HERE).order_by(*_IN_ORDER).limit(PAGE)
_NEXT_METADATA = select(*_METADATA).where(*_HERE, _AFTER).order_by(*_IN_ORDER).limit(PAGE)
_NAMES = (
    select(_C.role, _C.sender_name)
    .where(*_HERE, _C.role == bindparam("role"), _C.sender_name != "")
    .order_by(*_IN_ORDER)
    .limit(1)
)


class Row(NamedTuple):
    """A stored message."""

    id: int
    at: datetime | None
    role: str
    sender_id: str
    name: str
    text: str
    hidden: bool
    excluded: bool
    metadata: dict[str, Any] | None


def _pages(
    read: Reader, persona: str, conversation: str, audiences: Collection[int], first: Any, following: Any
) -> Iterator[list[Any]]:
    values: dict[str, Any] = {"persona": persona, "conversation": conversation, "audiences": sorted(audiences)}
    statement = first
    while page := read(statement, values):
        yield list(page)
        if len(page) < PAGE:
            return
        statement, values = following, {**values, "at": page[-1].timestamp, "row": page[-1].id}


def pages(read: Reader, persona: str, conversation: str, audiences: Collection[int]) -> Iterator[list[Row]]:
    """Yield the messages of a conversation in pages, oldest first.

    Args:
        audiences: those the caller sees.
    """
    for page in _pages(read, persona, conversation, audiences, _FIRST, _NEXT):
        yield [
            Row(r.id, r.timestamp, r.role, r.sender_id or "", r.sender_name or "", r.message_text, bool(r.hidden),
                bool(r.excluded), read_object(r.metadata))
            for r in page
        ]  # fmt: skip


def metadata(
    read: Reader, persona: str, conversation: str, audiences: Collection[int]
) -> Iterator[dict[str, Any] | None]:
    """Yield the metadata of the messages of a conversation, oldest first."""
    for page in _pages(read, persona, conversation, audiences, _FIRST_METADATA, _NEXT_METADATA):
        for r in page:
            yield read_object(r.metadata)


def first_name(read: Reader, persona: str, conversation: str, audiences: Collection[int], role: str) -> str:
    """Return the name of who spoke first in a role; blank where nobody with a name did."""
    values = {"persona": persona, "conversation": conversation, "audiences": sorted(audiences), "role": role}
    found = read(_NAMES, values)
    return str(found[0].sender_name) if found else ""
