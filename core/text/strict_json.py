"""Convert values of hosts and hooks to plain JSON values, with a note for each change."""

import json
import math
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from ..base.patterns import lazy_pattern
from .folding import clean

MAX_DEPTH = 100
MAX_NODES = 1_000_000
"""Maximum number of values that are converted; later ones become the name of their type: a structure can be endless."""
MAX_NOTES = 50
MAX_INT_BITS = 14_000
"""Maximum number of bits of an integer: Python cannot write over 4,300 digits. A larger one becomes its type's name."""

_PLAIN_KEY = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]{0,39}\Z")


def make_strict(value: Any) -> tuple[Any, list[str]]:
    """Convert a value to plain JSON values; return them and a note for each change."""
    reader = _Reader()
    plain, more = reader.read(value, ""), reader.more
    return plain, [*reader.notes, f"{more} more values were changed"] if more else reader.notes


class _Reader:
    def __init__(self) -> None:
        self.notes: list[str] = []
        self.more = 0
        self.nodes = 0
        self.open: set[int] = set()
        """Ids of the containers around the current value."""

    def note(self, path: str, text: str) -> None:
        if len(self.notes) < MAX_NOTES:
            self.notes.append(f"{path[-200:] or 'value'}: {text}")
        else:
            self.more += 1

    def read(self, value: Any, path: str) -> Any:
        kind = type(value)
        if kind is str:
            return clean(value)
        if value is None or kind is bool:
            return value
        if kind is int or kind is float or isinstance(value, (int, float, Decimal)):
            return self.number(value, path)
        if isinstance(value, str):
            return clean(str.__str__(value))
        if isinstance(value, (dict, list, tuple, Mapping, AbstractSet)):
            return self.container(value, path)
        if isinstance(value, (date, time)) and (text := _iso(value)) is not None:
            self.note(path, f"{type(value).__name__} became text")
            return text
        return self.name(value, path, "is no value of JSON")

    def number(self, value: int | float | Decimal, path: str) -> Any:
        if isinstance(value, int):
            if value.bit_length() > MAX_INT_BITS:
                return self.name(value, path, "a whole number too long to write")
            return int(value)
        if isinstance(value, Decimal):
            self.note(path, "decimal became a number")
            value = float(value) if value.is_finite() else math.nan
            if value.is_integer() and abs(value) < 2**53:
                return int(value)
        if not math.isfinite(value):
            self.note(path, f"{float(value)!r} became null")
            return None
        return float(value)

    def container(self, value: Any, path: str) -> Any:
        self.nodes += len(value) + 1 if isinstance(value, (dict, list, tuple, set, frozenset)) else 1
        if len(self.open) >= MAX_DEPTH:
            return self.name(value, path, f"nested more than {MAX_DEPTH} deep")
        if id(value) in self.open:
            return self.name(value, path, "holds itself")
        if self.nodes > MAX_NODES:
            return self.name(value, path, f"more than {MAX_NODES} values")
        self.open.add(id(value))
        try:
            inside = f"{path}[]"
            if isinstance(value, (list, tuple)):
                return [clean(item) if type(item) is str else self.read(item, inside) for item in list(value)]
            if isinstance(value, (dict, Mapping)):  # most are dicts, for which an abstract class is slow
                return self.mapping(value, path)
            self.note(path, f"{type(value).__name__} became a sorted list")
            return sorted((self.read(item, inside) for item in list(value)), key=_set_order)
        except Exception as error:  # noqa: BLE001 - a foreign container may raise anything while it is read
            return self.name(value, path, f"could not be read ({type(error).__name__})")
        finally:
            self.open.discard(id(value))

    def mapping(self, value: Mapping[Any, Any], path: str) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, item in list(value.items()):
            text = (key if key.isprintable() else clean(key)) if type(key) is str else self.key(key, path)
            if type(item) is str and text not in made:
                made[text] = item if item.isprintable() else clean(item)
                continue
            shown = text if _PLAIN_KEY.match(text) else "?"
            inside = f"{path}.{shown}" if path else shown
            if text in made:
                self.note(inside, "two keys are the same text, the later value was taken")
            made[text] = self.read(item, inside)
        return made

    def key(self, key: Any, path: str) -> str:
        """Return a key as text, in the form of `json.dumps` if possible."""
        if isinstance(key, str):
            return clean(str.__str__(key))
        self.note(path, f"a key of type {type(key).__name__} became text")
        is_too_long = isinstance(key, int) and key.bit_length() > MAX_INT_BITS
        if (key is None or isinstance(key, (bool, int, float))) and not is_too_long:
            return json.dumps(key)
        return (isinstance(key, (date, time)) and _iso(key)) or type(key).__name__

    def name(self, value: Any, path: str, why: str) -> str:
        text = type(value).__name__
        self.note(path, f"{why}, became the name of its type, {text}")
        return text


def _set_order(value: Any) -> tuple[int, Any]:
    """Return a sort key: null and booleans, numbers, texts, then all others by repr."""
    if value is None or isinstance(value, bool):
        return (0, int(value or 0))
    if isinstance(value, (int, float)):
        return (1, value)
    return (2, value) if isinstance(value, str) else (3, repr(value))


def _iso(value: date | time) -> str | None:
    """Return ISO text, with a naive datetime taken as UTC; None if a foreign time zone fails."""
    try:
        if isinstance(value, datetime):
            return (value if value.utcoffset() is not None else value.replace(tzinfo=UTC)).isoformat()
        return value.isoformat()
    except Exception:  # noqa: BLE001 - `tzinfo` is foreign code
        return None
