"""Candidates of a search: from the search tables, and from the rows themselves where these are not indexed.

Relevance mode ranks every row that matches and hands the best on; recency mode takes the newest matching rows of each
source. In later rounds more of them come.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..base import logs
from ..database import sources
from ..database.engine import Database
from ..database.sources import SourceTable
from ..errors import StoreReadError
from ..index.lookups import UNLISTED, Count
from ..index.postings import AT_LEAST, AT_MOST
from ..index.table import TAG, WORD
from .asked import build_asked
from .question.question import Question
from .ranking import ranking
from .ranking.ranking import INSIDE, Candidate
from .ranking.rows import Asked
from .reading import plain as search_plain
from .terms import Search

if TYPE_CHECKING:
    from .ranking.all_rows import Matches, RankedRow, Ranking, Term

PLAIN_POOL = 200
"""Newest matching rows of a source that is not indexed, in the first round of relevance mode."""
MOST_POSTINGS = 5_000_000
"""Postings of all words together that are read; beyond, the commonest words are left aside."""
NEAR_BEST = 16
"""Best rows around which others are brought."""
PROVED_AT_ONCE = 400
"""Rows whose texts are compared at once with what is looked for."""
_CHAT = sources.CHAT.number

Found = dict[tuple[int, int], Candidate]


@dataclass(frozen=True, slots=True)
class Gathered:
    """The candidates of one round."""

    candidates: Sequence[Candidate] = ()
    complete: bool = True
    """Every matching row is among them, in relevance mode."""
    cut: frozenset[int] = frozenset()
    """In recency mode, sources that may hold more matching rows than are among them."""
    considered: Mapping[int, int] = field(default_factory=dict)
    """Source to the rows found."""
    errors: Mapping[int, StoreReadError] = field(default_factory=dict)
    """Sources that could not be read."""
    index_error: StoreReadError | ValueError | None = None
    """Why the search tables could not be read: the plain predicates were asked alone."""
    asked: Asked | None = None
    """What is asked, as the ranking sees it; None where no rows were ranked."""
    places: Mapping[tuple[int, int], RankedRow] = field(default_factory=dict)
    """Source and id to what is known of a row beside its text: of candidates, and of rows around the best of them."""
    around: Sequence[int] = ()
    """Messages that stand around the best candidates, by id."""
    left_aside: tuple[str, ...] = ()
    """Words that too many rows hold to be ranked by."""


def gather_candidates(
    search: Search, db: Database, question: Question, depth: int = 0, *, use_index: bool = True
) -> Gathered:
    """Return the candidates; what is not indexed yet is asked by the plain predicates.

    Args:
        depth: how often too few hits came out before.
        use_index: False where the search tables could not be read before.

    Raises:
        StoreReadError: no source could be read.
    """
    viewer = search.viewer
    if not viewer.audiences:
        return Gathered()
    indexed = [s for s in search.query.sources if use_index and s.number in viewer.ready]
    plain = [s for s in search.query.sources if s not in indexed or s.number in viewer.waiting]
    made, found = Gathered(), Found()
    index_error: StoreReadError | ValueError | None = None
    if indexed:
        try:
            made = _indexed(search, db, question, [s.number for s in indexed], depth)
            found = {(c.source, c.id): c for c in made.candidates}
        except (StoreReadError, ValueError) as error:
            logs.warning("search_index_unread", error=type(error).__name__, number=getattr(error, "number", None))
            use_index, plain = False, list(search.query.sources)
            index_error = error
    complete, errors = made.complete, dict[int, StoreReadError]()
    for source in plain:
        try:
            rows, is_all = _plain(search, db, source, depth, only_waiting=use_index and source.number in viewer.ready)
        except StoreReadError as error:
            log_unread(source.number, error)
            errors[source.number] = error
        else:
            for candidate in rows:
                found.setdefault((candidate.source, candidate.id), candidate)
            complete &= is_all
    if errors and len(errors) == len(search.query.sources):
        raise next(iter(errors.values()))
    by_source: dict[int, list[Candidate]] = {}
    for candidate in found.values():
        by_source.setdefault(candidate.source, []).append(candidate)
    kept, cut = _newest(search, by_source, depth) if search.query.ranking == "recency" else (by_source, frozenset())
    candidates = [candidate for number in sorted(kept) for candidate in kept[number]]
    considered = {number: max(len(rows), made.considered.get(number, 0)) for number, rows in by_source.items()}
    return replace(
        made, candidates=candidates, complete=complete, cut=cut, considered=considered, errors=errors,
        index_error=index_error,
    )  # fmt: skip


def log_unread(source: int, error: StoreReadError) -> None:
    """Log that a source could not be read; the others' hits come back."""
    logs.warning("source_unread", source=sources.BY_NUMBER[source].table.name, number=error.number)


