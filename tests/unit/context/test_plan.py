"""The switches of the history lists: each acts alone."""

from datetime import UTC, datetime

from core.context.live import LiveHistory
from core.context.plan import current_and_recent, history_plan, is_on, skips_history
from core.shapes import HistoryEntry, IncomingMessage, LeftOut


def test_p36_skip_history_is_read_as_a_switch() -> None:
    assert all(skips_history({"skip_history": value}) for value in (True, 1, "1", "true", "yes"))
    assert not any(skips_history({"skip_history": value}) for value in (False, 0, None, "", "0", "false", "No"))
    assert not skips_history({})
    assert is_on(1)


MESSAGE = IncomingMessage("9", datetime(2026, 3, 10, 12, tzinfo=UTC), "hi", "tg", "tg/1")
LIVE = LiveHistory({key: [HistoryEntry(key, "hi", message_id="m")] for key in ("tg/1", "tg/10", "tg/1/2", "web/1")})
STORED = [HistoryEntry(key, "row", row_id=1) for key in ("tg/1", "web/2")]


def keys(entries: list[HistoryEntry]) -> list[str]:
    return [entry.conversation for entry in entries]


def test_p25_the_lists_hold_this_conversation_and_other_ones() -> None:
    found = current_and_recent(MESSAGE, LIVE, STORED, STORED, history_plan({}), lambda key: "")
    assert keys(found.current_stored) == keys(found.current_live) == ["tg/1"]
    assert keys(found.recent_stored) == ["web/2"]
    assert keys(found.recent_live) == ["tg/10", "tg/1/2", "web/1"]


def test_p25_without_unified_history_other_conversations_are_live_and_of_the_same_interface() -> None:
    plan = history_plan({"UNIFIED_HISTORY": 0})
    found = current_and_recent(MESSAGE, LIVE, STORED, STORED, plan, lambda key: "")
    assert keys(found.recent_stored) == []
    assert keys(found.recent_live) == ["tg/10", "tg/1/2"]
    assert keys(found.current_stored) == ["tg/1"]


def test_f13_live_messages_of_a_conversation_that_may_not_be_seen_are_left_out() -> None:
    asked: list[str] = []

    def may_see(key: str) -> str:
        asked.append(key)
        return "private" if key == "tg/10" else ""

    found = current_and_recent(MESSAGE, LIVE, [], [], history_plan({}), may_see)
    assert keys(found.recent_live) == ["tg/1/2", "web/1"]
    assert found.left_out == [LeftOut("history_recent", "private", "m")]
    assert sorted(asked) == sorted(LIVE.chats)


def test_p25_without_a_conversation_there_is_no_current_list() -> None:
    message = IncomingMessage("9", MESSAGE.date, "hi", "web", None)
    found = current_and_recent(message, LIVE, STORED, STORED, history_plan({"UNIFIED_HISTORY": 0}), lambda key: "")
    assert (found.current_stored, found.current_live, keys(found.recent_live)) == ([], [], ["web/1"])
