"""Stores one message (table chat_history_cache) with its index entry, unless it is stored already."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Integer, and_, bindparam, or_, select

from ..access import table_conversations, table_participants, tombstones
from ..access.rules import plain_key
from ..access.table_conversations import resolve_key
from ..access.view import ConversationFacts
from ..base.groups import group
from ..context.incoming import NAMES
from ..database import rows
from ..database.compiled import CompiledStatement
from ..database.dialects import Key, Time
from ..database.engine import Database, RollbackError
from ..database.ids import another_id
from ..database.schema import chat_history_cache
from ..database.schema import conversations as conversations_table
from ..database.schema import participants as people
from ..database.sources import CHAT, WITHDRAWN
from ..database.stored_values import decode_row
from ..index import entries as index_entries
from ..index import indexed
from ..jobs import table as jobs_table
from ..memories import shown_texts, table_instructions
from ..scope import Privacy, Scope
from ..shapes import WriteResult
from ..short_term import table as short_term_table
from . import table_hidden, table_recaps
from .new_message import SAME_WITHIN, NewMessage
from .table_lines import Line

CONSOLIDATION = "CONSOLIDATION"
"""Operation that creates memory items from a conversation's new messages and the messages in its payload."""
_C = chat_history_cache.c


def build_scope(scope: Scope, conversation: str, privacy: Privacy | None = None) -> Scope:
    """Return the scope in which a message is stored: `scope` with the message's conversation."""
    said = scope.privacy if scope.conversation in (None, conversation) else None
    return replace(scope, conversation=conversation, privacy=privacy or said)


def insert_message(
    db: Database,
    scope: Scope,
    message: NewMessage,
    *,
    is_answer: bool = False,
    privacy_default: str,
    queues: bool = False,
    row_id: int | None = None,
    also: Callable[[Connection], object] | None = None,
) -> WriteResult:
    """Store a message, or return why it is not stored: `duplicate`, with the id of the stored copy, or `privacy`.

    Args:
        is_answer: whether the call has just stored the answered message; then a repeated text is stored too.
    """
    tried: list[int] = []

    def work(connection: Connection) -> WriteResult:
        new = message
        if tried:  # another process made the same id, or stored a room of this name for another server
            tried.append(another_id(tried[-1]))
            key = resolve_key(connection.execute, scope, plain_key(message.conversation))
            new = replace(message, conversation=key)
        else:
            tried.append(row_id or db.ids.one())
        own_id, own = tried[-1], build_scope(scope, new.conversation)
        place = _hold_place(connection, db, own, new, privacy_default, is_new=is_answer and message.is_persona)
        if isinstance(place, WriteResult):
            return place
        write_rows(connection, db, own.persona, [(own_id, new, place)], privacy_default)
        whose = replace(own, participant=new.participant)
        table_instructions.record_instructions(
            connection, db, whose, place, new.instructions, at=new.at, sources=[own_id], privacy_default=privacy_default
        )
        if is_late(db, own.persona, new, own_id):
            raise RollbackError(WriteResult(False, None, "privacy", notes=(*new.notes, FORGOTTEN)))
        if also is not None:
            also(connection)
        if queues and new.role in table_recaps.SAID:
            table_recaps.queue_operations(connection, db, own.persona, new.conversation, own_id)
        return WriteResult(True, own_id, notes=new.notes)

    confirm = rows.check_stored(chat_history_cache, scope.persona, tried)
    result = db.transaction(work, source="chat_history_cache", confirm=confirm)
    # A commit whose answer was lost may end during the second try, which then finds its own row.
    return WriteResult(True, result.id, notes=message.notes) if result.id in tried else result


def _hold_place(
    connection: Connection, db: Database, scope: Scope, message: NewMessage, privacy_default: str, *, is_new: bool
) -> table_conversations.AudienceRow | WriteResult:
    """Lock the conversation and store the speaker's name; return the audience, or why the message is not stored."""
    persona, key, person = scope.persona, message.conversation, message.participant or message.triggered_by
    sender = person or ("" if message.is_of_somebody else None)
    names = {"title": message.title, "server_name": message.server_name if scope.server else ""}
    if not table_conversations.touch(connection, persona, key, message.at, **names):
        table_conversations.make(connection, db, scope, sender=sender, is_greeting=sender is None, **names)
        table_conversations.touch(connection, persona, key, message.at)
    values: dict[str, Any] = {"persona": persona, "conversation": key, "message_id": message.message_id}
    values |= {"participant": message.participant or "", "triggered_by": message.triggered_by or ""}
    values |= {"digest": message.digest, "after": message.at - SAME_WITHIN, "before": message.at + SAME_WITHIN}
    values |= {"sender_id": message.sender_id, "sender_name": message.sender_name}
    values |= {"by_id": int(bool(message.sender_id)), "has_id": int(message.message_id is not None)}
    (fetched,), _ = _facts(connection.dialect.name).run(connection, values)
    row = decode_row(fetched)
    facts = ConversationFacts(*row[: len(table_conversations.FACTS)])
    rank, trigger_rank, name, same_id, same_text = row[len(table_conversations.FACTS) :]
    levels = {
        each: table_participants.Known(table_participants.level_of(strictest, privacy_default), shown)
        for each, strictest, shown in ((message.participant, rank, name), (message.triggered_by, trigger_rank, None))
        if each
    }
    if is_private(message, levels, privacy_default):
        raise RollbackError(WriteResult(False, None, "privacy", notes=message.notes))
    table_conversations.check_server(scope, facts)
    double = same_text if same_id is None and not is_new else same_id
    if double is not None and not (scope.server and not facts.server):
        raise RollbackError(WriteResult(False, double, "duplicate", notes=message.notes))
    place = table_conversations.settle(connection, db, scope, facts, sender=sender)
    if double is not None:  # the room is this server's from now on, so another server's line is no duplicate
        return WriteResult(False, double, "duplicate", notes=message.notes)
    if message.participant:
        table_participants.note_names(connection, db, persona, {message.participant: message.sender_name}, levels)
    return place


