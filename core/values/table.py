"""Named values (table stored_values), and the memory item that makes each searchable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection, Select, and_, bindparam, delete, func, insert, or_, select, update

from ..access import table as audience_table
from ..access import table_conversations, tombstones
from ..access.rules import AudienceKey
from ..calls import screening
from ..calls.call import Call
from ..database.bulk import chunks
from ..database.dialects import Time
from ..database.readers import Reader
from ..database.rows import text as checked_text
from ..database.schema import (
    NAME_BYTES,
    NAMESPACE_BYTES,
    audiences,
    conversations,
    item_history,
    memories,
    participants,
    stored_values,
)
from ..database.sources import MEMORIES
from ..errors import MessageError
from ..index import indexed
from ..memories import table as memories_table
from ..memories.new_item import NewMemory
from ..scope import key_text
from ..shapes import WriteResult

Kind = Literal["file", "entry"]
"""file: a text under a path. entry: JSON under a namespace and a key."""

SOURCE = "stored_values"
AT_ONCE = 500
_END = "\x1f"
"""Ends each part of a namespace, so that `u1` is not a prefix of `u10`."""
_ESCAPE = "\x1e"
_SOURCES: dict[Kind, str] = {"file": "memory_file", "entry": "store"}
"""Where the items of values come from."""
_V, _M = stored_values.c, memories.c
_BEGINNING = datetime(1970, 1, 2, tzinfo=UTC)
"""A time at which nothing has expired."""


def write_namespace(parts: Sequence[str]) -> str:
    """Return a namespace as one text; only the namespaces below it begin with it."""
    return "".join(part.replace(_ESCAPE, _ESCAPE + "0").replace(_END, _ESCAPE + "1") + _END for part in parts)


def read_namespace(stored: str) -> tuple[str, ...]:
    return tuple(part.replace(_ESCAPE + "1", _END).replace(_ESCAPE + "0", _ESCAPE) for part in stored.split(_END)[:-1])


def check_name(namespace: Sequence[str], name: str) -> ValueName:
    """Return a name that fits its columns."""
    return ValueName(check_namespace(namespace, "namespace"), key_text(name, "key", NAME_BYTES))


def check_namespace(namespace: Sequence[str], field: str) -> tuple[str, ...]:
    """Return a namespace, or the beginning of one, that fits its column."""
    if not isinstance(namespace, (tuple, list)) or not all(isinstance(part, str) for part in namespace):
        raise MessageError.of_type(field, namespace, "a tuple of texts")
    key_text(write_namespace(namespace), field, NAMESPACE_BYTES)
    return tuple(namespace)


class ValueName(NamedTuple):
    """What a value is called."""

    namespace: tuple[str, ...]
    name: str


@dataclass(frozen=True, slots=True)
class StoredValue:
    """One value as it is stored."""

    id: int
    namespace: tuple[str, ...]
    name: str
    value: str | None
    """A file's text or an entry's JSON; None for a folder."""
    created_at: datetime
    updated_at: datetime
    memory_id: int | None = None
    ttl_seconds: int | None = None
    expires_at: datetime | None = None
    score: float | None = None
    text: str = ""
    """The part that searches look at; blank for nothing."""


@dataclass(frozen=True, slots=True)
class NewValue:
    """A value as it is to be stored."""

    namespace: tuple[str, ...]
    name: str
    value: str | None
    text: str = ""
    """As in `StoredValue`."""
    ttl_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Address:
    """Whose values a scope reaches."""

    persona: str
    own: AudienceKey
    owners: tuple[str, ...]
    """Keys of the person's identities; one blank key where nobody is speaking."""
    kind: Kind
    local: bool
    """Values of conversations that stay on this machine too."""


def find_owners(read: Reader, persona: str, participant: str | None) -> tuple[str, ...]:
    """Return the keys of all linked identities of who is speaking; one blank key where nobody is."""
    if not participant:
        return ("",)
    p = participants.c
    person = select(p.person_key).where(p.persona_id == persona, p.participant_key == participant)
    linked = select(p.participant_key).where(p.persona_id == persona, p.person_key == person.scalar_subquery())
    return tuple(sorted({participant, *(row.participant_key for row in read(linked, {}))}))


