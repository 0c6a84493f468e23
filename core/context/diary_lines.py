"""What of the diary is shown: its entries and the persona's thoughts."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, tzinfo

from ..shapes import DiaryEntry, LeftOut
from ..text.folding import collapsed, one_line
from .lines import mark_opening, stamp

_OLDEST = datetime(1, 1, 1, tzinfo=UTC)


def _by_age(entries: Iterable[DiaryEntry]) -> list[DiaryEntry]:
    """Return the entries oldest first; one without a readable time counts as oldest, the id breaks ties."""
    return sorted(entries, key=lambda entry: (entry.timestamp or _OLDEST, entry.id))


def _shown_text(text: str) -> str:
    """Return the text as one line, blank when there is nothing to see in it."""
    shown = one_line(text)
    return shown if shown.strip() else ""


def diary_line(entry: DiaryEntry, zone: tzinfo) -> str:
    """Return one diary entry as one line, blank when there is nothing in it."""
    parts = (("", entry.content), ("summary: ", entry.interaction_summary), ("thought: ", entry.personal_thought))
    shown_parts: list[str] = []
    before: list[str] = []
    for name, text in parts:
        shown = _shown_text(text)
        words = collapsed(shown)
        if shown and not any(holds_words(each, words) for each in before):
            shown_parts.append(f"{name}{shown}" if name else mark_opening(shown))
            before.append(words)
    line = " | ".join(shown_parts)
    return " ".join(filter(None, (stamp(entry.timestamp, zone), line))) if line else ""


def holds_words(text: str, words: str) -> bool:
    """Return whether words stand in a text one by one, not as part of others; both folded."""
    at = text.find(words)
    while at >= 0:
        end = at + len(words)
        if not (text[at - 1 : at].isalnum() and words[:1].isalnum()) and not (
            text[end : end + 1].isalnum() and words[-1:].isalnum()
        ):
            return True
        at = text.find(words, at + 1)
    return False


def diary_lines(entries: Iterable[DiaryEntry], chars: int, zone: tzinfo) -> tuple[list[str], list[LeftOut]]:
    """Return the newest whole entries that fit as lines, oldest first, and what was left out."""
    lines: list[str] = []
    left_out: list[LeftOut] = []
    room, is_full = chars, False
    for entry in reversed(_by_age(entries)):
        shown = diary_line(entry, zone)
        if not shown:
            left_out.append(LeftOut("ai_diary", "blank", str(entry.id)))
            continue
        is_full = is_full or len(shown) > room
        if is_full:
            left_out.append(LeftOut("ai_diary", "limit", str(entry.id)))
            continue
        room -= len(shown)
        lines.append(shown)
    return lines[::-1], left_out


def thought_lines(
    entries: Iterable[DiaryEntry],
    limit: int,
    zone: tzinfo,
    *,
    shown: Iterable[str] = (),
) -> tuple[list[str], list[LeftOut]]:
    """Return the last thoughts as lines, oldest first, and what was left out."""
    left_out: list[LeftOut] = []
    thoughts = [
        (
            (entry.timestamp or _OLDEST, entry.id),
            _thought(entry.personal_thought, entry.timestamp, zone),
            str(entry.id),
            entry.personal_thought,
        )
        for entry in entries
        if _shown_text(entry.personal_thought)
    ]
    lines: list[str] = []
    seen: set[str] = set()
    diary = [collapsed(line) for line in shown]
    for _, line, name, said in sorted(thoughts, reverse=True):
        key, words = collapsed(line), collapsed(said)
        if any(holds_words(each, words) for each in diary):
            left_out.append(LeftOut("thoughts", "visible", name))
            continue
        if key in seen or len(lines) >= limit:
            left_out.append(LeftOut("thoughts", "duplicate" if key in seen else "limit", name))
            continue
        seen.add(key)
        lines.append(line)
    return lines[::-1], left_out


def _thought(text: str, time: datetime | None, zone: tzinfo) -> str:
    """Return one thought as one line, behind its time where there is one."""
    return " ".join(filter(None, (stamp(time, zone), mark_opening(one_line(text)))))
