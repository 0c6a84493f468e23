"""The section `saved_memories`: what people asked to remember."""

from __future__ import annotations

from collections.abc import Sequence

from ..config import Settings
from ..context.context import LITE_SAVED
from ..context.history import HistoryLists
from ..context.section_base import Asked, Built, StoredRows
from ..database.row_shapes import Branch
from ..memories import section_instructions
from ..memories.rules_modes import MODES
from ..shapes import LeftOut
from ..text.folding import collapsed
from . import table_saved as saved
from .rules_saved import Saved, choose_saved, name_texts

KEY = "saved_memories"
CUT, SAID_TWICE = "cut", "duplicate"


def wanted(asked: Asked) -> Sequence[Branch]:
    """Return the parts to read; none where the switch is off or the mode reads nothing."""
    settings = asked.settings
    if not settings.enable_saved_memory or not MODES[settings.memory_mode].reads:
        return ()
    return saved.section_parts(asked.viewer, server_in_direct=settings.server_in_direct)


def build(asked: Asked, rows: StoredRows, lists: HistoryLists) -> Built:
    """Return as many memories as SAVED_CHARS characters hold, oldest first; others are cut."""
    known = {collapsed(text) for text in section_instructions.build(asked, rows, lists).value}
    stored = sorted(saved.SHOWN.rows_in(rows), key=_moment)
    new = [row for row in stored if collapsed(row.content or "") not in known]
    places = choose_saved(
        [row.content or "" for row in new],
        [bool(row.pinned) for row in new],
        asked.words,
        most=most_saved(asked.settings),
        most_chars=asked.settings.saved_chars,
    )
    shown = [new[at] for at in places]
    kept, doubled = {row.id for row in shown}, {row.id for row in stored} - {row.id for row in new}
    left_out = (
        *(LeftOut(KEY, SAID_TWICE, str(row.id)) for row in stored if row.id in doubled),
        *(LeftOut(KEY, CUT, str(row.id)) for row in new if row.id not in kept),
        *(LeftOut(KEY, CUT, str(row.id)) for row in saved.REST.rows_in(rows)),
    )
    said = [Saved(row.content or "", row.participant, row.person or "") for row in shown]
    texts = name_texts(said, (asked.viewer.scope.participant, asked.viewer.person))
    return Built(texts, left_out, tuple(str(row.id) for row in shown))


def most_saved(settings: Settings) -> int:
    """Return the most memories shown, where SAVED_CHARS leaves room for them."""
    return LITE_SAVED if settings.prompt_lite_mode else saved.MOST_READ


def _moment(row: saved.SavedText) -> tuple[bool, object, int]:
    return row.at is not None, row.at, row.id
