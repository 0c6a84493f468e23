"""Hits of a search: which rows are read, what each of them matches, which say the same, which become hits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..database import sources
from ..database.dialects import from_microseconds
from ..shapes import Hit
from ..text import hits
from ..text.words import index_terms
from .asked import build_asked, tag_docs, text_docs, visible_rows
from .gathered import Gathered, is_first_tier
from .question.question import Question
from .ranking import ranking, relevance
from .ranking.meaning import Meaning
from .ranking.ranking import Candidate
from .ranking.rows import Asked, PlainRow, Row
from .ranking.scores import rank_rows
from .ranking.times import HALF, on_days
from .ranking.weights import weights_for
from .reading.by_id import RowsWanted
from .reading.copies import Repeated, list_repeated
from .reading.found_rows import FoundRow
from .terms import FOLDED_CHARS, Search, is_form

Place = tuple[int, int]
"""Source and id of a row."""
Pair = tuple[Candidate, FoundRow]
Drop = Callable[[Candidate, FoundRow], str]
"""Returns why a row is left out beside what the search itself leaves out, "" to keep it."""

_CHAT = sources.CHAT.number
LEAST_READ, LEAST_READ_OF_MESSAGE = 24, 40
"""Best candidates by their own words that are read, in relevance mode: without a message, and with one."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """One hit and why it was chosen."""

    hit: Hit
    candidate: Candidate
    row: FoundRow
    rank: int


@dataclass(frozen=True, slots=True)
class Choice:
    """What came of the rows of one round."""

    chosen: Sequence[Chosen] = ()
    """The hits, newest first."""
    left: Sequence[tuple[Candidate, str]] = ()
    """Rows read that are no hits, with the reason."""
    is_done: bool = True
    """Going deeper can bring nothing more: there are `limit` hits, or no further matching rows. In recency mode the
    newest of each source are all there is to choose from."""
    repeated: Sequence[Repeated] = ()
    """Texts that many of the rows read are copies of."""


def rows_wanted(
    search: Search,
    gathered: Gathered,
    question: Question,
    meaning: Meaning | None,
    *,
    extra: int = 0,
    depth: int = 0,
) -> RowsWanted:
    """Return the rows to bring: those that can become hits and some more, and what stands around the best of them."""
    chosen: Sequence[Candidate] = gathered.candidates
    is_all, around = True, list[int]()
    if search.query.ranking == "relevance":
        if gathered.asked is None or not search.query.text:
            _by_own_words(search, chosen, gathered.docs)
            _favour_days(question, chosen)
        _favour_meaning(meaning, chosen)
        best = ranking.best_first(chosen)
        least = LEAST_READ_OF_MESSAGE if search.query.text else LEAST_READ
        most = (max(least, 3 * search.query.limit) + extra) * 4**depth
        kept = {(c.source, c.id) for c in best[:most]}
        if len(best) > most:
            for source in search.query.sources:
                kept |= {(c.source, c.id) for c in [x for x in best if x.source == source.number][: 2 + extra // 4]}
            chosen = [c for c in chosen if (c.source, c.id) in kept]
        is_all = len(best) <= len(kept)
        read = {c.id for c in chosen if c.source == _CHAT}
        around = [row_id for row_id in gathered.around if row_id not in read]
    ids: dict[int, list[int]] = {}
    for c in chosen:
        ids.setdefault(c.source, []).append(c.id)
    return RowsWanted(ids, search.chars, FOLDED_CHARS, around, is_all, are_there=bool(gathered.rows))


def share_of(meaning: Meaning | None) -> float:
    """Return how far meaning stands beside the words, 0 to 1: 0 where nothing is known of it."""
    return 0.0 if meaning is None else meaning.share


def _by_own_words(search: Search, candidates: Iterable[Candidate], docs: Mapping[tuple[int, str], int]) -> None:
    """Score candidates by what they match themselves: all there is where no message tells more."""
    with_tag = tag_docs(search, docs)
    rows, mean = visible_rows(search)
    worth = [ranking.rarity_weight(n, rows) for n in text_docs(search, docs)]
    tag_worth = {tag: ranking.rarity_weight(with_tag.get(tag, 0), rows) for tag in search.query.tags}
    texts = search.texts
    for c in candidates:
        c.score = ranking.score(c, texts, worth, tag_worth, mean_words=mean)


def _favour_days(question: Question, candidates: Sequence[Candidate]) -> None:
    """Put rows of the days asked for among the first to be read: a day tells more than a word that many rows hold."""
    days = question.days
    most = max((c.score for c in candidates), default=0.0) if days else 0.0
    for c in candidates if days else ():
        near = on_days(days, from_microseconds(c.at_us))
        c.score += most * max(near.values(), default=0.0) * (HALF if near.keys() == {"days_after"} else 1.0)


def _favour_meaning(meaning: Meaning | None, candidates: Sequence[Candidate]) -> None:
    """Put rows whose meaning is near what is asked among the first to be read."""
    if meaning is None:
        return
    most = max((c.score for c in candidates), default=0.0) or 1.0
    for c in candidates:
        c.score += most * meaning.of(c.source, c.id)


def choose_hits(
    search: Search,
    gathered: Gathered,
    question: Question,
    meaning: Meaning | None,
    rows: Mapping[Place, FoundRow],
    *,
    is_all: bool,
    drop: Drop | None = None,
) -> Choice:
    """Return the hits among the rows that were brought, each with its rank among them."""
    left: list[tuple[Candidate, str]] = []
    recent, complete = search.query.ranking == "recency", gathered.complete and is_all
    asked: Asked | None = None
    ranked: dict[Place, Row] = {}
    if search.query.text and not recent:
        asked = gathered.asked or build_asked(search, question, [row.speaker.name for row in rows.values()], {})
        asked = replace(asked, by_meaning=share_of(meaning))
        pairs, ranked = rank_candidates(search, asked, gathered, rows, meaning)
    else:
        pairs = [(c, row) for c in gathered.candidates if (row := rows.get((c.source, c.id))) is not None]
        if recent:
            pairs, complete = _pools(search, pairs, gathered.cut)
    kept: list[Pair] = []
    for c, row in pairs:
        if asked is None:
            _complete_match(search, c, row)
        reason = _reason_to_drop(search, c, row, drop)
        if reason:
            left.append((c, reason))
            continue
        if (c.tags or search.tag_numbers) and is_first_tier(search, c):
            c.tier = 1
        kept.append((c, row))
    if asked is None and not recent:
        _by_own_words(search, [c for c, _ in kept], gathered.docs)
    kept, copies = _deduped(search, kept, ranked)
    left += [(c, "duplicate") for c in copies]
    by_place = {(c.source, c.id): row for c, row in kept}
    ordered = _ordered(search, kept, ranked, asked)
    for c in ordered if asked is not None else ():
        line = ranked[c.source, c.id]
        c.parts = relevance.parts(line, weights_for(line.long, share_of(meaning)))
    rank = {(c.source, c.id): n for n, c in enumerate(ordered, 1)}
    for c, _ in kept:
        if (c.source, c.id) not in rank and not c.context:
            left.append((c, "limit"))
    chosen = [
        Chosen(_hit(search, c, row := by_place[c.source, c.id]), c, row, rank[c.source, c.id])
        for c in ranking.newest_first(ordered)
    ]
    is_done = complete or len(chosen) >= search.query.limit
    reasons = dict(left)
    repeated = () if is_done or not gathered.places else list_repeated((c, row, reasons.get(c, "")) for c, row in pairs)
    return Choice(chosen, left, is_done, repeated)


def rank_candidates(
    search: Search,
    asked: Asked,
    gathered: Gathered,
    rows: Mapping[Place, FoundRow],
    meaning: Meaning | None,
) -> tuple[list[Pair], dict[Place, Row]]:
    """Return the rows that may become hits, scored, and each as the ranking sees it."""
    by_place = {(c.source, c.id): c for c in gathered.candidates}
    vectors = meaning.vectors(list(rows)) if meaning is not None else {}
    excluded = {(sources.BY_NAME[name].number, row_id) for name, row_id in search.query.exclude.rows}
    runs = _number_runs(known.place for place in rows if (known := gathered.places.get(place)) is not None)
    plain = []
    for place, row in rows.items():
        c = by_place.get(place)
        if c is not None:
            _complete_match(search, c, row)
        is_chat = row.source == _CHAT
        one = PlainRow(
            place,
            row.conversation if is_chat else f"\x00{row.source}/{row.id}",
            row.at_us,
            row.folded,
            row.chars,
            0 if c is None else c.words,
            is_chat,
            row.speaker,
            (),
            None if c is None else c.matched,
            is_left_out=place in excluded,
        )
        known = gathered.places.get(place)
        if known is not None:
            one.windows, one.words = (runs[known.place],), known.words
            one.session, one.session_rows, one.context = known.session_number, known.session_rows, known.context
            one.session_worth, one.long, one.near = known.session, known.long, known.near
        if c is not None:
            one.tags = c.tags
        if asked.question.days:
            one.said = from_microseconds(row.at_us)
        if meaning is not None:
            one.meaning, one.vector = meaning.of(*place), vectors.get(place)
        plain.append(one)
    pairs, ranked = [], {}
    for made in rank_rows(plain, asked, None if meaning is None else meaning.as_one):
        place = made.plain.key
        c, row = by_place.get(place), rows[place]
        if c is None:
            if not row.folded.strip():
                continue  # it says nothing: a call of a tool, a picture without words
            c = Candidate(*place, row.at_us, context=True)
            _complete_match(search, c, row)
        c.score = made.score
        pairs.append((c, row))
        ranked[place] = made
    return pairs, ranked


def _number_runs(places: Iterable[int]) -> dict[int, int]:
    """Return the number of the run that each place is in: between the places of one run all are there."""
    # Places of a run grow as their order does.
    return {place: place - n for n, place in enumerate(sorted(places))}


def _complete_match(search: Search, c: Candidate, row: FoundRow) -> None:
    """Note what the look-ups did not ask of this row: its tags, and words beyond the budget; then its tier."""
    if row.tags is not None and search.query.tags:
        stored = hits.stored_tags(row.tags)
        c.tags = c.tags.union(t for t in search.query.tags if t in stored)
    folded, matched = row.folded, c.matched
    for i, text, verify in search.said_in_chat if c.source == _CHAT else search.said_elsewhere:
        if text in folded and i not in matched:
            c.match(i, 1, verify)
    for i, text, languages in search.said_whole:
        if i in matched or text not in folded or not search.words[i].applies(c.source, _CHAT):
            continue
        if any(is_form(term, text, languages) for term in index_terms(folded)):
            c.match(i, 1, whole=True)
    if c.context and (matched or c.tags):
        c.context = False


def _ordered(
    search: Search,
    kept: Sequence[Pair],
    ranked: Mapping[Place, Row],
    asked: Asked | None,
) -> list[Candidate]:
    """Return the hits, best first."""
    limit = search.query.limit
    if search.query.ranking == "recency":
        return ranking.tier_then_newest(c for c, _ in kept)[:limit]
    best = ranking.best_first(c for c, _ in kept)
    if asked is None:
        return ranking.choose(best, limit)
    spaced = [best[n] for n in relevance.spaced([ranked[c.source, c.id] for c in best])]
    most = max(1, round(relevance.CONTEXT_SHARE * limit))
    spaced = ranking.without_many_contexts(spaced, most)
    # What fits best by its own words stays, whatever speaks for the others.
    first = max(spaced, key=lambda c: ranked[c.source, c.id].reasons["own"], default=None)
    return ranking.choose(spaced, limit, first)


def _pools(search: Search, pairs: Sequence[Pair], cut: Iterable[int]) -> tuple[list[Pair], bool]:
    """Return the newest `pool` rows of each source that are there, and whether these are all there is to
    choose from.
    """
    counts: Counter[int] = Counter()
    kept = []
    for c, row in pairs:
        counts[c.source] += 1
        if counts[c.source] <= search.query.pool:
            kept.append((c, row))
    return kept, all(counts[number] >= search.query.pool for number in cut)


def _reason_to_drop(search: Search, c: Candidate, row: FoundRow, drop: Drop | None) -> str:
    if c.source == _CHAT and row.conversation in search.query.exclude.conversations:
        return "excluded"
    if (
        search.is_proved_by_text
        and not (c.matched or c.tags or c.context or c.is_offered or c.by_meaning)
        and row.chars <= FOLDED_CHARS
    ):
        return "no match"  # the plain predicates find letters inside words too
    return "" if drop is None else drop(c, row)


def _deduped(search: Search, pairs: Sequence[Pair], ranked: dict[Place, Row]) -> tuple[list[Pair], Sequence[Candidate]]:
    """Return the rows without those that say the same as a newer one, which is worth what the best of them is; and
    those."""
    newest = sorted(pairs, key=lambda pair: (-pair[0].at_us, pair[0].source, -pair[0].id))
    contents = {c: _content(search, row) for c, row in newest}
    if None not in contents.values() and len(set(contents.values())) == len(newest):
        return newest, ()
    kept = hits.dedupe(
        newest,
        identity=lambda pair: (sources.BY_NUMBER[pair[0].source].name, pair[0].id, pair[1].texts[0]),
        content=lambda pair: contents[pair[0]],
    )
    stays = {(c.source, c.id) for c, _ in kept}
    saying = {contents[c]: c for c, _ in kept}
    copies = [c for c, _ in newest if (c.source, c.id) not in stays]
    for c in copies:
        same = saying[contents[c]]
        if c.score > same.score:
            same.score = c.score
            if ranked:
                # An instruction has no neighbours; the message it was said in has, and they tell more of both.
                ranked[same.source, same.id] = ranked[c.source, c.id]
    return kept, copies


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
        looked_for = [w.text for w in search.words if w.applies(c.source, _CHAT)]
        text = hits.snippet_of_match(row.texts, looked_for, chars)
    if text is None:
        text = hits.snippet(shown_text(row), chars)
    return hits.hit(sources.BY_NUMBER[c.source].name, c.id, from_microseconds(row.at_us), text, row.tags, row.said_by)


def shown_text(row: FoundRow) -> str:
    """Return the text a hit shows."""
    if len(row.texts) == 1:
        return row.texts[0]
    content, summary, message, thought = row.texts
    return hits.diary_snippet_text(content, summary, message, thought)
