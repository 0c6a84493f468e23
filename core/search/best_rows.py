"""Relevance mode: the best of all rows that match, and the few that the index alone does not lead to."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial

from ..database import sources
from ..database.engine import Database
from .asked import build_asked
from .gathered import PROVED_AT_ONCE, Gathered, list_excluded, note_matches, prove
from .matches import Matches
from .question.question import Question
from .ranking import all_rows, matching_rows, ranking
from .ranking.ranking import Candidate
from .reading import plain as search_plain
from .terms import Search

NEAR_BEST = 16
"""Best rows beside which others are brought, and most rows that match nothing and stand beside one that does."""
PLAIN_POOL = 200
"""Newest rows that are compared one by one with a text to which no known word leads, in the first round."""
_CHAT = sources.CHAT.number


def gather_best(
    search: Search,
    db: Database,
    question: Question,
    matches: Matches,
    numbers: Sequence[int],
    depth: int,
    copies: Sequence[tuple[int, int]] = (),
) -> Gathered:
    """Return the best of all rows that match."""
    names = set().union(*(one.view.names_in(search.query.text) for one in matches.audiences))
    asked = build_asked(search, question, names)
    by_words = not search.query.text
    meanings = matches.terms.describe(asked)
    excluded = [(sources.BY_NAME[name].number, row_id) for name, row_id in search.query.exclude.rows]
    excluded += copies
    here = search.viewer.scope.conversation or ""
    seen = [
        matching_rows.Matches(
            one.view,
            one.postings,
            None if one.bounds.is_open else one.bounds.readable,
            one.view.find_rows(excluded) if excluded else None,
            number,
        )
        for number, one in enumerate(matches.audiences)
    ]
    made = all_rows.rank_all(
        [one for one in seen if any(len(one.postings.of(n)[0]) for n, means in enumerate(meanings) if means)],
        meanings,
        asked,
        here=here,
        reach=search.settings.context_reach if asked.has_answers and not by_words else 0,
        near_rows=NEAR_BEST,
        best=all_rows.BEST * 8**depth,
        by_words=by_words,
    )
    found: list[Candidate] = []
    for row in made.best:
        if row.is_match:
            c = Candidate(row.source, row.row_id, row.at_us, row.words, score=row.score)
            note_matches(search, c, {matches.terms.keys[n]: times for n, times in row.terms.items()})
            found.append(c)
    proved = prove(search, db, [c for c in found if not (c.matched or c.tags)])
    found = [c for c in found if c.matched or c.tags or (c.source, c.id) in proved]
    found += _unlisted(search, db, matches, {(c.source, c.id) for c in found})
    found += _walked(search, db, numbers, {(c.source, c.id) for c in found}, depth)
    complete = made.open <= sum(row.is_match for row in made.best)
    complete &= not any(w.cut for w in search.words)
    places = {(row.source, row.row_id): row for row in (*made.best, *made.beside)}
    beside = [row.row_id for row in made.best if not row.is_match and row.source == _CHAT][:NEAR_BEST]
    around = dict.fromkeys([*beside, *(row.row_id for row in made.beside)])
    return Gathered(
        found, complete, considered=made.matching, asked=asked, places=places, around=list(around),
        stand_around=partial(all_rows.stand_around, seen, here, asked.asker),
    )  # fmt: skip


def _unlisted(search: Search, db: Database, matches: Matches, known: Collection[tuple[int, int]]) -> list[Candidate]:
    """Return rows with words that the index does not hold, as far as they hold what is asked: the newest of them."""
    rows: list[Candidate] = []
    for one in matches.audiences:
        index, _ = one.postings.of(matches.terms.unlisted)
        columns = (one.view.take(name, index).tolist() for name in ("source", "row_id", "at_us", "words"))
        rows += [c for each in zip(*columns, strict=True) if ((c := Candidate(*each)).source, c.id) not in known]
    rows = ranking.newest_first(rows)[:PROVED_AT_ONCE]
    proved = prove(search, db, rows)
    return [c for c in rows if (c.source, c.id) in proved]


def _walked(
    search: Search, db: Database, numbers: Sequence[int], known: Collection[tuple[int, int]], depth: int
) -> list[Candidate]:
    """Return the newest rows that hold a text to which no known word leads."""
    walked = [w for w in search.words if w.walk and not w.is_minor]
    made: list[Candidate] = []
    for number in numbers if walked else ():
        source = sources.BY_NUMBER[number]
        asked = search_plain.question(source, (), walked, search.limits)
        asked = replace(asked, audiences=search.viewer.audiences, pool=PLAIN_POOL * 8**depth)
        rows = search_plain.search(db, replace(asked, without_rows=tuple(list_excluded(search, number))))
        made += [c for c in rows if (c.source, c.id) not in known]
    prove(search, db, made)
    return made
