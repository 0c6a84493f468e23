"""S32: a story that goes on in another conversation, and the recaps of one chat in another."""

from __future__ import annotations

from typing import Any

import pytest

from core import chat_history_cache, stories
from core.database.engine import Database
from core.errors import MessageError, StoreWriteError
from core.scope import Scope
from core.stories import table_branches
from core.stories.running import table as running_table
from core.synth_core_memory import search_memories
from tests.spec.stage import HERE
from tests.spec.story_stage import StoryStage
from tests.store.world import index_differences

BRANCH = "tg/99"


@pytest.fixture
def stage(db: Database) -> StoryStage:
    """A persona of its own."""
    return StoryStage(db)


def told(stage: StoryStage, count: int = 80, path: str = HERE) -> list[int]:
    """Store messages with scenes at 20, 40 and 70, their recaps, and a running recap up to 70."""
    rows = stage.tell(count, path)
    stories.set_data(rows[3], "memory", "Ann saw house 3.", **stage.given)
    quiet = stage.with_flags(running_scene_recap_auto_generate=False)
    for at in (20, 40, 70):
        if at < count:
            stories.add_scene_break(rows[at], f"to {at}", recap=False, **stage.given)
            stories.set_scene_recap(rows[at], f"first of {at}", **quiet)
            stories.set_scene_recap(rows[at], f"recap of {at}", **quiet)
    for n, at in enumerate((20, 40, 70)):
        stage.add(f"story to {at}", n + 1, 0, 0, at, path=path)
    stories.delete_running_recap_version(0, conversation=path, **stage.given)
    return rows


def branch(stage: StoryStage, at: Any = None, target: str = BRANCH, **more: Any) -> Any:
    """Branch the story."""
    return stories.branch_conversation(HERE, target, at, **{**stage.given, **more})


def test_s32_a_branch_takes_what_lies_up_to_its_message(stage: StoryStage) -> None:
    rows = told(stage)
    made = branch(stage, 60)
    assert made == {
        "stored": True,
        "reason": "",
        "messages": 61,
        "recaps": 1,
        "scenes": 2,
        "versions": 2,
        "current_version": 1,
    }
    scenes = stories.list_scenes(BRANCH, **stage.given)
    assert [(each["last_index"], each["name"], each["recap"]) for each in scenes] == [
        (20, "to 20", "recap of 20"),
        (40, "to 40", "recap of 40"),
    ], "breaks above 60 are not copied"
    assert not {each["message"] for each in scenes} & set(rows)
    recaps = stories.get_scene_recaps(scenes[1]["message"], **stage.given)
    assert [each["content"] for each in recaps] == ["first of 40", "recap of 40"]
    storage = stage.storage(BRANCH)
    assert [(each["version"], each["content"]) for each in storage["versions"]] == [
        (1, "story to 40"),
        (2, "story to 70"),
    ]
    assert storage["current_version"] == 1, "the version that reaches behind the message is not current"
    assert stage.add("goes on", path=BRANCH) == 3, "the counter goes with it"
    assert stage.storage()["current_version"] == 2, "the source is as it was"
    assert len(stories.list_scenes(HERE, **stage.given)) == 3


def test_s32_the_messages_of_a_branch_are_whole_and_searched(stage: StoryStage, db: Database) -> None:
    rows = told(stage)
    branch(stage, rows[60])
    lines = chat_history_cache.load_chat_history(BRANCH, 100, **stage.given)
    there = chat_history_cache.load_chat_history(HERE, 100, **stage.given)
    assert [line["text"] for line in lines] == [line["text"] for line in there[:61]]
    assert [line["timestamp"] for line in lines] == [line["timestamp"] for line in there[:61]]
    assert index_differences(db, stage.persona) == []
    found = search_memories(keywords=["house 60"], include_chat=True, **{**stage.given, "scope": stage.scope(BRANCH)})
    assert found
    data = stories.get_data(stories.list_scenes(BRANCH, **stage.given)[0]["message"], **stage.given)
    assert data["scene_recap_versions"] == ["first of 20", "recap of 20"]


def test_s32_messages_the_host_saved_itself_are_taken_by_their_index(stage: StoryStage) -> None:
    told(stage)
    mine = stage.tell(50, BRANCH)
    made = branch(stage, 60)
    assert (made["messages"], made["scenes"], made["recaps"]) == (0, 2, 1)
    assert [each["message"] for each in stories.list_scenes(BRANCH, **stage.given)] == [mine[20], mine[40]]
    assert stories.get_memory(mine[3], **stage.given) == "Ann saw house 3."
    assert len(chat_history_cache.load_chat_history(BRANCH, 100, **stage.given)) == 50


@pytest.mark.engines("sqlite")  # no server does it differently
def test_s32_a_branch_is_made_once_and_of_something(stage: StoryStage) -> None:
    rows = told(stage, 30)
    assert branch(stage)["messages"] == 30
    assert branch(stage)["reason"] == "duplicate"
    assert branch(stage, 30, "tg/98")["reason"] == "unchanged"
    assert branch(stage, rows[-1], "tg/98")["messages"] == 30
    assert branch(stage, -1, "tg/97")["reason"] == "unchanged"
    assert stories.branch_conversation("tg/none", "tg/97", **stage.given)["reason"] == "unchanged"
    with pytest.raises(MessageError, match="same conversation"):
        branch(stage, target=HERE)
    with pytest.raises(MessageError, match="at_message"):
        branch(stage, "60", "tg/96")


