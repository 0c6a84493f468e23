"""Move rows into index segments (`index.segment`), merge and rebuild segments, and compare them with stored rows."""

import secrets
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection, delete, func, select, update

from ..database import dialects, sources
from ..database.compiled import IDS, chunks, execute_parts
from ..database.engine import Database
from ..database.rows import insert_tuples
from ..database.schema import search_block, search_fresh, search_gone, search_segment
from ..shapes import Progress
from . import table
from .entries import Calendar, calendar_of, read_audience
from .numbers import Flags
from .segment import MOST_ROWS, Blocks, Rows, merge_segments, pack_rows, read_head, write_head, write_terms
from .shapes import Entry, RowId

MOST_OF_A_SIZE = 8
"""Number of segments of similar size that are merged into one."""
MOST_IN_A_WRITE = 20_000
"""Maximum number of rows merged at the end of a writer's transaction; `pack_all` makes larger segments."""
MOST_IN_A_STEP = 8192
"""Maximum number of rows packed in one transaction, which takes seconds; SQLite blocks other writers meanwhile."""
MANY_GONE = 1024
"""Minimum number of removed rows of an audience for rewriting its segments: every search reads all removed rows."""
_F, _S, _B, _G = search_fresh.c, search_segment.c, search_block.c, search_gone.c


class Packed(NamedTuple):
    segment_id: int
    docs: int


def pack_due(connection: Connection, audience: int) -> None:
    """Pack an audience's fresh rows, merge segments and purge one, each if due."""
    pack_fresh(connection, audience, table.PACK_FROM)
    while merge_due(connection, audience, partial(choose_merge, most=MOST_IN_A_WRITE)):
        pass
    purge_due(connection, audience, MOST_IN_A_WRITE)


def pack_fresh(connection: Connection, audience: int, least: int = 1) -> int:
    """Move up to MOST_IN_A_STEP fresh rows into a new segment if there are at least `least`; return how many moved."""
    if table.count_fresh(connection, audience) < least:
        return 0
    number = next_segment(connection, audience)
    entries = table.take_fresh(connection, audience, MOST_IN_A_STEP)
    if entries:
        _write(connection, audience, number, *pack_rows(entries))
    return len(entries)


def pack_entries(connection: Connection, audience: int, entries: Sequence[Entry]) -> None:
    """Write an audience's entries straight into new segments, without storing them as single rows first."""
    for some in chunks(entries, MOST_ROWS):
        _write(connection, audience, next_segment(connection, audience), *pack_rows(some))


def next_segment(connection: Connection, audience: int) -> int:
    """Lock the segments of an audience until the transaction ends, and return the number of the next segment."""
    none = {"audience_id": audience, "segment_id": 0, "stamp": 0, "docs": 0, "head": b"", "terms": b""}
    connection.execute(dialects.insert_ignore(search_segment, connection.dialect.name), none)
    number = _lock_segments(connection, audience)[0] + 1
    zero = (_S.audience_id == audience, _S.segment_id == 0)
    connection.execute(update(search_segment).where(*zero).values(docs=number))
    return number


def _lock_segments(connection: Connection, audience: int) -> Sequence[int]:
    """Lock an audience's segments until the transaction ends; return [number of the last], or [] without segments."""
    zero = (_S.audience_id == audience, _S.segment_id == 0)
    return connection.execute(select(_S.docs).where(*zero).with_for_update()).scalars().all()


def _write(connection: Connection, audience: int, number: int, rows: Rows, blocks: Blocks) -> None:
    stamp = secrets.randbelow(2**62) + 1
    own = {"audience_id": audience, "segment_id": number, "stamp": stamp, "docs": len(rows)}
    connection.execute(search_segment.insert(), {**own, "head": write_head(rows), "terms": write_terms(blocks)})
    made = sorted((audience, number, kind, term, block) for (kind, term), block in blocks.items())
    insert_tuples(connection, search_block, made)


def list_segments(connection: Connection, audience: int) -> list[Packed]:
    stored = select(_S.segment_id, _S.docs).where(_S.audience_id == audience, _S.segment_id > 0)
    return [Packed(*row) for row in connection.execute(stored.order_by(_S.segment_id))]


def choose_merge(segments: Sequence[Packed], most: int = MOST_ROWS) -> list[Packed]:
    """Return up to MOST_OF_A_SIZE segments of similar size to merge next, the smallest due; [] if no merge is due."""
    sizes: dict[int, list[Packed]] = {}
    for one in segments:
        size = 0
        while one.docs >= table.PACK_FROM * MOST_OF_A_SIZE ** (size + 1):
            size += 1
        sizes.setdefault(size, []).append(one)
    for size in sorted(sizes):
        chosen = sizes[size][:MOST_OF_A_SIZE]
        if len(chosen) < MOST_OF_A_SIZE:
            continue
        while len(chosen) > 1 and sum(one.docs for one in chosen) > min(most, MOST_ROWS):
            chosen.pop()
        if len(chosen) > MOST_OF_A_SIZE // 4:
            return chosen
    return []


