"""The rows of a search by id, with their texts: a part of the third round trip of a prompt.

Called by `search.reading.last_statement`. A row that is gone, expired, hidden or of an audience not seen is not
brought.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Integer, Null, bindparam, case, func, literal_column, null, or_, select, type_coerce
from sqlalchemy.sql.elements import Label
from sqlalchemy.types import NullType

from ...database import sources
from ...database.dialects import ID, Key, Time
from ...database.statements import Part, aside
from ...index.postings import Limits, as_text, joined_by
from ..ranking.people import PERSONA
from ..ranking.surroundings import Stretch
from . import near as search_near
from .found_rows import NEAR_CHARS

FILLED_TO = 8
"""On SQLite the ids of a source are a multiple of this."""
PACKED_BYTES = 8_000_000
"""Rows that may have more than this together come in columns of their own: a server bounds what it joins to one."""


def _columns_of(number: int, row: Any, *, near: bool = False) -> list[Any]:
    """Return the twelve columns of a row of a source that follow its number."""
    source = sources.BY_NUMBER[number]
    nought, one, two = (literal_column(n, Integer()) for n in "012")
    size = bindparam("near_chars" if near else "chars", type_=Integer())

    def cut(column: Any) -> Any:
        return func.substr(column, one, size) if column is not None else null()

    extra: list[Any] = [null()] * 3
    if source is sources.AI_DIARY:
        extra = [cut(c) for c in (row.interaction_summary, row.user_message, row.personal_thought)]
    elif source is sources.CHAT:
        # One number for two: a text beside the others' texts would have to be of their collation.
        own = case((row.role == literal_column(f"'{PERSONA}'", Key(12)), one), else_=nought)
        extra = [row.sender_name, two * func.coalesce(func.char_length(row.text_folded), nought) + own, null()]
    # Most rows that are near become no hits: their text is brought once and folded here.
    folded = null() if near else func.substr(row.text_folded, one, bindparam("folded_chars", type_=Integer()))
    raw = {
        "tags": row.participant_key if source is sources.CHAT else row[source.tags.name],
        "digest": row.content_hash,
        "conversation": row.interface_path if source is sources.CHAT else row.get("conversation_key"),
        "sender": row.get("sender_id"),
        "message": row.get("message_id"),
        "at": row.timestamp,
    }
    return [
        row.id,
        cut(row[source.text.name]).label("text0"),
        *(c.label(f"text{n}") for n, c in enumerate(extra, 1)),
        folded.label("folded"),
        *((null() if c is None else type_coerce(c, NullType())).label(n) for n, c in raw.items()),
    ]


class Form(NamedTuple):
    """How rows come: PyMySQL spends more on a row and on its columns than the server on finding it."""

    packed: bool = False
    """All rows of a branch are one text: how many, and `_packed` one behind the other."""
    alone: bool = False
    """Nothing else is read by the statement, so that the text needs no further columns."""


def _in_form(first: Any, columns: Sequence[Any], form: Form, family: str) -> list[Any]:
    """Return the columns of a branch: as they are, or packed, where `found_rows` expects them."""
    if not form.packed:
        return [first.label("source"), *columns]
    # With how many there are: a text that is cut where a row ends looks whole.
    joined = joined_by("", _packed(first, columns, family))
    packed = type_coerce(func.concat_ws(literal_column("' '"), func.count(), joined), NullType())
    if form.alone:
        return [packed.label("packed")]
    # In place of `tags`, which mixes texts and keys anyway: beside a text the others' texts would come as bytes.
    named = [packed.label("tags") if c.name == "tags" else null().label(c.name) for c in columns[1:]]
    return [literal_column("0", Integer()).label("source"), null().label("id"), *named]


def _packed(first: Any, columns: Sequence[Any], family: str) -> Any:
    """Return one text of a row: its numbers, the lengths of its other columns in bytes, and these columns joined.

    Lengths, since ids and texts may hold any character there is.
    """
    row_id, *texts, at = columns
    parts = [p.element if isinstance(p, Label) else p for p in texts]
    parts.append(as_text(at.element, family))
    nothing: Any = literal_column("-1")
    blank: Any = literal_column("''")
    sizes = [nothing if isinstance(p, Null) else func.coalesce(func.length(p), nothing) for p in parts]
    joined = func.concat(*(func.coalesce(p, blank) for p in parts if not isinstance(p, Null)))
    return func.concat_ws(literal_column("' '"), first, row_id, *sizes, joined)


@lru_cache(maxsize=32)
def _rows_of(number: int, form: Form, family: str) -> Part:
    source = sources.BY_NUMBER[number]
    row = source.table.c
    columns = _in_form(literal_column(str(number), Integer()), _columns_of(number, row), form, family)
    where = [
        aside(row.persona_id, family) == bindparam("persona", type_=Key(64)),
        row.id.in_(bindparam("ids", expanding=True, type_=ID)),
        aside(row.audience_id, family).in_(bindparam("audiences", expanding=True, type_=ID)),
        source.findable,
    ]
    if "expires_at" in row:
        kept = or_(row.expires_at.is_(None), row.expires_at > bindparam("now", type_=Time()))
        where.append(or_(kept, row.conversation_key == bindparam("here", type_=Key(512))))
    return Part(select(*columns).where(*where), family)


@lru_cache(maxsize=8)
def _near_rows(form: Form, family: str) -> Part:
    c = sources.CHAT.table.c
    columns = _in_form(search_near.NEAR.c.part, _columns_of(sources.CHAT.number, c, near=True), form, family)
    joined = search_near.NEAR.join(sources.CHAT.table, c.id == search_near.NEAR.c.id)
    made = (
        select(*columns)
        .select_from(joined)
        .where(
            aside(c.persona_id, family) == bindparam("persona", type_=Key(64)),
            aside(c.audience_id, family).in_(bindparam("audiences", expanding=True, type_=ID)),
        )
    )
    return Part(made.prefix_with("STRAIGHT_JOIN", dialect="mysql"), family, in_order=True)


@dataclass(frozen=True, slots=True)
class RowsWanted:
    """Rows to bring by id."""

    ids: Mapping[int, Sequence[int]]
    """Source number to row ids."""
    chars: int
    """Most characters of each text."""
    folded_chars: int
    """Most characters of the folded text, 0 for none."""
    stretches: Sequence[Stretch] = ()
    """Stretches of conversations to bring beside them."""
    limits: Limits | None = None
    """What holds for the rows of the stretches, as it does for the look-ups."""

    @property
    def sources(self) -> tuple[int, ...]:
        """Return the numbers of the sources with ids."""
        return tuple(sorted(number for number, numbers in self.ids.items() if numbers))

    @property
    def most_bytes(self) -> int:
        """Return how many bytes all rows may have together, about."""
        asked = sum(len(numbers) for numbers in self.ids.values()) * (4 * self.chars + self.folded_chars)
        beside = sum(one.before + one.after for one in self.stretches) * max(self.chars, NEAR_CHARS)
        return 4 * (asked + beside)


@dataclass(frozen=True, slots=True)
class RowBranches:
    """What brings the rows."""

    named: str = ""
    """A CTE of the statement; its values come before those of all branches."""
    branches: Sequence[str] = ()


def row_branches(
    wanted: RowsWanted, shared: Mapping[str, Any], family: str, into: list[Any], *, alone: bool, whole: bool = True
) -> RowBranches:
    """Return the texts of one branch per source that brings rows by id and one for all stretches, values into `into`.

    Args:
        shared: persona, audiences and now.
        alone: nothing else is read by the statement.
        whole: a server that may pack rows brings them whole, as far as is known.
    """
    near_chars = max(wanted.chars, NEAR_CHARS)
    form = Form(family == "mysql" and whole and wanted.most_bytes <= PACKED_BYTES, alone)
    values = {**shared, "chars": wanted.chars, "folded_chars": wanted.folded_chars, "near_chars": near_chars}
    named = ""
    if wanted.stretches and wanted.limits is not None:
        named = search_near.rows_around(wanted.stretches, {**values, **wanted.limits.values()}, family, into)
    made = [
        _rows_of(n, form, family).text({**values, "ids": _filled(wanted.ids[n], family)}, into) for n in wanted.sources
    ]
    if named:
        made.append(_near_rows(form, family).text(values, into))
    return RowBranches(named, made)


def _filled(ids: Sequence[int], family: str) -> Sequence[int]:
    """Return the ids, on SQLite some again so that few different statements come about: planning one takes 1 ms."""
    return ids if family != "sqlite" else [*ids, *[ids[0]] * (-len(ids) % FILLED_TO)]
