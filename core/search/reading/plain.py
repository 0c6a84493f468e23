"""The plain predicates, JSON_CONTAINS on tags and LIKE on texts: what a search means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Integer, bindparam, case, func, literal_column, or_, select

from ...database import sources, statements
from ...database.bulk import chunks
from ...database.dialects import ID, Key, Time, has_keyword, json_has_text, like_pattern, microseconds
from ...database.engine import Database
from ...database.statements import Part, aside
from ...database.stored_values import read_time
from ...errors import StoreReadError
from ...index.limits import Limits, window_conditions
from ...index.lookups import Wanted
from ..ranking.ranking import Candidate
from . import by_id, found_rows
from .found_rows import FoundRow

AT_ONCE = 500
"""Rows compared in one statement."""


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
    ids: tuple[int, int] | None = None
    """Only rows with ids `(above, up to)`; None for all."""

    @property
    def is_empty(self) -> bool:
        """Return whether nothing is looked for."""
        return not (self.keywords or self.tags or self.tag_words)

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
            self.ids is not None,
        )

    def values(self, now: Any) -> dict[str, Any]:
        """Return the parameters of the statement."""
        made = self.limits.values() | {"audiences": list(self.audiences), "pool": self.pool, "now": now}
        made |= {"rows": list(self.without_rows), "above": (self.ids or (0, 0))[0], "up_to": (self.ids or (0, 0))[1]}
        made |= {f"tag{i}": tag for i, tag in enumerate(self.tags)}
        made |= {f"word{i}": like_pattern(w) for i, w in enumerate(self.keywords)}
        return made | {f"tagword{i}": like_pattern(w) for i, w in enumerate(self.tag_words)}


class _Shape(NamedTuple):
    source: int
    counts: tuple[int, int, int]
    """Tags, keywords, tags as words."""
    without_conversations: bool
    without_rows: bool
    bounds: tuple[bool, bool]
    ranged: bool


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


def _statement(shape: _Shape) -> Any:
    row = sources.BY_NUMBER[shape.source].table.c
    return _choose(shape, row.id, row.timestamp, _TIER, func.char_length(row.text_folded))


_TIER = object()
"""Stands for the tier among the columns of `_choose`."""


def _choose(shape: _Shape, *columns: Any) -> Any:
    """Return the statement that chooses the newest matching rows of a source, tier 1 first."""
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
        *_left_out(row, shape),
    ]
    tier = case((or_(*as_tag) & or_(*as_word), 1), else_=2) if as_tag and as_word else literal_column("2")
    made = select(*(tier.label("tier") if column is _TIER else column for column in columns)).where(*where)
    return made.order_by(literal_column("tier"), row.timestamp.desc(), row.id.desc()).limit(
        bindparam("pool", type_=Integer())
    )


def _left_out(row: Any, shape: _Shape) -> list[Any]:
    made = []
    if "expires_at" in row:
        kept = or_(row.expires_at.is_(None), row.expires_at > bindparam("now", type_=Time()))
        made.append(or_(kept, row.conversation_key == bindparam("here", type_=Key(512))))
    if shape.without_conversations:
        made.append(row.interface_path.not_in(bindparam("without", expanding=True, type_=Key(512))))
    if shape.without_rows:
        made.append(row.id.not_in(bindparam("rows", expanding=True, type_=ID)))
    if shape.ranged:
        made += [row.id > bindparam("above", type_=ID), row.id <= bindparam("up_to", type_=ID)]
    return made


@lru_cache(maxsize=256)
def _part(shape: _Shape, family: str) -> Part:
    return Part(_statement(shape), family)


def search(db: Database, asked: Question) -> list[Candidate]:
    """Return the newest `pool` matching rows of one source, tier 1 first, without their matches."""
    if not asked.audiences or asked.is_empty:
        return []
    values: list[Any] = []
    text = _part(asked.shape, db.family).text(asked.values(db.clock()), values)
    rows = db.read_driver(text, values, source=asked.source.table.name)
    number = asked.source.number
    return [Candidate(number, r[0], microseconds(read_time(r[1])), words=(r[3] or 0) // 6, tier=r[2]) for r in rows]


@lru_cache(maxsize=256)
def _rows_part(shape: _Shape, family: str) -> Part:
    source = sources.BY_NUMBER[shape.source]
    return Part(_choose(shape, *by_id.list_columns(source.number, source.table.c), _TIER), family)


def read_newest(
    db: Database, persona: str, asked: Sequence[Question], chars: int, folded_chars: int
) -> tuple[list[Candidate], dict[tuple[int, int], FoundRow]]:
    """Return the newest `pool` matching rows of each source, tier 1 first, and the rows themselves: in one
    statement.
    """
    asked = [one for one in asked if one.audiences and not one.is_empty]
    if not asked:
        return [], {}
    values: list[Any] = []
    now, sizes = db.clock(), {"chars": chars, "folded_chars": folded_chars}
    texts = [_rows_part(one.shape, db.family).text({**one.values(now), **sizes}, values) for one in asked]
    tables = ", ".join(one.source.table.name for one in asked)
    found = db.read_driver(statements.union(texts, db.family), values, source=tables)
    tiers = {(row[0], row[1]): row[-1] for row in found}
    rows = found_rows.put_together(persona, *found_rows.sort_by_kind(found, db.family))
    return [Candidate(*place, row.at_us, tier=tiers[place]) for place, row in rows.items()], rows


def find_nth_newest(
    db: Database, source: sources.SourceTable, persona: str, audiences: Sequence[int], count: int
) -> int | None:
    """Return the time of the visible row that is so far from the newest, in microseconds; None for fewer rows."""
    values: list[Any] = []
    given = {"persona": persona, "audiences": list(audiences), "skipped": count - 1}
    rows = db.read_driver(_nth_part(source.number, db.family).text(given, values), values, source=source.name)
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


def holding(
    db: Database, source: sources.SourceTable, persona: str, ids: Sequence[int], texts: Sequence[tuple[int, str]]
) -> list[tuple[int, int]]:
    """Return `(id, number)` for each of the rows that holds one of the texts."""
    made: list[tuple[int, int]] = []
    if not texts:
        return made
    for part in chunks(ids, AT_ONCE):
        values: list[Any] = []
        asked = {
            "persona": persona,
            "ids": part,
            **{f"text{n}": like_pattern(text) for n, (_, text) in enumerate(texts)},
        }
        rows = db.read_driver(
            _holds(source.number, len(texts), db.family).text(asked, values), values, source=source.name
        )
        made += [(row[0], texts[n][0]) for row in rows for n in range(len(texts)) if row[1 + n]]
    return made


@lru_cache(maxsize=64)
def _holds(number: int, texts: int, family: str) -> Part:
    row = sources.BY_NUMBER[number].table.c
    flags = [case((has_keyword(row.text_folded, bindparam(f"text{n}")), 1), else_=0) for n in range(texts)]
    found = select(row.id, *(flag.label(f"holds{n}") for n, flag in enumerate(flags)))
    ids = row.id.in_(bindparam("ids", expanding=True, type_=ID))
    return Part(found.where(aside(row.persona_id, family) == bindparam("persona", type_=Key(64)), ids), family)


def is_readable(db: Database, source: sources.SourceTable) -> bool:
    """Return whether a source's table can be read at all."""
    row = source.table.c
    one = select(row.id, row.text_folded).where(row.persona_id == bindparam("persona", type_=Key(64))).limit(1)
    try:
        db.read(one, {"persona": ""}, source=source.table.name)
    except StoreReadError:
        return False
    return True
