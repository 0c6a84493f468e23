"""Scores of the rows that were brought, in relevance mode: what each holds of what is asked, and around it.

Joins the candidates and the rows of the third round trip into the shapes of `search.ranking.relevance`. Rows that
match nothing and stand close to a matching row become candidates of their own, marked `context`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..database import sources
from ..database.dialects import from_microseconds
from ..text import hits, passages
from ..text.question_words import is_question
from .asked import Asking, asking
from .question.question import has_number, time_expressions
from .ranking import relevance
from .ranking.people import Speaker, person_of, speaks_of_self
from .ranking.ranking import INSIDE, Candidate
from .ranking.rows import Row
from .ranking.times import on_days
from .ranking.weights import weights_for
from .reading.found_rows import FoundRow

if TYPE_CHECKING:
    from .state import Search

READ_CLOSELY = 40
"""Best rows by their words whose texts are read for times, numbers and `I`."""
CLOSE_CHARS = 600
"""Characters of them that are read."""

Found = Mapping[tuple[int, int], FoundRow]
_CHAT = sources.CHAT.number
_NOTHING: list[dict[int, float]] = [{}]
_NO_PLACES: dict[int, list[passages.Place]] = {}


@dataclass(slots=True)
class Line:
    """One row brought, on both sides: as it was found and as the ranking sees it."""

    candidate: Candidate
    found: FoundRow
    row: Row


def score(search: Search, found: Found) -> list[Line]:
    """Return the rows that may become hits, with their scores; their order is that of `found`."""
    of = asking(search, found)
    search.long = of.asked.long
    known = {(c.source, c.id): c for c in search.candidates}
    rows = []
    for place, row in found.items():
        candidate = known.get(place)
        if candidate is not None:
            complete_match(search, candidate, row)
        rows.append((candidate, row, _row(search, of, candidate, row)))
    meaning = search.meaning
    if meaning is not None:
        vectors = meaning.vectors(list(found))
        for _, row, made in rows:
            made.meaning, made.vector = meaning.of(row.source, row.id), vectors.get((row.source, row.id))
    relevance.matches([row for _, _, row in rows], of.asked, None if meaning is None else meaning.as_one)
    # Beside a row that fits may stand an answer; where nothing is asked there is none.
    answers = is_question(search.query.text, of.languages)
    left_out = search.query.exclude.rows
    lines = []
    for found_as, row, made in rows:
        candidate = found_as
        if candidate is None:
            if not answers or not _is_near(made, of):
                continue
            candidate = Candidate(row.source, row.id, row.at_us, context=True)
            complete_match(search, candidate, row)
        if left_out and (sources.BY_NUMBER[row.source].name, row.id) in left_out:
            continue
        lines.append(Line(candidate, row, made))
    _beside_words(search, lines, of)
    for line in lines:
        line.candidate.score = line.row.score
    return lines


def _is_near(row: Row, of: Asking) -> bool:
    """Return whether a row that matches nothing stands close enough to rows that do, or was said on a day asked for."""
    if row.reasons["context"] >= relevance.LEAST_CONTEXT:
        return True
    return bool(of.days) and any(since <= row.at_us < until for since, until in of.days)


def complete_match(search: Search, c: Candidate, row: FoundRow) -> None:
    """Note what the look-ups did not ask of this row: its tags, and words beyond the budget; then its tier."""
    if row.tags is not None and search.query.tags:
        stored = hits.stored_tags(row.tags)
        c.tags = c.tags.union(t for t in search.query.tags if t in stored)
    folded, matched = row.folded, c.matched
    for i, text, verify in search.said_in_chat if c.source == _CHAT else search.said_elsewhere:
        if text in folded and i not in matched:
            c.match(i, 1, verify)
    c.holds_more = False
    if c.context and (matched or c.tags):
        c.context = False


def _row(search: Search, of: Asking, candidate: Candidate | None, found: FoundRow) -> Row:
    """Return a row as the ranking sees it.

    Args:
        candidate: None for a row that was brought for its neighbour.
    """
    folded = found.folded
    is_chat = found.source == _CHAT
    places: dict[int, list[passages.Place]] = _NO_PLACES
    for text, probe in of.looked_for:
        if text in folded and (is_chat or not probe.chat_only):
            at = passages.find_places(folded, text, probe.terms, always_whole=probe.always_whole)
            if probe.whole_only:
                at = [place for place in at if place[1]]
            if at:
                places = places or {}
                places.setdefault(probe.group, []).extend(at)
    words = (candidate.words if candidate is not None else 0) or _words(found)
    thread = found.conversation if is_chat else f"\x00{found.source}/{found.id}"
    row = Row(thread, found.at_us, words, _NOTHING, windows=found.stretches)
    if places or candidate is not None:
        size = len(folded)
        seen = words if found.chars <= size or not size else max(1, words * size // found.chars)
        # A text has no more words than characters, whatever a broken row of the index says of it.
        row.passages = passages.by_passage(places, size, passages.parts_of(min(seen, max(1, size))), INSIDE)
    if candidate is not None:
        _add_unseen(search, of, candidate, row, places)
    return row


def _add_unseen(search: Search, of: Asking, candidate: Candidate, row: Row, places: Mapping[int, object]) -> None:
    """Add what a candidate is known to match further in than its text was read, and its tags (T29d)."""
    for i, (times, whole) in candidate.matched.items():
        group = of.groups[i]
        if group not in places and of.asked.worth[group]:
            last = row.passages[-1]
            last[group] = max(last.get(group, 0.0), times if whole else times * INSIDE)
    if candidate.tags:
        as_words = {search.words[i].text for i in candidate.matched}
        row.tags = sum(of.tags.get(tag, 0.0) for tag in candidate.tags if tag not in as_words)


def _words(found: FoundRow) -> int:
    folded = found.folded
    words = passages.rough_words(folded)
    return words if found.chars <= len(folded) else words * found.chars // max(1, len(folded))


def _beside_words(search: Search, lines: Sequence[Line], of: Asking) -> None:
    """Give the rows the reasons beside their words, and their scores; texts are read of the best rows alone."""
    question, weights = of.question, weights_for(of.asked.long, search.by_meaning)
    asker = search.viewer.scope.participant or ""
    told = bool(question.people or question.self_person or question.other)
    said_by: dict[Speaker, float] = {}
    for line in lines:
        reasons, found = line.row.reasons, line.found
        if found.source == _CHAT:
            reasons["length"] = relevance.length_of(line.row.words)
            if told:
                speaker = found.speaker
                if speaker not in said_by:
                    said_by[speaker] = person_of(question, asker, speaker)
                reasons["person"] = said_by[speaker]
        if question.days:
            reasons.update(on_days(question.days, from_microseconds(found.at_us)))
        relevance.weigh(line.row, weights)
    wants_time = question.wants_time and weights["time"]
    wants_number = question.wants_number and weights["number"]
    if not (weights["first"] or wants_time or wants_number):
        return
    for line in sorted(lines, key=lambda one: -one.row.score)[:READ_CLOSELY]:
        text, reasons = line.found.folded[:CLOSE_CHARS], line.row.reasons
        if weights["first"]:
            reasons["first"] = speaks_of_self(text, of.languages)
        if wants_time:
            reasons["time"] = float(time_expressions(text, of.languages) > 0)
        if wants_number:
            reasons["number"] = float(has_number(text, of.languages))
        relevance.weigh(line.row, weights)