def test_s32_a_branch_is_as_private_as_its_source(stage: StoryStage) -> None:
    stage.say("hello there", HERE, privacy="direct", participant="tg/ann")
    stage.add("secret")
    stage.tell(1, "tg/open")
    assert branch(stage, target="tg/open")["reason"] == "privacy"
    assert branch(stage)["stored"]
    asking = {**stage.given, "scope": stage.scope("tg/open")}
    assert chat_history_cache.load_chat_history(BRANCH, **asking) == []
    assert stories.get_running_recap(conversation=BRANCH, **asking) is None
    own = {**stage.given, "scope": stage.scope(BRANCH, participant="tg/ann")}
    assert len(chat_history_cache.load_chat_history(BRANCH, **own)) == 1
    assert stories.copy_recaps(HERE, "tg/open", **stage.given).reason == "privacy"
    assert branch(stage, target="tg/5", scope=stage.scope("tg/open"))["reason"] == "unchanged"
    assert branch(stage, target="tg/5", scope=Scope("nobody"))["reason"] == "unchanged"


@pytest.mark.engines("sqlite")  # no server does it differently
@pytest.mark.parametrize("fails", ["copy_messages", "copy_recaps", "copy_scenes", "running"])
def test_s32_all_of_a_branch_is_stored_or_nothing(
    stage: StoryStage, fails: str, monkeypatch: pytest.MonkeyPatch, db: Database
) -> None:
    """A failure after any part leaves nothing behind (G16)."""
    told(stage, 30)
    module: Any = running_table if fails == "running" else table_branches
    name = "copy_versions" if fails == "running" else fails
    whole = getattr(module, name)

    def broken(*arguments: Any) -> Any:
        whole(*arguments)
        raise StoreWriteError("broken", source="test")

    monkeypatch.setattr(module, name, broken)
    with pytest.raises(StoreWriteError, match="broken"):
        branch(stage)
    monkeypatch.undo()
    assert chat_history_cache.load_chat_history(BRANCH, **stage.given) == []
    assert stories.list_scenes(BRANCH, **stage.given) == []
    assert stage.storage(BRANCH)["versions"] == []
    assert index_differences(db, stage.persona) == []
    assert branch(stage)["stored"]


def test_s32_recaps_of_one_chat_are_scene_0_of_another(stage: StoryStage) -> None:
    told(stage)
    target = stage.tell(15, BRANCH)
    stories.add_scene_break(target[12], recap=False, **stage.given)
    made = stories.copy_recaps(HERE, BRANCH, **stage.given)
    assert made.stored
    first, second = stories.list_scenes(BRANCH, **stage.given)
    assert (first["id"], first["message"], first["last_index"], first["provenance"]) == (made.id, None, -1, "import")
    assert first["recap"] == "story to 70"
    assert (second["first_index"], second["last_index"]) == (0, 12)
    assert stories.auto_hide_plan(2, BRANCH, **stage.given)["show"] == [(0, 12)], "scene 0 is no break in the chat"
    stage.run()
    current = stories.get_running_recap(conversation=BRANCH, **stage.given)
    assert current is not None
    assert current["content"] == "story to 70"
    # again: nothing new, then a version more
    assert stories.copy_recaps(HERE, BRANCH, **stage.given).reason == "unchanged"
    stage.add("story to the end", 4, 0, 70, 79)
    assert stories.copy_recaps(HERE, BRANCH, **stage.given).id == made.id
    assert [each["recap"] for each in stories.list_scenes(BRANCH, **stage.given)] == ["story to the end", ""]
    stage.run()
    assert stage.storage(BRANCH)["versions"][-1]["content"] == "story to the end", "told anew, not twice"
    # a third chat's recaps stand beside them
    other = stage.tell(3, "tg/5")
    stories.set_data(other[1], "memory", "Bob left.", **stage.given)
    assert stories.copy_recaps("tg/5", BRANCH, **stage.given).stored
    assert [each["recap"] for each in stories.list_scenes(BRANCH, **stage.given)][:2] == [
        "story to the end",
        "Bob left.",
    ]
    assert stories.copy_recaps("tg/none", BRANCH, **stage.given).reason == "unchanged"
    stage.tell(1, "tg/6")
    assert stories.copy_recaps("tg/6", BRANCH, **stage.given).reason == "empty"


@pytest.mark.engines("sqlite")  # no server does it differently
def test_s32_a_branch_of_a_story_with_brought_recaps_has_them_too(stage: StoryStage) -> None:
    stage.tell(3)
    other = stage.tell(3, "tg/5")
    stories.set_data(other[1], "memory", "Bob left.", **stage.given)
    stories.copy_recaps("tg/5", HERE, **stage.given)
    stage.run()
    assert branch(stage, 1)["scenes"] == 1
    (scene,) = stories.list_scenes(BRANCH, **stage.given)
    assert (scene["recap"], scene["message"], scene["last_index"]) == ("Bob left.", None, -1)
    stage.run()
    assert len(stage.storage(BRANCH)["versions"]) == 1, "the version knows its scenes under their new ids"
