"""What is never a line: noise, hidden rows, and the very message that is being answered."""

from datetime import UTC, datetime, timedelta

import pytest

from core.context.history import echo_check, skips_history, why_not_shown
from core.context.incoming import IncomingMessage
from core.shapes import HistoryEntry, Sender

AT = datetime(2026, 3, 10, 12, tzinfo=UTC)
MESSAGE = IncomingMessage("9", AT, "Yes", "tg", "tg/1", Sender("7", "Ann B", "ann"))


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (HistoryEntry("webui/-1", "hm", sender_id="self", role="persona"), "noise"),
        (HistoryEntry("webui/-1", "hm", sender_id="ann"), ""),
        (HistoryEntry("webui/-12", "hm", sender_id="self", role="persona"), ""),
        (HistoryEntry("webui/1", "hm", sender_id="self", role="persona"), ""),
        (HistoryEntry("webui/1", "hm", role="thought"), "noise"),
        (HistoryEntry("a", "  "), "blank"),
        (HistoryEntry("a", "\n\x00"), "blank"),
        (HistoryEntry("a", "hi", hidden=True), "hidden"),
        (HistoryEntry("a", "hi", excluded=True), "excluded"),
        (HistoryEntry("a", "hi"), ""),
    ],
)
def test_p32_blank_hidden_excluded_and_monologue_are_not_rendered(entry: HistoryEntry, reason: str) -> None:
    assert why_not_shown(entry) == reason


def is_echo(entry: HistoryEntry, message: IncomingMessage) -> bool:
    """Return whether the entry is the message being answered."""
    return echo_check(message)(entry)


def at(seconds: float | None, text: str = "yes ", **fields: str) -> HistoryEntry:
    time = None if seconds is None else AT + timedelta(seconds=seconds)
    return HistoryEntry(**{"conversation": "tg/1", "text": text, "time": time, **(fields or {"sender_id": "7"})})  # type: ignore[arg-type]


def test_p33_the_same_id_in_this_conversation_is_the_message() -> None:
    assert is_echo(at(-9999, "other", message_id="9"), MESSAGE)
    assert not is_echo(at(0, "other", message_id="9", conversation="tg/2"), MESSAGE)
    assert not is_echo(at(0, "other", message_id="90"), MESSAGE)


def test_p33_the_same_sender_and_text_within_the_window_is_the_message() -> None:
    assert is_echo(at(-60), MESSAGE)
    assert is_echo(at(60), MESSAGE)
    assert not is_echo(at(-60.000001), MESSAGE)
    assert not is_echo(at(-300), MESSAGE)
    assert is_echo(at(None), MESSAGE)
    assert not is_echo(at(0, "yes!"), MESSAGE)
    assert not is_echo(at(0, sender_id="8"), MESSAGE)
    assert not is_echo(at(0, conversation="tg/2", sender_id="7"), MESSAGE)


def test_p33_the_sender_is_known_by_id_or_by_a_name() -> None:
    assert is_echo(at(0, sender_id="tg/7"), MESSAGE)
    assert is_echo(at(0, username="ANN"), MESSAGE)
    assert is_echo(at(0, sender_name="Ann B"), MESSAGE)
    assert not is_echo(at(0, sender_id="8", sender_name="Ann B"), MESSAGE)
    assert not is_echo(HistoryEntry("tg/1", "yes", time=AT), MESSAGE)


def test_p33_a_message_without_conversation_or_text_has_no_echo_but_its_id() -> None:
    nowhere = IncomingMessage("9", AT, "yes", "tg", None)
    assert not is_echo(HistoryEntry("tg/1", "yes", message_id="9"), nowhere)
    silent = IncomingMessage(None, AT, "", "tg", "tg/1")
    assert not is_echo(HistoryEntry("tg/1", "", time=AT), silent)


def test_p36_skip_history_is_read_as_a_switch() -> None:
    assert all(skips_history({"skip_history": value}) for value in (True, 1, "1", "true", "yes"))
    assert not any(skips_history({"skip_history": value}) for value in (False, 0, None, "", "0", "false", "No"))
    assert not skips_history({})
