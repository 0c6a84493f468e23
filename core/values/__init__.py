"""DOOR: values under names, for frameworks that keep files or entries of their own.

A scope reaches the values of its own audience and of who is speaking, and no others: what is written in a direct
conversation is read in direct conversations with the same person, what nobody in particular wrote is shared. What of
them is text is found by every search, as a memory, and goes when its person, its conversation or the memory is
forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from ..calls.call import Call, GivenSettings, open_call, with_viewer
from ..database.engine import Database
from ..database.readers import Reader, reader_for
from ..errors import MessageError
from ..scope import Scope
from ..shapes import WriteResult
from . import table
from .rules import texts_in
from .table import Address, Change, Kind, NewValue, RefusedError, StoredValue, ValueName

__all__ = ["Change", "NewValue", "StoredValue", "ValueName", "change_values", "delete_expired_values",
           "find_values", "list_value_namespaces", "list_values", "search_values", "texts_in"]  # fmt: skip

MOST_HITS = 200
_T = TypeVar("_T")


def find_values(
    names: Iterable[ValueName],
    kind: Kind = "entry",
    *,
    refresh: bool = False,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> dict[ValueName, StoredValue]:
    """Return the values of these names that there are.

    Args:
        names: namespace and name of each, compared exactly and in case; any number of them.
        kind: `entry` or `file`.
        refresh: values with a time to live begin it anew.

    Returns:
        The values by name. A name without a value in the scope is not in it; empty where there is none.

    Raises:
        MessageError: a name that is none or fits no column, or a kind there is not.
        StoreReadError: nothing could be read.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.values import NewValue, ValueName, change_values, find_values
    >>> db, name = open_database("sqlite://"), ValueName(("users", "ann"), "drink")
    >>> _ = change_values(lambda change: change.write([NewValue(*name, '"tea"', text="tea")]), db=db)
    >>> find_values([name], db=db)[name].value
    '"tea"'
    >>> db.close()
    """
    wanted = table.check_names(names)
    call = open_call(db, settings, scope)
    address = _address(call, kind)
    found = table.find_values(_reader(call), address, wanted, call.db.clock())
    return dict(zip(found, _refreshed(call, address, list(found.values()), refresh), strict=True))


def list_values(
    prefix: Sequence[str] = (),
    kind: Kind = "entry",
    *,
    limit: int | None = None,
    offset: int = 0,
    refresh: bool = False,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> list[StoredValue]:
    """Return the values in a namespace and below it, the one changed last first.

    Args:
        prefix: whole parts, compared exactly and in case; `()` is everything.
        kind: `entry` or `file`.
        limit: most values; None for all.
        offset: how many to leave out before the first, where there is a `limit`.
        refresh: as in `find_values`.

    Returns:
        The values, maybe none.

    Raises:
        MessageError: a prefix that is no list of texts, or another argument out of its range.
        StoreReadError: nothing could be read.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.values import NewValue, change_values, list_values
    >>> db = open_database("sqlite://")
    >>> _ = change_values(lambda change: change.write([NewValue(("u10",), "a", "1")]), db=db)
    >>> list_values(("u1",), db=db), len(list_values(("u10",), db=db))
    ([], 1)
    >>> db.close()
    """
    below = table.check_namespace(prefix, "prefix")
    most = None if limit is None else table.check_count(limit, "limit")
    skipped = table.check_count(offset, "offset")
    call = open_call(db, settings, scope)
    address = _address(call, kind)
    rows = table.list_values(_reader(call), address, below, call.db.clock(), limit=most, offset=skipped)
    return _refreshed(call, address, rows, refresh)


def search_values(
    query: str,
    prefix: Sequence[str] = (),
    kind: Kind = "entry",
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> list[StoredValue]:
    """Return the values below a namespace whose texts fit what is looked for, the best first, each with its score.

    It is the search of memories over all that the scope sees, of which only values of its own are given.

    Args:
        query: what is looked for, in words.
        prefix: whole parts of a namespace, compared exactly and in case; `()` is everything.
        kind: `entry` or `file`.

    Returns:
        At most 200 values with their `score`, the highest first; of equal ones the newest. Empty where none fits.

    Raises:
        MessageError: a prefix that is no list of texts, or a kind there is not.
        StoreReadError: nothing could be read.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.values import NewValue, change_values, search_values
    >>> db = open_database("sqlite://")
    >>> new = NewValue(("users", "ann"), "drink", '{"text": "Ann likes green tea"}', text="Ann likes green tea")
    >>> _ = change_values(lambda change: change.write([new]), db=db)
    >>> [hit.name for hit in search_values("who likes tea?", ("users",), db=db)], search_values("coffee", db=db)
    (['drink'], [])
    >>> db.close()
    """
    from ..synth_core_memory import explain_search  # noqa: PLC0415 - loads the search, which most calls do not need

    below = table.check_namespace(prefix, "prefix")
    call = open_call(db, settings, scope)
    address = _address(call, kind)
    _, report = explain_search(
        query=query, include_chat=False, limit=MOST_HITS, ranking="relevance",
        db=call.db, settings=call.settings, scope=call.scope,
    )  # fmt: skip
    scores = {hit["id"]: float(hit["score"]) for hit in report["hits"] if hit["source"] == "memories"}
    found = table.find_by_items(_reader(call), address, below, scores, call.db.clock())
    hits = [replace(value, score=scores[item]) for item, value in found.items()]
    return sorted(hits, key=lambda hit: (-(hit.score or 0.0), -hit.id))


def list_value_namespaces(
    kind: Kind = "entry", *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> list[tuple[str, ...]]:
    """Return the namespaces that hold values, sorted.

    Args:
        kind: `entry` or `file`.

    Returns:
        The parts of each namespace, each namespace once; empty where the scope has no values.

    Raises:
        StoreReadError: nothing could be read.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.values import list_value_namespaces
    >>> db = open_database("sqlite://")
    >>> list_value_namespaces(db=db)
    []
    >>> db.close()
    """
    call = open_call(db, settings, scope)
    return table.list_namespaces(_reader(call), _address(call, kind), call.db.clock())


def change_values(
    work: Callable[[Change], _T],
    kind: Kind = "entry",
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> _T | WriteResult:
    """Run a change of values in one transaction, alone on them, and return what it returns.

    Args:
        work: gets a `Change` with `find`, `list_below`, `write`, `rename` and `delete`. It may be run again where the
            server asks for it, so it has no other effect.
        kind: `entry` or `file`.

    Returns:
        What `work` returned; `(False, None, "privacy")` where nothing may be kept of who is speaking.

    Raises:
        MessageError: a name that fits no column, a kind there is not, or no function.
        StoreWriteError: nothing was changed.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.values import NewValue, change_values, list_values
    >>> db = open_database("sqlite://")
    >>> _ = change_values(lambda change: change.write([NewValue(("a",), "b", "1")]), db=db)
    >>> _ = change_values(lambda change: change.delete(change.list_below()), db=db)
    >>> list_values(db=db)
    []
    >>> db.close()
    """
    if not callable(work):
        raise MessageError.of_type("work", work, "a function that gets the change")
    call = open_call(db, settings, scope)
    started = call.db.ids.one()  # by it a change is told to be older than a call of `forget`
    address = _address(call, kind)
    try:
        return call.db.transaction(
            lambda connection: work(Change(connection, call, address, started)),
            source=table.SOURCE,
            confirm=lambda _: None,
        )
    except RefusedError as refused:
        return refused.result


def delete_expired_values(
    kind: Kind = "entry", *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> int:
    """Delete the values of the scope whose time to live is over, at most 500 at once, and return how many.

    They are read no more from the moment it is over; this frees what they take.

    Args:
        kind: `entry` or `file`.

    Returns:
        How many were deleted, 0 to 500; call again while it is 500.

    Raises:
        StoreWriteError: nothing was deleted.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.values import delete_expired_values
    >>> db = open_database("sqlite://")
    >>> delete_expired_values(db=db)
    0
    >>> db.close()
    """
    done = change_values(lambda change: change.delete_expired(), kind, db=db, settings=settings, scope=scope)
    assert isinstance(done, int)
    return done


def _address(call: Call, kind: Kind) -> Address:
    """Return whose values the call reaches."""
    viewer = with_viewer(call).viewer
    assert viewer is not None
    owners = table.find_owners(_reader(call), call.persona, call.scope.participant)
    return Address(call.persona, viewer.own, owners, table.check_kind(kind), viewer.sees_local_only)


def _reader(call: Call) -> Reader:
    return reader_for(call.db, table.SOURCE)


def _refreshed(call: Call, address: Address, rows: list[StoredValue], refresh: bool) -> list[StoredValue]:
    lasting = [row for row in rows if row.ttl_seconds is not None] if refresh else []
    if lasting:
        now = call.db.clock()
        call.db.transaction(
            lambda connection: table.refresh_values(connection, address, lasting, now), source=table.SOURCE
        )
    return rows
