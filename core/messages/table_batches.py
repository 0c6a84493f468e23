"""Many messages at once: an import, in parts of PART messages, one transaction each.

Each part refuses what `messages.table` refuses of a single message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import TypeVar

from sqlalchemy import Connection

from ..audience import table_conversations as conversations
from ..audience import table_participants as participants
from ..database.bulk import chunks
from ..database.engine import Database
from ..scope import Privacy, Scope
from ..shapes import WriteResult
from ..wishes.table import Holding
from . import table as chat
from .new_message import NewMessage
from .table_seen import Seen

T = TypeVar("T")
"""What lies beside a message in a file: known to who writes it alone."""

WriteBeside = Callable[[Connection, Database, str, Sequence[tuple[int, str, T]]], None]
"""Stores what lies beside messages, each `(row id, conversation, what)` of a persona, in the messages' transaction."""

PART = 500
"""Messages stored in one transaction."""


class _LateError(Exception):
    """Ends a transaction in which somebody is written down who has just been forgotten."""


def insert_many(
    db: Database,
    scope: Scope,
    messages: Sequence[NewMessage],
    *,
    privacy_default: str,
    privacy: Mapping[str, Privacy] | None = None,
    beside: Sequence[T] = (),
    write_beside: WriteBeside[T] | None = None,
    wishes: Sequence[chat.Wishes] = (),
) -> list[WriteResult]:
    """Store messages of any conversations, and return for each what became of it, in the order given.

    Parts of PART messages are stored whole or not at all; each answers as `insert` would, one message after the other.

    Args:
        privacy: conversation key to what is known of its privacy; without it the scope and the ids decide.
        beside: what lies beside each message, in the order of `messages`, of those that are new stored by
            `write_beside`.
        wishes: what each message wishes, likewise.

    Raises:
        StoreWriteError: the part at hand was not stored; the parts before it were.
    """
    results: list[WriteResult] = []
    for part in chunks(messages, PART):
        ids = db.ids.take(len(part))
        these = slice(len(results), len(results) + len(part))
        results += _insert_part(
            db, scope, part, ids, privacy_default, privacy or {}, beside[these], write_beside, wishes[these]
        )
    return results


def _insert_part(
    db: Database,
    scope: Scope,
    part: Sequence[NewMessage],
    ids: Sequence[int],
    privacy_default: str,
    privacy: Mapping[str, Privacy],
    beside: Sequence[T],
    write_beside: WriteBeside[T] | None,
    wishes: Sequence[chat.Wishes],
) -> list[WriteResult]:
    done: dict[int, WriteResult] = {}

    def work(connection: Connection) -> list[WriteResult]:
        done.clear()
        persona = scope.persona
        names = {name for m in part for name in (m.participant, m.triggered_by) if name}
        levels = participants.known(connection, persona, names, privacy_default)
        ready: list[tuple[int, NewMessage, conversations.Place]] = []
        for at, message in enumerate(part):
            concerned = {name: levels[name] for name in (message.participant, message.triggered_by) if name}
            late = chat.is_late(db, persona, message, ids[at])
            if late or chat.is_private(message, concerned, privacy_default):
                notes = (*message.notes, chat.FORGOTTEN) if late else message.notes
                done[at] = WriteResult(False, None, "privacy", notes=notes)
        order = sorted((m.conversation, at) for at, m in enumerate(part) if at not in done)
        for key, group in groupby(order, key=lambda pair: pair[0]):
            places = [at for _, at in group]
            own = chat.scope_of(scope, key, privacy.get(key))
            ready += _conversation_part(connection, db, own, part, ids, places, done)
        if any(chat.is_late(db, persona, message, row_id) for row_id, message, _ in ready):
            raise _LateError  # forgotten while this waited for a conversation: once more, without these
        spoke = {m.participant: m.sender_name for _, m, _ in ready if m.participant}
        participants.note_names(connection, db, persona, spoke, levels)
        chat.write(connection, db, persona, sorted(ready, key=lambda each: each[0]))
        if write_beside is not None:
            lies = dict(zip(ids, beside, strict=False))
            write_beside(connection, db, persona, [(i, m.conversation, lies[i]) for i, m, _ in ready if i in lies])
        wished = {row_id: some for row_id, some in zip(ids, wishes, strict=False) if some}
        holding: Holding = {}
        for row_id, message, place in ready:
            if row_id in wished:
                own = chat.scope_of(scope, message.conversation)
                chat.record(connection, db, own, place, row_id, message, wished[row_id], privacy_default, holding)
        return [done[at] for at in range(len(part))]

    def confirm(connection: Connection) -> list[WriteResult] | None:
        written = [r.id for r in done.values() if r.stored]
        there = written and connection.execute(chat.THERE, {"persona": scope.persona, "ids": written[:1]}).first()
        return [done[at] for at in range(len(part))] if there else None

    while True:
        try:
            return db.transaction(work, source="chat_history_cache", confirm=confirm)
        except _LateError:
            continue


def _conversation_part(
    connection: Connection,
    db: Database,
    scope: Scope,
    part: Sequence[NewMessage],
    ids: Sequence[int],
    places: Sequence[int],
    done: dict[int, WriteResult],
) -> list[tuple[int, NewMessage, conversations.Place]]:
    """Return the rows to write of one conversation, which is held from here on."""
    sender = next((part[at].participant for at in places if part[at].participant), None)
    title = next((part[at].title for at in reversed(places) if part[at].title), "")
    place = conversations.ensure(connection, db, scope, sender=sender, title=title)
    seen = Seen.read(connection, scope.persona, scope.conversation or "", [part[at] for at in places])
    ready = []
    for at in places:
        double = seen.double_of(part[at])
        if double is not None:
            is_own = double == ids[at]  # of the same part, whose commit ended after its answer was lost
            done[at] = WriteResult(is_own, double, "" if is_own else "duplicate", notes=part[at].notes)
            continue
        seen.note(part[at], ids[at])
        done[at] = WriteResult(True, ids[at], notes=part[at].notes)
        ready.append((ids[at], part[at], place))
    if ready:
        conversations.touch(connection, scope.persona, scope.conversation or "", max(m.at for _, m, _ in ready), title)
    return ready
