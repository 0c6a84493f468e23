"""Rows whose text or tags somebody changed by SQL: the search tables, and the folded text, still hold the
former ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from sqlalchemy import Connection, Integer, bindparam, func, select

from ..database import sources
from ..database.bulk import chunks
from ..database.dialects import ID, from_microseconds
from ..database.engine import Database
from ..database.schema import search_block, search_fresh, search_gone, search_segment, search_tag
from ..database.sources import SourceTable
from ..tags import table as tags
from ..tags.rules import stored_form
from ..text.hits import content_digest, stored_tags
from . import indexed
from .entries import (
    RANGE,
    Progress,
    derive_columns,
    fold_texts,
    is_indexed,
    list_texts,
    state_of,
    waiting_of,
)
from .indexed import change_row
from .lookups import TAG
from .packing import find_staying
from .segment import read_block, read_head

AT_ONCE = 100
"""Rows mended in one transaction."""
_64_BITS = 2**64 - 1
_S, _B, _T, _F, _G = search_segment.c, search_block.c, search_tag.c, search_fresh.c, search_gone.c

Changed = dict[int, list[int]]
"""Number of a source to the ids of its rows, rising."""
Tags = dict[tuple[int, int], list[str]]
"""Source and id to the tags that the search tables hold of a row."""


def find_changed(db: Database, progress: Progress | None = None) -> Changed:
    """Return the rows that say something else than the search tables hold."""
    until = {s.number: db.read(select(func.max(s.table.c.id)), source=s.table.name)[0][0] or 0 for s in sources.ALL}
    signs = {place: _sign(found) for place, found in read_tags(db).items()}
    made: Changed = {}
    for source in sources.ALL:
        listed = _changed_of(db, source, signs, until[source.number], progress)
        if listed:
            made[source.number] = listed
    return made


def _changed_of(
    db: Database, source: SourceTable, signs: Mapping[tuple[int, int], int], until: int, progress: Progress | None
) -> list[int]:
    waiting = waiting_of(state_of(db, source))
    listed, above, done = list[int](), -(2**63) + 1, 0
    while rows := db.read(_next(source), {"above": above, "until": until, "most": RANGE}, source=source.table.name):
        above, done = rows[-1][0], done + len(rows)
        for row_id, folded, digest, found, is_findable, *texts in rows:
            now = fold_texts(texts)
            is_changed = folded != now or (digest is not None and bytes(digest) != content_digest(texts[0] or ""))
            if not is_changed and source.tags is not None and is_findable:
                sign = signs.get((source.number, row_id), 0)
                is_changed = is_indexed(waiting, row_id) and sign != _sign(stored_tags(found))
            if is_changed:
                listed.append(row_id)
        if progress is not None:
            progress(source.table.name, done, 0)
    return listed


def _sign(found: Collection[str]) -> int:
    """Return a number that tells sets of tags apart, in this run of the program; 0 for none."""
    return sum(hash(tag) for tag in set(found)) & _64_BITS


@lru_cache(maxsize=8)
def _next(source: SourceTable) -> Any:
    c = source.table.c
    found = select(c.id, c.text_folded, c.content_hash, *_beside(source)).where(
        c.id > bindparam("above", type_=ID), c.id <= bindparam("until", type_=ID), c.audience_id > 0
    )
    return found.order_by(c.id).limit(bindparam("most", type_=Integer()))


def _beside(source: SourceTable) -> list[Any]:
    """Return the columns of the tags, of whether a row is indexed, and of the texts."""
    c = source.table.c
    found = c.id if source.tags is None else source.tags
    return [
        found.label("found"),
        sources.case_findable(source).label("findable"),
        *(t.label(f"said{n}") for n, t in enumerate(list_texts(source))),
    ]


def read_tags(db: Database, only: Collection[tuple[int, int]] | None = None) -> Tags:
    """Return the tags that the search tables hold of each row."""
    made: Tags = {}
    for source, row_id, tag in db.read(select(_T.source, _T.row_id, _T.tag), source="search_tag"):
        if only is None or (source, row_id) in only:
            made.setdefault((source, row_id), []).append(tag)
    gone: dict[int, dict[tuple[int, int], int]] = {}
    for row in db.read(select(_G.audience_id, _G.source, _G.row_id, _G.segment_id), source="search_gone"):
        gone.setdefault(row[0], {})[row[1], row[2]] = row[3]
    tagged = select(_B.audience_id, _B.segment_id).where(_B.kind == TAG).distinct()
    for audience, number in db.read(tagged, source="search_block"):
        _read_packed(db, audience, number, gone.get(audience, {}), only, made)
    return made


def _read_packed(
    db: Database, audience: int, number: int, gone: Mapping[tuple[int, int], int],
    only: Collection[tuple[int, int]] | None, made: Tags,
) -> None:  # fmt: skip
    here = {"audience": audience, "segment": number}
    heads = db.read(_HEAD, here, source="search_segment")
    if not heads:  # merged meanwhile
        return
    rows = read_head(bytes(heads[0][0]))
    stays = find_staying(rows, number, gone)
    if only is not None:
        stays &= np.isin(rows.row_id, np.array([row_id for _, row_id in only], np.int64))
    for tag, block in db.read(_TAGS, here, source="search_block"):
        places = read_block(bytes(block))["place"]
        for place in places[stays[places]].tolist():
            key = int(rows.source[place]), int(rows.row_id[place])
            if only is None or key in only:
                made.setdefault(key, []).append(tag)


_HERE = (bindparam("audience", type_=ID), bindparam("segment", type_=ID))
_HEAD = select(_S.head).where(_S.audience_id == _HERE[0], _S.segment_id == _HERE[1])
_TAGS = select(_B.term, _B.postings).where(_B.audience_id == _HERE[0], _B.segment_id == _HERE[1], _B.kind == TAG)


# Mending


def mend_changed(db: Database, progress: Progress | None = None) -> int:
    """Put into the search tables what changed rows say now, and return how many these were."""
    found, done = find_changed(db, progress), 0
    total = sum(map(len, found.values()))
    # Read once: what others write until a row is mended, they put into the search tables or take out themselves.
    former = read_tags(db, {(number, row_id) for number, ids in found.items() for row_id in ids}) if found else {}
    for number, ids in found.items():
        source = sources.BY_NUMBER[number]
        for part in chunks(ids, AT_ONCE):
            owners = db.read(_owners(source), {"ids": part}, source=source.table.name)
            for persona in sorted({row[0] for row in owners}):
                mine = sorted(row[1] for row in owners if row[0] == persona)
                db.transaction(partial(_mend, db, source, persona, mine, former), source=source.table.name)
            done += len(part)
            if progress is not None:
                progress(source.table.name, done, total)
    return done


@lru_cache(maxsize=8)
def _owners(source: SourceTable) -> Any:
    c = source.table.c
    return select(c.persona_id, c.id).where(c.id.in_(bindparam("ids", expanding=True, type_=ID)))


def _mend(
    db: Database, source: SourceTable, persona: str, ids: Sequence[int], former: Tags, connection: Connection
) -> None:
    locked = indexed.lock(connection, source, persona, ids)
    c = source.table.c
    chosen = select(c.id, *_beside(source)).where(c.persona_id == persona, c.id.in_(ids))
    said = {row[0]: row for row in connection.execute(chosen)}
    old, new = [], []
    for row in locked:
        kept = tuple(stored_form(list(row.tags))[0]) if source.tags is not None else ()
        values = derive_columns(said[row.id][3:])
        if source.tags is not None:
            values[source.tags.name] = list(kept)
        connection.execute(change_row(source, tuple(values)), {"whose": persona, "which": row.id, **values})
        was = tuple(sorted(set(former.get((source.number, row.id), ()))))
        old.append(replace(_at_its_place(connection, source, row), tags=was))
        new.append(replace(row, tags=kept, folded=values["text_folded"]))
    indexed.exchange(connection, db, source, old, new)
    before, after = Counter(t for row in old for t in row.tags), Counter(t for row in new for t in row.tags)
    tags.lower(connection, persona, before - after)
    tags.raise_uses(connection, db, persona, after - before)


def _at_its_place(connection: Connection, source: SourceTable, row: indexed.Stored) -> indexed.Stored:
    """Return a row at the time it stands under in the search tables, should that have been changed, too."""
    here = (_F.audience_id == row.audience_id, _F.source == source.number, _F.row_id == row.id)
    at_us = connection.execute(select(_F.at_us).where(*here)).scalar()
    return row if at_us is None else replace(row, at=from_microseconds(at_us))
