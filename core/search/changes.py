"""Find later messages that change what was said: `Cancelled Axa` after `My car insurance is with Axa`."""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from operator import attrgetter
from typing import Any

from ..base.patterns import lazy_pattern
from ..database.engine import Database
from ..index.numbers import Flags, ViewRows, take
from ..index.shapes import WORD, RowId
from ..index.state import IndexState
from ..index.visible import Visible
from ..shapes import PERSONA_SENDER
from ..text.extracts import sentences
from ..text.folding import fold
from ..text.forms.variants import find_forms
from ..text.languages import bare, likely_languages
from ..text.question_words import ABOUT, SHORT_CHARS, asked_words, holds, is_question, list_phrases
from ..text.time import may_name_time
from ..text.words import list_terms, stop_words
from .ranking.rows import CHAT, FoundRow
from .table import read_rows

MayRead = Callable[[Visible], Callable[[ViewRows], Flags] | None]
"""Returns, for an audience, the function that flags the rows that may be read; None if all may."""
MOST_WORDS = 3
"""Number of a plan's rarest words by which messages about it are found."""
MOST_ROWS = 200
"""Maximum number of rows with a word: a more frequent one names no plan."""
MOST_READ = 6
"""Maximum number of later messages that are read for each of these words, newest first."""
MOST_CHANGES = 2
"""Maximum number of messages shown as changes of a row: of `My boss is Helen`, `Helen quit` and news of her bike."""
MOST_CHARS = 1_000
"""Maximum length of a message that changes something: a longer one tells of many things."""
_BOX = r"\[(?: |open|todo)\]"
_SURE_MARK = lazy_pattern(rf"\b(?:todo\b|to-do\b|task:)|{_BOX}")
_TELLING = ("changes", "news")
"""Phrase lists of a change: `changes` needs one word of the plan beside it, `news` two, or one of a task."""
_TAG = lazy_pattern(r",\s*\w+\s*\?$")
"""Last word of a statement that only asks for agreement: `the meetup is a week later, ok?`"""
_IS = lazy_pattern(r"^(\s*\w+)['\u2019]s (\w+\s*)$")
"""Clause whose `'s` is a verb: `Ola's sick`, not `Ola's dog died`."""
_ENDS = "[,.;:!?\\n\u3001\u3002\uff01\uff1f]"
_CLAUSE_END, _WORD_OR_END = lazy_pattern(_ENDS), lazy_pattern(rf"\w+|{_ENDS}")


def find_changes(
    db: Database,
    index: IndexState,
    plans: Collection[FoundRow],
    values: Mapping[str, Any],
    languages: Sequence[str],
    may_read: MayRead,
) -> dict[RowId, list[FoundRow]]:
    """Return, for each plan or fact that was changed, the messages saying so, newest first, at most MOST_CHANGES."""
    words = [_list_rarest(plan, index, languages) for plan in plans]
    later = _find_later(index, {word for rarest in words for word in rarest}, may_read)
    newest = list[set[RowId]]()
    for plan, rarest in zip(plans, words, strict=True):  # chatter about `the meetup` hides nothing about `the Crown`
        since = [[row for at, row in later[word] if at > plan.at_us][:MOST_READ] for word in rarest]
        newest.append(set[RowId]().union(*since))
    read, _ = read_rows(db, set[RowId]().union(*newest), values)
    short = [row for row in read.values() if len(row.folded) <= MOST_CHARS]
    rows = sorted(short, key=attrgetter("at_us", "id"), reverse=True)
    changes = defaultdict[RowId, list[FoundRow]](list)
    told = {(row.source, row.id): _list_told(row, languages) for row in rows}
    denied = {(row.source, row.id): _list_denied(row, languages) for row in rows}
    for plan, keys in zip(plans, newest, strict=True):
        is_of_task, planned = is_task(plan), set(list_terms(plan.folded))
        for row in rows:
            key = row.source, row.id
            says = told[key] if planned.isdisjoint(denied[key]) else ("changes",)
            is_done = is_of_task and not is_task(row)
            if key in keys and (says or is_done) and _is_change(row, plan, says, languages, is_done=is_done):
                changes[plan.source, plan.id].append(row)
            if len(changes.get((plan.source, plan.id), ())) == MOST_CHANGES:
                break
    return changes


