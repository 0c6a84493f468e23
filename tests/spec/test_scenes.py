"""S20 to S25: scene breaks by hand and found, recaps of scenes."""

from __future__ import annotations

import json
import logging
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from core import chat_history_cache, jobs, stories
from core.database.engine import Database
from core.database.readers import reader_for
from core.errors import MessageError
from core.messages import table_recaps
from tests.spec.stage import HERE
from tests.spec.story_stage import Model, StoryStage


@pytest.fixture
def stage(db: Database) -> StoryStage:
    """A persona of its own."""
    return StoryStage(db)


def test_s20_breaks_are_made_named_shown_or_not_and_removed(stage: StoryStage) -> None:
    rows = stage.tell(30)
    made = stories.add_scene_break(rows[10], "One", **stage.given)
    assert (made.stored, made.reason) == (True, "")
    again = stories.add_scene_break(rows[10], "Other", **stage.given)
    assert (again.stored, again.id, again.reason) == (False, made.id, "duplicate")
    assert stories.add_scene_break(7, **stage.given).reason == "unchanged"
    stories.add_scene_break(rows[20], visible=False, recap=False, **stage.given)
    one, two = stories.list_scenes(HERE, **stage.given)
    assert (one["name"], one["message"], one["visible"], one["recap_index"]) == ("One", rows[10], True, None)
    assert (two["name"], two["last_index"], two["visible"]) == ("", 20, False)
    assert stories.edit_scene_break(rows[20], name="Two", visible=True, **stage.given).stored
    assert stories.edit_scene_break(rows[20], name="Two", visible=True, **stage.given).reason == "unchanged"
    assert stories.list_scenes(HERE, **stage.given)[1]["name"] == "Two"
    assert stories.get_data(rows[20], "scene_break_name", **stage.given) == "Two"
    assert stories.remove_scene_break(rows[10], **stage.given).stored
    assert stories.remove_scene_break(rows[10], **stage.given).reason == "unchanged"
    assert [each["last_index"] for each in stories.list_scenes(HERE, **stage.given)] == [20]
    assert [kind for kind, _ in stage.states()] == ["SCENE_RECAP"], "recap=False queues none"
    with pytest.raises(MessageError, match="No scene break"):
        stories.get_scene_range(rows[10], **stage.given)
    with pytest.raises(MessageError, match="no such message"):
        stories.get_scene_range(7, **stage.given)


def test_s20_a_scene_begins_after_the_nearest_earlier_break_that_has_a_recap(stage: StoryStage) -> None:
    rows = stage.tell(55)
    for at in (10, 30, 50):
        stories.add_scene_break(rows[at], recap=False, **stage.given)
    stories.set_scene_recap(rows[10], "the first", **stage.given)
    assert stories.get_scene_range(rows[50], **stage.given) == (11, 50)
    stories.set_scene_recap(rows[30], "the second", **stage.given)
    assert stories.get_scene_range(rows[50], **stage.given) == (31, 50)
    assert stories.get_scene_range(rows[10], **stage.given) == (0, 10)
    # what lies where follows the conversation's order, whatever happens to earlier messages
    chat_history_cache.delete_chat_message(rows[3], **stage.given)
    assert stories.get_scene_range(rows[50], **stage.given) == (30, 49)


def test_s21_another_run_appends_a_version_and_makes_it_current(stage: StoryStage) -> None:
    rows = stage.tell(12)
    stories.add_scene_break(rows[10], **stage.given)
    model = Model("A", "B", '{"recap": "x"}')
    stage.run(lambda messages: "A" if "Messages:" in messages[-1]["content"] else '{"recap": {"state": "s"}}')
    data = stories.get_data(rows[10], **stage.given)
    assert (data["scene_recap_memory"], data["scene_recap_versions"], data["scene_recap_current_index"]) == (
        "A",
        ["A"],
        0,
    )
    jobs.enqueue_operation("SCENE_RECAP", metadata={"message_id": rows[10]}, conversation=HERE, **stage.given)
    model = Model('{"recap": "B"}')
    stage.run(model, running_scene_recap_auto_generate=False)
    assert len(model.asked) == 1
    assert "Ann walks to house 10" in model.asked[0]
    assert "Ann walks to house 11" not in model.asked[0], "the scene ends with the break"
    assert stories.get_data(rows[10], "scene_recap_versions", **stage.given) == ["A", "B"]
    assert stories.get_data(rows[10], "scene_recap_current_index", **stage.given) == 1
    found = stories.get_scene_recaps(rows[10], **stage.given)
    assert [(each["version"], each["content"], each["provenance"], each["current"]) for each in found] == [
        (0, "A", "model", False),
        (1, "B", "model", True),
    ]
    assert stories.choose_scene_recap(rows[10], 0, **stage.given).stored
    assert stories.choose_scene_recap(rows[10], 5, **stage.given).reason == "refused"
    assert stories.list_scenes(HERE, **stage.given)[0]["recap"] == "A"


