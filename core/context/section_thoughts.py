"""The section `thoughts`: the persona's latest thoughts, taken from its diary, oldest first."""

from collections.abc import Iterable, Sequence
from datetime import UTC, tzinfo

from ..database.compiled import Branch
from ..shapes import DiaryEntry, LeftOut
from ..text import times
from ..text.folding import collapsed, one_line
from . import section_diary, table
from .history import HistoryLists
from .lines import holds_words, mark_opening, stamp
from .section_base import Asked, Built, StoredRows
from .section_diary import by_age, shown_text

KEY = "thoughts"
THOUGHTS, LITE_THOUGHTS = 5, 2
"""Maximum number of thoughts in a prompt, without and with PROMPT_LITE_MODE: few, to show the present mood."""


def wanted(asked: Asked) -> Sequence[Branch]:  # noqa: ARG001
    """Return no SELECTs: the diary section reads the rows of the thoughts."""
    return ()


def build(asked: Asked, rows: StoredRows, lists: HistoryLists) -> Built:
    s = asked.settings
    if not s.enable_thoughts or asked.skips_history:
        return Built([])
    shown = section_diary.build(asked, rows, lists).value or ()
    limit = LITE_THOUGHTS if s.prompt_lite_mode else THOUGHTS
    return thought_lines(table.DIARY.rows_in(rows), limit, times.zone(s.timezone) or UTC, shown=shown)


def thought_lines(entries: Iterable[DiaryEntry], limit: int, zone: tzinfo, *, shown: Iterable[str] = ()) -> Built:
    """Return the persona's latest `limit` thoughts as lines, oldest first, except those in `shown`."""
    lines: dict[str, str] = {}
    left_out: list[LeftOut] = []
    diary = [collapsed(line) for line in shown]
    for entry in reversed(by_age(entry for entry in entries if shown_text(entry.personal_thought))):
        text = mark_opening(one_line(entry.personal_thought))
        line = " ".join(filter(None, (stamp(entry.timestamp, zone), text)))
        words, reason = collapsed(entry.personal_thought), ""
        if any(holds_words(each, words) for each in diary):
            reason = "visible"
        elif collapsed(line) in map(collapsed, lines.values()):
            reason = "duplicate"
        elif len(lines) >= limit:
            reason = "limit"
        if reason:
            left_out.append(LeftOut("thoughts", reason, str(entry.id)))
        else:
            lines[str(entry.id)] = line
    return Built([*lines.values()][::-1], tuple(left_out), tuple(lines)[::-1])
