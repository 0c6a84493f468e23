"""Diary and thoughts: the persona's own account, newest first in what stays, oldest first in what is shown."""

from datetime import UTC, datetime, timedelta

from core.context.section_base import Built
from core.context.section_diary import diary_lines
from core.context.section_thoughts import thought_lines
from core.shapes import DiaryEntry, LeftOut

AT = datetime(2026, 3, 10, 12, tzinfo=UTC)


def entry(number: int, minutes: int = 0, **parts: str) -> DiaryEntry:
    return DiaryEntry(number, AT + timedelta(minutes=minutes), **{"content": "c", **parts})  # type: ignore[arg-type]


def test_g11_a_thought_of_nothing_visible_is_none() -> None:
    nul = DiaryEntry(1, None, "\x00", personal_thought="\x00", interaction_summary="\x00 ")
    assert thought_lines([nul], 5, UTC) == Built([])
    assert diary_lines([nul], 100, UTC) == Built([], (LeftOut("ai_diary", "blank", "1"),))