def _find_later(index: IndexState, words: Collection[str], may_read: MayRead) -> dict[str, list[tuple[int, RowId]]]:
    """Return, by word, the readable rows that contain it, each with its time, newest first."""
    found: dict[str, list[tuple[int, RowId]]] = {word: [] for word in words}
    for view, postings in index.read([(WORD, word) for word in found]) if found else ():
        keep = may_read(view)
        for word, rows_of in found.items():
            rows = postings.find((WORD, word))[0]
            rows = rows if keep is None else take(rows, keep(rows))
            facts = [column[rows].tolist() for column in (view.at_us, view.source, view.row_id)]
            rows_of += [(at, (source, row)) for at, source, row in zip(*facts, strict=True)]
    return {word: sorted(rows, reverse=True) for word, rows in found.items()}


def _list_rarest(plan: FoundRow, index: IndexState, languages: Sequence[str]) -> list[str]:
    """Return the rarest words of a plan that other rows contain too, without words of time or change and stop words."""
    known = {term for term in list_terms(plan.folded) if term.isalpha()}.difference(*map(_list_small, languages))
    docs = index.lexicon.count_rows(known)
    shared = sorted([(docs[term], term) for term in known if 1 < docs[term] <= MOST_ROWS])
    return [term for _, term in shared[:MOST_WORDS]]


@lru_cache(maxsize=1)
def _task_mark() -> re.Pattern[str]:
    """Return a pattern of `[ ]` and the phrases of the lists `task`, a number before the colon of one: `TODO 3:`."""
    phrases = {fold(phrase) for code in ABOUT for phrase in list_phrases("task", code)}
    listed = "|".join(sorted((re.sub(r"\b$", r"\\b", each) for each in phrases), key=len, reverse=True))
    listed = listed.replace("_", r"\W+").replace(":", r"[\s\d]*[:\uff1a]")
    return re.compile(rf"{_BOX}|\b(?:{listed})")


def is_task(row: FoundRow) -> bool:
    """Return whether a row is marked as a task; in a long one, `I need to` marks none."""
    mark = _task_mark() if len(row.folded) <= SHORT_CHARS else _SURE_MARK
    return mark.search(row.folded) is not None


def marks_done(old: str, text: str, languages: Sequence[str]) -> bool:
    """Return whether an edit marks a task as done: it drops the mark of a task, or adds only words such as `done`."""
    if _task_mark().search(fold(old)) and not _task_mark().search(fold(text)):
        return True
    before, said, spoken = asked_words(old), asked_words(text), likely_languages(text, languages)
    is_told = any(holds(said, name, spoken) and not holds(before, name, spoken) for name in _TELLING)
    return is_told and all(word in said for word in before.split())


def _list_told(row: FoundRow, languages: Sequence[str]) -> Collection[str]:
    """Return which of the phrase lists "changes" and "news" have a phrase that the message contains."""
    if row.folded.isascii() and _list_telling().isdisjoint(_WORD_OR_END.findall(row.folded)):
        return ()
    said, spoken = asked_words(row.shown_text), likely_languages(row.shown_text, languages)
    return [name for name in _TELLING if holds(said, name, spoken)]


def _list_denied(row: FoundRow, languages: Sequence[str]) -> set[str]:
    """Return the words that follow a phrase of the list `no` at the beginning of a clause: `no dinner, I am ill`."""
    clauses = _CLAUSE_END.split(row.folded)
    starts = {word for clause in clauses for word in clause.split(maxsplit=1)[:1]}
    if row.folded.isascii() and _list_denying().isdisjoint(starts):
        return set()
    spoken = likely_languages(row.shown_text, languages)
    phrases = tuple([f" {bare(each).replace('_', ' ')} " for code in spoken for each in list_phrases("no", code)])
    said = [asked_words(clause) for clause in clauses]
    after = (clause.removeprefix(each) for clause in said for each in phrases if clause.startswith(each))
    return {word for each in after for word in each.split()[:1]}


@lru_cache(maxsize=1)
def _list_denying() -> frozenset[str]:
    return frozenset(bare(phrase).split("_")[0] for code in ABOUT for phrase in list_phrases("no", code))


def _is_change(
    row: FoundRow, plan: FoundRow, told: Collection[str], languages: Sequence[str], *, is_done: bool
) -> bool:
    """Return whether `row` changes `plan`: it has a word of change and a word of the plan, or of news and two of them.

    If `is_done` (`plan` is a task, `row` is none), one shared word is enough with news, two without news or change.
    """
    is_elsewhere = row.conversation != plan.conversation and row.said_by_key != plan.said_by_key
    if is_elsewhere or (row.source == CHAT and row.said_by_key == PERSONA_SENDER):
        return False
    said = _TAG.sub("", row.shown_text)
    if not is_done and is_question(said, likely_languages(said, languages)):
        return False
    least = 1 if "changes" in told or (told and is_done) else 2
    repeated = _list_repeated(row, plan, languages) if is_done else set[str]()
    return _may_mean(_leave_sentences(row, told, languages), plan, languages, least, repeated)


