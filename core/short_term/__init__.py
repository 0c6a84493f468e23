"""DOOR: what was said a moment ago, here and in other channels.

After each answered turn the last few messages are kept per person, channel and persona, until they expire. Made from
the turn itself; no model is called. Writing stands in `short_term.writer`, reading in `short_term.reader`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..calls.call import Call, GivenSettings, open_call
from ..database.engine import Database
from ..errors import StoreError
from ..scope import KEY_BYTES, Scope
from . import counts, places, table
from .reader import build_short_term_context, get_for_server, get_for_user, relative_age
from .rules_turn import read_id
from .shapes import ShortTermEntry, ShortTermSection, ShortTermStats

if TYPE_CHECKING:
    from .writer import store_short_term_memory, update_short_term_memory, write_turn

__all__ = ["ShortTermEntry", "ShortTermSection", "ShortTermStats", "build_short_term_context",
           "clear_by_channel", "clear_by_server", "clear_by_user", "clear_expired", "get_for_server",
           "get_for_user", "get_stats", "relative_age", "store_short_term_memory", "update_short_term_memory",
           "write_turn"]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Return a name of the writer, which is loaded when first used: a prompt only reads."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(".writer", __name__), name)


def clear_by_channel(
    channel: object,
    *,
    interface: str | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> int:
    """Remove the entries of a channel within the persona; return how many there were.

    Args:
        channel: id, or key `interface/id`.
        interface: surface the id is of; None is the scope's.

    Returns:
        How many were removed; 0 for a blank id.

    Raises:
        MessageError: an id that cannot be one.
        StoreWriteError: nothing was removed.

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.short_term import clear_by_channel, store_short_term_memory
    >>> db, scope = open_database("sqlite://"), Scope("iris")
    >>> _ = store_short_term_memory("tg/7", "tg/42", [{"text": "hi"}], db=db, scope=scope)
    >>> clear_by_channel("tg/42", db=db, scope=scope)
    1
    >>> db.close()
    """
    call = open_call(db, settings, scope)
    return _clear_entries(call, channel=places.find_channel(call, channel, interface))


def clear_by_user(
    user: object,
    *,
    interface: str | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> int:
    """Remove the entries of a person over all channels, within the persona; return how many there were.

    The person's lines in entries of others stay; `set_privacy(..., "full")` takes those out too.

    Args:
        user: id, or key `interface/id`.
        interface: surface the id is of; None is the scope's.

    Returns:
        How many were removed; 0 for a blank id.

    Raises:
        MessageError: an id that cannot be one.
        StoreWriteError: nothing was removed.

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.short_term import clear_by_user, store_short_term_memory
    >>> db, scope = open_database("sqlite://"), Scope("iris")
    >>> _ = store_short_term_memory("tg/7", "tg/42", [{"text": "hi"}], db=db, scope=scope)
    >>> clear_by_user("tg/7", db=db, scope=scope)
    1
    >>> db.close()
    """
    call = open_call(db, settings, scope)
    key = places.build_user_key(user, call.scope, interface)
    return _clear_entries(call, user=key) if key is not None else 0


def clear_by_server(
    server: object,
    channel: object = None,
    *,
    interface: str | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> int:
    """Remove the entries of a server, or of one channel of it, within the persona; return how many there were.

    Args:
        server: id of the community.
        channel: only this one; None for all.
        interface: surface the channel's id is of; None is the scope's.

    Returns:
        How many were removed; 0 for a blank id.

    Raises:
        MessageError: an id that cannot be one.
        StoreWriteError: nothing was removed.

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.short_term import clear_by_server, store_short_term_memory
    >>> db, scope = open_database("sqlite://"), Scope("iris")
    >>> _ = store_short_term_memory("tg/7", "tg/42", [{"text": "hi"}], "s1", db=db, scope=scope)
    >>> clear_by_server("s1", db=db, scope=scope)
    1
    >>> db.close()
    """
    call = open_call(db, settings, scope)
    name = read_id(server, "server", KEY_BYTES["server"])
    key = places.find_channel(call, channel, interface, server=name)
    return _clear_entries(call, server=name, channel=key) if name is not None else 0


def _clear_entries(
    call: Call, *, user: str | None = None, server: str | None = None, channel: str | None = None
) -> int:
    """Remove what is named; nothing where nothing is named."""
    if user is None and server is None and channel is None:
        return 0
    count = table.delete_entries(call.db, call.persona, user=user, server=server, channel=channel)
    counts.counts_for(call.db).add("invalidations", count)
    return count


def clear_expired(*, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None) -> int:
    """Remove every expired entry of the scope's persona and return how many there were; for a timer of the host.

    Returns:
        How many were removed by this call.

    Raises:
        StoreError: not all of them could be removed.

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.short_term import clear_expired
    >>> db = open_database("sqlite://")
    >>> clear_expired(db=db, scope=Scope("iris"))
    0
    >>> db.close()
    """
    call = open_call(db, settings, scope)
    count = table.delete_all_expired(call.db, call.persona, life=places.read_life(call.settings))
    counts.counts_for(call.db).add("expirations", count)
    return count


def get_stats(
    *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> ShortTermStats:
    """Return what this process has counted since the handle was opened, and how many entries the persona has.

    Where the database does not answer `entries` is None: how many turns were lost can be asked all the same.

    Returns:
        Counts, the entries there are, and the share of reads that found an entry as a text.

    Raises:
        ConfigError: the settings cannot be used.
        StoreError: the database of the process cannot be opened.

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.short_term import get_stats, store_short_term_memory
    >>> db, scope = open_database("sqlite://"), Scope("iris")
    >>> _ = store_short_term_memory("tg/7", "tg/42", [{"text": "hi"}], db=db, scope=scope)
    >>> stats = get_stats(db=db, scope=scope)
    >>> stats["stores"], stats["entries"], stats["hitRate"]
    (1, 1, '0.0%')
    >>> db.close()
    """
    call = open_call(db, settings, scope)
    counted = counts.counts_for(call.db)
    try:
        entries: int | None = table.count_entries(call.db, call.persona)
    except StoreError:
        entries = None
    asked = counted.hits + counted.misses
    return {
        "hits": counted.hits,
        "misses": counted.misses,
        "stores": counted.stores,
        "invalidations": counted.invalidations,
        "expirations": counted.expirations,
        "errors": counted.errors + counts.without_handle.errors,
        "entries": entries,
        "hitRate": f"{100 * counted.hits / asked if asked else 0:.1f}%",
    }
