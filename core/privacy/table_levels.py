"""What may be kept of a person (table participants, column privacy), and what goes at once when nothing may be."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, func, select, update

from ..audience import table_participants as participants
from ..database.engine import Database
from ..database.schema import chat_history_cache, memories
from ..database.schema import participants as table
from ..database.schema_lifelong import user_relationships
from ..errors import MessageError
from ..short_term.table_items import remove_person

_P = table.c


def set_privacy(db: Database, persona: str, participant: object, level: str) -> dict[str, Any]:
    """Set what may be kept of a person from now on.

    Returns:
        `level`: what holds for the person, the strictest of all linked identities. `remaining`: rows of theirs that are
        stored, per table, for the host to offer forgetting. `removed`: rows removed at once, per table.

    Raises:
        MessageError: an unknown level, a blank or over-long key.
        StoreWriteError: nothing was changed.
    """
    if level not in participants.LEVELS:
        raise MessageError(f"level is {level!r}. It must be none, partial or full.", fields=("level",))
    key = participants.checked_key(participant)
    if "/" not in key:
        raise MessageError(
            f"participant is {key[:64]!r}. It must be `interface/id`, such as 'discord/{key[:64]}'.",
            fields=("participant",),
        )

    def work(connection: Connection) -> dict[str, Any]:
        group = participants.hold(connection, db, persona, [key])
        values = {"privacy": level, "updated_at": db.clock()}
        one = update(table).where(_P.persona_id == persona, _P.participant_key == key)
        connection.execute(one.values(values))
        strictest = participants.known(connection, persona, [key], level)[key].level
        removed: dict[str, int] = {}
        if strictest == "full":  # key and level are all that is kept
            nameless = update(table).where(_P.persona_id == persona, _P.participant_key.in_(sorted(group)))
            connection.execute(nameless.values(display_name=""))
            gone = remove_person(connection, persona, group)
            removed = {"short_term_memories": gone} if gone else {}
        return {"level": strictest, "removed": removed, "remaining": _remaining(connection, persona, sorted(group))}

    return db.transaction(work, source="participants", confirm=lambda _: None)


def _remaining(connection: Connection, persona: str, keys: list[str]) -> dict[str, int]:
    counts = {}
    c, m, u = chat_history_cache.c, memories.c, user_relationships.c
    for whose in (c.participant_key, m.participant_key, u.user_id):
        table = whose.table
        mine = select(func.count()).where(table.c.persona_id == persona, whose.in_(keys))
        counts[table.name] = int(connection.execute(mine).scalar_one())
    return counts
