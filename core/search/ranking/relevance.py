"""What reasons are worth, those that the texts and the meaning of rows tell, and the order of rows of one session."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from heapq import heapify, heappop, heapreplace
from operator import attrgetter
from typing import Any

import numpy as np

from ...index.numbers import WORD
from ...text.forms.spellings import share_spelt_otherwise
from ...text.question_words import asked_words, holds
from ...text.words import list_terms
from ..question.question import has_number, time_expressions
from .days import list_ranges
from .rows import CHAT, FOLDED_CHARS, UNKNOWN, Candidate, RankingQuery
from .weights import LEAST_CONTEXT, REPEAT, REPEAT_AGAIN, REPEAT_ROWS, between, saturation, weight_of

OF_WORDS = frozenset(
    {"own", "turn", "share", "context", "session", "beside", "meaning", "meaning_near", "meaning_after"}
)
"""Reasons that stand on words found, or on the meaning of the whole; the others never decide alone."""
FULL_MATCH = 0.1
"""Reasons beside the words count in full from here on, and less below."""
LIKE = 0.2
"""What a meaning counts beside words for FULL_MATCH."""
PASSAGE = 60
"""Words of a passage."""
WHOLE = 90
"""A text of no more words than these is one passage."""
SPACED = 80
"""Rows that are looked at for what stands in the session of a better one."""
CONTEXT_SHARE = 0.3, 0.5
"""Most of a few hits that may match nothing themselves, one at least; and of many."""
READ_CLOSELY = 40
"""Best rows whose texts are read for times, numbers and `I`."""
MOST_TELLING = 3
"""Rarest words of a row by which it is told how much it says."""
CLOSE_CHARS = 600
"""Characters of them that are read."""
BEFORE, AFTER = 2, 1
"""Turns before a row and after it that are compared as one text with it."""

SHORT_ROW = 60.0
"""Words of a row that its neighbour counts 1/e for."""

AsOne = Callable[[Sequence[Sequence[Any]]], Sequence[float]]
"""Returns what the vectors of each group are worth as those of one text, on the scale of `Candidate.meaning`."""


def weigh(reasons: Mapping[str, Any], long: Any, by_meaning: float = 0.0) -> dict[str, Any]:
    """Return what each reason adds to the scores of rows.

    Args:
        reasons: for each a value for every row.
        long: of each row how far the turns of its conversation are long ones.
        by_meaning: how far meaning stands beside the words, 0 to 1.
    """
    match = np.maximum(reasons.get("context", 0.0), reasons.get("own", 0.0))
    if "meaning" in reasons:
        match = np.maximum(match, LIKE * reasons["meaning"])
    fitting = np.minimum(1.0, match / FULL_MATCH)
    for name in ("day", "month", "statement"):
        if name in reasons:
            fitting = np.where(reasons[name] > 0, 1.0, fitting)
    long = float(long[0]) if (long == long[0]).all() else long
    parts = {}
    for name, value in reasons.items():
        weight = weight_of(name, long, by_meaning)
        if not isinstance(weight, float) or weight:
            parts[name] = weight * value if name in OF_WORDS else weight * value * fitting
    return parts


def rank_rows(
    rows: Sequence[Candidate], asked: RankingQuery, as_one: AsOne | None = None, by_meaning: float = 0.0
) -> list[Candidate]:
    """Return the rows that may become hits, of those that were read, with their reasons and their scores.

    Args:
        as_one: where there is an embedder.
        by_meaning: how far meaning stands beside the words, 0 to 1.
    """
    for row in rows:
        if row.words > WHOLE and row.reasons:
            read_passages(row, asked)
    look_beside(rows)
    if as_one is not None:
        compare_meanings(rows, as_one)
    kept = [row for row in rows if may_be_hit(row, asked)]
    score_rows(kept, by_meaning)
    closely = sorted(kept, key=attrgetter("score"), reverse=True)[:READ_CLOSELY]
    if _read_closely(closely, asked):
        score_rows(closely, by_meaning)
    return kept


def may_be_hit(row: Candidate, asked: RankingQuery) -> bool:
    """Return whether a row matches, stands close enough to rows that do, or was said in a span asked for."""
    if not row.context:
        return True
    # Beside a row that fits may stand an answer; where nothing is asked there is none.
    if not asked.has_answers:
        return False
    is_inside = any(since <= row.at_us < until for since, until in list_ranges(asked.question))
    return is_inside or row.reasons.get("context", 0.0) >= LEAST_CONTEXT


def read_passages(row: Candidate, asked: RankingQuery) -> None:
    """Let the best passage of a long text tell how well the row fits, not all of it."""
    assert row.row is not None
    folded = row.row.folded
    terms = list_terms(folded)
    # Of a long text the beginning is read.
    parts = max(1, round((len(terms) if len(folded) >= FOLDED_CHARS else row.words) / PASSAGE))
    passages: list[dict[int, float]] = [{} for _ in range(parts)]
    for at, word in enumerate(terms):
        for share in asked.shares.get((WORD, word), ()):
            if row.source == CHAT or not share.chat_only:
                passage = passages[min(parts - 1, at * parts // len(terms))]
                passage[share.group] = passage.get(share.group, 0.0) + share.factor
    for i, (times, _) in row.matched.items():  # a text of several words, or one that stands further in
        term = asked.terms[i]
        if term.kind != "tag" and not any(term.group in passage for passage in passages):
            at = folded.find(term.text)
            passages[at * parts // len(folded) if at >= 0 else -1][term.group] = times
    mean = min(float(PASSAGE), asked.mean_words)
    size = row.words / parts
    own = max(
        sum(asked.terms[g].weight * saturation(n, size, mean) for g, n in passage.items()) for passage in passages
    )
    shared = max(sum(asked.terms[g].weight * min(1.0, n) for g, n in passage.items()) for passage in passages)
    row.reasons["own"] = own / asked.total + row.tag_worth
    row.reasons["share"] = shared / asked.total + row.tag_worth


def look_beside(rows: Sequence[Candidate]) -> None:
    """Give rows the reason `beside`: what the better of their two neighbours is worth, as far as the row is short."""
    by_place = {row.place: row for row in rows if row.session != UNKNOWN}
    for row in rows:
        neighbours = (by_place.get(row.place - 1), by_place.get(row.place + 1))
        best = max((other.own for other in neighbours if other and other.session == row.session), default=0.0)
        row.reasons["beside"] = best * math.exp(-max(1, row.words) / SHORT_ROW)


def compare_meanings(rows: Sequence[Candidate], as_one: AsOne) -> None:
    """Give rows the reasons `meaning`, `meaning_near` and `meaning_after`; what is unknown or 0 is left out.

    Two rows of a session touch, so that nothing was said between, where their places follow.
    """
    sessions: dict[object, list[Candidate]] = {}
    for row in rows:
        sessions.setdefault(row if row.session == UNKNOWN else row.session, []).append(row)
    compared: list[Candidate] = []
    groups: list[list[Any]] = []
    for session in sessions.values():
        session.sort(key=attrgetter("place"))
        for n, row in enumerate(session):
            start = end = n
            row.reasons["meaning"] = row.meaning
            while start > 0 and n - start < BEFORE and session[start].place - session[start - 1].place == 1:
                start -= 1
            while end + 1 < len(session) and end - n < AFTER and session[end + 1].place - session[end].place == 1:
                end += 1
            if end > n and session[n + 1].meaning:
                row.reasons["meaning_after"] = session[n + 1].meaning
            group = [one.vector for one in session[start : end + 1] if one.vector is not None]
            if group:
                compared.append(row)
                groups.append(group)
    for row, value in zip(compared, as_one(groups), strict=True):
        if value:
            row.reasons["meaning_near"] = value


def _read_closely(rows: Sequence[Candidate], asked: RankingQuery) -> bool:
    """Give the best rows the reasons that take their texts, and return whether there are any."""
    question, is_told = asked.question, False
    quoted = {i for i, term in enumerate(asked.terms) if term.is_exact and term.is_keyword and term.pieces}
    for row in rows:
        assert row.row is not None
        text, reasons = row.row.folded[:CLOSE_CHARS], row.reasons
        if weight_of("first", row.long):
            # What people tell of themselves is asked for.
            reasons["first"], is_told = float(holds(asked_words(text), "self", asked.languages)), True
        written = [word for i in row.matched if (word := asked.terms[i].written)]
        otherwise = share_spelt_otherwise(written, row.row.shown_text[:CLOSE_CHARS])
        if otherwise or quoted.difference(row.matched):
            reasons["spelling"], is_told = otherwise or 1.0, True
        if asked.rarity is not None:  # of all that was said then, what tells most
            rarest = sorted(map(asked.rarity, set(list_terms(text))), reverse=True)[:MOST_TELLING]
            reasons["told"], is_told = sum(rarest) / MOST_TELLING, True
        if question.wants_time and weight_of("time", row.long):
            reasons["time"], is_told = float(time_expressions(text, asked.languages) > 0), True
        if question.wants_number and weight_of("number", row.long):
            reasons["number"], is_told = float(has_number(text, asked.languages)), True
    return is_told


def score_rows(rows: Sequence[Candidate], by_meaning: float = 0.0) -> None:
    """Give rows their scores, and what these are made of."""
    names = list(dict.fromkeys(name for row in rows for name in row.reasons))
    if not names or not rows:
        return
    values = np.array([[row.reasons.get(name, 0.0) for name in names] for row in rows]).T
    weighed = weigh(dict(zip(names, values, strict=True)), np.array([row.long for row in rows]), by_meaning)
    scores = np.round(sum(weighed.values(), np.zeros(len(rows))), 6).tolist()
    columns = zip(*(column.tolist() for column in weighed.values()), strict=True)
    for row, score, parts in zip(rows, scores, columns, strict=True):
        row.score, row.parts = score, {name: part for name, part in zip(weighed, parts, strict=True) if part}


def space_rows(ordered: Sequence[Candidate]) -> list[Candidate]:
    """Return the rows in the order they are chosen: a little is off for a better row of the session."""
    off: dict[object, float] = {}
    less: dict[object, float] = {}
    left = [(-row.score, n) for n, row in enumerate(ordered[:SPACED])]
    heapify(left)
    chosen: list[Candidate] = []
    while left:
        worth, n = left[0]
        row = ordered[n]
        session = row if row.session == UNKNOWN else row.session
        now = off.get(session, 0.0) - row.score
        if now > worth:  # rows of its session were chosen since
            heapreplace(left, (now, n))
            continue
        heappop(left)
        chosen.append(row)
        step = less.get(session)
        if step is None:
            step = between(REPEAT, row.long) * REPEAT_ROWS / max(REPEAT_ROWS, row.session_rows)
        off[session] = off.get(session, 0.0) + step
        less[session] = step * REPEAT_AGAIN
    return [*chosen, *ordered[len(chosen) :]]
