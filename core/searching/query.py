"""The arguments of a search, checked and in normal form (T16 to T18, T28, T37, T38)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from core import logs
from core.config import Settings
from core.rules.arguments import Exclude, read_exclude, read_keywords, read_limit, read_tags, read_time
from core.rules.text import fold
from core.rules.words import Fragment, fragments, search_form
from core.rules.words import salient_words as salient
from core.rules.words import words as plain_words
from core.store import sources
from core.store.dialects import microseconds
from core.store.postings import AT_LEAST, AT_MOST, Limits

MOST_PIECES = 12
"""Most pieces of one text that are looked up among the known words: its rows are compared as a whole anyway."""


@dataclass(frozen=True, slots=True)
class Query:
    """The arguments of a search, read (T16 to T18, T37, T38)."""

    tags: tuple[str, ...]
    keywords: tuple[str, ...]
    """Folded."""
    limit: int
    ranking: str
    sources: tuple[sources.SourceTable, ...]
    exclude: Exclude
    since: datetime | None
    until: datetime | None
    text: str
    fragments: tuple[Fragment, ...]
    notes: tuple[str, ...] = ()

    @property
    def pool(self) -> int:
        """Return the newest matching rows taken of each source in recency mode (T27)."""
        return max(self.limit * 3, 50)

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the texts looked for inside texts: the keywords, and where the chat is searched the tags (T22)."""
        return tuple(dict.fromkeys((*self.keywords, *(self.tags if sources.CHAT in self.sources else ()))))

    def limits(self, persona: str, *, local_only: bool) -> Limits:
        """Return what holds for every look-up."""
        return Limits(
            persona=persona,
            since_us=AT_LEAST if self.since is None else microseconds(self.since),
            until_us=AT_MOST if self.until is None else microseconds(self.until),
            local_only=local_only,
            tags=self.tags,
            without_conversations=tuple(sorted(self.exclude.conversations)),
        )

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to look for; then no database is asked (T17)."""
        return not (self.tags or self.keywords)


def prepare(
    *,
    tags: object = None,
    keywords: object = None,
    query: object = None,
    include_chat: bool = True,
    limit: object = 5,
    ranking: object = None,
    exclude: object = (),
    since: object = None,
    until: object = None,
    settings: Settings,
) -> Query:
    """Return the arguments of `search_memories`, checked and in normal form.

    Raises:
        TypeError, ValueError: as named in F66 and F68.

    Source: T16 to T18, T28, T37, T38, F66 to F68.
    """
    wanted_tags, notes = read_tags(tags)
    wanted_words, more = read_keywords(keywords)
    notes = [*notes, *more]
    text = query if isinstance(query, str) else ""
    if text and not (wanted_tags or wanted_words):
        wanted_tags, wanted_words = _of_text(text, settings)
    count, bad_limit = read_limit(limit)
    mode, bad_mode = read_mode(ranking, settings)
    for name, note in (("limit", bad_limit), ("ranking", bad_mode)):
        if note:
            logs.warning("bad_argument", argument=name, note=note)
            notes.append(note)
    folded = tuple(dict.fromkeys(fold(word) for word in wanted_words))
    texts = (*folded, *(wanted_tags if include_chat else ()))
    asked = dict.fromkeys(piece for text in texts for piece in pieces(text))
    return Query(
        tags=tuple(wanted_tags),
        keywords=folded,
        limit=count,
        ranking=mode,
        sources=sources.ALL if include_chat else (sources.MEMORIES, sources.AI_DIARY),
        exclude=read_exclude(exclude),
        since=read_time(since, "since"),
        until=read_time(until, "until"),
        text=text,
        fragments=tuple(asked),
        notes=tuple(notes),
    )


def pieces(text: str) -> list[Fragment]:
    """Return the pieces of a folded text to look up among the known words: all, or of many the longest.

    >>> [piece.text for piece in pieces("pizza night")]
    ['pizza', 'night']
    """
    found = fragments(text)
    if len(found) <= MOST_PIECES:
        return found
    return sorted(found, key=lambda piece: (not piece.closed, -len(piece.text), piece.text))[:MOST_PIECES]


def read_mode(value: object, settings: Settings) -> tuple[str, str]:
    """Return the ranking to use and a note where the one given is none (T28)."""
    mode = settings.memory_ranking if value is None else value
    if mode in ("relevance", "recency"):
        return str(mode), ""
    return "relevance", f"ranking is {str(mode)[:40]!r}. It must be 'relevance' or 'recency'; 'relevance' is used."


def _of_text(text: str, settings: Settings) -> tuple[list[str], list[str]]:
    """Return the tags and keywords of a message that came without any (T16)."""
    languages = settings.languages
    tags = salient(text, languages, settings.tags_limit)
    found = salient(text, languages, settings.keyword_limit) or plain_words(text)[: settings.tags_limit]
    return tags, [search_form(word, languages) for word in found]
