"""The SELECTs that read the search tables, one for each look-up: the second round trip of a search.

`index.postings_read` joins those of the look-ups that `search.ranking.lookups_recency` and
`search.ranking.lookups_relevance` decided on. Every one holds the audiences it may read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from sqlalchemy import Integer, String, and_, bindparam, cast, func, literal_column, null, or_, select, type_coerce
from sqlalchemy.types import NullType

from ..database import sources
from ..database.dialects import ID, Key, Time, from_microseconds, has_keyword
from ..database.schema import search_tag, search_term
from ..database.statements import Part
from .lookups import Lookup

AT_LEAST, AT_MOST = -(2**63) + 1, 2**63 - 1
NO_MATCH = "\x02"
"""A pattern no stored text matches: fills the places of a branch that are not needed."""
BETWEEN: Literal["\n"] = "\n"
"""Stands between packed postings; words and tags hold none."""
_STEPS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96)


@dataclass(frozen=True, slots=True)
class Limits:
    """What holds for every look-up of a search."""

    persona: str
    since_us: int = AT_LEAST
    """Earliest time. Rows whose time cannot be read count as oldest: they are in where there is no earliest time."""
    until_us: int = AT_MOST
    local_only: bool = False
    """Take rows marked local_only too."""
    tags: tuple[str, ...] = ()
    without_conversations: tuple[str, ...] = ()
    """Conversation keys whose chat rows are left out."""
    here: str = ""
    """The active conversation, whose session items do not expire."""

    @property
    def bounds(self) -> tuple[bool, bool]:
        """Return whether there is an earliest and a latest time."""
        return self.since_us != AT_LEAST, self.until_us != AT_MOST

    def values(self) -> dict[str, Any]:
        """Return the parameters all branches share."""
        since, until = self.bounds
        return {
            "persona": self.persona,
            "since_us": self.since_us,
            "until_us": self.until_us,
            "since": from_microseconds(self.since_us) if since else None,
            "until": from_microseconds(self.until_us) if until else None,
            "local_only": int(self.local_only),
            **{f"tag_{n}": self.tags[n] if n < len(self.tags) else NO_MATCH for n in range(_places(self.tags))},
            "without": list(self.without_conversations),
            "here": self.here,
        }


def _places(items: Sequence[object]) -> int:
    """Return how many places a branch has for these, so that few different branches are made."""
    return next(s for s in _STEPS if s >= len(items))


class Shape(NamedTuple):
    """What the text of a branch depends on."""

    kind: str
    source: int
    """Number of the only source; -1 for several."""
    limited: bool
    scanned: bool
    groups: tuple[int, ...]
    """How many texts each group has places for."""
    tagged: int
    """How many tags there are places for, of which the row must hold one; 0 asks for none."""
    distinct: bool
    without: bool
    bounds: tuple[bool, bool]
    """For walks: whether there is an earliest and a latest time."""
    also: int = 0
    """How many words there are places for, of which the row must hold one beside its key; 0 asks for none."""
    packed: bool = False
    """All postings are one text, with its size: PyMySQL spends more on a row than the server on finding it."""


def shape_of(lookup: Lookup, limits: Limits) -> Shape:
    """Return what the text of the look-up's SELECT depends on."""
    only = lookup.sources[0] if len(lookup.sources) == 1 else -1
    return Shape(
        lookup.kind,
        only,
        lookup.limit is not None,
        lookup.scan is not None,
        tuple(_places(group) for group in lookup.groups),
        _places(limits.tags) if lookup.tagged else 0,
        lookup.distinct,
        bool(limits.without_conversations) and sources.CHAT.number in lookup.sources and lookup.kind != "tags",
        limits.bounds if lookup.kind == "walk" else (False, False),
        len(lookup.also),
    )


@lru_cache(maxsize=512)
def part_of(shape: Shape, family: str) -> Part:
    """Return the SELECT of a shape, compiled."""
    return Part(_walk(shape, family) if shape.kind == "walk" else _posted(shape), family)


def _many(name: str, type_: Any) -> Any:
    return bindparam(name, expanding=True, type_=type_)


def _number(name: str) -> Any:
    return bindparam(name, type_=ID)


def _posted(shape: Shape) -> Any:
    """Return the branch that reads postings, and compares their rows where the shape says so."""
    postings: Any = search_tag if shape.kind == "tags" else search_term
    p: Any = postings.c
    where = _of_keys(p, shape)
    if shape.scanned:
        newest = select(p).where(*where).order_by(p.at_us.desc(), p.row_id.desc()).limit(_number("scan"))
        postings = newest.subquery("newest")
        p, where = postings.c, []
    key = null() if shape.distinct else type_coerce(p.tag if shape.kind == "tags" else p.term, NullType())
    counts: list[Any] = [null(), null()] if shape.kind == "tags" or shape.distinct else [p.tf, p.words]
    number = bindparam("i", type_=Integer())
    if shape.packed:
        numbers = [func.coalesce(count, 0) for count in counts]
        packed = func.concat_ws(literal_column("' '"), number, p.source, p.at_us, p.row_id, *numbers, key)
        made = select(type_coerce(packed, NullType()).label("packed"))
    else:
        columns: list[Any] = [number.label("i"), key.label("k"), p.source, p.at_us, p.row_id]
        made = select(*columns, *(c.label(n) for c, n in zip(counts, ("times", "words"), strict=True)))
    if shape.groups:
        row = sources.BY_NUMBER[shape.source].table
        made = made.select_from(postings.join(row, row.c.id == p.row_id))
        persona = row.c.persona_id == bindparam("persona", type_=Key(64))
        where += [persona, *_compared(shape, row), *_without(shape, row)]
    elif shape.without:
        where.append(_not_of_conversations(p, shape))
    if shape.tagged:
        where.append(_held(p, search_tag, "tag", "tag", shape.tagged))
    if shape.also:
        where.append(_held(p, search_term, "term", "also", shape.also))
    made = made.where(*where)
    made = made.distinct() if shape.distinct else made
    if shape.limited:
        made = made.order_by(p.at_us.desc(), p.row_id.desc()).limit(_number("limit"))
    if shape.packed:
        found = made.subquery("found")
        joined = type_coerce(joined_by(BETWEEN, found.c.packed), NullType())
        size = func.sum(func.length(found.c.packed) + literal_column("1"))
        return select(size.label("size"), joined.label("packed")).select_from(found)
    return made


