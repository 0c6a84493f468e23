"""Values under names out of a database and into one: a LangGraph store, the files of a memory tool."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

from ..calls.call import Call, GivenSettings, open_call
from ..database.engine import Database
from ..errors import MessageError, TransferError
from ..scope import Scope
from ..search.rules_arguments import shown
from ..shapes import WriteResult
from ..values import Change, NewValue, ValueName, change_values, list_values
from ..values.table import Kind, check_name
from .items.documents import read_beginning, read_text

__all__ = ["ValueImport", "ValueProblem", "export_values", "import_values"]

KEY = "stored_values"
"""The one key of a file."""
AT_ONCE = 200
MOST_SHOWN = 100
MOST_BYTES = 100 * 1024**2
"""Most bytes of a file, unpacked."""
_BEGINS = re.compile(rf'\s*{{\s*"{KEY}"\s*:')
_KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class ValueProblem:
    """A value that was not taken."""

    row: int
    """Its place in the list, from 1."""
    reason: str


@dataclass(frozen=True, slots=True)
class ValueImport:
    """What became of values that were imported."""

    imported: int = 0
    duplicates: int = 0
    """Those that are there already, as they are."""
    error_count: int = 0
    errors: tuple[ValueProblem, ...] = ()
    """The first hundred that were not taken."""
    dry_run: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return asdict(self)


def export_values(
    *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> list[dict[str, Any]]:
    """Return the values a scope reaches, as `import_values` takes them, by kind, namespace and name.

    Args:
        db: None is the database of the process.
        settings: None is those of the process.
        scope: whose values: those of its own audience and of who is speaking. None is the current scope.

    Returns:
        Of each value `kind`, `namespace`, `name`, `value`, `text` (what is searched), `ttl_seconds`, and `created_at`,
        `updated_at`, `expires_at` as ISO 8601 texts. An entry's value is what its JSON holds, a file's its text, a
        folder's None. Empty where there are none; what has expired is left out.

    Raises:
        StoreReadError: nothing could be read.

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.transfer import export_values
    >>> from prompt_engine.values import NewValue, change_values
    >>> db, scope = open_database("sqlite://"), Scope("iris")
    >>> _ = change_values(lambda change: change.write([NewValue(("a",), "b", '{"n": 1}')]), db=db, scope=scope)
    >>> [(each["namespace"], each["name"], each["value"]) for each in export_values(db=db, scope=scope)]
    [(['a'], 'b', {'n': 1})]
    >>> db.close()
    """
    call = open_call(db, settings, scope)
    made = []
    for kind in _KINDS:
        for each in list_values((), kind, db=call.db, settings=call.settings, scope=call.scope):
            times = {name: getattr(each, name) for name in ("created_at", "updated_at", "expires_at")}
            value = each.value if kind == "file" or each.value is None else json.loads(each.value)
            made.append({
                "kind": kind, "namespace": list(each.namespace), "name": each.name, "value": value, "text": each.text,
                "ttl_seconds": each.ttl_seconds,
                **{name: None if time is None else time.isoformat() for name, time in times.items()},
            })  # fmt: skip
    return sorted(made, key=lambda each: (each["kind"], each["namespace"], each["name"]))


def read_values(path: Path) -> list[Any] | None:
    """Return the values a file holds; None where it is no file of values."""
    if not _BEGINS.match(read_beginning(path)):
        return None
    try:
        values = json.loads(read_text(path, MOST_BYTES))[KEY]
    except (ValueError, RecursionError) as error:
        raise TransferError(f"The file of values breaks off or is no JSON: {type(error).__name__}.") from None
    if not isinstance(values, list):
        raise TransferError(
            f"{KEY} is {shown(values)}. It must be a list of values, as `export --values` writes it. Export it again."
        )
    return values


def import_values(
    values: Iterable[Mapping[str, Any]],
    *,
    dry_run: bool = False,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> ValueImport:
    """Store values as `export_values` gives them, under their names, in the scope of the call.

    The same values again store nothing. A value whose name has another one here is not taken, nor is one that is none;
    the others are. They are stored 200 at a time; an import that failed has stored whole parts, and goes on when it is
    run again. A time to live begins anew.

    Args:
        values: each with `namespace`, `name` and `value`; maybe `kind` (`entry` or `file`; `entry`), `text` (what is
            searched; none), `ttl_seconds` (none). What else it holds is not read.
        dry_run: give the same answer and store nothing.
        db: None is the database of the process.
        settings: None is those of the process.
        scope: whose they are from then on; None is the current scope.

    Returns:
        How many were imported, were there already and were not taken, of these the first hundred with the reason.

    Raises:
        StoreWriteError: nothing more was stored.
        MessageError: `values` is no list.

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.transfer import import_values
    >>> db, scope = open_database("sqlite://"), Scope("iris")
    >>> import_values([{"namespace": ["a"], "name": "b", "value": 1}], db=db, scope=scope).imported
    1
    >>> db.close()
    """
    given: object = values
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise MessageError.of_type("values", values, "a list of values")
    call = open_call(db, settings, scope)
    importing = _Importing(call, dry_run)
    for row, each in enumerate(values, 1):
        importing.add(row, each)
    return importing.result()


class _Importing:
    """An import under way."""

    def __init__(self, call: Call, dry_run: bool) -> None:
        self._call, self._dry_run = call, dry_run
        self._waiting: dict[Kind, dict[ValueName, tuple[int, NewValue]]] = {kind: {} for kind in _KINDS}
        self._imported = self._duplicates = 0
        self._problems: list[ValueProblem] = []

    def add(self, row: int, value: Any) -> None:
        try:
            kind, new = _read_value(value)
        except (MessageError, ValueError, TypeError, RecursionError) as error:
            self._problems.append(ValueProblem(row, str(error) or type(error).__name__))
            return
        name = ValueName(new.namespace, new.name)
        if name in self._waiting[kind] or len(self._waiting[kind]) >= AT_ONCE:
            self._store(kind)
        self._waiting[kind][name] = (row, new)

    def _store(self, kind: Kind) -> None:
        """Store the waiting values of a kind, in one transaction."""
        waiting, self._waiting[kind] = self._waiting[kind], {}

        def work(change: Change) -> tuple[int, list[ValueProblem]]:
            there = change.find(waiting)
            fresh = [new for name, (_, new) in waiting.items() if name not in there]
            if fresh and not self._dry_run:
                change.write(fresh)
            return len(fresh), [
                ValueProblem(row, "another value has this name here")
                for name, (row, new) in waiting.items()
                if name in there and not _is_same(there[name].value, new.value, kind)
            ]

        call = self._call
        done = change_values(work, kind, db=call.db, settings=call.settings, scope=call.scope)
        if isinstance(done, WriteResult):
            reason = f"nothing may be kept here: {done.reason}"
            self._problems += [ValueProblem(row, reason) for row, _ in waiting.values()]
            return
        count, other = done
        self._imported += count
        self._duplicates += len(waiting) - count - len(other)
        self._problems += other

    def result(self) -> ValueImport:
        for kind in _KINDS:
            if self._waiting[kind]:
                self._store(kind)
        shown = tuple(sorted(self._problems, key=lambda each: each.row)[:MOST_SHOWN])
        return ValueImport(self._imported, self._duplicates, len(self._problems), shown, self._dry_run)


def _read_value(given: Any) -> tuple[Kind, NewValue]:
    """Return a value that can be stored."""
    if not isinstance(given, Mapping):
        raise MessageError.of_type("a value", given, "an object with namespace, name and value")
    kind = given.get("kind", "entry")
    if kind not in _KINDS:
        raise MessageError(f"kind is {str(kind)[:40]!r}. It must be 'entry' or 'file'.", fields=("kind",))
    namespace, name, ttl = given.get("namespace"), given.get("name"), given.get("ttl_seconds")
    text = given.get("text", "")
    if not isinstance(namespace, (list, tuple)) or not isinstance(name, str) or not name or "value" not in given:
        raise MessageError("namespace, name or value is missing. A value has all three.", fields=("name",))
    if not isinstance(text, str):
        raise MessageError.of_type("text", text, "a text")
    if ttl is not None and (isinstance(ttl, bool) or not isinstance(ttl, int) or not 1 <= ttl < 2**31):
        raise MessageError(
            "ttl_seconds is out of range. It must be a whole number of seconds, or missing.", fields=("ttl_seconds",)
        )
    named = check_name(tuple(namespace), name)
    value = given["value"]
    if kind == "file":
        if value is not None and not isinstance(value, str):
            raise MessageError.of_type("value", value, "the text of a file, or null for a folder")
        return kind, NewValue(*named, value, value or "", ttl)
    return kind, NewValue(*named, json.dumps(value, ensure_ascii=True, separators=(",", ":")), text, ttl)


def _is_same(there: str | None, new: str | None, kind: Kind) -> bool:
    if kind == "file" or there is None or new is None:
        return there == new
    return bool(json.loads(there) == json.loads(new))
