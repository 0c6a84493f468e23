"""Public functions for databases: open a database, store a memory, maintain schema and index."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .base.hints import hint_name
from .calls import defaults
from .calls.call import open_call
from .calls.defaults import configure, default_database
from .config import GivenSettings
from .database.engine import Database
from .errors import MessageError
from .memories import new_item as memory_input
from .memories import rules as memory_rules
from .memories import table as memories
from .memories import table_sources
from .scope import Scope
from .shapes import Finding, Progress
from .upkeep import migration
from .upkeep.migration import Migrated

if TYPE_CHECKING:
    from .forgetting import forget
    from .upkeep.copy import Copied

__all__ = ["Copied", "Database", "Finding", "Migrated", "check_server", "configure", "copy_database",
           "default_database", "forget", "insert_memory", "migrate", "open_database", "pack_index",
           "reindex"]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import `Copied` and `forget` on first use: they load the modules of every table, which prompts do not need."""
    places = {"Copied": ".upkeep.copy", "forget": ".forgetting"}
    if name not in places:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(places[name], __package__), name)


def open_database(url: str | None = None, *, settings: GivenSettings = None, **options: Any) -> Database:
    """Return a database handle that threads may share; create missing tables, and migrate an older SQLite file.

    Args:
        url: `sqlite:///FILE`, or `mysql://USER:PASSWORD@HOST:PORT/NAME` for MySQL, MariaDB and OceanBase; None takes
        DATABASE_URL, then config.yaml, then the embedded SQLite file in the working directory.
        settings: mapping of flag to value, or a Settings; DB_TIMEOUT_SECONDS limits the wait of each call.
        options: `clock`, a function returning an aware time; `pool_size`, number of connections in a pool (default 8).

    Raises ConfigError for an unusable connection string, StoreError if the database cannot be reached or needs
    `prompt-engine db migrate`. Close the handle at the end.

    >>> from prompt_engine import open_database
    >>> db = open_database("sqlite://")  # in memory; a file is sqlite:///FILE
    >>> db.family
    'sqlite'
    >>> db.close()
    """
    return defaults.open_database(url, settings=settings, **options)


def insert_memory(
    content: str,
    author: str | None = None,
    source: str | None = None,
    tags: Any = None,
    scope: str | Scope = "general",
    emotion: str | None = None,
    intensity: int | None = None,
    emotion_state: str | None = None,
    timestamp: datetime | str | float | None = None,
    *,
    label: str | None = None,
    message_id: object = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    **more: Any,
) -> int:
    """Store one memory item and return its id, which is above 0; ids rise with time.

    Args:
        content: not blank, at most 16 MB.
        author: author of the content, at most 100 characters; None for nobody.
        source: origin of the content, such as `chat` or `voice`.
        tags: list of texts, a JSON list as text, or one text; None means no tags.
        scope: a text is a label of the item; a `Scope` says who is asking.
        emotion, intensity, emotion_state: a feeling (a word), its strength (a whole number), and its state.
        timestamp: datetime, ISO 8601 text or seconds since 1970; None is the source message's time, or now.
        label: the label if `scope` is a `Scope`; `general` by default.
        message_id: the source message, by the platform's id in the scope's conversation or by its row id. Deleting that
        message deletes the item. Editing it changes an item that repeats the whole message, and deletes other items.
        more: response_text, tier, kind, provenance, importance (0 to 1), pinned, local_only, source_message_ids,
        expires_at, metadata.

    Raises TypeError for an unknown argument, MessageError for an unusable value (named in `fields`) or if the
    participant's privacy level forbids storing, StoreWriteError if nothing was stored.

    >>> from prompt_engine import insert_memory, open_database, search_memories
    >>> db = open_database("sqlite://")
    >>> insert_memory("Ann likes green tea", "ann", "chat", ["tea"], db=db) > 0
    True
    >>> [hit["snippet"] for hit in search_memories(tags=["tea"], db=db)]
    ['Ann likes green tea']
    """
    asking = scope if isinstance(scope, Scope) else None
    named = label if label is not None else scope if isinstance(scope, str) else "general"
    call = open_call(db, settings, asking)
    row_id = call.db.ids.one()  # before the time is taken: the id tells whether `forget` came later
    unknown = [name for name in more if name not in _MORE]
    if unknown:
        raise TypeError(f"insert_memory has no argument {unknown[0]!r}.{hint_name(unknown[0], _MORE)}")
    if more.get("kind"):
        more["kind"] = memory_rules.kind_of(more["kind"])
    if message_id is not None:
        sources = table_sources.find_sources(call.db, call.scope, message_id)
        more["source_message_ids"] = table_sources.join_sources(more.get("source_message_ids"), sources.ids)
        timestamp = sources.at if timestamp is None else timestamp
    memory = memory_input.read(
        content, now=call.db.clock(), author=author, source=source, tags=tags, label=named, emotion=emotion,
        intensity=intensity, emotion_state=emotion_state, timestamp=timestamp, **more,
    )  # fmt: skip
    if memory is None:
        raise MessageError("content is blank. A memory needs a text.", fields=("content",))
    if memory.tier == "session" and memory.expires_at is None:
        memory = replace(memory, expires_at=memory_rules.expires_at(memory.at, call.settings.session_ttl_sec))
    result = memories.insert(call, memory, row_id=row_id)
    if result.id is None:
        what = f"The memory was not stored: {result.reason}. The participant's privacy level forbids it."
        raise MessageError(what, fields=("participant",))
    return result.id


