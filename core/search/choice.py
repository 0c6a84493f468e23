"""Runs a search round after round, and chooses its hits among the rows read: which match, which say the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any, NamedTuple

from ..base import logs
from ..database import sources
from ..database.dialects import from_microseconds
from ..database.engine import Database
from ..errors import ConfigError, StoreReadError
from ..shapes import Hit, LeftOut
from ..text import hits, times
from ..text.question_words import asked_words, begins_with
from ..text.stems import is_form
from ..text.times import iso_text
from ..text.words import index_terms
from .forms import leave_other_words
from .gather import (
    FEW_HITS,
    MOST_COMPARED,
    Round,
    add_plain_matches,
    gather,
    leave_read_by_meaning,
    question_of,
    read_rows,
    score_by_words,
)
from .question.spans import describe_spans
from .ranking.rows import (
    FOLDED_CHARS,
    UNKNOWN,
    Candidate,
    FoundRow,
    RankingQuery,
    best_first,
    choose,
    newest_first,
    tier_then_newest,
    without_many_contexts,
)
from .resolve import Search, widen
from .table import Repeated, find_copies, list_repeated

Drop = Callable[[Candidate, FoundRow], str]
"""Returns why a row is left out beside what the search itself leaves out, "" to keep it."""
_CHAT = sources.CHAT.number
MOST_ROUNDS = 12
UNREAD_TIME = "Words of time in the question could not be read; no span of time was looked for."
FULL_SHARE = 0.6
"""Of what the best row holds: rows that hold as much are ordered by time where the first or last is asked for."""
FIRST_HITS = 10
"""Hits of which the last is the newest about a question in the present, where it is not among them anyway."""


class Chosen(NamedTuple):
    """One hit and why it was chosen."""

    hit: Hit
    candidate: Candidate
    row: FoundRow
    rank: int


@dataclass(frozen=True, slots=True)
class Result:
    """What a search found, and what it left out."""

    round: Round
    """The last one."""
    chosen: Sequence[Chosen] = ()
    """The hits, newest first."""
    left: Sequence[tuple[Candidate, str]] = ()
    """Rows read that are no hits, with the reason."""
    is_done: bool = True
    """Going deeper can bring nothing more: there are `limit` hits, or no further matching rows. In recency mode the
    newest of each source are all there is to choose from."""
    repeated: Sequence[Repeated] = ()
    """Texts that many of the rows read are copies of."""

    @property
    def left_out(self) -> list[LeftOut]:
        """Return the rows read that are no hits, as a report tells them."""
        return [LeftOut("memories", reason, f"{sources.BY_NUMBER[c.source].name}/{c.id}") for c, reason in self.left]


def choose_hits(current: Round, drop: Drop | None = None) -> Result:
    """Return the hits among the rows that were read, each with its rank among them."""
    search, is_complete = current.search, current.is_complete
    query = search.query
    for c in current.candidates:
        c.row = current.rows.get((c.source, c.id))
    found = [c for c in current.candidates if c.row is not None]
    if query.ranking == "recency":
        found, is_complete = _pools(search, found, current.cut)
    for c in found:
        _complete_match(search, c)
    asked = current.asked if query.text else None
    if asked is not None:
        found = _rank(current, asked, found)
    kept, left = _drop_some(search, found, drop)
    if asked is None and query.ranking != "recency":
        score_by_words(current, kept)
    kept, copies = _dedupe(search, kept, with_places=asked is not None)
    left += [(c, "duplicate") for c in copies]
    ordered = _order(search, kept, asked)
    rank = {c: n for n, c in enumerate(ordered, 1)}
    left += [(c, "limit") for c in kept if c not in rank and not c.context]
    chosen = [
        Chosen(_build_hit(search, row), c, row, rank[c]) for c in newest_first(ordered) if (row := c.row) is not None
    ]
    is_done = is_complete or len(chosen) >= query.limit
    repeated: Sequence[Repeated] = ()
    if not is_done and current.matches is not None:
        reasons = dict(left)
        repeated = list_repeated((c.row, c.score, reasons.get(c, "")) for c in found if c.row is not None)
    return Result(current, chosen, left, is_done, repeated)


def _rank(current: Round, asked: RankingQuery, found: Sequence[Candidate]) -> list[Candidate]:
    """Return the rows that may become hits, best first, with their scores."""
    from .ranking import relevance  # noqa: PLC0415 - loads numpy, which only a search needs

    meaning = current.meaning
    # What says nothing: a call of a tool, a picture without words.
    rows = [c for c in found if not c.context or (c.row is not None and c.row.folded.strip())]
    if meaning is None:
        made = relevance.rank_rows(rows, asked)
    else:
        vectors = meaning.vectors([c.key for c in rows])
        for c in rows:
            c.meaning, c.vector = meaning.of(*c.key), vectors.get(c.key)
        made = relevance.rank_rows(rows, asked, meaning.as_one, meaning.share)
    for c in made:
        said = asked_words(c.row.folded) if c.row is not None and c.kept == "correction" else ""
        if c.kept == "correction" and not begins_with(said, "corrects", asked.languages):
            c.kept = ""
        c.context = c.context and not (c.matched or c.kept)
    return best_first(made)


def _complete_match(search: Search, c: Candidate) -> None:
    """Note what the look-ups did not ask of a row: its tags, and words beyond the budget; then its tier."""
    row = c.row
    assert row is not None
    folded, matched, languages = row.folded, c.matched, search.settings.languages
    stored = hits.stored_tags(row.tags) if row.tags is not None and search.tag_ids else ()
    for i, term in enumerate(search.terms):
        if i in matched:
            continue
        if term.kind == "tag":
            if term.text in stored:
                c.match(i, 1, whole=True)
        elif (
            term.kind != "minor"
            and term.text in folded
            and term.applies(c.source)
            and (not term.whole_only or any(is_form(word, term.text, languages) for word in index_terms(folded)))
        ):
            c.match(i, 1, whole=term.whole_only or bool(term.pieces))
    if search.is_proved_by_text:
        leave_other_words(search, c, row.texts)
    tags = search.tag_ids | search.tag_word_ids if c.source == _CHAT else search.tag_ids
    if not tags.isdisjoint(matched) and not search.keyword_ids.isdisjoint(matched):
        c.tier = 1


def _pools(search: Search, found: Sequence[Candidate], cut: frozenset[int]) -> tuple[list[Candidate], bool]:
    """Return the newest `pool` rows of each source, and whether these are all there is to choose from."""
    counts: Counter[int] = Counter()
    kept = []
    for c in found:
        counts[c.source] += 1
        if counts[c.source] <= search.query.pool:
            kept.append(c)
    return kept, all(counts[number] >= search.query.pool for number in cut)


def _drop_some(
    search: Search, found: Sequence[Candidate], drop: Drop | None
) -> tuple[list[Candidate], list[tuple[Candidate, str]]]:
    """Return the rows that may be hits, and the others with the reason."""
    kept: list[Candidate] = []
    left: list[tuple[Candidate, str]] = []
    without = search.query.exclude.conversations
    for c in found:
        row = c.row
        assert row is not None
        reason = ""
        if without and c.source == _CHAT and row.conversation in without:
            reason = "excluded"
        elif search.is_proved_by_text and not (c.matched or c.context or c.kept or c.is_offered or c.by_meaning):
            # The plain predicates find letters inside words too, and further in than was read.
            reason = "no match" if c.source != _CHAT or len(row.folded) < FOLDED_CHARS else ""
        if not reason and drop is not None:
            reason = drop(c, row)
        if reason:
            left.append((c, reason))
        else:
            kept.append(c)
    return kept, left


def _dedupe(search: Search, found: list[Candidate], *, with_places: bool) -> tuple[list[Candidate], list[Candidate]]:
    """Return the rows without those that say the same as a newer one, which is worth what the best of them is; and
    those."""
    by_content: dict[bytes, Candidate] = {}
    copies = []
    for c in newest_first(found):
        content = _read_content(search, c)
        if content is None:
            continue
        same = by_content.setdefault(content, c)
        if same is c:
            continue
        copies.append(c)
        if c.score > same.score:
            same.score = c.score
            if with_places:
                # An instruction has no neighbours; the message it was said in has, and they tell more of both.
                same.session, same.session_rows, same.long = c.session, c.session_rows, c.long
                same.reasons, same.parts = c.reasons, c.parts
    gone = set(copies)
    return [c for c in found if c not in gone] if gone else found, copies


def _read_content(search: Search, c: Candidate) -> bytes | None:
    """Return what tells whether two rows say the same, None where the row was not read whole."""
    assert c.row is not None
    if c.row.digest is not None and c.row.texts[0].strip():
        return c.row.digest
    text = c.row.shown_text
    return hits.content_digest(text) if len(text) < search.chars else None


def _order(search: Search, kept: Sequence[Candidate], asked: RankingQuery | None) -> list[Candidate]:
    """Return the hits, best first."""
    limit = search.query.limit
    if search.query.ranking == "recency":
        return tier_then_newest(kept)[:limit]
    best = best_first(kept)
    if asked is None:
        return choose(best, limit)
    if asked.question.order:
        return _order_by_time(best, asked.question.order == "first")[:limit]
    from .ranking import relevance  # noqa: PLC0415 - as in `_rank`

    most_contexts = max(1, round(relevance.CONTEXT_SHARE[limit > FEW_HITS] * limit))
    spaced = without_many_contexts(relevance.space_rows(best), most_contexts)
    spaced = _place_kept(spaced, limit)
    # What fits best by its own words stays, whatever speaks for the others.
    first, own = None, -1.0
    for c in spaced:
        if c.own > own:
            first, own = c, c.own
    return choose(spaced, limit, first)


def _order_by_time(best: Sequence[Candidate], is_first: bool) -> list[Candidate]:
    """Return those that hold most of what is asked, the first or last said of them first, then the others."""
    most = max((c.own for c in best), default=0.0)
    full = [c for c in best if c.own >= FULL_SHARE * most]
    full.sort(key=lambda c: c.at_us if is_first else -c.at_us)
    return [*full, *(c for c in best if c.own < FULL_SHARE * most)]


def _place_kept(ordered: Sequence[Candidate], limit: int) -> list[Candidate]:
    """Return the candidates with lines of others behind the first, the newest among the first ten, and each correction
    behind its line.
    """
    corrections = {c.place - 1: c for c in ordered if c.kept == "correction"}

    def with_corrections(lines: Iterable[Candidate]) -> list[Candidate]:
        return [each for line in lines for each in (line, corrections.get(line.place)) if each is not None]

    last = max(1, min(limit, FIRST_HITS) - 1)
    newest = with_corrections(c for c in ordered[last:] if c.kept == "newest")
    others = [c for c in ordered[1:] if c.kept == "others"]
    moved = {*newest, *others, *corrections.values()}
    rest = [c for c in ordered if c not in moved]
    placed = with_corrections([*rest[:1], *others, *rest[1:]])
    at = max(1, last + 1 - len(newest))
    return [*placed[:at], *newest, *placed[at:]]


def _build_hit(search: Search, row: FoundRow) -> Hit:
    chars = search.settings.snippet_chars
    text = None
    if search.settings.snippet_window == "match":
        looked_for = [term.text for term in search.terms if term.applies(row.source)]
        text = hits.snippet_of_match(row.texts, looked_for, chars)
    if text is None:
        text = hits.snippet(row.shown_text, chars)
    return hits.hit(
        sources.BY_NUMBER[row.source].name, row.id, from_microseconds(row.at_us), text, row.tags, row.said_by
    )


def _find_neighbours(current: Round, candidate: Candidate) -> list[int]:
    """Return the ids of the messages right before and after one of the same conversation."""
    if candidate.place == UNKNOWN or candidate.source != _CHAT or current.matches is None:
        return []
    found, at = current.matches.audiences[candidate.place >> 32], candidate.place & 0xFFFFFFFF
    view = found.view
    near = [n for n in (at - 1, at + 1) if 0 <= n < len(view) and view.thread[n] == view.thread[at]]
    return [int(view.row_id[n]) for n in near if found.readable is None or found.readable([n])[0]]


def build_report(result: Result) -> dict[str, Any]:
    """Return the report of a search: plain JSON, without any text of a row."""
    query, terms = result.round.search.query, result.round.search.terms
    return {
        "ranking": query.ranking,
        "hits": [
            {
                "source": one.hit["source"],
                "id": one.hit["id"],
                "timestamp": one.hit["timestamp"],
                "conversation": one.row.conversation,
                "speaker": one.row.said_by,
                "neighbours": _find_neighbours(result.round, one.candidate),
                "rank": one.rank,
                "score": round(one.candidate.score, 4),
                "tier": one.candidate.tier,
                "tags": sorted(terms[i].text for i in one.candidate.matched if terms[i].kind == "tag"),
                "words": sorted(terms[i].text for i in one.candidate.matched if terms[i].kind != "tag"),
                "context": one.candidate.context,
                "meaning": one.candidate.by_meaning,
                "kept": one.candidate.kept,
                "reasons": {name: round(value, 4) for name, value in sorted((one.candidate.parts or {}).items())},
            }
            for one in result.chosen
        ],
        "sources": {
            source.name: {
                "considered": result.round.considered.get(source.number, 0),
                "dropped": dict(Counter(reason for c, reason in result.left if c.source == source.number)),
                "error": str(result.round.errors.get(source.number, "")),
            }
            for source in query.sources
        },
        "spans": [
            {"start": iso_text(span.start), "end": iso_text(span.end), "precision": span.precision, "role": span.role}
            for span in (result.round.question.spans or result.round.missed)
        ],
        "notes": [
            *query.notes,
            *([UNREAD_TIME] if result.round.question.has_unread_time else []),
            *describe_spans(result.round.missed, times.zone(result.round.search.settings.timezone) or UTC),
            *([str(error)] if (error := result.round.meaning_error) else []),
            *([f"The search index: {why}"] if (why := result.round.index_error) else []),
            *(
                f"Only the newest {MOST_COMPARED:,} rows of {sources.BY_NUMBER[number].name} were compared."
                for number in result.round.newest_only
            ),
        ],
    }


# Round after round, until there are enough hits or no more rows that match


def start(search: Search, db: Database, before: Result | None = None, *, extra: int = 0) -> Round:
    """Return the next round with its rows read.

    Args:
        before: what the round before found.
        extra: rows to read beyond those that can become hits, where some of these will be left out.
    """
    if before is None:
        current = Round(search, question_of(search, db.clock()), extra=extra)
    else:
        last = before.round
        copies = [*last.copies, *find_copies(db, search.viewer.scope.persona, before.repeated)]
        current = Round(last.search, last.question, last.depth + 1, last.extra, copies)
        current.missed = last.missed
        current.meaning_error = last.meaning_error
    gather(current, db)
    query = search.query
    if current.depth == 0 and current.count_matching() < query.limit and (wider := widen(search)) is not None:
        current = Round(wider, current.question, extra=extra)
        gather(current, db)
    is_by_index = query.ranking == "relevance" and current.index_error is None
    if is_by_index and not query.text and current.count_matching() < query.limit:
        add_plain_matches(current, db)
    if search.embedder is None or query.ranking != "relevance":
        read_rows(current, db)
    else:
        _compare(current, db, before)
    return current


def _compare(current: Round, db: Database, before: Result | None) -> None:
    """Compare rows with the message by their meaning, and read those that are near in words or meaning."""
    from ..llm.embedder import EmbedderError  # noqa: PLC0415 - loads what asks servers
    from . import meaning  # noqa: PLC0415

    try:
        if current.meaning_error is None:
            meaning.compare_rows(current, db, None if before is None else before.round.meaning)
    except (EmbedderError, StoreReadError, ConfigError) as error:
        logs.warning("embedder_failed", error=type(error).__name__, reason=getattr(error, "reason", ""))
        current.meaning_error = error
    leave_read_by_meaning(current)
    read_rows(current, db)
    if current.meaning is not None:
        current.meaning.know(list(current.rows))


def run(search: Search, db: Database, drop: Drop | None = None, after: Result | None = None) -> Result:
    """Gather, read and choose, deeper where fewer hits than the limit came out and more rows may match."""
    result = after
    while True:
        current = start(search, db, result)
        result = choose_hits(current, drop)
        if result.is_done or current.depth + 1 >= MOST_ROUNDS:
            return result
