"""The section `recent_conversations`: title, time and summary of conversations that ended, oldest first."""

from __future__ import annotations

from collections.abc import Sequence

from ..context.context import LITE_RECENT
from ..context.history import HistoryLists
from ..context.section_base import Asked, Built, StoredRows
from ..database.row_shapes import Branch
from ..memories.rules_modes import MODES
from ..shapes import LeftOut
from . import table_summaries as summaries
from .rules_summaries import format_time, keep_newest_of_each

KEY = "recent_conversations"
RECENT_IN_PROMPT = 10
"""Most conversations in one prompt: older ones are found by search."""
CUT, VISIBLE = "cut", "visible"


def wanted(asked: Asked) -> Sequence[Branch]:
    """Return the parts to read; none if the switch is off or the mode reads nothing."""
    settings = asked.settings
    if not settings.enable_recent_conversations or not MODES[settings.memory_mode].reads:
        return ()
    return summaries.section_parts(_most(asked))


def _most(asked: Asked) -> int:
    return LITE_RECENT if asked.settings.prompt_lite_mode else RECENT_IN_PROMPT


def build(asked: Asked, rows: StoredRows, lists: HistoryLists) -> Built:
    """Return the newest conversations; the others are counted as cut."""
    settings = asked.settings
    newest = sorted(summaries.SHOWN.rows_in(rows), key=_moment, reverse=True)
    rest = list(summaries.REST.rows_in(rows))
    both: list[summaries.RecentSummary | summaries.SummaryBeyond] = [*newest, *rest]
    on_list = keep_newest_of_each(both, settings.max_recent_conversations, lambda row: row.audience)
    left = {row.id for row in on_list}
    visible_rows = {entry.row_id for entry in lists.visible}
    whole = {row.id for row in newest if row.conversation in lists.whole and row.last in visible_rows}
    shown = [row for row in reversed(newest) if row.id in left and row.id not in whole]
    value = [
        {
            "title": row.title or "",
            "time": format_time(row.at, settings.timezone),
            "summary": row.summary or "",
        }
        for row in shown
    ]
    left_out = [LeftOut(KEY, VISIBLE, str(row.id)) for row in newest if row.id in left and row.id in whole]
    left_out += [LeftOut(KEY, CUT, str(row.id)) for row in rest if row.id in left]
    return Built(value, tuple(left_out), tuple(str(row.id) for row in shown))


def _moment(row: summaries.RecentSummary) -> tuple[bool, object, int]:
    return row.at is not None, row.at, row.id
