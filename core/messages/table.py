"""What was said (table chat_history_cache): a message stored once, in as few statements as it takes, with
index rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Integer, and_, bindparam, or_, select

from ..access import table_conversations, table_participants, tombstones
from ..database import rows
from ..database.dialects import Time
from ..database.engine import Database, RollbackError
from ..database.ids import retry_duplicates
from ..database.schema import chat_history_cache
from ..database.schema import conversations as conversations_table
from ..database.schema import participants as people
from ..database.sources import CHAT
from ..index import entries as index_entries
from ..index import table as index_table
from ..memories import table_instructions
from ..memories.rules_instructions import Instruction
from ..scope import Privacy, Scope
from ..shapes import WriteResult
from . import table_hidden, table_story_rows
from .new_message import SAME_WITHIN, NewMessage

Instructions = Sequence[tuple[Instruction, bool]]
"""The standing instructions of a message, each with whether it was flagged."""


_C = chat_history_cache.c


def build_scope(scope: Scope, conversation: str, privacy: Privacy | None = None) -> Scope:
    """Return the scope a message is stored in: the one given, in the message's conversation."""
    said = scope.privacy if scope.conversation in (None, conversation) else None
    return replace(scope, conversation=conversation, privacy=privacy or said)


# One message


@retry_duplicates
def insert_message(
    db: Database,
    scope: Scope,
    message: NewMessage,
    *,
    privacy_default: str,
    queues: bool = False,
    instructions: Instructions = (),
    row_id: int | None = None,
    also: Callable[[Connection], object] | None = None,
) -> WriteResult:
    """Store one message, or say why not: `duplicate` with the id of the one that is there, or `privacy`."""
    own = build_scope(scope, message.conversation)
    row_id = row_id or db.ids.one()
    stored = WriteResult(True, row_id, notes=message.notes)

    def work(connection: Connection) -> WriteResult:
        place = _insert_one(connection, db, own, message, row_id, privacy_default)
        if isinstance(place, WriteResult):
            return place
        record_instructions(connection, db, own, place, row_id, message, instructions, privacy_default)
        if is_late(db, own.persona, message, row_id):
            raise RollbackError(WriteResult(False, None, "privacy", notes=(*message.notes, FORGOTTEN)))
        if also is not None:
            also(connection)
        if queues:
            table_story_rows.queue_operations(connection, db, own.persona, message.conversation, row_id, message.role)
        return stored

    confirm = rows.confirm_row(chat_history_cache, own.persona, row_id, stored)
    result = db.transaction(work, source="chat_history_cache", confirm=confirm)
    # A commit whose answer was lost may end while the second try is under way, which then finds its own row.
    return stored if result.id == row_id else result


def record_instructions(
    connection: Connection,
    db: Database,
    scope: Scope,
    place: table_conversations.Place,
    row_id: int,
    message: NewMessage,
    instructions: Instructions,
    privacy_default: str,
    holding: table_instructions.Holding | None = None,
) -> None:
    """Store the standing instructions of a message, in its transaction, which keeps in `holding` what it has read."""
    whose = replace(scope, participant=message.participant)
    made = [
        table_instructions.build_instruction(each, at=message.at, sources=[row_id], quarantined=flagged)
        for each, flagged in instructions
    ]
    table_instructions.record_instructions(
        connection, db, whose, place, made, privacy_default=privacy_default, holding=holding
    )


THERE = select(_C.id).where(_C.persona_id == bindparam("persona"), _C.id.in_(bindparam("ids", expanding=True)))


def _insert_one(
    connection: Connection, db: Database, scope: Scope, message: NewMessage, row_id: int, privacy_default: str
) -> table_conversations.Place | WriteResult:
    persona, key, who = scope.persona, message.conversation, message.participant or message.triggered_by
    sender = who or ("" if message.is_of_somebody else None)
    names = {"title": message.title, "server_name": message.server_name if scope.server else ""}
    if not table_conversations.touch(connection, persona, key, message.at, **names):
        table_conversations.make(connection, db, scope, sender=sender, is_greeting=sender is None, **names)
        table_conversations.touch(connection, persona, key, message.at)
    row = connection.execute(_look(), _look_values(scope, message)).one()
    levels = {
        name: table_participants.Known(table_participants.level_of(rank, privacy_default), shown)
        for name, rank, shown in (
            (message.participant, row.level, row.display_name),
            (message.triggered_by, row.trigger_level, None),
        )
        if name
    }
    if is_private(message, levels, privacy_default):
        raise RollbackError(WriteResult(False, None, "privacy", notes=message.notes))
    facts = table_conversations.facts_of(row)
    table_conversations.check_server(scope, facts)
    double = row.same_id if row.same_id is not None else row.same_text
    if double is not None:
        duplicate = WriteResult(False, double, "duplicate", notes=message.notes)
        if not scope.server or facts.server:
            raise RollbackError(duplicate)
        # The room was stored without a server: from now on it is this one's, and another server's line is no duplicate.
        table_conversations.settle(connection, db, scope, facts, sender=sender)
        return duplicate
    place = table_conversations.settle(connection, db, scope, facts, sender=sender)
    if message.participant:
        names = {message.participant: message.sender_name}
        table_participants.note_names(connection, db, persona, names, levels)
    write_rows(connection, db, persona, [(row_id, message, place)])
    return place


