"""Scores of rows, in relevance mode: from what is asked and plain rows to the rows that may become hits, best first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...text import passages
from ..question.question import has_number, time_expressions
from . import relevance
from .meaning import AsOne
from .people import Speaker, person_of, speaks_of_self
from .ranking import INSIDE
from .rows import Asked, PlainRow, Row
from .times import on_days
from .weights import share_of_long, weights_for

READ_CLOSELY = 40
"""Best rows by their words whose texts are read for times, numbers and `I`."""
CLOSE_CHARS = 600
"""Characters of them that are read."""
FEW_TURNS = 2
"""Turns of the mean length of all that is visible that are reckoned in with those at hand, which may be few."""

_NOTHING: list[dict[int, float]] = [{}]
_NO_PLACES: dict[int, list[passages.Place]] = {}


def rank_rows(plain: Sequence[PlainRow], asked: Asked, as_one: AsOne | None = None) -> list[Row]:
    """Return the rows that may become hits, best first, each with its score and its reasons."""
    rows = [_read_row(one, asked) for one in plain]
    _tell_lengths(rows, asked)
    relevance.matches(rows, asked, as_one)
    kept = [row for row in rows if _may_be_hit(row, asked)]
    _add_reasons(kept, asked)
    return sorted(kept, key=lambda row: (-row.score, -row.at_us))


def _tell_lengths(rows: Sequence[Row], asked: Asked) -> None:
    """Tell each row how far the turns of its own conversation are long ones, by those at hand."""
    words: dict[str, list[int]] = {}
    for row in rows:
        if row.plain.is_chat:
            words.setdefault(row.thread, []).append(row.words)
    usual = asked.mean_turn_words
    long = {
        thread: share_of_long((sum(each) + FEW_TURNS * usual) / (len(each) + FEW_TURNS))
        for thread, each in words.items()
    }
    elsewhere = share_of_long(usual)
    for row in rows:
        row.long = long.get(row.thread, elsewhere) if row.plain.long is None else row.plain.long


def _may_be_hit(row: Row, asked: Asked) -> bool:
    """Return whether a row matches, stands close enough to rows that do, or was said on a day asked for."""
    if row.plain.is_left_out:
        return False
    if row.plain.matched is not None:
        return True
    # Beside a row that fits may stand an answer; where nothing is asked there is none.
    if not asked.has_answers:
        return False
    return row.reasons["context"] >= relevance.LEAST_CONTEXT or any(
        since <= row.at_us < until for since, until in asked.days
    )


def _read_row(plain: PlainRow, asked: Asked) -> Row:
    """Return a row with what stands in its text of what is asked, passage by passage."""
    folded, matched = plain.folded, plain.matched
    places = _NO_PLACES
    for probe in asked.probes:
        if probe.text in folded and (plain.is_chat or not probe.chat_only):
            at = passages.find_places(folded, probe.text, probe.terms, always_whole=probe.always_whole)
            if probe.whole_only:
                at = [place for place in at if place[1]]
            if at:
                places = places or {}
                places.setdefault(probe.group, []).extend(at)
    words = plain.words or _words(plain)
    row = Row(plain.thread, plain.at_us, words, _NOTHING, windows=plain.windows, plain=plain)
    row.meaning, row.vector = plain.meaning, plain.vector
    if places or matched is not None:
        size = len(folded)
        seen = words if plain.chars <= size or not size else max(1, words * size // plain.chars)
        # A text has no more words than characters, whatever a broken row of the index says of it.
        row.passages = passages.by_passage(places, size, passages.parts_of(min(seen, max(1, size))), INSIDE)
    for i, (times, whole) in matched.items() if matched else ():
        group = asked.groups[i]
        if group not in places and asked.worth[group]:  # it stands further in than the text was read
            last = row.passages[-1]
            last[group] = max(last.get(group, 0.0), times if whole else times * INSIDE)
    if plain.tags:
        as_words = {asked.texts[i] for i in matched or ()}
        row.tags = sum(asked.tags.get(tag, 0.0) for tag in plain.tags if tag not in as_words)
    return row


def _words(plain: PlainRow) -> int:
    words = passages.rough_words(plain.folded)
    return words if plain.chars <= len(plain.folded) else words * plain.chars // max(1, len(plain.folded))


def _add_reasons(rows: Sequence[Row], asked: Asked) -> None:
    """Give the rows the reasons beside their words, and their scores; texts are read of the best rows alone."""
    question, weights_of = asked.question, weights_by_length(rows, asked.by_meaning)
    names_somebody = bool(question.people or question.self_person or question.other)
    persons: dict[Speaker, float] = {}
    for row in rows:
        reasons, plain = row.reasons, row.plain
        if plain.is_chat:
            reasons["length"] = relevance.length_of(row.words)
            if names_somebody:
                speaker = plain.speaker
                if speaker not in persons:
                    persons[speaker] = person_of(question, asked.asker, speaker)
                reasons["person"] = persons[speaker]
        reasons["near"] = plain.near
        if question.days:
            reasons.update(on_days(question.days, plain.said))
        relevance.weigh(row, weights_of[row.long])
    for row in sorted(rows, key=lambda one: -one.score)[:READ_CLOSELY]:
        text, reasons, weights = row.plain.folded[:CLOSE_CHARS], row.reasons, weights_of[row.long]
        before = len(reasons)
        if weights["first"]:
            reasons["first"] = speaks_of_self(text, asked.languages)
        if question.wants_time and weights["time"]:
            reasons["time"] = float(time_expressions(text, asked.languages) > 0)
        if question.wants_number and weights["number"]:
            reasons["number"] = float(has_number(text, asked.languages))
        if len(reasons) > before:
            relevance.weigh(row, weights)


def weights_by_length(rows: Sequence[Row], by_meaning: float) -> Mapping[float, Mapping[str, float]]:
    """Return what each reason is worth, for each `long` among the rows."""
    return {long: weights_for(long, by_meaning) for long in {row.long for row in rows}}
