"""The section `saved_memories`: the person's standing wishes, then what people asked to remember."""

from __future__ import annotations

from collections.abc import Sequence

from ..context.history import HistoryLists
from ..context.section_base import Asked, Built, StoredRows
from ..database.row_shapes import Branch
from ..memories.rules_modes import MODES
from ..shapes import LeftOut
from ..text.folding import collapsed
from ..wishes import section as section_wishes
from . import table_saved as saved

KEY = "saved_memories"
CUT, SAID_TWICE = "cut", "duplicate"


def wanted(asked: Asked) -> Sequence[Branch]:
    """Return the parts to read; none where the switches are off or the mode reads nothing."""
    settings = asked.settings
    wishes = section_wishes.wanted(asked)
    if not settings.enable_saved_memory or not MODES[settings.memory_mode].reads:
        return wishes
    return (*wishes, *saved.section_parts(settings.saved_in_prompt))


def build(asked: Asked, rows: StoredRows, lists: HistoryLists) -> Built:  # noqa: ARG001
    """Return the wishes, then the texts of the newest SAVED_IN_PROMPT memories, each oldest first; others are cut.

    One message can be both a wish and saved: then it stands here once.
    """
    wishes = section_wishes.build(asked, rows)
    known = {collapsed(text) for text in wishes.value}
    newest = sorted(saved.SHOWN.rows_in(rows), key=_moment)
    shown = [row for row in newest if collapsed(row.content or "") not in known]
    left_out = (
        *(LeftOut(KEY, SAID_TWICE, str(row.id)) for row in newest if row not in shown),
        *(LeftOut(KEY, CUT, str(row.id)) for row in saved.REST.rows_in(rows)),
    )
    texts = [*wishes.value, *(row.content or "" for row in shown)]
    return Built(texts, (*wishes.left_out, *left_out), (*wishes.ids, *(str(row.id) for row in shown)))


def _moment(row: saved.SavedText) -> tuple[bool, object, int]:
    return row.at is not None, row.at, row.id
