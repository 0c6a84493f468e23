"""Last stage of a search: choose the hits among the rows read, drop copies and rows that do not match, and report."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from ..access.rules import plain_key
from ..database import sources
from ..database.dialects import from_microseconds, microseconds
from ..index.numbers import ViewRows
from ..shapes import Hit
from ..text import hits, times
from ..text.folding import fold
from ..text.forms.spellings import holds_tone
from ..text.time import Span
from ..text.times import EARLIEST, LATEST, iso_text
from .lookup import holds_term, loosen_terms
from .plain import MOST_COMPARED
from .query import Query
from .question import SOON_DAYS, Question, describe_span
from .rank import FEW_HITS, Ranked
from .ranking import relevance, rows
from .ranking.days import DAY_US
from .ranking.rows import CHAT, FILLING, Candidate, FoundRow, Matched, ScoredRow, WordScorer
from .ranking.weights import EARLIER, FULL_SHARE
from .resolve import Search
from .table import Repeated, list_repeated

Drop = Callable[[FoundRow], str]
"""Returns the reason to leave out a row, in addition to the reasons of the search; "" to keep it."""
FIRST_HITS = 10
"""Number of hits that count as first; if the question is about the present, the last of these is the newest match."""
MOST_EQUAL = 3
"""Maximum number of hits with the same text, unless a time or count is asked for; if days matter, of each person."""
UNREAD_TIME = "Words of time in the question could not be read; no span of time was looked for."


class Chosen(NamedTuple):
    hit: Hit
    scored: ScoredRow
    row: FoundRow
    rank: int


@dataclass(frozen=True, slots=True)
class Selection:
    """The hits of a search, and the rows it left out."""

    read: Ranked
    """Rows from which the hits were chosen, in the last round."""
    chosen: Sequence[Chosen] = ()
    """Hits, newest first."""
    left: Sequence[tuple[ScoredRow, str]] = ()
    """Rows read that are not hits, each with the reason why it was left out."""
    is_done: bool = True
    """Whether a deeper round can bring nothing more: there are `limit` hits, or all matching rows were read.

    In recency mode, "all" means the newest of each source.
    """
    repeated: Sequence[Repeated] = ()


def choose_hits(read: Ranked, drop: Drop | None = None) -> Selection:
    """Return the hits among the rows read, each with its rank."""
    search = read.search
    query = search.query
    found = [(c, row) for c in rows.newest_first(read.candidates) if (row := read.rows.get((c.source, c.id)))]
    asked = read.query if query.text else None
    alone = read.alone if asked is None else None
    scored = _complete(search, found, alone)
    if found and not any(c.matched for c in scored):
        search = replace(search, terms=loosen_terms(search.terms))
        scored = _complete(search, found, alone)
    if asked is not None:
        # Neighbours without text say nothing: tool calls, pictures.
        scored = [c for c in scored if not c.context or c.row.folded.strip()]
        scored = relevance.rank_rows(scored, asked, read.near)
    kept, left = _drop_some(search, scored, drop)
    question = asked.question if asked is not None else Question()
    keeps_days = query.is_listing or question.is_of_days
    by_day = keeps_days or question.wants_list
    keeps_all = keeps_days or question.wants_number
    kept, copies = _remove_copies(search, kept, is_ranked=asked is not None, by_day=by_day, keeps_all=keeps_all)
    left += [(c, "duplicate") for c in copies]
    ordered = _order(search, kept, asked)
    rank = {c: n for n, c in enumerate(ordered, 1)}
    left += [(c, "limit") for c in kept if c not in rank and not c.context]
    chosen = [Chosen(_build_hit(search, c.row), c, c.row, rank[c]) for c in kept if c in rank]
    is_done = read.is_complete or len(chosen) >= query.limit
    repeated: Sequence[Repeated] = ()
    if not is_done and read.matches is not None and not by_day:
        reasons = {(c.row.source, c.row.id): reason for c, reason in left}
        latest = {(c.row.source, c.row.id): c for c in (*scored, *kept)}
        repeated = list_repeated([(c.row, c.score, reasons.get(key, "")) for key, c in latest.items()])
    return Selection(read, chosen, left, is_done, repeated)


def _complete(search: Search, found: Sequence[tuple[Candidate, FoundRow]], alone: WordScorer | None) -> list[ScoredRow]:
    """Return rows with tier and the matches in their texts and tags; `alone` scores them if there is no message."""
    languages, made = search.query.languages, list[ScoredRow]()
    for c, row in found:
        matched, folded = dict(c.matched), row.folded
        for i in search.tag_ids if row.tags else ():
            if search.terms[i].text in row.tags:
                matched.setdefault(i, (1, True))
        for i, text, term in search.proofs:
            if i not in matched and text in folded and term.applies(c.source) and holds_term(folded, term, languages):
                matched[i] = 1, term.least == "word" or bool(term.pieces)
        kept = _leave_other_words(search, matched, row.texts) if search.has_other_words else matched
        tags = search.tags_in_chat if c.source == CHAT else search.tag_ids
        tier = c.tier if tags.isdisjoint(kept) or search.keyword_ids.isdisjoint(kept) else 1
        score = c.score if alone is None else alone.score(kept, c.words)
        made.append(ScoredRow(c, row, kept, tier, c.context, score, c.reasons, kept=c.kept))
    return made


def _leave_other_words(search: Search, matched: Matched, texts: Sequence[str]) -> Matched:
    """Drop matches of words that the row only has with other tone marks; return {} if too few character pairs match."""
    terms = search.terms
    kept = {
        i: found
        for i, found in matched.items()
        if not terms[i].is_toned or any(holds_tone(terms[i].written, text) for text in texts)
    }
    pairs, least = search.least_pairs
    held, said = {terms[i].text for i in kept}, fold(search.query.text) if least else ""
    is_other_word = len(held & pairs) < least and not any(len(text) > 2 or text not in said for text in held)
    return {} if is_other_word else kept


def _drop_some(
    search: Search, found: Sequence[ScoredRow], drop: Drop | None
) -> tuple[list[ScoredRow], list[tuple[ScoredRow, str]]]:
    """Return (rows that may be hits, rows that may not, each with the reason)."""
    kept: list[ScoredRow] = []
    left: list[tuple[ScoredRow, str]] = []
    without = search.query.exclude.conversations
    for c in found:
        row, reason = c.row, ""
        may_stay = c.matched or c.context or c.kept or c.candidate.is_offered or c.candidate.by_meaning
        if without and row.source == CHAT and row.conversation in without:
            reason = "excluded"
        elif search.is_proved_by_text and not may_stay:
            # The plain predicates also match letters inside words, and text after the characters read.
            reason = "no match" if row.source != CHAT or len(row.folded) < search.searched_chars else ""
        elif c.tier >= FILLING and row.is_hidden:
            reason = "hidden"
        if not reason and drop is not None:
            reason = drop(row)
        if reason:
            left.append((c, reason))
        else:
            kept.append(c)
    return kept, left


def _remove_copies(
    search: Search, found: Sequence[ScoredRow], *, is_ranked: bool, by_day: bool, keeps_all: bool
) -> tuple[list[ScoredRow], list[ScoredRow]]:
    """Return (rows kept, rows left out as copies of a newer row); a kept row gets the best score of its copies.

    Matches of different people are no copies. With `by_day`, neither are messages of different days: `I had pasta for
    lunch` counts on each of them. Without `keeps_all`, MOST_EQUAL of them are kept.
    """
    by_text: defaultdict[bytes, dict[tuple[str, int] | None, int]] = defaultdict(dict)
    kept: list[ScoredRow] = []
    copies = []
    for c in found:
        row = c.row
        content = row.digest
        if content is None or not row.texts[0].strip():  # without a digest, a text that was cut has no copies
            content = hits.content_digest(row.shown_text) if len(row.shown_text) < search.chars else None
        if content is None:
            kept.append(c)
            continue
        equal, said = by_text[content], None
        if row.source == CHAT and (c.matched or c.candidate.is_offered):
            said = row.said_by_key or row.said_by, c.candidate.at_us // DAY_US if by_day else 0
        at = equal.get(said)
        if said is None:
            at = next(iter(equal.values()), None)
        elif at is None and None in equal and kept[equal[None]].row.said_by_key in ("", said[0]):
            at = equal[said] = equal.pop(None)  # a memory made of this message
        elif at is None and len(equal) >= MOST_EQUAL and not keeps_all:
            others = [n for one, n in equal.items() if one is None or one[0] == said[0] or not by_day]
            at = others[0] if len(others) >= MOST_EQUAL else None
        if at is None:
            equal[said] = len(kept)
            kept.append(c)
            continue
        copies.append(c)
        same = kept[at]
        if c.score > same.score:
            same = replace(same, score=c.score)
            if is_ranked:
                # A saved instruction has no neighbours, but its copy in the chat has: they say more about both.
                same = replace(same, neighbour=c.neighbour or c.candidate, reasons=c.reasons, parts=c.parts)
            kept[at] = same
    return kept, copies


def _order(search: Search, kept: Sequence[ScoredRow], asked: rows.RankingQuery | None) -> list[ScoredRow]:
    """Choose at most `limit` hits among the rows, and return them best first."""
    limit = search.query.limit
    if search.query.ranking == "recency":
        return sorted(kept, key=lambda c: c.tier)[:limit]
    best = sorted(kept, key=attrgetter("tier"))
    best.sort(key=attrgetter("score"), reverse=True)
    if asked is None:
        return rows.choose(best, limit)
    if asked.question.order:
        return _order_by_time(best, is_first=asked.question.order == "first")[:limit]
    most_contexts = max(1, round(relevance.CONTEXT_SHARE[limit > FEW_HITS] * limit))
    if asked.question.wants_list and limit > FEW_HITS:
        most_contexts = min(most_contexts, max(0, limit - sum([not c.context for c in best])))
    spaced = rows.without_many_contexts(relevance.space_rows([c for c in best if c.tier < FILLING]), most_contexts)
    if _is_led_by_earlier(search, asked):  # too vague to put rows next to a match before matches
        spaced.sort(key=attrgetter("context"))
    spaced = _place_kept(spaced, limit)
    filling = [c for c in best if c.tier >= FILLING]
    if asked.question.people and any(c.tier == FILLING for c in filling):  # before neighbours of what others said
        few = round(relevance.CONTEXT_SHARE[0] * max(FIRST_HITS, sum(not c.context for c in spaced)))
        for c in [c for c in spaced if c.context and c.reasons.get("person", 0.0) <= 0.0][few:]:
            c.tier = rows.FILLING_LAST
    own = [c.reasons.get("own", 0.0) for c in spaced]
    chosen = rows.choose(spaced, limit, spaced[own.index(max(own))] if own else None)  # the best own words always stay
    return sorted([*chosen, *filling], key=lambda c: max(c.tier, FILLING - 1))[:limit]


def _is_led_by_earlier(search: Search, asked: rows.RankingQuery) -> bool:
    """Return whether a word of the turns before is rarer than all of the question's own: `Where does she live?`"""
    weights = [(term.text in search.query.earlier, n) for term, n in zip(asked.terms, asked.weights, strict=True)]
    earlier = max((weight for is_earlier, weight in weights if is_earlier), default=0.0)
    return earlier > EARLIER * max((weight for is_earlier, weight in weights if not is_earlier), default=0.0)


