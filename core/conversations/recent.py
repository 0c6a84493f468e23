"""Recent conversations: report the end of a conversation, make its title and summary, and list conversations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, Unpack

from .. import llm
from ..access import table_conversations, table_participants
from ..access.rules import check_key, plain_key
from ..access.view import Viewer
from ..base import logs
from ..calls.call import Call, CallOptions, find_key, load_viewer, open_call
from ..database.engine import Connection
from ..errors import MessageError, ModelError, StoreWriteError
from ..jobs import table as jobs_table
from ..jobs.handlers import Effect, Tools, operation_call
from ..jobs.rules import UNREADABLE_ANSWER
from ..messages import table_lines
from ..shapes import Line, Operation, RecentConversation, WriteResult
from ..templates.render import Renderer
from ..templates.words import refused_patterns
from ..text.times import parse_time
from . import memory_files, rules_summaries, table_summaries
from .rules_summaries import Summary
from .table_summaries import NewSummary

MODEL_TRIES = 3
"""Maximum number of tries with a failing model; after the last one the extract is stored."""
_HANDED_IN = ("text", "sender_name", "participant", "triggered_by", "role")
"""Fields of a message passed in that the operation's payload keeps if the message is not stored."""


@dataclass(frozen=True, slots=True)
class End:
    """The end of a conversation that a host reported."""

    id: int
    """Id of the summary."""
    last: int
    """Number that identifies the end, from `rules_summaries.number_end`."""
    at: datetime
    rows: tuple[int | None, ...] | None = None
    """Row id of each message that the host passed in, None if unstored. No tuple means all stored up to `last`."""
    texts: tuple[Line, ...] = ()
    """Messages that the host passed in and that are not stored, in order."""

    def payload(self) -> dict[str, Any]:
        """Return the payload of the operation: ids, and under `texts` the unstored messages."""
        payload: dict[str, Any] = {"summary": self.id, "last": self.last, "at": self.at.isoformat()}
        if self.rows is not None:
            payload["rows"] = list(self.rows)
        if self.texts:  # an operation with texts cannot be done again after its end
            payload["texts"] = [{name: asdict(line)[name] for name in _HANDED_IN} for line in self.texts]
        return payload


def read_end(payload: Mapping[str, Any], now: datetime) -> End | None:
    """Parse the end described by an operation's payload; None if the payload is invalid."""
    summary_id, last, rows = (payload.get(name) for name in ("summary", "last", "rows"))
    if not isinstance(summary_id, int) or not isinstance(last, int):
        return None
    texts = tuple(Line(**each) for each in payload.get("texts") or ())
    return End(summary_id, last, parse_time(payload.get("at")) or now, None if rows is None else tuple(rows), texts)


def add_recent_conversation(
    messages: Any = None, model: Any = None, *, wait: bool = False, **options: Unpack[CallOptions]
) -> WriteResult:
    """Report that the scope's conversation has ended; its title and summary are added to the recent conversations.

    The call returns once an operation CONVERSATION_SUMMARY is stored; a worker makes the summary.

    Args:
        messages: messages of the conversation, oldest first: texts, live messages as in `context_memory`, or `{role,
            content}`. None uses the stored messages of the scope's conversation.
        model: model to ask if `wait` is set; a worker asks its own. Without a model, title and summary are extracts.
        wait: make the summary in the call.

    Returns:
        `(True, id, "")` with the id that the summary has or will have; else reason `disabled`, `empty`, `privacy`, or
        `duplicate` with the id of an earlier summary up to the same message.

    Raises:
        TypeError: `messages` is not a list.
    """
    call = open_call(**options)
    if not call.settings.enable_recent_conversations:
        return WriteResult(False, None, "disabled")
    # 1. the messages handed in, if any
    own, lines = call.scope, None
    if messages is not None:
        lines = rules_summaries.keep_newest(rules_summaries.read_messages(messages, own.conversation, own.participant))
    if lines == [] or (lines is None and not own.conversation):
        return WriteResult(False, None, "empty")
    summary_id = call.db.ids.one()

    # 2. the end, queued unless the call waits for it
    def work(connection: Connection) -> End | WriteResult:
        key = own.conversation
        if key and lines is not None:
            table_conversations.ensure(connection, call.db, own, sender=own.participant)
        elif key and table_conversations.find(connection, own.persona, key, lock=True) is None:
            return WriteResult(False, None, "empty")
        return _report_end(connection, call, lines, summary_id, queue=not wait)

    # if the transaction runs again after a lost commit answer, it finds its own operation
    end = call.db.idempotent_transaction(work, source="memory_jobs")
    # 3. the summary, if the call waits for it
    return _finish_report(call, end, model, wait=wait)


