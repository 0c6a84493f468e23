"""S20 to S25: scene breaks by hand and found, recaps of scenes."""

import json
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from core import chat_history_cache, forget, jobs, stories
from core.database.engine import Database
from core.messages import table_recaps
from tests.spec.stage import HERE
from tests.spec.story import Model, Story


def ranges(story: Story) -> dict[int | None, tuple[int, int]]:
    """Return the message each scene ends with, and the indexes of its first and last message."""
    scenes = stories.list_scenes(HERE, **story.given)
    return {each["message"]: (each["first_index"], each["last_index"]) for each in scenes}


@pytest.mark.engines()
def test_s20_d20_breaks_are_made_named_shown_or_not_and_removed(story: Story) -> None:
    rows = story.tell(30)
    made = stories.add_scene_break(rows[10], "One", **story.given)
    assert (made.stored, made.reason) == (True, "")
    again = stories.add_scene_break(rows[10], "Other", **story.given)
    assert (again.stored, again.id, again.reason) == (False, made.id, "duplicate")
    assert stories.add_scene_break(7, **story.given).reason == "not_found"
    stories.add_scene_break(rows[20], visible=False, recap=False, **story.given)
    one, two = stories.list_scenes(HERE, **story.given)
    assert (one["name"], one["message"], one["visible"], one["recap_index"]) == ("One", rows[10], True, None)
    assert (two["name"], two["last_index"], two["visible"]) == ("", 20, False)
    assert stories.edit_scene_break(rows[20], name="Two", visible=True, **story.given).stored
    assert stories.edit_scene_break(rows[20], name="Two", visible=True, **story.given).reason == "unchanged"
    assert stories.list_scenes(HERE, **story.given)[1]["name"] == "Two"
    assert stories.get_data(rows[20], "scene_break_name", **story.given) == "Two"
    assert stories.remove_scene_break(rows[10], **story.given).stored
    assert stories.remove_scene_break(rows[10], **story.given).reason == "unchanged"
    assert [each["last_index"] for each in stories.list_scenes(HERE, **story.given)] == [20]
    assert [kind for kind, _ in story.states()] == ["SCENE_RECAP"], "recap=False queues none"


def test_s20_a_scene_begins_after_the_nearest_earlier_break_that_has_a_recap(story: Story) -> None:
    rows = story.tell(55, texts=["Hm.", "Yes.", "No.", "A walk?", "Rain."])
    story.break_scenes(rows, 10, 30, 50, recap=False)
    for at in (10, 30):
        stories.set_scene_recap(rows[at], f"up to {at}", **story.given)
        assert ranges(story)[rows[50]] == (at + 1, 50)
    assert ranges(story)[rows[10]] == (0, 10)
    # what lies where follows the conversation's order, whatever happens to earlier messages
    chat_history_cache.delete_chat_message(rows[3], **story.given)
    assert ranges(story)[rows[50]] == (30, 49)


def test_s21_another_run_appends_a_version_and_makes_it_current(story: Story) -> None:
    rows = story.tell(12)
    story.break_scenes(rows, 10)
    story.run(lambda messages: "A" if "Messages:" in messages[-1]["content"] else '{"recap": {"state": "s"}}')
    versions = ("scene_recap_memory", "scene_recap_versions", "scene_recap_current_index")

    def stored() -> list[Any]:
        data = stories.get_data(rows[10], **story.given)
        return [data[name] for name in versions]

    assert stored() == ["A", ["A"], 0]
    model = Model('{"recap": "B"}')
    story.work("SCENE_RECAP", model, running_scene_recap_auto_generate=False, row=rows[10])
    (asked,) = model.asked
    assert "Ann walks to house 10" in asked
    assert "Ann walks to house 11" not in asked, "the scene ends with the break"
    assert stored() == ["B", ["A", "B"], 1]
    (scene,) = stories.list_scenes(HERE, **story.given)
    assert (scene["recap"], scene["recap_index"], scene["provenance"]) == ("B", 1, "model")


def test_s22_the_running_recap_is_queued_before_everything_else_unless_switched_off(story: Story) -> None:
    rows = story.tell(12)
    stories.add_scene_break(rows[10], **story.given)
    story.run(running_scene_recap_auto_generate=False)
    assert story.states() == [("SCENE_RECAP", "completed")]
    jobs.enqueue_operation("SCENE_RECAP", metadata={"message_id": rows[10]}, conversation=HERE, **story.given)
    jobs.run_pending(1, **story.given)
    (waiting,) = [each for each in jobs.list_operations(**story.given) if each["state"] == "pending"]
    assert (waiting["type"], waiting["priority"], waiting["depends_on"]) == ("RUNNING_SCENE_RECAP", "HIGH", [])
    assert waiting["conversation"] == HERE


