"""Who and where, for adopted rows: the audiences, conversations and participants that the original did not have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Table, bindparam, func, select, update

from ..audience.inserted_rows import participant_of
from ..audience.rules import AudienceKey, own_audience, parent_key, split_key
from ..database.bulk import chunks
from ..database.dialects import insert_ignore, read_time, upsert
from ..database.engine import Database
from ..database.schema import (
    ai_diary,
    audiences,
    chat_history_cache,
    conversations,
    counters,
    memories,
    participants,
    search_progress,
    tags,
)
from ..database.sources import ALL
from ..scope import KEY_BYTES, Privacy
from ..tags.rules import TAG_BYTES, normal
from . import ddl
from .adopted_rows import conversation_of, json_of, text_of
from .inspection import FoundTable

AT_ONCE = 500
_COLUMN = {"interface": 64, "chat_id": 255, "thread_id": 255}


class Places:
    """Finds or makes the audience of each row."""

    def __init__(self, persona: str) -> None:
        self.persona = persona
        self._direct: dict[str, str] = {}
        """Conversation to the participant it is a direct message with."""

    def register(self, db: Database, chat: FoundTable) -> None:
        """Read who wrote where from the original's chat table, and make the participants known."""
        if not {"interface_path", "sender_id"} <= set(chat.columns):
            return
        name = "MAX(sender_name)" if "sender_name" in chat.columns else "''"
        sql = (
            f"SELECT interface_path, sender_id, {name} FROM {ddl.quote(chat.name, db.family)} "  # noqa: S608
            "GROUP BY interface_path, sender_id"
        )
        people: dict[str, str] = {}
        for row in db.read_driver(sql, (), source=chat.name):
            path, sender, shown = (text_of(value) for value in row)
            key = participant_of(path, sender)
            if key is not None:
                people[key] = max(people.get(key, ""), shown[:255])
                interface, chat_id, _ = split_key(path)
                if chat_id == sender:
                    self._direct[f"{interface}/{chat_id}"] = key
        self._insert_people(db, people)

    def _insert_people(self, db: Database, people: Mapping[str, str]) -> None:
        now = db.clock()
        for part in chunks(sorted(people.items()), AT_ONCE):
            rows = [
                {"persona_id": self.persona, "participant_key": key, "person_key": key, "display_name": shown}
                | {"created_at": now, "updated_at": now}
                for key, shown in part
            ]

            def work(connection: Connection, rows: list[dict[str, Any]] = rows) -> None:
                connection.execute(insert_ignore(participants, db.family), rows)

            db.transaction(work, source="participants")

    def assign(self, connection: Connection, db: Database, table: Table, rows: Sequence[dict[str, Any]]) -> None:
        """Give each row of a range its audience, making the conversations that are not there yet."""
        if "audience_id" not in table.c or not rows:
            return
        keys = [conversation_of(table.name, row) for row in rows]
        fitting = {key for key in keys if key and len(key.encode("utf-8", "replace")) <= KEY_BYTES["conversation"]}
        known = self._conversations(connection, db, fitting)
        alone: int | None = None
        for row, key in zip(rows, keys, strict=True):
            if row.get("audience_id"):
                continue
            if key not in known and alone is None:
                alone = self._audience(connection, db, AudienceKey("persona"))
            row["audience_id"] = known.get(key, alone)

    def _conversations(self, connection: Connection, db: Database, keys: set[str]) -> dict[str, int]:
        wanted = keys | {parent for key in keys if (parent := parent_key(key))}
        known: dict[str, int] = {}
        c = conversations.c
        for part in chunks(sorted(wanted), AT_ONCE):
            chosen = select(c.conversation_key, c.audience_id).where(
                c.persona_id == self.persona, c.conversation_key.in_(part)
            )
            known |= {row.conversation_key: row.audience_id for row in connection.execute(chosen)}
        for key in sorted(keys - set(known)):
            known[key] = self._conversation(connection, db, key)
        return known

    def _conversation(self, connection: Connection, db: Database, key: str) -> int:
        """Make a conversation and return its audience; a thread follows its parent."""
        parts = dict(zip(_COLUMN, split_key(key), strict=True))
        parent = parent_key(key)
        person = self._direct.get(parent or key)
        privacy: Privacy = "direct" if person else "public"
        audience = self._audience(connection, db, own_audience(privacy, "", key, person))
        row = {
            "id": db.ids.one(),
            "persona_id": self.persona,
            "audience_id": audience,
            "conversation_key": key,
            "parent_key": parent,
            "is_private": int(person is not None),
            "direct_person_key": person,
            "created_at": db.clock(),
        }
        row |= {name: text if len(text.encode()) <= _COLUMN[name] else "" for name, text in parts.items()}
        connection.execute(insert_ignore(conversations, db.family), row)
        return audience

    def _audience(self, connection: Connection, db: Database, key: AudienceKey) -> int:
        a = audiences.c
        chosen = select(a.audience_id).where(
            a.persona_id == self.persona, a.kind == key.kind, a.server_id == key.server, a.ref == key.ref
        )
        found = connection.execute(chosen).scalar()
        if found is None:
            row = {"audience_id": db.ids.one(), "persona_id": self.persona, "kind": key.kind}
            row |= {"server_id": key.server, "ref": key.ref}
            connection.execute(insert_ignore(audiences, db.family), row)
            found = connection.execute(chosen).scalar_one()
        return int(found)


