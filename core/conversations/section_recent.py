"""The section `recent_conversations`: title, time and summary of ended conversations, oldest first."""

from collections.abc import Sequence

from ..context.context import LITE_RECENT
from ..context.history import HistoryLists
from ..context.section_base import Asked, Built, StoredRows
from ..database.compiled import Branch
from ..memories.rules import MODES
from . import table_summaries
from .rules_summaries import format_time

KEY = "recent_conversations"
RECENT_IN_PROMPT = 10
"""Maximum number of conversations in a prompt; a search finds older ones."""


def wanted(asked: Asked) -> Sequence[Branch]:
    settings = asked.settings
    if not settings.enable_recent_conversations or not MODES[settings.memory_mode].reads:
        return ()
    values = {"most": LITE_RECENT if settings.prompt_lite_mode else RECENT_IN_PROMPT}
    return (Branch(table_summaries.SHOWN, table_summaries.select_shown, values, "conversation_summaries"),)


def build(asked: Asked, rows: StoredRows, lists: HistoryLists) -> Built:  # noqa: ARG001
    newest = sorted(table_summaries.SHOWN.rows_in(rows), key=lambda row: (row.at is not None, row.at, row.id))
    zone = asked.settings.timezone
    value = [{"title": row.title, "time": format_time(row.at, zone), "summary": row.summary} for row in newest]
    return Built(value, ids=tuple(str(row.id) for row in newest))
