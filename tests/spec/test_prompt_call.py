"""The call of a prompt: arguments, message, guarded stages, its search, hooks (P1 to P6, G2 to G4, G12, G24)."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from core import search, synth_tagging
from core.errors import PromptTooLargeError
from core.prompt import pipeline
from core.prompt_engine import build_json_prompt, set_hook
from core.scope import Scope
from tests.spec.stage import ELSEWHERE, HERE, NOW, Stage, failed, message, said, same, snippets

pytestmark = pytest.mark.engines("sqlite")


def fill(stage: Stage) -> None:
    for n in range(4):
        stage.say(f"we talked about tofu number {n}", minutes=20 + n)
        stage.say(f"over there number {n}", ELSEWHERE, "Bob", minutes=30 + n)
    stage.remember("Ann cooks pizza on fridays", ["pizza"], minutes=600)
    stage.remember("Ann has a cat called tofu", ["cat"], minutes=700)
    stage.diary("a quiet day", personal_thought="she is kind", interaction_summary="we cooked", minutes=90)


def test_t58_a_stored_stop_word_tag_recalls_nothing(stage: Stage) -> None:
    """Hosts of the original stored such tags: each message with `the` showed all of them."""
    stage.remember("Orion is a club", ["the", "club"], minutes=600)
    assert snippets(stage.context("how was the weather?")) == []
    assert snippets(stage.context("which club?")) == ["Orion is a club"]


def test_p1_positional_arguments_stand_in_the_seeds_order(stage: Stage) -> None:
    given = ({"chat_id": 1}, "discord", {"type": "photo"}, [{"type": "file", "name": "a.txt"}], 50_000)
    prompt = build_json_prompt(message(path=None), *given, db=stage.db, scope=Scope(persona=stage.persona))
    assert prompt["input"]["interface"] == "discord"
    assert prompt["input"]["payload"]["image"] == {"type": "photo"}
    assert prompt["input"]["payload"]["attachments"]


def _raise(*_: Any, **__: Any) -> Any:
    raise RuntimeError("canary-text")


EMPTIED: dict[str, set[str]] = {
    "context": {"weather"}, "actions": set(), "engine_limit": set(),
    "extract_tags": set(), "expand_tags": set(), "search": {"memories"},
    "history": {"history_current_chat", "history_recent"},
    "prepare": {"memories"}, "resolve": {"memories"}, "start": {"memories"}, "choose_hits": {"memories"},
}  # fmt: skip
"""Hooks and steps of the search, and the keys of the context that are absent or empty when they raise."""


@pytest.mark.parametrize("name", EMPTIED)
def test_p3_what_raises_is_named_and_costs_its_own_section_alone(
    stage: Stage, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(stage)
    set_hook("context", lambda: {"weather": "rain"})
    set_hook("actions", lambda: {"wave": {"brief": "Wave."}})
    undisturbed = stage.prompt("tell me of pizza please")
    if hasattr(search, name):
        monkeypatch.setattr(search, name, _raise)
    else:
        set_hook(name, _raise)
    prompt, report = stage.explain("tell me of pizza please")
    assert (name in failed(report)) is not hasattr(search, name)
    assert failed(report) and "canary-text" not in json.dumps(report)
    gone = EMPTIED[name]
    assert not any(prompt["context"].get(key) for key in gone)
    free = {*gone, *(("memories",) if name in ("history", "extract_tags", "expand_tags") else ())}
    kept = {key: value for key, value in undisturbed["context"].items() if key not in free}
    assert {key: value for key, value in prompt["context"].items() if key not in free} == kept
    assert prompt["actions"] == ({} if name == "actions" else undisturbed["actions"])
    assert (prompt["input"], prompt["instructions"]) == (undisturbed["input"], undisturbed["instructions"])


def test_p3_reduction_that_fails_gives_the_whole_prompt_where_it_fits(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed = stage.prompt("hello", max_chars=50_000)
    real = pipeline.fit

    def fit(prompt: Any, space: Any, **_: Any) -> Any:
        return _raise() if space.counter else real(prompt, space)

    monkeypatch.setattr(pipeline, "fit", fit)
    prompt, report = stage.explain("hello", max_chars=50_000, counter=len)
    assert prompt == undisturbed
    assert failed(report) == ["counter"]
    with pytest.raises(PromptTooLargeError):
        stage.explain("hello", max_chars=100, counter=len)


def _counting() -> list[dict[str, Any]]:
    calls: list[dict[str, Any]] = []

    def search(**arguments: Any) -> list[Any]:
        calls.append(arguments)
        return []

    set_hook("search", search)
    return calls


def test_p4_the_search_gets_expanded_tags_salient_words_and_the_text_and_is_not_called_for_nothing(
    stage: Stage,
) -> None:
    stage.remember("x", ["cat", "pet"])
    synth_tagging.link_tags("cat", "pet", db=stage.db, scope=stage.scope())
    calls = _counting()
    stage.prompt("the cat likes recipes", CONTEXT_VERBOSITY=10)
    stage.prompt("ok")
    stage.prompt("retrodeck", ENABLE_MEMORIES=0)
    (call,) = calls
    assert call["tags"] == ["cat", "pet"]
    assert call["keywords"] == ["cat", "like", "recip"]
    assert call["query"] == "the cat likes recipes"
    assert call["include_chat"] is True
    assert call["limit"] == 10


def test_p5_hooks_get_what_the_table_says(stage: Stage) -> None:
    seen: dict[str, dict[str, Any]] = {}
    for name in ("context", "actions", "engine_limit"):
        set_hook(name, lambda name=name, **given: seen.update({name: given}))  # type: ignore[misc]
    memory = {"tg/42": []}
    stage.prompt("hi there", memory, "tg")
    given = seen["context"]
    assert (given["interface_name"], given["text"]) == ("tg", "hi there")
    assert given["context_memory"] is memory
    assert "message" in given
    assert seen["actions"] == {"interface_name": "tg"}
    assert seen["engine_limit"] == {}


ACTIONS = {"message_web": {"brief": "Say something.", "schema": {"text": "text"}, "source": "core"}}


def line(stage: Stage, **flags: Any) -> str:
    made: str = stage.prompt("hello", **flags)["instructions"]
    assert "\n" not in made
    assert "  " not in made
    assert len(made) < 1600
    return made


@pytest.mark.parametrize("lite", [0, 1])
def test_p13_plain_words_are_asked_for_unless_there_are_actions(stage: Stage, lite: int) -> None:
    for given in (None, {}, {"nameless": {}}):
        set_hook("actions", lambda given=given: given)
        shown = line(stage, PROMPT_LITE_MODE=lite)
        assert "{" not in shown and "actions" not in shown
        assert "JSON" in line(stage, ANSWER_FORMAT="actions")
    set_hook("actions", lambda: ACTIONS)
    for chosen in ("auto", "actions"):
        shown = line(stage, ANSWER_FORMAT=chosen, PROMPT_LITE_MODE=lite)
        assert all(word in shown for word in ("JSON", "type", "payload", "thread_id", "actions"))
    assert "{" not in line(stage, ANSWER_FORMAT="text", PROMPT_LITE_MODE=lite)


def test_g2_a_hook_acts_on_the_next_prompt(stage: Stage) -> None:
    fill(stage)
    hit = {"source": "memories", "id": 1, "timestamp": "", "snippet": "mine", "tags": []}
    set_hook("search", lambda tags, keywords: [hit])
    assert snippets(stage.context("pizza")) == ["mine"]
    report = stage.explain("pizza", {HERE: [{"sender_name": "Ann", "text": "mine"}]})[1]
    assert {"section": "memories", "reason": "visible", "id": "1"} in report["left_out"]
    set_hook("extract_tags", lambda text: [text.upper()])
    assert stage.explain("pizza")[1]["search"]["tags"] == ["PIZZA"]
    line = {"sender_name": "Zoe", "text": "from the host", "timestamp": NOW.isoformat()}
    there = {**line, "text": "elsewhere", "interface_path": ELSEWHERE}
    set_hook("history", lambda interface_path: [there, {**line, "interface_path": interface_path}])
    context = stage.context("pizza")
    assert said(context["history_current_chat"]) == ["from the host"]
    assert said(context["history_recent"]) == ["elsewhere"]


@pytest.mark.parametrize(
    "rubbish", [True, "text", b"x", [1, None, "x"], {"a": object()}, object(), [[[]]], float("nan"), {3: 4}]
)
def test_f57_rubbish_from_every_hook_leaves_a_prompt(stage: Stage, rubbish: Any) -> None:
    fill(stage)
    undisturbed = stage.prompt("pizza")
    for name in ("context", "actions", "engine_limit"):
        set_hook(name, lambda: rubbish)
    prompt, _ = stage.explain("pizza")
    for key in ("history_current_chat", "thoughts", "memories", "ai_diary"):
        assert prompt["context"][key] == undisturbed["context"][key]
    json.dumps(prompt, allow_nan=False)
    set_hook("search", lambda: rubbish)
    set_hook("extract_tags", lambda: rubbish)
    context = stage.context("pizza")
    assert context["memories"] == []
    assert context["history_current_chat"] == undisturbed["context"]["history_current_chat"]


def test_g8_two_runs_with_one_clock_are_equal_byte_for_byte(stage: Stage) -> None:
    fill(stage)
    live = {HERE: [{"sender_name": "Ann", "text": f"live {n}"} for n in range(3)]}
    first = stage.prompt("tofu and pizza", live)
    stage.db.caches.pop("search.vocabulary", None)  # type: ignore[union-attr]
    assert same(first, stage.prompt("tofu and pizza", live))
    assert same(first, stage.prompt("tofu and pizza", live))


def test_g12_no_argument_is_changed(stage: Stage) -> None:
    fill(stage)
    asked = message("pizza", reply_to_message={"text": "x"}, payload={"a": [1]})
    memory = {HERE: [{"text": "a", "sender_name": "Ann"}], "user_id": 1}
    image, files = {"type": "photo", "caption": "c"}, [{"type": "file", "data": "x" * 2000}]
    before = copy.deepcopy((asked, memory, image, files))
    build_json_prompt(asked, memory, "tg", image, files, 5000, db=stage.db, scope=stage.scope())
    assert (asked, memory, image, files) == before


def test_g24_the_report_names_the_counter_and_the_limit_holds(stage: Stage) -> None:
    fill(stage)

    def words(text: str) -> int:
        return len(text.split())

    whole = stage.explain("tofu and pizza", limit_tokens=100_000, counter=words)[1]
    assert whole["tokens"] > 100
    limit = whole["tokens"] - 20
    prompt, report = stage.explain("tofu and pizza", limit_tokens=limit, counter=words)
    assert report["counter"] == "words"
    assert report["limit_tokens"] == limit
    assert report["tokens"] == words(json.dumps(prompt, ensure_ascii=False)) <= limit
    assert stage.explain("hi", limit_tokens=100_000)[1]["counter"]


def test_f61_a_date_is_used_as_it_is_given(stage: Stage) -> None:
    prompt, report = stage.explain("hi", date="soon")
    assert prompt["input"]["payload"]["timestamp"] == NOW.isoformat()
    assert any("date" in note for note in report["notes"])
    far = stage.prompt("hi", date=datetime(9999, 12, 31, tzinfo=UTC))
    assert far["input"]["payload"]["timestamp"].startswith("9998-12-31")
    old = stage.prompt("hi", date=datetime(1, 1, 1, tzinfo=UTC))
    assert old["input"]["payload"]["timestamp"].startswith("1970-01-01")
