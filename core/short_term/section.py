"""The section `short_term`: what was said a moment ago in other channels, newest first."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..context.history import HistoryLists
from ..context.section_base import Asked, Built, StoredRows
from ..database.row_shapes import Branch
from ..shapes import LeftOut
from ..text.hits import compared_text
from . import reader, rules, table_reading
from .places import read_life
from .shapes import Chosen, Entry

KEY = "short_term"


def wanted(asked: Asked) -> Sequence[Branch]:
    """Return the parts to read: other channels of the person and the server, and the channel itself."""
    settings, viewer = asked.settings, asked.viewer
    if not settings.enable_short_term:
        return ()
    scope = viewer.scope
    lookups = reader.plan_lookups(
        scope.participant, viewer.own.server or _server(asked), scope.conversation, settings, reader.SPARE
    )
    seen = reader.keep_visible_lookups(viewer, lookups)
    return table_reading.section_parts_of(viewer, seen, now=asked.now, life=read_life(settings))


def _server(asked: Asked) -> str:
    """Return the server of a scope without conversation; a direct message has none."""
    viewer = asked.viewer
    return viewer.scope.server if viewer.scope.conversation is None else ""


def build(asked: Asked, rows: StoredRows, lists: HistoryLists) -> Built:
    """Return the section; lines that stand in the history lists are not repeated, and their channel is left out."""
    settings = asked.settings
    by_id = {row.id: row for shape in table_reading.ENTRIES for row in shape.rows_in(rows)}
    found = [table_reading.entry_of(row, asked.viewer) for row in by_id.values()]
    live = [entry for each in found if (entry := rules.drop_expired(each, asked.now, read_life(settings))) is not None]
    chosen = reader.choose_entries(live, asked.viewer.scope.conversation, len(live))
    seen = {(entry.conversation, compared_text(entry)) for entry in lists.visible}
    fresh = [rules.drop_shown(entry, seen) for entry in chosen.others]
    others = [entry for entry in fresh if entry.summary or entry.items][: settings.short_term_max_channels]
    shown = reader.build_sections(Chosen(chosen.own, tuple(others)), settings, asked.now)
    ids = tuple(str(entry.id) for entry, _ in shown)
    return Built([section for _, section in shown], _left_out(found, chosen.all, fresh, ids), ids)


def _left_out(
    found: Sequence[Entry], chosen: Sequence[Entry], fresh: Sequence[Entry], ids: Collection[str]
) -> tuple[LeftOut, ...]:
    """Return why each entry found is not shown."""
    picked = {entry.id for entry in chosen}
    empty = {entry.id for entry in fresh if not entry.summary and not entry.items}
    made = []
    for entry in found:
        if str(entry.id) not in ids:
            reason = "visible" if entry.id in empty else "limit" if entry.id in picked else "duplicate"
            made.append(LeftOut(KEY, reason, str(entry.id)))
    return tuple(made)
