"""What a new or changed message of a story leads to, in its own transaction: its operations, its recap made stale."""

from __future__ import annotations

from sqlalchemy import Connection, and_, bindparam, or_, select

from ..database.engine import Database
from ..database.readers import Reader, reader_in
from ..database.rows import read_object
from ..database.schema import chat_history_cache, memory_jobs
from ..database.schema import message_recaps as recaps
from ..jobs import table as jobs_table
from . import table_alternatives, table_lines, table_recaps

RECAP, DETECTION = "RECAP", "SCENE_DETECTION"
SAID = ("user", "persona")
"""Roles of messages that get a recap by themselves: said by a person, or by the persona."""
_MADE = ("model", "extract")
"""Provenance of recaps an operation made."""


def queue_operations(
    connection: Connection, db: Database, persona: str, conversation: str, row_id: int, role: str
) -> None:
    """Queue the recap of a new message, and one search for scene breaks unless one waits."""
    place = table_lines.find_place(reader_in(connection), persona, conversation)
    if role in SAID and place is not None and not place.stories_off:
        queue_recap(connection, db, persona, conversation, row_id)
        jobs_table.enqueue(connection, db, persona, DETECTION, conversation=conversation, once=True)


def queue_recap(connection: Connection, db: Database, persona: str, conversation: str, row_id: int) -> None:
    """Queue the recap of one message."""
    jobs_table.enqueue(connection, db, persona, RECAP, conversation=conversation, payload={"message_id": row_id})


_WITHOUT = (
    select(chat_history_cache.c.id)
    .select_from(
        chat_history_cache.outerjoin(
            recaps,
            and_(
                recaps.c.persona_id == chat_history_cache.c.persona_id,
                recaps.c.message_row == chat_history_cache.c.id,
                recaps.c.alternative == table_lines.OWN,
            ),
        )
    )
    .where(
        chat_history_cache.c.persona_id == bindparam("persona"),
        chat_history_cache.c.interface_path == bindparam("conversation"),
        chat_history_cache.c.role.in_(SAID),
        chat_history_cache.c.excluded == 0,
        or_(recaps.c.memory.is_(None), recaps.c.stale != 0),
    )
    .order_by(chat_history_cache.c.timestamp, chat_history_cache.c.id)
)
_WAITING = select(memory_jobs.c.payload).where(
    memory_jobs.c.persona_id == bindparam("persona"),
    memory_jobs.c.conversation_key == bindparam("conversation"),
    memory_jobs.c.type == RECAP,
    memory_jobs.c.status.in_(("pending", "retrying", "in_progress")),
)


def read_without_recap(read: Reader, persona: str, conversation: str) -> list[int]:
    """Return the messages somebody said that have no recap or a stale one and none queued, oldest first."""
    values = {"persona": persona, "conversation": conversation}
    waiting = {(read_object(r.payload) or {}).get("message_id") for r in read(_WAITING, values)}
    return [r.id for r in read(_WITHOUT, values) if r.id not in waiting]


def mark_changed(
    connection: Connection, db: Database, persona: str, conversation: str, row_id: int, text: str, *, role: str,
    queues: bool,
) -> None:  # fmt: skip
    """Make the recap of a changed message stale, and queue it again where an operation made it or would make it."""
    table_alternatives.set_current_text(connection, persona, row_id, text)
    provenance = table_recaps.mark_stale(connection, persona, row_id)
    if provenance in _MADE or (queues and role in SAID):
        queue_recap(connection, db, persona, conversation, row_id)