@lru_cache(maxsize=2)
def _facts(family: str) -> CompiledStatement:
    """Return the statement that reads, before a message is stored, its conversation, privacy levels and duplicates."""
    c = conversations_table.c
    persona: Any = bindparam("persona", type_=Key(64))
    conversation = bindparam("conversation", type_=Key(512))
    participant, triggered_by = (bindparam(name, type_=Key(255)) for name in ("participant", "triggered_by"))
    shown = select(people.c.display_name).where(people.c.persona_id == persona, people.c.participant_key == participant)
    here = and_(_C.persona_id == persona, _C.interface_path == conversation)
    same_id = select(_C.id).where(here, _C.message_id == bindparam("message_id", type_=Key(191))).limit(1)
    is_named = _C.sender_name == bindparam("sender_name", type_=_C.sender_name.type)
    same_text = select(_C.id).where(
        here,
        _C.content_hash == bindparam("digest", type_=_C.content_hash.type),
        _C.timestamp > bindparam("after", type_=Time()),
        _C.timestamp < bindparam("before", type_=Time()),
        _C.sender_id == bindparam("sender_id", type_=Key(255)),
        or_(bindparam("by_id", type_=Integer()) == 1, is_named),
        or_(bindparam("has_id", type_=Integer()) == 0, _C.message_id.is_(None)),
    )
    newest = same_text.order_by(_C.timestamp.desc(), _C.id.desc()).limit(1)
    ranks = (table_participants.strictest_rank(who) for who in (participant, triggered_by))
    facts = select(*table_conversations.FACTS, *ranks, *(each.scalar_subquery() for each in (shown, same_id, newest)))
    return CompiledStatement(facts.where(c.persona_id == persona, c.conversation_key == conversation), family)


def is_private(message: NewMessage, levels: Mapping[str, table_participants.Known], default: str) -> bool:
    """Return whether the speaker or the answered person has privacy level `full`, which forbids storing the message."""
    if any(known.level == "full" for known in levels.values()):
        return True
    return message.is_of_somebody and message.participant is None and default == "full"


def write_rows(
    connection: Connection,
    db: Database,
    persona: str,
    ready: Sequence[tuple[int, NewMessage, table_conversations.AudienceRow]],
    privacy_default: str,
) -> None:
    """Insert messages with index entries; queue consolidation for messages older than the last consolidated message."""
    quoted = {row_id: who for row_id, message, _ in ready if (who := message.quoted) is not None}
    people = table_participants.known(connection, persona, quoted.values(), privacy_default) if quoted else {}
    made = [_row(persona, *each) | _note_turn(db, persona, each[1]) for each in ready]
    for row in made:
        if row["id"] in quoted and people[quoted[row["id"]]].level == "full":
            row["metadata"] = {k: v for k, v in row["metadata"].items() if k not in NAMES["reply"]} or None
    indexed.insert(connection, db, CHAT, made, [place.local_only for _, _, place in ready])
    late = group(  # an id made by a clock that lags may be below the mark of consolidation
        (m.conversation, row_id)
        for row_id, m, place in ready
        if place.facts is not None and row_id <= (place.facts.consolidated_to or 0)
    )
    for key, listed in sorted(late.items()):
        payload = {"reason": "late", "rows": listed}
        jobs_table.enqueue(connection, db, persona, CONSOLIDATION, conversation=key, payload=payload)


def _note_turn(db: Database, persona: str, message: NewMessage) -> dict[str, Any]:
    """Return columns that record the rows in an answer's prompt; `hidden` is set if one of the rows was forgotten."""
    turn = shown_texts.find_turn(db, persona, message.conversation, message.at) if message.is_persona else None
    if turn is not None and turn.is_withdrawn:
        return {"made_with": None, "hidden": WITHDRAWN, "excluded": 1}
    return {"made_with": list(turn.rows) or None if turn is not None else None}


def _row(persona: str, row_id: int, message: NewMessage, place: table_conversations.AudienceRow) -> dict[str, Any]:
    row: dict[str, Any] = {"id": row_id, "persona_id": persona, "audience_id": place.audience_id}
    row |= {"interface_path": message.conversation, "message_id": message.message_id, "timestamp": message.at}
    row |= {"sender_id": message.sender_id, "sender_name": message.sender_name, "participant_key": message.participant}
    row |= {"role": message.role, "triggered_by": message.triggered_by, "metadata": message.metadata}
    row |= {"message_text": message.text, "text_folded": message.folded, "content_hash": message.digest}
    return row | {"hidden": table_hidden.AT_SOURCE if message.hidden else 0, "excluded": int(message.excluded)}


def rewrite_message(connection: Connection, db: Database, persona: str, line: Line, text: str) -> None:
    short_term_table.reword_lines(connection, persona, line.conversation, line.participant, line.text, text)
    columns = {"message_text": text, "edited_at": db.clock(), **index_entries.derive_columns([text])}
    indexed.set_columns(connection, db, CHAT, persona, [line.row_id], **columns)


FORGOTTEN = "the person or the conversation was forgotten while this was being stored"


def is_late(db: Database, persona: str, message: NewMessage, row_id: int) -> bool:
    """Return whether the speaker, the answered person or the conversation was forgotten after `row_id` was made."""
    people = (message.participant, message.triggered_by)
    return tombstones.is_late(db, persona, row_id, people=people, conversation=message.conversation)
