"""The arguments of a search, checked and normalized."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ..base import logs
from ..base.hints import shown
from ..base.patterns import lazy_pattern
from ..base.text_caches import cache_texts
from ..config import Settings
from ..database import sources
from ..database.dialects import NEVER_US, microseconds
from ..database.rows import yes_no
from ..shapes import HistoryEntry, now_utc
from ..text import question_words, search_words, times
from ..text.folding import fold
from ..text.languages import bare, languages_of, likely_languages
from ..text.search_words import KEYWORD_LIMIT, TAGS_LIMIT
from ..text.stems import list_forms, stem
from ..text.time import CALENDARS, Span, mask_time, read_moment
from ..text.words import small_words, stop_words
from ..text.words import words as plain_words
from .rules_arguments import Bound, Exclude, read_exclude, read_keywords, read_limit, read_tags, read_time

if TYPE_CHECKING:
    from ..index.lexicon import Lexicon
    from ..index.numbers import Column, Flags
    from ..index.state import IndexState

PERSON_CHARS = 120
"""Maximum number of characters of a question about a person as a whole."""
FEW_WORDS, BARE_WORDS, MOST_NAMED = 4, 2, 2
"""Maximum number of words of a question such as `And Ann?`; such as `Which fits?`; of names, if it has a pronoun."""
MOST_EARLIER = 3
"""Number of the rarest words of a turn before a question that refers to it by which is searched too."""
MOST_WORDS = 1000
"""Maximum number of words of a message whose rows are counted to find the rarest."""
MOST_ASKED_CHARS = 16_000
"""Maximum number of characters of a text that are searched for; searching for a megabyte took 5 to 20 s."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """The arguments of a search as the caller gave them."""

    tags: object = None
    keywords: object = None
    query: object = None
    include_chat: bool = True
    limit: object = 5
    is_limit_named: bool = True
    """Whether the caller set the limit: if fewer rows match, keywords also match inside words."""
    may_fill: bool = False
    """Whether to fill the hits up to the limit with messages of the people that the question is about."""
    ranking: object = None
    exclude: object = ()
    since: object = None
    until: object = None


@dataclass(frozen=True, slots=True)
class Query:
    tags: tuple[str, ...]
    keywords: tuple[str, ...]
    """Folded keywords."""
    limit: int
    enough: int
    """If fewer rows than this match, keywords also match inside words."""
    may_fill: bool
    ranking: str
    sources: tuple[sources.SourceTable, ...]
    exclude: Exclude
    since: datetime | None
    until: datetime | None
    text: str
    languages: tuple[str, ...]
    """The language of the text, if known, then LANGUAGES: their stop words and stems are used."""
    reads_times: bool = True
    """Whether words of time mean real days; if not (INCLUDE_LOCAL_TIME_IN_PROMPTS), they are words like others."""
    is_question: bool = False
    """In relevance mode: whether the text asks something, so that rows are also searched by its days and people."""
    may_be_about_person: bool = False
    """In relevance mode: whether the text asks about a person as a whole if one of its words is a name."""
    is_of_text: bool = False
    """Whether tags and keywords are taken from the text."""
    words: tuple[str, ...] = ()
    """Words of the text to search for, if keywords are taken from the text."""
    is_listing: bool = False
    """Whether all matches are wanted: equal texts of different days are then hits of their own."""
    now: datetime | None = None
    """Time of the text, to which words such as `yesterday` refer; None is the time of the search."""
    notes: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()
    """Words of the turns before a text that names little by itself; `text` ends with them, and they weigh less."""

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple([source.number for source in self.sources])

    @property
    def pool(self) -> int:
        """Return the number of newest matching rows taken from each source in recency mode."""
        return max(self.limit * 3, 50)

    def are_within(self, at_us: Column) -> Flags:
        """Return which of these times are `since` or later, and before `until`."""
        end = -NEVER_US if self.until is None else microseconds(self.until)
        return (at_us >= microseconds(self.since)) & (at_us < end)

    @property
    def is_empty(self) -> bool:
        return not (self.tags or self.keywords or self.is_question)

    @property
    def may_name_tags(self) -> bool:
        """Return whether to look for known tags in the text: it must have a letter, a digit or a symbol."""
        return self.is_of_text and _SIGN.search(self.text) is not None


_SIGN = lazy_pattern(r"[^\W_]|[^\x00-\x7f]")


def shorten_asked(text: str) -> str:
    """Return the text to search for, without ids before it or thanks after a question; of a long text, both ends."""
    text = question_words.MENTIONS_BY_ID.sub("", text)
    if len(text) > MOST_ASKED_CHARS:
        text = f"{text[: MOST_ASKED_CHARS // 2 - 1]} {text[-MOST_ASKED_CHARS // 2 :]}"
    behind = _BEHIND_MARK.search(text, max(0, len(text) - _THANKS_CHARS))
    said = set(re.findall(r"\w+", bare(behind[0]))) if behind else set()
    return text[: behind.start()] if behind and said and said <= small_words("courtesy") else text


_THANKS_CHARS = 60
_BEHIND_MARK = lazy_pattern("(?<=[?\uff1f\u061f])[^?\uff1f\u061f]+$")


def prepare(request: SearchRequest, settings: Settings, clock: Callable[[], datetime] = now_utc) -> Query:
    """Return the arguments of `search_memories`, checked and normalized; `clock` dates words such as `last week`."""
    wanted_tags, notes = read_tags(request.tags)
    wanted_words, more = read_keywords(request.keywords)
    notes = [*notes, *more]
    if not isinstance(request.query, str | None):
        raise TypeError(f"query is of type {type(request.query).__name__}. It must be a text, or None.")
    given = request.query or ""
    text = shorten_asked(given)
    if len(given) > MOST_ASKED_CHARS:
        notes.append(f"query has {len(given)} characters; {MOST_ASKED_CHARS} of them are searched for")
    languages = spoken_in(text, settings.languages)
    is_of_text = bool(text) and not (wanted_tags or wanted_words)
    is_asking = bool(text) and asks(text, languages)
    reads_times = settings.include_local_time_in_prompts
    words = list_words(text, languages, is_asking=is_asking, reads_times=reads_times) if is_of_text else []
    if is_of_text:
        wanted_words = choose_words(words, languages, None)

    since = read_bound(request.since, "since", settings, clock, languages)
    until = read_bound(request.until, "until", settings, clock, languages)
    notes += ["since is not before until, so nothing can match"] if since and until and since >= until else []
    count, bad_limit = read_limit(request.limit)
    mode, bad_mode = read_mode(request.ranking, settings)
    may_ask = mode == "relevance" and any(map(str.isalnum, text))
    about_person = may_ask and _may_be_about_person(text, languages)
    for name, note in (("limit", bad_limit), ("ranking", bad_mode)):
        if note:
            logs.warning("bad_argument", argument=name, note=note)
            notes.append(note)
    return Query(
        tags=tuple(wanted_tags),
        keywords=fold_words(wanted_words),
        limit=count,
        enough=count if request.is_limit_named else 1,
        may_fill=request.may_fill and may_ask and is_asking,
        ranking=mode,
        sources=sources.ALL if yes_no(request.include_chat, "include_chat") else (sources.MEMORIES, sources.AI_DIARY),
        exclude=read_exclude(request.exclude),
        since=since,
        until=until,
        text=text,
        languages=languages,
        reads_times=reads_times,
        is_question=about_person or (may_ask and is_asking),
        may_be_about_person=about_person,
        is_of_text=is_of_text,
        words=tuple(words),
        notes=tuple(notes),
    )


def read_bound(
    value: object, field: Bound, settings: Settings, clock: Callable[[], datetime], languages: Sequence[str]
) -> datetime | None:
    """Return the time from or until which rows are wanted; ValueError if it cannot be read."""

    def read_words(said: str) -> Span | None:
        zone, spoken = times.zone(settings.timezone) or UTC, likely_languages(said, languages)
        return read_moment(said, clock(), zone, (*spoken, *languages, *CALENDARS))

    return read_time(value, field, read_words)


def _may_be_about_person(text: str, languages: Sequence[str]) -> bool:
    """Return whether a text may ask about a person as a whole; each of its words is tried as the person's name."""
    asked = question_words.asked_words(text) if len(text) <= PERSON_CHARS else ""
    for words in dict.fromkeys((asked, question_words.leave_now(asked, languages))):
        known = question_words.may_ask_about_person(words)
        names = [(), *((word,) for word in words.split())] if known else []
        if any(question_words.asks_about_person(words, each, known) for each in names):
            return True
    return False


