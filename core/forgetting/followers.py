"""A message changed or deleted with everything made of it, in one transaction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..access import table_conversations
from ..access.view import Viewer
from ..calls.call import Call
from ..conversations import memory_files
from ..database import rows
from ..database.sources import CHAT
from ..memories import instructions, shown_texts, table_instructions
from ..messages import table_changes, table_story_rows
from ..shapes import WriteResult
from ..text.folding import fold
from . import table, table_followers
from .table_rows import Removal

if TYPE_CHECKING:
    from sqlalchemy import Connection

SCENE_GONE = "the scene that ended with the message is deleted, with every version of its recap"
"""Note of a deletion."""
NO_MESSAGE = WriteResult(False, None, "unchanged", notes=("there is no such message",))
_Work = Callable[[Removal, Any], WriteResult]


def delete_message(call: Call, viewer: Viewer, conversation: str, row_id: int) -> WriteResult:
    """Delete a visible message with what was made of it; `unchanged` where there is none."""

    def work(removal: Removal, row: Any) -> WriteResult:
        scenes = table_story_rows.delete_rows(removal.connection, call.persona, [row_id])
        table_followers.change_followers(removal, row, None)
        removal.delete_rows(CHAT, [row_id])
        table_followers.drop_summaries(removal, row)
        return WriteResult(True, row_id, notes=(SCENE_GONE,) if scenes else ())

    return _change(call, viewer, conversation, row_id, work)


def edit_message(call: Call, viewer: Viewer, conversation: str, row_id: int, text: str) -> WriteResult:
    """Give a visible message another text, and bring what was made of it in step."""
    rows.check_size(fold(text), "message_text in its folded form")
    flags = call.settings

    def work(removal: Removal, row: Any) -> WriteResult:
        connection, db, persona = removal.connection, removal.db, removal.persona
        if table_changes.is_private(connection, persona, row, flags.privacy_default):
            return WriteResult(False, row_id, "privacy")
        if row.message_text == text:
            return WriteResult(False, row_id, "unchanged")
        table_followers.change_followers(removal, row, text)
        table_changes.rewrite_message(connection, db, persona, row, text)
        table_story_rows.mark_changed(
            connection, db, persona, conversation, row_id, text, role=row.role, queues=flags.recap_on_message
        )
        table_followers.drop_summaries(removal, row)
        _recognise_instructions(call, removal, row, text)
        removal.counts[CHAT.table.name] += 1
        return WriteResult(True, row_id)

    return _change(call, viewer, conversation, row_id, work)


def _recognise_instructions(call: Call, removal: Removal, row: Any, text: str) -> None:
    """Store the instructions of the message as it reads now, as if it had been said so when it was."""
    recognised = instructions.read_instructions(text, call.settings, role=row.role, excluded=bool(row.excluded))
    if not recognised:
        return
    facts = table_conversations.find(removal.connection, removal.persona, row.interface_path)
    place = table_conversations.Place(row.audience_id, facts is not None and facts.local_only)
    whose = replace(call.scope, conversation=row.interface_path, participant=row.participant_key)
    table_instructions.record_instructions(
        removal.connection,
        removal.db,
        whose,
        place,
        [
            table_instructions.build_instruction(instruction, at=row.timestamp, sources=[row.id], quarantined=flagged)
            for instruction, flagged in recognised
        ],
        privacy_default=call.settings.privacy_default,
    )


def _change(call: Call, viewer: Viewer, conversation: str, row_id: int, work: _Work) -> WriteResult:
    """Do the work on a message that is held, settle what many rows share, and what is kept elsewhere."""
    db, persona = call.db, call.persona

    def run(connection: Connection) -> tuple[WriteResult, Removal]:
        removal = Removal(connection, db, persona)
        table.lock_conversations(removal, [conversation])
        row = table_changes.hold_message(connection, persona, row_id)
        if row is None or not _is_seen(connection, viewer, persona, conversation, row.audience_id):
            return NO_MESSAGE, removal
        result = work(removal, row)
        if result.stored:
            table.finish(removal)
        return result, removal

    result, removal = db.idempotent_transaction(run, source="chat_history_cache")
    if result.stored:
        shown_texts.forget_turns(db, persona)
        if removal.counts["memories"] or removal.counts["conversation_summaries"]:
            for folder in memory_files.find_folders(db, call.settings):
                memory_files.rewrite_folder(folder, db, call.settings, persona)
    return result


def _is_seen(connection: Connection, viewer: Viewer, persona: str, conversation: str, audience_id: int) -> bool:
    """Return whether a message is one's own conversation's, or one that a search shows here."""
    if audience_id not in viewer.audiences:
        return False
    if viewer.sees_local_only or viewer.scope.conversation == conversation:
        return True
    facts = table_conversations.find(connection, persona, conversation)
    return facts is None or not facts.local_only
