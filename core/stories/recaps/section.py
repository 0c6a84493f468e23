"""The section `message_recaps`: the included recaps of this conversation, oldest first, one a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...context.history import HistoryLists
from ...context.section_base import Asked, Built
from ...database.rows import read_time
from ...database.section_parts import SectionPart, SectionRow
from ...messages import table_recaps
from ...shapes import LeftOut
from ...text.hits import content_digest
from .rules import concatenate

KEY = "message_recaps"


def wanted(asked: Asked) -> Sequence[SectionPart]:
    """Return the part that brings the included recaps; none with ENABLE_MESSAGE_RECAPS off."""
    conversation = asked.viewer.scope.conversation
    if not asked.settings.enable_message_recaps or conversation is None:
        return ()
    return (table_recaps.section_part(conversation),)


def build(asked: Asked, rows: Mapping[int, Sequence[SectionRow]], lists: HistoryLists) -> Built:
    """Return the recaps as one text, without those of messages that stand in the history or are answered."""
    found = [(read_time(row.at), row) for row in rows.get(table_recaps.SECTION, ())]
    found.sort(key=lambda pair: (pair[0] is not None, pair[0], pair[1].id))
    shown = _shown(asked, lists) if asked.settings.recap_skip_visible else _Shown()
    memories = [row.text0 or "" for _, row in found if not shown.holds(row)]
    left_out = tuple(LeftOut(KEY, "visible", str(row.id)) for _, row in found if shown.holds(row))
    return Built(concatenate(memories), left_out)


class _Shown:
    """The messages whose full text stands in the prompt: stored ones by their row, live ones by their text."""

    def __init__(self, rows: Sequence[int] = (), digests: Sequence[bytes] = ()) -> None:
        self._rows, self._digests = frozenset(rows), frozenset(digests)

    def holds(self, row: SectionRow) -> bool:
        return row.id in self._rows or (row.digest is not None and bytes(row.digest) in self._digests)


def _shown(asked: Asked, lists: HistoryLists) -> _Shown:
    own = asked.viewer.scope.conversation
    there = [entry for entry in (*lists.visible, *lists.echoes) if entry.conversation in ("", own)]
    return _Shown(
        [entry.row_id for entry in there if entry.row_id is not None],
        [content_digest(entry.text) for entry in there if entry.row_id is None],
    )