def close_conversation(
    conversation: str | None = None, model: Any = None, *, wait: bool = False, **options: Unpack[CallOptions]
) -> WriteResult:
    """Mark a conversation closed and report its end, in one transaction; its next message opens it again.

    Args:
        conversation: its key; None for the scope's.
        model, wait: as for `add_recent_conversation`.

    Returns:
        `(True, id of the summary, "")`. If there is nothing to summarise, the id is None and a note says why.
        Reason `unchanged` if the conversation is unknown or already closed.
    """
    # 1. which conversation
    call = open_call(**options)
    given = conversation if conversation is not None else call.scope.conversation
    if given is None:
        raise MessageError("conversation is missing. Name the conversation that ends.", fields=("conversation",))
    key = check_key(find_key(call, given))
    privacy = call.scope.privacy if key == call.scope.conversation else None
    call = replace(call, scope=replace(call.scope, conversation=key, privacy=privacy))
    summary_id, now = call.db.ids.one(), call.db.clock()

    # 2. closed and reported at once; run again after a lost commit answer, it finds its own change
    def work(connection: Connection) -> End | WriteResult:
        is_there = table_conversations.find(connection, call.persona, key, lock=True) is not None
        if not is_there or not table_summaries.close_conversation(connection, call.persona, key, now):
            note = "it is closed already" if is_there else "there is no such conversation"
            return WriteResult(False, None, "unchanged", notes=(note,))
        if not call.settings.enable_recent_conversations:
            return WriteResult(True, None, notes=("no summary: disabled",))
        end = _report_end(connection, call, None, summary_id, queue=not wait)
        if isinstance(end, WriteResult):
            return WriteResult(True, end.id, notes=(f"no new summary: {end.reason}",))
        return end

    end = call.db.idempotent_transaction(work, source="conversations")
    # 3. the summary, if the call waits for it
    return _finish_report(call, end, model, wait=wait)


def _report_end(
    connection: Connection, call: Call, lines: Sequence[Line] | None, summary_id: int, *, queue: bool
) -> End | WriteResult:
    """Return the reported end, or a result with reason empty, privacy or duplicate; with `queue`, queue the summary."""
    scope = call.scope
    key = scope.conversation or ""
    end = None
    if lines is not None:
        end = _build_end(connection, call, lines, summary_id)
    elif last := table_summaries.find_last_line(connection, scope.persona, key):  # the stored conversation
        end = End(summary_id, rules_summaries.number_end(last), last.at or call.db.clock())
    if end is None:
        return WriteResult(False, None, "empty" if lines is None else "privacy")
    same_id = table_summaries.find_end(connection, scope.persona, key, end.last)
    if same_id is None and key:
        waiting = jobs_table.read_open(connection.execute, scope.persona, table_summaries.OPERATION, key)
        same_id = next((p.get("summary") for p in waiting.values() if p.get("last") == end.last), None)
    if same_id is not None and same_id != summary_id:
        return WriteResult(False, same_id, "duplicate")
    if queue and same_id is None:
        jobs_table.enqueue(
            connection, call.db, scope.persona, table_summaries.OPERATION, payload=end.payload(),
            conversation=scope.conversation, participant=scope.participant,
        )  # fmt: skip
    return end


def _build_end(connection: Connection, call: Call, lines: Sequence[Line], summary_id: int) -> End | None:
    """Build the end of a conversation from messages that the host passed in; None if no message may be stored."""
    now, placed = call.db.clock(), list(lines)
    if call.scope.conversation:
        rows = table_summaries.find_stored_rows(connection, call.scope, lines, now)
        placed = [replace(line, row_id=row or 0) for line, row in zip(lines, rows, strict=True)]
    placed = table_participants.keep_allowed(connection, call.persona, placed, call.settings.privacy_default)
    if not placed:
        return None
    texts = tuple(rules_summaries.cut(line) for line in placed if not line.row_id)
    number = rules_summaries.number_end(placed[-1])
    return End(summary_id, number, placed[-1].at or now, tuple(line.row_id or None for line in placed), texts)


def _finish_report(call: Call, end: End | WriteResult, model: Any, *, wait: bool) -> WriteResult:
    """Make the summary if the call waits for it; return the result of reporting an end."""
    if isinstance(end, WriteResult):
        return end
    if not wait:
        return WriteResult(True, end.id)
    lines = gather_lines(call, end)
    if not lines:
        return WriteResult(False, None, "privacy")
    summary = make_summary(call, lines, choose_model(call, model))
    work = partial(store_summary, call=call, end=end, lines=lines, summary=summary)
    stored: WriteResult = call.db.idempotent_transaction(work, source="conversation_summaries")
    memory_files.write_files(call)
    return stored