def _where(address: Address, now: datetime) -> list[Any]:
    a, k = audiences.c, conversations.c
    own = select(a.audience_id).where(
        a.persona_id == address.persona,
        a.kind == address.own.kind,
        a.server_id == address.own.server,
        a.ref == address.own.ref,
    )
    conditions = [
        _V.persona_id == address.persona,
        _V.audience_id == own.scalar_subquery(),
        _V.kind == address.kind,
        _V.participant_key.in_(address.owners),
        or_(_V.expires_at.is_(None), _V.expires_at > bindparam("now", now, type_=Time())),
        # who deletes the item on a page deletes the value
        or_(_V.memory_id.is_(None), and_(_M.archived_at.is_(None), _M.superseded_by.is_(None), _M.id.is_not(None))),
    ]
    if not address.local:
        closed = select(k.local_only).where(k.persona_id == _V.persona_id, k.conversation_key == _V.conversation_key)
        conditions.append(func.coalesce(closed.scalar_subquery(), 0) == 0)
    return conditions


_JOINED = stored_values.outerjoin(memories, and_(_M.persona_id == _V.persona_id, _M.id == _V.memory_id))
_COLUMNS = (_V.id, _V.namespace, _V.name, _V.value, _V.memory_id, _V.ttl_seconds, _V.expires_at, _V.created_at,
            _V.updated_at, _M.content)  # fmt: skip


def _below(namespace: Sequence[str]) -> list[Any]:
    low = write_namespace(namespace)
    if not low:
        return []
    return [_V.namespace >= low, _V.namespace < low[:-1] + "\x20"]  # the character after the one that ends a part


def _read(row: Any, kind: Kind) -> StoredValue:
    held = row.content if kind == "file" and row.memory_id is not None else row.value
    return StoredValue(
        int(row.id),
        read_namespace(row.namespace),
        row.name,
        held,
        row.created_at,
        row.updated_at,
        None if row.memory_id is None else int(row.memory_id),
        row.ttl_seconds,
        row.expires_at,
        text=row.content or "",
    )


def _select(address: Address, now: datetime, prefix: Sequence[str] = ()) -> Select[Any]:
    return select(*_COLUMNS).select_from(_JOINED).where(*_where(address, now), *_below(prefix))


def find_values(
    read: Reader, address: Address, names: Iterable[ValueName], now: datetime
) -> dict[ValueName, StoredValue]:
    """Return the values with these names; of two of one name the newest."""
    values: dict[ValueName, StoredValue] = {}
    by_namespace: dict[str, set[str]] = {}
    for each in names:
        by_namespace.setdefault(write_namespace(each.namespace), set()).add(each.name)
    for namespace, wanted in sorted(by_namespace.items()):
        for part in chunks(sorted(wanted), AT_ONCE):
            here = (_V.namespace == namespace, _V.name.in_(part))
            for row in read(_select(address, now).where(*here).order_by(_V.id), {}):
                value = _read(row, address.kind)
                values[ValueName(value.namespace, value.name)] = value
    return values


def list_values(
    read: Reader,
    address: Address,
    prefix: Sequence[str],
    now: datetime,
    *,
    limit: int | None = None,
    offset: int = 0,
) -> list[StoredValue]:
    """Return the values in a namespace and below it, the one changed last first."""
    statement = _select(address, now, prefix).order_by(_V.updated_at.desc(), _V.id.desc())
    if limit is not None:
        statement = statement.limit(limit).offset(offset)
    return [_read(row, address.kind) for row in read(statement, {})]


