"""Unpacked ("fresh") rows, which are in no segment yet (search_fresh), and records of removed rows (search_gone)."""

import json
import zlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, delete, func, select, type_coerce
from sqlalchemy.types import NullType

from ..database import sources
from ..database.compiled import IDS, execute_parts
from ..database.rows import insert_tuples
from ..database.schema import search_fresh, search_gone, search_segment
from ..database.stored_values import read_checked
from .entries import Calendar, read_entries
from .shapes import Entry, Said, ThreadSpeaker

PACK_FROM = 128
"""Minimum number of unpacked rows of an audience that are packed."""
_F, _S = search_fresh.c, search_segment.c


def write_fresh(connection: Connection, entries: Iterable[Entry]) -> None:
    rows = [(one.audience_id, one.source, one.row_id, *_encode(one)) for one in entries]
    rows.sort(key=lambda row: row[:3])
    insert_tuples(connection, search_fresh, rows, update=("digest", "content"))


def _encode(entry: Entry) -> tuple[int, bytes]:
    """Return (digest, content): the two columns in which an entry is stored."""
    facts = (entry.at_us, entry.words, entry.local_only, entry.place.thread, entry.place.speaker)
    text = json.dumps([*facts, entry.terms, entry.tags, entry.days], ensure_ascii=False, separators=(",", ":"))
    content = text.encode("utf-8", "surrogatepass")
    return zlib.crc32(content), content


def decode(audience: int, source: int, row_id: int, digest: object, content: object) -> Entry | None:
    """Return the entry stored in these columns of search_fresh; None if it cannot be read."""
    checked = read_checked(content, digest)
    if checked is None or not is_place(source, row_id):
        return None
    at_us, words, local_only, thread, speaker, terms, tags, *days = json.loads(checked.decode("utf-8", "surrogatepass"))
    place = ThreadSpeaker(thread, Said(*speaker))
    return Entry(source, row_id, audience, at_us, local_only, terms, words, tags, place, *days)


@lru_cache(maxsize=4096, typed=True)  # every search asks it of every unpacked row
def is_place(source: object, row_id: object) -> bool:
    """Return whether the values can be the source and id of a row, as other programs may write anything into SQLite."""
    return type(source) is int and type(row_id) is int and source in sources.BY_NUMBER


def count_fresh(connection: Connection, audience: int) -> int:
    counted = select(func.count()).select_from(search_fresh).where(_F.audience_id == audience)
    return int(connection.execute(counted).scalar_one())


def remove_fresh(connection: Connection, audience: int, source: int, ids: Iterable[int]) -> int:
    """Delete these rows of an audience and source from search_fresh; return how many were deleted."""
    these = (_F.audience_id == audience, _F.source == source, _F.row_id.in_(IDS))
    return execute_parts(connection, delete(search_fresh).where(*these), ids)


def take_fresh(connection: Connection, audience: int, most: int) -> list[Entry]:
    """Delete the first `most` rows, by source and id, from search_fresh; return their entries, remade if unreadable."""
    first = _ALL.where(_F.audience_id == audience).order_by(_F.source, _F.row_id).limit(most)
    rows = connection.execute(first.with_for_update()).all()
    made: list[Entry] = []
    for source in sources.ALL:
        entries = {row[1]: decode(audience, *row) for row in rows if is_place(*row[:2]) and row[0] == source.number}
        remove_fresh(connection, audience, source.number, entries)
        unread = [row_id for row_id, one in entries.items() if one is None]
        made += [one for one in entries.values() if one is not None]
        made += [one for one in read_entries(connection, source, unread, Calendar()) if one.audience_id == audience]
    return made


_AS_STORED: list[Any] = [type_coerce(column, NullType()) for column in (_F.source, _F.row_id, _F.digest, _F.content)]
_ALL = select(*_AS_STORED)


def read_fresh(connection: Connection, audience: int) -> list[Entry]:
    found = connection.execute(_ALL.where(_F.audience_id == audience))
    return [one for row in found if (one := decode(audience, *row)) is not None]


def note_gone(connection: Connection, audience: int, source: int, ids: Iterable[int]) -> None:
    """Record that these rows are removed from all segments of the audience."""
    # Row 0 has the last segment's number. It is locked so that no segment with these rows is made meanwhile.
    number = select(_S.docs).where(_S.audience_id == audience, _S.segment_id == 0)
    last = connection.execute(number.with_for_update(read=True)).scalar()
    if last:
        gone = [(audience, source, row_id, int(last)) for row_id in sorted(ids)]
        insert_tuples(connection, search_gone, gone, update=("segment_id",))