def _newest(
    search: Search, by_source: Mapping[int, Sequence[Candidate]], depth: int
) -> tuple[dict[int, list[Candidate]], frozenset[int]]:
    """Return the newest rows of each source, some more than wanted for rows that are gone, and the sources cut off."""
    most = {number: _pool(search, number, depth) for number in by_source}
    kept = {number: ranking.tier_then_newest(rows)[: most[number]] for number, rows in by_source.items()}
    return kept, frozenset(number for number, rows in by_source.items() if len(rows) >= most[number])


def _excluded(search: Search, number: int) -> list[int]:
    name = sources.BY_NUMBER[number].name
    return sorted(row_id for source, row_id in search.query.exclude.rows if source == name)


def _pool(search: Search, number: int, depth: int) -> int:
    """Return how many rows of a source are read in recency mode: rows expired or gone are found out later."""
    return search.query.pool * int(4**depth) + len(_excluded(search, number))


def _plain(
    search: Search, db: Database, source: SourceTable, depth: int, *, only_waiting: bool
) -> tuple[Sequence[Candidate], bool]:
    """Return the rows of a source that its index does not hold, and whether these are all that match."""
    if search.query.ranking == "recency":
        pool = search.query.pool * 4**depth
    else:
        pool = max(search.query.pool, PLAIN_POOL) * 8**depth
    asked = search_plain.question(source, search.query.tags, search.words, search.limits)
    asked = replace(
        asked,
        audiences=search.viewer.audiences,
        pool=pool,
        without_rows=tuple(_excluded(search, source.number)),
        ids=search.viewer.waiting.get(source.number) if only_waiting else None,
    )
    rows = search_plain.search(db, asked)
    return rows, len(rows) < pool


# From the index


def _indexed(search: Search, db: Database, question: Question, numbers: Sequence[int], depth: int) -> Gathered:
    """Return the rows that the search tables lead to.

    Raises:
        StoreReadError: they could not be read.
        ValueError: they are damaged.
    """
    words, left_aside = _words_wanted(search, numbers)
    tags = [c for c in search.known.tags if c.source in numbers and c.source != _CHAT]
    visible = _read_index(search, db, words, tags, numbers)
    if search.query.ranking == "recency":
        return replace(_newest_indexed(search, db, visible, numbers, depth), left_aside=left_aside)
    return replace(_ranked(search, db, question, visible, numbers, depth), left_aside=left_aside)


def _words_wanted(search: Search, numbers: Sequence[int]) -> tuple[list[Count], tuple[str, ...]]:
    """Return the known words that hold what is asked, and those that too many rows hold."""
    wanted = {term for word in search.words for term in word.terms} | {UNLISTED}
    cells = [c for c in search.known.words if c.key in wanted and c.source in numbers]
    docs: dict[str, int] = {}
    for cell in cells:
        docs[cell.key] = docs.get(cell.key, 0) + cell.docs
    total, aside = sum(docs.values()), list[str]()
    for key in sorted(docs, key=lambda one: -docs[one]):
        if total <= MOST_POSTINGS:
            break
        total -= docs[key]
        aside.append(key)
    return [c for c in cells if c.key not in aside], tuple(aside)


class _Terms:
    """The words and tags asked for, each with a number, and what they mean for the ranking."""

    def __init__(self, search: Search) -> None:
        self.numbers: dict[tuple[int, str], int] = {}
        self.search = search
        for word in search.words:
            for term in () if word.walk else word.terms:
                self.numbers.setdefault((WORD, term), len(self.numbers))
        for tag in search.query.tags:
            self.numbers.setdefault((TAG, tag), len(self.numbers))
        self.unlisted = self.numbers.setdefault((WORD, UNLISTED), len(self.numbers))
        self.keys = list(self.numbers)

    def described(self, asked: Asked) -> list[list[Term]]:
        """Return what each number means: one meaning for each group of texts that the word belongs to."""
        from .ranking.all_rows import Term  # noqa: PLC0415 - loads numpy, which only a search needs

        made: list[list[Term]] = [[] for _ in self.keys]
        for i, word in enumerate(self.search.words):
            chat_only = not (word.is_keyword or word.is_minor)
            for term, is_whole in {} if word.walk else word.terms.items():
                each = Term(asked.groups[i], 1.0 if is_whole else INSIDE, chat_only=chat_only)
                meanings = made[self.numbers[WORD, term]]
                same = next((n for n, one in enumerate(meanings) if one.group == each.group), None)
                if same is None:
                    meanings.append(each)
                elif each.factor > meanings[same].factor or meanings[same].chat_only > each.chat_only:
                    meanings[same] = each
        for tag, worth in asked.tags.items():
            made[self.numbers[TAG, tag]].append(Term(-1, 1.0, worth))
        return made


