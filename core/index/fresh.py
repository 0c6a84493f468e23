"""Rows that are not packed yet: each is one row of search_fresh, with its words, written with the row itself."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Integer, bindparam, delete, func, select

from ..database import dialects
from ..database.bulk import chunks, write_many
from ..database.dialects import ID
from ..database.schema import search_fresh
from .entries import Entry, Place, Said

PACK_FROM = 128
"""Rows of an audience that are packed together."""
AT_ONCE = 500
_F = search_fresh.c
_AUDIENCE = bindparam("audience", type_=ID)


def write(connection: Connection, family: str, entries: Iterable[Entry]) -> None:
    """Insert what the index holds of rows; what it held of the same rows before is replaced."""
    rows = [(one.audience_id, one.source, one.row_id, *_encode(one)) for one in entries]
    rows.sort(key=lambda row: row[:3])
    write_many(connection, _upsert(family), ("audience_id", "source", "row_id", "digest", "content"), rows)


@lru_cache(maxsize=2)
def _upsert(family: str) -> Any:
    return dialects.upsert(search_fresh, family, update=["digest", "content"])


def _encode(entry: Entry) -> tuple[int, bytes]:
    """Return the digest and the content of the row of an entry."""
    facts = (entry.at_us, entry.words, entry.local_only, entry.place.thread, entry.place.speaker)
    text = json.dumps([*facts, entry.terms, entry.tags], ensure_ascii=False, separators=(",", ":"))
    content = text.encode("utf-8", "surrogatepass")
    return zlib.crc32(content), content


def decode(audience: int, source: int, row_id: int, content: bytes) -> Entry:
    """Return the entry of a row that is not packed."""
    read = json.loads(bytes(content).decode("utf-8", "surrogatepass"))
    at_us, words, local_only, thread, speaker, terms, tags = read
    return Entry(source, row_id, audience, at_us, local_only, terms, words, tags, Place(thread, Said(*speaker)))


def count(connection: Connection, audience: int) -> int:
    """Return how many rows of an audience are not packed."""
    return int(connection.execute(_COUNT, {"audience": audience}).scalar_one())


_COUNT = select(func.count()).select_from(search_fresh).where(_F.audience_id == _AUDIENCE)


def remove(connection: Connection, audience: int, source: int, ids: Iterable[int]) -> int:
    """Delete rows from those that are not packed, and return how many there were."""
    deleted = 0
    for part in chunks(sorted(ids), AT_ONCE):
        values = {"audience": audience, "source": source, "ids": part}
        deleted += connection.execute(_DELETE, values).rowcount
    return deleted


_DELETE = delete(search_fresh).where(
    _F.audience_id == _AUDIENCE,
    _F.source == bindparam("source", type_=Integer()),
    _F.row_id.in_(bindparam("ids", expanding=True, type_=ID)),
)


def take_all(connection: Connection, audience: int, most: int) -> list[Entry]:
    """Delete the oldest rows of an audience that are not packed, and return them."""
    rows = connection.execute(_HELD_ALL, {"audience": audience, "most": most}).all()
    by_source: dict[int, list[int]] = {}
    for row in rows:
        by_source.setdefault(row.source, []).append(row.row_id)
    for source, ids in sorted(by_source.items()):
        remove(connection, audience, source, ids)
    return [decode(audience, row.source, row.row_id, row.content) for row in rows]


_HELD_ALL = (
    select(_F.source, _F.row_id, _F.content)
    .where(_F.audience_id == _AUDIENCE)
    .order_by(_F.source, _F.row_id)
    .limit(bindparam("most", type_=Integer()))
    .with_for_update()
)


def list_rows(connection: Connection, audience: int) -> Sequence[tuple[int, int]]:
    """Return source and id of the rows of an audience that are not packed."""
    found = connection.execute(select(_F.source, _F.row_id).where(_F.audience_id == audience))
    return [(row.source, row.row_id) for row in found]
