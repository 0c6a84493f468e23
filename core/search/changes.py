"""Find later messages that change what was said: `The dentist is cancelled` after `Dentist on Friday at 10`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from ..database.engine import Database
from ..index.numbers import Flags, ViewRows, take
from ..index.shapes import WORD, RowId
from ..index.state import IndexState
from ..index.visible import Visible
from ..text.languages import likely_languages
from ..text.question_words import asked_words, holds
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
"""Maximum number of later messages that are read for each plan, newest first."""


def find_changes(
    db: Database,
    index: IndexState,
    plans: Collection[FoundRow],
    values: Mapping[str, Any],
    languages: Sequence[str],
    may_read: MayRead,
) -> dict[RowId, FoundRow]:
    """Return, for each plan that was moved or cancelled, the newest message that says so; `values` of `read_values`."""
    at_of = {(plan.source, plan.id): plan.at_us for plan in plans}
    words = {key: _list_rarest(plan, index, languages) for key, plan in zip(at_of, plans, strict=True)}
    later: dict[RowId, dict[RowId, int]] = {key: {} for key in words}
    terms = dict.fromkeys((WORD, word) for rarest in words.values() for word in rarest)
    for view, postings in index.read(terms) if terms else ():
        keep = may_read(view)
        for plan, rarest in words.items():
            for word in rarest:
                rows = postings.find((WORD, word))[0]
                rows = rows if keep is None else take(rows, keep(rows))
                facts = [column[rows].tolist() for column in (view.source, view.row_id, view.at_us)]
                later[plan] |= {(source, row): at for source, row, at in zip(*facts, strict=True) if at > at_of[plan]}
    newest = {plan: sorted(found, key=found.__getitem__, reverse=True)[:MOST_READ] for plan, found in later.items()}
    read, _ = read_rows(db, {key for keys in newest.values() for key in keys}, values)
    changes = {}
    for plan, keys in newest.items():
        for key in keys:
            said = read[key].shown_text if key in read else ""
            if said and holds(asked_words(said), "changes", likely_languages(said, languages)):
                changes[plan] = read[key]
                break
    return changes


def _list_rarest(plan: FoundRow, index: IndexState, languages: Sequence[str]) -> list[str]:
    """Return the rarest words of a plan that other rows have too, without its words of time."""
    terms = {term for term in list_terms(plan.folded) if term.isalpha()}
    known = terms.difference(*map(stop_words, languages), *map(may_name_time, languages))
    docs = index.lexicon.count_rows(known)
    return [term for _, term in sorted([(docs[term], term) for term in known if 1 < docs[term] <= MOST_ROWS])][
        :MOST_WORDS
    ]
