"""`Store`: LangGraph's long-term store on the engine's database.

Namespaces are kept as parts and compared exactly, in case. `query` is the engine's own search; what of a value is text
is found by prompts too, and goes when its person or conversation is forgotten.
"""

from __future__ import annotations

import asyncio
import json
import math
import operator
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..base import logs
from ..calls.call import GivenSettings
from ..database.engine import Database
from ..errors import CoreError, MessageError
from ..scope import Scope
from ..shapes import WriteResult
from ..values import (
    Change,
    NewValue,
    StoredValue,
    ValueName,
    change_values,
    delete_expired_values,
    find_values,
    list_value_namespaces,
    list_values,
    search_values,
)
from . import missing

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        get_text_at_path,
        tokenize_path,
        validate_op_namespace,
    )
except ImportError as _error:
    raise missing("langgraph", "langgraph") from _error

__all__ = ["Store"]

_KEY = re.compile(r"[\w .-]+\Z")


class Store(BaseStore):
    """A LangGraph store whose values are those of a scope.

    Args:
        db, settings: those of the process where they are None.
        scope: whose values: those of its own audience and person. None takes the scope of `use_scope` at each call.
        fields: paths of the texts that are searched, such as `["text", "notes[*].body"]`; None takes every text.
        ttl: `default_ttl` in minutes, `refresh_on_read`, and `sweep_interval_minutes` for `start_ttl_sweeper`. What has
            expired is never read.
    """

    supports_ttl = True
    __slots__ = ("_by", "_fields", "_stop", "_sweeper", "ttl_config")

    def __init__(
        self,
        *,
        db: Database | None = None,
        settings: GivenSettings = None,
        scope: Scope | None = None,
        fields: Sequence[str] | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        super().__init__()
        self._by: dict[str, Any] = {"db": db, "settings": settings, "scope": scope}
        self._fields = None if fields is None else list(fields)
        self.ttl_config: TTLConfig | None = ttl
        self._stop = threading.Event()
        self._sweeper: threading.Thread | None = None

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations, each answer in its place: what reads sees what was there before, then all puts are stored.

        Raises:
            InvalidNamespaceError: a label that is blank, no text, or holds a period; nothing was run.
            ValueError: a filter that cannot be used, or a value that is no JSON.
            StoreError: nothing could be read, or nothing was stored.
        """
        asked = list(ops)
        for op in asked:
            validate_op_namespace(op)
        results: list[Result] = [None] * len(asked)
        self._get(asked, results)
        for at, op in enumerate(asked):
            if isinstance(op, SearchOp):
                results[at] = self._search(op)
            elif isinstance(op, ListNamespacesOp):
                results[at] = self._list(op)
            elif not isinstance(op, (GetOp, PutOp)):
                raise TypeError(f"The operation is of type {type(op).__name__}, which this store does not know.")
        puts = {ValueName(tuple(op.namespace), str(op.key)): op for op in asked if isinstance(op, PutOp)}
        if puts:
            self._write(puts)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations as `batch` does, in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Delete the values of the scope that have expired, and return how many there were."""
        return delete_expired_values(**self._by)

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> None:
        """Delete what has expired every so many minutes, in a thread, until `stop_ttl_sweeper`."""
        config = self.ttl_config or {}
        minutes = sweep_interval_minutes or config.get("sweep_interval_minutes") or 5
        if self._sweeper is None or not self._sweeper.is_alive():
            self._stop.clear()
            self._sweeper = threading.Thread(target=self._sweep, args=(minutes * 60,), daemon=True)
            self._sweeper.start()

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """End the thread of `start_ttl_sweeper`, and return whether it has ended."""
        self._stop.set()
        if self._sweeper is not None:
            self._sweeper.join(timeout)
        return self._sweeper is None or not self._sweeper.is_alive()

    def _sweep(self, seconds: float) -> None:
        while not self._stop.wait(seconds):
            try:
                self.sweep_ttl()
            except CoreError as error:  # another round comes
                logs.warning("value_sweep_failed", error=type(error).__name__)

    # Reading

    def _get(self, asked: Sequence[Op], results: list[Result]) -> None:
        places = [(at, op) for at, op in enumerate(asked) if isinstance(op, GetOp)]
        for refresh in (False, True):
            some = [(at, ValueName(tuple(op.namespace), str(op.key))) for at, op in places if op.refresh_ttl == refresh]
            if some:
                values = find_values([name for _, name in some], refresh=refresh, **self._by)
                for at, name in some:
                    results[at] = _item(values[name]) if name in values else None

    def _search(self, op: SearchOp) -> list[SearchItem]:
        prefix, query = tuple(op.namespace_prefix), (op.query or "").strip()
        for key in op.filter or {}:
            if not _KEY.match(key):
                raise ValueError(f"Invalid filter key: {key!r}. It may hold letters, digits, spaces, `_`, `-` and `.`.")
        if not query and not op.filter:
            page = list_values(prefix, limit=op.limit, offset=op.offset, refresh=op.refresh_ttl, **self._by)
            return [_hit(value, None) for value in page]
        rows: list[tuple[StoredValue, float | None]] = [(value, None) for value in list_values(prefix, **self._by)]
        if query:
            scores = {hit.id: hit.score for hit in search_values(query, prefix, **self._by)}
            order = {row_id: place for place, row_id in enumerate(scores)}
            # What does not fit comes after, and last what is not searched at all, which has no score.
            rows = [(value, None if value.memory_id is None else scores.get(value.id, 0.0)) for value, _ in rows]
            rows.sort(key=lambda each: (order.get(each[0].id, len(order)), each[0].memory_id is None))
        fitting = [each for each in rows if not op.filter or _fits(json.loads(each[0].value or "null"), op.filter)]
        page_of = fitting[op.offset : op.offset + op.limit]
        if op.refresh_ttl and any(value.ttl_seconds is not None for value, _ in page_of):
            find_values([ValueName(value.namespace, value.name) for value, _ in page_of], refresh=True, **self._by)
        return [_hit(value, score) for value, score in page_of]

    def _list(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        namespaces = [each for each in list_value_namespaces(**self._by) if all(_matches(c, each) for c in conditions)]
        if op.max_depth is not None:
            namespaces = sorted({namespace[: op.max_depth] for namespace in namespaces})
        return namespaces[op.offset : op.offset + op.limit]

    # Writing

    def _write(self, puts: Mapping[ValueName, PutOp]) -> None:
        new = [self._new_value(name, op) for name, op in puts.items() if op.value is not None]
        deleted = [name for name, op in puts.items() if op.value is None]

        def work(change: Change) -> None:
            if self.ttl_config:
                change.delete_expired()
            if deleted:
                change.lock()
                change.delete(change.find(deleted).values())
            if new:
                change.write(new)

        result = change_values(work, **self._by)
        if isinstance(result, WriteResult):
            logs.warning("value_refused", reason=result.reason, values=len(new))

    def _new_value(self, name: ValueName, op: PutOp) -> NewValue:
        try:
            value = json.dumps(op.value, ensure_ascii=True, separators=(",", ":"))
        except (TypeError, ValueError) as error:
            raise MessageError(
                f"The value of {name.name!r} in {name.namespace} is no JSON: {error}. Store texts, numbers, lists and "
                "mappings.",
                fields=("value",),
            ) from error
        ttl = None if op.ttl is None else max(1, math.ceil(round(op.ttl * 60, 3)))
        return NewValue(*name, value, self._text(op), ttl)

    def _text(self, op: PutOp) -> str:
        """Return the text of a value that searches look in; blank for `index=False`."""
        if op.index is False:
            return ""
        paths = self._fields if op.index is None else op.index
        if paths is None or "$" in paths:
            return "\n".join(_texts_in(op.value))
        return "\n".join(text for path in paths for text in get_text_at_path(op.value, tokenize_path(path)) if text)


def _texts_in(value: Any) -> Iterator[str]:
    """Yield the texts of a JSON value, in order and without its keys."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str) and item.strip():
            yield item
        elif isinstance(item, (dict, list, tuple)):
            pending += reversed(list(item.values()) if isinstance(item, dict) else item)


def _item(value: StoredValue) -> Item:
    return Item(
        value=json.loads(value.value or "null"),
        key=value.name,
        namespace=value.namespace,
        created_at=value.created_at,
        updated_at=value.updated_at,
    )


def _hit(value: StoredValue, score: float | None) -> SearchItem:
    return SearchItem(
        value.namespace, value.name, json.loads(value.value or "null"), value.created_at, value.updated_at, score
    )


def _matches(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    """Return whether a namespace begins, or ends, with a path in which `*` stands for any part."""
    path = tuple(condition.path)
    if len(namespace) < len(path):
        return False
    if condition.match_type not in ("prefix", "suffix"):
        raise ValueError(f"match_type is {condition.match_type!r}. It must be 'prefix' or 'suffix'.")
    parts = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", part) for part, wanted in zip(parts, path, strict=True))


# Filters


def _fits(value: Any, wanted: Mapping[str, Any]) -> bool:
    """Return whether each key of a filter holds for a value; a key with periods leads to what lies deeper."""
    return all(_equals(_find(value, key), asked) for key, asked in wanted.items())


def _find(value: Any, key: str) -> Any:
    if isinstance(value, Mapping) and key in value:
        return value[key]
    for part in key.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(part)
    return value


def _equals(value: Any, asked: Any) -> bool:
    if isinstance(asked, Mapping):
        if any(str(key).startswith("$") for key in asked):
            return all(_compares(value, name, other) for name, other in asked.items())
        return isinstance(value, Mapping) and all(_equals(value.get(key), other) for key, other in asked.items())
    if isinstance(asked, (list, tuple)):
        return (
            isinstance(value, (list, tuple))
            and len(value) == len(asked)
            and all(_equals(one, other) for one, other in zip(value, asked, strict=True))
        )
    return type(value) is type(asked) and value == asked if isinstance(asked, bool) else bool(value == asked)


_ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt, "$lte": operator.le,
}  # fmt: skip


def _compares(value: Any, name: str, other: Any) -> bool:
    if name in ("$eq", "$ne"):
        return _equals(value, other) == (name == "$eq")
    if name not in _ORDER:
        raise ValueError(f"Unsupported operator: {name}. Use $eq, $ne, $gt, $gte, $lt or $lte.")
    if isinstance(value, str) and isinstance(other, str):
        return bool(_ORDER[name](value, other))
    try:
        return bool(_ORDER[name](float(value), float(other)))
    except (TypeError, ValueError, OverflowError):  # neither is greater
        return False
