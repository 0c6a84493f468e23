"""Saved memories: added when a person asks for it, listed, deleted, restored."""

from __future__ import annotations

from typing import Literal, Unpack

from ..access.view import Viewer
from ..base import logs
from ..calls.call import Call, CallOptions, load_viewer, open_call
from ..config import Settings
from ..database import rows
from ..database.engine import Database
from ..errors import MessageError, StoreReadError
from ..memories import table_instructions, table_sources
from ..memories.instructions import read_instruction
from ..memories.rules import INSTRUCTION, SAVED, SAVED_MEMORY_CHARS, check_choice
from ..memories.rules_instructions import MOST_CHARS
from ..memories.section_instructions import is_recorded
from ..memories.similar import find_similar
from ..shapes import SavedMemory, WriteResult
from ..templates.words import phrases_for
from ..text.folding import clean, one_line
from ..text.remember_phrases import is_request
from ..text.times import iso_text
from . import memory_files, table_saved

SavedKind = Literal["saved", "instruction"]
"""saved: a fact that a person asked to keep. instruction: a rule for every prompt that answers this person."""


def add_saved_memory(
    text: str,
    *,
    kind: SavedKind = "saved",
    said: str | None = None,
    message_id: object = None,
    **options: Unpack[CallOptions],
) -> WriteResult:
    """Save one fact at once because a person asked for it.

    Args:
        text: trimmed; at most 4,000 characters, never cut. An instruction is stored on one line.
        kind: `saved`, or `instruction` for a rule in every prompt that answers the scope's person, such as "Call me
            Jo"; at most 300 characters. A newer instruction replaces an older one on the same subject.
        said: the person's message; it must contain a phrase that asks to remember and none that asks not to. None
            means that the host vouches for the request.
        message_id: message with the request, by the platform's id in the scope's conversation or by the row id that
            saving it returned. Deleting that message deletes the memory. Editing it changes a memory that repeats the
            whole message, and deletes any other.

    Returns:
        `(True, id, "")`; else `disabled`, `empty`, `too_long`, `not_explicit`, `privacy`, or `duplicate` with the id of
        the equal memory. `similar` is the person's older memory that shares most words with the new one, as `{id, text,
        day}`, or None; delete it if the new one replaces it.
    """
    call = open_call(**options)
    check_choice(kind, "kind", SavedKind)
    return save_memory(call, text, said, message_id=message_id, kind=kind)


def save_memory(
    call: Call, text: object, said: object = None, *, message_id: object = None, kind: str = SAVED
) -> WriteResult:
    """Save one fact; arguments and result are those of `add_saved_memory`."""
    fact = _read_fact(call.settings, text, said, kind)
    if isinstance(fact, WriteResult):
        return fact
    sources = table_sources.find_sources(call.db, call.scope, message_id)
    if kind == INSTRUCTION:
        return table_instructions.insert_instruction(call, read_instruction(fact, call.settings), sources)
    memory = table_saved.build_memory(fact, now=sources.at or call.db.clock(), source_message_ids=sources.ids)
    stored = table_saved.insert_memory(call, memory)
    memory_files.write_files(call)
    if stored.stored:
        try:
            return WriteResult(*stored, notes=stored.notes, similar=find_similar(call, fact, stored.id))
        except StoreReadError as error:  # the memory is stored all the same
            logs.warning("similar_not_read", source=error.source, number=error.number)
    return stored


def _read_fact(settings: Settings, text: object, said: object, kind: str) -> str | WriteResult:
    """Return the text to save, or a WriteResult with the reason why nothing is saved."""
    for name, value in (("text", text), ("said", said)):
        if not isinstance(value, str) and not (name == "said" and value is None):
            raise MessageError.of_type(name, value, "a text")
    fact = (one_line if kind == INSTRUCTION else clean)(str(text)).strip()
    if not settings.enable_saved_memory or (kind == INSTRUCTION and not is_recorded(settings)):
        return WriteResult(False, None, "disabled")
    if not fact:
        return WriteResult(False, None, "empty")
    most = MOST_CHARS if kind == INSTRUCTION else SAVED_MEMORY_CHARS
    if len(fact) > most:
        return WriteResult(False, None, "too_long", notes=(f"it has {len(fact)} characters; {most} are allowed",))
    if said is not None and not is_request(str(said), phrases_for(str(said), settings)):
        return WriteResult(False, None, "not_explicit")
    return fact


def delete_saved_memory(
    id: int,  # noqa: A002 - the key of the listing
    *,
    restore: bool = False,
    **options: Unpack[CallOptions],
) -> WriteResult:
    """Archive a saved memory; `restore=True` restores it.

    Args:
        id: as `list_saved_memories` returns it.
        restore: restore an archived memory instead.

    Returns:
        `(True, id, "")`; reason `unchanged` if the scope sees no such memory; when restoring, `duplicate` with the
        id of an equal memory that is not archived.
    """
    call = open_call(**options)
    result = table_saved.set_archived(call.db, load_viewer(call), rows.row_id(id), archived=not restore)
    if result.stored:
        memory_files.write_files(call)
    return result


def list_saved_memories(*, kind: SavedKind = "saved", **options: Unpack[CallOptions]) -> list[SavedMemory]:
    """Return all saved memories that the scope may see, oldest first, ties by id.

    Args:
        kind: `saved`, or `instruction` for the standing instructions of the scope's person.
    """
    call = open_call(**options)
    check_choice(kind, "kind", SavedKind)
    return read_saved(call.db, load_viewer(call), kind=kind)


def read_saved(db: Database, viewer: Viewer, *, kind: str = SAVED) -> list[SavedMemory]:
    return [
        {"id": item.id, "text": item.text, "saved_at": iso_text(item.at), "source": item.source}
        for item in table_saved.read_items(db, viewer, kind=kind)
    ]