def find_by_items(
    read: Reader, address: Address, prefix: Sequence[str], ids: Iterable[int], now: datetime
) -> dict[int, StoredValue]:
    """Return the values below a namespace that these memory items belong to, by item."""
    values: dict[int, StoredValue] = {}
    for part in chunks(sorted(set(ids)), AT_ONCE):
        for row in read(_select(address, now, prefix).where(_V.memory_id.in_(part)).order_by(_V.id), {}):
            values[int(row.memory_id)] = _read(row, address.kind)
    return values


def list_namespaces(read: Reader, address: Address, now: datetime) -> list[tuple[str, ...]]:
    """Return every namespace with values, sorted."""
    chosen = select(_V.namespace).select_from(_JOINED).where(*_where(address, now)).distinct()
    return sorted(read_namespace(row.namespace) for row in read(chosen, {}))


def refresh_values(connection: Connection, address: Address, rows: Iterable[StoredValue], now: datetime) -> None:
    """Let values that were read live on for their whole time, their items with them."""
    for row in rows:
        if row.ttl_seconds is None:
            continue
        until = now + timedelta(seconds=row.ttl_seconds)
        here = (_V.persona_id == address.persona, _V.id == row.id, _V.ttl_seconds.is_not(None))
        connection.execute(update(stored_values).where(*here).values(expires_at=until))
        if row.memory_id is not None:
            item = (_M.persona_id == address.persona, _M.id == row.memory_id)
            connection.execute(update(memories).where(*item).values(expires_at=until))


# Writing


class RefusedError(Exception):
    """Ends a transaction in which nothing may be stored."""

    def __init__(self, result: WriteResult) -> None:
        super().__init__(result.reason)
        self.result = result


