"""Texts that say nearly the same, against pairs written by hand, half of them held out."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.text.near_duplicates import are_near_duplicates, group_near_duplicates
from tests.unit.text.near_duplicates_corpus import OTHER, SAME


@pytest.mark.parametrize("half", [0, 1], ids=["development", "held_out"])
def test_near_duplicates_are_told_apart_in_twelve_languages(half: int) -> None:
    """Two hits that say the same waste a place; two that differ in a word that matters must both be shown."""
    same, other = SAME[half::2], OTHER[half::2]
    assert len(same) + len(other) >= 100
    found = sum(are_near_duplicates(*pair) for pair in same)
    wrong = sum(are_near_duplicates(*pair) for pair in other)
    precision, recall = found / (found + wrong), found / len(same)
    assert 2 * precision * recall / (precision + recall) > 0.9
    assert precision > 0.95


def test_the_first_of_a_group_gives_its_number() -> None:
    """The best hit comes first, and keeps the place."""
    texts = ["tea at noon", "I like green tea", "", "i like green tea!", "Tea at noon.", ""]
    assert group_near_duplicates(texts) == [0, 1, 2, 1, 0, 5]


def test_groups_do_not_grow_by_chains() -> None:
    """A text is compared with the first of a group: small steps must not lead from one statement to another."""
    base = "one long walk by the river with our dog and some friends from school"
    longer = base + " again yesterday"
    longest = longer + " then dinner"
    assert group_near_duplicates([base, longer, longest])[2] in (0, 2)
    assert group_near_duplicates([base])[0] == 0


def test_a_number_more_is_another_statement_however_long_the_text() -> None:
    """`The usual order` and `the usual order, 12 boxes` are not to be mistaken for each other."""
    said = "please send the usual order of apples and pears to the old warehouse behind the station as always"
    assert are_near_duplicates(said, said.replace("please", "Please kindly"))
    assert not are_near_duplicates(said, said.replace("apples", "12 apples"))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=40), max_size=12))
def test_any_texts_have_groups(texts: list[str]) -> None:
    """Each number is the place of a first text, and equal texts with words share one."""
    groups = group_near_duplicates(texts)
    assert len(groups) == len(texts)
    assert all(group <= at and groups[group] == group for at, group in enumerate(groups))


def test_sixty_hits_are_compared_in_milliseconds() -> None:
    """The rule stands in a search that has twelve milliseconds in all; its cost is bounded by hits, not by pairs."""
    texts = [f"We talked about the garden and the neighbour's dog number {n % 7} in the rain" for n in range(60)]
    texts += ["a" * 1_000_000, "word " * 200_000, "数学" * 300_000]
    group_near_duplicates(texts)
    start = time.process_time()
    group_near_duplicates(texts)
    assert time.process_time() - start < 0.5
