"""What takes part in recaps, running recaps and scenes (S3, S10 to S15, S20, S23, S24, S29, S35)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import MessageError
from core.stories import rules_recaps
from core.stories.rules_recaps import choose, concatenate, limit_tokens, plan_hiding, ranges, read_value
from core.stories.rules_running import CoveredScene, RecapPlan, Version, add_lines, plan_recap, read_scenes
from core.stories.rules_scenes import BreakLimits, find_pauses, read_break
from core.text.extracts import fit_text


def recaps(*tokens: int) -> list[tuple[int, int]]:
    return [(len(tokens) - at, n) for at, n in enumerate(tokens)]


@given(st.lists(st.integers(0, 50), max_size=30), st.integers(0, 300), st.integers(0, 3))
def test_s11_what_is_chosen_fits_and_the_next_would_not(tokens: list[int], limit: int, separator: int) -> None:
    rows = recaps(*tokens)
    chosen = choose(rows, limit, separator_tokens=separator)
    assert list(chosen) == [row_id for row_id, _ in rows[: len(chosen)]]
    size = sum(tokens[: len(chosen)]) + separator * max(0, len(chosen) - 1)
    assert size <= limit
    if limit and len(chosen) < len(rows):
        assert size + tokens[len(chosen)] + (separator if chosen else 0) > limit


def test_s12_g18_recaps_are_told_oldest_first_one_a_line_within_a_share_of_the_prompt() -> None:
    assert concatenate(["one", "two", "three"]) == "one\ntwo\nthree"
    assert concatenate(["one\n\n two ", "", "three\r\nfour"]) == "one two\nthree four"
    assert (limit_tokens(100, "percent", 8192), limit_tokens(500, "absolute", 8192)) == (8192, 500)
    assert limit_tokens(500, "percent", 8192) == 819, "more than a hundred is the default"
    assert add_lines("a\nb", ["b", "c", " "]) == "a\nb\nc", "a line that is there is not added again"


def test_s3_values_are_of_their_kind_or_refused_without_repeating_them() -> None:
    kept = [("edited", False, None), ("exclude", 1, True), ("scene_recap_versions", ("A", "B"), ["A", "B"]),
            ("scene_recap_current_index", 0, 0), ("scene_recap_current_index", 2**31 - 1, 2**31 - 1)]  # fmt: skip
    assert [read_value(key, value) for key, value, _ in kept] == [as_kept for _, _, as_kept in kept]
    index, wrong = "scene_recap_current_index", [("memory", 3), ("exclude", 2), ("scene_recap_versions", ["A", 2])]
    for key, value in (*wrong, (index, -1), (index, 2**31), (index, True), ("scene_recap_metadata", ["a"])):
        with pytest.raises(MessageError, match=f"^{key} is of type {type(value).__name__}.") as raised:
            read_value(key, value)
        assert raised.value.fields == (key,)


def test_s35_ranges_are_in_numeric_order_and_of_changes_alone() -> None:
    """As text 10 stands before 2."""
    assert ranges({0, 1, 2, 5, 6, 10}) == [(0, 2), (5, 6), (10, 10)]
    hidden = [True, False, True, False, True, False, None]
    assert plan_hiding(4, hidden) == {"hide": [(1, 1), (3, 3)], "show": [(4, 4)]}
    assert plan_hiding(4, [True] * 4 + [False, False, None]) == {"hide": [], "show": []}, "a second run"


@pytest.mark.parametrize(
    ("breaks", "hidden", "last"),
    [([0, 2, 3], [None] * 3 + [False], 2), ([3], [None] * 3 + [True], None), ([1, 0], [None, None], 1), ([], [], None)],
)
def test_s48_the_newest_scene_hidden_is_found(breaks: list[int], hidden: list[bool | None], last: int | None) -> None:
    assert rules_recaps.last_hidden_scene(breaks, hidden) == last


ONE, TWO, THREE, FOUR = (CoveredScene(n, n * 10, 0) for n in (1, 2, 3, 4))


def version(number: int, *scenes: CoveredScene) -> Version:
    return Version("text", len(scenes), new_scene_index=scenes[-1].last_index, scenes=scenes, number=number)


def numbers(plan: RecapPlan | None) -> tuple[int, ...]:
    assert plan is not None
    new = plan.build_version("text", "model")
    return new.scene_count, new.excluded_count, new.prev_scene_index, new.new_scene_index


def test_s29_all_scenes_but_the_newest_are_taken_and_an_edited_one_makes_it_anew_from_the_version_before() -> None:
    one, three = plan_recap([ONE], [], None), plan_recap([THREE, ONE, TWO], [], None)
    assert (one, numbers(one)) == (RecapPlan(None, (ONE,)), (1, 0, 0, 10))
    assert (three, numbers(three)) == (RecapPlan(None, (ONE, TWO), 1), (2, 1, 0, 20))
    assert plan_recap([], [], None) is None
    assert read_scenes({"scenes": [[1, 10, 0], [1], "x", [1, "a", 2]]}) == (ONE,), "broken data is left out"
    assert read_scenes({"scenes": "x"}) is read_scenes({}) is None
    versions = [version(0, ONE), version(1, ONE, TWO), version(2, ONE, TWO, THREE)]
    edited = CoveredScene(2, 20, 1)
    made = plan_recap([ONE, edited, THREE], versions, 2)
    assert (made, numbers(made)) == (RecapPlan(versions[0], (edited, THREE)), (3, 0, 10, 30))
    scenes = CoveredScene(1, 10, 1), TWO, THREE
    assert plan_recap(scenes, versions, 2) == RecapPlan(None, scenes)
    again, newest_changed = version(5, ONE, TWO), [ONE, TWO, CoveredScene(3, 30, 1), FOUR]
    assert plan_recap(newest_changed, [*versions, again], 2) == RecapPlan(again, tuple(newest_changed[2:]))


def test_s29_a_scene_that_is_gone_or_new_in_the_middle_counts_as_changed_and_deleted_messages_do_not() -> None:
    versions = [version(0, ONE), version(1, ONE, TWO, THREE)]
    assert plan_recap([ONE, THREE], versions, 1) == RecapPlan(versions[0], (THREE,))
    between = CoveredScene(9, 15, 0)
    made = plan_recap([ONE, between, TWO, THREE], versions, 1)
    assert made == RecapPlan(versions[0], (between, TWO, THREE)) and plan_recap([], versions, 1) is None
    stored, moved = version(0, ONE, TWO), [CoveredScene(1, 7, 0), CoveredScene(2, 17, 0)]
    assert plan_recap(moved, [stored], 0) is None
    assert plan_recap([*moved, CoveredScene(3, 20, 0)], [stored], 0) == RecapPlan(stored, (CoveredScene(3, 20, 0),))


def test_s14_the_oldest_sentences_go_first() -> None:
    text, least = "One. Two. Three.\nFour.", {22: 0, 21: 1, 16: 2, 11: 3, 5: 3, 4: 4}
    parts = (text, "Two. Three.\nFour.", "Three.\nFour.", "Four.", "")
    for limit, dropped in least.items():
        assert fit_text(text, lambda part, n=limit: len(part) <= n) == (parts[dropped], dropped)  # type: ignore[misc]


@given(st.text("ab. \n", max_size=60), st.integers(0, 40))
def test_s14_what_fits_is_within_the_limit_and_stays_at_every_higher_one(text: str, limit: int) -> None:
    text = text.strip()
    fitted, dropped = fit_text(text, lambda part: len(part) <= limit)
    more, fewer = fit_text(text, lambda part: len(part) <= limit + 3)
    assert len(fitted) <= limit and more.endswith(fitted) and fewer <= dropped


DAY = datetime(2026, 3, 10, tzinfo=UTC)


@pytest.mark.parametrize(("answer", "index", "is_usable"), [
    (9, 9, True), (8, None, False), (31, 31, True), (32, None, False), (40, None, False), ("12", 12, True),
    (12.5, None, False), (True, None, False), ("false", None, True), (None, None, True), ("twelve", None, False),
    ("9" * 5000, None, False), ("１２", None, False),
])  # fmt: skip
def test_s23_what_counts_as_a_break_among_messages_0_to_39(answer: Any, index: int | None, is_usable: bool) -> None:
    assert read_break(answer, BreakLimits(newest=39), range(40)) == (index, is_usable)


def test_s23_a_break_lies_on_a_message_shown_and_far_enough_from_the_one_before() -> None:
    assert read_break(20, BreakLimits(newest=39), [*range(20), *range(21, 40)]) == (None, False)
    limits = BreakLimits(newest=39, earlier=12)
    assert [limits.allow(at) for at in (12, 21, 22, 31)] == [False, False, True, True]


def _times(gap: timedelta, after: int = 20, count: int = 40) -> list[datetime | None]:
    return [DAY + timedelta(minutes=n) + (gap if n > after else timedelta()) for n in range(count)]


def test_s24_a_pause_of_7_hours_ends_a_scene_there_each_counts_from_the_one_before_and_unknown_times_do_not() -> None:
    six, minute, limits = timedelta(hours=6), timedelta(minutes=1), BreakLimits(newest=39)
    assert find_pauses(_times(timedelta(hours=7)), six, limits) == (20,)
    assert find_pauses(_times(six - minute), six, limits) == (), "exactly 6 hours are not more than 6"
    assert find_pauses(_times(six), six, limits) == (20,)
    assert find_pauses(_times(six, 8), six, limits) == (), "no scene may end there"
    times = _times(timedelta(hours=7), 12)
    times = [t + timedelta(hours=7) if n > 25 and t else t for n, t in enumerate(times)]
    assert find_pauses(times, timedelta(hours=6), BreakLimits(newest=39)) == (12, 25)
    assert find_pauses(times, timedelta(hours=6), BreakLimits(newest=39, min_length=20)) == (25,)
    times[13] = None
    assert find_pauses(times, timedelta(hours=6), BreakLimits(newest=39)) == (25,)
