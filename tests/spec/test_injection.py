"""F30, F31: whatever is said, remembered, named or made of it stays a text in a data field of the prompt."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core import conversations, jobs, lifelong, relationships, short_term, stories
from core.config import Settings
from core.prompt_engine import reduce_prompt_for_llm_limit, set_hook, to_messages
from tests.spec.hostile import CANARY, HOSTILE, inner_shape, shape
from tests.spec.stage import ELSEWHERE, HERE, MINUTE, NOW, Stage

pytestmark = pytest.mark.engines("sqlite")

FLAGS: dict[str, Any] = {"short_term_max_channels": 5, "max_prompt_chars": 0, "diary_chars": 30_000}


def plant(stage: Stage, text: str) -> None:
    """Put a text into every field that may come into a prompt."""
    short = text[:150]

    def by(path: str = HERE, who: str = "tg/ann") -> dict[str, Any]:
        return {**stage.asking(path, who), "settings": Settings(**FLAGS)}

    row = stage.say(f"tofu {text}", minutes=30, who="Ann", metadata={"note": text}, message_id="m1")
    stage.say(f"tofu answer {text}", minutes=29, who="self")
    stage.say(f"tofu there {text}", ELSEWHERE, "Bob", minutes=40, title=f"t {short}")
    stage.remember(f"tofu is {text}", ["tofu", f"tofu {short[:40]}"], 300)
    stage.diary(f"day of tofu {text}", 90, personal_thought=f"thought {text}", interaction_summary=f"sum {text}",
                user_message=f"said {text}", involved_users=[f"n {short}"])  # fmt: skip
    # The entry is longer than DIARY_CHARS: its thought alone is shown.
    stage.diary("long day " * 5000, 100, personal_thought=f"other thought {text}")
    conversations.add_saved_memory(f"tofu saved {short}", **by())
    conversations.add_saved_memory(f"Please call me {short}", kind="instruction", **by())
    answer = json.dumps({"title": f"title {short}", "summary": f"summary {text}"})
    conversations.close_conversation(ELSEWHERE, lambda messages: answer, wait=True, **by(ELSEWHERE, "tg/bob"))
    relationships.adjust("tg/ann", 5, 5, f"user {short}", realname=f"real {short}", **by())
    turn = [{"content": f"turn {text}", "sender_id": "ann", "speaker": f"speaker {short}"}]
    short_term.write_turn(None, f"answer {text}", user="tg/ann", channel="tg/44", messages=turn,
                          channel_name=f"c {short}", server_name=f"s {short}", at=NOW - MINUTE,
                          **by("tg/44"))  # fmt: skip
    short_term.update_short_term_memory("tg/ann", "tg/44", f"summary {text}", **by("tg/44"))
    stories.set_data(row, "memory", f"recap {text}", **by())
    stories.set_data(row, "include", "short", **by())
    stories.add_scene_break(row, f"scene {short}", **by())
    stories.set_scene_recap(row, f"scene recap {text}", **by())
    stories.add_running_recap_version(f"running {text}", 1, 0, 0, 1, **by())
    lifelong.add_facts_with_meta([{"text": f"tofu fact {text}", "emotion": short[:40], "kind": "PastEvents"}], **by())


def built(stage: Stage, text: str, **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    short = text[:150]
    live = {
        HERE: [
            {"sender_name": f"Ann {short}", "text": f"live {text}", "reply_to": {"text": text, "sender_name": short}}
        ],
        ELSEWHERE: [{"sender_name": f"Bob {short}", "text": f"live there {text}"}],
    }
    return stage.explain(
        f"tofu {text}",
        live,
        from_user={"id": "ann", "username": f"u {short}", "full_name": f"n {short}"},
        reply_to_message={"text": f"r {text}", "from_user": {"username": f"b {short}"}},
        thread_name=f"thread {short}",
        settings=Settings(**FLAGS),
        **more,
    )


def prompt_of(stage: Stage, text: str) -> dict[str, Any]:
    """Return the prompt of a persona in which a text stands everywhere."""
    one = Stage(stage.db)
    plant(one, text)
    set_hook("context", lambda: {"mood": text})
    return built(one, text)[0]


@pytest.fixture(scope="module")
def harmless(db: Any) -> dict[str, Any]:
    prompt = prompt_of(Stage(db), "quiet words of Ann")
    empty = [key for key, value in prompt["context"].items() if value in ([], {}, "", None)]
    assert set(empty) <= {"tags_placeholder"}, empty
    return prompt


def held(prompt: dict[str, Any]) -> None:
    """Assert that a prompt holds the canary in data alone (F31)."""
    assert CANARY in json.dumps(prompt["context"])
    rest = {key: value for key, value in prompt.items() if key not in ("context", "input")}
    assert CANARY not in json.dumps(rest)
    told = to_messages(prompt)
    assert told[0]["role"] == "system" and CANARY not in told[0]["content"]
    assert {message["role"] for message in told[1:]} == {"user"}
    blocks = to_messages(prompt, "anthropic")
    assert CANARY not in json.dumps(blocks["system"])
    for position in ("before_prompt", "in_prompt", "in_chat", "after_prompt"):
        placed = to_messages(prompt, settings=Settings(scene_recap_position=position))
        system = [message["content"] for message in placed if message["role"] == "system"]
        assert CANARY not in "".join(system), position


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_f30_f31_no_text_is_more_than_a_text(stage: Stage, harmless: dict[str, Any], text: str) -> None:
    prompt = prompt_of(stage, text)
    assert shape(prompt) == shape(harmless)
    assert prompt["instructions"] == harmless["instructions"]
    assert prompt["actions"] == harmless["actions"]
    json.loads(json.dumps(prompt, allow_nan=False).encode())
    held(prompt)
    for dialect in ("openai", "anthropic"):
        mine, theirs = to_messages(prompt, dialect), to_messages(harmless, dialect)
        mine = mine["messages"] if isinstance(mine, dict) else mine
        theirs = theirs["messages"] if isinstance(theirs, dict) else theirs
        assert [inner_shape(each) for each in mine] == [inner_shape(each) for each in theirs]
    small = reduce_prompt_for_llm_limit(prompt, 9000)
    assert list(small) == list(prompt) and small["instructions"] == harmless["instructions"]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_f30_no_text_closes_a_fence_or_makes_a_section_of_a_file(stage: Stage, tmp_path: Path, text: str) -> None:
    plant(stage, text)
    by = {**stage.asking(HERE, "tg/ann"), "settings": Settings(**FLAGS)}
    told = conversations.get_user_memory_prompt(**by) or ""
    for mark in ("<saved_memories>", "</saved_memories>", "<recent_conversations>", "</recent_conversations>"):
        assert told.count(mark) == 1, mark
    inside = re.split(r"</?(?:saved_memories|recent_conversations)>", told)
    assert CANARY not in inside[0] + inside[2] + inside[4]
    whole = conversations.get_system_prompt_with_memory("base", **by)
    assert whole.startswith("base\n\n") and whole.endswith(told)
    before = conversations.load_memory(**by)
    conversations.export_markdown(tmp_path, **by)
    back = conversations.import_markdown(tmp_path, **by)
    assert (back.added, back.left_out, conversations.load_memory(**by)) == (0, (), before)


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(HOSTILE) | st.text(max_size=30), min_size=1, max_size=3))
def test_f30_any_text_leaves_the_structure(stage: Stage, harmless: dict[str, Any], parts: list[str]) -> None:
    """Whole prompts are dear: templates by themselves are tried with many more texts in tests/unit/templates."""
    prompt = prompt_of(stage, f"{CANARY} " + " ".join(parts)[:4000])
    assert shape(prompt) == shape(harmless)
    held(prompt)


def test_f31_models_are_asked_with_texts_as_data(stage: Stage) -> None:
    asked: list[list[dict[str, str]]] = []

    def model(messages: list[dict[str, str]]) -> str:
        asked.append(messages)
        return "She spoke of tofu."

    for text in HOSTILE[:8]:
        one = Stage(stage.db)
        plant(one, text)
        by = {**one.asking(HERE), "settings": Settings(**FLAGS)}
        jobs.run_pending(model=model, **by)
        lifelong.consolidate_history(HERE, model=model, **by)
        conversations.close_conversation(HERE, model, wait=True, **by)
    said = [message for messages in asked for message in messages if CANARY in message["content"]]
    assert len(said) >= 20
    for message in said:
        assert message["role"] == "user"
        for line in message["content"].split("\n"):
            if CANARY in line:
                assert _is_data(line), line[:300]


def _is_data(line: str) -> bool:
    """Return whether what a line holds of a text stands in JSON, alone or behind a word of ours."""
    for start in re.finditer(r'[{\["]', line):
        if CANARY in line[: start.start()]:
            return False
        try:
            _, end = json.JSONDecoder().raw_decode(line[start.start() :])
        except ValueError:
            continue
        return CANARY not in line[start.start() + end :]
    return False
