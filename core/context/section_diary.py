"""The section `ai_diary`: the newest diary entries, each as one line, oldest first."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta, tzinfo

from ..database.compiled import Branch
from ..shapes import DiaryEntry, LeftOut
from ..text import times
from ..text.folding import collapsed, one_line
from . import table
from .history import HistoryLists
from .lines import holds_words, mark_opening, stamp
from .section_base import Asked, Built, StoredRows

KEY = "ai_diary"
_OLDEST = datetime(1, 1, 1, tzinfo=UTC)


def wanted(asked: Asked) -> Sequence[Branch]:
    """Return the SELECT of the diary entries; nothing if the prompt shows neither entries nor thoughts."""
    s = asked.settings
    shows_thoughts = s.enable_thoughts and not asked.skips_history
    if not s.enable_ai_diary or not s.diary_history_days or not (s.ai_diary_full or shows_thoughts):
        return ()
    since = asked.message.date - timedelta(days=s.diary_history_days)
    return (Branch(table.DIARY, table.select_diary, {"since": since}, "ai_diary"),)


def build(asked: Asked, rows: StoredRows, lists: HistoryLists) -> Built:  # noqa: ARG001
    entries = table.DIARY.rows_in(rows)
    if not asked.settings.ai_diary_full:
        return Built()
    return diary_lines(entries, asked.settings.diary_chars, times.zone(asked.settings.timezone) or UTC)


def by_age(entries: Iterable[DiaryEntry]) -> list[DiaryEntry]:
    """Return the entries oldest first; an entry without a readable time counts as oldest, and ids break ties."""
    return sorted(entries, key=lambda entry: (entry.timestamp or _OLDEST, entry.id))


def shown_text(text: str) -> str:
    """Return a text as one line, "" if it has no visible character."""
    shown = one_line(text)
    return shown if shown.strip() else ""


def diary_line(entry: DiaryEntry, zone: tzinfo) -> str:
    """Format a diary entry as one line; "" if the entry is empty."""
    parts = (("", entry.content), ("summary: ", entry.interaction_summary), ("thought: ", entry.personal_thought))
    shown_parts: list[str] = []
    before: list[str] = []
    for name, text in parts:
        shown = shown_text(text)
        words = collapsed(shown)
        if shown and not any(holds_words(each, words) for each in before):
            shown_parts.append(f"{name}{shown}" if name else mark_opening(shown))
            before.append(words)
    line = " | ".join(shown_parts)
    return " ".join(filter(None, (stamp(entry.timestamp, zone), line))) if line else ""


def diary_lines(entries: Iterable[DiaryEntry], chars: int, zone: tzinfo) -> Built:
    """Return the newest diary entries that fit uncut into `chars` characters, as lines, oldest first."""
    lines: dict[str, str] = {}
    left_out: list[LeftOut] = []
    room, is_full = chars, False
    for entry in reversed(by_age(entries)):
        line = diary_line(entry, zone)
        is_full = is_full or len(line) > room
        if not line or is_full:
            left_out.append(LeftOut("ai_diary", "limit" if line else "blank", str(entry.id)))
            continue
        room -= len(line)
        lines[str(entry.id)] = line
    return Built([*lines.values()][::-1], tuple(left_out), tuple(lines)[::-1])
