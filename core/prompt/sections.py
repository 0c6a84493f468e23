"""The sections of `context` that a capability brings: what each reads with the prompt's last statement, what
it shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..context.history import HistoryLists
from ..context.section_base import Asked, Built, Section, StoredRows
from ..conversations import section_recent as section_conversations
from ..conversations import section_saved
from ..database.row_shapes import Branch
from ..memories import section_instructions
from ..relationships import section as section_relationship
from ..shapes import LeftOut
from ..short_term import section as section_short_term
from ..stories.recaps import section as section_recaps
from ..stories.running import section as section_running
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


@dataclass(frozen=True, slots=True)
class BuiltSections:
    """The sections of one call as they enter `context`."""

    values: Mapping[str, Any] = field(default_factory=dict)
    left_out: Sequence[LeftOut] = ()
    ids: Mapping[str, list[str]] = field(default_factory=dict)
    notes: Sequence[str] = ()


def plan_sections(guard: Guard, asked: Asked) -> list[Branch]:
    """Return what the sections of this call read."""
    none: Sequence[Branch] = ()
    return [
        part
        for section in SECTIONS
        for part in guard(section.KEY, lambda s=section: s.wanted(asked), none)  # type: ignore[misc]
    ]


def build_sections(guard: Guard, asked: Asked, rows: StoredRows, lists: HistoryLists) -> BuiltSections:
    """Return every section, built from what was read."""
    built = {
        s.KEY: guard(s.KEY, lambda s=s: s.build(asked, rows, lists), Built())  # type: ignore[misc]
        for s in SECTIONS
    }
    return BuiltSections(
        values={key: one.value for key, one in built.items()},
        left_out=[item for one in built.values() for item in one.left_out],
        ids={key: list(one.ids) for key, one in built.items() if one.ids},
        notes=[note for one in built.values() for note in one.notes],
    )
