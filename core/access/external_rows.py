"""Indexes rows that other programs inserted by SQL: their `indexed` is 0, and computed columns are missing."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from sqlalchemy import Connection, select

from ..base import logs
from ..database import sources
from ..database.engine import Database
from ..database.sources import SourceTable
from ..database.stored_values import read_time
from ..errors import StoreError
from ..index import entries as index_entries
from ..index.entries import calendar_of, derive_columns, list_texts
from ..index.indexed import add_entries, change_row
from ..scope import KEY_BYTES
from ..shapes import PERSONA_SENDER, Progress
from ..tags import table as tags
from ..tags.rules import stored_form
from ..text.hits import stored_tags
from . import table as audience_table
from . import table_conversations
from .rules import AudienceKey, named_participant, split_key
from .table_conversations import AudienceRow

RANGE = 200
"""Maximum number of rows indexed before a search, and in one transaction."""


def index_before_search(db: Database, persona: str, numbers: Iterable[int]) -> None:
    """Index up to RANGE of a persona's rows that other programs inserted into the sources `numbers`; log a failure."""

    def work(connection: Connection) -> None:
        left = RANGE
        for number in numbers:
            left -= _index_range(db, sources.BY_NUMBER[number], persona, left, connection)

    try:
        db.transaction(work, source="the rows inserted by SQL", waits=False)
    except StoreError as error:
        logs.warning("rows_not_indexed", error=type(error).__name__, number=error.number)


def index_all_rows(db: Database, progress: Progress | None = None) -> int:
    """Index the rows that other programs inserted for any persona; return the number of these rows."""
    total = 0
    for source in sources.ALL:
        c = source.table.c
        for (persona,) in db.read(select(c.persona_id).where(c.indexed == 0).distinct(), source=source.table.name):
            index = partial(_index_range, db, source, persona, RANGE)
            while count := db.transaction(index, source=source.table.name):
                total += count
                if progress is not None:
                    progress(source.table.name, total, 0)
    return total


def _index_range(db: Database, source: SourceTable, persona: str, most: int, connection: Connection) -> int:
    c = source.table.c
    inserted = select(source.table).where(c.persona_id == persona, c.indexed == 0).order_by(c.id).limit(most)
    # Two processes that index the same rows wait for each other; the second finds none left.
    statement = inserted if db.family == "sqlite" else inserted.with_for_update()
    rows = [dict(row._mapping) for row in connection.execute(statement)]
    places = _find_places(connection, db, persona, {_conversation_of(source, row) for row in rows})
    uses, changes = Counter[str](), defaultdict[tuple[str, ...], list[dict[str, Any]]](list)
    for row in rows:
        place = places[_conversation_of(source, row)]
        columns = _complete(db, source, row) | {"audience_id": row["audience_id"] or place.audience_id, "indexed": 1}
        if "local_only" in row:
            columns["local_only"] = int(place.local_only or row["local_only"] != 0)
        changes[tuple(sorted(columns))].append({"whose": persona, "which": row["id"], **columns})
        if source.tags is not None:  # of a row that a script marked again, the tags are counted already
            uses.update(dict.fromkeys(columns[source.tags.name], int(row["content_hash"] is None)))
    for names, values in changes.items():
        connection.execute(change_row(source, names), values)
    entries = index_entries.read_entries(connection, source, [row["id"] for row in rows], calendar_of(db))
    add_entries(connection, entries)
    tags.raise_uses(connection, db, persona, uses)
    return len(rows)


def _complete(db: Database, source: SourceTable, row: Mapping[str, Any]) -> dict[str, Any]:
    at = read_time(row["timestamp"]) or db.clock()
    columns = {"timestamp": at, **derive_columns([row[text.name] for text in list_texts(source)])}
    if source.tags is not None:
        columns[source.tags.name] = stored_form(stored_tags(row[source.tags.name]))[0]
    if "created_at" in row and row["created_at"] is None:
        columns["created_at"] = at
    if source is sources.CHAT:
        columns["role"] = "persona" if row["sender_id"] == PERSONA_SENDER else row["role"]
        name = str(row["sender_name"] or "") if columns["role"] == "user" else ""
        columns["participant_key"] = participant_of(row["interface_path"], row["sender_id"], name)
    return columns


def _conversation_of(source: SourceTable, row: Mapping[str, Any]) -> str:
    """Return the conversation key that a row names; "" if it names no conversation."""
    if source is sources.CHAT:
        return str(row["interface_path"] or "")
    if source is sources.MEMORIES:
        return str(row["conversation_key"] or "")
    if not (row["interface"] and row["chat_id"]):
        return ""
    return "/".join(filter(None, (row["interface"], row["chat_id"], row["thread_id"])))


def _find_places(connection: Connection, db: Database, persona: str, keys: set[str]) -> dict[str, AudienceRow]:
    """Return the audience by conversation key; an unknown conversation gets the audience of the whole persona."""
    facts = table_conversations.find_among(connection.execute, persona, keys) if keys else {}
    places = {key: AudienceRow(one.audience_id, one.local_only) for key, one in facts.items()}
    if keys <= places.keys():
        return places
    everyone = AudienceRow(audience_table.find_or_make(connection, db, persona, AudienceKey("persona")))
    return dict.fromkeys(keys, everyone) | places


def participant_of(conversation: str, sender: str | None, name: str) -> str | None:
    """Build the speaker's participant key; None for the persona, an unknown speaker or interface, or a key too long."""
    interface = split_key(conversation)[0]
    if not interface or sender == PERSONA_SENDER:
        return None
    if not sender:
        return named_participant(interface, name)
    key = f"{interface}/{sender}"
    return key if len(key.encode("utf-8", "surrogatepass")) <= KEY_BYTES["participant"] else None
