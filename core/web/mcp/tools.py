"""The tools: each reads its arguments, calls one function, and schemas. A refusal is an answer with its reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import mcp_types as types

from ...ai_diary import archive_diary_entry, edit_diary_entry
from ...chat_history_cache import delete_chat_message, edit_chat_message, save_chat_message
from ...conversations import add_saved_memory
from ...errors import ItemNotFoundError, MessageError
from ...lifelong import delete_items, edit_item, retag_items, search_items
from ...prompt.call import PromptRequest
from ...prompt.pipeline import build_records
from ...shapes import Hit, WriteResult
from ...synth_core_memory import search_memories
from ...transcripts import finish_turn
from . import schemas
from .speaker import Speaker

MAX_PAGED = 1000
"""Hits that a search hands out by cursor, page after page."""
PAGE_OVERLAP = 200
"""Items of one moment that a page after the first may have to pass over."""
ANSWER_ID = "/answer"
"""What the id of an answer has behind that of the message it schemas."""

Work: TypeAlias = Callable[[Speaker, Any], schemas.Answer | str]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: what is said of it, what it takes and answers, and what it does."""

    name: str
    title: str
    about: str
    takes: type[schemas.Arguments]
    work: Work
    gives: type[schemas.Answer] | None = None
    """Shape of its structured answer. None: it answers with text alone, so that a long answer is sent once."""
    reads_only: bool = False
    destroys: bool = False
    repeats: bool = True
    """Called again with the same arguments it changes nothing more."""

    def describe(self) -> types.Tool:
        return types.Tool(
            name=self.name,
            title=self.title,
            description=self.about,
            input_schema=self.takes.model_json_schema(),
            output_schema=self.gives.model_json_schema(mode="serialization") if self.gives else None,
            annotations=types.ToolAnnotations(
                title=self.title,
                read_only_hint=self.reads_only,
                destructive_hint=self.destroys,
                idempotent_hint=self.repeats,
                open_world_hint=False,
            ),
        )

    def run(self, speaker: Speaker, given: dict[str, Any]) -> types.CallToolResult:
        """Return the answer to a call.

        Raises:
            MessageError: arguments that do not fit, naming each.
            CoreError, ValueError, TypeError: as the called function raises it.
        """
        answer = self.work(speaker, schemas.read_arguments(self.takes, given))
        text = answer if isinstance(answer, str) else answer.model_dump_json()
        structured = answer.model_dump(mode="json") if self.gives and isinstance(answer, schemas.Answer) else None
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=structured)


def find_context(speaker: Speaker, asked: schemas.ContextArguments) -> str:
    message = {
        "message_id": None,
        "date": None,
        "text": asked.message,
        "interface_path": speaker.scope.conversation,
        "from_user": {"full_name": speaker.shown_name},
    }
    text = build_records(PromptRequest(message, max_chars=asked.max_chars, **speaker.asking)).text
    return text or "Nothing is remembered that belongs to this message."


def search(speaker: Speaker, asked: schemas.SearchArguments) -> schemas.SearchAnswer:
    if not asked.query.strip() and not asked.tags:
        raise MessageError("query is blank. Give query, tags, or both.", fields=("query",))
    shown = [(source, row_id) for source, row_id in schemas.read_cursor(asked.cursor)]
    wanted: dict[str, Any] = {
        "query": asked.query or None,
        "tags": asked.tags or None,
        "since": asked.since or None,
        "until": asked.until or None,
        **speaker.asking,
    }
    hits = search_memories(limit=asked.limit, exclude=shown, **wanted)
    passed = [*shown, *((hit["source"], hit["id"]) for hit in hits)]
    may_go_on = len(hits) == asked.limit and len(shown) < MAX_PAGED
    has_more = may_go_on and search_memories(limit=1, exclude=passed, **wanted)
    following = schemas.write_cursor(passed) if has_more else None
    return schemas.SearchAnswer(count=len(hits), hits=[_show_hit(speaker, hit) for hit in hits], next_cursor=following)


def _show_hit(speaker: Speaker, hit: Hit) -> schemas.FoundText:
    said_by: Any = hit.get("speaker", "")
    return schemas.FoundText(
        id=hit["id"],
        source=hit["source"],
        timestamp=hit["timestamp"],
        speaker=speaker.name_person(said_by or ""),
        text=hit["snippet"],
        tags=hit["tags"],
    )


def save(speaker: Speaker, asked: schemas.SaveArguments) -> schemas.WriteAnswer:
    done = add_saved_memory(asked.text, **speaker.asking)
    tags = [*asked.tags, *([asked.subject] if asked.subject.strip() else [])]
    if tags and done.id is not None:
        retag_items([done.id], add=tags, **speaker.asking)
    return schemas.WriteAnswer.of_result(done)


