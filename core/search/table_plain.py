"""The plain predicates, JSON_CONTAINS on tags and LIKE on texts: what a search means."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Integer, bindparam, case, literal_column, or_, select

from ..database import sources
from ..database.dialects import ID, Key, Time, has_keyword, json_has_text, like_pattern
from ..database.engine import Database
from ..database.statements import Part
from ..database.stored_values import read_time
from ..errors import StoreReadError
from ..text.words import rough_words
from .ranking.rows import Candidate
from .table_rows import Rows, list_columns, read_row, stays
from .terms import Search


class _Shape(NamedTuple):
    source: int
    counts: tuple[int, int, int]
    """Tags, keywords, tags as words."""
    without_conversations: bool
    without_rows: bool
    has_since: bool
    has_until: bool


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
        *stays(row),
    ]
    if shape.has_since:
        where.append(row.timestamp >= bindparam("since", type_=Time()))
    if shape.has_until:
        before = row.timestamp < bindparam("until", type_=Time())
        # A row whose time is missing counts as oldest.
        where.append(before if shape.has_since else or_(before, row.timestamp.is_(None)))
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


def read_newest(
    db: Database, search: Search, source: sources.SourceTable, since: datetime | None, pool: int, into: Rows
) -> list[Candidate]:
    """Return the newest `pool` matching rows of one source, tier 1 first; the rows themselves go into `into`."""
    # The chat has no tags, so there each is one more word.
    is_chat = source is sources.CHAT
    tags = () if is_chat else search.query.tags
    keywords = [w.text for w in search.words if w.is_keyword]
    tag_words = [w.text for w in search.words if w.is_tag] if is_chat else []
    without = [row_id for name, row_id in search.query.exclude.rows if name == source.name]
    if not search.viewer.audiences or not (keywords or tags or tag_words):
        return []
    viewer, until, conversations = search.viewer, search.query.until, search.query.exclude.conversations
    shape = _Shape(
        source.number,
        (len(tags), len(keywords), len(tag_words)),
        without_conversations=is_chat and bool(conversations),
        without_rows=bool(without),
        has_since=since is not None,
        has_until=until is not None,
    )
    values: dict[str, Any] = {
        "persona": viewer.scope.persona,
        "audiences": viewer.audiences,
        "here": viewer.scope.conversation or "",
        "local_only": int(viewer.sees_local_only),
        "since": since,
        "until": until,
        "without": sorted(conversations),
        "rows": sorted(without),
        "pool": pool,
        "now": db.clock(),
        "chars": search.chars,
    }
    values |= {f"tag{i}": tag for i, tag in enumerate(tags)}
    values |= {f"word{i}": like_pattern(text) for i, text in enumerate(keywords)}
    values |= {f"tagword{i}": like_pattern(text) for i, text in enumerate(tag_words)}
    made = []
    for tier, *columns in _part(shape, db.family).read(db, values, source.table.name):
        row = read_row(source.number, columns, viewer.scope.persona)
        into[row.source, row.id] = row
        made.append(Candidate(row.source, row.id, row.at_us, words=rough_words(row.folded), tier=tier))
    return made


def find_nth_newest(db: Database, search: Search, source: sources.SourceTable, count: int) -> datetime | None:
    """Return the time of the visible row that is so far from the newest; None for fewer rows."""
    viewer = search.viewer
    given = {"persona": viewer.scope.persona, "audiences": viewer.audiences, "skipped": count - 1}
    rows = _nth_part(source.number, db.family).read(db, given, source.name)
    return read_time(rows[0][0]) if rows else None


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
