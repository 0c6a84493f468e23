"""Labels of recalled memories: the model is told where a memory comes from."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from core.context.lines import label


def test_p41_a_label_names_day_conversation_and_source() -> None:
    assert label("chat_history", "2026-09-19T12:00:00+00:00", "P", UTC) == "recalled from 2026-09-19 (P, chat history)"
    assert label("chat_history", datetime(2026, 9, 19, tzinfo=UTC), "P", UTC) == (
        "recalled from 2026-09-19 (P, chat history)"
    )


def test_p41_without_a_day_only_the_place_is_named() -> None:
    for nothing in ("", None, "some day"):
        assert label("chat_history", nothing, "P", UTC) == "(P, chat history)"


def test_p41_an_unknown_source_is_its_own_name_in_words() -> None:
    assert label("old_notes", "", "", UTC) == "old notes"
    assert label("old_notes", "2026-09-19T12:00:00+00:00", None, UTC) == "recalled from 2026-09-19 (old notes)"


def test_p41_the_day_is_the_one_of_the_shown_zone() -> None:
    late = "2026-09-19T23:00:00+00:00"
    assert label("ai_diary", late, "", ZoneInfo("Asia/Tokyo")) == "recalled from 2026-09-20 (diary)"


def test_p41_a_conversation_key_cannot_break_the_label() -> None:
    assert label("memories", "", "a\nb", UTC) == "(a b, memories)"