@pytest.mark.parametrize("cancelled", [0, 1])
def test_s20_scene_recaps_of_a_conversation_are_made_one_after_the_other(story: Story, cancelled: int) -> None:
    rows = story.tell(55)
    story.break_scenes(rows, 10, 30, 50)
    found = sorted(jobs.list_operations(**story.given), key=lambda each: each["id"])
    assert [each["depends_on"] for each in found] == [[], [found[0]["id"]], [found[1]["id"]]]
    jobs.cancel([each["id"] for each in found[:cancelled]], **story.given)
    story.run()
    assert ranges(story) == {rows[10]: (0, 10), rows[30]: (0 if cancelled else 11, 30), rows[50]: (31, 50)}


def test_s23_a_break_that_counts_is_made_and_its_recap_queued(story: Story) -> None:
    rows = story.tell(40)
    jobs.enqueue_operation("SCENE_DETECTION", conversation=HERE, **story.given)
    model = Model('{"sceneBreakAt": 14, "rationale": "they leave"}', '{"sceneBreakAt": false}', "recap", "{}")
    jobs.run_pending(2, model=model, **story.given)
    asked = json.loads(model.asked[0].rpartition("Messages: ")[2])
    assert [each["n"] for each in asked] == list(range(40)) and "from 9 to 31, find" in model.asked[0]
    assert [each["last_index"] for each in stories.list_scenes(HERE, **story.given)] == [14]
    assert "SCENE_RECAP" in dict(story.states())
    assert table_recaps.read_checked(story.db.read, story.persona, HERE) == {rows[14]}


@pytest.mark.parametrize("answer", ['{"sceneBreakAt": 8}', '{"sceneBreakAt": 12.5}', "no JSON at all", "[]"])
def test_s23_a_bad_answer_is_none_and_asked_once(story: Story, answer: str, caplog: pytest.LogCaptureFixture) -> None:
    story.tell(40)
    model = Model(answer)
    runs = [story.work("SCENE_DETECTION", model) for _ in range(2)]
    assert [each.state for run in runs for each in run] == ["completed"] * 2 and len(model.asked) == 1
    assert [r.getMessage().split()[0] for r in caplog.records] == ["scene_answer_not_used"]
    assert answer not in caplog.text and stories.list_scenes(HERE, **story.given) == []


def test_s23_new_messages_are_asked_about_with_what_went_before(story: Story) -> None:
    story.tell(20)
    model = Model('{"sceneBreakAt": null}')
    story.work("SCENE_DETECTION", model)
    assert "from 9 to 11, find" in model.asked[0]
    story.tell(1, start=timedelta(minutes=1))
    story.work("SCENE_DETECTION", model)
    assert "from 12 to 12, find" in model.asked[1]
    asked = json.loads(model.asked[1].rpartition("Messages: ")[2])
    assert (asked[0]["n"], asked[-1]["n"]) == (0, 20)


def test_s23_a_conversation_too_long_for_the_model_is_asked_about_in_stretches(story: Story) -> None:
    story.tell(60, texts=["word " * 60] * 60)
    model = Model('{"sceneBreakAt": false}')
    story.work("SCENE_DETECTION", model, context_tokens=2000)
    ranges = [request.split("\nfrom ")[1].split(",")[0].split(" to ") for request in model.asked]
    ends = [(int(first), int(last)) for first, last in ranges]
    assert len(ends) > 2 and (ends[0][0], ends[-1][1]) == (9, 51)
    assert all(one[1] + 1 == other[0] for one, other in pairwise(ends)), ends


def test_a_detection_among_too_few_messages_says_so(story: Story) -> None:
    story.tell(17)
    for more in (0, 1):
        story.tell(more, start=timedelta(minutes=1))
        story.work("SCENE_DETECTION")
    errors = [each["error"] for each in jobs.list_operations("completed", **story.given)]
    assert sorted(errors) == ["", "TooFewMessages: 17 since the last break, needed are SCENE_MIN_LENGTH 10 and 8 more"]