def _order_by_time(best: Sequence[ScoredRow], *, is_first: bool) -> list[ScoredRow]:
    """Put the rows that match nearly as well as the best first, by time; if possible, no rows of other people."""
    most = max((c.own for c in best), default=0.0)
    full = [c for c in best if c.own >= FULL_SHARE * most]
    full = [c for c in full if c.reasons.get("person", 0.0) >= 0.0] or full
    full.sort(key=lambda c: c.candidate.at_us if is_first else -c.candidate.at_us)
    is_full = frozenset(full)
    return [*full, *(c for c in best if c not in is_full)]


def _place_kept(ordered: Sequence[ScoredRow], limit: int) -> list[ScoredRow]:
    """Move rows kept as `others` or `person` behind the best row, and later `newest` rows to the end of the first ten.

    Each correction or change moves right after the row that it corrects or changes.
    """
    keys: dict[Any, ScoredRow] = {(c.row.source, c.row.id): c for c in ordered}
    places = {c.candidate.place: c for c in ordered}
    behind = defaultdict[ScoredRow | None, list[ScoredRow]](list)
    for c in ordered:
        is_correction, changed = c.kept == "correction", c.candidate.changes
        behind[places.get(c.candidate.place - 1) if is_correction else keys.get(changed)].append(c)

    def with_changes(lines: list[ScoredRow]) -> list[ScoredRow]:
        placed = list[ScoredRow]()
        for line in lines:
            run = [line]
            for each in run:  # grows
                run += behind.get(each, ())
            placed += run
        return placed

    free, last = behind.pop(None, []), max(1, min(limit, FIRST_HITS) - 1)
    latest = frozenset(ordered[last:])
    newest = with_changes([c for c in free if c.kept == "newest" and c in latest])
    others = [c for c in free if c.kept in ("others", "person") and c is not ordered[0]]
    moved = {*newest, *others}
    rest = [c for c in free if c not in moved and c.kept != "correction"]
    placed = with_changes([*rest[:1], *others, *rest[1:]])
    at = max(1, last + 1 - len(newest))
    return [*placed[:at], *newest, *placed[at:]]


