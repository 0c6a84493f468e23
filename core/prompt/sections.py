"""The sections of `context` that a capability brings: what each reads with the prompt's last statement, what it shows.

A section is a module with the three names of `context.section_base.Section`, listed in `SECTIONS`. It asks for its
rows before anything is read and is built after the history lists are, so that it need not repeat what stands there.
Each is guarded on its own: one that fails leaves its key out and is named in the report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..context.history import HistoryLists
from ..context.section_base import Asked, Built, Section
from ..conversations import section_recent as section_conversations
from ..conversations import section_saved
from ..database.section_parts import SectionPart, SectionRow
from ..relationships import section as section_relationship
from ..shapes import LeftOut
from ..short_term import section as section_short_term
from ..stories.recaps import section as section_recaps
from ..stories.running import section as section_running
from .guard import Guard

SECTIONS: tuple[Section, ...] = (
    section_short_term,
    section_conversations,
    section_saved,
    section_relationship,
    section_recaps,
    section_running,
)
"""Every section of the package, in the order of P8."""


@dataclass(slots=True)
class Sections:
    """The sections of one call, from asking to built."""

    asked: Asked | None = None
    parts: list[SectionPart] = field(default_factory=list)
    rows: dict[int, list[SectionRow]] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    ids: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def plan(guard: Guard, asked: Asked) -> Sections:
    """Return what the sections of this call read."""
    made = Sections(asked)
    for section in SECTIONS:
        none: Sequence[SectionPart] = ()
        made.parts += guard(section.KEY, section.KEY, lambda s=section: s.wanted(asked), none)  # type: ignore[misc]
    return made


def build(guard: Guard, made: Sections, lists: HistoryLists) -> None:
    """Build every section from what was read."""
    if made.asked is None:
        return
    asked = made.asked
    for section in SECTIONS:
        nothing = Built()
        built = guard(section.KEY, section.KEY, lambda s=section: s.build(asked, made.rows, lists), nothing)  # type: ignore[misc]
        made.values[section.KEY] = built.value
        made.left_out += built.left_out
        made.notes += built.notes
        if built.ids:
            made.ids[section.KEY] = list(built.ids)