@pytest.mark.engines()
def test_s24_without_a_model_long_pauses_end_scenes(story: Story, db: Database) -> None:
    rows = story.tell(40)
    story.tell(40, start=timedelta(hours=20))
    story.work("SCENE_DETECTION", scene_gap_hours=1000)
    assert stories.list_scenes(HERE, **story.given) == []
    story.work("SCENE_DETECTION")
    (scene,) = stories.list_scenes(HERE, **story.given)
    assert (scene["message"], scene["last_index"], scene["provenance"]) == (rows[39], 39, "extract")
    assert table_recaps.read_checked(db.read, story.persona, HERE) == set()


@pytest.mark.engines()
@pytest.mark.parametrize("changed", [(8, 2), (8, 7, 2), (3, 8), (2, 3, 7, 8), (8, 3, 7), (0, 1, 2, 3, 8)])
def test_s20_p69_deletions_before_a_worker_runs_keep_recaps_and_order(story: Story, changed: tuple[int, ...]) -> None:
    rows = story.tell(12, texts=[f"{chr(97 + at) * 5}." for at in range(12)])
    for at, name in ((3, "The storm"), (8, "The watch")):
        assert stories.add_scene_break(rows[at], name, **story.given).stored
    assert story.run()
    for at in changed:
        assert chat_history_cache.delete_chat_message(rows[at], **story.given).stored
    model = Model(lambda asked: f"A recap of {asked.count('who')}" if "Messages:" in asked else "So far.")
    assert {each.state for each in story.run(model)} == {"completed"}
    left = [sum(at not in changed for at in scene) for scene in (range(4), range(4, 9))]
    told = [(scene["name"], scene["recap"]) for scene in stories.list_scenes(HERE, **story.given)]
    names = zip(("The storm", "The watch"), left, strict=True)
    assert told == [(name, f"A recap of {1 + n}") for name, n in names if n], "the request has the word once"


def test_s20_a_scene_waits_for_the_recap_of_an_earlier_one_that_was_queued_after_it(story: Story) -> None:
    """Its messages would be told twice: it begins after the earlier scene only when that has its recap."""
    story.break_scenes(story.tell(12), 8, 3)
    model = Model("A recap.")
    assert {each.state for each in story.run(model, running_scene_recap_auto_generate=False)} == {"completed"}
    assert [request.count("Ann walks") for request in model.asked] == [4, 5]


def test_t33_recaps_name_who_said_it(story: Story) -> None:
    story.write("I sold the red house.", who="Ann")
    story.write("I bought a boat in Genoa.", who="Bob")
    story.write("I stay at home.", who="Ann")
    assert story.call(stories.queue_recaps, story.path)
    assert story.call(stories.add_scene_break, story.messages[-1]).stored and story.run()
    told = [story.get(message, "memory") for message in story.messages]
    assert told == ["Ann: I sold the red house.", "Bob: I bought a boat in Genoa.", "Ann: I stay at home."]
    recap = story.get(story.messages[-1], "scene_recap_memory")
    assert recap == "Ann: I sold the red house. Bob: I bought a boat in Genoa. Ann: I stay at home."


@pytest.mark.engines()
def test_s25_a_scene_all_left_out_is_skipped(story: Story) -> None:
    rows = story.tell(6, texts=["a b c one.", "a b c two.", "secret three.", "secret four.", "e five.", "e six."])
    story.break_scenes(rows, 1, 3, 5)
    for at in (2, 3):
        stories.set_data(rows[at], "exclude", True, **story.given)
    model = Model(lambda request: '{"recap": "d"}' if "New scenes" in request else "A recap.")
    assert {each.state for each in story.run(model)} == {"completed"} and "secret" not in str(model.asked)
    assert str(model.asked).count("Messages:") == 2, "no call for the scene without messages"
    one, two, three = stories.list_scenes(HERE, **story.given)
    assert (one["recap"], two["recap_index"], three["recap"]) == ("A recap.", None, "A recap.")
    assert (three["first_index"], three["last_index"]) == (2, 5)
    current = stories.get_running_recap(conversation=HERE, **story.given)
    assert (current["scene_count"], current["new_scene_index"]) == (2, 5)


@pytest.mark.engines()
def test_s25_a_message_left_out_later_leaves_the_recaps_of_its_scene(story: Story) -> None:
    """An out-of-character line is found out when the recap is read."""
    rows = story.tell(6, texts=["A dragon woke.", "(We stop at nine tonight.)", "It flew.", "It fell.", "e.", "f."])
    story.break_scenes(rows, 1, 3)
    assert story.run()

    def recaps() -> str:
        scenes = [scene["recap"] for scene in stories.list_scenes(HERE, **story.given)]
        return str([*scenes, stories.get_running_recap(conversation=HERE, **story.given)])

    assert "nine" in recaps() and "dragon" in recaps()
    assert stories.set_data(rows[1], "exclude", True, **story.given).stored and "nine" not in recaps()
    assert story.run() and "nine" not in recaps() and "dragon" in recaps() and "fell" in recaps()
    assert stories.set_data(rows[1], "exclude", None, **story.given).stored and story.run() and "nine" in recaps()


