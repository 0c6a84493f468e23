"""S14, S38, S41, S42: the running recap in the injection, in the prompt, in its messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core import stories
from core.config import Settings
from core.prompt_engine import build_messages, to_messages
from tests.spec.stage import ELSEWHERE, HERE, message
from tests.spec.story import Story

pytestmark = pytest.mark.engines("sqlite")


def injection(story: Story, path: str = HERE, **flags: Any) -> Any:
    return stories.get_running_recap_injection(path, **story.with_flags(**flags))


def test_s38_defaults_and_flags(story: Story) -> None:
    story.add("x", provenance="manual")
    made = injection(story)
    assert list(made.items()) == [
        ("key", "auto_recap_scene"),
        ("value", "The story so far:\nx"),
        ("position", "in_chat"),
        ("depth", 2),
        ("scan", False),
        ("role", "user"),
    ]
    by_hand = stories.get_running_recap_injection(
        HERE, position="before_prompt", depth=0, scan=True, role="assistant", **story.given
    )
    assert list(by_hand.values())[2:] == ["before_prompt", 0, True, "assistant"]
    assert stories.to_numbers(by_hand)["position"] == 2
    for wrong in ({"position": "middle"}, {"role": "bot"}, {"depth": -1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            stories.get_running_recap_injection(HERE, **wrong, **story.given)


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
    assert injection(story)["value"] == ""
    assert "running_recap" not in story.context()
    story.add("x")
    assert story.context()["running_recap"] == "The story so far:\nx"
    assert "running_recap" not in story.context(ENABLE_RUNNING_RECAP=0)
    assert stories.switch_stories(False, HERE, **story.given).stored
    assert stories.switch_stories(False, HERE, **story.given).reason == "unchanged"
    assert injection(story)["value"] == ""
    assert "running_recap" not in story.context()
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


def test_s42_prompt_and_messages_hold_the_text_once(story: Story) -> None:
    story.tell(4)
    story.add("the canary of the story")
    prompt, report = story.explain()
    assert prompt["context"]["running_recap"] == "The story so far:\nthe canary of the story"
    assert json.dumps(prompt).count("canary") == 1
    made = to_messages(prompt, settings=Settings())
    assert json.dumps(made).count("canary") == 1
    at = next(n for n, message in enumerate(made) if "canary" in message["content"])
    assert "house 3" in made[at + 1]["content"], "depth 2: one line of the history and the new message come after"
    assert "house 2" in made[at - 1]["content"]
    assert report["sections"]["running_recap"]["found"] == 1
    assert story.prompt(path=ELSEWHERE)["context"].get("running_recap") is None, "it is that of this conversation"


def test_s14_the_injected_text_fits_into_its_share_of_the_context(story: Story) -> None:
    story.tell(1)
    story.add(" ".join(f"d{n} one two three." for n in range(50)))

    def count(text: str) -> int:
        return len(text.split())

    flags = {"context_tokens": 1000, "running_recap_context_limit": 10}
    made = stories.get_running_recap_injection(HERE, counter=count, **story.with_flags(**flags))
    head, text = made["value"].split("\n")
    assert head == "The story so far:"
    assert text == " ".join(f"d{n} one two three." for n in range(26, 50))
    assert count(made["value"]) == 100
    nothing = stories.get_running_recap_injection(HERE, **story.with_flags(running_recap_context_limit=0))
    assert nothing["value"] == ""
    _, report = story.explain(CONTEXT_TOKENS=1000, RUNNING_RECAP_CONTEXT_LIMIT=10)
    section = report["sections"]["running_recap"]
    gone = [each for each in report["left_out"] if each["section"] == "running_recap"]
    assert (section["kept"], section["found"]) == (1, 1 + len(gone))
    assert len(gone) > 10
    assert {each["reason"] for each in gone} == {"limit"}


def test_f83_no_line_of_the_injected_text_begins_like_a_speakers(story: Story) -> None:
    """A host that places the text itself is as safe as the prompt."""
    for breaks in ("\n", "\u2028", "\u2029", "\x85"):
        story.add(f"They met.{breaks}Ann: I agree.", provenance="manual")
        lines = injection(story)["value"].splitlines()
        assert not any(line.startswith("Ann:") for line in lines), repr(breaks)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({}, "system, l0, l1, l2, RECAP user, l3, new"),
        ({"SCENE_RECAP_DEPTH": 4}, "system, l0, RECAP user, l1, l2, l3, new"),
        ({"SCENE_RECAP_DEPTH": 99}, "system, RECAP user, l0, l1, l2, l3, new"),
        ({"SCENE_RECAP_DEPTH": 0}, "system, l0, l1, l2, l3, new, RECAP user"),
        (
            {"SCENE_RECAP_POSITION": "in_prompt", "SCENE_RECAP_ROLE": "system"},
            "system, RECAP system, l0, l1, l2, l3, new",
        ),
        ({"SCENE_RECAP_POSITION": "before_prompt"}, "system, RECAP user, l0, l1, l2, l3, new"),
        ({"SCENE_RECAP_POSITION": "before_prompt", "SCENE_RECAP_ROLE": "system"}, "RECAP system, l0, l1, l2, l3, new"),
        (
            {"SCENE_RECAP_POSITION": "after_prompt", "SCENE_RECAP_ROLE": "assistant"},
            "system, l0, l1, l2, l3, RECAP assistant, new",
        ),
    ],
    ids=str,
)
def test_p73_position_depth_and_role_hold_in_the_messages(story: Story, flags: dict[str, Any], expected: str) -> None:
    """And the story has one title, not two."""
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
