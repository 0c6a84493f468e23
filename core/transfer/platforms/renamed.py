"""Chats whose contact got another name between two exports: told by lines that are stored under the old one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ...calls.call import Call
from ...database.readers import reader_for
from ...messages import table_known
from ...shapes import PERSONA_SENDER
from .survey import RoomFacts

_FEWEST = 2
"""Lines of two chats that are the same by chance are fewer."""


@dataclass(slots=True)
class Renamed:
    """What an export calls otherwise than the database does."""

    keys: dict[tuple[str, str], str] = field(default_factory=dict)
    """(program, room) to the key of the conversation it is stored as."""
    senders: dict[tuple[str, str, str], str] = field(default_factory=dict)
    """(program, room, speaker) to the id under which their lines are stored."""


def find_renamed(call: Call, interface: str, where: tuple[str, str], facts: RoomFacts, renamed: Renamed) -> None:
    """Note the conversation that holds most of a room's first lines, and who spoke them there."""
    speakers = dict(facts.first_lines)
    reader = reader_for(call.db, "chat_history_cache")
    rows = table_known.read_senders(reader, call.persona, interface, speakers)
    counts = Counter(row.conversation for row in rows)
    if not counts:
        return
    key, count = max(counts.items(), key=lambda pair: pair[1])
    if count < _FEWEST or 2 * count < len(speakers):
        return
    renamed.keys[where] = key
    told: dict[str, Counter[str]] = {}
    for row in rows:
        if row.conversation == key and row.sender_id != PERSONA_SENDER:
            told.setdefault(speakers[row.message_id], Counter())[row.sender_id] += 1
    for speaker, stored in told.items():
        renamed.senders[(*where, speaker)] = stored.most_common(1)[0][0]
