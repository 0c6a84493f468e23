"""Values under names, for frameworks that keep files or entries of their own. Called by `adapters`.

A scope reaches the values of its own audience and of who is speaking, and no others: what is written in a direct
conversation is read in direct conversations with the same person, what nobody in particular wrote is shared. The text
of a value is found by every search, as a memory, and goes when its person, conversation or memory is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from ..calls.call import Call, GivenSettings, open_call, with_viewer
from ..database.engine import Database
from ..database.readers import reader_for
from ..scope import Scope
from ..shapes import WriteResult
from . import table
from .table import Address, Change, Kind, NewValue, RefusedError, StoredValue, ValueName, Values

__all__ = ["Change", "NewValue", "StoredValue", "ValueName", "change_values", "delete_expired_values",
           "find_values", "list_value_namespaces", "list_values", "search_values"]  # fmt: skip

MAX_HITS = 200
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
    """Return the values with these names; with `refresh`, values with a time to live begin it anew."""
    checked = [table.check_name(*name) for name in names]
    call, values = _open(kind, db, settings, scope)
    by_name = values.find(checked)
    if refresh:
        _refresh(call, values.address, by_name.values())
    return by_name


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
    """Return the values in a namespace and below it, the one changed last first; `offset` needs a `limit`."""
    namespace = table.check_namespace(prefix, "prefix")
    call, values = _open(kind, db, settings, scope)
    listed = values.list_below(namespace, limit=limit, offset=offset)
    if refresh:
        _refresh(call, values.address, listed)
    return listed


def search_values(
    query: str,
    prefix: Sequence[str] = (),
    kind: Kind = "entry",
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> list[StoredValue]:
    """Return at most 200 values below a namespace that the search of memories finds, best first, with scores."""
    from ..synth_core_memory import explain_search  # noqa: PLC0415 - loads the search, which most calls do not need

    namespace = table.check_namespace(prefix, "prefix")
    call, values = _open(kind, db, settings, scope)
    _, report = explain_search(
        query=query, include_chat=False, limit=MAX_HITS, ranking="relevance",
        db=call.db, settings=call.settings, scope=call.scope,
    )  # fmt: skip
    scores = {hit["id"]: float(hit["score"]) for hit in report["hits"] if hit["source"] == "memories"}
    by_item = values.find_by_items(namespace, scores)
    hits = [replace(value, score=scores[item_id]) for item_id, value in by_item.items()]
    return sorted(hits, key=lambda hit: (-(hit.score or 0.0), -hit.id))


def list_value_namespaces(
    kind: Kind = "entry", *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> list[tuple[str, ...]]:
    """Return the namespaces that hold values, each once, sorted."""
    return _open(kind, db, settings, scope)[1].list_namespaces()


def change_values(
    work: Callable[[Change], _T],
    kind: Kind = "entry",
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> _T | WriteResult:
    """Run a change of values in one transaction and return what it returns; `work` may run again.

    Returns `(False, None, "privacy")` if nothing may be kept of who is speaking.
    """
    call, values = _open(kind, db, settings, scope)
    return _change(call, values.address, work)


def _change(call: Call, address: Address, work: Callable[[Change], _T]) -> _T | WriteResult:
    started = call.db.ids.one()  # tells whether the change is older than a call of `forget`
    try:
        return call.db.transaction(
            lambda connection: work(Change(connection, call, address, started)),
            source=table.SOURCE,
            confirm=lambda _: None,
        )
    except RefusedError:
        return WriteResult(False, None, "privacy")


def delete_expired_values(
    kind: Kind = "entry", *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> int:
    """Delete at most 500 values of the scope whose time to live is over, and return how many.

    Expired values are never read; this frees their space.
    """
    count = change_values(lambda change: change.delete_expired(), kind, db=db, settings=settings, scope=scope)
    assert isinstance(count, int)
    return count


def _open(kind: Kind, db: Database | None, settings: GivenSettings, scope: Scope | None) -> tuple[Call, Values]:
    """Return the call, and the values it reaches."""
    call = with_viewer(open_call(db, settings, scope))
    assert call.viewer is not None
    read = reader_for(call.db, table.SOURCE)
    owners = table.find_owners(read, call.persona, call.scope.participant)
    address = Address(call.persona, call.viewer.own, owners, kind, call.viewer.sees_local_only)
    return call, Values(read, address, call.db.clock())


def _refresh(call: Call, address: Address, values: Iterable[StoredValue]) -> None:
    expiring = [value for value in values if value.ttl_seconds is not None]
    if expiring:
        _change(call, address, lambda change: change.refresh(expiring))