@pytest.mark.engines("sqlite")  # no server does it differently
def test_s22_the_running_recap_is_queued_before_everything_else_unless_switched_off(stage: StoryStage) -> None:
    rows = stage.tell(12)
    stories.add_scene_break(rows[10], **stage.given)
    stage.run(running_scene_recap_auto_generate=False)
    assert stage.states() == [("SCENE_RECAP", "completed")]
    jobs.enqueue_operation("SCENE_RECAP", metadata={"message_id": rows[10]}, conversation=HERE, **stage.given)
    jobs.run_pending(1, **stage.given)
    (waiting,) = [each for each in jobs.list_operations(**stage.given) if each["state"] == "pending"]
    assert (waiting["type"], waiting["priority"], waiting["depends_on"]) == ("RUNNING_SCENE_RECAP", "HIGH", [])
    assert waiting["conversation"] == HERE


def test_s20_scene_recaps_of_a_conversation_are_made_one_after_the_other(stage: StoryStage) -> None:
    """A worker that died in one of them leaves it leased: the next one must not take over its messages."""
    rows = stage.tell(55)
    for at in (10, 30, 50):
        stories.add_scene_break(rows[at], **stage.given)
    found = sorted(jobs.list_operations(**stage.given), key=lambda each: each["id"])
    assert [each["depends_on"] for each in found] == [[], [found[0]["id"]], [found[1]["id"]]]
    stage.run()
    assert [(each["first_index"], each["last_index"]) for each in stories.list_scenes(HERE, **stage.given)] == [
        (0, 10),
        (11, 30),
        (31, 50),
    ]


def test_s23_a_break_that_counts_is_made_and_its_recap_queued(stage: StoryStage) -> None:
    rows = stage.tell(40)
    jobs.enqueue_operation("SCENE_DETECTION", conversation=HERE, **stage.given)
    model = Model('{"sceneBreakAt": 14, "rationale": "they leave"}', '{"sceneBreakAt": false}', "recap", "{}")
    jobs.run_pending(2, model=model, **stage.given)
    asked = json.loads(model.asked[0].rpartition("Messages: ")[2])
    assert [each["n"] for each in asked] == list(range(40))
    assert "from 9 to 31, find" in model.asked[0]
    assert [each["last_index"] for each in stories.list_scenes(HERE, **stage.given)] == [14]
    assert "SCENE_RECAP" in dict(stage.states())
    read = reader_for(stage.db, "message_recaps")  # type: ignore[arg-type]
    checked = table_recaps.read_checked(read, stage.persona, HERE)
    assert set(rows[9:15]) <= checked
    assert rows[15] not in checked or len(model.asked) > 1


@pytest.mark.engines("sqlite")  # no server does it differently
@pytest.mark.parametrize("answer", ['{"sceneBreakAt": 8}', '{"sceneBreakAt": 12.5}', "no JSON at all", "[]"])
def test_s23_a_bad_answer_counts_as_none_is_told_and_not_asked_again(
    stage: StoryStage, answer: str, caplog: pytest.LogCaptureFixture
) -> None:
    stage.tell(40)
    model = Model(answer)
    for _ in range(2):
        jobs.enqueue_operation("SCENE_DETECTION", conversation=HERE, **stage.given)
        with caplog.at_level(logging.WARNING, "prompt_engine"):
            assert [each.state for each in stage.run(model)] == ["completed"]
    assert len(model.asked) == 1
    assert [r.getMessage().split()[0] for r in caplog.records] == ["scene_answer_not_used"]
    assert answer not in caplog.text
    assert stories.list_scenes(HERE, **stage.given) == []


@pytest.mark.engines("sqlite")  # no server does it differently
def test_s23_new_messages_are_asked_about_with_what_went_before(stage: StoryStage) -> None:
    stage.tell(20)
    model = Model('{"sceneBreakAt": null}')
    jobs.enqueue_operation("SCENE_DETECTION", conversation=HERE, **stage.given)
    stage.run(model)
    assert "from 9 to 11, find" in model.asked[0]
    stage.tell(1, start=timedelta(minutes=1))
    jobs.enqueue_operation("SCENE_DETECTION", conversation=HERE, **stage.given)
    stage.run(model)
    assert "from 12 to 12, find" in model.asked[1]
    asked = json.loads(model.asked[1].rpartition("Messages: ")[2])
    assert (asked[0]["n"], asked[-1]["n"]) == (0, 20)


