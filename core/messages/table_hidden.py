"""Which messages of a conversation are hidden (chat_history_cache.hidden), and which should be."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, Integer, and_, bindparam, or_, select, update

from ..database.dialects import Time
from ..database.readers import Reader
from ..database.schema import chat_history_cache, scenes

_C = chat_history_cache.c
_S = scenes.c
BY_SCENES, AT_SOURCE = 1, 2
"""What `hidden` holds where a message is: by the scenes, which is worked out anew, or since it came in, which stays."""
_HERE = (_C.persona_id == bindparam("persona"), _C.interface_path == bindparam("conversation"))


class Place(NamedTuple):
    """Where a message stands in its conversation."""

    at: datetime
    row_id: int


class Row(NamedTuple):
    """A message of a conversation, in order."""

    row_id: int
    place: Place
    hidden: bool | None
    """None where it came in hidden, and stays so."""


_BREAKS = (
    select(_C.id, _C.timestamp)
    .select_from(scenes.join(chat_history_cache, and_(_C.persona_id == _S.persona_id, _C.id == _S.break_row)))
    .where(_S.persona_id == bindparam("persona"), _S.conversation_key == bindparam("conversation"), _S.visible == 1)
)
_ALL_BREAKS = _BREAKS.order_by(_C.timestamp, _C.id)
_NEWEST_BREAKS = _BREAKS.order_by(_C.timestamp.desc(), _C.id.desc()).limit(bindparam("most", type_=Integer()))


def read_breaks(read: Reader, persona: str, conversation: str) -> list[Place]:
    """Return where the visible scene breaks lie, oldest first."""
    return [Place(r.timestamp, r.id) for r in read(_ALL_BREAKS, {"persona": persona, "conversation": conversation})]


def read_newest_breaks(read: Reader, persona: str, conversation: str, count: int) -> list[Place]:
    """Return where the newest visible scene breaks lie, oldest of them first."""
    rows = read(_NEWEST_BREAKS, {"persona": persona, "conversation": conversation, "most": count})
    return [Place(r.timestamp, r.id) for r in reversed(rows)]


_ORDER = select(_C.id, _C.timestamp, _C.hidden).where(*_HERE).order_by(_C.timestamp, _C.id)


def read_rows(read: Reader, persona: str, conversation: str) -> list[Row]:
    """Return every message of a conversation, oldest first: its index is its position."""
    rows = read(_ORDER, {"persona": persona, "conversation": conversation})
    return [Row(r.id, Place(r.timestamp, r.id), None if r.hidden == AT_SOURCE else bool(r.hidden)) for r in rows]


def _up_to() -> Any:
    at = bindparam("at", type_=Time())
    return or_(_C.timestamp < at, and_(_C.timestamp == at, _C.id <= bindparam("last_row")))


def _after() -> Any:
    at = bindparam("at", type_=Time())
    return or_(_C.timestamp > at, and_(_C.timestamp == at, _C.id > bindparam("last_row")))


@lru_cache(maxsize=2)
def _misplaced(all_shown: bool) -> Any:
    wrong: Any = _C.hidden == BY_SCENES
    if not all_shown:
        wrong = or_(and_(_C.hidden == 0, _up_to()), and_(_C.hidden == BY_SCENES, _after()))
    return select(_C.id).where(*_HERE, wrong).limit(1)


def is_misplaced(read: Reader, persona: str, conversation: str, last_hidden: Place | None) -> bool:
    """Return whether a message is shown that should be hidden, or the other way round."""
    values = {"persona": persona, "conversation": conversation, **_place(last_hidden)}
    return bool(read(_misplaced(last_hidden is None), values))


def _place(place: Place | None) -> dict[str, Any]:
    return {} if place is None else {"at": place.at, "last_row": place.row_id}


@lru_cache(maxsize=4)
def _set(hide: bool, bounded: bool) -> Any:
    where = [*_HERE, _C.hidden == (0 if hide else BY_SCENES)]
    if bounded:
        where.append(_up_to() if hide else _after())
    return update(chat_history_cache).where(*where).values(hidden=BY_SCENES if hide else 0)


def update_hidden(connection: Connection, persona: str, conversation: str, last_hidden: Place | None) -> int:
    """Hide every message up to one and show the rest, those alone that are not so already; return how many changed."""
    values = {"persona": persona, "conversation": conversation, **_place(last_hidden)}
    changed = 0
    if last_hidden is not None:
        changed += connection.execute(_set(True, True), values).rowcount
    return changed + connection.execute(_set(False, last_hidden is not None), values).rowcount


def give_to_scenes(connection: Connection, persona: str, conversation: str, last_hidden: Place) -> None:
    """Let what came in hidden up to a message be hidden by the scenes from now on."""
    values = {"persona": persona, "conversation": conversation, **_place(last_hidden)}
    stmt = update(chat_history_cache).where(*_HERE, _C.hidden == AT_SOURCE, _up_to()).values(hidden=BY_SCENES)
    connection.execute(stmt, values)


def set_excluded(connection: Connection, persona: str, row_id: int, *, excluded: bool) -> bool:
    """Mark a message as excluded, or take the mark away; return whether that changed it."""
    stmt = update(chat_history_cache).where(_C.persona_id == persona, _C.id == row_id, _C.excluded != int(excluded))
    return connection.execute(stmt.values(excluded=int(excluded))).rowcount > 0


def clear_excluded(connection: Connection, persona: str, conversation: str) -> int:
    """Take the mark `exclude` from all messages of a conversation and return how many had it."""
    stmt = update(chat_history_cache).where(
        _C.persona_id == persona, _C.interface_path == conversation, _C.excluded != 0
    )
    return connection.execute(stmt.values(excluded=0)).rowcount
