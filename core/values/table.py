"""Named values (table stored_values), and the memory items that make them searchable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, TypeVar

from sqlalchemy import Connection, Select, and_, bindparam, delete, func, insert, or_, select, update

from ..access import table as audience_table
from ..access import table_conversations, tombstones
from ..calls.call import Call
from ..database import schema
from ..database.compiled import AT_ONCE, IDS, Reader, chunks, execute_parts
from ..database.dialects import Time
from ..database.rows import text as checked_text
from ..database.sources import MEMORIES
from ..index import indexed
from ..memories import table as memories_table
from ..memories.new_item import NewMemory
from ..scope import key_text

Kind = Literal["file", "entry"]
"""Kind of a value. file: a text under a path. entry: JSON under a namespace and a key."""

SOURCE = "stored_values"
_END = "\x1f"
"""Terminator of each part of a namespace, so that `u1` is not a prefix of `u10`."""
_ESCAPE = "\x1e"
Path = tuple[str, ...]
"""Parts of the namespace, followed by the name of the value."""
_SOURCES: dict[Kind, str] = {"file": "memory_file", "entry": "store"}
"""Source of the memory items of each kind of value."""
_V, _M = schema.stored_values.c, schema.memories.c
_T = TypeVar("_T")


def write_namespace(parts: Sequence[str], field: str = "namespace") -> str:
    """Format a namespace as one text for its column; the text is a prefix of exactly the namespaces below it."""
    stored = "".join(part.replace(_ESCAPE, _ESCAPE + "0").replace(_END, _ESCAPE + "1") + _END for part in parts)
    return key_text(stored, field, schema.NAMESPACE_BYTES)


def write_path(path: Path) -> tuple[str, str]:
    return write_namespace(path[:-1]), key_text(path[-1], "key", schema.NAME_BYTES)


def read_namespace(stored: str) -> tuple[str, ...]:
    return tuple(part.replace(_ESCAPE + "1", _END).replace(_ESCAPE + "0", _ESCAPE) for part in stored.split(_END)[:-1])


@dataclass(frozen=True, slots=True)
class NewValue:
    path: Path
    value: str | None
    """A file's text or an entry's JSON; None for a folder."""
    text: str = ""
    """Text that searches find; "" for no text."""
    ttl_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class StoredValue:
    id: int
    path: Path
    value: str | None
    created_at: datetime
    updated_at: datetime
    memory_id: int | None
    ttl_seconds: int | None


class RefusedError(Exception):
    """Raised to end a transaction: the speaker opted out of storage or was just forgotten."""


_JOINED = schema.stored_values.outerjoin(schema.memories, and_(_M.persona_id == _V.persona_id, _M.id == _V.memory_id))
_COLUMNS = (_V.id, _V.namespace, _V.name, _V.value, _V.memory_id, _V.ttl_seconds, _V.created_at, _V.updated_at,
            _M.content)  # fmt: skip


class Values:
    """The values of one kind that a scope can use."""

    def __init__(self, call: Call, kind: Kind, read: Reader) -> None:
        self.call: Call = call
        self.kind: Kind = kind
        self.read: Reader = read
        self.now: datetime = call.db.clock()

    def find(self, paths: Iterable[Path], *, expired: bool = False) -> dict[Path, StoredValue]:
        """Return the stored values by path; missing paths are left out. The newest of a path's values is used."""
        by_namespace: dict[str, set[str]] = {}
        for namespace, name in map(write_path, paths):
            by_namespace.setdefault(namespace, set()).add(name)
        values: list[StoredValue] = []
        for namespace, names in sorted(by_namespace.items()):
            for part in chunks(sorted(names)):
                here = (_V.namespace == namespace, _V.name.in_(part))
                values += self._read(self._select(_COLUMNS, *here, expired=expired).order_by(_V.id))
        return {value.path: value for value in values}

    def list_below(
        self, prefix: Sequence[str] = (), *, limit: int | None = None, offset: int | None = None
    ) -> list[StoredValue]:
        """Return the values in a namespace and below it, the most recently changed first; `offset` needs a `limit`."""
        low = write_namespace(prefix, "prefix")
        # a space is the character after _END (0x1f)
        below = (_V.namespace >= low, _V.namespace < low[:-1] + "\x20") if low else ()
        statement = self._select(_COLUMNS, *below).order_by(_V.updated_at.desc(), _V.id.desc())
        return self._read(statement.limit(limit).offset(offset))

    def list_namespaces(self) -> list[tuple[str, ...]]:
        rows = self.read(self._select((_V.namespace,)).distinct(), {})
        return sorted(read_namespace(row.namespace) for row in rows)

    def refresh(self, values: Iterable[StoredValue]) -> None:
        """Restart the time to live of these values and of their memory items."""
        expiring = {value.id: value for value in values if value.ttl_seconds is not None}

        def work(connection: Connection) -> None:
            for value in expiring.values():
                until = self._expires_at(value.ttl_seconds)
                for table, row_id in ((schema.stored_values, value.id), (schema.memories, value.memory_id)):
                    here = (table.c.persona_id == self.call.persona, table.c.id == row_id)
                    connection.execute(update(table).where(*here).values(expires_at=until))

        if expiring:
            self.call.db.idempotent_transaction(work, source=SOURCE)

    def change(self, work: Callable[[Change], _T]) -> _T:
        """Run `work` in one transaction and return its result; a retried transaction runs `work` again."""
        started = self.call.db.ids.one()  # drawn first, so that it is older than a later call of `forget`
        return self.call.db.idempotent_transaction(
            lambda connection: work(Change(connection, self.call, self.kind, started)), source=SOURCE
        )

    def _select(self, columns: Sequence[Any], *where: Any, expired: bool = False) -> Select[Any]:
        viewer, persona = self.call.viewer, self.call.persona
        assert viewer is not None
        a, k, p = schema.audiences.c, schema.conversations.c, schema.participants.c
        own = (a.kind == viewer.own.kind, a.server_id == viewer.own.server, a.ref == viewer.own.ref)
        audience = select(a.audience_id).where(a.persona_id == persona, *own)
        linked = select(p.participant_key).where(p.persona_id == persona, p.person_key == (viewer.person or ""))
        by_speaker = or_(_V.participant_key == (self.call.scope.participant or ""), _V.participant_key.in_(linked))
        # deleting the memory item on the admin page deletes the value
        has_item = and_(_M.archived_at.is_(None), _M.superseded_by.is_(None), _M.id.is_not(None))
        mine = (_V.persona_id == persona, _V.audience_id == audience.scalar_subquery(), _V.kind == self.kind)
        statement = select(*columns).select_from(_JOINED).where(*mine, by_speaker)
        statement = statement.where(or_(_V.memory_id.is_(None), has_item), *where)
        if not expired:
            now = bindparam("now", self.now, type_=Time())
            statement = statement.where(or_(_V.expires_at.is_(None), _V.expires_at > now))
        if not viewer.sees_local_only:
            local = select(k.local_only).where(k.persona_id == _V.persona_id, k.conversation_key == _V.conversation_key)
            statement = statement.where(func.coalesce(local.scalar_subquery(), 0) == 0)
        return statement

    def _read(self, statement: Select[Any]) -> list[StoredValue]:
        return [
            StoredValue(
                int(row.id),
                (*read_namespace(row.namespace), row.name),
                row.content if self.kind == "file" and row.memory_id is not None else row.value,
                row.created_at,
                row.updated_at,
                None if row.memory_id is None else int(row.memory_id),
                row.ttl_seconds,
            )
            for row in self.read(statement, {})
        ]

    def _expires_at(self, ttl_seconds: int | None) -> datetime | None:
        return None if ttl_seconds is None else self.now + timedelta(seconds=ttl_seconds)


