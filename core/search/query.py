"""The arguments of a search, checked and in normal form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache

from ..access.view import Request
from ..base import logs
from ..config import Settings
from ..database import sources
from ..database.dialects import microseconds
from ..index.lookups import AT_LEAST, AT_MOST, Limits
from ..text.folding import fold
from ..text.languages import languages_of
from ..text.question_words import is_question
from ..text.search_words import SHORTEST_STEM, may_be_misspelt, minor_words, other_beginnings, search_form
from ..text.stems import stem
from ..text.words import words as plain_words
from .message import choose_words, list_words
from .rules_arguments import Exclude, read_exclude, read_keywords, read_limit, read_tags, read_time

ENOUGH_WORDS = 5
"""A message with fewer words worth looking for is helped out by its minor ones."""
MOST_MINOR = 8
"""Most of these that are looked up; the rarest stay."""
MOST_NEAR = 5
"""Most keywords whose near spellings are looked up; the longest stay."""


@dataclass(frozen=True, slots=True)
class Minor:
    """Words looked for beside those asked for: by the beginning they share, as far as they have the same stem."""

    beginning: str
    stem: str
    of: str = ""
    """The keyword of which these are other forms that do not hold it, as `hiking` does not hold `hike`."""


@dataclass(frozen=True, slots=True)
class Near:
    """A keyword that may be misspelt."""

    keyword: str
    word: str
    """As it was said: the keyword may be its stem."""


@dataclass(frozen=True, slots=True)
class Query:
    """The arguments of a search, read."""

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
    is_question: bool = False
    """In relevance mode: the text asks something, so that a day or person it names may lead to rows."""
    is_of_text: bool = False
    """Tags and keywords are those of the text, and follow from what is stored."""
    words: tuple[str, ...] = ()
    """In this case the words of the text that are worth looking for."""
    notes: tuple[str, ...] = ()

    @property
    def numbers(self) -> tuple[int, ...]:
        """Return the numbers of the sources."""
        return tuple(source.number for source in self.sources)

    @property
    def pool(self) -> int:
        """Return the newest matching rows taken of each source in recency mode."""
        return max(self.limit * 3, 50)

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the texts looked for inside texts: the keywords, and where the chat is searched the tags."""
        return tuple(dict.fromkeys((*self.keywords, *(self.folded_tags if sources.CHAT in self.sources else ()))))

    @property
    def folded_tags(self) -> tuple[str, ...]:
        """Return the tags as they are looked for inside texts."""
        return tuple(dict.fromkeys(map(fold, self.tags)))

    def limits(self, persona: str, *, local_only: bool, here: str = "") -> Limits:
        """Return what holds for every look-up."""
        return Limits(
            persona=persona,
            since_us=AT_LEAST if self.since is None else microseconds(self.since),
            until_us=AT_MOST if self.until is None else microseconds(self.until),
            local_only=local_only,
            without_conversations=tuple(sorted(self.exclude.conversations)),
            here=here,
        )

    @property
    def request(self) -> Request:
        """Return what is asked beside who sees what."""
        return Request(inserted_into=self.numbers)

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to look for; then no database is asked."""
        return not (self.tags or self.keywords or self.is_question)


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
    """Return the arguments of `search_memories`, checked and in normal form."""
    wanted_tags, notes = read_tags(tags)
    wanted_words, more = read_keywords(keywords)
    notes = [*notes, *more]
    text = query if isinstance(query, str) else ""
    settings = with_languages_of(text, settings)
    is_of_text = bool(text) and not (wanted_tags or wanted_words)
    words = list_words(text, settings.languages) if is_of_text else []
    if is_of_text:
        wanted_words = choose_words(words, settings.languages, None)
    count, bad_limit = read_limit(limit)
    mode, bad_mode = read_mode(ranking, settings)
    for name, note in (("limit", bad_limit), ("ranking", bad_mode)):
        if note:
            logs.warning("bad_argument", argument=name, note=note)
            notes.append(note)
    return Query(
        tags=tuple(wanted_tags),
        keywords=fold_words(wanted_words),
        limit=count,
        ranking=mode,
        sources=sources.ALL if include_chat else (sources.MEMORIES, sources.AI_DIARY),
        exclude=read_exclude(exclude),
        since=read_time(since, "since"),
        until=read_time(until, "until"),
        text=text,
        is_question=mode == "relevance" and any(map(str.isalnum, text)) and is_question(text, settings.languages),
        is_of_text=is_of_text,
        words=tuple(words),
        notes=tuple(notes),
    )


def fold_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return words as they are compared, each once."""
    return tuple(dict.fromkeys(map(fold, words)))


def find_minors(text: str, keywords: Sequence[str], languages: Sequence[str]) -> tuple[Minor, ...]:
    """Return other forms of the keywords of a message, and its minor words where there are few keywords."""
    if not text or not keywords:
        return ()
    found = []
    for word in keywords:
        form = stem(word, languages)
        found += [Minor(beginning, form, word) for beginning in other_beginnings(word, languages)]
    if len(keywords) < 2 * ENOUGH_WORDS:
        beside = dict.fromkeys(stem(word, languages) for word in minor_words(text, languages, 3 * MOST_MINOR))
        taken = {stem(word, languages) for word in keywords}
        found += [Minor(_beginning(form), form) for form in beside if form not in taken][:MOST_MINOR]
    return tuple(found)


def find_nears(text: str, keywords: Sequence[str], languages: Sequence[str]) -> tuple[Near, ...]:
    """Return the keywords that may turn out to be misspelt, of many the longest, each with the word as it was said."""
    if not text:
        return ()
    said: dict[str, str] = {}
    for word in plain_words(text):
        said.setdefault(search_form(word, languages), word)
    found = [Near(keyword, said.get(keyword, keyword)) for keyword in keywords]
    longest = sorted((one for one in found if may_be_misspelt(one.word)), key=lambda one: (-len(one.word), one.word))
    return tuple(longest[:MOST_NEAR])


def _bends(form: str) -> bool:
    """Return whether a stem ends in a letter that its words may not have: `hike` of hiking, `studi` of study."""
    return len(form) > SHORTEST_STEM and form[-1] in "ei"


def _beginning(form: str) -> str:
    return form[:-1] if _bends(form) else form


def is_newest_first(settings: Settings) -> bool:
    """Return whether the newest rows that match are the hits."""
    return settings.memory_ranking == "recency"


def read_mode(value: object, settings: Settings) -> tuple[str, str]:
    """Return the ranking to use and a note where the one given is none."""
    mode = settings.memory_ranking if value is None else value
    if mode in ("relevance", "recency"):
        return str(mode), ""
    return "relevance", f"ranking is {str(mode)[:40]!r}. It must be 'relevance' or 'recency'; 'relevance' is used."


# The language of a message joins LANGUAGES for the search it starts: its stop words and its endings are known


@lru_cache(maxsize=256)
def _languages(text: str, given: tuple[str, ...]) -> tuple[str, ...]:
    return languages_of(text, given)


def spoken_in(text: str, languages: Sequence[str]) -> tuple[str, ...]:
    """Return the languages a message is searched in: the one it is in, where that can be told, then LANGUAGES."""
    return _languages(text[:2_000], tuple(languages))


def with_languages_of(text: str, settings: Settings) -> Settings:
    """Return the settings with the languages of a message; the same where nothing is added."""
    languages = spoken_in(text, settings.languages) if text else settings.languages
    return settings if languages == settings.languages else replace(settings, languages=languages)


def forget_kept() -> None:
    """Drop the texts that are kept, so that no forgotten one stays in memory."""
    _languages.cache_clear()
