"""The section `running_recap`: the story so far, cut to RUNNING_RECAP_CONTEXT_LIMIT."""

from __future__ import annotations

from collections.abc import Sequence

from ...context.history import HistoryLists
from ...context.section_base import Asked, Built, StoredRows
from ...database.row_shapes import Branch
from ...shapes import LeftOut
from . import table as running_table

KEY = "running_recap"


def wanted(asked: Asked) -> Sequence[Branch]:
    """Return the part that brings the current version; none with ENABLE_RUNNING_RECAP off."""
    conversation = asked.viewer.scope.conversation
    if not asked.settings.enable_running_recap or conversation is None:
        return ()
    return (running_table.section_part(conversation),)


def build(asked: Asked, rows: StoredRows, lists: HistoryLists) -> Built:  # noqa: ARG001
    """Return the text, cut to RUNNING_RECAP_CONTEXT_LIMIT; the report names each sentence that was cut."""
    for row in running_table.CURRENT.rows_in(rows):
        from .injection import fit_version  # noqa: PLC0415 - loads all of the stories, and few prompts have a running recap

        fitted = fit_version(row.content or "", row.provenance or "", asked.settings)
        left_out = tuple(LeftOut(KEY, "limit", f"{row.id}/{at}") for at in range(fitted.dropped))
        return Built(fitted.text or None, left_out, notes=fitted.notes)
    return Built()
