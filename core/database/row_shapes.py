"""Rows of several kinds in one statement: each kind has a shape of its own, though a UNION gives all equal columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from sqlalchemy import Integer, literal_column, null, type_coerce
from sqlalchemy.sql.elements import Label
from sqlalchemy.types import NullType

from .statements import Part
from .stored_values import from_key, read_object, read_text, read_time, read_whole

R = TypeVar("R")

FIRST = 20
"""Numbers of the kinds that sections bring begin here; those below are the search's and the history's."""
_TEXTS = 5
_PLAIN = 6
TEXT_PLACES = slice(2, 2 + _TEXTS)
"""Where texts stand in a row as the statement gives it."""


class Kind(NamedTuple):
    """How one column of a shape travels and is read."""

    is_text: bool
    """It stands among the texts; every other comes as it is stored."""
    read: Callable[[Any], Any] | None
    """None for a value that needs no reading."""


def _text(value: Any) -> Any:
    return value if value is None or type(value) is str else read_text(value)


TEXT = Kind(True, _text)
NUMBER = Kind(True, read_whole)
"""A whole number; beside texts it comes as one."""
KEY = Kind(False, _text)
TIME = Kind(False, read_time)
OBJECT = Kind(False, read_object)
PLAIN = Kind(False, None)
"""As the driver gives it."""


class Shape(Generic[R]):
    """Rows of one kind, with an id and at most five texts or numbers and six other columns."""

    __slots__ = ("_kinds", "_places", "number", "row")

    def __init__(self, number: int, row: Callable[..., R], /, **kinds: Kind) -> None:
        self.number: int = number
        self.row: Callable[..., R] = row
        self._kinds = kinds
        texts, plain = iter(range(_TEXTS)), iter(range(_TEXTS, _TEXTS + _PLAIN))
        self._places = [(2 + next(texts if kind.is_text else plain), kind.read) for kind in kinds.values()]

    def numbered(self, number: int) -> Shape[R]:
        """Return the shape of another kind with the same columns."""
        return Shape(number, self.row, **self._kinds)

    def columns(self, **given: Any) -> list[Label[Any]]:
        """Return the columns of a SELECT that brings rows of this kind: each field by its name."""
        if set(given) != {"id", *self._kinds}:
            raise TypeError(f"The columns are {', '.join(given)}. They must be id, {', '.join(self._kinds)}.")
        places = {place: name for name, (place, _) in zip(self._kinds, self._places, strict=True)}
        made = [literal_column(str(self.number), Integer()).label("kind"), given["id"].label("id")]
        for place in range(2, 2 + _TEXTS + _PLAIN):
            name = places.get(place)
            column = null() if name is None else given[name]
            is_plain = name is not None and not self._kinds[name].is_text
            made.append((type_coerce(column, NullType()) if is_plain else column).label(f"value{place}"))
        return made

    def read(self, row: Sequence[Any]) -> R:
        """Return a row of the statement's result as this shape's type."""
        return self.row(row[1], *[row[at] if read is None else read(row[at]) for at, read in self._places])

    def rows_in(self, rows: Mapping[int, Sequence[Any]]) -> Sequence[R]:
        """Return the rows of this kind among those read, by number of their kind; none where there are none."""
        return rows.get(self.number, ())


def readable(row: Any) -> Any:
    """Return a row whose texts are texts: a column of SQLite keeps bytes that somebody put there by hand."""
    texts = row[TEXT_PLACES]
    if bytes not in map(type, texts):
        return row
    return (*row[:2], *(from_key(v) if isinstance(v, bytes) else v for v in texts), *row[TEXT_PLACES.stop :])


@dataclass(frozen=True, slots=True)
class Branch:
    """One SELECT that joins the prompt's last statement."""

    shape: Shape[Any]
    select: Callable[[str], Part]
    """Server family to the compiled SELECT; cached by whoever makes it (`functools.lru_cache`)."""
    values: Mapping[str, Any]
    """What it binds, beside `persona`, `audiences`, `local_only` and `now`, which every branch may use."""
    source: str
    """Table named in the report when it fails."""
    of_persona: bool = False
    """Its rows stand in no audience: it is read though the scope sees no row of any."""