@pytest.mark.engines()
def test_s29_an_edit_in_the_first_scene_leaves_the_recaps_of_the_others(story: Story) -> None:
    """Their messages are hidden, so without a running recap a prompt says nothing of them until a worker runs."""
    rows = story.tell(6, texts=["A dragon woke.", "It flew.", "A knight came.", "He fought.", "e.", "f."])
    story.break_scenes(rows, 1, 3)
    assert story.run() and chat_history_cache.edit_chat_message(rows[0], "A griffin woke.", **story.given).stored
    (shown,) = stories.get_running_recap_versions(conversation=HERE, **story.given)
    assert "knight" in shown["content"] and "flew" not in shown["content"] and story.run()
    final = stories.get_running_recap(conversation=HERE, **story.given)["content"]
    assert "griffin" in final and "knight" in final and "dragon" not in final


def test_s33_a_refused_scene_recap_leaves_the_former(story: Story) -> None:
    rows = story.tell(12)
    story.break_scenes(rows, 10, recap=False)
    stories.set_scene_recap(rows[10], "x" * 1000, **story.given)
    reports = story.work("SCENE_RECAP", Model("short"), running_scene_recap_auto_generate=False, row=rows[10])
    told = [(each.state, each.error) for each in reports if each.type == "SCENE_RECAP"]
    assert told == [("retrying", "ModelError: shorter")]
    assert stories.list_scenes(HERE, **story.given)[0]["recap_index"] == 0


def test_a_scene_longer_than_the_model_can_read_is_recapped_in_stretches(story: Story) -> None:
    rows = story.tell(30, texts=[f"start{n} " + "word " * 100 for n in range(30)])
    stories.add_scene_break(rows[29], **story.given)
    model = Model(lambda request: f"part {request.count('start')}")
    story.run(model, context_tokens=1000, running_scene_recap_auto_generate=False)
    assert all(f"start{n} " in "".join(model.asked) for n in range(30))
    assert stories.list_scenes(HERE, **story.given)[0]["recap"].count("part") == len(model.asked) > 2
    # one message larger than everything else
    story.tell(1, "tg/9", texts=["giant " * 3000])
    last = story.tell(1, "tg/9", start=timedelta(days=1))[0]
    stories.add_scene_break(last, **{**story.given, "scope": story.scope("tg/9")})
    model = Model("p")
    story.run(model, context_tokens=1000, running_scene_recap_auto_generate=False)
    assert len(model.asked) > 3 and sum(request.count("giant") for request in model.asked) > 2900


@pytest.mark.engines()
@pytest.mark.parametrize("by", ["message", "person"])
def test_p69_a_recap_goes_with_a_message_that_another_scene_has_by_now(story: Story, by: str) -> None:
    """A break was set before it later on: the recap that was there tells of messages of both."""
    rows = [*story.write("I bake for a Zyxwvut"), *story.write("b", "c", "d", who="Bob")]
    for at, text in ((3, "Ann bakes for a Zyxwvut"), (1, "Ann bakes")):
        stories.add_scene_break(rows[at], recap=False, **story.given)
        assert stories.set_scene_recap(rows[at], text, **story.given).stored
    assert ranges(story)[rows[3]] == (2, 3)
    if by == "message":
        assert chat_history_cache.delete_chat_message(rows[0], **story.given).stored
    else:
        assert forget(participant="tg/ann", **story.given).total
    assert [stories.get_data(rows[at], "scene_recap_versions", **story.given) for at in (1, 3)] == [None, None]


def test_p69_a_running_recap_goes_with_a_message_before_which_older_ones_were_stored(story: Story) -> None:
    """An import puts them in front, and every index is another one from then on."""
    rows = story.write("I bake for a Zyxwvut", "b", "c")
    story.add("Ann bakes for a Zyxwvut", 1, 0, 0, 1)
    story.tell(5, start=timedelta(days=30))
    assert chat_history_cache.delete_chat_message(rows[0], **story.given).stored and story.storage()["versions"] == []
