"""Reads the search tables: the second round trip of a search."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Integer, String, and_, bindparam, cast, literal_column, null, or_, select, true, type_coerce
from sqlalchemy.types import NullType

from ..database import sources, statements
from ..database.bulk import chunks
from ..database.dialects import ID, Key, Time, from_microseconds
from ..database.engine import Database
from ..database.schema import search_block, search_fresh, search_gone, search_segment, search_tag, search_term
from ..database.statements import Part, aside
from ..database.stored_values import from_key
from .entries import place_columns
from .lookups import TAG, WORD, Count, Segment, packed

AT_LEAST, AT_MOST = -(2**63) + 1, 2**63 - 1
PLACES = 4000
"""Most (audience, key) places of one branch."""
MOST_BRANCHES = 96
"""Most branches of one statement; more are read in several."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What holds for every row of a search."""

    persona: str
    since_us: int = AT_LEAST
    """Earliest time. Rows whose time cannot be read count as oldest: they are in where there is no earliest time."""
    until_us: int = AT_MOST
    local_only: bool = False
    """Take rows marked local_only too."""
    without_conversations: tuple[str, ...] = ()
    """Conversation keys whose chat rows are left out."""
    here: str = ""
    """The active conversation, whose session items do not expire."""

    @property
    def bounds(self) -> tuple[bool, bool]:
        """Return whether there is an earliest and a latest time."""
        return self.since_us != AT_LEAST, self.until_us != AT_MOST

    def values(self) -> dict[str, Any]:
        """Return the parameters of statements that read rows."""
        since, until = self.bounds
        return {
            "persona": self.persona,
            "since": from_microseconds(self.since_us) if since else None,
            "until": from_microseconds(self.until_us) if until else None,
            "local_only": int(self.local_only),
            "without": list(self.without_conversations),
            "here": self.here,
        }


class Posting(NamedTuple):
    """A word or tag in a row that is not packed."""

    kind: int
    term: str
    source: int
    row_id: int
    times: int


class Block(NamedTuple):
    """A word or tag in a segment."""

    segment_id: int
    kind: int
    term: str
    postings: bytes


class FreshRow(NamedTuple):
    """A row that is not packed."""

    audience: int
    source: int
    row_id: int
    at_us: int
    words: int
    local_only: int
    conversation: str
    name: str
    key: str
    role: str


@dataclass(frozen=True, slots=True)
class Read:
    """What the search tables hold of what is asked for, by audience."""

    postings: defaultdict[int, list[Posting]] = field(default_factory=lambda: defaultdict(list))
    blocks: defaultdict[int, list[Block]] = field(default_factory=lambda: defaultdict(list))
    fresh: defaultdict[int, list[tuple[Any, ...]]] = field(default_factory=lambda: defaultdict(list))
    """Rows that are not packed, as `fresh_row` reads them."""
    gone: defaultdict[int, list[tuple[int, int, int]]] = field(default_factory=lambda: defaultdict(list))
    """Source, row id, and the last segment that may hold the row."""
    segments: defaultdict[int, list[Segment]] = field(default_factory=lambda: defaultdict(list))


def read(
    db: Database, words: Sequence[Count], tags: Sequence[Count], audiences: Sequence[int], numbers: Collection[int],
    persona: str,
) -> Read:  # fmt: skip
    """Return what the search tables hold, in one round trip for up to MOST_BRANCHES branches."""
    made = Read()
    if not audiences:
        return made
    family = db.family
    every = {"audiences": list(audiences), "persona": persona}
    branches: list[tuple[Part, dict[str, Any]]] = [
        (part, every) for part in _of_audiences(family, tuple(sorted(numbers)))
    ]
    for kind, cells in ((WORD, words), (TAG, tags)):
        for of, keys in packed(cells, PLACES):
            asked = {"audiences": of, "keys": keys, "kind": kind}
            branches += [(_own(kind, family), asked), (_packed(family), asked)]
    for some in chunks(branches, MOST_BRANCHES):
        values: list[Any] = []
        texts = [part.text(asked, values) for part, asked in some]
        _sort_rows(db.read_driver(statements.union(texts, family), values, source="the search index"), made)
    return made


def _sort_rows(rows: Sequence[Any], made: Read) -> None:
    """Add the rows of a statement to what is read; of large audiences nearly all of them are blocks."""
    blocks = made.blocks
    for row in rows:
        part, audience = row[0], row[1]
        if part == 1:
            blocks[audience].append(Block(row[4], row[2], _term(row[7]), bytes(row[11])))
        elif part == 0:
            made.postings[audience].append(Posting(row[2], _term(row[7]), row[3], row[4], row[5]))
        elif part == 2:
            made.fresh[audience].append(tuple(row))
        elif part == 3:
            made.gone[audience].append((row[3], row[4], row[2]))
        else:
            made.segments[audience].append(Segment(audience, row[2], row[3], row[4]))


