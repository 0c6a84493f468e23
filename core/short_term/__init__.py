"""DOOR: what was said a moment ago, here and in other channels.

After each answered turn the last few messages are kept per person and per server, channel and persona, until they
expire. Made from the turn itself; no model is called. Writing stands in `short_term.writer`, reading in
`short_term.reader`.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..calls.defaults import handle, scope_for, settings_for
from ..config import Settings
from ..database.engine import Database
from ..errors import StoreError
from ..scope import KEY_BYTES, Scope
from . import cache as short_term_cache
from . import capture as keeping
from . import table as short_term
from .reader import build_short_term_context, get_for_server, get_for_user, relative_age
from .rules_turn import read_id
from .shapes import OwnerKind, ShortTermEntry, ShortTermSection, ShortTermStats
from .writer import store_short_term_memory, update_short_term_memory, write_turn

__all__ = ["ShortTermEntry", "ShortTermSection", "ShortTermStats", "build_short_term_context",
           "clear_by_channel", "clear_by_server", "clear_by_user", "clear_expired", "get_for_server",
           "get_for_user", "get_stats", "relative_age", "store_short_term_memory", "update_short_term_memory",
           "write_turn"]  # fmt: skip


def clear_by_channel(
    channel: object,
    *,
    interface: str | None = None,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> int:
    """Remove the entries of a channel, of its people and its server, within the persona; return how many there were.

    Raises:
        MessageError: an id that cannot be one.
        StoreWriteError: nothing was removed.
    """
    db = handle(db)
    own = scope_for(scope, settings_for(settings, db))
    return _cleared(db, own, channel=keeping.channel_key(channel, own, interface))


def clear_by_user(
    user: object,
    *,
    interface: str | None = None,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> int:
    """Remove the entries of a person over all channels, within the persona; return how many there were.

    Entries of servers stay; `set_privacy(..., "full")` takes the person's lines out of those too.

    Raises:
        MessageError: an id that cannot be one.
        StoreWriteError: nothing was removed.
    """
    db = handle(db)
    own = scope_for(scope, settings_for(settings, db))
    key = keeping.user_key(user, own, interface)
    return _cleared(db, own, owner=("user", key)) if key is not None else 0


def clear_by_server(
    server: object,
    channel: object = None,
    *,
    interface: str | None = None,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> int:
    """Remove the entries of a server, or of one channel of it, within the persona; return how many there were.

    Raises:
        MessageError: an id that cannot be one.
        StoreWriteError: nothing was removed.
    """
    db = handle(db)
    own = scope_for(scope, settings_for(settings, db))
    name = read_id(server, "server", KEY_BYTES["server"])
    where = keeping.channel_key(channel, own, interface)
    return _cleared(db, own, owner=("server", name), channel=where) if name is not None else 0


def _cleared(
    db: Database, scope: Scope, *, owner: tuple[OwnerKind, str] | None = None, channel: str | None = None
) -> int:
    if owner is None and channel is None:
        return 0
    gone = short_term.clear(db, scope.persona, owner=owner, channel=channel)
    memory = short_term_cache.of(db)
    memory.drop(scope.persona)
    memory.count(invalidations=gone)
    return gone


def clear_expired(
    *, db: Database | None = None, settings: Settings | Mapping[str, object] | None = None, scope: Scope | None = None
) -> int:
    """Remove every expired entry of the scope's persona and return how many there were; for a timer of the host.

    Raises:
        StoreError: not all of them could be removed.
    """
    db = handle(db)
    known = settings_for(settings, db)
    gone = short_term.expire_all(db, scope_for(scope, known).persona, life=keeping.life_of(known))
    short_term_cache.of(db).count(expirations=gone)
    return gone


def get_stats(
    *, db: Database | None = None, settings: Settings | Mapping[str, object] | None = None, scope: Scope | None = None
) -> ShortTermStats:
    """Return what this process has counted since the handle was opened, and how many entries the persona has.

    Where the database does not answer `entries` is None: how many turns were lost can be asked all the same.
    """
    db = handle(db)
    counts = short_term_cache.of(db).counts
    try:
        entries: int | None = short_term.count(db, scope_for(scope, settings_for(settings, db)).persona)
    except StoreError:
        entries = None
    asked = counts.hits + counts.misses
    return {
        "hits": counts.hits,
        "misses": counts.misses,
        "stores": counts.stores,
        "invalidations": counts.invalidations,
        "expirations": counts.expirations,
        "errors": counts.errors + short_term_cache.without_handle.counts.errors,
        "entries": entries,
        "hitRate": f"{100 * counts.hits / asked if asked else 0:.1f}%",
    }
