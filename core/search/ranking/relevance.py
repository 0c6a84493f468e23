"""Ranking reasons that need the texts or vectors of rows; lowers the score of further rows of one session."""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace
from itertools import chain, compress

import numpy as np

from ...index.numbers import Floats as Vector
from ...index.shapes import WORD, RowId
from ...text.forms.spellings import share_spelt_otherwise
from ...text.question_words import asked_words, begins_with, holds
from ...text.words import list_terms
from ..question import has_number, tells_time
from . import weights
from .days import list_ranges
from .reasons import find_fitting, weigh
from .rows import CHAT, FOLDED_CHARS, UNKNOWN, Candidate, RankingQuery, ScoredRow

SPACED = 80
"""Number of best rows that lose score for better rows of their session."""
CONTEXT_SHARE = 0.3, 0.5
"""Maximum share of hits that only neighbour a match, for a small and for a large limit; one hit is always allowed."""
READ_CLOSELY = 100
"""Number of best rows whose texts are searched for times, numbers and words such as `I`."""
CLOSE_CHARS = 600
"""Maximum number of characters of each of these texts that are read."""
OPENING_CHARS = 100
"""Number of characters at the beginning of a text that are searched for words of a correction."""
BEFORE, AFTER = 2, 1
"""Number of turns before and after a row that are joined with it into one text to compare."""

AsOne = Callable[[Sequence[Sequence[Vector]]], Sequence[float]]
"""Returns the scaled similarity of each group of vectors, compared as one text."""


@dataclass(frozen=True, slots=True, eq=False)
class Near:
    worth: Mapping[RowId, float]
    """Scaled similarity of each row to the question."""
    vectors: Mapping[RowId, Vector]
    """Known vectors of rows, each of length 1."""
    as_one: AsOne


def rank_rows(rows: Sequence[ScoredRow], query: RankingQuery, near: Near | None = None) -> list[ScoredRow]:
    """Set the reasons and scores of rows, without copying them, and return those that may become hits."""
    candidates, reasons = [row.candidate for row in rows], [dict(row.candidate.reasons) for row in rows]
    for row, mine in zip(rows, reasons, strict=True):
        if row.candidate.words > weights.WHOLE and mine:
            mine.update(read_passages(row, query))
    for mine, beside in zip(reasons, look_beside(candidates, reasons), strict=True):
        mine["beside"] = beside
    if near is not None:
        for mine, more in zip(reasons, compare_meanings(candidates, near), strict=True):
            mine.update(more)
    kept = _list_answers(rows, reasons, query)
    for n in _list_without_quotes(rows, kept, query):
        reasons[n]["quote"] = 1.0
    known = [reasons[n] for n in kept]
    columns, long = _list_columns(known), np.array([candidates[n].long for n in kept])
    fitting, by_meaning = find_fitting(columns), near is not None
    parts = weigh(columns, fitting, long, by_meaning=by_meaning)
    told: list[dict[str, float]] = [{} for _ in kept]
    best: list[int] = np.argsort(-_add_up(parts, len(kept)), kind="stable")[:READ_CLOSELY].tolist()
    for n, more in zip(best, read_closely([rows[kept[n]] for n in best], query), strict=True):
        told[n] = more
    if query.weigh_texts is not None:  # prefer the most informative of all rows in the span
        texts = [list_terms(rows[kept[n]].row.folded[:CLOSE_CHARS]) for n in best]
        for n, weight in zip(best, query.weigh_texts(texts), strict=True):
            told[n]["told"] = weight
    parts |= weigh(_list_columns(told), fitting, long, by_meaning=by_meaning)
    scores, made = _add_up(parts, len(kept)).tolist(), [rows[n] for n in kept]
    added = zip(*[part.tolist() for part in parts.values()], strict=True)
    for row, mine, more, score, values in zip(made, known, told, scores, added, strict=True):
        row.score, row.reasons = score, mine | more
        row.parts = dict(compress(zip(parts, values, strict=True), values))
        opening = asked_words(row.row.folded[:OPENING_CHARS]) if row.kept == "correction" else ""
        if opening and not begins_with(opening, "corrects", query.languages):
            row.kept = ""
        row.context = row.context and not (row.matched or row.kept)
    return made


