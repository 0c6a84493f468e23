"""The look-ups of a search: bounded whatever the tables hold, complete where they say so (T24, T27, T29, T30)."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from hypothesis import given
from hypothesis import strategies as st

from core.index.lookups import UNLISTED, Count, Known, Lookup, Wanted, packed, rarity, total
from core.search.ranking.lookups_recency import MOST_WALKS, by_recency
from core.search.ranking.lookups_relevance import MERGED_POSTINGS, MOST_LOOKUPS, Depth, by_relevance

CHAT = 2
DEPTH = Depth(budget=300, newest=60, scan=2000)


def known(words: Iterable[Count], tags: Iterable[Count] = (), audiences: Sequence[int] = (1, 2, 3)) -> Known:
    """Return what is known of three sources in some audiences."""
    rows = {(a, s): 1_000_000 for a in audiences for s in (0, 1, 2)}
    return Known(list(words), list(tags), tuple(audiences), (0, 1, CHAT), CHAT, rows)


def keyword(text: str, *terms: str, **more: bool) -> Wanted:
    """Return a keyword found by these words; its own is the whole word."""
    return Wanted(text, is_keyword=True, is_tag=False, terms={t: t == text for t in terms or (text,)}, **more)


def cost(lookup: Lookup, seen: Known) -> int:
    """Return how many postings or rows a look-up may read: all it sorts, else those it walks."""
    if lookup.kind == "walk":
        return lookup.scan or 1_000_000
    counts = seen.words if lookup.kind == "words" else seen.tags
    here = [c for c in counts if c.audience in lookup.audiences and c.key in lookup.keys and c.source in lookup.sources]
    if lookup.also:
        return min(total(here), lookup.scan or 1_000_000) * (1 + len(lookup.also))
    walked = len(lookup.audiences) == len(lookup.keys) == len(lookup.sources) == 1
    if walked and lookup.limit is not None and not lookup.groups:
        return min(total(here), lookup.limit)
    return min(total(here), lookup.scan) if walked and lookup.scan else total(here)


@given(st.integers(0, 10**6), st.integers(1, 48), st.sampled_from([1, 3, 40, 2000]), st.booleans())
def test_t27_relevance_reads_a_bounded_number_of_rows(seed: int, texts: int, audiences: int, filtered: bool) -> None:
    """Whatever stands in the tables, however many audiences are seen, whatever is looked for."""
    rng = random.Random(seed)
    places = range(1, audiences + 1)
    words, tags = [], []
    cells: dict[tuple[int, str, int], int] = {}
    for n in range(texts):
        terms = [f"w{n}", *(f"w{n}x{m}" for m in range(rng.choice((0, 1, 5, 40))))]
        kind = rng.choice(("plain", "plain", "verify", "walk"))
        terms = [] if kind == "walk" else terms
        words.append(keyword(f"w{n}", *terms, verify=kind == "verify", walk=kind == "walk"))
        for term in terms:
            for audience in rng.sample(places, min(audiences, rng.choice((1, 2, 3)))):
                cells[audience, term, rng.randrange(3)] = rng.choice((1, 5, 70, 900, 500_000))
        tags.append(Count(rng.choice(places), f"t{n}", rng.randrange(2), rng.choice((1, 80, 100_000))))
    if audiences == 2000:
        cells |= {(a, "w0", CHAT): rng.choice((1, 50)) for a in places}
    counts = [Count(*place, docs) for place, docs in cells.items()]
    seen = known([*counts, Count(1, UNLISTED, 0, 5000)], dict.fromkeys(tags), places)
    plan = by_relevance(words, seen, DEPTH, filtered=filtered)
    assert len(plan.lookups) <= MOST_LOOKUPS
    plain = [each for each in plan.lookups if not each.also]
    assert all(cost(each, seen) <= max(MERGED_POSTINGS, DEPTH.scan, DEPTH.budget) for each in plain)
    assert sum(cost(each, seen) for each in plan.lookups) <= 20_000
    assert all(len(each.audiences) * len(each.keys) <= 8000 for each in plan.lookups)


def test_t30_the_rarest_keys_are_kept_when_there_are_too_many() -> None:
    """What is cut is the commonest."""
    words = [keyword(f"w{n:02}") for n in range(48)]
    counts = [Count(a, f"w{n:02}", s, 10 ** (1 + n // 8)) for n in range(48) for a in (1, 2, 3) for s in (0, 1, 2)]
    plan = by_relevance(words, known(counts), DEPTH)
    assert len(plan.lookups) == MOST_LOOKUPS and not plan.complete
    kept = {key for each in plan.lookups for key in each.keys}
    cut = {w.text for w in words} - kept
    assert cut and min(cut) > max(kept - {"w47"})


def test_t30_the_rarest_are_read_in_full_and_the_rest_from_the_newest() -> None:
    """`alonza` among common words."""
    words = [keyword("test"), keyword("prova"), keyword("alonza")]
    counts = [Count(1, "test", 2, 50_000), Count(1, "prova", 2, 50_000), Count(1, "alonza", 0, 1)]
    plan = by_relevance(words, known(counts), DEPTH)
    full = [each for each in plan.lookups if each.limit is None]
    assert [each.keys for each in full] == [("alonza",)]
    assert {each.keys: each.limit for each in plan.lookups if each.limit} == {("test",): 60, ("prova",): 60}


def test_t30_rows_with_two_common_words_are_looked_for() -> None:
    """Among many rows with either word those that hold both are meant, however old."""
    words = [keyword("paint"), keyword("kitchen"), keyword("house")]
    counts = [Count(1, "paint", 2, 5_000), Count(1, "kitchen", 2, 8_000), Count(1, "house", 2, 90_000)]
    plan = by_relevance(words, known(counts), DEPTH)
    both = [(each.keys, each.also, each.scan) for each in plan.lookups if each.also]
    assert both == [(("paint",), ("kitchen", "house"), 1500), (("kitchen",), ("house",), 1500)]
    one = [keyword("paint", "paint", "paints")]
    forms = [Count(1, "paint", 2, 5_000), Count(1, "paints", 2, 8_000)]
    assert not any(each.also for each in by_relevance(one, known(forms), DEPTH).lookups)


def test_t16_the_days_asked_for_are_looked_through() -> None:
    """Of words in very many rows the newest would all be of other days."""
    plan = by_relevance([keyword("paint")], known([Count(1, "paint", 2, 5_000)]), DEPTH, days=[(10, 20), (30, 40)])
    assert [each.between for each in plan.lookups if each.between] == [(10, 20), (30, 40)]


def test_t24_a_plan_says_where_it_may_miss_rows() -> None:
    """Then a search goes deeper when it found too few."""
    rare = known([Count(1, "rare", 0, 3)])
    assert by_relevance([keyword("rare")], rare, DEPTH).complete
    assert not by_relevance([keyword("rare", cut=True)], rare, DEPTH).complete
    assert not by_relevance([keyword("!!", walk=True)], rare, DEPTH).complete
    few = Known([], [], (1,), (0,), CHAT, {(1, 0): 100})
    assert by_relevance([keyword("!!", walk=True)], few, DEPTH).complete


def test_t23_recency_asks_for_rows_of_both_on_their_own() -> None:
    """Led by the side that stands in fewer rows."""
    tag = [Count(1, "food", 0, 10)]
    plan = by_recency([keyword("pizza")], known([Count(1, "pizza", 0, 9000)], tag), pool=50)
    first = [each for each in plan.lookups if each.first_tier]
    assert [(each.kind, each.keys, each.groups) for each in first] == [("tags", ("food",), ((0,),))]
    plan = by_recency([keyword("pizza")], known([Count(1, "pizza", 0, 9)], tag), pool=50)
    first = [each for each in plan.lookups if each.first_tier]
    assert [(each.kind, each.keys, each.tagged) for each in first] == [("words", ("pizza",), True)]


def test_t27_keys_read_together_bring_each_row_once() -> None:
    """A row with several of them would take several places of the pool."""
    counts = [Count(1, "tofu1", 0, 60), Count(1, "tofu2", 0, 60), Count(1, "large", 0, 9000)]
    plan = by_recency([keyword("ofu", "tofu1", "tofu2"), keyword("large")], known(counts), pool=50)
    assert {each.keys: each.distinct for each in plan.lookups} == {("tofu1", "tofu2"): True, ("large",): False}


def test_t24_recency_stays_small_in_two_thousand_audiences() -> None:
    """One branch sorts them all where many would walk each."""
    audiences = range(1, 2001)
    words = [keyword(f"w{n}") for n in range(5)]
    counts = [Count(a, f"w{n}", CHAT, 500) for a in audiences for n in range(5)]
    plan = by_recency(words, known(counts, audiences=audiences), pool=50)
    assert len(plan.lookups) <= 3 * 5 * (MOST_WALKS + 1)
    read = {(key, a) for each in plan.lookups for key in each.keys for a in each.audiences}
    assert read == {(c.key, c.audience) for c in counts}


@given(
    st.lists(st.tuples(st.integers(1, 30), st.sampled_from("abcdefgh"), st.integers(1, 99)), max_size=60),
    st.integers(1, 40),
)
def test_packed_covers_every_cell_in_places_that_fit(cells: list[tuple[int, str, int]], most: int) -> None:
    """A branch reads each of its keys in each of its audiences."""
    counts = [Count(a, key, 0, docs) for a, key, docs in cells]
    made = packed(counts, most)
    covered = {(a, key) for audiences, keys in made for a in audiences for key in keys}
    assert {(c.audience, c.key) for c in counts} <= covered
    assert all(len(audiences) * len(keys) <= most or len(keys) == 1 for audiences, keys in made)


def test_t26_rarity_counts_whole_words_and_else_what_holds_them() -> None:
    """A tag counts where the chat is searched alone."""
    pet = Wanted("pet", is_keyword=False, is_tag=True, terms={"pet": True})
    words = [keyword("cat", "cat", "category"), keyword("ofu", "tofu"), pet]
    counts = [Count(1, "cat", 0, 4), Count(2, "cat", 1, 1), Count(1, "category", 0, 9), Count(1, "tofu", 0, 3)]
    counts += [Count(1, "pet", 0, 7), Count(1, "pet", CHAT, 2)]
    assert rarity(words, counts, CHAT) == [5, 3, 2]