_MORE = (
    "response_text", "tier", "kind", "provenance", "importance", "pinned", "local_only",
    "source_message_ids", "expires_at", "metadata",
)  # fmt: skip


def check_server(db: Database | None = None) -> list[Finding]:
    """Return problems and notes about the database, errors first, each with its remedy; nothing is changed.

    It checks the server, permissions, tables, unreadable values, the search index, orphaned and expired rows, and reads
    every row.

    >>> from prompt_engine import db, open_database
    >>> db.check_server(open_database("sqlite://"))
    []
    """
    from .upkeep import check  # noqa: PLC0415 - loads what every table and server is checked by

    return check.check_server(_bare(db))


def migrate(db: Database | None = None) -> Migrated:
    """Create the tables of an empty database, or update those of an earlier version.

    A second run changes nothing and says so. After a failed step, the next run continues there.

    Raises StoreError if another program's tables have names of this package's tables; nothing is changed then.

    >>> from prompt_engine import db, open_database
    >>> db.migrate(open_database("sqlite://")).messages
    ('The database is at the present version. Nothing was changed.',)
    """
    return migration.migrate(_bare(db))


def reindex(db: Database | None = None, *, progress: Progress | None = None) -> int:
    """Rebuild the search index from all rows, and return their number.

    Afterwards, searches find rows that other programs inserted or changed by SQL. On database servers, only changes and
    deletions in the audience being indexed wait; with SQLite all writers wait. `progress` is called with the current
    step, the number done, and the total.

    >>> from prompt_engine import db, open_database
    >>> db.reindex(open_database("sqlite://"))
    0
    """
    from .access import external_rows  # noqa: PLC0415 - loads numpy
    from .index import packing  # noqa: PLC0415 - as above

    handle = open_call(db).db  # with the zone of the process
    external_rows.index_all_rows(handle, progress)
    return packing.rebuild_all(handle, progress)


def pack_index(db: Database | None = None, *, progress: Progress | None = None) -> int:
    """Pack the rows of the search index into large segments; return how many rows were packed or moved to a larger one.

    Writers pack small segments themselves; this function packs large ones. Each transaction takes seconds, on a busy
    server tens of seconds. Readers do not wait. Writers of the same audience (with SQLite all writers) may wait up to
    DB_TIMEOUT_SECONDS. After an interruption the next run continues. `progress` is called with `rows`, the number
    packed, and the total.

    >>> from prompt_engine import db, open_database
    >>> db.pack_index(open_database("sqlite://"))
    0
    """
    from .index import packing  # noqa: PLC0415 - loads numpy

    return packing.pack_all(defaults.handle(db), progress)


def copy_database(source: str, target: str, *, tokens: bool = False, progress: Progress | None = None) -> Copied:
    """Copy all rows of every persona to another database, and return the number of rows of each table.

    The source is only read, as of the start of the copy. The search index is built at the target. After an
    interruption, the next call continues. `progress` gets (table, rows done, 0): the total is unknown.

    Args:
        source, target: connection strings; the target must be empty or missing.
        tokens: whether to copy access tokens too.

    Raises StoreError if the source needs `prompt-engine db migrate`, the target holds other rows, or a table differs
    after the copy.

    >>> from prompt_engine.db import copy_database
    >>> copy_database("sqlite:///persona.db", "mysql://persona:...@host/persona")  # doctest: +SKIP
    """
    from .upkeep import copy  # noqa: PLC0415 - loads every table

    seconds = defaults.settings_for().db_timeout_seconds
    return copy.copy_database(source, target, tokens=tokens, seconds=seconds, progress=progress)


def _bare(db: Database | None) -> Database:
    """Return `db`, or a handle for the configured connection string, without migrating the database."""
    return defaults.check_handle(db) if db is not None else defaults.open_bare()
