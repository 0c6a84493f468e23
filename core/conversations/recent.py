"""Recent conversations: reporting that one has ended, and the list of those that have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..access import table_conversations
from ..access.view import Viewer
from ..calls.call import Call, GivenSettings, find_key, load_access, open_call
from ..database.engine import Connection, Database
from ..errors import MessageError
from ..jobs import table as jobs_table
from ..scope import Scope
from ..shapes import RecentConversation, WriteResult
from . import memory_files, rules_summaries, summaries, table_summaries
from .rules_summaries import Line
from .summaries import End

# Reporting an end


def add_recent_conversation(
    messages: Any = None,
    model: Any = None,
    *,
    wait: bool = False,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Report that the scope's conversation has ended, so that title and summary of it join the list.

    It returns as soon as an operation CONVERSATION_SUMMARY is stored; whoever runs `jobs` makes the summary.

    Args:
        messages: what was said, oldest first: texts, live messages as in `context_memory`, or `{role, content}`. None:
            the stored messages of the scope's conversation.
        model: asked for title and summary by this process; other processes ask theirs. Without any, an extract.
        wait: make the summary in the call.

    Returns:
        `(True, id, "")` with the id the summary has or will have; else `disabled`, `empty`, `privacy`, or `duplicate`
        with the id of the summary of the same end.

    Raises:
        TypeError: `messages` is no list.
        StoreWriteError: nothing was stored.

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.conversations import add_recent_conversation, list_recent_conversations
    >>> db, scope = open_database("sqlite://"), Scope("iris", "tg/42", "tg/7")
    >>> add_recent_conversation(["We fly to Rome on Friday."], wait=True, db=db, scope=scope).stored
    True
    >>> [one["summary"] for one in list_recent_conversations(db=db, scope=scope)]
    ['We fly to Rome on Friday.']
    >>> db.close()
    """
    call = open_call(db, settings, scope)
    if not call.settings.enable_recent_conversations:
        return WriteResult(False, None, "disabled")
    # 1. the messages handed in, if any
    own, lines = call.scope, None
    if messages is not None:
        lines = rules_summaries.keep_newest(rules_summaries.read_messages(messages, own.conversation, own.participant))
    if lines == [] or (lines is None and not own.conversation):
        return WriteResult(False, None, "empty")
    summary_id = call.db.ids.one()

    # 2. the end they make, queued unless it is waited for
    def work(connection: Connection) -> End | WriteResult:
        if not _hold_conversation(connection, call, make=lines is not None):
            return WriteResult(False, None, "empty")
        return _report_end(connection, call, lines, summary_id, queue=not wait)

    # Run again after a commit whose answer was lost, it finds its own operation.
    end = call.db.idempotent_transaction(work, source="memory_jobs")
    # 3. its summary, where it is waited for
    return _finish_report(call, end, model, wait=wait)


