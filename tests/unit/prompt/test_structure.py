"""From collected values to the prompt and its report: P6 to P9, P12 to P19, P60, F31, F64; what an answer holds."""

import json
import re
from datetime import UTC, date, datetime
from typing import Any

import pytest

from core.config import Settings
from core.context.context import OWN_KEYS
from core.context.incoming import IncomingMessage
from core.context.live import LiveHistory
from core.errors import StoreReadError
from core.hooks import set_hook
from core.prompt.call import MAX_MESSAGE_CHARS, Gathered, Guard, PromptCall, PromptRequest, Report
from core.prompt.pipeline import DROPPED_KEYS, merge_host_context
from core.prompt.rules_answer import parse_answer
from core.prompt.structure import ask_actions, assemble
from core.scope import Scope
from core.text.sizes import size

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
BARE = ["context", "input", "instructions", "__pre_reduction_size", "actions"]
EMPTY: dict[str, Any] = {"history_current_chat": [], "history_recent": [], "thoughts": []}


def make(
    fields: dict[str, Any] | None = None, context: Any = EMPTY, actions: Any = None, notes: Any = None, **more: Any
) -> dict[str, Any]:
    """Return the prompt of a message, with `actions` from the hook; `more` are settings and parts of the request."""
    known = ("timezone", "include_local_time_in_prompts", "prompt_lite_mode")
    settings = Settings(**{name: more.pop(name) for name in known if name in more})
    message = {"message_id": 1, "date": None, **(fields or {})}
    incoming = IncomingMessage.read(message, interface_name="discord", now=NOW)
    call = PromptCall(PromptRequest(message, **more), incoming, LiveHistory(), settings, Scope("iris"), Guard(Report()))
    set_hook("actions", lambda: actions)
    prompt = assemble(call, Gathered(context), ask_actions(call))
    if notes is not None:
        notes += call.report.as_dict()["notes"]
    return prompt


def test_p8_p15_a_key_of_the_host_with_the_name_of_a_section_is_reported() -> None:
    for name in OWN_KEYS | DROPPED_KEYS:
        merged, persona, notes = merge_host_context({"thoughts": ["t"]}, {name: "canary"})
        assert (merged, persona, len(notes)) == ({"thoughts": ["t"]}, "", 1)
        assert name in notes[0] and "canary" not in notes[0]
    wrong = merge_host_context({}, {"persona": {"name": "Iris"}})
    assert wrong == ({}, "", ("hook context: 'persona' is of type dict and is left out",))
    # empty injections are left out; zero and false are something
    given: dict[str, Any] = {"a": "", "b": [], "c": {}, "d": None, "e": 0, "f": False}
    assert merge_host_context({}, given) == ({"e": 0, "f": False}, "", ())
    assert merge_host_context({}, None) == ({}, "", ())
    assert merge_host_context({}, "x")[2] == ("hook context: str is no dict and is left out",)


def test_p7_p16_an_action_with_eight_keys_keeps_three_and_rubbish_of_the_hook_is_noted() -> None:
    action = {key: key for key in ("schema", "brief", "source", "handler", "a", "b", "c", "d")}
    shaped = {"schema": "schema", "brief": "brief", "source": "source"}
    assert list(make()) == list(make(actions={"wave": action})) == BARE
    assert make(actions={"wave": action})["actions"] == {"wave": shaped}
    assert make(actions={"wave": action}, prompt_lite_mode=1)["actions"] == {"wave": {"brief": "brief"}}
    bare = {"wave": {"schema": {}, "source": "s"}}
    assert make(actions=bare, prompt_lite_mode=1)["actions"] == bare
    notes: list[str] = []
    assert make(actions=["x"], notes=notes)["actions"] == {}
    actions = {"a": 3, 4: {"brief": "b"}, "c": {"brief": "b"}}
    assert make(actions=actions, notes=notes)["actions"] == {"c": {"brief": "b"}}
    parts = "2 without name, schema, brief and source"
    assert notes == ["actions are of type list and are left out", f"actions: {parts} are left out"]


def test_p17_the_size_does_not_count_the_actions() -> None:
    many = {f"act_{number}": {"brief": "x" * 100} for number in range(50)}
    made = make({"text": "hi"})
    assert made["__pre_reduction_size"] == make({"text": "hi"}, actions=many)["__pre_reduction_size"]
    head = {key: value for key, value in made.items() if key not in ("actions", "__pre_reduction_size")}
    assert made["__pre_reduction_size"] == size(head)