class Change:
    """One transaction over the values of a scope, which holds their audience."""

    def __init__(self, connection: Connection, call: Call, address: Address, started: int) -> None:
        self.connection: Connection = connection
        self.call: Call = call
        self.address: Address = address
        self.now: datetime = call.db.clock()
        self._started = started
        self._place: table_conversations.Place | None = None

    def read(self, statement: Any, values: Any) -> Sequence[Any]:
        return self.connection.execute(statement, values).all()

    def lock(self) -> table_conversations.Place:
        """Lock the scope's audience until the transaction ends; call it before anything is read."""
        if self._place is None:
            scope = self.call.scope
            self._place = table_conversations.ensure(self.connection, self.call.db, scope, sender=scope.participant)
            audience_table.lock(self.connection, scope.persona, self._place.audience_id)
        return self._place

    def find(self, names: Iterable[ValueName]) -> dict[ValueName, StoredValue]:
        return find_values(self.read, self.address, names, self.now)

    def list_below(self, prefix: Sequence[str] = ()) -> list[StoredValue]:
        return list_values(self.read, self.address, prefix, self.now)

    def write(self, new: Sequence[NewValue], *, archive: bool = False) -> None:
        """Store values, replacing those with the same names; with `archive` these stay as previous versions.

        Raises:
            RefusedError: the person wants nothing kept, or has just been forgotten.
        """
        scope, db = self.call.scope, self.call.db
        default = self.call.settings.privacy_default
        if memories_table.is_private(self.connection, scope, "long_term", default, False):
            raise RefusedError(WriteResult(False, None, "privacy"))
        place = self.lock()
        if tombstones.is_late(
            db, scope.persona, self._started, people=(scope.participant,), conversation=scope.conversation
        ):
            raise RefusedError(WriteResult(False, None, "privacy"))
        names = [check_name(each.namespace, each.name) for each in new]
        there = find_values(self.read, self.address, names, _BEGINNING)
        items = self._write_items(new, place)
        for each, item, row_id in zip(new, items, db.ids.take(len(new)), strict=True):
            old = there.get(ValueName(each.namespace, each.name))
            values = self._columns(each, item)
            if old is None:
                self.connection.execute(insert(stored_values).values(self._row(each, place, row_id) | values))
                continue
            self.connection.execute(
                update(stored_values).where(_V.persona_id == scope.persona, _V.id == old.id).values(values)
            )
            self._drop_items([old], archive=archive, new=item)

    def _write_items(self, new: Sequence[NewValue], place: table_conversations.Place) -> list[int | None]:
        """Store the memory items of the values that have a text, and return their ids."""
        call, ready = self.call, []
        ids: list[int | None] = []
        for each, row_id in zip(new, call.db.ids.take(len(new)), strict=True):
            text = checked_text(each.text, "value")
            if not text.strip():
                ids.append(None)
                continue
            flagged, _ = screening.is_flagged(text, "memory")
            item = NewMemory(
                text,
                self.now,
                source=_SOURCES[self.address.kind],
                kind=self.address.kind,
                pinned=1,  # nothing prunes it or puts it together with others: it goes with its value
                quarantined=int(flagged),
                provenance="model" if self.address.kind == "file" else "host",
                expires_at=None if each.ttl_seconds is None else self.now + timedelta(seconds=each.ttl_seconds),
            )
            ready.append((row_id, item))
            ids.append(row_id)
        if ready:
            memories_table.write(self.connection, call.db, call.scope, ready, place)
        return ids

    def _columns(self, new: NewValue, item: int | None) -> dict[str, Any]:
        keeps = self.address.kind == "entry" or item is None
        ttl = new.ttl_seconds
        return {
            "value": checked_text(new.value, "value") if keeps and new.value is not None else None,
            "memory_id": item,
            "ttl_seconds": ttl,
            "expires_at": None if ttl is None else self.now + timedelta(seconds=ttl),
            "updated_at": self.now,
        }

    def _row(self, new: NewValue, place: table_conversations.Place, row_id: int) -> dict[str, Any]:
        scope = self.call.scope
        return {
            "id": row_id,
            "persona_id": scope.persona,
            "audience_id": place.audience_id,
            "participant_key": scope.participant or "",
            "conversation_key": scope.conversation or "",
            "kind": self.address.kind,
            "namespace": write_namespace(new.namespace),
            "name": new.name,
            "created_at": self.now,
        }

    def rename(self, moved: Sequence[tuple[StoredValue, ValueName]]) -> None:
        for value, name in moved:
            here = (_V.persona_id == self.address.persona, _V.id == value.id)
            check_name(*name)
            names = {"namespace": write_namespace(name.namespace), "name": name.name, "updated_at": self.now}
            self.connection.execute(update(stored_values).where(*here).values(names))

    def delete(self, values: Iterable[StoredValue], *, archive: bool = False) -> None:
        """Delete values; with `archive` their texts stay as previous versions."""
        rows = list(values)
        for part in chunks(sorted(row.id for row in rows), AT_ONCE):
            here = (_V.persona_id == self.address.persona, _V.id.in_(part))
            self.connection.execute(delete(stored_values).where(*here))
        self._drop_items(rows, archive=archive)

    def _drop_items(self, values: Iterable[StoredValue], *, archive: bool, new: int | None = None) -> None:
        ids = [each.memory_id for each in values if each.memory_id is not None]
        db, persona = self.call.db, self.address.persona
        if archive:
            columns: dict[str, Any] = {"archived_at": self.now, "updated_at": self.now}
            columns |= {} if new is None else {"superseded_by": new}
            indexed.set_hidden(self.connection, db, MEMORIES, persona, ids, **columns)
            return
        h = item_history.c
        for part in chunks(sorted(ids), AT_ONCE):
            texts = (h.persona_id == persona, h.item_id.in_(part))
            self.connection.execute(delete(item_history).where(*texts))
        indexed.remove(self.connection, db, MEMORIES, persona, ids)

    def delete_expired(self) -> int:
        mine = replace(self.address, local=True)
        over = [_V.expires_at.is_not(None), _V.expires_at <= bindparam("over", self.now, type_=Time())]
        statement = _select(mine, _BEGINNING).where(*over).limit(AT_ONCE)
        rows = [_read(row, self.address.kind) for row in self.read(statement, {})]
        self.delete(rows)
        return len(rows)