@lru_cache(maxsize=1)
def _look() -> Any:
    """One statement for all that decides about a message: its conversation, who may be remembered, what is there."""
    c = conversations_table.c
    persona: Any = bindparam("persona")

    shown = select(people.c.display_name).where(
        people.c.persona_id == persona, people.c.participant_key == bindparam("participant")
    )
    here = and_(_C.persona_id == persona, _C.interface_path == bindparam("conversation"))
    same_id = select(_C.id).where(here, _C.message_id == bindparam("message_id")).limit(1)
    same_text = select(_C.id).where(
        here,
        _C.content_hash == bindparam("digest"),
        _C.timestamp > bindparam("after", type_=Time()),
        _C.timestamp < bindparam("before", type_=Time()),
        _C.sender_id == bindparam("sender_id"),
        or_(bindparam("by_id", type_=Integer()) == 1, _C.sender_name == bindparam("sender_name")),
        or_(bindparam("has_id", type_=Integer()) == 0, _C.message_id.is_(None)),
    )
    return select(
        *table_conversations.FACTS,
        table_participants.strictest_rank(bindparam("participant")).label("level"),
        table_participants.strictest_rank(bindparam("triggered_by")).label("trigger_level"),
        shown.scalar_subquery().label("display_name"),
        same_id.scalar_subquery().label("same_id"),
        same_text.order_by(_C.timestamp.desc(), _C.id.desc()).limit(1).scalar_subquery().label("same_text"),
    ).where(c.persona_id == persona, c.conversation_key == bindparam("conversation"))


def _look_values(scope: Scope, message: NewMessage) -> dict[str, Any]:
    return {
        "persona": scope.persona,
        "conversation": message.conversation,
        "participant": message.participant or "",
        "triggered_by": message.triggered_by or "",
        "message_id": message.message_id,
        "digest": message.digest,
        "after": message.at - SAME_WITHIN,
        "before": message.at + SAME_WITHIN,
        "sender_id": message.sender_id,
        "sender_name": message.sender_name,
        "by_id": int(bool(message.sender_id)),
        "has_id": int(message.message_id is not None),
    }


def is_private(message: NewMessage, levels: Mapping[str, table_participants.Known], default: str) -> bool:
    """Return whether the level of somebody concerned keeps the message out: it is full."""
    if any(known.level == "full" for known in levels.values()):
        return True
    return message.is_of_somebody and message.participant is None and default == "full"


def write_rows(
    connection: Connection,
    db: Database,
    persona: str,
    ready: Sequence[tuple[int, NewMessage, table_conversations.Place]],
) -> None:
    """Insert the rows, then their index rows, which are shared by many writers."""
    rows.insert_rows(connection, chat_history_cache, [_row(persona, *each) for each in ready])
    entries = [
        index_entries.entry(
            CHAT.number,
            row_id,
            place.audience_id,
            m.at,
            m.folded,
            (),
            int(place.local_only),
            index_entries.place_of(CHAT.number, m.conversation, m.sender_name, m.participant, m.role),
        )
        for row_id, m, place in ready
    ]
    index_table.add(connection, db.family, entries)


def _row(persona: str, row_id: int, message: NewMessage, place: table_conversations.Place) -> dict[str, Any]:
    return {
        "id": row_id,
        "persona_id": persona,
        "audience_id": place.audience_id,
        "interface_path": message.conversation,
        "message_id": message.message_id,
        "sender_id": message.sender_id,
        "participant_key": message.participant,
        "sender_name": message.sender_name,
        "role": message.role,
        "message_text": message.text,
        "text_folded": message.folded,
        "triggered_by": message.triggered_by,
        "metadata": message.metadata,
        "timestamp": message.at,
        "hidden": table_hidden.AT_SOURCE if message.hidden else 0,
        "excluded": int(message.excluded),
        "content_hash": message.digest,
    }


FORGOTTEN = "the person or the conversation was forgotten while this was being stored"


def is_late(db: Database, persona: str, message: NewMessage, row_id: int) -> bool:
    """Return whether who said it, or where, was forgotten since the row was begun."""
    people = (message.participant, message.triggered_by)
    return tombstones.is_late(db, persona, row_id, people=people, conversation=message.conversation)
