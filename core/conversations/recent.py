"""What `conversations` does with conversations that ended, apart from it.

An end is held by one durable operation; `conversations.handlers` does it in the background with the same steps
that `wait=True` takes here: gather the lines, make title and summary, store them if all they were made of still holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..audience import table_conversations as conversations
from ..audience.view import Request, Viewer
from ..audience.view_statement import look
from ..config import Settings
from ..database.engine import Database
from ..errors import MessageError
from ..jobs import table as jobs
from ..scope import Scope
from ..shapes import RecentConversation, WriteResult
from . import rules_summaries as rules
from . import summaries as summarising
from . import table_ended as ended
from . import table_summaries as summaries
from .rules_summaries import Line
from .summaries import End

if TYPE_CHECKING:
    from sqlalchemy import Connection


# Reporting an end


def add(db: Database, settings: Settings, scope: Scope, messages: Any, model: Any, *, wait: bool) -> WriteResult:
    """Report that the scope's conversation has ended; see `conversations.add_recent_conversation`."""
    if not settings.enable_recent_conversations:
        return WriteResult(False, None, "disabled")
    lines = None
    if messages is not None:
        lines = rules.newest(rules.read_messages(messages, scope.conversation, scope.participant))
    if lines == [] or (lines is None and not scope.conversation):
        return WriteResult(False, None, "empty")
    own_id = db.ids.one()

    def work(connection: Connection) -> End | WriteResult:
        if not _hold(connection, db, scope, make=lines is not None):
            return WriteResult(False, None, "empty")
        return _end(connection, db, settings, scope, lines, own_id, queue=not wait)

    # Run again after a commit whose answer was lost, it finds its own operation.
    found = db.transaction(work, source="memory_jobs", confirm=lambda _: None)
    return _finish(db, settings, scope, found, model, wait=wait)


def close(db: Database, settings: Settings, scope: Scope, conversation: Any, model: Any, *, wait: bool) -> WriteResult:
    """Close a conversation and report its end, in one transaction; see `conversations.close_conversation`."""
    given = conversation if conversation is not None else scope.conversation
    if given is None:
        raise MessageError("conversation is missing. Name the conversation that ends.", fields=("conversation",))
    key = conversations.check_key(given)
    own = replace(scope, conversation=key, privacy=scope.privacy if key == scope.conversation else None)
    own_id, now = db.ids.one(), db.clock()
    closed: list[End | WriteResult] = []

    def work(connection: Connection) -> End | WriteResult:
        closed.clear()
        known = _hold(connection, db, own, make=False)
        if not known or not ended.close(connection, own.persona, key, now):
            note = "it is closed already" if known else "there is no such conversation"
            return WriteResult(False, None, "unchanged", notes=(note,))
        if not settings.enable_recent_conversations:
            found: End | WriteResult = WriteResult(True, None, notes=("no summary: disabled",))
        else:
            found = _end(connection, db, settings, own, None, own_id, queue=not wait)
            if isinstance(found, WriteResult):
                found = WriteResult(True, found.id, notes=(f"no new summary: {found.reason}",))
        closed.append(found)
        return found

    def confirm(connection: Connection) -> End | WriteResult | None:
        is_ours = closed and ended.is_closed(connection, own.persona, key, now)
        return closed[0] if is_ours else None

    return _finish(db, settings, own, db.transaction(work, source="conversations", confirm=confirm), model, wait=wait)


def _hold(connection: Connection, db: Database, scope: Scope, *, make: bool) -> bool:
    """Hold the scope's conversation; one that is not known is made where messages of it were handed in."""
    if scope.conversation is None:
        return True
    if make:
        conversations.ensure(connection, db, scope, sender=scope.participant)
        return True
    return conversations.find(connection, scope.persona, scope.conversation, lock=True) is not None


