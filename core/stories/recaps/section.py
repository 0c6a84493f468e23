"""The section `message_recaps`: the included recaps of this conversation, oldest first, one a line."""

from __future__ import annotations

from collections.abc import Sequence

from ...context.history import HistoryLists
from ...context.section_base import Asked, Built, StoredRows
from ...database.row_shapes import Branch
from ...messages import table_recaps
from ...shapes import LeftOut
from ...text.hits import entry_digest
from .rules import concatenate

KEY = "message_recaps"


def wanted(asked: Asked) -> Sequence[Branch]:
    """Return the part that brings the included recaps; none with ENABLE_MESSAGE_RECAPS off."""
    conversation = asked.viewer.scope.conversation
    if not asked.settings.enable_message_recaps or conversation is None:
        return ()
    return (table_recaps.section_part(conversation),)


def build(asked: Asked, rows: StoredRows, lists: HistoryLists) -> Built:
    """Return the recaps as one text, without those of messages that stand in the history or are answered."""
    recaps = sorted(table_recaps.INCLUDED.rows_in(rows), key=lambda row: (row.at is not None, row.at, row.id))
    shown = _shown(asked, lists)
    memories = [row.memory for row in recaps if not shown.holds(row)]
    left_out = tuple(LeftOut(KEY, "visible", str(row.id)) for row in recaps if shown.holds(row))
    return Built(concatenate(memories), left_out)


class _Shown:
    """The messages whose full text stands in the prompt: stored ones by their row, live ones by their text."""

    def __init__(self, rows: Sequence[int], digests: Sequence[bytes]) -> None:
        self._rows, self._digests = frozenset(rows), frozenset(digests)

    def holds(self, row: table_recaps.IncludedRecap) -> bool:
        return row.id in self._rows or (row.digest is not None and bytes(row.digest) in self._digests)


def _shown(asked: Asked, lists: HistoryLists) -> _Shown:
    own = asked.viewer.scope.conversation
    there = [entry for entry in (*lists.visible, *lists.echoes) if entry.conversation in ("", own)]
    return _Shown(
        [entry.row_id for entry in there if entry.row_id is not None],
        [entry_digest(entry) for entry in there if entry.row_id is None],
    )
