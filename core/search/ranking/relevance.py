"""How well the rows that were read answer a search, with the reasons: from what stands in their texts and around them.

The rows of a session are those with one number; two of them touch, so that nothing was said between, where their
places follow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace
from itertools import pairwise
from operator import attrgetter
from typing import Any

from ...text import passages
from ...text.passages import PASSAGE
from ..question.question import has_number, time_expressions
from .reasons import moment_of, on_days, person_of, speaks_of_self
from .rows import CHAT, FOLDED_CHARS, UNKNOWN, Asked, Candidate, Speaker
from .weights import INSIDE, K1, REPEAT, REPEAT_AGAIN, REPEAT_ROWS, between, hold_back, share_of_long, weights_for

OF_WORDS = frozenset(
    {"own", "turn", "share", "context", "session", "beside", "meaning", "meaning_near", "meaning_after"}
)
"""Reasons that stand on words found, or on the meaning of the whole; the others never decide alone."""
MOST_LENGTH = 60
"""Words beyond which a longer text is no better."""
USUAL_LENGTH = 20
"""Words of a text that is neither favoured nor held back for its length."""
SPACED = 80
"""Rows that are looked at for what stands in the session of a better one."""
LEAST_CONTEXT = 0.1
"""What the words around a row must be worth, of all that is asked, before it is shown though it matches nothing."""
CONTEXT_SHARE = 0.3
"""Most of the hits that may match nothing themselves; one at least."""
LIKE = 0.2
"""What a meaning counts beside words for FULL_MATCH."""
FULL_MATCH = 0.1
"""Reasons beside the words count in full from here on, and less below: they never decide alone."""
READ_CLOSELY = 40
"""Best rows by their words whose texts are read for times, numbers and `I`."""
CLOSE_CHARS = 600
"""Characters of them that are read."""
FADE_BACK, FADE_ON = 150.0, 50.0
"""Words after which a word found earlier, or later, counts 1/e: an answer follows its question."""
FADED = 0.05
"""Less than this is nothing."""
SHORT_ROW = 60.0
"""Words of a row that its neighbour counts 1/e for."""
BEFORE, AFTER = 2, 1
"""Turns before a row and after it that are compared as one text with it."""
_LENGTHS = [0.0, *(math.log(words / USUAL_LENGTH) for words in range(1, MOST_LENGTH + 1))]

AsOne = Callable[[Sequence[Sequence[Any]]], Sequence[float]]
"""Returns what the vectors of each group are worth as those of one text, on the scale of `Candidate.meaning`."""
Sessions = list[list[Candidate]]
"""Rows by session, those of each by their places."""


def rank_rows(
    rows: Sequence[Candidate], asked: Asked, as_one: AsOne | None = None, by_meaning: float = 0.0
) -> list[Candidate]:
    """Return the rows that may become hits, of those that were read, with their reasons and their scores.

    Args:
        as_one: where there is an embedder.
        by_meaning: how far meaning stands beside the words, 0 to 1.
    """
    elsewhere = share_of_long(asked.mean_turn_words)
    for row in rows:
        if row.long is None:
            row.long = elsewhere
        _read_text(row, asked)
    match_words(rows, asked, as_one)
    weights = {long: weights_for(long or 0.0, by_meaning) for long in {row.long for row in rows}}
    kept = [row for row in rows if may_be_hit(row, asked)]
    _add_reasons(kept, asked, weights)
    _read_closely(sorted(kept, key=attrgetter("score"), reverse=True)[:READ_CLOSELY], asked, weights)
    return kept


def may_be_hit(row: Candidate, asked: Asked) -> bool:
    """Return whether a row matches, stands close enough to rows that do, or was said on a day asked for."""
    if not row.context:
        return True
    # Beside a row that fits may stand an answer; where nothing is asked there is none.
    if not asked.has_answers:
        return False
    return row.reasons["context"] >= LEAST_CONTEXT or any(since <= row.at_us < until for since, until in asked.days)


def _read_text(row: Candidate, asked: Asked) -> None:
    """Find what stands in the text of a row of what is asked, passage by passage."""
    assert row.row is not None
    folded, matched = row.row.folded, row.matched
    size, is_chat = len(folded), row.source == CHAT
    places: dict[int, list[passages.Place]] = {}
    for probe in asked.probes:
        if probe.text in folded and (is_chat or not probe.chat_only):
            at = passages.find_places(folded, probe.text, probe.terms, always_whole=probe.always_whole)
            if probe.whole_only:
                at = [place for place in at if place[1]]
            if at:
                places.setdefault(probe.group, []).extend(at)
    row.words = row.words or passages.rough_words(folded)
    if places or not row.context:
        # Of a long text the beginning is read; a text has no more words than characters, whatever the index says.
        words = row.words if size < FOLDED_CHARS else min(row.words, passages.rough_words(folded))
        row.passages = passages.by_passage(places, size, passages.parts_of(min(words, max(1, size))), INSIDE)
        for i, (times, whole) in matched.items():
            group = asked.groups[i]
            if group not in places and asked.worth[group]:  # it stands further in than the text was read
                last: Any = row.passages[-1]
                last[group] = max(last.get(group, 0.0), times if whole else times * INSIDE)
    if row.tags:
        as_words = {asked.texts[i] for i in matched}
        row.tag_worth = sum(asked.tags.get(tag, 0.0) for tag in row.tags if tag not in as_words)


# The reasons that stand on the words asked for


def match_words(rows: Sequence[Candidate], asked: Asked, as_one: AsOne | None = None) -> None:
    """Give each row the reasons that stand on the words asked for."""
    mean = min(float(PASSAGE), asked.mean_words)
    for row in rows:
        of_tags = row.tag_worth / asked.total
        row.reasons = {"own": of_tags, "turn": of_tags, "share": of_tags, "context": of_tags}
        if any(row.passages):
            _match_row(row, asked, mean)
    found = group_sessions(rows)
    for session in found:
        _carry_words(session, asked, mean)
        _look_beside(session)
    for row in rows:
        row.reasons["context"] = max(row.reasons["context"], row.reached)
        row.reasons["session"] = row.session_worth
    if as_one is not None:
        compare_meanings(found, as_one)


def _match_row(row: Candidate, asked: Asked, mean: float) -> None:
    """Add what the best passage of a row is worth, all of them together, and the share of what is asked they hold."""
    own = share = 0.0
    size = max(1, row.words) / len(row.passages)
    for held in row.passages:
        if held:
            own = max(own, _sum_worth(held, asked.worth, size, mean))
            share = max(share, _sum_share(held, asked.worth))
    turn = own
    if len(row.passages) > 1 or mean != asked.mean_words or not row.words:
        turn = _sum_worth(_join(row.passages), asked.worth, row.words, asked.mean_words)
    for name, value in (("own", own), ("turn", turn), ("share", share), ("context", own)):
        row.reasons[name] += value / asked.total


def _sum_worth(held: Mapping[int, float], worth: Sequence[float], words: float, mean: float) -> float:
    held_back, total = hold_back(words, mean), 0.0
    for number, times in held.items():
        total += worth[number] * (times * (K1 + 1) / (times + held_back))  # `weights.saturation`
    return total


def _sum_share(held: Mapping[int, float], worth: Sequence[float]) -> float:
    total = 0.0
    for number, times in held.items():
        total += worth[number] * min(1.0, times)
    return total


def _join(parts: Sequence[Mapping[int, float]]) -> Mapping[int, float]:
    """Return how often each text stands in all passages together."""
    if len(parts) == 1:
        return parts[0]
    found: dict[int, float] = {}
    for held in parts:
        for number, times in held.items():
            found[number] = found.get(number, 0.0) + times
    return found


# What stands around a row


def group_sessions(rows: Sequence[Candidate]) -> Sessions:
    """Return the rows by session; one whose session is not known is alone."""
    found: dict[object, list[Candidate]] = {}
    for row in rows:
        found.setdefault(row if row.session == UNKNOWN else row.session, []).append(row)
    for session in found.values():
        session.sort(key=attrgetter("place"))
    return list(found.values())


@dataclass(slots=True)
class _Passage:
    """A passage of a session."""

    row: Candidate
    words: float
    near: bool
    """All that was said between the passage before and this one is at hand."""
    held: dict[int, float]
    """How much each text counts that it holds."""
    reached: dict[int, float]
    """The same with what reaches it from others: one with `held` where nothing does."""


def _carry_words(session: Sequence[Candidate], asked: Asked, mean: float) -> None:
    """Give rows the reason `context`: their best passage, with what stands in the passages around it."""
    if len(session) == len(session[0].passages) == 1 or not any(any(row.passages) for row in session):
        return
    read: list[_Passage] = []
    before = None
    for row in session:
        size = max(1, row.words) / len(row.passages)
        near, held_back = before is not None and row.place - before == 1, hold_back(size, mean)
        for passage in row.passages:
            held: dict[int, float] = {}
            for i, times in passage.items():
                held[i] = times * (K1 + 1) / (times + held_back)  # `weights.saturation`
            read.append(_Passage(row, size, near, held, held))
            near = True
        before = row.place
    _carry(read, FADE_BACK)
    read.reverse()
    _carry(read, FADE_ON, back=True)
    for each in read:
        if each.reached:
            value = each.row.tag_worth
            for i, times in each.reached.items():
                value += asked.worth[i] * times
            each.row.reasons["context"] = max(each.row.reasons["context"], value / asked.total)


def _carry(read: Sequence[_Passage], fade: float, *, back: bool = False) -> None:
    """Carry what each passage holds on to those that follow in the order given, fading with the words between."""
    carried: dict[int, float] = {}
    before = read[0]
    for passage in read:
        if carried:
            if before.near if back else passage.near:
                kept = math.exp(-(passage.words + before.words) / (2.0 * fade))
                carried = {i: left for i, value in carried.items() if (left := value * kept) > FADED}
            else:
                carried = {}
            for i, value in carried.items():
                if value > passage.reached.get(i, 0.0):
                    if passage.reached is passage.held:
                        passage.reached = dict(passage.held)
                    passage.reached[i] = value
        for i, value in passage.held.items():
            if value > carried.get(i, 0.0):
                carried[i] = value
        before = passage


def _look_beside(session: Sequence[Candidate]) -> None:
    """Give rows the reason `beside`: the better of their two neighbours, as far as the row itself is short."""
    for row, other in pairwise(session):
        if other.place - row.place == 1:
            for one, beside in ((row, other), (other, row)):
                own = beside.reasons["own"]
                if own:
                    value = own * math.exp(-max(1, one.words) / SHORT_ROW)
                    one.reasons["beside"] = max(value, one.reasons.get("beside", 0.0))


def compare_meanings(found: Sessions, as_one: AsOne) -> None:
    """Give rows the reasons `meaning`, `meaning_near` and `meaning_after`; what is unknown or 0 is left out."""
    rows: list[Candidate] = []
    groups: list[list[Any]] = []
    for session in found:
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
                rows.append(row)
                groups.append(group)
    for row, value in zip(rows, as_one(groups), strict=True):
        if value:
            row.reasons["meaning_near"] = value


# The reasons beside the words, and the score


def _add_reasons(rows: Sequence[Candidate], asked: Asked, weights: Mapping[float | None, Mapping[str, float]]) -> None:
    """Give rows the reasons that are known without their texts, and the scores."""
    question, persons = asked.question, dict[Speaker, float]()
    names_somebody = bool(question.people or question.self_person or question.other)
    for row in rows:
        assert row.row is not None
        reasons = row.reasons
        if row.source == CHAT:
            reasons["length"] = _LENGTHS[min(max(1, row.words), MOST_LENGTH)]
            if names_somebody:
                speaker = row.row.speaker
                if speaker not in persons:
                    persons[speaker] = person_of(question, asked.asker, speaker)
                reasons["person"] = persons[speaker]
        reasons["near"] = row.near
        if question.days:
            reasons.update(on_days(question.days, moment_of(row.at_us)))
        weigh(row, weights[row.long])


def _read_closely(rows: Sequence[Candidate], asked: Asked, weights: Mapping[float | None, Mapping[str, float]]) -> None:
    """Give the best rows the reasons that take their texts."""
    question = asked.question
    for row in rows:
        assert row.row is not None
        text, reasons, worth = row.row.folded[:CLOSE_CHARS], row.reasons, weights[row.long]
        before = len(reasons)
        if worth["first"]:
            reasons["first"] = speaks_of_self(text, asked.languages)
        if question.wants_time and worth["time"]:
            reasons["time"] = float(time_expressions(text, asked.languages) > 0)
        if question.wants_number and worth["number"]:
            reasons["number"] = float(has_number(text, asked.languages))
        if len(reasons) > before:
            weigh(row, worth)


def length_of(words: int) -> float:
    """Return what speaks for a row by its length: `Wow, cool!` seldom holds an answer; 0 for one of usual length."""
    return _LENGTHS[min(max(1, words), MOST_LENGTH)]


def weigh(row: Candidate, weights: Mapping[str, float]) -> None:
    """Give the row its score: its reasons, weighted."""
    reasons = row.reasons
    match = reasons["context"]
    beside = 1.0
    if match < FULL_MATCH and not (reasons.get("day") or reasons.get("month")):
        match = max(match, reasons.get("own", 0.0), LIKE * reasons.get("meaning", 0.0))
        beside = min(1.0, match / FULL_MATCH)
    total = 0.0  # the sum of `parts`, which is wanted for a few rows of hundreds
    for name, value in reasons.items():
        if value:
            total += weights[name] * value if beside == 1.0 or name in OF_WORDS else weights[name] * value * beside
    row.score = round(total, 6)


def parts(row: Candidate, weights: Mapping[str, float]) -> dict[str, float]:
    """Return what each reason adds to the score of the row."""
    made = {name: weights[name] * value for name, value in row.reasons.items() if value and weights[name]}
    match = max(row.reasons["context"], row.reasons.get("own", 0.0), LIKE * row.reasons.get("meaning", 0.0))
    if match < FULL_MATCH and not ("day" in made or "month" in made):
        for name in made.keys() - OF_WORDS:
            made[name] *= match / FULL_MATCH
    return made


def spaced(ordered: Sequence[Candidate]) -> list[Candidate]:
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
            step = between(REPEAT, row.long or 0.0) * REPEAT_ROWS / max(REPEAT_ROWS, row.session_rows)
        off[session] = off.get(session, 0.0) + step
        less[session] = step * REPEAT_AGAIN
    return [*chosen, *ordered[len(chosen) :]]