def _end(
    connection: Connection,
    db: Database,
    settings: Settings,
    scope: Scope,
    lines: Sequence[Line] | None,
    own_id: int,
    *,
    queue: bool,
) -> End | WriteResult:
    """Return the end to be summarised, queued where asked, or why there is none: `empty`, `privacy`, `duplicate`."""
    if lines is None:
        found = _whole(connection, db, scope, own_id)
    else:
        found = _handed_in(connection, db, settings, scope, lines, own_id)
    if found is None:
        return WriteResult(False, None, "empty" if lines is None else "privacy")
    key = scope.conversation or ""
    there = summaries.find_end(connection, scope.persona, key, found.last)
    if there is None and key:
        payloads = ended.waiting(connection, scope.persona, key)
        there = next((p.get("summary") for p in payloads if p.get("last") == found.last), None)
    if there is not None and there != own_id:
        return WriteResult(False, there, "duplicate")
    if queue and there is None:
        _enqueue(connection, db, scope, found)
    return found


def _whole(connection: Connection, db: Database, scope: Scope, own_id: int) -> End | None:
    """Return the end of a conversation as it is stored, None where nothing was said in it."""
    last = ended.last_line(connection, scope.persona, scope.conversation or "")
    return None if last is None else End(own_id, rules.end_number(last), last.at or db.clock())


def _handed_in(
    connection: Connection, db: Database, settings: Settings, scope: Scope, lines: Sequence[Line], own_id: int
) -> End | None:
    """Return the end of messages handed in, None where nothing of them may be kept."""
    now = db.clock()
    rows: list[int | None] = [None] * len(lines)
    if scope.conversation:
        rows = ended.stored_rows(connection, scope, lines, now)
    placed = [replace(line, row_id=row) for line, row in zip(lines, rows, strict=True)]
    unstored = [line for line in placed if line.row_id is None]
    open_to = {id(line) for line in summarising.allowed(connection, scope.persona, unstored, settings.privacy_default)}
    placed = [line for line in placed if line.row_id is not None or id(line) in open_to]
    if not placed:
        return None
    texts = tuple(line for line in placed if line.row_id is None)
    at = placed[-1].at or now
    return End(own_id, rules.end_number(placed[-1]), at, tuple(line.row_id for line in placed), texts)


def _enqueue(connection: Connection, db: Database, scope: Scope, end: End) -> None:
    jobs.enqueue(
        connection,
        db,
        scope.persona,
        ended.OPERATION,
        payload=end.payload(),
        conversation=scope.conversation,
        participant=scope.participant,
        now=db.clock(),
    )


def _finish(
    db: Database, settings: Settings, scope: Scope, found: End | WriteResult, model: Any, *, wait: bool
) -> WriteResult:
    if isinstance(found, WriteResult):
        return found
    if not wait:
        if model is not None:
            summarising.keep_model(db, found.id, model)
        return WriteResult(True, found.id)
    lines = summarising.gather(db, settings, scope, found)
    if not lines:
        return WriteResult(False, None, "privacy")
    made = summarising.make(settings, lines, summarising.ask_whom(db, settings, scope, model))

    def work(connection: Connection) -> WriteResult:
        return summarising.store(connection, db, settings, scope, found, lines, made)

    return db.transaction(work, source="conversation_summaries", confirm=lambda _: None)


# Reading


def viewer_of(db: Database, settings: Settings, scope: Scope) -> Viewer:
    """Return what the scope may see.

    Raises:
        StoreReadError: it could not be worked out.
    """
    destination = scope.destination or settings.prompt_destination
    return look(
        db,
        scope,
        Request(bare=True),
        destination=destination,
        private_stays_private=settings.private_stays_private,
    ).viewer


def listed(db: Database, settings: Settings, viewer: Viewer, *, former: bool = False) -> list[RecentConversation]:
    """Return the visible conversations of the list, oldest first."""
    found = summaries.listed(
        db,
        viewer.scope.persona,
        viewer.audiences,
        most=settings.max_recent_conversations,
        local=viewer.sees_local_only,
        former=former,
    )
    return [
        {
            "id": one.id,
            "title": one.title,
            "time": rules.shown_time(one.at, settings.timezone),
            "summary": one.summary,
            "conversation": one.conversation,
            "provenance": one.provenance,
            "former": one.archived_at is not None,
        }
        for one in found
    ]
