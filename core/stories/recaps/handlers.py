"""The operation RECAP: the recap of one message by a model or as an extract."""

from __future__ import annotations

from typing import NamedTuple

from ...access import table_conversations
from ...calls import screening
from ...database.engine import Connection
from ...database.readers import reader_for, reader_in
from ...errors import ModelError
from ...jobs.tools import Effect, Tools
from ...messages import table_changes, table_lines, table_reading, table_recaps, table_story_rows
from ...messages.table_recaps import Recap
from ...shapes import Operation
from ...text.extracts import build_extract
from ...text.replies import is_unreadable
from ...text.sizes import to_json
from .. import model_calls
from ..model_calls import FLAGGED, reason_against
from . import inclusion, refresh

KEYS = ("recap", "memory", "summary")
"""Keys of a reply that may hold the text."""


class _Source(NamedTuple):
    """What a recap is made of."""

    conversation: str
    text: str
    speaker: str
    recap: Recap
    """The recap there is."""
    place: table_lines.StoryPlace
    several: bool = False
    """Whether several people speak in the conversation."""


def recap(operation: Operation, tools: Tools) -> Effect | None:
    """Return what stores the recap of the operation's message and refreshes its conversation."""
    source = _read_source(operation, tools)
    if source is None:
        return None
    tools = model_calls.choose_tools(tools, source.place)
    by_model = tools.model is not None
    text = _ask(operation, tools, source) if by_model else _extract(operation, tools, source)
    if text is None:
        return None
    persona, conversation, row_id = operation.persona, source.conversation, source.recap.row_id
    provenance = "model" if by_model else "extract"
    columns = inclusion.build_columns(text, provenance, inclusion.choose_counter(None, tools.settings))
    columns |= {"include": None, "edited": False}
    cleared = dict.fromkeys(("error", "reasoning", "prefill"))

    def effect(connection: Connection) -> None:
        table_conversations.find(connection, persona, conversation, lock=True)
        row = table_changes.hold_message(connection, persona, row_id)
        if row is None or table_changes.is_private(connection, persona, row, tools.settings.privacy_default):
            return
        if row.message_text != source.text:
            table_story_rows.queue_recap(connection, tools.db, persona, conversation, row_id)
            return
        now = table_recaps.find_recap(reader_in(connection), persona, row_id) or Recap(row_id)
        if now.memory != source.recap.memory and not now.stale:
            return  # somebody wrote it by hand meanwhile
        table_recaps.update_recap(
            connection, tools.db.family, persona, conversation, row_id, columns, cleared, now=tools.db.clock()
        )
        refresh.refresh_within(connection, persona, conversation, tools.settings)

    return effect


def _read_source(operation: Operation, tools: Tools) -> _Source | None:
    """Return what the recap is made of, None if there is nothing to do."""
    persona, conversation, row_id = operation.persona, operation.conversation, _find_row(operation, tools)
    if conversation is None or row_id is None:
        return None
    read = reader_for(tools.db, "message_recaps")
    place = table_lines.find_place(read, persona, conversation)
    lines = [line for line in table_lines.read_lines(read, persona, [row_id]) if line.conversation == conversation]
    count = inclusion.choose_counter(None, tools.settings)
    lines = inclusion.choose_lines(model_calls.read_open_lines(tools, persona, lines), tools.settings, count)
    stored = table_recaps.find_recap(read, persona, row_id) or Recap(row_id)
    if place is None or place.stories_off or not lines or _is_done(operation, stored):
        return None
    several = table_lines.has_several_people(read, persona, lines[0])
    return _Source(conversation, lines[0].text, lines[0].sender_name, stored, place, several)


def _find_row(operation: Operation, tools: Tools) -> int | None:
    """Return the row of the operation's message, which a host may name by the platform's id."""
    message = operation.payload.get("message_id")
    if isinstance(message, str) and operation.conversation is not None:
        row = table_reading.find_message(tools.db, operation.persona, operation.conversation, message)
        return None if row is None else int(row.id)
    return message if isinstance(message, int) and not isinstance(message, bool) else None


def _is_done(operation: Operation, stored: Recap) -> bool:
    """Return whether the message has a recap of its present text made after the operation was queued."""
    if stored.memory is None or stored.stale or stored.updated_at is None or operation.created_at is None:
        return False
    is_made = stored.provenance in ("model", "extract") and "error" not in stored.data
    return is_made and stored.updated_at > operation.created_at


def _extract(operation: Operation, tools: Tools, source: _Source) -> str | None:
    """Return the sentence that says most, None if none may be kept."""
    named = [source.speaker] if source.several else ()
    text = build_extract([source.text], speakers=named, most_sentences=1, most_chars=300)
    if not text.strip():
        return None
    if screening.is_flagged(text, "recap")[0]:
        _note_refusal(operation, tools, source.recap.row_id, FLAGGED)
        return None
    return text


def _ask(operation: Operation, tools: Tools, source: _Source) -> str:
    """Return the model's recap; raise ModelError if its answer is refused, and note the reason."""
    try:
        reply = model_calls.ask_model(
            tools, "message_recap.txt.j2", speaker=to_json(source.speaker), message=to_json(source.text)
        )
    except ModelError as error:
        if error.reason in ("empty", "no_text"):
            _note_refusal(operation, tools, source.recap.row_id, error.reason)
        raise
    text = model_calls.read_text(reply, KEYS)
    # A recap of an earlier text says nothing about how long the new one must be.
    current = "" if source.recap.stale else source.recap.memory or ""
    reason = reason_against(tools, text, current) or (model_calls.UNREADABLE if is_unreadable(text) else "")
    if reason:
        _note_refusal(operation, tools, source.recap.row_id, reason)
        raise ModelError(reason)
    return text


def _note_refusal(operation: Operation, tools: Tools, row_id: int, reason: str) -> None:
    """Store why a reply was refused; the recap stays."""

    def work(connection: Connection) -> None:
        row = table_changes.hold_message(connection, operation.persona, row_id)
        if row is None or table_changes.is_private(connection, operation.persona, row, tools.settings.privacy_default):
            return
        table_recaps.update_recap(
            connection, tools.db.family, operation.persona, operation.conversation or "", row_id, {},
            {"error": reason}, now=tools.db.clock(),
        )  # fmt: skip

    tools.db.idempotent_transaction(work, source="message_recaps")