@dataclass(eq=False)
class _Visible:
    """What the index holds of one audience."""

    view: Any
    index: Any
    """Row of each posting."""
    times: Any
    term: Any
    readable: Any
    """Which rows may be read; None for all."""


def _read_index(
    search: Search, db: Database, words: Sequence[Count], tags: Sequence[Count], numbers: Sequence[int]
) -> tuple[_Terms, list[_Visible]]:
    """Return the postings of what is asked, audience by audience, of rows that may be read alone."""
    from ..index import held  # noqa: PLC0415 - loads numpy

    terms, made = _Terms(search), list[_Visible]()
    for view, own, blocks, gone in held.read_audiences(
        db, words, tags, search.viewer.audiences, numbers, search.limits.persona
    ):
        index, times, term = view.read_postings(own, blocks, terms.numbers)
        keep = _readable(search, view, gone, numbers)
        if keep is not None:
            kept = keep[index]
            index, times, term = index[kept], times[kept], term[kept]
        if len(index):
            made.append(_Visible(view, index, times, term, keep))
    return terms, made


def _readable(search: Search, view: Any, gone: Collection[Any], numbers: Sequence[int]) -> Any:
    """Return which rows of an audience may be read; None for all of them."""
    import numpy as np  # noqa: PLC0415 - as above

    limits, every = search.limits, np.arange(len(view))
    keep = np.ones(len(view), bool)
    keep[view.find_gone(gone)] = False
    if not limits.local_only:
        keep &= view.take("local_only", every) == 0
    if len(numbers) < len(sources.ALL):
        keep &= np.isin(view.take("source", every), np.array(list(numbers)))
    if limits.since_us != AT_LEAST:
        keep &= view.take("at_us", every) >= limits.since_us
    if limits.until_us != AT_MOST:
        keep &= view.take("at_us", every) < limits.until_us
    if limits.without_conversations:
        without = [n for n, thread in enumerate(view.threads) if thread in limits.without_conversations]
        keep &= ~np.isin(view.take("thread", every), np.array(without, np.int64))
    return None if keep.all() else keep


def _ranked(
    search: Search, db: Database, question: Question, read: tuple[_Terms, list[_Visible]], numbers: Sequence[int],
    depth: int,
) -> Gathered:  # fmt: skip
    """Return the best of all rows that match."""
    from .ranking import all_rows  # noqa: PLC0415 - as above

    terms, visible = read
    names = {who.name for one in visible for who in one.view.speakers_named(search.query.text)}
    asked = build_asked(search, question, names)
    by_words = not search.query.text
    matches, described, origin = _as_matches(terms, visible, asked)
    reach = search.settings.context_reach if asked.has_answers and not by_words else 0
    made: Ranking = all_rows.rank_all(
        matches,
        described,
        asked,
        allowed=_not_left_out(search, visible),
        here=search.viewer.scope.conversation or "",
        reach=reach,
        near_rows=NEAR_BEST,
        best=all_rows.BEST * 8**depth,
        by_words=by_words,
    )
    keys = [terms.keys[n] for n in origin]
    found = [_candidate(search, keys, row) for row in made.best if row.is_match]
    unproved = [c for c in found if not (c.matched or c.tags)]
    proved = _prove(search, db, unproved)
    found = [c for c in found if c.matched or c.tags or (c.source, c.id) in proved]
    found += _unlisted(search, db, terms, visible, {(c.source, c.id) for c in found})
    found += _walked(search, db, numbers, {(c.source, c.id) for c in found}, depth)
    complete = sum(made.matching.values()) <= sum(row.is_match for row in made.best)
    complete &= not any(w.cut for w in search.words)
    places = {(row.source, row.row_id): row for row in (*made.best, *made.around)}
    beside = [row.row_id for row in made.best if not row.is_match and row.source == _CHAT][:NEAR_BEST]
    around = dict.fromkeys([*beside, *(row.row_id for row in made.around)])
    return Gathered(found, complete, considered=made.matching, asked=asked, places=places, around=list(around))


