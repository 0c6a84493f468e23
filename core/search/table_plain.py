"""The plain predicates, JSON_CONTAINS on tags and LIKE on texts: what a search means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Integer, bindparam, case, literal_column, or_, select

from ..database import sources
from ..database.dialects import ID, Key, has_keyword, json_has_text, like_pattern, microseconds
from ..database.engine import Database
from ..database.statements import Part
from ..database.stored_values import read_time
from ..errors import StoreReadError
from ..index.lookups import Limits, Wanted, window_conditions
from ..text.words import rough_words
from .ranking.rows import Candidate
from .table_rows import Rows, list_columns, read_row, stays


@dataclass(frozen=True, slots=True)
class Question:
    """What is looked for in one source."""

    source: sources.SourceTable
    tags: tuple[str, ...]
    keywords: tuple[str, ...]
    """Folded."""
    tag_words: tuple[str, ...]
    """Tags as words, where the source is the chat."""
    limits: Limits
    audiences: tuple[int, ...] = ()
    pool: int = 50
    without_rows: tuple[int, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Return whether nothing is looked for."""
        return not self.audiences or not (self.keywords or self.tags or self.tag_words)

    @property
    def shape(self) -> _Shape:
        """Return what the text of the statement depends on."""
        is_chat = self.source is sources.CHAT
        return _Shape(
            self.source.number,
            (len(self.tags), len(self.keywords), len(self.tag_words)),
            is_chat and bool(self.limits.without_conversations),
            bool(self.without_rows),
            self.limits.bounds,
        )

    def values(self, now: Any) -> dict[str, Any]:
        """Return the parameters of the statement."""
        made = self.limits.values() | {"audiences": self.audiences, "pool": self.pool, "now": now}
        made |= {"rows": self.without_rows} | {f"tag{i}": tag for i, tag in enumerate(self.tags)}
        made |= {f"word{i}": like_pattern(w) for i, w in enumerate(self.keywords)}
        return made | {f"tagword{i}": like_pattern(w) for i, w in enumerate(self.tag_words)}


class _Shape(NamedTuple):
    source: int
    counts: tuple[int, int, int]
    """Tags, keywords, tags as words."""
    without_conversations: bool
    without_rows: bool
    bounds: tuple[bool, bool]


def question(source: sources.SourceTable, tags: Sequence[str], words: Sequence[Wanted], limits: Limits) -> Question:
    """Return what a search asks of one source: the chat has no tags, so there each is one more word."""
    is_chat = source is sources.CHAT
    return Question(
        source,
        () if is_chat else tuple(tags),
        tuple(w.text for w in words if w.is_keyword),
        tuple(w.text for w in words if w.is_tag) if is_chat else (),
        limits,
    )


@lru_cache(maxsize=256)
def _part(shape: _Shape, family: str) -> Part:
    """Return the statement that brings the newest matching rows of a source, tier 1 first: `tier` and their columns."""
    source = sources.BY_NUMBER[shape.source]
    row = source.table.c
    tags, keywords, tag_words = shape.counts
    as_tag = [json_has_text(source.tags, bindparam(f"tag{i}")) > 0 for i in range(tags)]
    as_tag += [has_keyword(row.text_folded, bindparam(f"tagword{i}")) for i in range(tag_words)]
    as_word = [has_keyword(row.text_folded, bindparam(f"word{i}")) for i in range(keywords)]
    where = [
        row.persona_id == bindparam("persona", type_=Key(64)),
        row.audience_id.in_(bindparam("audiences", expanding=True, type_=ID)),
        source.findable,
        sources.open_to(source),
        or_(*as_tag, *as_word),
        *window_conditions(row.timestamp, shape.bounds),
        *stays(row),
    ]
    if shape.without_conversations:
        where.append(row.interface_path.not_in(bindparam("without", expanding=True, type_=Key(512))))
    if shape.without_rows:
        where.append(row.id.not_in(bindparam("rows", expanding=True, type_=ID)))
    tier: Any = literal_column("2")
    if as_tag and as_word:
        tier = case((or_(*as_tag) & or_(*as_word), 1), else_=2)
    found = select(tier.label("tier"), *list_columns(shape.source)).where(*where)
    newest = found.order_by(literal_column("tier"), row.timestamp.desc(), row.id.desc())
    return Part(newest.limit(bindparam("pool", type_=Integer())), family)


def read_newest(db: Database, asked: Question, chars: int, into: Rows) -> list[Candidate]:
    """Return the newest `pool` matching rows of one source, tier 1 first; the rows themselves go into `into`."""
    if asked.is_empty:
        return []
    values, made = {**asked.values(db.clock()), "chars": chars}, []
    for tier, *columns in _part(asked.shape, db.family).read(db, values, asked.source.table.name):
        row = read_row(asked.source.number, columns, asked.limits.persona)
        into[row.source, row.id] = row
        made.append(Candidate(row.source, row.id, row.at_us, words=rough_words(row.folded), tier=tier))
    return made


def find_nth_newest(
    db: Database, source: sources.SourceTable, persona: str, audiences: Sequence[int], count: int
) -> int | None:
    """Return the time of the visible row that is so far from the newest, in microseconds; None for fewer rows."""
    given = {"persona": persona, "audiences": audiences, "skipped": count - 1}
    rows = _nth_part(source.number, db.family).read(db, given, source.name)
    return microseconds(read_time(rows[0][0])) if rows else None


@lru_cache(maxsize=8)
def _nth_part(number: int, family: str) -> Part:
    row = sources.BY_NUMBER[number].table.c
    visible = select(row.timestamp).where(
        row.persona_id == bindparam("persona", type_=Key(64)),
        row.audience_id.in_(bindparam("audiences", expanding=True, type_=ID)),
    )
    ordered = (
        visible.order_by(row.timestamp.desc()).limit(literal_column("1")).offset(bindparam("skipped", type_=Integer()))
    )
    return Part(ordered, family)


def is_readable(db: Database, source: sources.SourceTable) -> bool:
    """Return whether a source's table can be read at all."""
    row = source.table.c
    one = select(row.id, row.text_folded).where(row.persona_id == bindparam("persona", type_=Key(64))).limit(1)
    try:
        db.read(one, {"persona": ""}, source=source.table.name)
    except StoreReadError:
        return False
    return True