def _add_up(parts: Mapping[str, Vector], count: int) -> Vector:
    """Return each row's score: the sum of its ranking reasons."""
    return sum(parts.values(), np.zeros(count)).round(6)


def _list_columns(reasons: Sequence[Mapping[str, float]]) -> dict[str, Vector]:
    """Return the values of each ranking reason as a column; 0 for a row without the reason."""
    nothing = dict.fromkeys(chain.from_iterable(reasons), 0.0)
    values = np.array([[*{**nothing, **mine}.values()] for mine in reasons]).T
    return dict(zip(nothing, values, strict=True)) if nothing else {}


def _list_without_quotes(rows: Sequence[ScoredRow], kept: Sequence[int], query: RankingQuery) -> list[int]:
    """Return the rows without a phrase that the question quotes; [] if no row has the phrase."""
    # An exact term of one word, such as `hi-fi`, may be a split word; a quotation has several words.
    quoted = {i for i, term in enumerate(query.terms) if term.is_exact and term.is_keyword and " " in term.text}
    without = [n for n in kept if not quoted <= rows[n].matched.keys()]
    return without if len(without) < len(kept) else []


def _list_answers(rows: Sequence[ScoredRow], reasons: Sequence[Mapping[str, float]], query: RankingQuery) -> list[int]:
    """Return the rows that match, and those that may answer the question: next to a match, or said in its spans."""
    ranges, kept = list_ranges(query.question), list[int]()
    for n, row in enumerate(rows):
        is_near, at_us = reasons[n].get("context", 0.0) >= query.least_context, row.candidate.at_us
        if not row.context or (query.has_answers and (is_near or any(since <= at_us < end for since, end in ranges))):
            kept.append(n)
    return kept


