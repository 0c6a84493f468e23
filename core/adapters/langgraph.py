"""`Store`: LangGraph's long-term store on this package's database.

Namespaces are compared part by part, case-sensitively. `query` uses this package's search. Prompts find the texts of
values too, and forgetting deletes them.
"""

from __future__ import annotations

import asyncio
import json
import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..base import logs
from ..calls.call import GivenSettings
from ..database.engine import Database
from ..db import open_database
from ..errors import MessageError
from ..scope import Scope
from ..synth_core_memory import explain_search
from ..values import Change, NewValue, Path, RefusedError, StoredValue, Values, open_values
from . import missing

try:
    from langgraph.store import base
    from langgraph.store.base import TTLConfig
    from langgraph.store.memory import InMemoryStore
except ImportError as _error:
    raise missing("langgraph", "langgraph") from _error

__all__ = ["Store"]

MAX_HITS = 200
_KEY = re.compile(r"[\w .-]+\Z")


class Store(base.BaseStore):
    """A LangGraph store for the values of a scope.

    Args:
        db: an open database or a connection string; None uses the process's database.
        scope: owner of the values. None uses the scope of `use_scope` at each call.
        fields: paths of searchable texts, such as `["text", "notes[*].body"]`; None searches every text.
        ttl: LangGraph's `default_ttl` (minutes) and `refresh_on_read`. Reads skip expired values; puts delete them.
    """

    supports_ttl = True
    __slots__ = ("_by", "_fields", "ttl_config")

    def __init__(
        self,
        *,
        db: Database | str | None = None,
        settings: GivenSettings = None,
        scope: Scope | None = None,
        fields: Sequence[str] | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        super().__init__()
        opened = open_database(db) if isinstance(db, str) else db
        self._by: dict[str, Any] = {"db": opened, "settings": settings, "scope": scope}
        self._fields = None if fields is None else list(fields)
        self.ttl_config: TTLConfig | None = ttl

    def batch(self, ops: Iterable[base.Op]) -> list[base.Result]:
        """Run operations and return their results in order; all reads see the state before the batch's puts.

        Raises:
            InvalidNamespaceError: a label is blank, not a text, or contains a period; nothing was run.
            ValueError: a filter cannot be used. MessageError: a value is not JSON.
            StoreError: nothing could be read, or nothing was stored.
        """
        listed = list(ops)
        for op in listed:
            base.validate_op_namespace(op)
        values = open_values(**self._by)
        by_path = values.find(_path(op) for op in listed if isinstance(op, base.GetOp))
        results: list[base.Result] = []
        puts: dict[Path, base.PutOp] = {}
        refreshed: list[StoredValue] = []
        for op in listed:
            if isinstance(op, base.GetOp):
                value = by_path.get(_path(op))
                results.append(base.Item(**_fields_of(value)) if value else None)
                refreshed += [value] if value and op.refresh_ttl else []
            elif isinstance(op, base.SearchOp):
                hits = self._search(values, op)
                results.append([base.SearchItem(**_fields_of(hit), score=score) for hit, score in hits])
                refreshed += [hit for hit, _ in hits] if op.refresh_ttl else []
            elif isinstance(op, base.ListNamespacesOp):
                names = InMemoryStore()  # the framework's own rules of matching
                names.batch([base.PutOp(namespace, "-", {}) for namespace in values.list_namespaces()])
                results += names.batch([op])
            else:
                puts[_path(op)] = op
                results.append(None)
        values.refresh(refreshed)
        if puts:
            self._write(values, puts)
        return results

    async def abatch(self, ops: Iterable[base.Op]) -> list[base.Result]:
        """Run LangGraph store operations as `batch` does, but in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Delete up to 500 expired values of the scope; return their number."""
        return open_values(**self._by).change(lambda change: change.delete_expired())

    def _search(self, values: Values, op: base.SearchOp) -> list[tuple[StoredValue, float | None]]:
        query = (op.query or "").strip()
        for key in op.filter or {}:
            if not _KEY.match(key):
                raise ValueError(f"Invalid filter key: {key!r}. It may hold letters, digits, spaces, `_`, `-` and `.`.")
        if not query and not op.filter:
            page = values.list_below(op.namespace_prefix, limit=op.limit, offset=op.offset)
            return [(value, None) for value in page]
        rows = values.list_below(op.namespace_prefix)
        if op.filter:
            rows = [value for value in rows if _fits(json.loads(value.value or "null"), op.filter)]
        scores: dict[int | None, float] = {}
        if query:
            _, report = explain_search(query=query, include_chat=False, limit=MAX_HITS, ranking="relevance", **self._by)
            scores = {hit["id"]: float(hit["score"]) for hit in report["hits"] if hit["source"] == "memories"}
        # values that do not match come after matches, values without searchable text last and without a score
        rows.sort(key=lambda value: (-scores.get(value.memory_id, 0.0), value.memory_id is None))
        return [
            (value, scores.get(value.memory_id, 0.0) if query and value.memory_id is not None else None)
            for value in rows[op.offset : op.offset + op.limit]
        ]

    def _write(self, values: Values, puts: Mapping[Path, base.PutOp]) -> None:
        new = [self._new_value(path, op) for path, op in puts.items() if op.value is not None]
        deleted = [path for path, op in puts.items() if op.value is None]

        def work(change: Change) -> None:
            if self.ttl_config:
                change.delete_expired()
            if deleted:
                change.delete(change.find(deleted).values())
            if new:
                change.write(new)

        try:
            values.change(work)
        except RefusedError:
            logs.warning("value_refused", reason="privacy", values=len(new))

    def _new_value(self, path: Path, op: base.PutOp) -> NewValue:
        try:
            value = json.dumps(op.value, ensure_ascii=True, separators=(",", ":"))
        except (TypeError, ValueError) as error:
            raise MessageError(
                f"The value of {path[-1]!r} in {path[:-1]} is no JSON: {error}. Store texts, numbers, lists and "
                "mappings.",
                fields=("value",),
            ) from error
        ttl = None if op.ttl is None else max(1, math.ceil(round(op.ttl * 60, 3)))
        return NewValue(path, value, self._read_text(op), ttl)

    def _read_text(self, op: base.PutOp) -> str:
        """Return the searchable text of a value; "" if the operation has `index=False`."""
        if op.index is False:
            return ""
        paths = self._fields if op.index is None else op.index
        if paths is None or "$" in paths:
            return "\n".join(_texts_in(op.value))
        return "\n".join(
            text for path in paths for text in base.get_text_at_path(op.value, base.tokenize_path(path)) if text
        )


def _texts_in(value: Any) -> Iterator[str]:
    """Yield the texts of a JSON value in order, without its keys."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str) and item.strip():
            yield item
        elif isinstance(item, (dict, list, tuple)):
            pending += reversed(list(item.values()) if isinstance(item, dict) else item)


def _path(op: base.GetOp | base.PutOp) -> Path:
    return (*op.namespace, str(op.key))


def _fields_of(value: StoredValue) -> dict[str, Any]:
    return {
        "value": json.loads(value.value or "null"),
        "key": value.path[-1],
        "namespace": value.path[:-1],
        "created_at": value.created_at,
        "updated_at": value.updated_at,
    }


def _fits(value: Any, wanted: Mapping[str, Any]) -> bool:
    """Return whether a value meets all conditions of a filter; a key with periods is a path."""
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
    except (TypeError, ValueError, OverflowError):  # the values cannot be compared
        return False