def asks(text: str, languages: Sequence[str]) -> bool:
    """Return whether a text asks something: a question, maybe after words such as `hey so`, or only words of time."""
    if question_words.is_question(text, languages):
        return True
    masked = _mask_time(text, tuple(languages))
    words = question_words.asked_words(question_words.MENTIONS.sub("", masked))
    if words.isspace() or question_words.opens_late(words, languages):
        return True
    return masked != text and question_words.holds(words, "recalls", languages)


_mask_time = cache_texts(256)(mask_time)


def refers_back(query: Query) -> bool:
    """Return whether a question names so little that only the preceding turns show what it is about.

    `Where does she live?`, `And the other one?`, `Which was cheaper?`; not `Where does my sister live?`
    """
    languages, words = query.languages, question_words.asked_words(query.text)
    if not query.is_question or not any(question_words.list_phrases("refers", code) for code in languages[:1]):
        return False
    count, refers = words.count(" ") - 1, question_words.holds(words, "refers", languages[:1])
    telling = {*query.keywords}.difference(*map(stop_words, languages))
    is_rest = count <= FEW_WORDS and question_words.begins_with(words, "continues", languages[:1])
    if len(telling) > MOST_NAMED or (telling and not refers and not is_rest and count > BARE_WORDS):
        return False
    is_of_chat = any(question_words.holds(words, name, languages[:1]) for name in ("self", "other"))
    if is_rest and not (question_words.holds(words, "verbs", languages[:1]) or (telling and is_of_chat)):
        return True
    if search_words.inner_names(query.text) or (is_of_chat and not refers):
        return False
    masked = _mask_time(query.text, languages)
    words = question_words.asked_words(masked)
    if not (refers and question_words.holds(words, "refers", languages[:1])):  # `this week`
        return count <= BARE_WORDS if telling else masked == query.text
    first = min((words.find(f" {word}") for word in telling), default=len(words)) + 1
    return len(telling) < MOST_NAMED or question_words.holds(words[:first], "refers", languages[:1])


