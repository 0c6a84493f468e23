"""Reads and writes the tag vocabulary of a persona: tags with use counts, aliases, links."""

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, Integer, bindparam, case, delete, null, select, update

from ..database.compiled import IDS, Reader, read_parts
from ..database.dialects import insert_ignore, upsert
from ..database.engine import Database, RollbackError
from ..database.schema import counters, tag_aliases, tag_links, tags
from ..database.stored_values import from_key, read_number, read_whole
from ..shapes import Vocabulary, WriteResult
from . import rules

VERSION = "tag_vocabulary"
CACHE = "tags"
NO_TAGS = Vocabulary()
_MOST_CACHED = 256
_KNOWN = select(tags.c.tag).where(tags.c.persona_id == bindparam("persona"), tags.c.tag.in_(IDS))
_LEFT = case((tags.c.uses > bindparam("less", type_=Integer), tags.c.uses - bindparam("less")), else_=0)
_LOWER = update(tags).where(tags.c.persona_id == bindparam("who"), tags.c.tag == bindparam("what")).values(uses=_LEFT)


def raise_uses(connection: Connection, db: Database, persona: str, uses: Mapping[str, int]) -> None:
    """Add `uses`, the number of new rows by tag, to the use counts; unknown tags join the vocabulary."""
    if not uses:
        return
    wanted = sorted(uses)
    known, now = read_parts(connection.execute, _KNOWN, {"persona": persona}, wanted), db.clock()
    rows = [{"persona_id": persona, "tag": tag, "uses": uses[tag], "created_at": now} for tag in wanted]
    connection.execute(upsert(tags, db.family, add=["uses"]), rows)
    if len(known) < len(wanted):
        raise_version(connection, db, persona)


def lower(connection: Connection, persona: str, uses: Mapping[str, int]) -> None:
    """Subtract `uses`, the number of deleted rows by tag, from the use counts; a tag with 0 uses stays."""
    if uses:
        connection.execute(_LOWER, [{"who": persona, "what": tag, "less": uses[tag]} for tag in sorted(uses)])


def raise_version(connection: Connection, db: Database, persona: str) -> None:
    """Invalidate every process's cached vocabulary of the persona."""
    connection.execute(upsert(counters, db.family, add=["value"]), {"persona_id": persona, "name": VERSION, "value": 1})


def add(db: Database, persona: str, tag: object) -> WriteResult:
    """Add a tag to the vocabulary; reason `duplicate`, `empty`, or `too_long` for more than 255 bytes."""
    names = [*map(rules.normal, rules.tag_items(tag))]
    if len(names) > 1:
        raise TypeError(f"tag is a list of {len(names)} tags. Add one tag at a time.")
    if not (name := next(iter(names), "")):
        return WriteResult(False, None, "empty")
    size = len(name.encode("utf-8"))
    if size > rules.TAG_BYTES:
        note = f"tag is {size} bytes long; at most {rules.TAG_BYTES} bytes are stored"
        return WriteResult(False, None, "too_long", notes=(note,))

    def work(connection: Connection) -> WriteResult:
        row = {"persona_id": persona, "tag": name, "uses": 0, "created_at": db.clock()}
        if not connection.execute(insert_ignore(tags, db.family), row).rowcount:
            return WriteResult(False, None, "duplicate")
        raise_version(connection, db, persona)
        return WriteResult(True, None)

    return db.idempotent_transaction(work, source="tags")


def add_alias(db: Database, persona: str, alias: object, tag: object) -> WriteResult:
    def work(connection: Connection) -> WriteResult:
        raise_version(connection, db, persona)  # first, because it locks out a second change until the end
        try:
            other, known = rules.check_alias(alias, tag, _read(connection.execute, persona))
        except ValueError as error:
            raise RollbackError(WriteResult(False, None, "refused", notes=(str(error),))) from None
        row = {"persona_id": persona, "tag": known, "uses": 0, "created_at": db.clock()}
        connection.execute(insert_ignore(tags, db.family), row)
        pair = {"persona_id": persona, "alias": other, "tag": known}
        connection.execute(upsert(tag_aliases, db.family, update=["tag"]), pair)
        return WriteResult(True, None)

    return db.idempotent_transaction(work, source="tags")


def link(db: Database, persona: str, a: object, b: object, weight: object = 1.0) -> WriteResult:
    """Link two tags, or change the weight of their link; unknown tags join the vocabulary."""
    try:
        one, other, number = rules.check_link(a, b, weight)
    except ValueError as error:
        return WriteResult(False, None, "refused", notes=(str(error),))

    def work(connection: Connection) -> WriteResult:
        now, t = db.clock(), tag_links.c
        for tag in sorted((one, other)):
            row = {"persona_id": persona, "tag": tag, "uses": 0, "created_at": now}
            connection.execute(insert_ignore(tags, db.family), row)
        reverse = (t.persona_id == persona) & (t.tag == other) & (t.related_tag == one)
        connection.execute(delete(tag_links).where(reverse))
        row = {"persona_id": persona, "tag": one, "related_tag": other, "weight": number}
        connection.execute(upsert(tag_links, db.family, update=["weight"]), row)
        raise_version(connection, db, persona)
        return WriteResult(True, None)

    return db.idempotent_transaction(work, source="tags")


COLUMNS: tuple[tuple[Any, Any, Any], ...] = (
    (tags.c.tag, tags.c.tag, tags.c.uses),
    (tag_aliases.c.alias, tag_aliases.c.tag, null()),
    (tag_links.c.tag, tag_links.c.related_tag, tag_links.c.weight),
)
"""Columns to read from each of the three tables of a vocabulary: a key, a second key, a number."""


def build_vocabulary(rows: Iterable[Any]) -> Vocabulary:
    """Build the vocabulary from rows, each `(index in COLUMNS, *values of these columns)`."""
    known: dict[str, int] = {}
    aliases: dict[str, str] = {}
    links: dict[str, dict[str, float]] = {}
    for part, key, other, value in rows:
        text = from_key(key)
        if part == 0:
            known[text] = read_whole(value) or 0
        elif part == 1:
            aliases[text] = from_key(other)
        else:
            for one, two in ((text, from_key(other)), (from_key(other), text)):
                near = links.setdefault(one, {})
                near[two] = max(float(read_number(value) or 0), near.get(two, 0.0))
    return Vocabulary(known, aliases, {tag: tuple(near.items()) for tag, near in links.items()})


def load(db: Database, persona: str) -> Vocabulary:
    return _read(db.read, persona)


def _read(read: Reader, persona: str) -> Vocabulary:
    parts = [read(select(*own).where(own[0].table.c.persona_id == persona), {}) for own in COLUMNS]
    return build_vocabulary((part, *row) for part, rows in enumerate(parts) for row in rows)


def get_held(db: Database, persona: str) -> tuple[int, Vocabulary]:
    """Return the cached (version number, vocabulary); version 0 without tags if no vocabulary is cached."""
    cache: dict[str, tuple[int, Vocabulary]] = db.caches.setdefault(CACHE, {})
    return cache.get(persona, (0, NO_TAGS))


def hold(db: Database, persona: str, now: int, vocabulary: Vocabulary | None) -> Vocabulary:
    """Cache a vocabulary with its version `now` and return it; for None, return the vocabulary cached before."""
    if vocabulary is None:
        return get_held(db, persona)[1]
    cache: dict[str, tuple[int, Vocabulary]] = db.caches.setdefault(CACHE, {})
    if len(cache) >= _MOST_CACHED and persona not in cache:
        cache.pop(next(iter(cache)), None)
    cache[persona] = (now, vocabulary)
    return vocabulary
