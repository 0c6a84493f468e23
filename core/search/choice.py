"""Hits of a search: which rows are read, what each of them matches, which say the same, which become hits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..database import sources
from ..database.dialects import from_microseconds
from ..index import lookups
from ..shapes import Hit
from ..text import hits
from ..text.near_duplicates import group_near_duplicates
from . import asked as asking
from . import scores as scoring
from .candidates import is_first_tier
from .ranking import ranking, relevance
from .ranking.ranking import Candidate
from .ranking.surroundings import stretches
from .ranking.times import HALF, on_days
from .ranking.weights import weights_for
from .reading.found_rows import FoundRow

if TYPE_CHECKING:
    from .state import Chosen, Drop, Search

Pair = tuple[Candidate, FoundRow]

LEAST_READ, LEAST_READ_OF_MESSAGE = 24, 40
"""Best candidates by their own words that are read, in relevance mode: without a message, and with one."""


NEARLY_SAME = 2
"""Places for each hit asked for among which texts that say nearly the same share one."""


def rows_wanted(search: Search, extra: int, depth: int) -> dict[int, list[int]]:
    """Return the ids of the rows to bring, by source."""
    chosen = search.candidates
    if search.query.ranking == "relevance":
        _by_own_words(search, chosen)
        _favour_days(search, chosen)
        _favour_meaning(search, chosen)
        best = ranking.best_first(chosen)
        least = LEAST_READ_OF_MESSAGE if search.query.text else LEAST_READ
        most = (max(least, 3 * search.query.limit) + extra) * 4**depth
        kept = {(c.source, c.id) for c in best[:most]}
        if len(best) > most:
            for number in search.reports:
                kept |= {(c.source, c.id) for c in [x for x in best if x.source == number][: 2 + extra // 4]}
            chosen = [c for c in chosen if (c.source, c.id) in kept]
        search.complete &= len(best) <= len(kept)
        reach = search.settings.context_reach if search.query.text else 0
        # By its meaning a turn before tells as much as one after: it is read as among long turns.
        before = max(asking.long_of(search), search.by_meaning)
        search.stretches = stretches(best, sources.CHAT.number, reach, before)
    ids: dict[int, list[int]] = {}
    for c in chosen:
        ids.setdefault(c.source, []).append(c.id)
    return ids


def _by_own_words(search: Search, candidates: Iterable[Candidate]) -> None:
    """Score candidates by what they match themselves: all there is where no message tells more."""
    docs = lookups.rarity(search.words, search.known.words, sources.CHAT.number)
    tag_docs: dict[str, int] = {}
    for count in search.known.tags:
        tag_docs[count.key] = tag_docs.get(count.key, 0) + count.docs
    viewer = search.viewer
    totals = [viewer.docs.get((a, s.number), (0, 0)) for a in viewer.audiences for s in search.query.sources]
    rows = sum(n for n, _ in totals)
    mean = sum(n for _, n in totals) / rows if rows else 1.0
    worth = [ranking.rarity_weight(n, rows) for n in docs]
    tag_worth = {tag: ranking.rarity_weight(tag_docs.get(tag, 0), rows) for tag in search.query.tags}
    texts = search.texts
    for c in candidates:
        c.score = ranking.score(c, texts, worth, tag_worth, mean_words=mean)


def _favour_days(search: Search, candidates: Iterable[Candidate]) -> None:
    """Put rows of the days asked for among the first to be read: a day tells more than a word that many rows hold."""
    days = search.question.days
    most = max((c.score for c in candidates), default=0.0) if days else 0.0
    for c in candidates if days else ():
        near = on_days(days, from_microseconds(c.at_us))
        c.score += most * max(near.values(), default=0.0) * (HALF if near.keys() == {"days_after"} else 1.0)


def _favour_meaning(search: Search, candidates: Iterable[Candidate]) -> None:
    """Put rows whose meaning is near what is asked among the first to be read."""
    if search.meaning is None:
        return
    most = max((c.score for c in candidates), default=0.0) or 1.0
    for c in candidates:
        c.score += most * search.meaning.of(c.source, c.id)


def finish(search: Search, rows: Mapping[tuple[int, int], FoundRow], drop: Drop | None) -> list[Chosen]:
    """Return the hits in the order of T32, each with its rank among them."""
    from .state import Chosen  # noqa: PLC0415 - the two know each other

    search.left, search.folded = [], {}
    for told in search.reports.values():
        told.dropped.clear()
    recent = search.query.ranking == "recency"
    lines: dict[tuple[int, int], scoring.Line] = {}
    if search.query.text and not recent:
        scored = scoring.score(search, rows)
        lines = {(line.found.source, line.found.id): line for line in scored}
        kept = [(line.candidate, line.found) for line in scored]
    else:
        kept = [(c, row) for c in search.candidates if (row := rows.get((c.source, c.id))) is not None]
        kept = _pools(search, kept) if recent else kept
    kept = _without_dropped(search, kept, drop)
    tag_numbers = search.tag_numbers
    for c, row in kept:
        if not lines:
            scoring.complete_match(search, c, row)
        if (c.tags or tag_numbers) and is_first_tier(search, c):
            c.tier = 1
    if not (lines or recent):
        _by_own_words(search, [c for c, _ in kept])
    kept = _deduped(search, kept, lines)
    ordered = _ordered(search, kept, lines)
    by_row = {(c.source, c.id): row for c, row in kept}
    rank = {(c.source, c.id): n for n, c in enumerate(ordered, 1)}
    for c, _ in kept:
        if c in search.folded:
            search.leave(c, "nearly the same")
        elif (c.source, c.id) not in rank and not c.context:
            search.leave(c, "limit")
    made = []
    weights = weights_for(search.long, search.by_meaning)
    for c in ranking.newest_first(ordered):
        row = by_row[c.source, c.id]
        if lines:
            c.parts = relevance.parts(lines[c.source, c.id].row, weights)
        made.append(Chosen(_hit(search, c, row), c, row, rank[c.source, c.id]))
    return made


def _ordered(search: Search, kept: Sequence[Pair], lines: Mapping[tuple[int, int], scoring.Line]) -> list[Candidate]:
    limit = search.query.limit
    if search.query.ranking == "recency":
        return ranking.tier_then_newest(c for c, _ in kept)[:limit]
    best = _folded(search, ranking.best_first(c for c, _ in kept), {(c.source, c.id): row for c, row in kept})
    if not lines:
        chosen = ranking.choose(best, limit)
    else:
        rows = [lines[c.source, c.id].row for c in best]
        ranked = [best[n] for n in relevance.spaced(rows, search.long)]
        most = max(1, round(relevance.CONTEXT_SHARE * limit))
        ranked = ranking.without_many_contexts(ranked, most)
        # What fits best by its own words stays, whatever speaks for the others.
        first = max(ranked, key=lambda c: lines[c.source, c.id].row.reasons["own"], default=None)
        chosen = ranking.choose(ranked, limit, first)
    # Where there is room to spare, what says nearly the same is a hit too.
    spare = [c for c in search.folded if not c.context][: limit - len(chosen)]
    for c in spare:
        del search.folded[c]
    return chosen + spare


def _folded(search: Search, best: list[Candidate], rows: Mapping[tuple[int, int], FoundRow]) -> list[Candidate]:
    """Return the candidates with one of those that say nearly the same: the best of them keeps the place.

    Among the first NEARLY_SAME places for each hit asked for: who stands further down takes no place anyway.
    """
    first = best[: NEARLY_SAME * search.query.limit]
    groups = group_near_duplicates([shown_text(rows[c.source, c.id]) for c in first])
    search.folded = {first[n]: first[group] for n, group in enumerate(groups) if group != n}
    return [c for c in best if c not in search.folded]


def _pools(search: Search, kept: Sequence[Pair]) -> list[Pair]:
    """Return the newest `pool` rows of each source that are there; more were asked for, since some may be gone."""
    taken: dict[int, int] = {}
    made = []
    for c, row in kept:
        taken[c.source] = taken.get(c.source, 0) + 1
        if taken[c.source] <= search.query.pool:
            made.append((c, row))
    # A full pool is all there is to choose from; a short one only where nothing was cut off.
    search.complete = all(taken.get(number, 0) >= search.query.pool for number in search.cut)
    return made


def _without_dropped(search: Search, kept: list[Pair], drop: Drop | None) -> list[Pair]:
    if drop is None and not search.query.exclude.conversations:
        return kept
    return [pair for pair in kept if not _is_dropped(search, pair, drop)]


def _is_dropped(search: Search, pair: Pair, drop: Drop | None) -> bool:
    c, row = pair
    left_out = c.source == sources.CHAT.number and row.conversation in search.query.exclude.conversations
    reason = "excluded" if left_out else ""
    reason = reason or (drop(c, row) if drop is not None else "")
    if reason:
        search.leave(c, reason)
    return bool(reason)


def _deduped(search: Search, pairs: Sequence[Pair], lines: dict[tuple[int, int], scoring.Line]) -> list[Pair]:
    """Return the rows without those that say the same as a newer one, which is worth what the best of them is."""
    newest = sorted(pairs, key=lambda pair: (-pair[0].at_us, pair[0].source, -pair[0].id))
    contents = {c: _content(search, row) for c, row in newest}
    if None not in contents.values() and len(set(contents.values())) == len(newest):
        return newest
    kept = hits.dedupe(
        newest,
        identity=lambda pair: (sources.BY_NUMBER[pair[0].source].name, pair[0].id, pair[1].texts[0]),
        content=lambda pair: contents[pair[0]],
    )
    if len(kept) == len(newest):
        return kept
    stays = {(c.source, c.id) for c, _ in kept}
    saying = {contents[c]: c for c, _ in kept}
    for c, _ in newest:
        if (c.source, c.id) in stays:
            continue
        search.leave(c, "duplicate")
        same = saying[contents[c]]
        if c.score > same.score:
            same.score = c.score
            if lines:
                # A wish has no neighbours; the message it was said in has, and they tell more of both.
                place = same.source, same.id
                lines[place] = replace(lines[place], row=lines[c.source, c.id].row)
    return kept


def _content(search: Search, row: FoundRow) -> bytes | None:
    """Return what tells whether two rows say the same, None where the row was not read whole."""
    if row.digest is not None and row.texts[0].strip():
        return row.digest
    text = shown_text(row)
    return hits.content_digest(text) if len(text) < search.chars else None


def _hit(search: Search, c: Candidate, row: FoundRow) -> Hit:
    chars = search.settings.snippet_chars
    text = None
    if search.settings.snippet_window == "match":
        looked_for = [w.text for w in search.words if w.applies(c.source, sources.CHAT.number)]
        text = hits.snippet_of_match(row.texts, looked_for, chars)
    if text is None:
        text = hits.snippet(shown_text(row), chars)
    return hits.hit(sources.BY_NUMBER[c.source].name, c.id, from_microseconds(row.at_us), text, row.tags)


def shown_text(row: FoundRow) -> str:
    """Return the text a hit shows."""
    if len(row.texts) == 1:
        return row.texts[0]
    content, summary, message, thought = row.texts
    return hits.diary_snippet_text(content, summary, message, thought)
