"""S29: what the next version of a running recap is made from."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.stories.rules_running import CoveredScene, RecapPlan, Version, add_lines, fit_text, plan_recap, read_scenes

ONE, TWO, THREE, FOUR = (CoveredScene(n, n * 10, 0) for n in (1, 2, 3, 4))


def version(
    number: int, new_scene_index: int, scene_count: int, scenes: tuple[CoveredScene, ...] | None = None
) -> Version:
    return Version("text", scene_count, new_scene_index=new_scene_index, scenes=scenes, number=number)


def numbers(plan: RecapPlan) -> tuple[int, ...]:
    new = plan.build_version("text", "model")
    return new.scene_count, new.excluded_count, new.prev_scene_index, new.new_scene_index


def test_s29_without_a_version_all_scenes_but_the_newest_are_taken() -> None:
    one = plan_recap([ONE], [], None)
    assert (one.kind, one.scenes, numbers(one)) == ("bulk", (ONE,), (1, 0, 0, 10))
    three = plan_recap([THREE, ONE, TWO], [], None)
    assert (three.scenes, numbers(three)) == ((ONE, TWO), (2, 1, 0, 20))
    assert plan_recap([], [], None) == RecapPlan("none")


def test_s29_a_text_of_the_host_is_carried_on_by_index() -> None:
    stored = version(3, 20, 2)
    assert plan_recap([ONE, TWO, THREE], [stored], 3).scenes == (THREE,)
    edited = CoveredScene(1, 10, 5)
    assert plan_recap([edited, TWO], [stored], 3).kind == "none", "nobody knows what is in it"


def test_s29_an_edited_scene_makes_it_anew_from_the_version_before() -> None:
    versions = [version(0, 10, 1, (ONE,)), version(1, 20, 2, (ONE, TWO)), version(2, 30, 3, (ONE, TWO, THREE))]
    edited = CoveredScene(2, 20, 1)
    made = plan_recap([ONE, edited, THREE], versions, 2)
    assert (made.kind, made.base, made.scenes) == ("bulk", versions[0], (edited, THREE))
    assert numbers(made) == (3, 0, 10, 30)
    first = plan_recap([CoveredScene(1, 10, 1), TWO, THREE], versions, 2)
    assert (first.base, len(first.scenes), first.excluded_count) == (None, 3, 0)
    again = version(5, 20, 2, (ONE, TWO))
    newest_changed = [ONE, TWO, CoveredScene(3, 30, 1), FOUR]
    assert plan_recap(newest_changed, [*versions, again], 2).base == again, "the highest of several"


def test_s29_a_scene_that_is_gone_or_new_in_the_middle_counts_as_changed() -> None:
    versions = [version(0, 10, 1, (ONE,)), version(1, 30, 3, (ONE, TWO, THREE))]
    assert plan_recap([ONE, THREE], versions, 1).base == versions[0]
    between = CoveredScene(9, 15, 0)
    made = plan_recap([ONE, between, TWO, THREE], versions, 1)
    assert (made.base, made.scenes) == (versions[0], (between, TWO, THREE))
    assert plan_recap([], versions, 1).kind == "none"


def test_s29_messages_deleted_before_a_scene_change_nothing() -> None:
    """Indexes move; the scenes are told apart by their ids."""
    stored = version(0, 20, 2, (ONE, TWO))
    moved = [CoveredScene(1, 7, 0), CoveredScene(2, 17, 0)]
    assert plan_recap(moved, [stored], 0).kind == "none"
    assert plan_recap([*moved, CoveredScene(3, 20, 0)], [stored], 0).scenes == (CoveredScene(3, 20, 0),)


def test_read_scenes_of_broken_data_are_left_out() -> None:
    assert read_scenes({"scenes": [[1, 10, 0], [1], "x", [1, "a", 2]]}) == (ONE,)
    assert read_scenes({"scenes": "x"}) is None
    assert read_scenes({}) is None


def test_s14_the_oldest_sentences_go_first() -> None:
    text = "One. Two. Three.\nFour."
    fitted = [fit_text(text, lambda part, n=n: len(part) <= n) for n in (22, 21, 16, 11, 5, 4)]  # type: ignore[misc]
    assert fitted == [
        (text, 0), ("Two. Three.\nFour.", 1), ("Three.\nFour.", 2), ("Four.", 3), ("Four.", 3), ("", 4)
    ]  # fmt: skip


@given(st.text("ab. \n", max_size=60), st.integers(0, 40))
def test_s14_what_fits_is_within_the_limit_and_stays_at_every_higher_one(text: str, limit: int) -> None:
    text = text.strip()
    fitted, dropped = fit_text(text, lambda part: len(part) <= limit)
    more, fewer = fit_text(text, lambda part: len(part) <= limit + 3)
    assert len(fitted) <= limit
    assert more.endswith(fitted)
    assert fewer <= dropped


def test_g23_a_line_that_is_there_is_not_added_again() -> None:
    assert add_lines("a\nb", ["b", "c", " "]) == "a\nb\nc"