def read_passages(row: ScoredRow, query: RankingQuery) -> dict[str, float]:
    """Return the ranking reasons `own` and `share` for the best passage of a row with a long text."""
    folded, words = row.row.folded, row.candidate.words
    terms = list_terms(folded)
    # Only the beginning of a very long text was read.
    parts = max(1, round((len(terms) if len(folded) >= FOLDED_CHARS else words) / weights.PASSAGE))
    passages: list[dict[int, float]] = [{} for _ in range(parts)]
    asked = {word for kind, word in query.shares if kind == WORD}
    for at, word in [(at, word) for at, word in enumerate(terms) if word in asked]:
        for share in query.shares[WORD, word]:
            if row.row.source == CHAT or not share.chat_only:
                passage = passages[min(parts - 1, at * parts // len(terms))]
                passage[share.group] = passage.get(share.group, 0.0) + share.factor
    held = set[int]().union(*passages)
    for i, (times, _) in row.matched.items():  # phrases, and words after the characters that were read
        term = query.terms[i]
        if term.kind != "tag" and term.group not in held:
            at = folded.find(term.text)
            passages[at * parts // len(folded) if at >= 0 else -1][term.group] = times
            held.add(term.group)
    held_back = weights.hold_back(words / parts, min(float(weights.PASSAGE), query.mean_words))
    tag_worth = row.candidate.tag_worth
    own = shared = 0.0
    for passage in passages:
        scored = held_terms = 0.0
        for group, count in passage.items():
            scored += query.weights[group] * (count * (weights.K1 + 1) / (count + held_back))  # `saturation`
            held_terms += query.weights[group] * min(1.0, count)
        own, shared = max(own, scored), max(shared, held_terms)
    return {"own": own / query.total + tag_worth, "share": shared / query.total + tag_worth}


def look_beside(rows: Sequence[Candidate], reasons: Sequence[Mapping[str, float]]) -> list[float]:
    """Return each row's ranking reason `beside`: the score of its better neighbour, reduced more for longer rows."""
    own = {
        (row.session, row.place): mine["own"]
        for row, mine in zip(rows, reasons, strict=True)
        if row.session != UNKNOWN and "own" in mine
    }
    beside = []
    for row in rows:
        best = max(own.get((row.session, row.place - 1), 0.0), own.get((row.session, row.place + 1), 0.0))
        beside.append(best * math.exp(-max(1, row.words) / weights.SHORT_ROW) if best > 0.0 else 0.0)
    return beside


def compare_meanings(rows: Sequence[Candidate], near: Near) -> list[dict[str, float]]:
    """Return the ranking reasons `meaning` and, unless they are 0, `meaning_near` and `meaning_after` of each row."""
    worth = [near.worth.get(row.key, 0.0) for row in rows]
    reasons = [{"meaning": value} for value in worth]
    sessions: dict[object, list[int]] = {}
    for n, row in enumerate(rows):
        sessions.setdefault(row if row.session == UNKNOWN else row.session, []).append(n)
    compared: list[int] = []
    groups: list[list[Vector]] = []
    for session in sessions.values():
        session.sort(key=lambda n: rows[n].place)
        places = [rows[n].place for n in session]
        for n, of in enumerate(session):
            start = end = n
            while start > 0 and n - start < BEFORE and places[start] - places[start - 1] == 1:
                start -= 1
            while end + 1 < len(session) and end - n < AFTER and places[end + 1] - places[end] == 1:
                end += 1
            if end > n and worth[session[n + 1]]:
                reasons[of]["meaning_after"] = worth[session[n + 1]]
            keys = [rows[one].key for one in session[start : end + 1]]
            if group := [near.vectors[key] for key in keys if key in near.vectors]:
                compared.append(of)
                groups.append(group)
    for of, value in zip(compared, near.as_one(groups), strict=True):
        if value:
            reasons[of]["meaning_near"] = value
    return reasons


def read_closely(rows: Sequence[ScoredRow], query: RankingQuery) -> list[dict[str, float]]:
    """Return, for each row, the ranking reasons that are computed from its text."""
    question, languages, made = query.question, query.languages, list[dict[str, float]]()
    words = [(i, term.written) for i, term in enumerate(query.terms) if term.written]
    # In ASCII texts, only the spelling of these terms is checked.
    spelt = frozenset([i for i, word in words if not (word.isascii() and word.islower())])
    for row in rows:
        text, long, reasons = row.row.folded[:CLOSE_CHARS], row.candidate.long, dict[str, float]()
        if weights.find_weight("first", long):
            # A question often asks for what people say about themselves.
            reasons["first"] = float(holds(asked_words(text), "self", languages))
        if not (spelt.isdisjoint(row.matched) and all(map(str.isascii, row.row.texts))):
            written = [word for i in row.matched if (word := query.terms[i].written)]
            if otherwise := share_spelt_otherwise(written, row.row.shown_text[:CLOSE_CHARS]):
                reasons["spelling"] = otherwise
        if question.wants_time and weights.find_weight("time", long):
            reasons["time"] = float(tells_time(text, languages))
        if question.wants_number and weights.find_weight("number", long):
            reasons["number"] = float(has_number(text, languages))
        made.append(reasons)
    return made


def space_rows(ordered: Sequence[ScoredRow]) -> list[ScoredRow]:
    """Sort the rows by score, after lowering each row's score a little for every better row of its session."""
    off: defaultdict[object, float] = defaultdict(float)
    less: dict[object, float] = {}
    left = [(-row.score, n) for n, row in enumerate(ordered[:SPACED])]
    heapify(left)
    chosen: list[ScoredRow] = []
    while left:
        worth, n = left[0]
        row = ordered[n]
        stands = row.neighbour or row.candidate
        session = row if stands.session == UNKNOWN else stands.session
        now = off[session] - row.score
        if now > worth:  # rows of its session were chosen meanwhile
            heapreplace(left, (now, n))
            continue
        heappop(left)
        chosen.append(row)
        step = less.get(session)
        if step is None:
            rows = max(weights.REPEAT_ROWS, stands.session_rows)
            step = weights.between(weights.REPEAT, stands.long) * weights.REPEAT_ROWS / rows
        off[session] += step
        less[session] = step * weights.REPEAT_AGAIN
    return [*chosen, *ordered[len(chosen) :]]
