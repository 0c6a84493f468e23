"""The section `running_recap`: the story so far, as `stories.running.injection` shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...context.history import HistoryLists
from ...context.section_base import Asked, Built
from ...database.dialects import from_key
from ...database.rows import read_object
from ...database.section_parts import SectionPart, SectionRow
from ...shapes import LeftOut
from . import table as running_recaps
from .injection import shown

KEY = "running_recap"


def wanted(asked: Asked) -> Sequence[SectionPart]:
    """Return the part that brings the current version; none with ENABLE_RUNNING_RECAP off."""
    conversation = asked.viewer.scope.conversation
    if not asked.settings.enable_running_recap or conversation is None:
        return ()
    return (running_recaps.section_part(conversation),)


def build(asked: Asked, rows: Mapping[int, Sequence[SectionRow]], lists: HistoryLists) -> Built:  # noqa: ARG001
    """Return the text, cut to RUNNING_RECAP_CONTEXT_LIMIT; what was cut is told one by one, oldest first."""
    for row in rows.get(running_recaps.SECTION, ()):
        data = None if row.tags is None else read_object(from_key(row.tags))
        provenance = "" if row.message is None else from_key(row.message)
        made = shown(row.text0 or "", data, provenance, asked.settings)
        left_out = tuple(LeftOut(KEY, "limit", f"{row.id}/{at}") for at in range(made.dropped))
        return Built(made.text or None, left_out, notes=made.notes)
    return Built()