def add_earlier(query: Query, turns: Iterable[HistoryEntry], names: Collection[str], index: IndexState) -> Query:
    """Add rare words of the preceding turns, newest first, to a query; words in `names` are not added.

    The last turn read is the newest user turn that is clear by itself: it has a name, or no words such as `she`.
    """
    languages, found, own = query.languages, dict[str, None](), {*names, *plain_words(query.text)}
    for turn in turns:
        text = shorten_asked(turn.text)
        said = search_words.salient_words(mask_time(text, languages), languages, MOST_WORDS)
        inner = {*map(fold, search_words.inner_names(text))}
        rows = {word: _count_rows(word, index.lexicon, languages) for word in said if word not in own}
        # A stored turn holds its words itself.
        held = [word for word in rows if rows[word] > (turn.row_id is not None)]
        found |= dict.fromkeys(sorted(held, key=lambda word: (word not in inner, rows[word]))[:MOST_EARLIER])
        is_clear = inner or not question_words.holds(question_words.asked_words(text), "refers", languages)
        if turn.role == "user" and held and is_clear:
            break
    if not found:
        return query
    keywords = fold_words([*query.keywords, *choose_words([*found], languages, None)])
    return replace(query, text=f"{query.text} {' '.join(found)}", keywords=keywords, earlier=tuple(found))