class Change(Values):
    """The values of a scope within a transaction, which locks their audience."""

    def __init__(self, connection: Connection, call: Call, kind: Kind, started: int) -> None:
        super().__init__(call, kind, connection.execute)
        self.connection: Connection = connection
        self._started = started
        self._place = table_conversations.ensure(connection, call.db, call.scope, sender=call.scope.participant)
        audience_table.lock(connection, call.persona, self._place.audience_id)

    def write(self, new: Sequence[NewValue], *, archive: bool = False) -> None:
        """Store values, replacing those with equal paths; with `archive`, replaced texts stay as previous versions."""
        scope, db = self.call.scope, self.call.db
        default = self.call.settings.privacy_default
        if memories_table.is_private(self.connection, scope, "long_term", default, False) or tombstones.is_late(
            db, scope.persona, self._started, people=(scope.participant,), conversation=scope.conversation
        ):
            raise RefusedError
        previous = self.find([each.path for each in new], expired=True)
        items = self._write_items(new)
        for each, item, row_id in zip(new, items, db.ids.take(len(new)), strict=True):
            old = previous.get(each.path)
            is_in_item = self.kind == "file" and item is not None
            text = None if is_in_item or each.value is None else checked_text(each.value, "value")
            values: dict[str, Any] = {"value": text, "memory_id": item, "updated_at": self.now}
            values |= {"ttl_seconds": each.ttl_seconds, "expires_at": self._expires_at(each.ttl_seconds)}
            if old is not None:
                self._update(old, values)
                self._drop_items([old], archive=archive, new=item)
                continue
            namespace, name = write_path(each.path)
            asker = {"participant_key": scope.participant or "", "conversation_key": scope.conversation or ""}
            values |= {"id": row_id, "persona_id": scope.persona, "audience_id": self._place.audience_id, **asker}
            values |= {"kind": self.kind, "namespace": namespace, "name": name, "created_at": self.now}
            self.connection.execute(insert(schema.stored_values).values(values))

    def _write_items(self, new: Sequence[NewValue]) -> list[int | None]:
        """Store a memory item for each value with a text; return the ids in order, None for a value without text."""
        db, ready = self.call.db, {}
        ids = db.ids.take(len(new))
        for each, row_id in zip(new, ids, strict=True):
            text = checked_text(each.text, "value")
            if text.strip():
                ready[row_id] = NewMemory(
                    text,
                    self.now,
                    source=_SOURCES[self.kind],
                    kind=self.kind,
                    pinned=1,  # never pruned or merged with other items: it is deleted with its value
                    provenance="model" if self.kind == "file" else "host",
                    expires_at=self._expires_at(each.ttl_seconds),
                )
        if ready:
            memories_table.write(self.connection, db, self.call.scope, list(ready.items()), self._place)
        return [row_id if row_id in ready else None for row_id in ids]

    def rename(self, value: StoredValue, path: Path) -> None:
        namespace, name = write_path(path)
        self._update(value, {"namespace": namespace, "name": name, "updated_at": self.now})

    def _update(self, value: StoredValue, columns: dict[str, Any]) -> None:
        here = (_V.persona_id == self.call.persona, _V.id == value.id)
        self.connection.execute(update(schema.stored_values).where(*here).values(columns))

    def delete(self, values: Iterable[StoredValue], *, archive: bool = False) -> None:
        """Delete values; with `archive`, their texts stay as previous versions."""
        rows = list(values)
        mine = delete(schema.stored_values).where(_V.persona_id == self.call.persona, _V.id.in_(IDS))
        execute_parts(self.connection, mine, [row.id for row in rows])
        self._drop_items(rows, archive=archive)

    def delete_expired(self) -> int:
        """Delete up to 500 expired values; return their number."""
        over = _V.expires_at <= bindparam("over", self.now, type_=Time())
        rows = self._read(self._select(_COLUMNS, over, expired=True).limit(AT_ONCE))
        self.delete(rows)
        return len(rows)

    def _drop_items(self, values: Iterable[StoredValue], *, archive: bool, new: int | None = None) -> None:
        ids = [each.memory_id for each in values if each.memory_id is not None]
        db, persona = self.call.db, self.call.persona
        if archive:
            columns: dict[str, Any] = {"archived_at": self.now, "updated_at": self.now}
            columns |= {} if new is None else {"superseded_by": new}
            indexed.set_columns(self.connection, db, MEMORIES, persona, ids, **columns)
            return
        h = schema.item_history.c
        texts = delete(schema.item_history).where(h.persona_id == persona, h.item_id.in_(IDS))
        execute_parts(self.connection, texts, ids)
        indexed.remove(self.connection, MEMORIES, persona, ids)
