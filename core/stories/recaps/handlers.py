"""What does an operation RECAP, the recap of one message by a model or as an extract."""

from __future__ import annotations

from typing import NamedTuple

from ...audience import table_conversations
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
from .. import model_calls, token_counts
from ..model_calls import FLAGGED, reason_against
from . import inclusion, refresh, rules
from .rules import Provenance

KEYS = ("recap", "memory", "summary")
"""Keys of a reply under which the text may stand."""


class _Source(NamedTuple):
    """What a recap is made of."""

    conversation: str
    text: str
    speaker: str
    found: Recap
    """The recap there is."""
    place: table_lines.StoryPlace
    several: bool = False
    """Several people speak in the conversation."""


class _Made(NamedTuple):
    text: str
    provenance: Provenance
    prefill: str = ""
    """What the model was made to begin with."""


def recap(operation: Operation, tools: Tools) -> Effect | None:
    """Return what stores the recap of the operation's message and refreshes its conversation."""
    source = _source(operation, tools)
    tools = tools if source is None else model_calls.choose_tools(tools, source.place)
    draft = None if source is None else _made(operation, tools, source)
    if source is None or draft is None:
        return None
    persona, conversation, row_id = operation.persona, source.conversation, source.found.row_id
    columns = token_counts.memory_columns(
        draft.text, draft.provenance, token_counts.choose_counter(None, tools.settings)
    )
    columns |= {"include": None, "edited": False}
    kept_data = {"error": None, "reasoning": None, "prefill": draft.prefill or None}
    # What this process keeps back of the conversation is older than what the effect works out.

    def effect(connection: Connection) -> None:
        table_conversations.find(connection, persona, conversation, lock=True)
        row = table_changes.hold_message(connection, persona, row_id)
        if row is None or table_changes.is_private(connection, persona, row, tools.settings.privacy_default):
            return
        if row.message_text != source.text:
            wording = rules.read_wording(operation.payload)
            table_story_rows.queue_recap(connection, tools.db, persona, conversation, row_id, wording._asdict())
            return
        now = table_recaps.find_recap(reader_in(connection), persona, row_id) or Recap(row_id)
        if now.memory != source.found.memory and not now.stale:
            return  # somebody wrote it by hand meanwhile
        table_recaps.update_recap(
            connection, tools.db.family, persona, conversation, row_id, columns, kept_data, now=tools.db.clock()
        )
        refresh.refresh_within(connection, tools.db, persona, conversation, tools.settings)

    return effect


def _source(operation: Operation, tools: Tools) -> _Source | None:
    """Return what the recap is made of, None where there is nothing to do."""
    persona, conversation, row_id = operation.persona, operation.conversation, _row_of(operation, tools)
    if conversation is None or row_id is None:
        return None
    read = reader_for(tools.db, "message_recaps")
    facts, place = table_lines.find_facts(read, persona, row_id), table_lines.find_place(read, persona, conversation)
    text = table_lines.read_texts(read, persona, [row_id]).get(row_id, "")
    if facts is None or facts.conversation != conversation or place is None or place.stories_off or not text.strip():
        return None
    found = table_recaps.find_recap(read, persona, row_id) or Recap(row_id)
    chosen = inclusion.build_rules(tools.settings)
    tokens = token_counts.choose_counter(None, tools.settings).count(text) if chosen.threshold > 0 else None
    is_out = bool(rules.left_out(inclusion.build_message(facts, tokens), chosen))
    if is_out or _is_done(operation, found) or _is_private(tools, persona, row_id):
        return None
    several = table_lines.has_several_people(read, persona, facts)
    return _Source(conversation, text, facts.sender_name, found, place, several)


def _row_of(operation: Operation, tools: Tools) -> int | None:
    """Return the row of the operation's message: a host may name it by the platform's id."""
    message = operation.payload.get("message_id")
    if isinstance(message, str) and operation.conversation is not None:
        found = table_reading.find_message(tools.db, operation.persona, operation.conversation, message)
        return None if found is None else found[0]
    return message if isinstance(message, int) and not isinstance(message, bool) else None


def _is_private(tools: Tools, persona: str, row_id: int) -> bool:
    """Return whether nothing of the message may be kept, or sent to a model, any more."""

    def work(connection: Connection) -> bool:
        row = table_changes.hold_message(connection, persona, row_id)
        return row is None or table_changes.is_private(connection, persona, row, tools.settings.privacy_default)

    return tools.db.transaction(work, source="participants")


def _is_done(operation: Operation, found: Recap) -> bool:
    """Return whether the message has a recap of its present text made after the operation was queued."""
    if found.memory is None or found.stale or found.updated_at is None or operation.created_at is None:
        return False
    is_made = found.provenance in ("model", "extract") and "error" not in found.data
    return is_made and found.updated_at > operation.created_at


def _made(operation: Operation, tools: Tools, source: _Source) -> _Made | None:
    """Return the text of the recap, None where an extract has nothing to say."""
    if tools.model is None:
        named = [source.speaker] if source.several else ()
        chosen = build_extract([source.text], speakers=named, most_sentences=1, most_chars=300)
        if not chosen.strip():
            return None
        if screening.is_flagged(chosen, "recap")[0]:
            _note_refusal(operation, tools, source.found.row_id, FLAGGED)
            return None
        return _Made(chosen, "extract")
    wording = rules.read_wording(operation.payload)
    try:
        reply = _ask(tools, source, wording)
    except ModelError as error:
        if error.reason in ("empty", "no_text"):
            _note_refusal(operation, tools, source.found.row_id, error.reason)
        raise
    said = model_calls.read_text(reply, KEYS)
    # A recap of a former text says nothing about how long the new one must be.
    current = "" if source.found.stale else source.found.memory or ""
    reason = reason_against(tools, said, current)
    if not reason and is_unreadable(said):
        reason = model_calls.UNREADABLE
    if reason:
        _note_refusal(operation, tools, source.found.row_id, reason)
        raise ModelError(reason)
    return _Made(said, "model", wording.prefill)


def _ask(tools: Tools, source: _Source, wording: rules.Wording) -> str:
    """Return the model's answer, what it was made to begin with in front."""
    speaker, message = to_json(source.speaker), to_json(source.text)
    if wording.prompt:
        asked = rules.fill_prompt(wording.prompt, speaker, message)
    else:
        renderer = model_calls.build_renderer(tools.settings)
        asked = renderer.text("message_recap.txt.j2", speaker=speaker, message=message)
    return rules.join_prefill(wording.prefill, model_calls.ask_text(tools, asked, begins_with=wording.prefill))


def _note_refusal(operation: Operation, tools: Tools, row_id: int, reason: str) -> None:
    """Note beside the message why a reply was refused; its recap stays."""

    def work(connection: Connection) -> None:
        row = table_changes.hold_message(connection, operation.persona, row_id)
        if row is None or table_changes.is_private(connection, operation.persona, row, tools.settings.privacy_default):
            return
        table_recaps.update_recap(
            connection, tools.db.family, operation.persona, operation.conversation or "", row_id, {},
            {"error": reason}, now=tools.db.clock(),
        )  # fmt: skip

    tools.db.repeat(work, source="message_recaps")