def _as_matches(
    terms: _Terms, visible: Sequence[_Visible], asked: Asked
) -> tuple[list[Matches], list[Term], list[int]]:
    """Return what matches as the ranking takes it, a word of several groups once for each; and of which word or tag."""
    import numpy as np  # noqa: PLC0415 - as above

    from .ranking.all_rows import Matches  # noqa: PLC0415

    meanings = terms.described(asked)
    described = [each for of in meanings for each in of]
    first = np.cumsum([0, *(len(of) for of in meanings)])
    made = []
    for one in visible:
        parts = []
        for term, of in enumerate(meanings):
            at = np.flatnonzero(one.term == term) if of else ()
            for n, each in enumerate(of if len(at) else ()):
                here = at[one.view.is_chat(one.index[at])] if each.chat_only else at
                parts.append((one.index[here], one.times[here], np.full(len(here), first[term] + n)))
        if parts:
            index, times, term_ = (np.concatenate(columns) for columns in zip(*parts, strict=True))
            made.append(Matches(one.view, index, times, term_, one.readable))
    return made, described, [n for n, of in enumerate(meanings) for _ in of]


def _not_left_out(search: Search, visible: Sequence[_Visible]) -> dict[int, Any] | None:
    """Return which rows may become hits, where some are left out by name."""
    import numpy as np  # noqa: PLC0415 - as above

    if not search.query.exclude.rows:
        return None
    made = {}
    left_out = [(sources.BY_NAME[name].number, row_id) for name, row_id in search.query.exclude.rows]
    for n, one in enumerate(visible):
        allowed = np.ones(len(one.view), bool)
        allowed[one.view.find_rows(left_out)] = False
        made[n] = allowed
    return made


def _candidate(search: Search, keys: Sequence[tuple[int, str]], row: RankedRow) -> Candidate:
    c = Candidate(row.source, row.row_id, row.at_us, row.words, score=row.score)
    _tell_matches(search, c, {keys[n]: times for n, times in row.terms.items()})
    return c


def _tell_matches(search: Search, c: Candidate, held: Mapping[tuple[int, str], int]) -> None:
    """Note what a row holds by its words and tags; what these alone do not prove is found out from its text."""
    for i, word in enumerate(search.words):
        if word.verify or word.walk or not word.applies(c.source, _CHAT):
            continue
        for term, is_whole in word.terms.items():
            times = held.get((WORD, term))
            if times:
                c.match(i, times, is_whole)
    tags = {key for kind, key in held if kind == TAG}
    if tags:
        c.tags = c.tags.union(tags)
    if search.query.tags and search.query.keywords and is_first_tier(search, c):
        c.tier = 1


def _prove(search: Search, db: Database, rows: Sequence[Candidate]) -> set[tuple[int, int]]:
    """Return which of the rows hold one of the texts that their words alone do not prove, and note it."""
    texts = [(i, w.text) for i, w in enumerate(search.words) if not (w.is_minor or w.whole_only)]
    proved: set[tuple[int, int]] = set()
    for source in search.query.sources:
        of = {c.id: c for c in rows if c.source == source.number}
        asked = [(i, text) for i, text in texts if search.words[i].applies(source.number, _CHAT)]
        for row_id, i in search_plain.holding(db, source, search.limits.persona, list(of), asked):
            of[row_id].match(i, 1, search.words[i].verify)
            proved.add((source.number, row_id))
    for c in rows:
        if search.query.tags and search.query.keywords and is_first_tier(search, c):
            c.tier = 1
    return proved


def _unlisted(
    search: Search, db: Database, terms: _Terms, visible: Sequence[_Visible], known: Collection[tuple[int, int]]
) -> list[Candidate]:
    """Return rows with words that the index does not hold, as far as they hold what is asked: the newest of them."""
    rows = [c for c in _rows_with(visible, terms.unlisted) if (c.source, c.id) not in known]
    rows = ranking.newest_first(rows)[:PROVED_AT_ONCE]
    proved = _prove(search, db, rows)
    return [c for c in rows if (c.source, c.id) in proved]


def _rows_with(visible: Sequence[_Visible], term: int) -> list[Candidate]:
    made = []
    for one in visible:
        rows = one.index[one.term == term]
        columns = (one.view.take(name, rows).tolist() for name in ("source", "row_id", "at_us", "words"))
        made += [Candidate(*each) for each in zip(*columns, strict=True)]
    return made