def test_g12_p18_the_prompt_is_strict_json_of_its_own_and_each_change_is_noted() -> None:
    notes: list[str] = []
    context = {**EMPTY, "hook": {"x": float("nan"), "d": date(2026, 3, 10)}}
    actions = {"wave": {"brief": b"x", "schema": {"when": NOW}}}
    made = make({"text": "a\x00\ud800"}, context=context, actions=actions, image_data={"data": b"x"}, notes=notes)
    assert made["context"]["hook"] == {"x": None, "d": "2026-03-10"}
    assert made["actions"] == {"wave": {"schema": {"when": NOW.isoformat()}, "brief": "bytes"}}
    assert made["input"]["payload"]["text"] == "a\ufffd"
    json.dumps(made, allow_nan=False, ensure_ascii=False).encode()
    assert len(notes) == 5 and any(note.startswith("actions.wave.brief") for note in notes)
    context = {**EMPTY, "weather": {"now": ["rain"]}}
    made = make(context=context)
    made["context"]["weather"]["now"].append("sun")
    assert context["weather"] == {"now": ["rain"]}, "nothing handed in is changed or shared"


def test_p12_local_time_follows_the_message_s_zone_and_its_switch() -> None:
    moment = {"date": "2026-01-10T03:15:00Z"}
    rome = make({**moment, "time_zone": "Europe/Rome"}, timezone="Asia/Tokyo")["input"]["payload"]
    assert (rome["local_time"], rome["local_hour"], rome["time_of_day"]) == ("04:15", 4, "early_morning")
    assert make({"date": "2026-01-10T00:00:00Z"}, timezone="Asia/Tokyo")["input"]["payload"]["local_time"] == "09:00"
    off = make(moment, include_local_time_in_prompts=False)["input"]["payload"]
    assert not {"local_time", "local_hour", "time_of_day"} & set(off)
    notes: list[str] = []
    assert make({**moment, "time_zone": "Mars/Base"}, notes=notes)["input"]["payload"]["local_time"] == "03:15"
    assert notes == ["time zone 'Mars/Base' is unknown, UTC is used"]


KEYS = "limit limit_tokens size tokens over_limit counter sections left_out errors notes search"


def test_p60_g26_a_report_is_plain_json_of_keys_in_one_order_without_texts_of_foreign_errors() -> None:
    report = Report()
    report.search = {"hits": 3, "x": {1}}
    report.note("a", "b", "a")
    made = report.as_dict()
    assert list(made) == KEYS.split() and made["notes"] == ["a", "b"]
    assert json.loads(json.dumps(made, allow_nan=False)) == made
    report.fail("x", KeyError("the canary sang"))
    report.fail("y", StoreReadError("z" * 5000))
    text = json.dumps(report.as_dict())
    assert "canary" not in text and re.findall("zz+", text) == ["z" * MAX_MESSAGE_CHARS]


LISTED = {"actions": {"message_web": {"text": ""}}}
SENT = '{"actions": [{"type": "message_web", "payload": {"text": "Hi"}}]}'


@pytest.mark.parametrize(("said", "prompt", "text", "types", "problems"), [
    (f"```\n{SENT}\n```", LISTED, "Hi", ["message_web"], 0),
    ("<think>a cat?</think>She is called Tofu.", LISTED, "She is called Tofu.", [], 0),
    ('{"text": "Hi", "actions": []}', LISTED, "Hi", [], 0),
    ('{"actions": [{"type": "fly", "payload": {}}, {"payload": {}}, 7]}', LISTED, "", [], 3),
    ('{"actions": {"type": "message_web"}}', LISTED, "", [], 1),
    ('{"actions": [{"type": "message_web", "payload": 3}]}', LISTED, "", [], 1),
    ('{"broken', LISTED, "", [], 1), ("", LISTED, "", [], 1),
    ('{"actions":[{"type":"a","payload":{"text":"one"}},{"type":"b","payl', None, "one", ["a", "b"], 2),
    ('{"actions":[{"type":"rm","payload":{}}]}', {"actions": {}}, "", [], 1),
    ('{"actions":[{"type":"rm","payload":{}}]}', "a prompt as text", "", [], 1),
    ('{"type":"m","payload":{"text":"x"}}', None, "x", ["m"], 0),
    ('{"actions":[{"type":"m","text":"x"}]}', None, "x", ["m"], 0),
    ('{"text": 5}', None, "", [], 1), ('{"message": {"text": "hi"}}', None, "", [], 1),
    ('Use `{"text": "your text"}` in the file.', None, 'Use `{"text": "your text"}` in the file.', [], 0),
    ("{smiles} Hello Ann!", None, "{smiles} Hello Ann!", [], 0),
    ("{{char}} smiles at you.", None, "{{char}} smiles at you.", [], 0),
    ("[[OOC: hi]] Hello", None, "[[OOC: hi]] Hello", [], 0),
    ("[{type: 'm', payload: {text: 'x'}}]", None, "x", ["m"], 0),
    ('{{"type": "m", "payload": {"text": "x"}}}', None, "x", ["m"], 0),
    ("```python\nprint(1)\n```\nThat is how.", None, "```python\nprint(1)\n```\nThat is how.", [], 0),
    ("a" * 1_000_001, None, "", [], 1),
])  # fmt: skip
def test_p13_no_part_of_an_answer_is_lost(said: str, prompt: Any, text: str, types: list[str], problems: int) -> None:
    answer = parse_answer(said, prompt)
    assert (answer["text"], [each["type"] for each in answer["actions"]]) == (text, types)
    assert len(answer["problems"]) == problems
