"""The section `saved_memories`: memories that people asked to save."""

import re
from collections.abc import Collection, Sequence
from datetime import UTC, tzinfo

from ..config import Settings
from ..context.context import LITE_SAVED
from ..context.history import HistoryLists
from ..context.lines import NameLabels, mark_opening, stamp_day
from ..context.section_base import Asked, Built, StoredRows
from ..database.compiled import Branch
from ..memories import section_instructions
from ..memories.rules import MODES
from ..shapes import LeftOut
from ..text import times
from ..text.folding import collapsed, fold, join_lines
from ..text.hits import known_name
from . import table_saved as saved
from .table_saved import SavedText

KEY = "saved_memories"


def wanted(asked: Asked) -> Sequence[Branch]:
    settings = asked.settings
    if not settings.enable_saved_memory or not MODES[settings.memory_mode].reads:
        return ()
    return (Branch(saved.SHOWN, saved.select_shown, {}, "memories"),)


def build(asked: Asked, rows: StoredRows, lists: HistoryLists) -> Built:
    """Return the section with as many memories as SAVED_CHARS allows, oldest first; the report lists the others."""
    instructions = {collapsed(text) for text in section_instructions.build(asked, rows, lists).said}
    stored = saved.order_saved(saved.SHOWN.rows_in(rows))
    new = [row for row in stored if collapsed(row.content or "") not in instructions]
    shown = choose_saved(new, asked.words, asked.settings)
    kept, doubled = {row.id for row in shown}, {row.id for row in stored} - {row.id for row in new}
    left_out = (
        *(LeftOut(KEY, "duplicate", str(row.id)) for row in stored if row.id in doubled),
        *(LeftOut(KEY, "cut", str(row.id)) for row in new if row.id not in kept),
    )
    zone = times.zone(asked.settings.timezone) or UTC
    lines = write_lines(shown, (*asked.viewer.identities, asked.viewer.person), lists.names, zone)
    said = tuple(row.content or "" for row in shown)
    return Built(lines, left_out, tuple(str(row.id) for row in shown), said=said)


def write_lines(rows: Sequence[SavedText], own: Collection[str | None], labels: NameLabels, zone: tzinfo) -> list[str]:
    """Format memories with their days; add names if anybody but the asking person (keys `own`) saved any of them."""
    with_names = any(row.participant and row.participant not in own for row in rows)
    lines = []
    for row in rows:
        participant, text = row.participant or "", join_lines(row.content or "")
        name = known_name(row.person or "", participant.partition("/")[2]) if with_names else ""
        said = f"{labels.label_participant(participant, name)}: {text}" if name else mark_opening(text)
        lines.append(" ".join(filter(None, (stamp_day(row.at, zone), said))))
    return lines


def choose_saved(rows: Sequence[SavedText], words: Sequence[str], settings: Settings) -> list[SavedText]:
    """Choose pinned memories, then those with most `words`, then the newest, up to SAVED_CHARS; keep their order."""
    most, room = LITE_SAVED if settings.prompt_lite_mode else saved.MOST_READ, settings.saved_chars
    sizes = [len(row.content or "") for row in rows]
    if len(rows) <= most and sum(sizes) <= room:
        return list(rows)
    wanted, texts = filter(None, dict.fromkeys(map(fold, words))), [fold(row.content or "") for row in rows]
    # at the beginning of a word, or anywhere in scripts without spaces
    starts = [re.escape(word) if word[0] > "\u052f" else rf"(?<!\w){re.escape(word)}" for word in wanted]
    matches = [sum(re.search(start, text) is not None for start in starts) for text in texts]
    chosen: list[int] = []
    for at in sorted(range(len(rows)), key=lambda at: (not rows[at].pinned, -matches[at], -at)):
        if sizes[at] <= room and len(chosen) < most:
            chosen.append(at)
            room -= sizes[at]
    return [rows[at] for at in sorted(chosen)]
