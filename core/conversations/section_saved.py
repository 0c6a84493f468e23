"""The section `saved_memories`: what people asked to remember."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from ..config import Settings
from ..context.context import LITE_SAVED
from ..context.history import HistoryLists
from ..context.lines import NameLabels
from ..context.section_base import Asked, Built, StoredRows
from ..database.row_shapes import Branch
from ..memories import section_instructions
from ..memories.rules_modes import MODES
from ..shapes import LeftOut
from ..text.folding import collapsed, fold, one_line
from ..text.hits import known_name
from . import table_saved as saved

KEY = "saved_memories"
CUT, SAID_TWICE = "cut", "duplicate"


def wanted(asked: Asked) -> Sequence[Branch]:
    """Return the parts to read; none if the switch is off or the mode reads nothing."""
    settings = asked.settings
    if not settings.enable_saved_memory or not MODES[settings.memory_mode].reads:
        return ()
    return (saved.section_part(asked.viewer, server_in_direct=settings.server_in_direct),)


def build(asked: Asked, rows: StoredRows, lists: HistoryLists) -> Built:
    """Return as many memories as SAVED_CHARS characters hold, oldest first; others are cut."""
    instructions = {collapsed(text) for text in section_instructions.build(asked, rows, lists).value}
    stored = sorted(saved.SHOWN.rows_in(rows), key=lambda row: (row.at is not None, row.at, row.id))
    new = [row for row in stored if collapsed(row.content or "") not in instructions]
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
    )
    named = [Saved(row.content or "", row.participant, row.person or "") for row in shown]
    texts = name_texts(named, (asked.viewer.scope.participant, asked.viewer.person), lists.names)
    return Built(texts, left_out, tuple(str(row.id) for row in shown))


def most_saved(settings: Settings) -> int:
    """Return the most memories shown, where SAVED_CHARS leaves room for them."""
    return LITE_SAVED if settings.prompt_lite_mode else saved.MOST_READ


# Which are shown, and with whose name


class Saved(NamedTuple):
    """A saved memory, and whose it is."""

    text: str
    participant: str | None = None
    """Key of who asked for it; None for the persona's own."""
    person: str = ""
    """That person's name; blank if it is not known."""


def name_texts(saved: Sequence[Saved], own: Collection[str | None], labels: NameLabels) -> list[str]:
    """Return the texts; if any is of somebody else than the asker, each begins with its person's label."""
    if all(not one.participant or one.participant in own for one in saved):
        return [one.text for one in saved]
    names = [known_name(one.person, (one.participant or "").partition("/")[2]) for one in saved]
    return [
        f"{labels.participant(one.participant or '', name)}: {one_line(one.text)}" if name else one.text
        for name, one in zip(names, saved, strict=True)
    ]


def choose_saved(
    texts: Sequence[str], pinned: Sequence[bool], words: Sequence[str], *, most: int, most_chars: int
) -> list[int]:
    """Return the positions of the memories that are shown, in the order given."""
    if len(texts) <= most and sum(map(len, texts)) <= most_chars:
        return list(range(len(texts)))
    wanted = [word for word in dict.fromkeys(map(fold, words)) if word]
    matches = [_count_words(text, wanted) for text in texts]
    order = sorted(range(len(texts)), key=lambda at: (not pinned[at], -matches[at], -at))
    chosen: list[int] = []
    room = most_chars
    for at in order:
        if len(chosen) == most:
            break
        if len(texts[at]) <= room:
            chosen.append(at)
            room -= len(texts[at])
    return sorted(chosen)


def _count_words(text: str, words: Sequence[str]) -> int:
    """Return how many of the words the text has; in scripts that divide words, at the beginning of one."""
    folded = fold(text)
    starts = {word: re.escape(word) if word[0] > "\u052f" else rf"(?<!\w){re.escape(word)}" for word in words}
    return sum(re.search(start, folded) is not None for start in starts.values())
