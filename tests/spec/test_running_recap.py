"""S26 to S31, S33: versions of the running recap, what they are made from, what is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from core import jobs, stories
from core.database.schema import conversations, running_recaps
from tests.spec.stage import ELSEWHERE, HERE
from tests.spec.story import Model, Story
from tests.store.world import NOW

ROOT = Path(__file__).parents[2]


def rows(story: Story, path: str = HERE) -> list[Any]:
    v = running_recaps.c
    chosen = select(running_recaps).where(v.persona_id == story.persona, v.conversation_key == path)
    return list(story.db.read(chosen.order_by(v.version), source="running_recaps"))


def next_number(story: Story, path: str = HERE) -> int:
    c = conversations.c
    chosen = select(c.next_recap_version).where(c.persona_id == story.persona, c.conversation_key == path)
    return int(story.db.read(chosen, source="conversations")[0][0])


def test_s26_d21_numbers_are_given_once(story: Story) -> None:
    assert story.add("zero") == 0
    assert [story.add(f"text {n}") for n in range(1, 5)] == [1, 2, 3, 4]
    for gone in (2, 3):
        assert stories.delete_running_recap_version(gone, conversation=HERE, **story.given).stored
    stored = rows(story)
    assert [row.version for row in stored] == [0, 1, 2, 3, 4], "D21: five rows"
    assert [row.version for row in stored if row.deleted_at is not None] == [2, 3], "D21: two with deleted_at"
    assert [row.content for row in stored if row.deleted_at is not None] == ["", ""], "what was deleted is gone"
    assert next_number(story) == 5
    assert [each["version"] for each in story.storage()["versions"]] == [0, 1, 4]
    assert story.add("five") == 5
    assert stories.delete_running_recap_version(5, conversation=HERE, **story.given).stored
    assert story.add("six") == 6
    assert stories.delete_running_recap_version(5, conversation=HERE, **story.given).reason == "unchanged"
    assert story.add("elsewhere", path=ELSEWHERE) == 0, "numbers are those of a conversation"


_ADDER = """
import sys
from core import stories
from core.config import Settings
from core.scope import Scope
from core.database.engine import Database
url, persona, path, who = sys.argv[1:]
db = Database(url)
for n in range(10):
    number = stories.add_running_recap_version(
        f"process {who} {n}", conversation=path, db=db, settings=Settings(), scope=Scope(persona)
    )
    print(number)