def _build_hit(search: Search, row: FoundRow) -> Hit:
    chars = search.settings.snippet_chars
    text = shown = row.shown_text
    if len(row.texts) > 1 or len(shown) > chars:
        is_match = search.settings.snippet_window == "match"
        found = hits.snippet_of_match(row.texts, search.looked_for[row.source], chars) if is_match else None
        text = hits.snippet(shown, chars) if found is None else found
    at = from_microseconds(row.at_us)
    hit: Hit = {
        "source": sources.BY_NUMBER[row.source].name,
        "id": row.id,
        "timestamp": "" if at is None else min(max(at, EARLIEST), LATEST).isoformat(),
        "snippet": text,
        "tags": [*row.tags],
    }
    if row.said_by:
        hit["speaker"] = row.said_by
    return hit


# The report: plain JSON, without texts of rows


def describe_missed(selection: Selection, missed: Iterable[Span]) -> list[str]:
    """Return, for each time of a question without rows, a sentence that nothing is stored of it.

    A day gets no sentence if a loaded row of the weeks around it has its number: `so the 28th then`.
    """
    read = [*(one.row for one in selection.chosen), *(c.row for c, why in selection.left if why != "echo")]
    zone, sentences = times.zone(selection.read.search.settings.timezone) or UTC, dict[str, None]()
    for span in missed:
        near = range(*(microseconds(span.start) + side * SOON_DAYS * DAY_US for side in (-1, 1)))
        day = span.start.astimezone(zone).day if span.start and span.precision == "day" else None
        if day is None or not any(r.at_us in near and re.search(rf"(?<!\d){day}(?!\d)", r.folded) for r in read):
            sentences[describe_span(span, zone)] = None
    return [*sentences]