def choose_joined(segments: Sequence[Packed]) -> list[Packed]:
    """Return the smallest segments that fit into one segment together; [] if fewer than two fit."""
    chosen, rows = [], 0
    for one in sorted(segments, key=lambda each: each.docs):
        rows += one.docs
        if rows > MOST_ROWS:
            break
        chosen.append(one)
    return chosen if len(chosen) > 1 else []


Choice = Callable[[Sequence[Packed]], list[Packed]]


def merge_due(connection: Connection, audience: int, choose: Choice = choose_merge) -> int:
    """Merge the segments of an audience that `choose` selects, if any; return how many rows they have."""
    if not choose(list_segments(connection, audience)):
        return 0
    _lock_segments(connection, audience)
    chosen = choose(list_segments(connection, audience))  # another transaction may have merged them meanwhile
    if chosen:
        rewrite(connection, audience, [one.segment_id for one in chosen])
    return sum(one.docs for one in chosen)


def rewrite(connection: Connection, audience: int, numbers: Collection[int]) -> None:
    """Replace segments by one segment without their removed rows; if no row is left, delete the segments."""
    number = next_segment(connection, audience)
    gone = read_gone(connection, audience)
    parts = []
    for one in sorted(numbers):
        rows, blocks = read_segment(connection, audience, one)
        parts.append((rows, blocks, find_staying(rows, one, gone)))
    for one in sorted(numbers):
        for stored in (search_segment, search_block):
            own = (stored.c.audience_id == audience, stored.c.segment_id == one)
            connection.execute(delete(stored).where(*own))
    rows, blocks = merge_segments(parts)
    if len(rows):
        _write(connection, audience, number, rows, blocks)
    oldest = min((one.segment_id for one in list_segments(connection, audience)), default=number + 1)
    connection.execute(delete(search_gone).where(_G.audience_id == audience, _G.segment_id < oldest))


def read_gone(connection: Connection, audience: int) -> dict[RowId, int]:
    """Return rows removed from the index, by `(source, id)`, with the last segment that may still hold the row."""
    found = connection.execute(select(_G.source, _G.row_id, _G.segment_id).where(_G.audience_id == audience))
    return {(row[0], row[1]): row[2] for row in found}


def find_staying(rows: Rows, segment_id: int, gone: Mapping[RowId, int]) -> Flags:
    """Return which rows of a segment are still in the index; `gone` lists removed rows, as `read_gone` returns them."""
    stays = np.ones(len(rows), bool)
    ids = [row_id for (_, row_id), last in gone.items() if last >= segment_id]
    for place in np.flatnonzero(np.isin(rows.row_id, np.array(ids, np.int64))).tolist() if ids else ():
        stays[place] = gone.get((int(rows.source[place]), int(rows.row_id[place])), 0) < segment_id
    return stays


def read_rows(connection: Connection, audience: int, number: int) -> Rows:
    """Return the rows of a segment, without their words."""
    head = select(_S.head).where(_S.audience_id == audience, _S.segment_id == number)
    return read_head(bytes(connection.execute(head).scalar_one()))


def read_segment(connection: Connection, audience: int, number: int) -> tuple[Rows, Blocks]:
    blocks = select(_B.kind, _B.term, _B.postings).where(_B.audience_id == audience, _B.segment_id == number)
    return read_rows(connection, audience, number), {(r[0], r[1]): bytes(r[2]) for r in connection.execute(blocks)}


def pack_all(db: Database, progress: Progress | None = None) -> int:
    """Pack the rows of audiences with at least PACK_FROM unpacked rows, merge segments; return the number packed."""
    counted = db.read(select(_F.audience_id, func.count()).group_by(_F.audience_id), source="search_fresh")
    waiting = {row[0]: row[1] for row in counted if row[1] >= table.PACK_FROM}
    audiences = {row[0] for row in db.read(select(_S.audience_id).distinct(), source="search_segment")}
    done, packed, total = 0, 0, sum(waiting.values())
    for audience in sorted(audiences.union(waiting)):
        before, own = packed, {"audience": audience}
        while rows := db.transaction(partial(pack_fresh, **own, least=table.PACK_FROM), source="the search index"):
            packed += rows
            if progress is not None:
                progress("rows", packed, max(packed, total))
            done += _repeat(db, partial(merge_due, **own))
        choose = choose_joined if packed > before else choose_merge
        done += packed - before + _repeat(db, partial(merge_due, **own, choose=choose))
        done += _repeat(db, partial(purge_due, **own))
    return done


def _repeat(db: Database, step: Callable[[Connection], int]) -> int:
    """Run `step`, which returns a number of rows, each time in a new transaction until it is 0; return the sum."""
    done = 0
    while rows := db.transaction(step, source="the search index"):
        done += rows
    return done


