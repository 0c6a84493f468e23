"""Queues what a changed setting asks of stories: a refresh of every open conversation that has recaps or scenes."""

from __future__ import annotations

from sqlalchemy import Connection, and_, exists, select

from ..database.engine import Database
from ..database.schema import conversations
from ..database.schema_stories import memory_jobs, message_recaps, scenes
from ..jobs import rules
from ..jobs import table as jobs_table

REFRESH = "REFRESH"

_c, _j = conversations.c, memory_jobs.c
_PLACES = (
    select(_c.persona_id, _c.conversation_key)
    .where(
        _c.status == "open",
        _c.stories_off == 0,
        exists().where(and_(scenes.c.persona_id == _c.persona_id, scenes.c.conversation_key == _c.conversation_key))
        | exists().where(
            and_(message_recaps.c.persona_id == _c.persona_id, message_recaps.c.conversation_key == _c.conversation_key)
        ),
        ~exists().where(
            and_(
                _j.persona_id == _c.persona_id,
                _j.conversation_key == _c.conversation_key,
                _j.type == REFRESH,
                _j.status.in_(rules.TO_DO),
            )
        ),
    )
    .order_by(_c.persona_id, _c.conversation_key)
)


def queue_refreshes(connection: Connection, db: Database) -> int:
    """Queue a refresh of every open story that waits for none, of any persona, and return how many."""
    places = connection.execute(_PLACES).all()
    for place in places:
        jobs_table.enqueue(connection, db, place.persona_id, REFRESH, conversation=place.conversation_key)
    return len(places)
