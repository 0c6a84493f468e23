"""Running recaps (table running_recaps): numbered versions of one text per conversation."""

from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, Integer, Select, and_, bindparam, func, or_, select, update

from ..access import table_conversations
from ..database.compiled import FIRST, CompiledStatement, Reader, Shape
from ..database.dialects import ID, Key
from ..database.engine import Database
from ..database.rows import read_object
from ..database.schema import conversations, running_recaps
from ..scope import Scope
from .rules_running import Version, read_scenes

_K = conversations.c
_V = running_recaps.c
_NUMBERS = select(_K.current_recap_version, _K.next_recap_version).where(
    _K.persona_id == bindparam("persona"), _K.conversation_key == bindparam("conversation")
)
_FIELDS = (
    "content", "scene_count", "excluded_count", "prev_scene_index", "new_scene_index", "provenance", "created_at",
)  # fmt: skip
"""Columns that have the same name in `Version`."""
_COLUMNS = (_V.version, _V.data, *(_V[name] for name in _FIELDS))


def find_current_number(read: Reader, persona: str, conversation: str) -> int | None:
    rows = read(_NUMBERS, {"persona": persona, "conversation": conversation})
    return next((row.current_recap_version for row in rows), None)


def _version(r: Any) -> Version:
    fields = {name: getattr(r, name) for name in _FIELDS} | {"provenance": r.provenance or ""}
    return Version(**fields, number=r.version, scenes=read_scenes(read_object(r.data)))


def _select(persona: str, conversation: str) -> Select[Any]:
    here = (_V.persona_id == persona, _V.conversation_key == conversation, _V.deleted_at.is_(None))
    return select(*_COLUMNS).where(*here)


def read_versions(read: Reader, persona: str, conversation: str) -> list[Version]:
    """Return a conversation's running recap versions that were not deleted, lowest number first."""
    return [_version(r) for r in read(_select(persona, conversation).order_by(_V.version), {})]


def find_version(read: Reader, persona: str, conversation: str, number: int) -> Version | None:
    return next((_version(r) for r in read(_select(persona, conversation).where(_V.version == number), {})), None)


def find_current(read: Reader, persona: str, conversation: str) -> Version | None:
    number = find_current_number(read, persona, conversation)
    return None if number is None else find_version(read, persona, conversation, number)


class CurrentRecap(NamedTuple):
    id: int
    content: str | None
    provenance: str | None


CURRENT = Shape(FIRST + 11, CurrentRecap, _V.version, content=_V.content, provenance=_V.provenance)


@lru_cache(maxsize=2)
def select_current(family: str) -> CompiledStatement:
    same = (_V.persona_id == _K.persona_id, _V.conversation_key == _K.conversation_key)
    joined = conversations.join(running_recaps, and_(*same, _V.version == _K.current_recap_version))
    current = select(*CURRENT.columns).select_from(joined).where(
        _K.persona_id == bindparam("persona", type_=Key(64)),
        _K.conversation_key == bindparam("conversation", type_=Key(512)),
        _K.audience_id.in_(bindparam("audiences", expanding=True, type_=ID)),
        or_(_K.local_only == 0, bindparam("local_only", type_=Integer()) == 1),
        _K.stories_off == 0,
        _V.deleted_at.is_(None),
    )  # fmt: skip
    return CompiledStatement(current, family, in_order=True)


def insert_version(connection: Connection, db: Database, scope: Scope, new: Version) -> int:
    """Store a running recap version under the next free number, make it current and return the number."""
    persona, conversation, following = scope.persona, scope.conversation or "", _K.next_recap_version
    here = update(conversations).where(_K.persona_id == persona, _K.conversation_key == conversation)
    # In this order: MySQL evaluates assignments from left to right, with the new values.
    claim = here.ordered_values((_K.current_recap_version, following), (following, following + 1))
    if not connection.execute(claim).rowcount:
        table_conversations.ensure(connection, db, scope)
        connection.execute(claim)
    row = connection.execute(_NUMBERS, {"persona": persona, "conversation": conversation}).one()
    stored = replace(new, number=int(row.next_recap_version) - 1, created_at=db.clock())
    connection.execute(running_recaps.insert().values(build_row(persona, conversation, stored)))
    return stored.number


def build_row(persona: str, conversation: str, version: Version) -> dict[str, Any]:
    key = {"persona_id": persona, "conversation_key": conversation, "version": version.number}
    scenes = None if version.scenes is None else {"scenes": [list(each) for each in version.scenes]}
    return {**key, **{name: getattr(version, name) for name in _FIELDS}, "data": scenes}


def hold_current_number(connection: Connection, persona: str, conversation: str) -> int | None:
    """Lock a conversation until the transaction ends, and return the number of its current version."""
    values = {"persona": persona, "conversation": conversation}
    return connection.execute(_NUMBERS.with_for_update(), values).scalar()


def set_current(connection: Connection, persona: str, conversation: str, number: int) -> bool:
    hold_current_number(connection, persona, conversation)
    if find_version(connection.execute, persona, conversation, number) is None:
        return False
    return update_conversation(connection, persona, conversation, current_recap_version=number)


def delete_version(connection: Connection, persona: str, conversation: str, number: int, now: datetime) -> bool:
    """Delete a version and return whether it existed; the highest remaining version replaces it if it was current."""
    current = hold_current_number(connection, persona, conversation)
    here = (_V.persona_id == persona, _V.conversation_key == conversation, _V.deleted_at.is_(None))
    statement = update(running_recaps).where(*here, _V.version == number).values(deleted_at=now, content="", data=None)
    if not connection.execute(statement).rowcount:
        return False
    if current == number:
        highest = connection.execute(select(func.max(_V.version)).where(*here)).scalar()
        update_conversation(connection, persona, conversation, current_recap_version=highest)
    return True


def update_conversation(connection: Connection, persona: str, conversation: str, **columns: int | None) -> bool:
    here = (_K.persona_id == persona, _K.conversation_key == conversation)
    return bool(connection.execute(update(conversations).where(*here).values(columns)).rowcount)