def fresh_row(row: tuple[Any, ...]) -> FreshRow:
    """Return a row that is not packed: of those read again and again nothing is read that is known."""
    texts = ["" if value is None else from_key(value) for value in row[7:11]]
    return FreshRow(row[1], row[3], row[4], row[2], row[5], row[6], *texts)


def _term(value: Any) -> str:
    return value if type(value) is str else from_key(value)


def _row(part: int, *, n: Sequence[Any], k: Sequence[Any] = (), x: Any = None) -> list[Any]:
    """Return the columns every branch has: seven numbers, four keys, one packed value; what is not given is NULL."""
    numbers = [literal_column(str(part), Integer()), *n, *[null()] * (6 - len(n))]
    keys = [*(type_coerce(one, NullType()) for one in k), *[null()] * (4 - len(k))]
    last = null() if x is None else type_coerce(x, NullType())
    return [column.label(f"c{i}") for i, column in enumerate((*numbers, *keys, last))]


def _many(name: str, type_: Any) -> Any:
    return bindparam(name, expanding=True, type_=type_)


@lru_cache(maxsize=4)
def _own(kind: int, family: str) -> Part:
    c: Any = (search_term if kind == WORD else search_tag).c
    term, times = (c.term, c.tf) if kind == WORD else (c.tag, literal_column("1", Integer()))
    found = select(
        *_row(0, n=[c.audience_id, literal_column(str(kind), Integer()), c.source, c.row_id, times], k=[term])
    )
    return Part(found.where(c.audience_id.in_(_many("audiences", ID)), term.in_(_many("keys", Key(255)))), family)


@lru_cache(maxsize=2)
def _packed(family: str) -> Part:
    s, c = search_segment.c, search_block.c
    columns = _row(1, n=[c.audience_id, c.kind, null(), c.segment_id], k=[c.term], x=c.postings)
    keys = _many("keys", Key(255))
    of_segment = and_(
        c.segment_id == s.segment_id, c.audience_id == s.audience_id, c.kind == bindparam("kind", type_=Integer())
    )
    joined: Any = search_segment
    asked: Any = None
    if family == "sqlite":
        asked = c.term.in_(keys)
    else:  # given a list, servers read all words of a segment and compare
        rows = select(null().label("term")).union_all(select(keys)).subquery("asked")
        joined, asked = joined.join(rows, true()), c.term == rows.c.term
    found = select(*columns).select_from(joined.join(search_block, and_(of_segment, asked)))
    # Of the segments' numbers nothing is asked: SQLite would walk all blocks from there on. The first has no blocks.
    found = found.where(s.audience_id.in_(_many("audiences", ID)))
    return Part(found.prefix_with("STRAIGHT_JOIN", dialect="mysql"), family, in_order=True)


@lru_cache(maxsize=16)
def _of_audiences(family: str, numbers: tuple[int, ...]) -> tuple[Part, ...]:
    """Return what brings, of audiences, the rows that are not packed, the packed ones that are gone, the segments."""
    seen, made = _many("audiences", ID), []
    f = search_fresh.c
    for source in (sources.BY_NUMBER[number] for number in numbers):
        table: Any = source.table
        of_row = [f.audience_id, f.at_us, f.source, f.row_id, f.words, f.local_only]
        columns = _row(2, n=of_row, k=place_columns(source))
        found = select(*columns).select_from(search_fresh.join(table, table.c.id == f.row_id))
        whose = aside(table.c.persona_id, family) == bindparam("persona", type_=Key(64))
        found = found.where(f.audience_id.in_(seen), f.source == literal_column(str(source.number)), whose)
        made.append(Part(found.prefix_with("STRAIGHT_JOIN", dialect="mysql"), family, in_order=True))
    g, s = search_gone.c, search_segment.c
    gone = select(*_row(3, n=[g.audience_id, g.segment_id, g.source, g.row_id])).where(g.audience_id.in_(seen))
    segments = select(*_row(4, n=[s.audience_id, s.segment_id, s.stamp, s.docs]))
    segments = segments.where(s.audience_id.in_(seen), s.segment_id > literal_column("0"))
    return (*made, Part(gone, family), Part(segments, family))


def as_text(moment: Any, family: str) -> Any:
    """Return a time as text, which fits a column of keys."""
    return cast(moment, String(32)) if family == "mysql" else type_coerce(moment, NullType())


def within(column: Any, bounds: tuple[bool, bool]) -> list[Any]:
    """Return the conditions of a time window over rows. A row whose time is missing counts as oldest."""
    since, until = bounds
    made = [column >= bindparam("since", type_=Time())] if since else []
    if until:
        before = column < bindparam("until", type_=Time())
        made.append(before if since else or_(before, column.is_(None)))
    return made