@pytest.mark.engines("sqlite")  # no server does it differently
def test_s23_a_conversation_too_long_for_the_model_is_asked_about_in_stretches(stage: StoryStage) -> None:
    stage.tell(60, texts=["word " * 60] * 60)
    jobs.enqueue_operation("SCENE_DETECTION", conversation=HERE, **stage.given)
    model = Model('{"sceneBreakAt": false}')
    stage.run(model, context_tokens=2000)
    ranges = [request.split("\nfrom ")[1].split(",")[0] for request in model.asked]
    assert len(ranges) > 2
    ends = [tuple(map(int, each.split(" to "))) for each in ranges]
    assert ends[0][0] == 9
    assert ends[-1][1] == 51
    assert all(one[1] + 1 == other[0] for one, other in pairwise(ends)), ends


def test_s24_without_a_model_long_pauses_end_scenes(stage: StoryStage, db: Database) -> None:
    rows = stage.tell(40)
    stage.tell(40, start=timedelta(hours=20))
    jobs.enqueue_operation("SCENE_DETECTION", conversation=HERE, **stage.given)
    stage.run(scene_gap_hours=1000)
    assert stories.list_scenes(HERE, **stage.given) == []
    jobs.enqueue_operation("SCENE_DETECTION", conversation=HERE, **stage.given)
    stage.run()
    (scene,) = stories.list_scenes(HERE, **stage.given)
    assert (scene["message"], scene["last_index"], scene["provenance"]) == (rows[39], 39, "extract")
    assert table_recaps.read_checked(reader_for(db, "x"), stage.persona, HERE) == set()


def test_s25_a_scene_all_left_out_is_skipped(stage: StoryStage) -> None:
    rows = stage.tell(6, texts=["a b c one.", "a b c two.", "secret three.", "secret four.", "e five.", "e six."])
    for at in (1, 3, 5):
        stories.add_scene_break(rows[at], **stage.given)
    for at in (2, 3):
        stories.set_data(rows[at], "exclude", True, **stage.given)
    model = Model(lambda request: '{"recap": "d"}' if "New scenes" in request else "A recap.")
    reports = stage.run(model)
    assert {each.state for each in reports} == {"completed"}
    assert not any("secret" in request for request in model.asked)
    assert len([r for r in model.asked if "Messages:" in r]) == 2, "no call for the scene without messages"
    one, two, three = stories.list_scenes(HERE, **stage.given)
    assert (one["recap"], two["recap_index"], three["recap"]) == ("A recap.", None, "A recap.")
    assert (three["first_index"], three["last_index"]) == (2, 5)
    current = stories.get_running_recap(conversation=HERE, **stage.given)
    assert current is not None
    assert (current["scene_count"], current["new_scene_index"]) == (2, 5)


@pytest.mark.engines("sqlite")  # no server does it differently
def test_s25_deleted_messages_leave_a_smaller_scene(stage: StoryStage) -> None:
    rows = stage.tell(4)
    stories.add_scene_break(rows[1], **stage.given)
    for at in (0, 1):
        chat_history_cache.delete_chat_message(rows[at], **stage.given)
    assert stage.run() == []
    assert stories.list_scenes(HERE, **stage.given) == []


@pytest.mark.engines("sqlite")  # no server does it differently
def test_s33_a_refused_scene_recap_leaves_the_former(stage: StoryStage) -> None:
    rows = stage.tell(12)
    stories.add_scene_break(rows[10], recap=False, **stage.given)
    stories.set_scene_recap(rows[10], "x" * 1000, **stage.given)
    jobs.enqueue_operation("SCENE_RECAP", metadata={"message_id": rows[10]}, conversation=HERE, **stage.given)
    reports = stage.run(Model("short"), running_scene_recap_auto_generate=False)
    states: dict[str, Any] = {each.type: (each.state, each.error) for each in reports}
    assert states["SCENE_RECAP"] == ("retrying", "ModelError: shorter")
    assert stories.list_scenes(HERE, **stage.given)[0]["recap_index"] == 0


@pytest.mark.engines("sqlite")  # no server does it differently
def test_a_scene_longer_than_the_model_can_read_is_recapped_in_stretches(stage: StoryStage) -> None:
    rows = stage.tell(30, texts=[f"start{n} " + "word " * 100 for n in range(30)])
    stories.add_scene_break(rows[29], **stage.given)
    model = Model(lambda request: f"part {request.count('start')}")
    stage.run(model, context_tokens=1000, running_scene_recap_auto_generate=False)
    told = "".join(model.asked)
    assert all(f"start{n} " in told for n in range(30))
    recap = stories.list_scenes(HERE, **stage.given)[0]["recap"]
    assert recap.count("part") == len(model.asked) > 2
    # one message larger than everything else
    stage.tell(1, "tg/9", texts=["giant " * 3000])
    stories.add_scene_break(stage.tell(1, "tg/9", start=timedelta(days=1))[0], **stage.given)
    model = Model("p")
    stage.run(model, context_tokens=1000, running_scene_recap_auto_generate=False)
    assert len(model.asked) > 3
    assert sum(request.count("giant") for request in model.asked) > 2900
