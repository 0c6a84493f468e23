"""Reads the search tables: the second round trip of a search (D35).

`read` runs the look-ups that `core.rules.lookups_recency` and `core.rules.lookups_relevance` decided on, as one UNION
ALL of limited branches. Every branch holds the audiences it may read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Integer, String, and_, bindparam, cast, func, literal_column, null, or_, select, type_coerce
from sqlalchemy.types import NullType

from core.rules.lookups import Lookup
from core.store import sources, statements
from core.store.bulk import chunks
from core.store.dialects import (
    ID,
    Key,
    Time,
    from_key,
    from_microseconds,
    has_keyword,
    like_pattern,
    microseconds,
    read_time,
)
from core.store.engine import Database
from core.store.schema import search_tag, search_term
from core.store.statements import Part

AT_LEAST, AT_MOST = -(2**63) + 1, 2**63 - 1
NO_MATCH = "\x02"
"""A pattern no stored text matches: fills the places of a branch that are not needed."""
MOST_BRANCHES = 96
"""Most branches of one statement; more are read in several."""
_STEPS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96)


Posting = tuple[int, str, int, int, int, int, int]
"""One row found: number of the look-up, key (blank where it is not told), source, microseconds, row id, times, words.

A plain tuple: a search reads hundreds of them.
"""


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
    """Conversation keys whose chat rows are left out (T37)."""
    here: str = ""
    """The active conversation, whose session items do not expire (L9)."""

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


class _Shape(NamedTuple):
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
    """Each posting is one text: what PyMySQL spends on a row goes by its columns."""


def _shape(lookup: Lookup, limits: Limits) -> _Shape:
    only = lookup.sources[0] if len(lookup.sources) == 1 else -1
    return _Shape(
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
def _part(shape: _Shape, family: str) -> Part:
    return Part(_walk(shape, family) if shape.kind == "walk" else _posted(shape), family)


def _many(name: str, type_: Any) -> Any:
    return bindparam(name, expanding=True, type_=type_)


def _number(name: str) -> Any:
    return bindparam(name, type_=ID)


def _posted(shape: _Shape) -> Any:
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
    return made


def _of_keys(p: Any, shape: _Shape) -> list[Any]:
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


def _not_of_conversations(p: Any, shape: _Shape) -> Any:
    chat = sources.CHAT.table.c
    left_out: Any = select(literal_column("1")).where(
        chat.id == p.row_id,
        chat.persona_id == bindparam("persona", type_=Key(64)),
        chat.interface_path.in_(_many("without", Key(512))),
    )
    if shape.source == sources.CHAT.number:
        return ~left_out.exists()
    return or_(p.source != literal_column(str(sources.CHAT.number)), ~left_out.exists())


def _without(shape: _Shape, row: Any) -> list[Any]:
    return [row.c.interface_path.not_in(_many("without", Key(512)))] if shape.without else []


def _walk(shape: _Shape, family: str) -> Any:
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


def _compared(shape: _Shape, row: Any) -> list[Any]:
    """Return the conditions that the row holds one text of each group."""
    return [
        or_(*(has_keyword(row.c.text_folded, bindparam(f"like{g}_{n}")) for n in range(places)))
        for g, places in enumerate(shape.groups)
    ]


def within(column: Any, bounds: tuple[bool, bool]) -> list[Any]:
    """Return the conditions of a time window over rows. A row whose time is missing counts as oldest (T32)."""
    since, until = bounds
    made = [column >= bindparam("since", type_=Time())] if since else []
    if until:
        before = column < bindparam("until", type_=Time())
        made.append(before if since else or_(before, column.is_(None)))
    return made


@dataclass(frozen=True, slots=True)
class Read:
    """What the look-ups brought."""

    postings: list[Posting]
    full: bool
    """A look-up came back with as many rows as it may: there may be more."""


def read(db: Database, lookups: Sequence[Lookup], texts: Sequence[str], limits: Limits) -> Read:
    """Return the postings of all look-ups, in one round trip for up to MOST_BRANCHES of them.

    Args:
        lookups: from the plans in `core.rules`.
        texts: the texts looked for, by the indexes of the look-ups.
        limits: what holds for all.

    Raises:
        StoreReadError: nothing could be read.
    """
    found: list[Posting] = []
    for part in chunks(enumerate(lookups), MOST_BRANCHES):
        found += _read_part(db, part, texts, limits)
    counts = Counter(p[0] for p in found)
    full = any(x.limit is not None and counts[n] >= x.limit for n, x in enumerate(lookups))
    return Read(found, full)


def _read_part(
    db: Database, lookups: Sequence[tuple[int, Lookup]], texts: Sequence[str], limits: Limits
) -> list[Posting]:
    shared = limits.values()
    values: list[Any] = []
    branches = []
    packed = db.family == "mysql" and not any(lookup.distinct or lookup.kind == "walk" for _, lookup in lookups)
    for number, lookup in lookups:
        shape = _shape(lookup, limits)._replace(packed=packed)
        own = {**shared, **_values(number, shape, lookup, texts)}
        if lookup.between is not None:
            own["since_us"] = max(lookup.between[0], limits.since_us)
            own["until_us"] = min(lookup.between[1], limits.until_us)
        branches.append(_part(shape, db.family).text(own, values))
    statement = statements.union(branches, db.family)
    rows = db.read_driver(statement, values, source="the search index")
    if packed:
        return [_unpacked(row[0]) for row in rows]
    keys: dict[Any, str] = {}
    made: list[Posting] = []
    for number, raw, source, at, row_id, times, words in rows:
        if at is None:  # a walk
            made.append((number, "", source, microseconds(read_time(raw and from_key(raw))), row_id, 1, 0))
            continue
        key = keys.get(raw)
        if key is None:
            key = keys[raw] = "" if raw is None else from_key(raw)
        # A union of numbers and NULLs comes as Decimal from some servers.
        made.append((number, key, source, int(at), row_id, int(times or 1), int(words or 0)))
    return made


def _unpacked(packed: bytes | str) -> Posting:
    number, source, at, row_id, times, words, key = from_key(packed).split(" ", 6)
    return int(number), key, int(source), int(at), int(row_id), int(times) or 1, int(words)


def _values(number: int, shape: _Shape, lookup: Lookup, texts: Sequence[str]) -> dict[str, Any]:
    values: dict[str, Any] = {
        "i": number,
        "audiences": lookup.audiences,
        "keys": lookup.keys,
        "source": shape.source,
        "sources": lookup.sources,
        "limit": lookup.limit,
        "scan": lookup.scan,
        **{f"also_{n}": key for n, key in enumerate(lookup.also)},
    }
    for g, (group, places) in enumerate(zip(lookup.groups, shape.groups, strict=True)):
        for n in range(places):
            values[f"like{g}_{n}"] = like_pattern(texts[group[n]]) if n < len(group) else NO_MATCH
    return values