def _leave_sentences(row: FoundRow, told: Collection[str], languages: Sequence[str]) -> FoundRow:
    """Return a long row with only those of its sentences that tell a change or news."""
    if not told or len(row.shown_text) <= SHORT_CHARS:
        return row
    spoken = likely_languages(row.shown_text, languages)
    every = [(each, asked_words(each)) for each in sentences(row.shown_text)]
    said = " ".join(each for each, words in every if any(holds(words, name, spoken) for name in told))
    return replace(row, texts=(said,), folded=fold(said))


@lru_cache(maxsize=1)
def _list_telling() -> frozenset[str]:
    """Return the longest word of each phrase in the lists `changes` and `news`, in all languages with spaces."""
    phrases = (each for code in ABOUT for name in _TELLING for each in list_phrases(name, code))
    return frozenset(max(bare(phrase).split("_"), key=len) for phrase in phrases)


def _list_words(row: FoundRow, languages: Sequence[str]) -> set[str]:
    """Return the words that may name a plan."""
    spoken = {*likely_languages(row.shown_text, languages)[:1], *languages}
    return {*filter(str.isalpha, list_terms(row.folded))}.difference(*map(_list_small, spoken))


def _read_beside(row: FoundRow, word: str, words: Collection[str]) -> dict[int, tuple[str, bool]]:
    """Return the `words` right before (0) and after (1) `word` in its last clause, and whether each is adjacent."""
    beside: dict[int, tuple[str, bool]] = {}
    for clause in _CLAUSE_END.split(row.folded) if words else ():
        if word in clause:
            terms = [term for term in list_terms(_IS.sub(r"\1 is \2", clause)) if len(term) > 1]  # not `s`
            said = [(n, term) for n, term in enumerate(terms) if term in words]
            for (m, one), (n, two) in pairwise(said):
                beside |= {1: (two, n == m + 1)} if one == word else {0: (one, n == m + 1)} if two == word else {}
    return beside


def _list_repeated(row: FoundRow, plan: FoundRow, languages: Sequence[str]) -> set[str]:
    """Return the words of a task that a message has in some form, no stop words but the first: `called`."""
    spoken = [*dict.fromkeys((*likely_languages(plan.shown_text, languages)[:1], *languages))]
    _, *parts = _task_mark().split(plan.folded)
    first = next(filter(str.isalpha, list_terms(max(parts, key=len))), "")
    said, small = set(list_terms(row.folded)), frozenset[str]().union(*map(stop_words, spoken))
    words = {first, *filter(str.isalpha, list_terms(plan.folded))} - (small - {first})
    return {word for word in words if find_forms(word, spoken, lambda text: [o for o in said if o.startswith(text)])}


def _may_mean(
    row: FoundRow, plan: FoundRow, languages: Sequence[str], least: int, repeated: Collection[str] = ()
) -> bool:
    """Return whether a message may refer to a plan: they share `least` words, a single one not in another name.

    Words of a task that are `repeated` in another form count.

    Not `game night` for `movie night`, not `park concert` for `picnic in the park`, not `Jo Doe` for `Jo Smith`.
    """
    said, planned = _list_words(row, languages), _list_words(plan, languages)
    shared = (planned & said).union(repeated)
    if len(shared) < least:
        return False
    mine, theirs = _list_names(row, said), _list_names(plan, planned)
    if any(mine[first].isdisjoint(theirs[first]) for first in mine.keys() & theirs.keys()):
        return False
    if len(shared) != 1:
        return True
    (one,) = shared
    others, beside = _read_beside(row, one, said), _read_beside(plan, one, planned)
    return all(word in planned or not (is_next or side in beside) for side, (word, is_next) in others.items())


def _list_names(row: FoundRow, words: Collection[str]) -> dict[str, set[str]]:
    """Return, by first name, the last names that follow it; both names are capitalized and in `words`."""
    names = defaultdict[str, set[str]](set)
    capitals = [word if word[0].isupper() else "" for word in _WORD_OR_END.findall(row.shown_text)]
    for one, two in [(fold(one), fold(two)) for one, two in pairwise(capitals) if one and two]:
        if one in words and two in words:
            names[one].add(two)
    return names


@lru_cache(maxsize=64)
def _list_small(language: str) -> frozenset[str]:
    """Return the words that name no plan: stop words, words of time and words of a change."""
    changes = {word for name in _TELLING for phrase in list_phrases(name, language) for word in phrase.split("_")}
    return stop_words(language) | may_name_time(language) | changes
