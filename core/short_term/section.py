"""The section `short_term`: what was said a moment ago in other channels, newest first."""

from collections.abc import Sequence

from ..context.history import HistoryLists
from ..context.section_base import Asked, Built, StoredRows
from ..database.compiled import Branch
from ..shapes import LeftOut
from ..text.hits import compared_text
from . import reader, rules, table_reading, turns

KEY = "short_term"


def wanted(asked: Asked) -> Sequence[Branch]:
    settings, viewer = asked.settings, asked.viewer
    if not settings.enable_short_term:
        return ()
    scope = viewer.scope
    # A direct message has no server; a scope without conversation has its own.
    server = viewer.own.server or (scope.server if scope.conversation is None else "")
    spare = 6  # history lists may already show the lines of some entries
    lookups = reader.plan_lookups(scope.participant, server, scope.conversation, settings, spare)
    return table_reading.build_branches(viewer, lookups, turns.read_since(settings, asked.now))


def build(asked: Asked, rows: StoredRows, lists: HistoryLists) -> Built:
    """Return the section, without lines that the history lists show."""
    settings = asked.settings
    entries = rules.drop_expired(table_reading.read_branches(rows), turns.read_since(settings, asked.now))
    shown = {(entry.conversation, compared_text(entry)) for entry in lists.visible}
    channel, most = asked.viewer.scope.conversation, settings.short_term_max_channels
    chosen, left_out = rules.choose_entries(entries, channel, most, shown)
    return Built(
        reader.build_sections(chosen, settings, asked.now),
        tuple(LeftOut(KEY, reason, str(entry_id)) for entry_id, reason in left_out.items()),
        tuple(str(entry.id) for entry in chosen),
    )
