"""Versions of the running recap, and where it stands in injection, prompt and messages (S14, S26 to S42)."""

import itertools
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from core import build_messages, chat_history_cache, jobs, stories
from core.database.schema import conversations, running_recaps
from tests.spec.stage import ELSEWHERE, HERE, at_once, message, reasons
from tests.spec.story import Model, Story, by_words
from tests.store.world import NOW, rows_of


def rows(story: Story, path: str = HERE) -> list[Any]:
    v = running_recaps.c
    chosen = select(running_recaps).where(v.persona_id == story.persona, v.conversation_key == path)
    return list(story.db.read(chosen.order_by(v.version), source="running_recaps"))


@pytest.mark.engines()
def test_s26_s28_d21_numbers_are_given_once_and_one_version_is_current(story: Story) -> None:
    here = {"conversation": HERE, **story.given}
    delete = partial(stories.delete_running_recap_version, **here)
    assert [story.add(f"text {n}") for n in range(5)] == [0, 1, 2, 3, 4]
    assert [delete(gone).stored for gone in (2, 3)] == [True, True]
    stored = rows(story)
    assert [row.version for row in stored] == [0, 1, 2, 3, 4], "D21: five rows"
    gone = [(row.version, row.content) for row in stored if row.deleted_at is not None]
    assert gone == [(2, ""), (3, "")], "D21: two with deleted_at, and what was deleted is gone"
    assert [row.next_recap_version for row in rows_of(story.db, conversations, story.persona)] == [5]
    assert [each["version"] for each in story.storage()["versions"]] == [0, 1, 4]
    refused = stories.set_current_running_recap(3, **here)
    assert (refused.stored, refused.reason) == (False, "refused") and "0, 1, 4" in refused.notes[0]
    assert story.storage()["current_version"] == 4 and delete(4).stored and story.storage()["current_version"] == 1
    assert stories.set_current_running_recap(0, **here) == (True, 0, "")
    texts = [stories.get_running_recap(*number, **here) for number in ((), (1,), (4,))]
    assert [text and text["content"] for text in texts] == ["text 0", "text 1", None]
    assert delete(1).stored and story.storage()["current_version"] == 0, "deleting another leaves it"
    assert delete(0).stored and story.storage() == {"chat_id": HERE, "current_version": 0, "versions": []}
    assert stories.get_running_recap(**here) is None
    assert story.add("again") == 5 and delete(5).stored and story.add("six") == 6
    assert delete(5).reason == "unchanged"
    assert story.add("elsewhere", path=ELSEWHERE) == 0, "numbers are those of a conversation"
    assert not stories.set_current_running_recap(0, conversation="tg/none", **story.given).stored


@pytest.mark.engines()
@pytest.mark.dialects
def test_s26_two_at_once_give_0_to_19(story: Story) -> None:
    story.tell(1)
    told = at_once(lambda: [story.add("the story so far") for _ in range(10)], 2)
    assert sorted(number for numbers in told for number in numbers) == list(range(20))
    assert [row.version for row in rows(story)] == list(range(20))


def test_s27_s31_a_version_and_the_storage_have_their_keys_and_are_of_one_chat(story: Story) -> None:
    empty = story.storage()
    assert empty == {"chat_id": HERE, "current_version": 0, "versions": []}
    assert stories.get_running_recap(conversation=HERE, **story.given) is None
    assert stories.get_running_recap_versions(HERE, **story.given) == [] and story.add("text", 3, 1, 4, 9) == 0
    (version,) = story.storage()["versions"]
    assert list(version.items()) == [
        ("version", 0), ("timestamp", int(NOW.timestamp() * 1000)), ("content", "text"), ("scene_count", 3),
        ("excluded_count", 1), ("prev_scene_index", 4), ("new_scene_index", 9), ("provenance", "model"),
    ]  # fmt: skip
    assert list(story.storage()) == ["chat_id", "current_version", "versions"]
    assert stories.get_running_recap_versions(HERE, **story.given) == [version]
    story.tell(1, ELSEWHERE)
    assert story.storage(ELSEWHERE) == {**empty, "chat_id": ELSEWHERE}
    assert stories.get_running_recap_versions(ELSEWHERE, **story.given) == []
    assert stories.get_running_recap(conversation=ELSEWHERE, **story.given) is None
    assert story.add("new", path=ELSEWHERE) == 0 and story.storage()["versions"] == [version]
    assert numbers(story.storage(ELSEWHERE)["versions"][0]) == (0, 0, 0, 0)
    with pytest.raises(ValueError, match="provenance"):
        story.add("x", provenance="guess")