def finish_people(db: Database, persona: str) -> None:
    """Bring what is worked out from all rows to the present: newest message of each conversation, uses of each tag."""
    _last_messages(db, persona)
    _tag_uses(db, persona)
    _index_is_behind(db)


def _last_messages(db: Database, persona: str) -> None:
    c = chat_history_cache.c
    spans = select(c.interface_path, func.min(c.timestamp), func.max(c.timestamp)).where(c.persona_id == persona)
    rows = db.read(spans.group_by(c.interface_path), source="chat_history_cache")
    change = (
        update(conversations)
        .where(conversations.c.persona_id == persona, conversations.c.conversation_key == bindparam("key"))
        .values(created_at=bindparam("first"), last_message_at=bindparam("last"))
    )
    for part in chunks(sorted(rows, key=lambda row: str(row[0])), AT_ONCE):
        values = [{"key": path, "first": _time(first), "last": _time(last)} for path, first, last in part]

        def work(connection: Connection, values: list[dict[str, Any]] = values) -> None:
            connection.execute(change, values)

        db.transaction(work, source="conversations")


def _time(value: Any) -> datetime | None:
    return value if isinstance(value, datetime) and value.tzinfo else read_time(value)


def _tag_uses(db: Database, persona: str) -> None:
    """Set the uses of every tag to the number of rows that have it, and tell other processes of it."""
    uses: Counter[str] = Counter()
    for table, column in ((memories, memories.c.tags), (ai_diary, ai_diary.c.context_tags)):
        for stored in _walk(db, table, column, persona):
            uses.update(_normal_tags(stored))
    now = db.clock()
    for part in chunks(sorted(uses.items()), AT_ONCE):
        rows = [{"persona_id": persona, "tag": tag, "uses": count, "created_at": now} for tag, count in part]

        def work(connection: Connection, rows: list[dict[str, Any]] = rows) -> None:
            connection.execute(upsert(tags, db.family, update=["uses"]), rows)

        db.transaction(work, source="tags")
    version = {"persona_id": persona, "name": "tag_vocabulary", "value": 1}
    db.transaction(lambda c: c.execute(upsert(counters, db.family, add=["value"]), version), source="counters")


def _walk(db: Database, table: Table, column: Any, persona: str) -> Iterable[Any]:
    """Yield one column of all rows of a persona, read in ranges of ids."""
    last: int | None = None
    while True:
        chosen = select(table.c.id, column).where(table.c.persona_id == persona)
        if last is not None:
            chosen = chosen.where(table.c.id > last)
        rows = db.read(chosen.order_by(table.c.id).limit(5000), source=table.name)
        if not rows:
            return
        last = rows[-1][0]
        yield from (row[1] for row in rows)


def _normal_tags(stored: Any) -> set[str]:
    try:
        found = json_of(stored, as_list=True)
    except ValueError:
        return set()
    made = {normal(tag) for tag in found if isinstance(tag, str)} if isinstance(found, list) else set()
    return {tag for tag in made if tag and len(tag.encode()) <= TAG_BYTES}


def _index_is_behind(db: Database) -> None:
    """Tell searches that no row there is now is indexed; a source without rows is ready."""
    change = upsert(search_progress, db.family, update=["ready", "next_id", "until_id", "updated_at"])
    for source in ALL:
        newest = db.read(select(func.max(source.table.c.id)), source=source.table.name)[0][0]
        row = {"source": source.number, "ready": int(newest is None), "next_id": 0, "until_id": newest or 0}
        row["updated_at"] = db.clock()
        db.transaction(lambda c, row=row: c.execute(change, row), source="search_progress")  # type: ignore[misc]
