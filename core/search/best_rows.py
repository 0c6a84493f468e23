"""Relevance mode: the best of all rows that match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from ..database import sources
from ..index.lookups import Wanted
from ..text.question_words import self_words
from .asked import build_asked, with_people
from .gathered import Gathered, note_matches
from .matches import Matches, read_matches
from .question.question import Question
from .ranking import all_rows, matching_rows
from .ranking import offered as offers
from .ranking.ranking import Candidate
from .terms import Search

CONTEXT_REACH = 4
"""Messages after one that fits, and half as many before it, that may hold an answer: a reply comes soon."""
NEAR_BEST = 16
"""Best rows beside which others are brought, and most rows that match nothing and stand beside one that does."""
_CHAT = sources.CHAT.number


def gather_best(
    search: Search,
    question: Question,
    matches: Matches,
    depth: int,
    copies: Sequence[tuple[int, int]] = (),
) -> Gathered:
    """Return the best of all rows that match."""
    names = set().union(*(one.view.names_in(search.query.text) for one in matches.audiences))
    asked = build_asked(search, question, names, matches.docs)
    by_words = not search.query.text
    meanings = matches.terms.describe(asked)
    excluded = [(sources.BY_NAME[name].number, row_id) for name, row_id in search.query.exclude.rows]
    excluded += copies
    here = search.viewer.scope.conversation or ""
    seen = _read_rows(matches, excluded)
    with_match = [one for one in seen if any(len(one.postings.of(n)[0]) for n, means in enumerate(meanings) if means)]
    offered = offers.rows_of_days(seen, asked.days, is_all=not with_match) if question.days else []
    made = all_rows.rank_all(
        seen if question.days else with_match,
        meanings,
        asked,
        here=here,
        reach=CONTEXT_REACH if asked.has_answers and not by_words else 0,
        near_rows=NEAR_BEST,
        best=all_rows.BEST * 8**depth,
        by_words=by_words,
        offered=offered,
    )
    of_days = {(row.source, row.row_id) for row in made.best if question.days and not row.terms}
    found: list[Candidate] = []
    for row in made.best:
        if row.is_match:
            c = Candidate(row.source, row.row_id, row.at_us, row.words, score=row.score)
            note_matches(search, c, {matches.terms.keys[n]: times for n, times in row.terms.items()})
            c.is_offered = (c.source, c.id) in of_days
            found.append(c)
    found = [c for c in found if c.matched or c.tags or c.is_offered or search.is_proved_by_text]
    complete = made.open <= sum(row.is_match for row in made.best)
    places = {(row.source, row.row_id): row for row in (*made.best, *made.beside)}
    beside = [row.row_id for row in made.best if not row.is_match and row.source == _CHAT][:NEAR_BEST]
    around = dict.fromkeys([*beside, *(row.row_id for row in made.beside)])
    return Gathered(
        found, complete, considered=made.matching, asked=asked, docs=matches.docs, places=places, around=list(around),
        left_aside=matches.left_aside,
        stand_around=partial(all_rows.stand_around, seen, here, asked.asker),
    )  # fmt: skip


def _read_rows(matches: Matches, excluded: Sequence[tuple[int, int]]) -> list[matching_rows.Matches]:
    """Return what the ranking needs of each audience."""
    return [
        matching_rows.Matches(
            one.view,
            one.postings,
            None if one.bounds.is_open else one.bounds.readable,
            one.view.find_rows(excluded) if excluded else None,
            number,
        )
        for number, one in enumerate(matches.audiences)
    ]


def offer_person(search: Search, question: Question, gathered: Gathered) -> Gathered:
    """Return what whom a question is about last said of themselves, where its words lead nowhere."""
    if search.index is None or not search.query.is_question or gathered.asked is None:
        return gathered
    words = tuple(Wanted(word, True, False, terms={word: True}) for word in self_words(question.languages))
    matches = read_matches(replace(search, words=words), search.query.numbers)
    names = set().union(*(one.view.names_in(search.query.text) for one in matches.audiences))
    question = with_people(question, search.query.text, names)
    if not (question.people or question.self_person):
        return gathered
    excluded = [(sources.BY_NAME[name].number, row_id) for name, row_id in search.query.exclude.rows]
    rows = offers.rows_of_person(_read_rows(matches, excluded), question, gathered.asked.asker)
    found = [Candidate(_CHAT, *row, is_offered=True) for row in rows]
    asked = replace(gathered.asked, question=question)
    return replace(gathered, candidates=found, asked=asked, considered={_CHAT: len(found)})