def list_memories(speaker: Speaker, asked: schemas.ListArguments) -> schemas.ListAnswer:
    """Return a page of the memories of a kind, newest first; rows that come meanwhile move none to the next page."""
    kinds = None if asked.kind == "all" else asked.kind
    after = schemas.read_cursor(asked.cursor)[:1]
    until = after[0][0] if after else None
    page = search_items(kinds=kinds, until=until, limit=asked.limit + len(after) * PAGE_OVERLAP, **speaker.asking)
    rows = [item for item in page["items"] if not after or [item["timestamp"], item["id"]] < after[0]]
    listed = [
        schemas.ListedMemory(
            id=item["id"],
            kind=item["kind"],
            text=item["text"],
            speaker=speaker.name_person(item["participant"] or ""),
            timestamp=item["timestamp"],
            tags=item["tags"],
        )
        for item in rows[: asked.limit]
    ]
    left = page["total"] - (len(page["items"]) - len(rows))
    total = search_items(kinds=kinds, limit=1, **speaker.asking)["total"] if after else left
    last = rows[len(listed) - 1] if listed else None
    following = schemas.write_cursor([(last["timestamp"], last["id"])]) if last and len(listed) < left else None
    return schemas.ListAnswer(count=len(listed), total=total, next_cursor=following, memories=listed)


def update(speaker: Speaker, asked: schemas.UpdateArguments) -> schemas.WriteAnswer:
    """Give what a search found another text: a memory, a line of the chat or a diary entry."""
    row_id = asked.id
    return schemas.WriteAnswer.of_result(
        _update_memory(speaker, row_id, asked.text)
        or _or_none(edit_chat_message(row_id, asked.text, **speaker.asking))
        or _or_none(edit_diary_entry(row_id, asked.text, **speaker.asking))
        or _refuse_id(row_id)
    )


def _update_memory(speaker: Speaker, row_id: int, text: str) -> WriteResult | None:
    try:
        return edit_item(row_id, text, editor="mcp", **speaker.asking)
    except ItemNotFoundError:
        return None


def delete(speaker: Speaker, asked: schemas.DeleteArguments) -> schemas.WriteAnswer:
    """Take away what a search found: memories and diary entries are archived, a line of the chat is deleted."""
    row_id = asked.id
    is_archived = delete_items([row_id], **speaker.asking).count or archive_diary_entry(row_id, **speaker.asking)
    done = WriteResult(True, row_id) if is_archived else _or_none(delete_chat_message(row_id, **speaker.asking))
    return schemas.WriteAnswer.of_result(done or _refuse_id(row_id))


def _or_none(result: WriteResult) -> WriteResult | None:
    return None if result.reason == "unchanged" and result.id is None else result


def _refuse_id(row_id: int) -> WriteResult:
    """Refuse an id of nothing that is seen here.

    Raises:
        MessageError: always.
    """
    raise MessageError(
        f"id {row_id} names nothing here. Use an id that memory_search or memory_list gave.", fields=("id",)
    )


def save_turn(speaker: Speaker, asked: schemas.TurnArguments) -> schemas.TurnAnswer:
    """Store both lines of a turn, and what of it counts as said a moment ago; a line that is there stays one."""
    said = save_chat_message(
        speaker.scope.conversation,
        asked.user_text,
        speaker.shown_name,
        message_id=asked.message_id or None,
        **speaker.asking,
    )
    answer_id = asked.message_id + ANSWER_ID if asked.message_id else None
    answered = finish_turn(said, asked.user_text, asked.assistant_text, message_id=answer_id, **speaker.asking)
    notes = [str(note) for note in dict.fromkeys((*said.notes, *answered.notes))]
    return schemas.TurnAnswer(
        user=schemas.SavedLine.of_result(said), assistant=schemas.SavedLine.of_result(answered), notes=notes
    )


TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            "memory_context",
            "Memory for a message",
            "Return what is remembered that belongs to a message: recent lines, memories, instructions, summaries, as "
            "one text. Call it once before you answer a message.",
            schemas.ContextArguments,
            find_context,
            reads_only=True,
        ),
        Tool(
            "memory_search",
            "Search memory",
            "Search everything remembered and said for a question or words, tags, or both, within a span of time. Call "
            "it when the context does not hold what you need. Give query, tags, or both.",
            schemas.SearchArguments,
            search,
            reads_only=True,
        ),
        Tool(
            "memory_save",
            "Remember",
            "Save one fact for good, because the person asked you to remember it.",
            schemas.SaveArguments,
            save,
            schemas.WriteAnswer,
        ),
        Tool(
            "memory_list",
            "List memories",
            "List memories with their ids, newest first, all or of one kind. next_cursor gives the next page.",
            schemas.ListArguments,
            list_memories,
            reads_only=True,
        ),
        Tool(
            "memory_update",
            "Change a memory",
            "Give one memory, or one line that was said, another text, by the id that a search or list gave.",
            schemas.UpdateArguments,
            update,
            schemas.WriteAnswer,
            destroys=True,
        ),
        Tool(
            "memory_delete",
            "Delete a memory",
            "Take one memory away, by its id, because the person asked for it; an operator can bring it back. A line "
            "that was said is deleted for good, with what was made of it.",
            schemas.DeleteArguments,
            delete,
            schemas.WriteAnswer,
            destroys=True,
        ),
        Tool(
            "turn_save",
            "Save a turn",
            "Store what the person said and what you answered, so that it can be recalled later. Call it once after "
            "each answer.",
            schemas.TurnArguments,
            save_turn,
            schemas.TurnAnswer,
            repeats=False,
        ),
    )
}