def told(story: Story, *at: int, count: int = 55) -> list[int]:
    """Store messages, break them where said, and give each scene a recap by hand; nothing is queued for it."""
    made = story.tell(count)
    story.break_scenes(made, *at, recap=False)
    given = story.with_flags(running_scene_recap_auto_generate=False)
    for index in at:
        stories.set_scene_recap(made[index], f"Scene to {index}.", **given)
    return made


def combine(story: Story, model: Any = None, **metadata: Any) -> list[tuple[str, str]]:
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
    assert "Scene to 30." not in model.asked[0] and "Recap up to now" not in model.asked[0]
    assert "at most 736 words" in model.asked[0], "15 % of 8,192 tokens, in words"
    # a version and a new scene
    assert combine(story, model) == [("completed", "")]
    v1 = story.storage()["versions"][1]
    assert numbers(v1) == (3, 0, 20, 30) and "Scene to 30." in model.asked[1] and "Scene to 20." not in model.asked[1]
    assert 'Recap up to now: {"recap": "Of 2."}\n\nNew scenes: [' in model.asked[1], "the previous text goes with it"
    assert v1["content"] == "Of 1.", "the model writes the whole text anew"
    # nothing new: the model is not asked
    assert combine(story, model) == [("completed", "")]
    assert (len(model.asked), len(story.storage()["versions"])) == (2, 2)
    # a recap edited afterwards
    stories.set_scene_recap(made[30], "Scene to 30, told anew.", **story.given)
    story.run(model)
    assert numbers(story.storage()["versions"][2]) == (3, 0, 20, 30) and "told anew" in model.asked[2]
    assert "Of 2." in model.asked[2] and "Of 1." not in model.asked[2], "from the version before that scene"
    stories.set_scene_recap(made[10], "Scene to 10, told anew.", **story.given)
    story.run(model)
    assert numbers(story.storage()["versions"][3]) == (3, 0, 0, 30)
    assert combine(story, model, anew=True) == [("completed", "")]
    assert numbers(story.storage()["versions"][4]) == (2, 1, 0, 20)


def test_s30_a_text_of_the_host_is_carried_on(story: Story) -> None:
    told(story, 10, 20)
    story.add("What the host knows.", 1, 0, 0, 10)
    model = Model("Plain words of a small model.")
    combine(story, model)
    assert "What the host knows." in model.asked[0] and "Scene to 10." not in model.asked[0]
    version = story.storage()["versions"][1]
    assert (version["content"], numbers(version)) == ("Plain words of a small model.", (2, 0, 10, 20))


@pytest.mark.engines()
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
    assert story.add("y" * 299) is story.add(" \n") is None and story.storage()["current_version"] == 0
    assert [story.add("y" * 300), story.add("z" * 199)] == [1, 2]
    assert story.add("a") == 3, "below 200 characters any text that is not blank"
    assert story.add("Error 429: too many requests") is None
    assert [story.add("b" * 1000), story.add("by hand", provenance="manual")] == [4, 5]


def injection(story: Story, path: str = HERE, **flags: Any) -> Any:
    return stories.get_running_recap_injection(path, **story.with_flags(**flags))


def test_s38_defaults_and_flags(story: Story) -> None:
    story.add("x", provenance="manual")
    made = injection(story)
    assert list(made.items()) == [
        ("key", "auto_recap_scene"), ("value", "The story so far:\nx"), ("position", "in_chat"), ("depth", 2),
        ("scan", False), ("role", "user"),
    ]  # fmt: skip
    by_hand = injection(story, scene_recap_position="before_prompt", scene_recap_depth=0, scene_recap_scan=True,
                        scene_recap_role="assistant")  # fmt: skip
    assert list(by_hand.values())[2:] == ["before_prompt", 0, True, "assistant"]
    assert stories.to_numbers(by_hand)["position"] == 2


