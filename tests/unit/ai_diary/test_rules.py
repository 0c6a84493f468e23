"""Diary and thoughts: the persona's own account, newest first in what stays, oldest first in what is shown."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from core.ai_diary.rules import diary_lines, thought_lines
from core.shapes import DiaryEntry, LeftOut
from core.text.folding import clean

AT = datetime(2026, 3, 10, 12, tzinfo=UTC)


def entry(number: int, minutes: int = 0, **parts: str) -> DiaryEntry:
    return DiaryEntry(number, AT + timedelta(minutes=minutes), **{"content": "c", **parts})  # type: ignore[arg-type]


def test_p38_a_line_has_the_parts_there_are() -> None:
    entries = [
        entry(1, 1, interaction_summary="we\ntalked", personal_thought="he is sad"),
        entry(2, 2, interaction_summary="we talked"),
        entry(3, 3, personal_thought="he is sad"),
        entry(4, 4, content="a day"),
        DiaryEntry(5, None, "no time"),
    ]
    assert diary_lines(entries, 8000, UTC)[0] == [
        "no time",
        "[2026-03-10 12:01] c | summary: we talked | thought: he is sad",
        "[2026-03-10 12:02] c | summary: we talked",
        "[2026-03-10 12:03] c | thought: he is sad",
        "[2026-03-10 12:04] a day",
    ]


def test_p38_the_newest_whole_entries_stay_until_the_first_that_does_not_fit() -> None:
    entries = [entry(1, 1, content="x" * 10), entry(2, 2, content="x" * 200), entry(3, 3, content="x" * 50)]
    lines, left_out = diary_lines(entries, 100, UTC)
    assert lines == [f"[2026-03-10 12:03] {'x' * 50}"]
    assert left_out == [LeftOut("ai_diary", "limit", "2"), LeftOut("ai_diary", "limit", "1")]
    exact = len("[2026-03-10 12:03] ") + 50
    assert len(diary_lines(entries, exact, UTC)[0]) == 1
    assert diary_lines(entries, exact - 1, UTC)[0] == []
    assert diary_lines(entries, 0, UTC)[0] == []


def test_p39_of_seven_thoughts_five_stay_in_order() -> None:
    entries = [entry(n, n, personal_thought=f"t{n}") for n in range(7)]
    lines, left_out = thought_lines(reversed(entries), 5, UTC)
    assert lines == [f"[10/03/26:120{n}] t{n}" for n in range(2, 7)]
    assert [item.reason for item in left_out] == ["limit", "limit"]
    assert thought_lines(entries, 0, UTC)[0] == []


def test_g11_a_thought_of_nothing_visible_is_none() -> None:
    nul = DiaryEntry(1, None, "\x00", personal_thought="\x00", interaction_summary="\x00 ")
    assert thought_lines([nul], 5, UTC) == ([], [])
    assert diary_lines([nul], 100, UTC) == ([], [LeftOut("ai_diary", "blank", "1")])


@given(
    st.lists(st.tuples(st.integers(0, 5), st.text(max_size=5), st.booleans()), max_size=12),
    st.integers(0, 8),
    st.integers(0, 200),
)
def test_p60_what_is_shown_and_left_out_is_all_there_was(
    spec: list[tuple[int, str, bool]], limit: int, chars: int
) -> None:
    entries = [
        DiaryEntry(n, AT + timedelta(minutes=minutes) if timed else None, "", personal_thought=text)
        for n, (minutes, text, timed) in enumerate(spec)
    ]
    lines, left_out = diary_lines(entries, chars, UTC)
    assert len(lines) + len(left_out) == len(entries)
    assert sum(map(len, lines)) <= chars
    thoughts, dropped = thought_lines(entries, limit, UTC)
    assert len(thoughts) + len(dropped) == sum(1 for item in entries if clean(item.personal_thought).strip())
    assert len(thoughts) <= limit
    assert all(len(line.splitlines()) == 1 for line in (*lines, *thoughts))
