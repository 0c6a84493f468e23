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
from ..database.readers import Reader, reader_in
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


def _build_value(row: Any, kind: Kind) -> StoredValue:
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


class Values:
    """The values that a scope reaches, as a reader sees them."""

    def __init__(self, read: Reader, address: Address, now: datetime) -> None:
        self.read: Reader = read
        self.address: Address = address
        self.now: datetime = now

    def _select(self, prefix: Sequence[str] = (), now: datetime | None = None) -> Select[Any]:
        where = _where(self.address, now or self.now)
        return select(*_COLUMNS).select_from(_JOINED).where(*where, *_below(prefix))

    def _read(self, statement: Select[Any]) -> list[StoredValue]:
        return [_build_value(row, self.address.kind) for row in self.read(statement, {})]

    def find(self, names: Iterable[ValueName], now: datetime | None = None) -> dict[ValueName, StoredValue]:
        """Return the values with these names; of two of one name the newest."""
        by_namespace: dict[str, set[str]] = {}
        for each in names:
            by_namespace.setdefault(write_namespace(each.namespace), set()).add(each.name)
        values: list[StoredValue] = []
        for namespace, wanted in sorted(by_namespace.items()):
            for part in chunks(sorted(wanted), AT_ONCE):
                here = (_V.namespace == namespace, _V.name.in_(part))
                values += self._read(self._select(now=now).where(*here).order_by(_V.id))
        return {ValueName(value.namespace, value.name): value for value in values}

    def list_below(self, prefix: Sequence[str] = (), *, limit: int | None = None, offset: int = 0) -> list[StoredValue]:
        """Return the values in a namespace and below it, the one changed last first."""
        statement = self._select(prefix).order_by(_V.updated_at.desc(), _V.id.desc())
        return self._read(statement if limit is None else statement.limit(limit).offset(offset))

    def find_by_items(self, prefix: Sequence[str], ids: Iterable[int]) -> dict[int, StoredValue]:
        """Return the values below a namespace that these memory items belong to, by item."""
        values: list[StoredValue] = []
        for part in chunks(sorted(set(ids)), AT_ONCE):
            values += self._read(self._select(prefix).where(_V.memory_id.in_(part)).order_by(_V.id))
        return {value.memory_id: value for value in values if value.memory_id is not None}

    def list_namespaces(self) -> list[tuple[str, ...]]:
        """Return every namespace with values, sorted."""
        chosen = select(_V.namespace).select_from(_JOINED).where(*_where(self.address, self.now)).distinct()
        return sorted(read_namespace(row.namespace) for row in self.read(chosen, {}))


# Writing


class RefusedError(Exception):
    """Ends a transaction in which nothing may be stored."""


class Change(Values):
    """One transaction over the values of a scope, which holds their audience."""

    def __init__(self, connection: Connection, call: Call, address: Address, started: int) -> None:
        super().__init__(reader_in(connection), address, call.db.clock())
        self.connection: Connection = connection
        self.call: Call = call
        self._started = started
        self._place: table_conversations.Place | None = None

    def lock(self) -> table_conversations.Place:
        """Lock the scope's audience until the transaction ends; call it before anything is read."""
        if self._place is None:
            scope = self.call.scope
            self._place = table_conversations.ensure(self.connection, self.call.db, scope, sender=scope.participant)
            audience_table.lock(self.connection, scope.persona, self._place.audience_id)
        return self._place

    def write(self, new: Sequence[NewValue], *, archive: bool = False) -> None:
        """Store values, replacing those with the same names; with `archive` these stay as previous versions.

        Raises:
            RefusedError: the person wants nothing kept, or has just been forgotten.
        """
        scope, db = self.call.scope, self.call.db
        default = self.call.settings.privacy_default
        if memories_table.is_private(self.connection, scope, "long_term", default, False):
            raise RefusedError
        place = self.lock()
        if tombstones.is_late(
            db, scope.persona, self._started, people=(scope.participant,), conversation=scope.conversation
        ):
            raise RefusedError
        previous = self.find([check_name(each.namespace, each.name) for each in new], _BEGINNING)
        items = self._write_items(new, place)
        for each, item, row_id in zip(new, items, db.ids.take(len(new)), strict=True):
            old = previous.get(ValueName(each.namespace, each.name))
            keeps_text = self.address.kind == "entry" or item is None
            values = {
                "value": checked_text(each.value, "value") if keeps_text and each.value is not None else None,
                "memory_id": item,
                "ttl_seconds": each.ttl_seconds,
                "expires_at": self._expires_at(each.ttl_seconds),
                "updated_at": self.now,
            }
            if old is not None:
                here = (_V.persona_id == scope.persona, _V.id == old.id)
                self.connection.execute(update(stored_values).where(*here).values(values))
                self._drop_items([old], archive=archive, new=item)
                continue
            values |= {
                "id": row_id,
                "persona_id": scope.persona,
                "audience_id": place.audience_id,
                "participant_key": scope.participant or "",
                "conversation_key": scope.conversation or "",
                "kind": self.address.kind,
                "namespace": write_namespace(each.namespace),
                "name": each.name,
                "created_at": self.now,
            }
            self.connection.execute(insert(stored_values).values(values))

    def _expires_at(self, ttl_seconds: int | None) -> datetime | None:
        return None if ttl_seconds is None else self.now + timedelta(seconds=ttl_seconds)

    def _write_items(self, new: Sequence[NewValue], place: table_conversations.Place) -> list[int | None]:
        """Store the memory items of the values that have a text, and return their ids."""
        call, kind, ready = self.call, self.address.kind, []
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
                source=_SOURCES[kind],
                kind=kind,
                pinned=1,  # nothing prunes it or puts it together with others: it goes with its value
                quarantined=int(flagged),
                provenance="model" if kind == "file" else "host",
                expires_at=self._expires_at(each.ttl_seconds),
            )
            ready.append((row_id, item))
            ids.append(row_id)
        if ready:
            memories_table.write(self.connection, call.db, call.scope, ready, place)
        return ids

    def rename(self, moved: Sequence[tuple[StoredValue, ValueName]]) -> None:
        for value, name in moved:
            check_name(*name)
            self._update(value, namespace=write_namespace(name.namespace), name=name.name, updated_at=self.now)

    def refresh(self, values: Iterable[StoredValue]) -> None:
        """Let values that were read live on for their whole time, their items with them."""
        for value in values:
            until = self._expires_at(value.ttl_seconds)
            if until is not None:
                self._update(value, expires_at=until)
                item = (_M.persona_id == self.address.persona, _M.id == value.memory_id)
                self.connection.execute(update(memories).where(*item).values(expires_at=until))

    def _update(self, value: StoredValue, **columns: Any) -> None:
        here = (_V.persona_id == self.address.persona, _V.id == value.id)
        self.connection.execute(update(stored_values).where(*here).values(columns))

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
            indexed.set_columns(self.connection, db, MEMORIES, persona, ids, **columns)
            return
        h = item_history.c
        for part in chunks(sorted(ids), AT_ONCE):
            texts = (h.persona_id == persona, h.item_id.in_(part))
            self.connection.execute(delete(item_history).where(*texts))
        indexed.remove(self.connection, db, MEMORIES, persona, ids)

    def delete_expired(self) -> int:
        everywhere = Values(self.read, replace(self.address, local=True), self.now)
        over = [_V.expires_at.is_not(None), _V.expires_at <= bindparam("over", self.now, type_=Time())]
        rows = everywhere._read(everywhere._select(now=_BEGINNING).where(*over).limit(AT_ONCE))
        self.delete(rows)
        return len(rows)
