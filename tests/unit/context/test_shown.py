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


def at(seconds: float | None, text: str = "yes ", **fields: str) -> HistoryEntry:
    time = None if seconds is None else AT + timedelta(seconds=seconds)
    return HistoryEntry(**{"conversation": "tg/1", "text": text, "time": time, **(fields or {"sender_id": "7"})})  # type: ignore[arg-type]


def test_p33_the_message_is_known_by_its_id_or_by_sender_text_and_time() -> None:
    is_echo = echo_check(MESSAGE)
    same_id = at(-9999, "other", message_id="9")
    same_sender = [at(0, sender_id="tg/7"), at(0, username="ANN"), at(0, sender_name="Ann B")]
    assert all(map(is_echo, [same_id, at(-60), at(60), at(None), *same_sender]))
    elsewhere = [at(0, "other", message_id="9", conversation="tg/2"), at(0, conversation="tg/2", sender_id="7")]
    others = [at(0, "other", message_id="90"), at(-60.000001), at(0, "yes!"), at(0, sender_id="8", sender_name="Ann B")]
    assert not any(map(is_echo, [*elsewhere, *others, HistoryEntry("tg/1", "yes", time=AT)]))
    nowhere = IncomingMessage("9", AT, "yes", "tg", None)
    assert not echo_check(nowhere)(HistoryEntry("tg/1", "yes", message_id="9"))
    silent = IncomingMessage(None, AT, "", "tg", "tg/1")
    assert not echo_check(silent)(HistoryEntry("tg/1", "", time=AT))


def test_p36_skip_history_is_read_as_a_switch() -> None:
    assert all(skips_history({"skip_history": value}) for value in (True, 1, "1", "true", "yes"))
    assert not any(skips_history({"skip_history": value}) for value in (False, 0, None, "", "0", "false", "No"))
