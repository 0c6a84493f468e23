"""The section `standing_wishes`: what the person a prompt answers wishes once and for all."""

from __future__ import annotations

from collections.abc import Sequence

from ..context.history import HistoryLists
from ..context.section_base import Asked, Built, StoredRows
from ..database.row_shapes import Branch
from ..memories.rules_modes import MODES
from ..shapes import LeftOut
from . import table_shown as wishes_shown
from .recognition import is_kept
from .rules import choose_holding

KEY = "standing_wishes"
CUT, SAID_AGAIN = "cut", "superseded"


def wanted(asked: Asked) -> Sequence[Branch]:
    """Return the part to read; none where the switches are off, WISHES_IN_PROMPT is 0 or the mode reads nothing."""
    settings = asked.settings
    if not is_kept(settings) or not settings.wishes_in_prompt or not MODES[settings.memory_mode].reads:
        return ()
    return (wishes_shown.section_part(asked.viewer, server_in_direct=settings.server_in_direct),)


def build(asked: Asked, rows: StoredRows, lists: HistoryLists) -> Built:  # noqa: ARG001
    """Return the newest WISHES_IN_PROMPT wishes that hold, oldest first; of each topic the newest counts."""
    items = wishes_shown.read_items(wishes_shown.SHOWN.rows_in(rows))
    places = choose_holding([item.topic for item in items], asked.settings.wishes_in_prompt)
    shown = [items[at] for at in places]
    topics = {item.topic for item in shown}
    kept = {item.id for item in shown}
    left_out = tuple(
        LeftOut(KEY, SAID_AGAIN if item.topic in topics else CUT, str(item.id)) for item in items if item.id not in kept
    )
    texts: dict[str, str] = {}
    for item in shown:
        # One sentence may hold two wishes.
        texts.setdefault(item.text, str(item.id))
    return Built(list(texts), left_out, tuple(texts.values()))
