"""From collected values to the prompt: P6 to P9, P12 to P19, F31, F64."""

from __future__ import annotations

import copy
import json
from datetime import UTC, date, datetime
from typing import Any

import pytest

from core.context.context import OWN_KEYS
from core.context.incoming import IncomingMessage
from core.prompt import structure as module
from core.prompt.structure import DROPPED_KEYS, Contents, assemble, merge_host_context, shape_actions
from core.templates.render import Renderer
from core.text.sizes import size

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
BARE = ["context", "input", "instructions", "__pre_reduction_size", "actions"]
EMPTY: dict[str, Any] = {"history_current_chat": [], "history_recent": [], "thoughts": []}
DISCORD = {"message_discord_bot": {"source": "plugin_discord", "brief": "Send."}}


def make(fields: dict[str, Any] | None = None, *, interface: str = "discord", **more: Any) -> dict[str, Any]:
    message = IncomingMessage.read({"message_id": 1, "date": None, **(fields or {})}, interface_name=interface, now=NOW)
    renderer, note = more.pop("renderer", None) or Renderer(), more.pop("note", lambda _line: None)
    given: dict[str, Any] = {"context": EMPTY, **more}
    return assemble(Contents(message, **given), renderer, note)


def test_p7_keys_of_a_bare_message() -> None:
    assert list(make()) == BARE
    assert list(make(actions=DISCORD)) == BARE


@pytest.mark.parametrize("name", sorted(OWN_KEYS))
def test_p8_a_host_key_with_the_name_of_a_section_is_not_taken_and_reported(name: str) -> None:
    merged, persona, notes = merge_host_context({"thoughts": ["t"]}, {name: "canary"})
    assert (merged, persona) == ({"thoughts": ["t"]}, "")
    assert len(notes) == 1
    assert name in notes[0]
    assert "canary" not in notes[0]


@pytest.mark.parametrize("name", sorted(DROPPED_KEYS))
def test_p15_the_five_keys_are_dropped(name: str) -> None:
    assert merge_host_context({}, {name: ["x"]})[0] == {}


def test_p8_empty_injections_are_left_out_zero_and_false_are_something() -> None:
    given: dict[str, Any] = {"a": "", "b": [], "c": {}, "d": None, "e": 0, "f": False}
    assert merge_host_context({}, given) == ({"e": 0, "f": False}, "", ())
    assert merge_host_context({}, None) == ({}, "", ())
    assert merge_host_context({}, "x")[2] == ("hook context: str is no dict and is left out",)
    assert merge_host_context({"mood": 1}, {"mood": 2}) == (
        {"mood": 1}, "", ("hook context: 'mood' is there already and is left out",)
    )  # fmt: skip


def test_p15_a_persona_of_another_type_is_noted() -> None:
    assert merge_host_context({}, {"persona": {"name": "Iris"}})[1:] == (
        "", ("hook context: 'persona' is of type dict and is left out",)
    )  # fmt: skip


def test_p16_an_action_with_eight_keys_keeps_three() -> None:
    action = {key: key for key in ("schema", "brief", "source", "handler", "a", "b", "c", "d")}
    assert shape_actions({"wave": action}, False) == {
        "wave": {"schema": "schema", "brief": "brief", "source": "source"}
    }
    assert shape_actions({"wave": action}, True) == {"wave": {"brief": "brief"}}
    assert shape_actions({"wave": {"schema": {}, "source": "s"}}, True) == {"wave": {"schema": {}, "source": "s"}}


def test_p16_f57_rubbish_of_the_hook_is_noted() -> None:
    notes: list[str] = []
    assert shape_actions(["x"], False, notes.append) == {}
    assert shape_actions({"a": 3, 4: {"brief": "b"}, "c": {"brief": "b"}}, False, notes.append) == {"c": {"brief": "b"}}
    assert notes == [
        "actions are of type list and are left out",
        "actions: 2 without name, schema, brief and source are left out",
    ]
    assert make(actions=["x"])["actions"] == {}


def test_p17_the_size_does_not_count_the_actions() -> None:
    many = {f"act_{number}": {"brief": "x" * 100} for number in range(50)}
    made = make({"text": "hi"})
    assert made["__pre_reduction_size"] == make({"text": "hi"}, actions=many)["__pre_reduction_size"]
    head = {key: value for key, value in made.items() if key not in ("actions", "__pre_reduction_size")}
    assert made["__pre_reduction_size"] == size(head)


def test_p17_a_size_that_cannot_be_taken_is_null(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_prompt: Any) -> int:
        raise ValueError

    monkeypatch.setattr(module, "size", fails)
    assert make()["__pre_reduction_size"] is None


def test_p18_the_prompt_is_strict_json_and_each_change_is_noted() -> None:
    notes: list[str] = []
    context = {**EMPTY, "hook": {"x": float("nan"), "d": date(2026, 3, 10)}}
    actions = {"wave": {"brief": b"x", "schema": {"when": NOW}}}
    made = make({"text": "a\x00\ud800"}, context=context, actions=actions, image_data={"data": b"x"}, note=notes.append)
    assert made["context"]["hook"] == {"x": None, "d": "2026-03-10"}
    assert made["actions"] == {"wave": {"schema": {"when": NOW.isoformat()}, "brief": "bytes"}}
    assert made["input"]["payload"]["text"] == "a\ufffd"
    json.dumps(made, allow_nan=False, ensure_ascii=False).encode()
    assert len(notes) == 5
    assert any(note.startswith("actions.wave.brief") for note in notes)


def test_g12_nothing_handed_in_is_changed_or_shared() -> None:
    context = {**EMPTY, "weather": {"now": ["rain"]}}
    before = copy.deepcopy(context)
    made = make(context=context)
    made["context"]["weather"]["now"].append("sun")
    assert context == before


def test_p9_what_is_not_in_every_message_stands_in_order() -> None:
    fields = {"reply_to_message": {"text": "x"}, "voice": {"duration": 1}}
    payload = make(fields, image_data={"a": 1}, attachments=[{"b": 1}])["input"]["payload"]
    assert list(payload)[3:] == [
        "weekday", "local_time", "local_hour", "time_of_day", "source", "image", "attachments", "reply_message_id",
    ]  # fmt: skip
    assert payload["input_source"] == "voice"


def test_p12_local_time_follows_the_message_s_zone_and_its_switch() -> None:
    moment = {"date": "2026-01-10T03:15:00Z"}
    rome = make({**moment, "time_zone": "Europe/Rome"}, time_zone="Asia/Tokyo")["input"]["payload"]
    assert (rome["local_time"], rome["local_hour"], rome["time_of_day"]) == ("04:15", 4, "early_morning")
    assert make({"date": "2026-01-10T00:00:00Z"}, time_zone="Asia/Tokyo")["input"]["payload"]["local_time"] == "09:00"
    off = make(moment, with_local_time=False)["input"]["payload"]
    assert not {"local_time", "local_hour", "time_of_day"} & set(off)
    notes: list[str] = []
    assert make({**moment, "time_zone": "Mars/Base"}, note=notes.append)["input"]["payload"]["local_time"] == "03:15"
    assert notes == ["time zone 'Mars/Base' is unknown, UTC is used"]