def close_conversation(
    conversation: str | None = None,
    model: Any = None,
    *,
    wait: bool = False,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Mark a conversation closed and report its end, in one transaction; its next message opens it again.

    Args:
        conversation: its key; None for the scope's.
        model, wait: as for `add_recent_conversation`.

    Returns:
        `(True, id of the summary, "")`, the id None if there is nothing to summarise, with a note why; `unchanged`
        where it is not known or closed already.

    Raises:
        MessageError: no conversation is named, or its key does not fit.
        StoreWriteError: nothing was changed.

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.conversations import close_conversation
    >>> db = open_database("sqlite://")
    >>> close_conversation("tg/42", db=db, scope=Scope("iris")).notes
    ('there is no such conversation',)
    >>> db.close()
    """
    # 1. which conversation
    call = open_call(db, settings, scope)
    given = conversation if conversation is not None else call.scope.conversation
    if given is None:
        raise MessageError("conversation is missing. Name the conversation that ends.", fields=("conversation",))
    key = table_conversations.check_key(find_key(call, given))
    privacy = call.scope.privacy if key == call.scope.conversation else None
    call = replace(call, scope=replace(call.scope, conversation=key, privacy=privacy))
    summary_id, now = call.db.ids.one(), call.db.clock()
    ends: list[End | WriteResult] = []

    # 2. closed and reported at once
    def work(connection: Connection) -> End | WriteResult:
        ends.clear()
        is_there = _hold_conversation(connection, call, make=False)
        if not is_there or not table_summaries.close_conversation(connection, call.persona, key, now):
            note = "it is closed already" if is_there else "there is no such conversation"
            return WriteResult(False, None, "unchanged", notes=(note,))
        if not call.settings.enable_recent_conversations:
            end: End | WriteResult = WriteResult(True, None, notes=("no summary: disabled",))
        else:
            end = _report_end(connection, call, None, summary_id, queue=not wait)
            if isinstance(end, WriteResult):
                end = WriteResult(True, end.id, notes=(f"no new summary: {end.reason}",))
        ends.append(end)
        return end

    def verify_commit(connection: Connection) -> End | WriteResult | None:
        is_ours = ends and table_summaries.is_closed(connection, call.persona, key, now)
        return ends[0] if is_ours else None

    end = call.db.transaction(work, source="conversations", confirm=verify_commit)
    # 3. its summary, where it is waited for
    return _finish_report(call, end, model, wait=wait)


def _hold_conversation(connection: Connection, call: Call, *, make: bool) -> bool:
    """Hold the scope's conversation; one that is not known is made where messages of it were handed in."""
    scope = call.scope
    if scope.conversation is None:
        return True
    if make:
        table_conversations.ensure(connection, call.db, scope, sender=scope.participant)
        return True
    return table_conversations.find(connection, scope.persona, scope.conversation, lock=True) is not None


def _report_end(
    connection: Connection, call: Call, lines: Sequence[Line] | None, summary_id: int, *, queue: bool
) -> End | WriteResult:
    """Return the end to be summarised, queued where asked, or why there is none: `empty`, `privacy`, `duplicate`."""
    scope = call.scope
    key = scope.conversation or ""
    if lines is not None:
        end = _build_end(connection, call, lines, summary_id)
    else:  # the conversation as it is stored
        last = table_summaries.find_last_line(connection, scope.persona, key)
        number = rules_summaries.number_end(last) if last is not None else 0
        end = None if last is None else End(summary_id, number, last.at or call.db.clock())
    if end is None:
        return WriteResult(False, None, "empty" if lines is None else "privacy")
    same_id = table_summaries.find_end(connection, scope.persona, key, end.last)
    if same_id is None and key:
        payloads = table_summaries.read_waiting(connection, scope.persona, key)
        same_id = next((p.get("summary") for p in payloads if p.get("last") == end.last), None)
    if same_id is not None and same_id != summary_id:
        return WriteResult(False, same_id, "duplicate")
    if queue and same_id is None:
        jobs_table.enqueue(
            connection,
            call.db,
            scope.persona,
            table_summaries.OPERATION,
            payload=end.payload(),
            conversation=scope.conversation,
            participant=scope.participant,
            now=call.db.clock(),
        )
    return end


def _build_end(connection: Connection, call: Call, lines: Sequence[Line], summary_id: int) -> End | None:
    """Return the end of messages handed in, None if nothing of them may be kept."""
    now = call.db.clock()
    rows: list[int | None] = [None] * len(lines)
    if call.scope.conversation:
        rows = table_summaries.find_stored_rows(connection, call.scope, lines, now)
    placed = [replace(line, row_id=row) for line, row in zip(lines, rows, strict=True)]
    unstored = [line for line in placed if line.row_id is None]
    allowed = summaries.keep_allowed(connection, call.persona, unstored, call.settings.privacy_default)
    open_to = {id(line) for line in allowed}
    placed = [line for line in placed if line.row_id is not None or id(line) in open_to]
    if not placed:
        return None
    texts = tuple(line for line in placed if line.row_id is None)
    number = rules_summaries.number_end(placed[-1])
    return End(summary_id, number, placed[-1].at or now, tuple(line.row_id for line in placed), texts)


def _finish_report(call: Call, end: End | WriteResult, model: Any, *, wait: bool) -> WriteResult:
    """Return what became of an end, its summary made where it is waited for."""
    if isinstance(end, WriteResult):
        return end
    if not wait:
        if model is not None:
            summaries.keep_model(call.db, end.id, model)
        return WriteResult(True, end.id)
    lines = summaries.gather_lines(call, end)
    if not lines:
        return WriteResult(False, None, "privacy")
    summary = summaries.make_summary(call.settings, lines, summaries.choose_model(call, model))
    stored = call.db.idempotent_transaction(
        lambda connection: summaries.store_summary(connection, call, end, lines, summary),
        source="conversation_summaries",
    )
    memory_files.write_files(call)
    return stored


# The list


def list_recent_conversations(
    *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> list[RecentConversation]:
    """Return the conversations on the list that the scope may see, oldest first, ties by id.

    Returns:
        At most MAX_RECENT_CONVERSATIONS of each audience.

    Raises:
        StoreReadError: nothing could be read.

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.conversations import list_recent_conversations
    >>> db = open_database("sqlite://")
    >>> list_recent_conversations(db=db, scope=Scope("iris", "tg/42"))
    []
    >>> db.close()
    """
    call = open_call(db, settings, scope)
    return read_recent(call, load_access(call).viewer)


def read_recent(call: Call, viewer: Viewer) -> list[RecentConversation]:
    """Return the conversations on the list that the viewer sees, oldest first; see `list_recent_conversations`."""
    return [
        {
            "id": one.id,
            "title": one.title,
            "time": rules_summaries.format_time(one.at, call.settings.timezone),
            "summary": one.summary,
            "conversation": one.conversation,
            "provenance": one.provenance,
        }
        for one in table_summaries.read_summaries(call.db, viewer, most=call.settings.max_recent_conversations)
    ]
