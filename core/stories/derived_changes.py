"""Changes of derived data: which recaps are included, which messages are hidden, how many tokens texts take."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..audience import table_conversations
from ..database.engine import Connection
from ..messages import table_hidden, table_recaps
from ..messages.table_hidden import Place


@dataclass(slots=True)
class DerivedChange:
    """What is to be written for one conversation."""

    include: dict[int, str | None] = field(default_factory=dict)
    """Message row to `include`."""
    last_hidden: Place | None = None
    """The newest message to be hidden; None hides nothing. Counts where `hides`."""
    hides: bool = False
    recap_counts: dict[int, int] = field(default_factory=dict)
    text_counts: dict[int, int] = field(default_factory=dict)
    counter: str = ""
    """Name of the counter both are from."""

    def __bool__(self) -> bool:
        return bool(self.include or self.hides or self.recap_counts or self.text_counts)

    def write(self, connection: Connection, persona: str, conversation: str) -> None:
        """Write it within a transaction, which locks the conversation first as operations do."""
        table_conversations.find(connection, persona, conversation, lock=True)
        by_value: dict[str | None, list[int]] = {}
        for row_id, value in self.include.items():
            by_value.setdefault(value, []).append(row_id)
        for value in sorted(by_value, key=lambda v: (v is not None, v)):
            table_recaps.set_include(connection, persona, by_value[value], value)
        if self.hides:
            table_hidden.update_hidden(connection, persona, conversation, self.last_hidden)
        for counts, of_recaps in ((self.recap_counts, True), (self.text_counts, False)):
            table_recaps.note_counts(connection, persona, self.counter, counts, of_recaps=of_recaps)