def joined_by(between: Literal["", "\n"], texts: Any) -> Any:
    """Return the texts of all rows as one, on servers."""
    return func.group_concat(texts.op("SEPARATOR")(literal_column("''" if not between else "'\n'")))


def _of_keys(p: Any, shape: Shape) -> list[Any]:
    key = p.tag if shape.kind == "tags" else p.term
    return [
        p.audience_id.in_(_many("audiences", ID)),
        key.in_(_many("keys", Key(255))),
        p.source == _number("source") if shape.source >= 0 else p.source.in_(_many("sources", ID)),
        p.at_us >= _number("since_us"),
        p.at_us < _number("until_us"),
        p.local_only <= bindparam("local_only", type_=Integer()),
    ]


def _held(p: Any, table: Any, key: str, name: str, places: int) -> Any:
    """Return the condition that the row has one of the tags or words: one probe by the whole key for each of them.

    Servers make an EXISTS, or a list of tags, a read of every row of the tags: up to 25 s, where the probes take 5 ms.
    """
    t = table.alias()
    same = [t.c[column] == p[column] for column in ("audience_id", "source", "at_us", "row_id")]
    held: Any = select(literal_column("1")).limit(literal_column("1"))
    probes = [
        held.where(*same, t.c[key] == bindparam(f"{name}_{n}", type_=Key(255))).scalar_subquery() for n in range(places)
    ]
    return func.coalesce(*probes, literal_column("0")) == literal_column("1")


def _not_of_conversations(p: Any, shape: Shape) -> Any:
    chat = sources.CHAT.table.c
    left_out: Any = select(literal_column("1")).where(
        chat.id == p.row_id,
        chat.persona_id == bindparam("persona", type_=Key(64)),
        chat.interface_path.in_(_many("without", Key(512))),
    )
    if shape.source == sources.CHAT.number:
        return ~left_out.exists()
    return or_(p.source != literal_column(str(sources.CHAT.number)), ~left_out.exists())


def _without(shape: Shape, row: Any) -> list[Any]:
    return [row.c.interface_path.not_in(_many("without", Key(512)))] if shape.without else []


def _walk(shape: Shape, family: str) -> Any:
    source = sources.BY_NUMBER[shape.source]
    table: Any = source.table
    row = table.c
    where = [
        row.persona_id == bindparam("persona", type_=Key(64)),
        row.audience_id.in_(_many("audiences", ID)),
        source.findable,
        *within(row.timestamp, shape.bounds),
        sources.open_to(source),
        *_without(shape, table),
    ]
    if shape.scanned:
        columns = [row.id, row.timestamp, row.text_folded]
        newest: Any = select(*columns).where(and_(*where)).order_by(row.timestamp.desc(), row.id.desc())
        # In a table of one persona MySQL takes another index, and sorts all its rows to have the newest.
        newest = newest.with_hint(table, f"FORCE INDEX ({sources.audience_index(source)})", "mysql")
        table = newest.limit(_number("scan")).subquery("newest")
        row, where = table.c, []
    # The time stands in the column of keys: beside the numbers of other branches it would make all of them texts.
    found = [bindparam("i", type_=Integer()).label("i"), as_text(row.timestamp, family).label("k")]
    found += [_number("source").label("source"), null().label("at_us"), row.id.label("row_id")]
    made = select(*found, null().label("times"), null().label("words")).where(*where, *_compared(shape, table))
    return made.order_by(row.timestamp.desc(), row.id.desc()).limit(_number("limit"))


def as_text(moment: Any, family: str) -> Any:
    """Return a time as text, which fits a column of keys."""
    return cast(moment, String(32)) if family == "mysql" else type_coerce(moment, NullType())


def _compared(shape: Shape, row: Any) -> list[Any]:
    """Return the conditions that the row holds one text of each group."""
    return [
        or_(*(has_keyword(row.c.text_folded, bindparam(f"like{g}_{n}")) for n in range(places)))
        for g, places in enumerate(shape.groups)
    ]


def within(column: Any, bounds: tuple[bool, bool]) -> list[Any]:
    """Return the conditions of a time window over rows. A row whose time is missing counts as oldest."""
    since, until = bounds
    made = [column >= bindparam("since", type_=Time())] if since else []
    if until:
        before = column < bindparam("until", type_=Time())
        made.append(before if since else or_(before, column.is_(None)))
    return made
