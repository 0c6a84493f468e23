"""The section `standing_wishes`: the standing instructions of the person who gets the answer."""

from collections.abc import Sequence
from datetime import UTC
from functools import partial

from ..config import Settings
from ..context.history import HistoryLists
from ..context.lines import stamp_day
from ..context.section_base import Asked, Built, StoredRows
from ..database.compiled import Branch
from ..shapes import LeftOut
from ..text import times
from ..text.remember_phrases import MEDICAL
from . import table_instructions
from .rules import MODES
from .rules_instructions import choose_holding

KEY = "standing_wishes"
INSTRUCTIONS_IN_PROMPT = 20
"""Maximum number of instructions in a prompt: people who gave more have mostly replaced the older instructions."""


def is_recorded(settings: Settings) -> bool:
    return bool(settings.record_wishes and settings.enable_saved_memory)


def wanted(asked: Asked) -> Sequence[Branch]:
    settings = asked.settings
    if not is_recorded(settings) or not MODES[settings.memory_mode].reads:
        return ()
    is_known, values = table_instructions.describe_person(asked.viewer)
    return (Branch(table_instructions.SHOWN, partial(table_instructions.select_shown, is_known), values, "memories"),)


def build(asked: Asked, rows: StoredRows, lists: HistoryLists) -> Built:  # noqa: ARG001
    """Return the newest valid instructions with their days, oldest first; instructions about an illness come last."""
    items = sorted(table_instructions.SHOWN.rows_in(rows), key=lambda item: (item.at is not None, item.at, item.id))
    holding = choose_holding([item.topics for item in items])
    holding.sort(key=lambda at: MEDICAL in items[at].topics)
    chosen = holding[-INSTRUCTIONS_IN_PROMPT:]
    left_out = tuple(
        LeftOut(KEY, "cut" if at in holding else "superseded", str(item.id))
        for at, item in enumerate(items)
        if at not in chosen
    )
    texts: dict[str, table_instructions.KeptItem] = {}
    for item in (items[at] for at in chosen):
        # A person may give the same instruction in private and in public.
        texts.setdefault(item.text, item)
    zone = times.zone(asked.settings.timezone) or UTC
    lines = [f"{stamp_day(item.at, zone)} {text}".lstrip() for text, item in texts.items()]
    return Built(lines, left_out, tuple(str(item.id) for item in texts.values()), said=tuple(texts))