def test_s41_the_text_is_that_of_the_template(story: Story, tmp_path: Path) -> None:
    story.add("x")
    overlay = tmp_path / "running_recap.txt.j2"
    overlay.write_text("So far: {{ running_recap }}", encoding="utf-8")
    assert injection(story, templates_dir=tmp_path)["value"] == "So far: x"
    assert story.context(TEMPLATES_DIR=tmp_path)["running_recap"] == "So far: x"
    for blank in ("", "  \n", "{# nothing #}"):
        overlay.write_text(blank, encoding="utf-8")
        assert injection(story, templates_dir=tmp_path)["value"] == "x"
    assert injection(story)["value"] == "The story so far:\nx"


def test_s41_without_recap_or_with_stories_off_nothing_is_injected(story: Story) -> None:
    story.tell(2)
    assert injection(story)["value"] == "" and "running_recap" not in story.context()
    story.add("x")
    assert story.context()["running_recap"] == "The story so far:\nx"
    assert "running_recap" not in story.context(ENABLE_RUNNING_RECAP=0)
    assert stories.switch_stories(False, HERE, **story.given).stored
    assert stories.switch_stories(False, HERE, **story.given).reason == "unchanged"
    assert injection(story)["value"] == "" and "running_recap" not in story.context()
    assert stories.refresh_memory(HERE, **story.given)["running_recap"] == ""
    assert stories.switch_stories(True, HERE, **story.given).stored
    assert stories.refresh_memory(HERE, **story.given)["running_recap"] == "The story so far:\nx"
    stories.delete_running_recap_version(0, conversation=HERE, **story.given)
    assert "running_recap" not in story.context()
    assert not stories.switch_stories(False, "tg/none", **story.given).stored


def test_s41_switched_off_operations_make_nothing(story: Story) -> None:
    rows = story.tell(12)
    stories.add_scene_break(rows[10], **story.given)
    stories.switch_stories(False, HERE, **story.given)
    stories.add_scene_break(rows[5], **story.given)
    assert story.states() == [("SCENE_RECAP", "pending")]
    story.run()
    assert [each["recap_index"] for each in stories.list_scenes(HERE, **story.given)] == [None, None]


def test_s14_the_injected_text_fits_into_its_share_of_the_context(story: Story) -> None:
    story.tell(1)
    story.add(" ".join(f"d{n} one two three." for n in range(50)))
    flags = {"context_tokens": 1000, "running_recap_context_limit": 10}
    made = stories.get_running_recap_injection(HERE, counter=by_words, **story.with_flags(**flags))
    head, text = made["value"].split("\n")
    assert head == "The story so far:" and text == " ".join(f"d{n} one two three." for n in range(26, 50))
    assert by_words(made["value"]) == 100
    nothing = stories.get_running_recap_injection(HERE, **story.with_flags(running_recap_context_limit=0))
    assert nothing["value"] == ""
    _, report = story.explain(CONTEXT_TOKENS=1000, RUNNING_RECAP_CONTEXT_LIMIT=10)
    section, gone = report["sections"]["running_recap"], reasons(report, "running_recap")
    assert (section["kept"], section["found"]) == (1, 1 + len(gone)) and len(gone) > 10 and set(gone) == {"limit"}


