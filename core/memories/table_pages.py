"""A page of the items of a persona that has very many: what is read goes by the page, not by the persona.

The newest of each audience are walked in `ix_memories_audience` and put in order together: by persona alone there is no
order to walk, and a server would sort a million rows for fifty. Called by `memories.table_reading`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Integer, bindparam, func, select, union_all

from ..database.dialects import ID, Key
from ..database.engine import Database
from ..database.schema import audiences, memories, search_stats
from ..database.sources import MEMORIES, audience_index

FEW_ITEMS = 20_000
"""A persona of no more items than these is read as a whole; all matching ones are counted."""
ALONE = 40
"""Audiences that are walked by themselves, those with most items; the others are sorted together."""

_C, _A, _S = memories.c, audiences.c, search_stats.c
_NEWEST = audience_index(MEMORIES)


def sizes(db: Database, persona: str, seen: Sequence[int] | None) -> dict[int, int]:
    """Return how many items that hold each audience has, the largest first; expired ones that still lie there count.

    Args:
        seen: audiences; None for all of the persona.

    Raises:
        StoreReadError: nothing could be read.
    """
    values: dict[str, Any] = {"persona": persona, "source": MEMORIES.number}
    if seen is not None:
        values["seen"] = list(seen)
    found = db.read(_sizes(seen is not None), values, source="search_stats")
    return {int(row[0]): int(row[1]) for row in sorted(found, key=lambda row: (-row[1], row[0]))}


@lru_cache(maxsize=2)
def _sizes(some: bool) -> Any:
    joined = audiences.join(search_stats, _S.audience_id == _A.audience_id)
    made = select(_A.audience_id, _S.docs).select_from(joined)
    made = made.where(_A.persona_id == bindparam("persona", type_=Key(64)), _S.source == bindparam("source"))
    return made.where(_A.audience_id.in_(bindparam("seen", expanding=True, type_=ID))) if some else made


def newest(
    db: Database, of: Mapping[int, int], where: Sequence[Any], values: Mapping[str, Any], *, limit: int, offset: int
) -> list[int]:
    """Return the ids of a page, newest first, then by id, the later one first.

    Args:
        of: `sizes`.
        where: conditions of the items, without those of the audience.

    Raises:
        StoreReadError: nothing could be read.
    """
    order = list(of)
    groups = [[audience] for audience in order[:ALONE]] + ([order[ALONE:]] if order[ALONE:] else [])
    branches = []
    for group in groups:
        of_group = _C.audience_id == group[0] if len(group) == 1 else _C.audience_id.in_(group)
        walked = select(_C.id, _C.timestamp).where(*where, of_group).order_by(_C.timestamp.desc(), _C.id.desc())
        walked = walked.with_hint(memories, f"FORCE INDEX ({_NEWEST})", "mysql")
        walked = walked.with_hint(memories, f"FORCE INDEX ({_NEWEST})", "mariadb")
        walked = walked.with_hint(memories, f"INDEXED BY {_NEWEST}", "sqlite")
        part = walked.limit(bindparam("reach", type_=Integer())).subquery()
        branches.append(select(part.c.id, part.c.timestamp))
    every = union_all(*branches).subquery()
    page = select(every.c.id).order_by(every.c.timestamp.desc(), every.c.id.desc())
    page = page.limit(bindparam("page", type_=Integer())).offset(bindparam("skip", type_=Integer()))
    asked = {**values, "reach": offset + limit, "page": limit, "skip": offset}
    return [int(row[0]) for row in db.read(page, asked, source="memories")]


def counted(where: Sequence[Any], most: int) -> Any:
    """Return the SELECT that counts items, up to `most`."""
    some = select(_C.id).where(*where).limit(bindparam("most", most, type_=Integer())).subquery()
    return select(func.count()).select_from(some)