def _walked(
    search: Search, db: Database, numbers: Sequence[int], known: Collection[tuple[int, int]], depth: int
) -> list[Candidate]:
    """Return the newest rows that hold a text to which no known word leads."""
    walked = [w for w in search.words if w.walk and not w.is_minor]
    made: list[Candidate] = []
    for number in numbers if walked else ():
        source = sources.BY_NUMBER[number]
        asked = search_plain.question(source, (), walked, search.limits)
        asked = replace(asked, audiences=search.viewer.audiences, pool=PLAIN_POOL * 8**depth)
        rows = search_plain.search(db, replace(asked, without_rows=tuple(_excluded(search, number))))
        made += [c for c in rows if (c.source, c.id) not in known]
    _prove(search, db, made)
    return made


# In recency mode


def _newest_indexed(
    search: Search, db: Database, read: tuple[_Terms, list[_Visible]], numbers: Sequence[int], depth: int
) -> Gathered:
    """Return the newest matching rows of each source."""
    terms, visible = read
    if any(w.walk or w.cut for w in search.words):
        found: list[Candidate] = []
        for number in numbers:
            rows, _ = _plain(search, db, sources.BY_NUMBER[number], depth, only_waiting=False)
            found += rows
        return Gathered(found)
    made: list[Candidate] = []
    for number in numbers:
        made += _newest_of(search, db, terms, visible, number, _pool(search, number, depth))
    return Gathered(made)


def _newest_of(
    search: Search, db: Database, terms: _Terms, visible: Sequence[_Visible], number: int, most: int
) -> list[Candidate]:
    """Return the newest matching rows of a source, tier 1 first, as far as their texts hold what is asked."""
    import numpy as np  # noqa: PLC0415 - as above

    both = bool(search.query.tags and search.query.keywords)
    tags, keywords = (np.array(each, bool) for each in _sides(search, terms, number))
    parts = []
    for n, one in enumerate(visible):
        mine = np.flatnonzero(one.view.take("source", one.index) == number)
        order = mine[np.argsort(one.index[mine], kind="stable")]
        rows, first = np.unique(one.index[order], return_index=True)
        if not len(rows):
            continue
        of = one.term[order]
        tier = np.full(len(rows), 2)
        if both:
            tier[np.logical_or.reduceat(tags[of], first) & np.logical_or.reduceat(keywords[of], first)] = 1
        ends = np.append(first[1:], len(order))
        parts.append((tier, one.view.take("at_us", rows), one.view.take("row_id", rows), np.full(len(rows), n),
                      first, ends, order))  # fmt: skip
    if not parts:
        return []
    tier, at_us, ids, audience, first, ends = (np.concatenate([part[k] for part in parts]) for k in range(6))
    orders = {int(part[3][0]): part[6] for part in parts}
    # Where a text decides about the tier, all are looked at.
    is_open = any(w.verify for w in search.words)
    made: list[Candidate] = []
    excluded = set(_excluded(search, number))
    newest = np.lexsort((-ids, -at_us, tier))
    size = max(PROVED_AT_ONCE, most)
    for start in range(0, len(newest), size):
        if len(made) >= most and not (is_open and both):
            break
        some = []
        for n in newest[start : start + size].tolist():
            if int(ids[n]) in excluded:
                continue
            c = Candidate(number, int(ids[n]), int(at_us[n]))
            one, part = visible[int(audience[n])], orders[int(audience[n])][first[n] : ends[n]]
            held = zip(one.term[part].tolist(), one.times[part].tolist(), strict=True)
            _tell_matches(search, c, {terms.keys[t]: k for t, k in held})
            some.append(c)
        unproved = [c for c in some if is_open or not (c.matched or c.tags)]
        proved = _prove(search, db, unproved) if unproved else set()
        made += [c for c in some if c.matched or c.tags or (c.source, c.id) in proved]
    return ranking.tier_then_newest(made)[:most]


def _sides(search: Search, terms: _Terms, number: int) -> tuple[list[bool], list[bool]]:
    """Return for each word or tag asked for whether it is a tag of a source's rows, and whether it is a keyword."""
    tags, keywords = [kind == TAG for kind, _ in terms.keys], [False] * len(terms.keys)
    for word in search.words:
        for term in word.terms if word.applies(number, _CHAT) and not (word.walk or word.verify) else ():
            at = terms.numbers[WORD, term]
            keywords[at] |= word.is_keyword
            tags[at] |= word.is_tag and number == _CHAT
    return tags, keywords


def is_first_tier(search: Search, c: Candidate) -> bool:
    """Return whether what a row is known to match holds a tag and a keyword."""
    if not c.tags and (c.source != _CHAT or search.tag_numbers.isdisjoint(c.matched)):
        return False
    return not search.keyword_numbers.isdisjoint(c.matched)
