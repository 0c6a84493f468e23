"""Builds the search index entries of new rows and of stored rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, case, func, null, select

from ..base.text_caches import cache_texts
from ..database import dialects, sources
from ..database.compiled import AT_ONCE, IDS, read_parts
from ..database.engine import Database
from ..database.schema import conversations
from ..database.sources import AI_DIARY, SourceTable
from ..text import times
from ..text.folding import fold
from ..text.hits import content_digest, stored_tags
from ..text.languages import likely_languages
from ..text.time import LOOKED_AT, find_about_days
from ..text.words import index_terms
from .shapes import PARTIAL, Entry, Said, ThreadSpeaker

HELD = "search.held"
"""Key under which the caches of a database handle hold this process's copy of the index."""
CALENDAR = "index.calendar"
"""Cache key of the `Calendar`, which is in the zone of the process, although a call may have another zone."""
TERM_BYTES = 160
"""Longest word in the index, in bytes."""
TERMS_PER_ROW = 5000
"""Maximum number of different words of a row in the index."""
SEPARATOR = "\x1f"
"""Separator of the four folded texts of a diary entry; a keyword cannot contain it."""
DIARY_TEXTS = ("content", "personal_thought", "interaction_summary", "user_message")
_MOST16 = 65535


def list_texts(source: SourceTable) -> list[ColumnElement[str]]:
    """Return the text columns of a source, whose texts `text_folded` joins."""
    return [source.table.c[name] for name in DIARY_TEXTS] if source is AI_DIARY else [source.text]


def fold_texts(texts: Iterable[str | None]) -> str:
    return SEPARATOR.join(fold(text or "") for text in texts)


def derive_columns(texts: Sequence[str | None]) -> dict[str, Any]:
    return {"text_folded": fold_texts(texts), "content_hash": content_digest(texts[0] or "")}


class Calendar(NamedTuple):
    """Time zone and languages for finding the days that a text is about."""

    zone: str = "UTC"
    languages: tuple[str, ...] = ()
    """Languages besides the language of the text."""

    def find_places(self, text: str, at: datetime | None) -> Mapping[str, tuple[int, int]]:
        """Return the days, months and years that a text written at `at` names, each with the position of its words."""
        return {} if at is None else _find_places(self, text[:LOOKED_AT], at)


@cache_texts(1024)
def _find_places(calendar: Calendar, text: str, at: datetime) -> Mapping[str, tuple[int, int]]:
    """Read a text's days once for all prompts that look for the same days."""
    zone, languages = times.zone(calendar.zone) or UTC, likely_languages(text, calendar.languages)
    return find_about_days(text, at, zone, languages)


def calendar_of(db: Database) -> Calendar:
    """Return the calendar of a database handle, with the languages of the last call that used the handle."""
    known = db.caches.get(CALENDAR)
    return known if isinstance(known, Calendar) else Calendar()


def place_of(source: int, thread: object, name: object = "", key: object = "", role: object = "") -> ThreadSpeaker:
    thread, name, key, role = (str(each or "") for each in (thread, name, key, role))
    if source == sources.CHAT.number:
        return ThreadSpeaker(thread, Said(name, key, role))
    if source == sources.MEMORIES.number:
        return ThreadSpeaker("\x00" + thread, Said("", key, ""))
    return ThreadSpeaker("\x00", Said("", "", ""))


def place_columns(source: SourceTable) -> tuple[ColumnElement[str], ...]:
    """Return the columns for conversation, speaker name, participant key and role of a row."""
    row = source.table.c
    if source is sources.CHAT:
        return row.interface_path, row.sender_name, row.participant_key, row.role
    if source is sources.MEMORIES:
        return row.conversation_key, row.author, row.participant_key, row.scope
    return row.interface, row.chat_id, row.thread_id, row.interface


@lru_cache(maxsize=8)
def indexed_columns(source: SourceTable) -> tuple[ColumnElement[Any], ...]:
    row = source.table.c
    if "local_only" in row:
        local: ColumnElement[int] = row.local_only
    else:
        conversation = select(conversations.c.local_only).where(
            conversations.c.persona_id == row.persona_id, conversations.c.conversation_key == row.interface_path
        )
        local = func.coalesce(conversation.scalar_subquery(), 0)
    tags = null() if source.tags is None else source.tags
    facts = (row.id, row.audience_id, row.timestamp, row.text_folded, tags.label("tags"), local.label("local_only"))
    places = (column.label(f"place{n}") for n, column in enumerate(place_columns(source)))
    # The texts are needed if another program wrote the row without its folded text.
    texts = (case((row.text_folded.is_(None), text)).label(f"text{n}") for n, text in enumerate(list_texts(source)))
    return (*facts, *places, *texts)


@dataclass(frozen=True, slots=True)
class Stored:
    id: int
    audience_id: int
    at: datetime | None
    folded: str
    tags: Sequence[str]
    local_only: int
    place: ThreadSpeaker
    findable: bool = True

    def entry(self, source: SourceTable, calendar: Calendar) -> Entry:
        terms = index_terms(self.folded)
        words = min(sum(terms.values()), _MOST16)
        kept = terms
        if 4 * max(map(len, terms), default=0) > TERM_BYTES or words == _MOST16:
            short = (term for term in terms if len(term.encode("utf-8", "surrogatepass")) <= TERM_BYTES)
            kept = {term: min(terms[term], _MOST16) for term in short}
        if len(kept) > TERMS_PER_ROW:
            kept = dict(list(kept.items())[:TERMS_PER_ROW])
        if len(kept) < len(terms):
            kept[PARTIAL] = 1
        facts = (source.number, self.id, self.audience_id, dialects.microseconds(self.at), self.local_only)
        return Entry(*facts, kept, words, self.tags, self.place, tuple(calendar.find_places(self.folded, self.at)))


def read_stored(source: SourceTable, row: Any, *, findable: bool = True) -> Stored:
    """Return the index columns of a database row that was selected with `indexed_columns`."""
    folded = fold_texts(row[10:]) if row[3] is None else row[3]
    tags = tuple(stored_tags(row[4])) if source.tags is not None else ()
    place = place_of(source.number, *row[6:10])
    return Stored(row[0], row[1], row[2], folded, tags, int(row[5] or 0), place, findable)


def read_entries(connection: Connection, source: SourceTable, ids: Iterable[int], calendar: Calendar) -> list[Entry]:
    """Return the index entries of the findable rows with these ids, sorted by id."""
    row = source.table.c
    chosen = select(*indexed_columns(source)).where(row.id.in_(IDS), source.findable).order_by(row.id)
    rows = read_parts(connection.execute, chosen, {}, ids)
    return [read_stored(source, each).entry(source, calendar) for each in rows]


def read_audience(connection: Connection, source: SourceTable, audience: int, calendar: Calendar) -> Iterator[Entry]:
    """Yield the index entry of every findable row of an audience, in the order of ids."""
    above = 0
    row = source.table.c
    findable = select(*indexed_columns(source)).where(row.audience_id == audience, source.findable)
    page = findable.order_by(row.id).limit(AT_ONCE)
    while rows := connection.execute(page.where(row.id > above)).all():
        above = rows[-1][0]
        yield from (read_stored(source, row).entry(source, calendar) for row in rows)
