"""The section `message_recaps`: the included recaps of this conversation, oldest first, one per line."""

from collections.abc import Sequence

from ..context.history import HistoryLists
from ..context.section_base import Asked, Built, StoredRows
from ..database.compiled import Branch
from ..messages import table_recaps
from ..shapes import LeftOut
from ..text.hits import entry_digest
from .rules_recaps import concatenate

KEY = "message_recaps"


def wanted(asked: Asked) -> Sequence[Branch]:
    conversation = asked.viewer.scope.conversation
    if not asked.settings.enable_message_recaps or conversation is None:
        return ()
    values = {"conversation": conversation}
    return (Branch(table_recaps.INCLUDED, table_recaps.select_included, values, "message_recaps"),)


def build(asked: Asked, rows: StoredRows, lists: HistoryLists) -> Built:
    """Return the included recaps as one text, except those of messages that the prompt shows in full."""
    own = asked.viewer.scope.conversation
    entries = [entry for entry in (*lists.visible, *lists.echoes) if entry.conversation in ("", own)]
    stored = {entry.row_id for entry in entries if entry.row_id is not None}
    live = {entry_digest(entry) for entry in entries if entry.row_id is None}
    memories, left_out = [], []
    for row in sorted(table_recaps.INCLUDED.rows_in(rows), key=lambda row: (row.at is not None, row.at, row.id)):
        if row.id in stored or (row.digest is not None and bytes(row.digest) in live):
            left_out.append(LeftOut(KEY, "visible", str(row.id)))
        else:
            memories.append(row.memory)
    return Built(concatenate(memories), tuple(left_out))
