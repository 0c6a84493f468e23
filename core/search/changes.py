"""Find later messages that change what was said: `The dentist is cancelled` after `Dentist on Friday at 10`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
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
from ..text.folding import fold
from ..text.languages import likely_languages
from ..text.question_words import asked_words, holds, list_phrases
from ..text.time import may_name_time
from ..text.words import list_terms, stop_words
from .ranking.rows import FoundRow
from .table import read_rows

MayRead = Callable[[Visible], Callable[[ViewRows], Flags] | None]
"""Returns, for an audience, the function that flags the rows that may be read; None if all may."""
MOST_WORDS = 3
"""Number of a plan's rarest words by which messages about it are found."""
MOST_ROWS = 200
"""Maximum number of rows with a word: a more frequent one names no plan."""
MOST_READ = 6
"""Maximum number of later messages that are read for each of these words, newest first."""
_TASK = lazy_pattern(r"\btodo\b|\bto-do\b|\[(?: |open|todo)\]")
_ENDS = "[,.;:!?\\n\u3001\u3002\uff01\uff1f]"
_CLAUSE_END, _WORD_OR_END = lazy_pattern(_ENDS), lazy_pattern(rf"\w+|{_ENDS}")


def find_changes(
    db: Database,
    index: IndexState,
    plans: Collection[FoundRow],
    values: Mapping[str, Any],
    languages: Sequence[str],
    may_read: MayRead,
) -> dict[RowId, FoundRow]:
    """Return, for each plan that was moved or cancelled, the newest message saying so; `values`: see `read_values`."""
    at_of = {(plan.source, plan.id): plan.at_us for plan in plans}
    words = {key: _list_rarest(plan, index, languages) for key, plan in zip(at_of, plans, strict=True)}
    later: dict[tuple[RowId, str], dict[RowId, int]] = {(key, word): {} for key in words for word in words[key]}
    terms = dict.fromkeys((WORD, word) for rarest in words.values() for word in rarest)
    for view, postings in index.read(terms) if terms else ():
        keep = may_read(view)
        for (plan, word), found in later.items():
            rows = postings.find((WORD, word))[0]
            rows = rows if keep is None else take(rows, keep(rows))
            facts = [column[rows].tolist() for column in (view.source, view.row_id, view.at_us)]
            found |= {(source, row): at for source, row, at in zip(*facts, strict=True) if at > at_of[plan]}
    newest: dict[RowId, set[RowId]] = {key: set() for key in words}
    for (plan, _), found in later.items():  # chatter about `the meetup` does not hide what is said about `the Crown`
        newest[plan] |= set(sorted(found, key=found.__getitem__, reverse=True)[:MOST_READ])
    read, _ = read_rows(db, {key for keys in newest.values() for key in keys}, values)
    changes = {}
    for (key, keys), one in zip(newest.items(), plans, strict=True):
        later_rows = sorted(filter(None, map(read.get, keys)), key=attrgetter("at_us", "id"), reverse=True)
        said = (row for row in later_rows if _tells_more(row, one, languages))
        if (row := next((row for row in said if _may_mean(row, one, languages)), None)) is not None:
            changes[key] = row
    return changes


def _list_rarest(plan: FoundRow, index: IndexState, languages: Sequence[str]) -> list[str]:
    """Return the rarest words of a plan that other rows contain too, without words of time or change and stop words."""
    known = {term for term in list_terms(plan.folded) if term.isalpha()}.difference(*map(_list_small, languages))
    docs = index.lexicon.count_rows(known)
    shared = sorted([(docs[term], term) for term in known if 1 < docs[term] <= MOST_ROWS])
    return [term for _, term in shared[:MOST_WORDS]]


def is_task(row: FoundRow) -> bool:
    return _TASK.search(row.folded) is not None


def _tells_more(row: FoundRow, plan: FoundRow, languages: Sequence[str]) -> bool:
    """Return whether a message has a word of change, or shares two words with a task, and is none itself."""
    if not is_task(plan) or is_task(row):
        return _says_change(row, languages)
    return len(_list_words(row, languages) & _list_words(plan, languages)) > 1


def _says_change(row: FoundRow, languages: Sequence[str]) -> bool:
    return holds(asked_words(row.shown_text), "changes", likely_languages(row.shown_text, languages))


def _list_words(row: FoundRow, languages: Sequence[str]) -> set[str]:
    """Return the words that may name a plan."""
    spoken = {*likely_languages(row.shown_text, languages)[:1], *languages}
    return {*filter(str.isalpha, list_terms(row.folded))}.difference(*map(_list_small, spoken))


def _read_beside(row: FoundRow, word: str, words: Collection[str]) -> dict[int, tuple[str, bool]]:
    """Return those of `words` before (0) and after (1) a word in its last clause, each with whether it is adjacent."""
    beside: dict[int, tuple[str, bool]] = {}
    for clause in _CLAUSE_END.split(row.folded) if words else ():
        if word in clause:
            said = [(n, term) for n, term in enumerate(list_terms(clause)) if term in words]
            for (m, one), (n, two) in pairwise(said):
                beside |= {1: (two, n == m + 1)} if one == word else {0: (one, n == m + 1)} if two == word else {}
    return beside


def _may_mean(row: FoundRow, plan: FoundRow, languages: Sequence[str]) -> bool:
    """Return whether a message may refer to a plan: they share two words, or one that is not part of another name.

    Not `game night` for `movie night`, not `park concert` for `picnic in the park`, not `Jo Doe` for `Jo Smith`.
    """
    said, planned = _list_words(row, languages), _list_words(plan, languages)
    shared = planned & said
    mine, theirs = _list_names(row, said), _list_names(plan, planned)
    if any(mine[first].isdisjoint(theirs[first]) for first in mine.keys() & theirs.keys()):
        return False
    if len(shared) != 1:
        return True
    (one,) = shared
    others, beside = _read_beside(row, one, said), _read_beside(plan, one, planned)
    return all(word in planned or not (is_next or side in beside) for side, (word, is_next) in others.items())


def _list_names(row: FoundRow, words: Collection[str]) -> dict[str, set[str]]:
    """Return the last names after each first name: those among `words` and written in capitals."""
    names = defaultdict[str, set[str]](set)
    capitals = [word if word[0].isupper() else "" for word in _WORD_OR_END.findall(row.shown_text)]
    for one, two in [(fold(one), fold(two)) for one, two in pairwise(capitals) if one and two]:
        if one in words and two in words:
            names[one].add(two)
    return names


@lru_cache(maxsize=64)
def _list_small(language: str) -> frozenset[str]:
    """Return the words that name no plan: stop words, and those of time and of a change."""
    changes = {word for phrase in list_phrases("changes", language) for word in phrase.split("_")}
    return stop_words(language) | may_name_time(language) | changes
