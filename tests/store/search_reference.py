"""The ranking of messages, slow and obvious: every stored row is scored by itself, in plain Python (T27).

What the search tables hold, and how the search reads them, is not known here. Which days a question names, and whom,
is told by the product; what stands around a row, its session, its conversation, its speaker and its day, and who comes
first is worked out anew. All of it is the definition: LEADING rows by what they match and
where they stand are looked at with their neighbours, the BEST of all come out.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean
from typing import NamedTuple

from sqlalchemy import select

from core.database import dialects, schema
from core.database.engine import Database
from core.search.ranking.days import are_short
from core.search.ranking.rows import RankingQuery
from core.search.ranking.weights import INSIDE, WEIGHTS, between, rarity_weight, saturation
from core.search.resolve import Search
from core.text.times import LEAST_GAP, MOST_GAP, USUAL_STEPS
from core.text.words import index_terms

LEADING, REACH, BEST = 200, 6, 120
TAKES_PART = 0.5
LEAST_CONTEXT = FULL_MATCH = 0.1
FADE_BACK, FADE_ON, SHORT_ROW, PASSAGE = 150.0, 50.0, 60.0, 60


class Speaker(NamedTuple):
    """Who said a line: the name, the participant key, and `persona` for what the persona said."""

    name: str
    key: str
    role: str


@dataclass(eq=False)
class Line:
    id: int
    at_us: int
    thread: str
    speaker: Speaker
    terms: Mapping[str, int]
    place: int = 0
    """Where it stands among all lines."""
    session: int = 0
    words: float = 0.0
    times: dict[int, float] = field(default_factory=dict)
    """Group of texts to how often it stands here."""
    own: float = 0.0
    """As if all it holds stood in one passage."""
    turn: float = 0.0
    share: float = 0.0
    of_session: float = 0.0
    long: float = 0.0
    near: float = 0.0
    context: float = 0.0
    beside: float = 0.0
    score: float = 0.0
    is_offered: bool = False


def gap_of(steps: Sequence[int]) -> int:
    """Return the pause in microseconds that ends a session of a conversation whose messages follow in such steps."""
    usual = sorted(steps)[len(steps) // 2] if steps else MOST_GAP
    return min(MOST_GAP, max(LEAST_GAP, USUAL_STEPS * usual))


def read_lines(db: Database, persona: str) -> list[Line]:
    c = schema.chat_history_cache.c
    columns = (c.id, c.timestamp, c.interface_path, c.sender_name, c.participant_key, c.role, c.text_folded)
    rows = db.read(select(*columns).where(c.persona_id == persona), source="chat_history_cache")
    made = []
    for row in rows:
        speaker = Speaker(row[3] or "", row[4] or "", row[5] if row[5] == "persona" else "")
        made.append(Line(row[0], dialects.microseconds(row[1]), row[2], speaker, index_terms(row[6])))
    return sorted(made, key=lambda line: (line.thread, line.at_us, line.id))


def rank(lines: Sequence[Line], search: Search, asked: RankingQuery, reach: int) -> list[Line]:
    """Return the lines that may become hits, best first, at most BEST."""
    weights = asked.weights
    for place, line in enumerate(lines):
        line.place, line.words = place, sum(line.terms.values())
        line.times = _times(line, asked) if is_inside(line, asked) else {}
        line.turn = _bm25(line.times, weights, line.words, asked.mean_words) / asked.total
        passage, mean = min(line.words, PASSAGE), min(PASSAGE, asked.mean_words)
        line.own = _bm25(line.times, weights, passage, mean) / asked.total
        line.share = sum(weights[group] * min(1.0, count) for group, count in line.times.items()) / asked.total
    _tell_places(lines, search, asked)
    offers = asked.question.spans and (are_short(asked.question) or not any(line.own > 0 for line in lines))
    for line in lines:
        line.is_offered = bool(offers) and is_inside(line, asked)
    matching = [line for line in lines if line.own > 0 or line.is_offered]
    for line in matching:
        line.score = _score(line, asked, line.own, 0.0)
    leading = _best(matching, LEADING)
    widest = REACH if reach else 0  # where nothing is asked, nothing answers beside what matches
    around = {n for line in leading for n in range(line.place - widest, line.place + widest + 1)}
    looked_at = [lines[n] for n in sorted(around) if 0 <= n < len(lines)]
    for line in looked_at:
        line.context = _context(line, looked_at, asked)
        line.beside = _beside(line, looked_at)
        line.score = _score(line, asked, max(line.context, line.own), line.beside)
    return _best((line for line in looked_at if _may_be_hit(line, looked_at, asked, reach)), BEST)


def _best(lines: Iterable[Line], most: int) -> list[Line]:
    return sorted(lines, key=lambda line: (-line.score, -line.at_us))[:most]


def _times(line: Line, asked: RankingQuery) -> dict[int, float]:
    """Return how often each group of texts stands in a line: letters inside other words count less."""
    factor: dict[tuple[int, str], float] = {}
    for one in asked.terms:
        for (_, term), is_whole in one.index_terms.items():
            factor[one.group, term] = max(factor.get((one.group, term), 0.0), 1.0 if is_whole else INSIDE)
    made: dict[int, float] = {}
    for (group, term), worth in factor.items():
        if asked.weights[group] and term in line.terms:
            made[group] = made.get(group, 0.0) + worth * line.terms[term]
    return made


def _bm25(times: Mapping[int, float], worth: Sequence[float], words: float, mean: float) -> float:
    return sum(worth[group] * saturation(count, words, max(mean, 1.0)) for group, count in times.items())


def _tell_places(lines: Sequence[Line], search: Search, asked: RankingQuery) -> None:
    """Tell the lines their session, what it is worth, and what their conversation tells."""
    of_thread: dict[str, list[Line]] = {}
    for line in lines:
        of_thread.setdefault(line.thread, []).append(line)
    sessions: list[list[Line]] = []
    for thread, said in of_thread.items():
        gap = gap_of([b.at_us - a.at_us for a, b in pairwise(said)])
        takes_part = any(line.speaker.key in asked.asker for line in said)
        long, before = min(1.0, max(0.0, (fmean(line.words for line in said) - 40) / 60)), None
        for line in said:
            if before is None or line.at_us - before.at_us > gap:
                sessions.append([])
            line.session, before, line.long = len(sessions), line, long
            line.near = 1.0 if thread == search.viewer.scope.conversation else TAKES_PART if takes_part else 0.0
            sessions[-1].append(line)
    held = [{g: sum(line.times.get(g, 0.0) for line in each) for g in range(len(asked.terms))} for each in sessions]
    docs = [sum(1 for times in held if times[g]) for g in range(len(asked.terms))]
    worth = [rarity_weight(n, len(sessions)) if n else 0.0 for n in docs]
    sizes = [sum(line.words for line in each) for each in sessions]
    for times, size, each in zip(held, sizes, sessions, strict=True):
        value = _bm25({g: n for g, n in times.items() if n}, worth, size, fmean(sizes)) / (sum(worth) or 1.0)
        for line in each:
            line.of_session = value


def _run(line: Line, looked_at: Sequence[Line], steps: int, *, same_session: bool) -> list[Line]:
    """Return the lines that stand around a line, with no other line or conversation between: those before first."""
    here = {other.place: other for other in looked_at}
    made: list[Line] = []
    for step in (-1, 1):
        at = line
        for _ in range(steps):
            other = here.get(at.place + step)
            if other is None or other.thread != line.thread or (same_session and other.session != line.session):
                break
            made.append(other)
            at = other
    return sorted(made, key=lambda each: each.place)


def _context(line: Line, looked_at: Sequence[Line], asked: RankingQuery) -> float:
    """Return what a line and the words that reach it from others of its session are worth."""
    run = sorted([line, *_run(line, looked_at, REACH, same_session=True)], key=lambda each: each.place)
    middle, before = {}, 0.0
    for each in run:
        middle[each] = before + each.words / 2
        before += each.words
    total = 0.0
    for group, worth in enumerate(asked.weights):
        reached = [0.0]
        for each in run:
            if group in each.times:
                held = saturation(each.times[group], each.words, max(asked.mean_words, 1.0))
                fade = FADE_BACK if each.place < line.place else FADE_ON
                reached.append(held * math.exp(-abs(middle[line] - middle[each]) / fade))
        total += worth * max(reached)
    return total / asked.total


def _beside(line: Line, looked_at: Sequence[Line]) -> float:
    own = [each.own for each in _run(line, looked_at, 1, same_session=True)]
    return max(own, default=0.0) * math.exp(-max(line.words, 1.0) / SHORT_ROW)


def _score(line: Line, asked: RankingQuery, context: float, beside: float) -> float:
    """Return the reasons of a line, weighted; those beside its words count as far as these fit."""
    reasons = {
        "context": context, "own": line.own, "turn": line.turn, "share": line.share, "session": line.of_session,
        "beside": beside,
    }  # fmt: skip
    length = math.log(min(60, max(1, int(line.words))) / 20)
    others = {"length": length, "near": line.near, "person": person_of(asked, line.speaker)}
    if asked.question.spans:
        others["day"] = 1.0
    weighed = {name: between(WEIGHTS[name], line.long) * v for name, v in {**reasons, **others}.items()}
    fitting = 1.0 if asked.question.spans else min(1.0, max(context, line.own) / FULL_MATCH)
    return sum(weighed[name] for name in reasons) + fitting * sum(weighed[name] for name in others)


def person_of(asked: RankingQuery, speaker: Speaker) -> float:
    """Return 1 where a question is about who said a line, -1 where about somebody else, 0 where it names nobody."""
    question = asked.question
    if question.people:
        return 1.0 if speaker.name in question.people else -1.0
    if question.self_person:
        if not asked.asker:
            return -1.0 if speaker.role == "persona" else 0.0
        return 1.0 if speaker.key in asked.asker else -1.0
    if question.other:
        return 1.0 if speaker.role == "persona" else -1.0
    return 0.0


def is_inside(line: Line, asked: RankingQuery) -> bool:
    """Return whether a line was said within a span that is asked for; what it is about is none of the talk here."""
    return not asked.question.spans or any(
        (span.start is None or dialects.microseconds(span.start) <= line.at_us)
        and (span.end is None or line.at_us < dialects.microseconds(span.end))
        for span in asked.question.spans
        if span.role == "said"
    )


def _may_be_hit(line: Line, looked_at: Sequence[Line], asked: RankingQuery, reach: int) -> bool:
    if line.own > 0 or line.is_offered:
        return True
    if not (asked.has_answers and reach and is_inside(line, asked)):
        return False
    around = _run(line, looked_at, reach, same_session=False)
    return line.context >= LEAST_CONTEXT and any(other.own > 0 for other in around)