@pytest.mark.parametrize(("flags", "expected"), [
    ({}, "system, l0, l1, l2, RECAP user, l3, new"),
    ({"SCENE_RECAP_DEPTH": 4}, "system, l0, RECAP user, l1, l2, l3, new"),
    ({"SCENE_RECAP_DEPTH": 99}, "system, RECAP user, l0, l1, l2, l3, new"),
    ({"SCENE_RECAP_DEPTH": 0}, "system, l0, l1, l2, l3, new, RECAP user"),
    ({"SCENE_RECAP_POSITION": "in_prompt", "SCENE_RECAP_ROLE": "system"}, "system, RECAP system, l0, l1, l2, l3, new"),
    ({"SCENE_RECAP_POSITION": "before_prompt"}, "system, RECAP user, l0, l1, l2, l3, new"),
    ({"SCENE_RECAP_POSITION": "before_prompt", "SCENE_RECAP_ROLE": "system"}, "RECAP system, l0, l1, l2, l3, new"),
    ({"SCENE_RECAP_POSITION": "after_prompt", "SCENE_RECAP_ROLE": "assistant"},
     "system, l0, l1, l2, l3, RECAP assistant, new"),
], ids=str)  # fmt: skip
def test_p73_position_depth_and_role_hold_in_the_messages(story: Story, flags: dict[str, Any], expected: str) -> None:
    story.write("l0", "l1", "l2", "l3")
    story.add("They left.\nAnn: I agree.", provenance="manual")
    made = build_messages(message("new"), **story.with_flags(**flags))
    shown = []
    for each in made:
        text = each["content"]
        if "They left" in text:
            assert text.count("story so far") == 1 and "\nAnn: I agree" not in text
            shown.append(f"RECAP {each['role']}")
        else:
            shown.append("system" if each["role"] == "system" else text.rsplit("\n", 1)[-1].rpartition("] ")[2])
    assert ", ".join(shown) == expected
    assert len(build_messages(message("new"), max_chars=900, **story.with_flags(**flags))) >= 2


def test_p53_a_running_recap_loses_its_beginning_and_is_in_every_prompt_with_room_for_a_part(story: Story) -> None:
    """Each cut can move a day's time to another line: what exceeds the limit then is no reason to drop the recap."""
    for n in range(60):
        at = NOW - timedelta(days=30) + n * timedelta(hours=11)
        text = f"We walk to village {n} and rest there." if n % 3 else f"Stage {n} is {'muddy ' * (n % 7)}and long."
        story.call(chat_history_cache.save_chat_message, HERE, text, "Ann", "ann" if n % 2 else "self", at)
    recap = " ".join(f"On day {n} Ann met the miller of village {n}." for n in range(20))
    assert story.add(recap, provenance="manual") is not None
    asked, given = message("Did Ann walk to a village?"), story.with_flags(HISTORY_LINES=40)
    for limit in range(3500, 4300, 50):
        text = "\n\n".join(one["content"] for one in build_messages(asked, max_chars=limit, **given))
        assert len(text) <= limit and "village 19." in text, limit


def test_p53_many_memories_leave_the_running_recap_its_quarter(story: Story) -> None:
    """It is what a model needs first of a long story; a part of it begins with a sentence."""
    turns = [f"Turn {n}: we walk to the lighthouse, and the keeper of house {n} counts his steps." for n in range(120)]
    story.messages = story.tell(120, texts=turns)
    for row in story.messages[::4]:
        story.set(row, "memory", "They walked on. The horse limped in the rain, and the keeper counted his steps.")
    whole = " ".join(f"The sword number {n} lies in the well of village {n}, under a stone." for n in range(30))
    story.add(whole, provenance="manual")
    story.refresh(MESSAGE_RECAP_CONTEXT_LIMIT=4000)
    flags = {"HISTORY_LINES": 40, "ENABLE_MESSAGE_RECAPS": True, "MESSAGE_RECAP_CONTEXT_LIMIT": 4000}
    for asked, limit in itertools.product(("How many steps does the keeper count?", "What now?"), (4000, 8000, 16_000)):
        made = build_messages(message(asked), max_chars=limit, **story.with_flags(**flags))
        (chat,) = [each["content"] for each in made if "The story so far:" in each["content"]]
        prompt = story.context(asked, max_chars=limit, settings=story.settings(**flags))
        for recap in (chat, prompt["running_recap"]):
            title, _, shown = recap.partition("\n")
            assert title == "The story so far:" and whole.endswith(shown.lstrip("…")), (limit, shown)
            assert (shown.startswith(("The sword", "…The sword")) and len(shown) > limit // 6) or shown == whole
            assert shown == whole or limit < 16_000