def gather_lines(call: Call, end: End) -> list[Line]:
    """Return the messages to summarise, oldest first; [] if no message may be read any more."""
    db, persona, key = call.db, call.persona, call.scope.conversation or ""
    if end.rows is None:
        lines = table_summaries.read_lines_up_to(db, persona, key, end.last, end.at)
    else:
        stored = {line.row_id: line for line in table_lines.read_lines(db.read, persona, list(filter(None, end.rows)))}
        texts = iter(end.texts)
        handed_in = [next(texts, None) if row is None else stored.get(row) for row in end.rows]
        lines = [line for line in handed_in if line is not None and line.text and line.conversation in ("", key)]
    with db.connection(source="participants") as connection:
        lines = table_participants.keep_allowed(connection, persona, lines, call.settings.privacy_default)
    return rules_summaries.keep_newest(lines)


def choose_model(call: Call, model: Any) -> Any:
    """Return the model to ask; None without a model, or if the model is remote and the conversation must stay local."""
    asked = llm.resolve(model, call.settings, call.db)
    if asked is None or call.destination == "local" or not call.scope.conversation:
        return asked
    with call.db.connection(source="conversations") as connection:
        facts = table_conversations.find(connection, call.persona, call.scope.conversation)
    return None if facts is not None and facts.local_only else asked


def make_summary(call: Call, lines: Sequence[Line], model: Any, *, retry: bool = False, waits: bool = False) -> Summary:
    """Return the model's title and summary, else an extract; `waits` raises a refused key, `retry` other failures."""
    lines = list(map(rules_summaries.cut, lines))
    if model is None:
        return rules_summaries.extract_summary(lines)
    messages = rules_summaries.show_lines(lines)
    question = Renderer(call.settings.templates_dir).text("conversation_summary.txt.j2", messages=messages)
    try:
        reply = llm.ask(model, [{"role": "user", "content": question}], call.settings)
    except ModelError as error:
        if waits if error.reason == "auth" else retry:
            raise
        logs.warning("conversation_summary_without_model", reason=error.reason, error=error.error)
        return rules_summaries.build_substitute(lines)
    return rules_summaries.read_reply(reply, lines, patterns=refused_patterns(call.settings.templates_dir))


def store_summary(connection: Connection, call: Call, end: End, lines: Sequence[Line], summary: Summary) -> WriteResult:
    """Store a summary in the caller's transaction; store an extract if some messages may no longer be kept."""
    persona, key = call.persona, call.scope.conversation
    place = table_summaries.find_place(connection, call)
    if place is None:
        return WriteResult(False, None, "unchanged", notes=("the conversation is gone",))
    if not table_lines.are_as_read(connection, persona, lines):
        text = "A message was changed or removed while its conversation was summarised."
        raise StoreWriteError(text, source="chat_history_cache")
    allowed = table_participants.keep_allowed(connection, persona, lines, call.settings.privacy_default)
    if not allowed:
        return WriteResult(False, None, "privacy")
    if len(allowed) < len(lines):
        summary = rules_summaries.extract_summary(allowed)
    new = NewSummary(end.id, key or "", summary.title, summary.text, end.at, end.last, summary.provenance)
    return table_summaries.enlist_summary(connection, call, place, new)


def summary(operation: Operation, tools: Tools) -> Effect | None:
    """Return the effect that stores title and summary of an ended conversation; None if no message is left."""
    call = operation_call(operation, tools)
    end = read_end(operation.payload, tools.now)
    if end is None or not call.settings.enable_recent_conversations:
        return None
    lines = gather_lines(call, end)
    if not lines:
        return None
    asked = choose_model(call, tools.model)
    # a failed operation loses its texts
    text = make_summary(call, lines, asked, retry=operation.tries < MODEL_TRIES, waits=not end.texts)
    if asked is not None and text.provenance != "model":
        tools.notes.append(UNREADABLE_ANSWER)

    def effect(connection: Connection) -> None:
        store_summary(connection, call, end, lines, text)

    return effect


def follow_summary(operation: Operation, tools: Tools) -> None:
    memory_files.write_files(operation_call(operation, tools))


def list_recent_conversations(**options: Unpack[CallOptions]) -> list[RecentConversation]:
    """Return the ended conversations that the scope sees, MAX_RECENT_CONVERSATIONS of each audience, oldest first."""
    call = open_call(**options)
    return read_recent(call, load_viewer(call))


def read_recent(call: Call, viewer: Viewer) -> list[RecentConversation]:
    return [
        {
            "id": one.id,
            "title": one.title,
            "time": rules_summaries.format_time(one.at, call.settings.timezone),
            "summary": one.summary,
            "conversation": plain_key(one.conversation),
            "provenance": one.provenance,
        }
        for one in table_summaries.read_summaries(call, viewer)
    ]
