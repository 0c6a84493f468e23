"""S29: what the next version of a running recap is made from."""

from __future__ import annotations

from core.stories.running.plan import Plan, Scene, Version, known_scenes, plan

ONE, TWO, THREE, FOUR = (Scene(n, n * 10, 0) for n in (1, 2, 3, 4))


def test_s29_without_a_version_all_scenes_but_the_newest_are_taken() -> None:
    one = plan([ONE], [], None)
    assert (one.kind, one.scenes, one.excluded_count, one.scene_count) == ("bulk", (ONE,), 0, 1)
    three = plan([THREE, ONE, TWO], [], None)
    assert (three.scenes, three.excluded_count, three.scene_count) == ((ONE, TWO), 1, 2)
    assert (three.prev_scene_index, three.new_scene_index) == (0, 20)
    assert plan([ONE, TWO], [], None, exclude_latest=2).scenes == (ONE, TWO), "not more than that many"
    assert plan([ONE, TWO, THREE], [], None, exclude_latest=2).excluded_count == 2
    assert plan([ONE, TWO, THREE], [], None, exclude_latest=0).excluded_count == 0
    assert plan([], [], None) == Plan("none")


def test_s29_a_version_is_carried_on_by_the_scenes_after_it() -> None:
    version = Version(0, 20, 2, (ONE, TWO))
    made = plan([ONE, TWO, THREE, FOUR], [version], 0)
    assert (made.kind, made.base, made.scenes, made.excluded_count) == ("incremental", version, (THREE, FOUR), 0)
    assert (made.scene_count, made.prev_scene_index, made.new_scene_index) == (4, 20, 40)
    assert plan([ONE, TWO], [version], 0).kind == "none"


def test_s29_a_text_of_the_host_is_carried_on_by_index() -> None:
    version = Version(3, 20, 2)
    assert plan([ONE, TWO, THREE], [version], 3).scenes == (THREE,)
    edited = Scene(1, 10, 5)
    assert plan([edited, TWO], [version], 3).kind == "none", "nobody knows what is in it"


def test_s29_an_edited_scene_makes_it_anew_from_the_version_before() -> None:
    versions = [
        Version(0, 10, 1, (ONE,)),
        Version(1, 20, 2, (ONE, TWO)),
        Version(2, 30, 3, (ONE, TWO, THREE)),
    ]
    edited = Scene(2, 20, 1)
    made = plan([ONE, edited, THREE], versions, 2)
    assert (made.kind, made.base, made.scenes) == ("bulk", versions[0], (edited, THREE))
    assert (made.scene_count, made.prev_scene_index, made.new_scene_index) == (3, 10, 30)
    first = plan([Scene(1, 10, 1), TWO, THREE], versions, 2)
    assert (first.base, len(first.scenes), first.excluded_count) == (None, 3, 0)
    assert plan([ONE, TWO, Scene(3, 30, 1), FOUR], versions, 2).base == versions[1]


def test_s29_of_several_versions_before_the_scene_the_highest_is_carried_on() -> None:
    again = Version(5, 20, 2, (ONE, TWO))
    versions = [Version(0, 10, 1, (ONE,)), Version(1, 20, 2, (ONE, TWO)), again, Version(6, 30, 3, (ONE, TWO, THREE))]
    assert plan([ONE, TWO, Scene(3, 30, 1)], versions, 6).base == again


def test_s29_a_scene_that_is_gone_or_new_in_the_middle_counts_as_changed() -> None:
    versions = [Version(0, 10, 1, (ONE,)), Version(1, 30, 3, (ONE, TWO, THREE))]
    assert plan([ONE, THREE], versions, 1).base == versions[0]
    between = Scene(9, 15, 0)
    made = plan([ONE, between, TWO, THREE], versions, 1)
    assert (made.base, made.scenes) == (versions[0], (between, TWO, THREE))
    assert plan([], versions, 1).kind == "none"


def test_s29_messages_deleted_before_a_scene_change_nothing() -> None:
    """Indexes move; the scenes are told apart by their ids."""
    version = Version(0, 20, 2, (ONE, TWO))
    moved = [Scene(1, 7, 0), Scene(2, 17, 0)]
    assert plan(moved, [version], 0).kind == "none"
    assert plan([*moved, Scene(3, 20, 0)], [version], 0).scenes == (Scene(3, 20, 0),)


def test_s29_made_anew_on_demand() -> None:
    version = Version(0, 30, 3, (ONE, TWO, THREE))
    assert plan([ONE, TWO, THREE], [version], 0, anew=True).scenes == (ONE, TWO)


def test_known_scenes_of_broken_data_are_left_out() -> None:
    assert known_scenes({"scenes": [[1, 10, 0], [1], "x", [1, "a", 2]]}) == (ONE,)
    assert known_scenes({"scenes": "x"}) is None
    assert known_scenes({}) is None
