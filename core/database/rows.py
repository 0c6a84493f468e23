"""Checks and converts values before they are written to a row."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Table, select

from ..base.wire_ids import find_whole
from ..errors import MessageError
from ..text.folding import clean
from ..text.strict_json import make_strict
from .compiled import CompiledStatement
from .dialects import insert_ignore, upsert
from .stored_values import read_json as read_json
from .stored_values import read_list as read_list
from .stored_values import read_object as read_object
from .stored_values import read_texts as read_texts

TEXT_BYTES = 16_777_215
"""Maximum number of UTF-8 bytes of a long text on every database."""

DIGITS = 400
"""Maximum number of digits of a number accepted as a name; Python converts at most 4300 digits to text."""

INT_RANGE = (-(2**31), 2**31 - 1)


def text(value: object, field: str) -> str:
    """Normalise a text for storing: remove U+0000 and lone surrogates; None becomes ""."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise MessageError.of_type(field, value, "a text")
    made = clean(value)
    check_size(made, field)
    return made


def fits_column(made: str) -> bool:
    # A character has at most 4 bytes, so short texts need not be encoded to be measured.
    return len(made) * 4 <= TEXT_BYTES or len(made.encode("utf-8", "surrogatepass")) <= TEXT_BYTES


def check_size(made: str, field: str) -> None:
    if not fits_column(made):
        size = len(made.encode("utf-8", "surrogatepass"))
        what = f"{field} is {size} bytes long. At most {TEXT_BYTES} bytes are stored. Shorten it."
        raise MessageError(what, fields=(field,))


def name(value: object, field: str, chars: int, notes: list[str]) -> str:
    """Normalise a name: cut to `chars`, with a note in `notes`; None becomes "", a number becomes decimal text."""
    if (number := find_whole(value)) is not None:
        if abs(number) >= 10**DIGITS:
            raise MessageError(f"{field} is a number of more than {DIGITS} digits. Pass a name.", fields=(field,))
        value = str(number)
    made = text(value, field)
    if len(made) > chars:
        notes.append(f"{field} was cut from {len(made)} to {chars} characters")
        made = made[:chars]
    return made


def number(value: object, field: str) -> int | None:
    """Check that `value` is a whole number that fits its column, and return it; None stays None."""
    if value is None:
        return None
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        value = int(value)
    low, high = INT_RANGE
    if (whole := find_whole(value)) is None:
        raise MessageError.of_type(field, value, "a whole number or None")
    if not low <= whole <= high:
        raise MessageError(f"{field} is out of range. It must be a whole number, {low} to {high}.", fields=(field,))
    return whole


def row_id(value: object) -> int:
    """Return `value` if it is a possible row id, else 0."""
    if (number := find_whole(value)) is None:
        raise MessageError.of_type("id", value, "a whole number")
    return number if 0 < number < 2**63 else 0


def yes_no(value: object, field: str) -> int:
    if value in (0, 1) and isinstance(value, (bool, int)):
        return int(value)
    raise MessageError.of_type(field, value, "True or False")


def json_value(value: object, field: str, notes: list[str]) -> Any:
    made, changed = make_strict(value)
    notes += [f"{field}: {note}" for note in changed]
    return made


def short_interface(interface: str) -> str:
    """Return an interface's name as the diary stores it: `telegram_bot` becomes `telegram`."""
    low = interface.strip().lower()
    if not low:
        return "unknown"
    for family in ("telegram", "discord"):
        if low == family or low.startswith((family + "_", family + "-", family + ".")):
            return family
    return _SHORT.get(low, interface)


_SHORT = {"twitter": "x", "cli": "manual", "telethon_userbot": "telegram"}


def insert_rows(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert many rows in one statement; all rows have the columns of the first row."""
    if not rows:
        return
    if "indexed" in table.c:  # the writer of these rows also writes their search index entries
        rows = [{**row, "indexed": 1} for row in rows]
    columns = tuple(rows[0])
    _compile(table, connection.dialect.name, columns).insert(connection, ([row[c] for c in columns] for row in rows))


def insert_tuples(
    connection: Connection,
    table: Table,
    rows: Iterable[Sequence[Any]],
    *,
    update: Sequence[str] = (),
    ignore: bool = False,
) -> None:
    """Insert rows, each with all columns. If a key exists, overwrite its columns `update`, or with `ignore` skip it."""
    columns = tuple(table.c.keys())
    _compile(table, connection.dialect.name, columns, tuple(update), ignore).insert(connection, rows)


@lru_cache(maxsize=64)
def _compile(
    table: Table, family: str, columns: tuple[str, ...], update: tuple[str, ...] = (), ignore: bool = False
) -> CompiledStatement:
    plain = insert_ignore(table, family) if ignore else table.insert()
    return CompiledStatement(upsert(table, family, update) if update else plain, family, columns=columns)


def check_stored(table: Table, persona: str, ids: Sequence[int]) -> Callable[[Connection, object], bool]:
    """Return a `confirm` function for `Database.transaction`, which tells whether any row with these ids is stored."""

    def is_stored(connection: Connection, _: object) -> bool:
        there = select(table.c.id).where(table.c.persona_id == persona, table.c.id.in_(ids))
        return connection.execute(there.limit(1)).first() is not None

    return is_stored