db.close()
"""


@pytest.mark.slow
def test_s26_two_processes_give_0_to_19(story: Story, migrated_url: str) -> None:
    story.tell(1)
    started = [
        subprocess.Popen(
            [sys.executable, "-c", _ADDER, migrated_url, story.persona, HERE, who],
            cwd=ROOT, stdout=subprocess.PIPE, text=True,
        )
        for who in "ab"
    ]  # fmt: skip
    told = [process.communicate(timeout=60)[0] for process in started]
    assert [process.returncode for process in started] == [0, 0]
    assert sorted(int(line) for text in told for line in text.split()) == list(range(20))
    assert len({row.content for row in rows(story)}) == 20


def test_s27_a_version_and_the_storage_have_their_keys(story: Story) -> None:
    empty = story.storage()
    assert empty == {"chat_id": HERE, "current_version": 0, "versions": []}
    assert stories.get_running_recap(conversation=HERE, **story.given) is None
    assert stories.get_running_recap_versions(HERE, **story.given) == []
    assert story.add("text", 3, 1, 4, 9) == 0
    (version,) = story.storage()["versions"]
    assert list(version.items()) == [
        ("version", 0),
        ("timestamp", int(NOW.timestamp() * 1000)),
        ("content", "text"),
        ("scene_count", 3),
        ("excluded_count", 1),
        ("prev_scene_index", 4),
        ("new_scene_index", 9),
        ("provenance", "model"),
    ]
    assert list(story.storage()) == ["chat_id", "current_version", "versions"]
    assert stories.get_running_recap_versions(HERE, **story.given) == [version]
    with pytest.raises(ValueError, match="provenance"):
        story.add("x", provenance="guess")


def test_s28_the_current_version(story: Story) -> None:
    for n in range(5):
        story.add(f"text {n}")
    for gone in (2, 3):
        stories.delete_running_recap_version(gone, conversation=HERE, **story.given)
    refused = stories.set_current_running_recap(3, conversation=HERE, **story.given)
    assert (refused.stored, refused.reason) == (False, "refused")
    assert "0, 1, 4" in refused.notes[0]
    assert story.storage()["current_version"] == 4
    assert stories.delete_running_recap_version(4, conversation=HERE, **story.given).stored
    assert story.storage()["current_version"] == 1
    assert stories.set_current_running_recap(0, conversation=HERE, **story.given) == (True, 0, "")
    current = stories.get_running_recap(conversation=HERE, **story.given)
    one = stories.get_running_recap(1, conversation=HERE, **story.given)
    assert (current["content"], one["content"]) == ("text 0", "text 1")
    assert stories.get_running_recap(4, conversation=HERE, **story.given) is None
    assert stories.delete_running_recap_version(1, conversation=HERE, **story.given).stored
    assert story.storage()["current_version"] == 0, "deleting another leaves it"
    assert stories.delete_running_recap_version(0, conversation=HERE, **story.given).stored
    assert story.storage() == {"chat_id": HERE, "current_version": 0, "versions": []}
    assert stories.get_running_recap(conversation=HERE, **story.given) is None
    assert story.add("again") == 5
    assert not stories.set_current_running_recap(0, conversation="tg/none", **story.given).stored


def test_s31_the_recap_of_one_chat_is_none_of_another(story: Story) -> None:
    for n in range(3):
        story.add(f"text {n}")
    story.tell(1, ELSEWHERE)
    of_a = story.storage()
    assert story.storage(ELSEWHERE) == {"chat_id": ELSEWHERE, "current_version": 0, "versions": []}
    assert stories.get_running_recap_versions(ELSEWHERE, **story.given) == []
    assert stories.get_running_recap(conversation=ELSEWHERE, **story.given) is None
    assert story.add("new", path=ELSEWHERE) == 0
    assert story.storage() == of_a


def told(story: Story, *at: int, count: int = 55) -> list[int]:
    """Store messages, break them where said, and give each scene a recap by hand; nothing is queued for it."""
    made = story.tell(count)
    for index in at:
        stories.add_scene_break(made[index], recap=False, **story.given)
        stories.set_scene_recap(
            made[index], f"Scene to {index}.", **story.with_flags(running_scene_recap_auto_generate=False)
        )
    return made


def combine(story: Story, model: Any = None, **metadata: Any) -> list[tuple[str, str]]:
    """Run one RUNNING_SCENE_RECAP and return state and error."""
    jobs.enqueue_operation("RUNNING_SCENE_RECAP", metadata=metadata, conversation=HERE, **story.given)
    return [(each.state, each.error) for each in story.run(model)]


def numbers(version: Any) -> tuple[int, ...]:
    names = ("scene_count", "excluded_count", "prev_scene_index", "new_scene_index")
    return tuple(version[name] for name in names)


def test_s29_bulk_then_incremental_then_anew_from_the_version_before(story: Story) -> None:
    made = told(story, 10, 20, 30)
    model = Model(lambda request: '{"recap": "Of ' + str(request.count("Scene to")) + '."}')
    assert combine(story, model) == [("completed", "")]
    (v0,) = story.storage()["versions"]
    assert numbers(v0) == (2, 1, 0, 20)
    assert "Scene to 30." not in model.asked[0]
    # a version and a new scene
    assert combine(story, model) == [("completed", "")]
    v1 = story.storage()["versions"][1]
    assert numbers(v1) == (3, 0, 20, 30)
    assert "Scene to 30." in model.asked[1]
    assert "Scene to 20." not in model.asked[1]
    assert "Of 2." in model.asked[1], "the previous text goes with it"
    assert v1["content"] == "Of 1.", "the model writes the whole text anew"
    # nothing new: the model is not asked
    assert combine(story, model) == [("completed", "")]
    assert (len(model.asked), len(story.storage()["versions"])) == (2, 2)
    # a recap edited afterwards
    stories.set_scene_recap(made[30], "Scene to 30, told anew.", **story.given)
    story.run(model)
    v2 = story.storage()["versions"][2]
    assert numbers(v2) == (3, 0, 20, 30)
    assert "told anew" in model.asked[2]
    assert "Of 2." in model.asked[2] and "Of 1." not in model.asked[2], "from the version before that scene"
    stories.set_scene_recap(made[10], "Scene to 10, told anew.", **story.given)
    story.run(model)
    assert numbers(story.storage()["versions"][3]) == (3, 0, 0, 30)
    assert combine(story, model, anew=True) == [("completed", "")]
    assert numbers(story.storage()["versions"][4]) == (2, 1, 0, 20)


@pytest.mark.engines("sqlite")  # no server does it differently
def test_s30_a_text_of_the_host_is_carried_on(story: Story) -> None:
    told(story, 10, 20)
    story.add("What the host knows.", 1, 0, 0, 10)
    model = Model("Plain words of a small model.")
    combine(story, model)
    assert "What the host knows." in model.asked[0]
    assert "Scene to 10." not in model.asked[0]
    assert story.storage()["versions"][1]["content"] == "Plain words of a small model."
    assert numbers(story.storage()["versions"][1]) == (2, 0, 10, 20)


@pytest.mark.dialects
def test_two_at_once_do_not_lose_a_scene(story: Story) -> None:
    """Who finds that another version became current meanwhile stores nothing and is queued again."""
    made = told(story, 10, 20)

    def meanwhile(request: str) -> str:
        if len(story.storage()["versions"]) == 1:
            stories.add_scene_break(made[30], recap=False, **story.given)
            story.add("Put in meanwhile, a text long enough to be carried on.", 2, 0, 0, 20)
        return '{"recap": "new"}'

    story.add("First.", 1, 0, 0, 10)
    combine(story, Model(meanwhile))
    versions = story.storage()["versions"]
    assert [each["version"] for each in versions] == [0, 1], "no third, and the second is the one put in meanwhile"
    assert story.states() == [("RUNNING_SCENE_RECAP", "completed")] * 2


def test_s33_a_far_shorter_or_blank_text_or_an_error_never_becomes_current(story: Story) -> None:
    story.add("x" * 1000)
    assert story.add("y" * 299) is None
    assert story.add(" \n") is None
    assert story.storage()["current_version"] == 0
    assert story.add("y" * 300) == 1
    assert story.add("z" * 199) == 2
    assert story.add("a") == 3, "below 200 characters any text that is not blank"
    assert story.add("Error 429: too many requests") is None
    assert story.add("b" * 1000) == 4
    assert story.add("by hand", provenance="manual") == 5