def _names_others(text: str, masked: str, languages: Sequence[str]) -> bool:
    """Return whether `text` may ask about a third person: `masked` (times removed) has a name, and no `I` or `you`."""
    if _NAME.search(masked) is None:
        return False
    said = question_words.asked_words(text)
    return not (question_words.holds(said, "self", languages) or question_words.holds(said, "other", languages))


_NAME = lazy_pattern(r"(?<=[\w,] )[^\W\d_a-z][a-z]")


def fold_words(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(fold, words)))


def read_mode(value: object, settings: Settings) -> tuple[str, str]:
    """Return the ranking to use, and a note if the given one is unknown."""
    mode = settings.memory_ranking if value is None else value
    if mode in ("relevance", "recency"):
        return str(mode), ""
    return "relevance", f"ranking is {shown(mode)}. It must be 'relevance' or 'recency'; 'relevance' is used."


# Words of a message for searching; shared by prompt and search


def list_words(text: str, languages: Sequence[str], *, is_asking: bool, reads_times: bool = True) -> list[str]:
    """Return the words of a message to search for; if it has only stop words or symbols, return these.

    If the question names only a time, words of the other sentences are not searched for.
    """
    asked = question_words.find_asked(text, languages)
    masked = _mask_time(asked, tuple(languages)) if is_asking and reads_times else asked
    words = _list_asked_words(asked, masked, languages, is_asking=is_asking)
    if asked == text or (masked != asked and not search_words.salient_words(masked, languages, 1)):
        return words
    return list(dict.fromkeys([*words, *search_words.salient_words(text, languages, MOST_WORDS)]))


def _list_asked_words(text: str, masked: str, languages: Sequence[str], *, is_asking: bool) -> list[str]:
    whole = text
    if is_asking and not _names_others(text, masked, languages):
        text = masked
    words = search_words.salient_words(text, languages, MOST_WORDS)
    asking = question_words.asking_words(question_words.asked_words(text), languages) if is_asking else set[str]()
    left = [word for word in words if bare(word) not in asking] if asking else words
    if left or (asking and text != whole):  # `What happened in March?` names only a time
        return left
    marks = question_words.list_task_marks(text, tuple(languages)) if is_asking else ()
    if mark := next((each for each in marks if "_" not in each), ""):
        return [mark]
    common = search_words.common_words_asked(text, languages, TAGS_LIMIT)
    return common or search_words.telling_symbols(text, TAGS_LIMIT)


def choose_words(words: Sequence[str], languages: Sequence[str], index: IndexState | None) -> list[str]:
    """Return words in the form in which they are searched; if there are too many, only the rarest."""
    if index is not None and len(words) > KEYWORD_LIMIT:
        rows = {word: _count_rows(word, index.lexicon, languages) for word in words}
        words = search_words.choose_rarest(words, rows, KEYWORD_LIMIT)
    return list(dict.fromkeys([search_words.search_form(word, languages) for word in words[:KEYWORD_LIMIT]]))


def _count_rows(word: str, lexicon: Lexicon, languages: Sequence[str]) -> int:
    """Return the document frequency of the commonest word with the same stem."""
    form = stem(word, languages)
    counts = lexicon.beginning(word[: len(form)] if word.startswith(form) else word)
    return max(map(counts.__getitem__, list_forms(counts, word, languages, form)), default=0)


def spoken_in(text: str, languages: Sequence[str]) -> tuple[str, ...]:
    """Return the languages of a search: the language of the message, if known, then LANGUAGES."""
    return languages_of(text[:2_000], languages) if text else tuple(languages)
