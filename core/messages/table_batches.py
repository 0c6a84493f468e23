"""Stores many messages, for instance of an import, with PART messages per transaction."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection

from ..access import table_conversations, table_participants
from ..database import rows
from ..database.compiled import chunks
from ..database.dialects import microseconds
from ..database.engine import Database, RollbackError
from ..database.ids import retry_duplicates
from ..database.schema import chat_history_cache
from ..memories import table_instructions
from ..memories.table_instructions import Holding
from ..scope import Privacy, Scope
from ..shapes import WriteReason, WriteResult
from . import table as messages_table
from . import table_lines
from .new_message import SAME_WITHIN, NewMessage

WriteBeside = Callable[[Connection, Database, str, Sequence[tuple[int, str, Any]]], None]
"""Stores the `beside` data of a persona's messages, each as (row id, conversation, data), in their transaction."""

PART = 500

Ready = tuple[int, NewMessage, table_conversations.AudienceRow]
_SAME_US = 5_000_000
_Said = tuple[bytes, str, str]


def insert_messages(
    db: Database,
    scope: Scope,
    messages: Sequence[NewMessage],
    *,
    privacy_default: str,
    privacy: Mapping[str, Privacy] | None = None,
    write_beside: WriteBeside | None = None,
) -> list[WriteResult]:
    """Store messages of any conversations; return their results in the order given."""
    results: list[WriteResult] = []
    for part in chunks(messages, PART):
        results += _insert_part(db, scope, part, privacy_default, privacy or {}, write_beside)
    return results


@retry_duplicates
def _insert_part(
    db: Database,
    scope: Scope,
    part: Sequence[NewMessage],
    privacy_default: str,
    privacy: Mapping[str, Privacy],
    write_beside: WriteBeside | None,
) -> list[WriteResult]:
    persona, by_id = scope.persona, dict(zip(db.ids.take(len(part)), part, strict=True))

    def work(connection: Connection) -> list[WriteResult] | None:
        outcomes: dict[int, WriteResult] = {}
        names = {name for m in part for name in (m.participant, m.triggered_by) if name}
        levels = table_participants.known(connection, persona, names, privacy_default)
        for row_id, message in by_id.items():
            concerned = {name: levels[name] for name in (message.participant, message.triggered_by) if name}
            late = messages_table.is_late(db, persona, message, row_id)
            if late or messages_table.is_private(message, concerned, privacy_default):
                notes = (*message.notes, messages_table.FORGOTTEN) if late else message.notes
                outcomes[row_id] = WriteResult(False, None, "privacy", notes=notes)
        ready: list[Ready] = []
        kept = sorted((m.conversation, row_id) for row_id, m in by_id.items() if row_id not in outcomes)
        for key, group in groupby(kept, key=lambda pair: pair[0]):
            own = messages_table.build_scope(scope, key, privacy.get(key))
            ready += _hold_conversation(connection, db, own, {row_id: by_id[row_id] for _, row_id in group}, outcomes)
        is_changed = table_participants.known(connection, persona, names, privacy_default) != levels
        if is_changed or any(messages_table.is_late(db, persona, message, row_id) for row_id, message, _ in ready):
            raise RollbackError(None)  # a level changed or a row was forgotten meanwhile: try again
        by_time = sorted((m for _, m, _ in ready), key=lambda m: (bool(m.sender_name), m.at))
        spoke = {m.participant: m.sender_name for m in by_time if m.participant}
        table_participants.note_names(connection, db, persona, spoke, levels)
        messages_table.write_rows(connection, db, persona, sorted(ready, key=lambda each: each[0]), privacy_default)
        if write_beside is not None:
            write_beside(connection, db, persona, [(row_id, m.conversation, m.beside) for row_id, m, _ in ready])
        holding: Holding = {}
        for row_id, message, place in ready:
            if message.instructions:
                own = replace(messages_table.build_scope(scope, message.conversation), participant=message.participant)
                table_instructions.record_instructions(
                    connection, db, own, place, message.instructions, at=message.at, sources=[row_id],
                    privacy_default=privacy_default, holding=holding,
                )  # fmt: skip
        return [outcomes[row_id] for row_id in by_id]

    confirm = rows.check_stored(chat_history_cache, persona, list(by_id))
    while (results := db.transaction(work, source="chat_history_cache", confirm=confirm)) is None:
        continue
    return results


def _hold_conversation(
    connection: Connection, db: Database, scope: Scope, by_id: Mapping[int, NewMessage], results: dict[int, WriteResult]
) -> list[Ready]:
    """Lock a conversation and return the messages to store; put the results of all other messages into `results`."""
    batch, persona, key = list(by_id.values()), scope.persona, scope.conversation or ""
    said = [message for message in batch if message.is_of_somebody]
    sender = next((message.participant for message in said if message.participant), "" if said else None)
    title = next((message.title for message in reversed(batch) if message.title), "")
    place = table_conversations.ensure(connection, db, scope, sender=sender, title=title, is_greeting=sender is None)
    seen = Seen(connection, persona, key, batch)
    ready: list[Ready] = []
    for row_id, message in by_id.items():
        double = seen.double_of(message)
        is_own = double == row_id  # the same part was stored already: its commit ended after its answer was lost
        if double is None:
            seen.note(message, row_id)
            ready.append((row_id, message, place))
        reason: WriteReason = "" if double is None or is_own else "duplicate"
        results[row_id] = WriteResult(not reason, row_id if double is None else double, reason, notes=message.notes)
    if ready:
        table_conversations.touch(connection, persona, key, max(m.at for _, m, _ in ready), title)
    return ready


class Seen:
    """The messages of one conversation that are stored or about to be stored, to find duplicates."""

    def __init__(self, connection: Connection, persona: str, conversation: str, batch: Sequence[NewMessage]) -> None:
        here = connection.execute, persona, conversation
        named = table_lines.read_by_ids(*here, (m.message_id for m in batch if m.message_id is not None))
        self._ids = {message_id: line.row_id for message_id, line in named.items()}
        self._said: dict[_Said, list[tuple[int, int, bool]]] = {}
        """Messages by (text, sender), each as (time, row id, whether it has a platform id), in order of time."""
        span = min(m.at for m in batch) - SAME_WITHIN, max(m.at for m in batch) + SAME_WITHIN
        for line in table_lines.read_said(*here, (m.digest for m in batch), *span):
            said = (line.digest, line.sender_id, "" if line.sender_id else line.sender_name)
            self._keep(said, microseconds(line.at), line.row_id, line.message_id)

    def _keep(self, said: _Said, at: int, row_id: int, message_id: str | None) -> None:
        insort(self._said.setdefault(said, []), (at, row_id, message_id is not None))

    def note(self, message: NewMessage, row_id: int) -> None:
        if message.message_id is not None:
            self._ids[message.message_id] = row_id
        self._keep((message.digest, *message.sender), microseconds(message.at), row_id, message.message_id)

    def double_of(self, message: NewMessage) -> int | None:
        """Return the row id of the newest equal message: equal ids, or if an id is missing, sender, text and time."""
        if message.message_id is not None and message.message_id in self._ids:
            return self._ids[message.message_id]
        at = microseconds(message.at)
        said = self._said.get((message.digest, *message.sender), [])
        first = bisect_right(said, at - _SAME_US, key=itemgetter(0))
        end = bisect_left(said, at + _SAME_US, key=itemgetter(0))
        own = message.message_id is not None
        return next((row_id for _, row_id, has_id in reversed(said[first:end]) if not (own and has_id)), None)
