"""The sections of `context` that a capability brings: what each reads with the prompt's last statement, what
it shows.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..context.history import HistoryLists
from ..context.section_base import Asked, Built, Section, StoredRows
from ..conversations import section_recent as section_conversations
from ..conversations import section_saved
from ..database.row_shapes import Branch
from ..memories import section_instructions
from ..relationships import section as section_relationship
from ..short_term import section as section_short_term
from ..stories import section_recaps, section_running
from .report import Guard

SECTIONS: tuple[Section, ...] = (
    section_short_term,
    section_conversations,
    section_instructions,
    section_saved,
    section_relationship,
    section_recaps,
    section_running,
)
"""Every section of the package, in the order of `context.context.CONTEXT_KEYS`."""


def plan_sections(guard: Guard, asked: Asked) -> list[Branch]:
    """Return what the sections of this call read."""
    none: Sequence[Branch] = ()
    return [
        part
        for section in SECTIONS
        for part in guard(section.KEY, lambda s=section: s.wanted(asked), none)  # type: ignore[misc]
    ]


def build_sections(guard: Guard, asked: Asked, rows: StoredRows, lists: HistoryLists) -> dict[str, Built]:
    """Return every section by its key, built from what was read."""
    return {
        s.KEY: guard(s.KEY, lambda s=s: s.build(asked, rows, lists), Built())  # type: ignore[misc]
        for s in SECTIONS
    }
