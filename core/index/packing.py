"""Packs rows into segments (`index.segment`), and segments into larger ones."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, Integer, bindparam, delete, func, select

from ..database import dialects, sources
from ..database.bulk import chunks, write_many
from ..database.dialects import ID, Key
from ..database.engine import Database
from ..database.schema import search_block, search_fresh, search_gone, search_segment, search_tag, search_term
from ..database.sources import SourceTable
from . import fresh_rows, sweeping
from .entries import Entry, Progress, entry_of, indexed_columns, place_columns
from .fresh_rows import SET_LAST, SET_UNSWEPT, STATE_HELD
from .segment import (
    MOST_ROWS,
    Blocks,
    PackedRow,
    Rows,
    Said,
    merge_segments,
    pack_rows,
    read_block,
    read_head,
    write_head,
)

MOST_OF_A_SIZE = 8
"""Segments of a size that become one."""
MOST_IN_A_WRITE = 20_000
"""Rows that a writer merges at the end of its transaction; larger segments are made by a worker or `pack`."""
MOST_IN_A_STEP = 8192
"""Rows packed in one transaction: seconds, in which SQLite has nobody else write."""
MOST_CLEARED = 2048
"""Rows whose postings are deleted in the transaction that packs them; those of more are left to `index.sweeping`."""
_AT_ONCE = 500
_F, _S, _B, _G = search_fresh.c, search_segment.c, search_block.c, search_gone.c
_A = bindparam("audience", type_=ID)


class Packed(NamedTuple):
    """A segment as it is listed."""

    segment_id: int
    docs: int


# Packing


def pack_due(connection: Connection, family: str, audience: int, most: int = MOST_IN_A_WRITE) -> int:
    """Pack what is there to pack of an audience, and return how many rows were packed or merged."""
    count = connection.execute(_COUNT, {"audience": audience}).scalar_one()
    done = pack_fresh(connection, family, audience) if count >= fresh_rows.PACK_FROM else 0
    while merged := merge_due(connection, family, audience, partial(choose_merge, most=most)):
        done += merged
    return done


_COUNT = select(func.count()).select_from(search_fresh).where(_F.audience_id == _A)


def pack_fresh(connection: Connection, family: str, audience: int) -> int:
    """Pack the rows of an audience that are not packed, MOST_IN_A_STEP at most, and return how many there were."""
    number, unswept = _next_segment(connection, family, audience)
    listed = connection.execute(_FRESH, {"audience": audience, "most": MOST_IN_A_STEP}).all()
    made: list[PackedRow] = []
    for source in sources.ALL:
        ids = [row.row_id for row in listed if row.source == source.number]
        for part in chunks(ids, _AT_ONCE):
            held = fresh_rows.find_fresh(connection, audience, source.number, part)
            made += read_packed_rows(connection, source, [i for i in part if i in held])
    if not made:
        return 0
    is_left = bool(unswept) or len(made) > MOST_CLEARED
    _drop_fresh(connection, audience, made, (search_fresh,) if is_left else (search_fresh, search_term, search_tag))
    if is_left:
        highest = max(unswept, *(row.row_id for row in made))
        connection.execute(SET_UNSWEPT, {"audience": audience, "highest": highest})
    _write(connection, family, audience, number, *pack_rows(made))
    return len(made)


_FRESH = (
    select(_F.source, _F.row_id)
    .where(_F.audience_id == _A)
    .order_by(_F.source, _F.row_id)
    .limit(bindparam("most", type_=Integer()))
)


def pack_entries(connection: Connection, family: str, audience: int, entries: Sequence[Entry]) -> None:
    """Pack rows that were just written, without noting them one by one first."""
    made: list[PackedRow] = []
    for source in sources.ALL:
        of_source = [entry for entry in entries if entry.source == source.number]
        for part in chunks(of_source, _AT_ONCE):
            places = _read_places(connection, source, [entry.row_id for entry in part])
            made += [_packed_row(entry, *places.get(entry.row_id, _NOWHERE)) for entry in part]
    for some in chunks(made, MOST_ROWS):
        number, _ = _next_segment(connection, family, audience)
        _write(connection, family, audience, number, *pack_rows(some))


def read_packed_rows(connection: Connection, source: SourceTable, ids: Sequence[int]) -> list[PackedRow]:
    """Return rows as they are packed; those that are gone are missing."""
    if not ids:
        return []
    row = source.table.c
    found = connection.execute(select(*indexed_columns(source)).where(row.id.in_(list(ids)))).all()
    places = _read_places(connection, source, ids)
    return [_packed_row(entry_of(source, one), *places.get(one[0], _NOWHERE)) for one in found]


_NOWHERE = ("", Said("", "", ""))


def _packed_row(entry: Entry, thread: str, speaker: Said) -> PackedRow:
    place = (entry.source, entry.row_id, entry.at_us, entry.words, entry.local_only, thread, speaker)
    return PackedRow(*place, entry.terms, entry.tags)


def _read_places(connection: Connection, source: SourceTable, ids: Sequence[int]) -> dict[int, tuple[str, Said]]:
    """Return the conversation and the speaker of rows."""
    columns = place_columns(source)
    found = connection.execute(select(source.table.c.id, *columns).where(source.table.c.id.in_(list(ids)))).all()
    return {row[0]: place_of(source.number, *row[1:]) for row in found}


def place_of(source: int, conversation: Any, name: Any, key: Any, role: Any) -> tuple[str, Said]:
    """Return where a row was said and by whom. Only the chat has neighbours: what else belongs to it is kept apart."""
    if source == sources.CHAT.number:
        return str(conversation or ""), Said(str(name or ""), str(key or ""), str(role or ""))
    if source == sources.MEMORIES.number:
        return "\x00" + str(conversation or ""), Said("", str(key or ""), "")
    return "\x00", Said("", "", "")


def _drop_fresh(connection: Connection, audience: int, rows: Sequence[PackedRow], tables: Sequence[Any]) -> None:
    """Delete what tables hold of rows that had postings of their own."""
    for table in tables:
        for source in sorted({row.source for row in rows}):
            for part in chunks(sorted(row.row_id for row in rows if row.source == source), _AT_ONCE):
                c = table.c
                connection.execute(
                    delete(table).where(c.audience_id == audience, c.source == source, c.row_id.in_(part))
                )


def _next_segment(connection: Connection, family: str, audience: int) -> tuple[int, int]:
    """Lock the segments of an audience until the transaction ends, and return the number of the next one, and the
    highest id of the packed rows that have postings left, 0 where none has."""
    none = {"audience_id": audience, "segment_id": 0, "stamp": 0, "docs": 0, "head": b""}
    connection.execute(dialects.insert_ignore(search_segment, family), none)
    last, unswept = connection.execute(STATE_HELD, {"audience": audience}).one()
    connection.execute(SET_LAST, {"audience": audience, "last": last + 1})
    return int(last) + 1, int(unswept)


def _write(connection: Connection, family: str, audience: int, number: int, rows: Rows, blocks: Blocks) -> None:
    stamp = secrets.randbelow(2**62) + 1
    head = {"audience_id": audience, "segment_id": number, "stamp": stamp, "docs": len(rows), "head": write_head(rows)}
    connection.execute(search_segment.insert(), head)
    as_key = dialects.as_key
    made = [(audience, number, kind, as_key(term, family), block) for (kind, term), block in blocks.items()]
    made.sort(key=lambda one: one[2:4])
    write_many(connection, search_block.insert(), ("audience_id", "segment_id", "kind", "term", "postings"), made)


# Merging


def list_segments(connection: Connection, audience: int) -> list[Packed]:
    """Return the segments of an audience."""
    return [Packed(*row) for row in connection.execute(_LISTED, {"audience": audience})]


_LISTED = select(_S.segment_id, _S.docs).where(_S.audience_id == _A, _S.segment_id > 0).order_by(_S.segment_id)


def choose_merge(segments: Sequence[Packed], most: int = MOST_ROWS) -> list[Packed]:
    """Return the segments to join next: MOST_OF_A_SIZE of about one size, the smallest first; none where
    none are due.
    """
    sizes: dict[int, list[Packed]] = {}
    for one in segments:
        size = 0
        while one.docs >= fresh_rows.PACK_FROM * MOST_OF_A_SIZE ** (size + 1):
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
    """Return the segments to join next where few are wished for: the smallest ones that make one together."""
    chosen, rows = [], 0
    for one in sorted(segments, key=lambda each: each.docs):
        rows += one.docs
        if rows > MOST_ROWS:
            break
        chosen.append(one)
    return chosen if len(chosen) > 1 else []


Choice = Callable[[Sequence[Packed]], list[Packed]]


def merge_due(connection: Connection, family: str, audience: int, choose: Choice = choose_merge) -> int:
    """Join segments of an audience where some are due, and return how many rows they had."""
    if not choose(list_segments(connection, audience)):
        return 0
    connection.execute(STATE_HELD, {"audience": audience})
    chosen = choose(list_segments(connection, audience))  # another may have joined them meanwhile
    if chosen:
        rewrite(connection, family, audience, [one.segment_id for one in chosen])
    return sum(one.docs for one in chosen)


def rewrite(connection: Connection, family: str, audience: int, numbers: Collection[int]) -> None:
    """Write segments anew as one, without the rows that are gone; one with none left is no more."""
    number, _ = _next_segment(connection, family, audience)
    gone = read_gone(connection, audience)
    parts = []
    for one in sorted(numbers):
        rows, blocks = read_segment(connection, audience, one)
        parts.append((rows, blocks, find_staying(rows, one, gone)))
    for one in sorted(numbers):
        where = {"audience": audience, "segment": one}
        connection.execute(_DROP_SEGMENT, where)
        connection.execute(_DROP_BLOCKS, where)
    rows, blocks = merge_segments(parts)
    if len(rows):
        _write(connection, family, audience, number, rows, blocks)
    oldest = min((one.segment_id for one in list_segments(connection, audience)), default=number + 1)
    connection.execute(delete(search_gone).where(_G.audience_id == audience, _G.segment_id < oldest))


_SEGMENT = bindparam("segment", type_=ID)
_DROP_SEGMENT = delete(search_segment).where(_S.audience_id == _A, _S.segment_id == _SEGMENT)
_DROP_BLOCKS = delete(search_block).where(_B.audience_id == _A, _B.segment_id == _SEGMENT)


def read_gone(connection: Connection, audience: int) -> dict[tuple[int, int], int]:
    """Return the packed rows that are gone, `(source, id)`, with the last segment that may hold them."""
    found = connection.execute(select(_G.source, _G.row_id, _G.segment_id).where(_G.audience_id == audience))
    return {(row[0], row[1]): row[2] for row in found}


def find_staying(rows: Rows, segment_id: int, gone: Mapping[tuple[int, int], int]) -> Any:
    """Return for each row of a segment whether it is still there."""
    stays = np.ones(len(rows), bool)
    ids = [row_id for (_, row_id), last in gone.items() if last >= segment_id]
    for place in np.flatnonzero(np.isin(rows.row_id, np.array(ids, np.int64))).tolist() if ids else ():
        stays[place] = gone.get((int(rows.source[place]), int(rows.row_id[place])), 0) < segment_id
    return stays


def read_segment(connection: Connection, audience: int, number: int) -> tuple[Rows, Blocks]:
    """Return a segment whole."""
    where = {"audience": audience, "segment": number}
    head = connection.execute(_HEAD, where).scalar_one()
    return read_head(bytes(head)), {(r[0], r[1]): bytes(r[2]) for r in connection.execute(_BLOCKS, where)}


_HEAD = select(_S.head).where(_S.audience_id == _A, _S.segment_id == _SEGMENT)
_BLOCKS = select(_B.kind, _B.term, _B.postings).where(_B.audience_id == _A, _B.segment_id == _SEGMENT)


# For operators and workers


def pack_all(db: Database, progress: Progress | None = None) -> int:
    """Pack all rows that may be packed, and merge all segments that are due; return how many rows were touched."""
    counted = db.read(select(_F.audience_id, func.count()).group_by(_F.audience_id), source="search_fresh")
    waiting = {row[0]: row[1] for row in counted if row[1] >= fresh_rows.PACK_FROM}
    audiences = {row[0] for row in db.read(select(_S.audience_id).distinct(), source="search_segment")}
    done, packed, total = 0, 0, sum(waiting.values())
    for audience in sorted(audiences.union(waiting)):
        before = packed
        while rows := db.transaction(partial(_pack_some, db.family, audience), source="the search index"):
            packed += rows
            if progress is not None:
                progress("rows", packed, max(packed, total))
            done += _merge_all(db, audience, choose_merge)
        done += packed - before + _merge_all(db, audience, choose_joined if packed > before else choose_merge)
    sweeping.sweep_all(db, progress)
    return done


def _pack_some(family: str, audience: int, connection: Connection) -> int:
    count = connection.execute(_COUNT, {"audience": audience}).scalar_one()
    return pack_fresh(connection, family, audience) if count >= fresh_rows.PACK_FROM else 0


def _merge_all(db: Database, audience: int, choose: Choice) -> int:
    done = 0
    while merged := db.transaction(partial(_merge_some, db.family, audience, choose), source="the search index"):
        done += merged
    return done


def _merge_some(family: str, audience: int, choose: Choice, connection: Connection) -> int:
    return merge_due(connection, family, audience, choose)


def purge(connection: Connection, family: str, audiences: Iterable[int]) -> int:
    """Write every segment anew that holds a row which is gone, and return how many there were."""
    done = 0
    for audience in sorted(set(audiences)):
        if connection.execute(STATE_HELD, {"audience": audience}).first() is None:
            continue
        gone = read_gone(connection, audience)
        for one in list_segments(connection, audience) if gone else ():
            head = connection.execute(_HEAD, {"audience": audience, "segment": one.segment_id}).scalar_one()
            if not find_staying(read_head(bytes(head)), one.segment_id, gone).all():
                rewrite(connection, family, audience, [one.segment_id])
                done += 1
        connection.execute(delete(search_gone).where(_G.audience_id == audience))
    return done


def drop_segment(audience: int, number: int, connection: Connection) -> None:
    """Delete a segment that is damaged."""
    where = {"audience": audience, "segment": number}
    connection.execute(_DROP_SEGMENT, where)
    connection.execute(_DROP_BLOCKS, where)


def count_packed(connection: Connection, audience: int, kind: int, term: str, source: int) -> int:
    """Return in how many packed rows of a source a word or tag stands."""
    gone, count = read_gone(connection, audience), 0
    blocks = select(_B.segment_id, _B.postings).where(
        _B.audience_id == audience,
        _B.segment_id.in_([one.segment_id for one in list_segments(connection, audience)]),
        _B.kind == kind,
        _B.term == bindparam("term", type_=Key(255)),
    )
    for number, postings in connection.execute(blocks, {"term": term}).all():
        head = connection.execute(_HEAD, {"audience": audience, "segment": number}).scalar_one()
        rows, places = read_head(bytes(head)), read_block(bytes(postings))["place"]
        count += int(np.count_nonzero(find_staying(rows, number, gone)[places] & (rows.source[places] == source)))
    return count
