"""What hosts hand over as context_memory: everything usable is used, nothing breaks the call."""

from collections import UserDict, deque
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from core.context.lines import body
from core.context.live import METADATA_KEYS, read_context_memory

NOW = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)


def shown(message: Any) -> str:
    (entry,) = read_context_memory({"a": [message]}).chats["a"]
    return body(entry, zone=UTC, now=NOW)


def test_p21_any_iterable_is_a_chat_and_what_is_no_message_is_skipped_and_counted() -> None:
    said = [{"text": "one"}, "file.png", None, {"text": "two"}]
    live = read_context_memory({"a": said, "b": "x", "c": ["y"], "d": 3})
    assert [entry.text for entry in live.chats["a"]] == ["one", "two"]
    assert (list(live.chats), live.skipped) == (["a"], 5)
    live = read_context_memory({**{name: [{"text": "x"}] for name in METADATA_KEYS}, "tg/1": [{"text": "hi"}]})
    assert (list(live.chats), live.skipped) == (["tg/1"], 0)
    given = {"deque": deque([{"text": "1"}], maxlen=3), "tuple": (SimpleNamespace(message_text="2"),),
             "generator": (UserDict({"content": str(n)}) for n in (3, 4)),
             5: [SimpleNamespace(content="6")]}  # fmt: skip
    live = read_context_memory(UserDict(given))
    texts = {key: [entry.text for entry in chat] for key, chat in live.chats.items()}
    assert texts == {"deque": ["1"], "tuple": ["2"], "generator": ["3", "4"], "5": ["6"]}
    assert [entry.order for chat in live.chats.values() for entry in chat] == [0, 1, 2, 3, 4]


def test_f64_a_chat_that_breaks_off_or_is_of_a_wrong_type_is_noted_and_left_out() -> None:
    def failing() -> Any:
        yield {"text": "hi"}
        raise RuntimeError("secret text")

    hostile = type("Hostile", (), {"text": property(lambda self: 1 / 0)})()
    live = read_context_memory({"a": failing(), "b": [hostile, {"text": "ok"}], (1, 2): [{"text": "x"}]})
    assert "secret" not in str(live.notes) and ([entry.text for entry in live.chats["b"]], live.skipped) == (["ok"], 3)
    assert read_context_memory(None) == read_context_memory({})
    for wrong in ("text", 7, [{"text": "hi"}], object()):
        live = read_context_memory(wrong)
        assert (live.chats, live.skipped) == ({}, 1) and type(wrong).__name__ in live.notes[0]


def test_p22_the_fields_have_the_names_hosts_use() -> None:
    at = "2026-03-10T12:00:00+00:00"
    assert shown({"username": "ann", "content": "hi", "created_at": at}) == '[2026-03-10 12:00] ann: "hi"'
    assert shown({"text": "hi"}) == 'Unknown: "hi"'
    naive = NOW.replace(tzinfo=None)
    assert shown({"sender_id": 7, "message_text": "hi", "date": naive}) == '[2026-03-10 12:00] 7: "hi"'
    assert shown({"sender_name": "Ann", "username": "x", "text": "a", "content": "b"}) == 'Ann: "a"'
    blank = {"text": " ", "content": "b", "timestamp": None, "date": 1773144000}
    assert shown(blank) == '[2026-03-10 12:00] Unknown: "b"'
    assert shown({"text": "hi", "timestamp": "tea time"}) == '[tea time] Unknown: "hi"'
    assert shown({"text": "hi", "timestamp": "tea time", "date": at}) == '[2026-03-10 12:00] Unknown: "hi"'
    entries = read_context_memory({"a": [{"message_id": given} for given in (5, "5", "", None, True)]}).chats["a"]
    assert [entry.message_id for entry in entries] == ["5", "5", None, None, None]


def test_p36_skip_history_is_read_as_a_switch() -> None:
    for value in (True, 1, "1", "true", "yes"):
        assert read_context_memory({"skip_history": value}).skips_history
    for value in (False, 0, None, "", "0", "false", "No"):
        assert not read_context_memory({"skip_history": value}).skips_history