def build_report(selection: Selection) -> dict[str, Any]:
    read, current = selection.read, selection.read.round
    query, question = current.search.query, current.question
    dropped = {source.number: Counter[str]() for source in query.sources}
    for c, reason in selection.left:
        dropped[c.row.source][reason] += 1
    equal = sum(counts["duplicate"] for counts in dropped.values())
    return {
        "ranking": query.ranking,
        "hits": [_tell_hit(read, one) for one in selection.chosen],
        "sources": {
            source.name: {
                "considered": read.considered.get(source.number, 0),
                "dropped": dict(dropped[source.number]),
                "error": str(read.errors.get(source.number, "")),
            }
            for source in query.sources
        },
        "spans": [
            {"start": iso_text(span.start), "end": iso_text(span.end), "precision": span.precision, "role": span.role}
            for span in (question.spans or current.missed)
        ],
        "notes": [
            *query.notes,
            *([f"Rows left out since they repeat another: {equal:,}."] if query.is_listing and equal else []),
            *([UNREAD_TIME] if question.has_unread_time else []),
            *describe_missed(selection, current.missed),
            *([str(error)] if (error := read.meaning_error) else []),
            *([f"The search index: {why}"] if (why := read.index_error) else []),
            *(
                f"Of {sources.BY_NUMBER[number].name} only the newest {MOST_COMPARED:,} matching rows were compared."
                for number in read.newest_only
            ),
        ],
    }


def build_empty(query: Query) -> dict[str, Any]:
    """Return the report of a search without words, tags and times."""
    nothing = {source.name: {"considered": 0, "dropped": {}, "error": ""} for source in query.sources}
    return {"ranking": query.ranking, "hits": [], "sources": nothing, "spans": [], "notes": list(query.notes)}


def _tell_hit(read: Ranked, one: Chosen) -> Mapping[str, object]:
    terms, scored = read.search.terms, one.scored
    return {
        "source": one.hit["source"],
        "id": one.hit["id"],
        "timestamp": one.hit["timestamp"],
        "conversation": plain_key(one.row.conversation),
        "speaker": one.row.said_by,
        "neighbours": _find_neighbours(read, one),
        "rank": one.rank,
        "score": round(scored.score, 4),
        "tier": scored.tier,
        "tags": sorted(terms[i].text for i in scored.matched if terms[i].kind == "tag"),
        "words": sorted(terms[i].text for i in scored.matched if terms[i].kind != "tag"),
        "context": scored.context,
        "meaning": scored.candidate.by_meaning,
        "kept": scored.kept,
        "reasons": {name: round(value, 4) for name, value in sorted((scored.parts or {}).items())},
    }


def _find_neighbours(read: Ranked, one: Chosen) -> list[int]:
    """Return the ids of the messages right before and after a message in its conversation."""
    place, found = one.scored.candidate.place, read.matches
    if place == rows.UNKNOWN or one.row.source != CHAT or found is None:
        return []
    matches, at = found.audiences[place >> 32], place & 0xFFFFFFFF
    view = matches.view
    near = [n for n in (at - 1, at + 1) if 0 <= n < len(view) and view.thread[n] == view.thread[at]]
    ids: list[int] = view.row_id[matches.keep_readable(ViewRows(np.array(near, np.int64)))].tolist()
    return ids