def purge_due(connection: Connection, audience: int, most: int = MOST_ROWS) -> int:
    """If MANY_GONE rows are gone, rewrite the segment (up to `most` rows) with most of them; return its size, or 0."""
    counted = select(func.count()).select_from(search_gone).where(_G.audience_id == audience)
    if connection.execute(counted).scalar_one() < MANY_GONE:
        return 0
    _lock_segments(connection, audience)
    gone, segments = read_gone(connection, audience), list_segments(connection, audience)
    small = [one for one in segments if one.docs <= most]
    removed = {one: _find_removed(connection, audience, one, gone) for one in small}
    worst = max(small, key=lambda one: len(removed[one]), default=None)
    if worst is not None and removed[worst]:
        rewrite(connection, audience, [worst.segment_id])
        segments.remove(worst)
    elif len(small) < len(segments):
        return 0
    held = (removed[one] if one in removed else _find_removed(connection, audience, one, gone) for one in segments)
    settled = gone.keys() - set[RowId]().union(*held)
    for source in sources.ALL:
        ids = [row_id for number, row_id in settled if number == source.number]
        rows = (_G.audience_id == audience, _G.source == source.number, _G.row_id.in_(IDS))
        execute_parts(connection, delete(search_gone).where(*rows), ids)
    return 0 if worst is None or worst in segments else worst.docs


def _find_removed(connection: Connection, audience: int, one: Packed, gone: Mapping[RowId, int]) -> set[RowId]:
    rows = read_rows(connection, audience, one.segment_id)
    at = np.flatnonzero(~find_staying(rows, one.segment_id, gone))
    return set(zip(rows.source[at].tolist(), rows.row_id[at].tolist(), strict=True))


def purge(connection: Connection, audiences: Iterable[int]) -> int:
    """Rewrite segments without their deleted rows; return the number of rewritten segments."""
    done = 0
    for audience in sorted(set(audiences)):
        if not _lock_segments(connection, audience):
            continue
        gone = read_gone(connection, audience)
        for one in list_segments(connection, audience) if gone else ():
            if not find_staying(read_rows(connection, audience, one.segment_id), one.segment_id, gone).all():
                rewrite(connection, audience, [one.segment_id])
                done += 1
        connection.execute(delete(search_gone).where(_G.audience_id == audience))
    return done


def rebuild_all(db: Database, progress: Progress | None = None) -> int:
    """Rebuild the index of every audience, each in one transaction; return the number of indexed rows."""
    indexed = [select(column).distinct() for column in (_S.audience_id, _F.audience_id)]
    stored = [select(source.table.c.audience_id).where(source.findable).distinct() for source in sources.ALL]
    audiences = sorted({row[0] for query in (*indexed, *stored) for row in db.read(query, source="the search index")})
    done = 0
    for number, audience in enumerate(audiences, 1):
        step = partial(rebuild, audience=audience, calendar=calendar_of(db))
        done += db.transaction(step, source="the search index")
        if progress is not None:
            progress("audiences", number, len(audiences))
    return done


def rebuild(connection: Connection, *, audience: int, calendar: Calendar) -> int:
    """Rebuild the segments of an audience; return the number of its rows.

    Other transactions that pack, change or delete rows of the audience wait. Rows written meanwhile keep their entries.
    """
    next_segment(connection, audience)
    connection.execute(delete(search_fresh).where(_F.audience_id == audience))
    connection.execute(delete(search_block).where(_B.audience_id == audience))
    connection.execute(delete(search_segment).where(_S.audience_id == audience, _S.segment_id > 0))
    connection.execute(delete(search_gone).where(_G.audience_id == audience))
    entries = (one for source in sources.ALL for one in read_audience(connection, source, audience, calendar))
    done = 0
    for some in chunks(entries, MOST_ROWS):  # a persona may have more entries than fit into memory
        written_meanwhile = {(one.source, one.row_id) for one in table.read_fresh(connection, audience)}
        pack_entries(connection, audience, [one for one in some if (one.source, one.row_id) not in written_meanwhile])
        done += len(some)
    return done


def count_differences(db: Database) -> dict[str, int]:
    """Return, by table, the difference between stored and indexed rows; ValueError if a segment is damaged."""
    with db.connection(source="the search index", snapshot=True) as connection:
        held = _count_held(connection)
    made: dict[str, int] = {}
    for source in sources.ALL:
        c = source.table.c
        stored = select(c.audience_id, func.count()).where(source.findable).group_by(c.audience_id)
        there = {row[0]: int(row[1]) for row in db.read(stored, source=source.table.name)}
        audiences = there.keys() | {audience for audience, number in held if number == source.number}
        made[source.table.name] = sum(abs(there.get(one, 0) - held[one, source.number]) for one in audiences)
    return made


def _count_held(connection: Connection) -> Counter[tuple[int, int]]:
    """Return the number of indexed rows by (audience, source)."""
    held: Counter[tuple[int, int]] = Counter()
    for audience in connection.execute(select(_F.audience_id).distinct()).scalars().all():
        held.update((audience, one.source) for one in table.read_fresh(connection, audience))
    for audience in connection.execute(select(_S.audience_id).distinct()).scalars().all():
        gone = read_gone(connection, audience)
        for one in list_segments(connection, audience):
            rows = read_rows(connection, audience, one.segment_id)
            stays = find_staying(rows, one.segment_id, gone)
            held.update((audience, number) for number in rows.source[stays].tolist())
    return held
