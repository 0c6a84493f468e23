"""The tools: each validates its arguments and calls one function. A refusal is an answer with its reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias, TypeVar, get_type_hints

import mcp_types as types

from ...ai_diary import archive_diary_entry, edit_diary_entry
from ...chat_history_cache import delete_chat_message, edit_chat_message
from ...conversations import add_saved_memory
from ...errors import ItemNotFoundError, MessageError
from ...lifelong import delete_items, edit_item, profile, retag_items, search_items
from ...prompt.pipeline import build_records
from ...prompt.request import PromptRequest
from ...shapes import WriteResult
from ...synth_core_memory import search_memories
from ...transcripts import build_reply, save_turn
from ..answers import WrittenAnswer
from . import schemas
from .speaker import Speaker

ANSWER_ID = "/answer"
"""Suffix that makes an answer's id from the id of the message it answers."""

Work: TypeAlias = Callable[[Speaker, Any], schemas.Answer | dict[str, Any] | str]
Function = TypeVar("Function", bound=Work)


class Tool(NamedTuple):
    listed: types.Tool
    takes: type[schemas.Arguments]
    work: Work

    def run(self, speaker: Speaker, given: dict[str, Any]) -> types.CallToolResult:
        answer, structured = self.work(speaker, schemas.read_arguments(self.takes, given)), None
        if isinstance(answer, schemas.Answer):
            answer = structured = answer.model_dump(mode="json")
        text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=structured)


TOOLS: dict[str, Tool] = {}


def _tool(
    title: str, *, reads_only: bool = False, destroys: bool = False, repeats: bool = True
) -> Callable[[Function], Function]:
    """Register a function as a tool: models read its name, docstring and annotations.

    A tool that only reads answers with text alone, so that a long answer is sent once. `repeats` marks a tool whose
    second call with the same arguments changes nothing.
    """

    def add(work: Function) -> Function:
        hints = get_type_hints(work)
        listed = types.Tool(
            name=work.__name__,
            title=title,
            description=" ".join((work.__doc__ or "").split()),
            input_schema=schemas.flatten_schema(hints["asked"].model_json_schema()),
            output_schema=None
            if reads_only
            else schemas.flatten_schema(hints["return"].model_json_schema(mode="serialization")),
            annotations=types.ToolAnnotations(
                title=title,
                read_only_hint=reads_only,
                destructive_hint=destroys,
                idempotent_hint=repeats,
                open_world_hint=False,
            ),
        )
        TOOLS[work.__name__] = Tool(listed, hints["asked"], work)
        return work

    return add


@_tool("Memory for a message", reads_only=True)
def memory_context(speaker: Speaker, asked: schemas.ContextArguments) -> str:
    """Return everything remembered that is relevant to a message: recent lines, memories, instructions, summaries, as
    one text. Call it once before you answer a message."""
    message = {
        "message_id": None,
        "date": None,
        "text": asked.message,
        "interface_path": speaker.scope.conversation,
        "from_user": {"full_name": speaker.shown_name},
    }
    text = build_records(PromptRequest(message, max_chars=asked.max_chars, **speaker.asking)).text
    return text or "Nothing is remembered that belongs to this message."


@_tool("Search memory", reads_only=True)
def memory_search(speaker: Speaker, asked: schemas.SearchArguments) -> dict[str, Any]:
    """Search everything remembered and said for a question or words, tags, or both, within a span of time. Call it when
    the context does not hold what you need. Give query, tags, or both. The hits come newest first.
    """
    if not asked.query.strip() and not asked.tags:
        raise MessageError("query is blank. Give query, tags, or both.", fields=("query",))
    try:
        rows = search_memories(
            query=asked.query or None,
            tags=asked.tags or None,
            since=asked.since or None,
            until=asked.until or None,
            limit=asked.limit,
            **speaker.asking,
        )
    except ValueError as error:
        raise MessageError(str(error)) from None
    hits = []
    for row in rows:
        hit = {"id": row["id"], "source": row["source"], "timestamp": row["timestamp"], "tags": row["tags"]}
        hits.append({**hit, "speaker": speaker.name_person(row.get("speaker") or ""), "text": row["snippet"]})
    return {"count": len(hits), "hits": hits}


@_tool("Remember")
def memory_save(speaker: Speaker, asked: schemas.SaveArguments) -> schemas.WriteAnswer:
    """Save one fact for good, because the person asked you to remember it. If the answer names a similar memory that is
    now outdated, delete that one with memory_delete."""
    done = add_saved_memory(asked.text, **speaker.asking)
    tags = [*asked.tags, *([asked.subject] if asked.subject.strip() else [])]
    if tags and done.id is not None:
        retag_items([done.id], add=tags, **speaker.asking)
    return schemas.WriteAnswer.of_result(done)


@_tool("What the person told of themselves", reads_only=True)
def memory_profile(speaker: Speaker, asked: schemas.ProfileArguments) -> dict[str, Any]:
    """Return what the person has said about themselves: facts, tastes and standing instructions, each with its id, its
    day and who may see it. Call it when they ask what you know about them, or for advice that depends on who they
    are."""
    statements = profile(limit=asked.limit, **speaker.asking)
    return {"count": len(statements), "statements": statements}


@_tool("List memories", reads_only=True)
def memory_list(speaker: Speaker, asked: schemas.ListArguments) -> dict[str, Any]:
    """List memories with their ids, newest first, all or of one kind. next_cursor gives the next page."""
    kinds, offset = None if asked.kind == "all" else asked.kind, int(asked.cursor or 0)
    page = search_items(kinds=kinds, limit=asked.limit, offset=offset, **speaker.asking)
    memories = []
    for item in page["items"]:
        memory = {"id": item["id"], "kind": item["kind"], "text": item["text"], "timestamp": item["timestamp"]}
        memories.append({**memory, "tags": item["tags"], "speaker": speaker.name_person(item["participant"] or "")})
    end = offset + len(memories)
    following = str(end) if memories and end < page["total"] else None
    return {"count": len(memories), "total": page["total"], "next_cursor": following, "memories": memories}


@_tool("Change a memory", destroys=True)
def memory_update(speaker: Speaker, asked: schemas.UpdateArguments) -> schemas.WriteAnswer:
    """Replace the text of one memory or one chat line, by its id from a search or list."""
    if not asked.text.strip():
        raise MessageError("text is blank. Write one, or call memory_delete.", fields=("text",))
    with suppress(ItemNotFoundError):
        return schemas.WriteAnswer.of_result(edit_item(asked.id, asked.text, editor="mcp", **speaker.asking))
    return schemas.WriteAnswer.of_result(
        _or_none(edit_chat_message(asked.id, asked.text, **speaker.asking))
        or _or_none(edit_diary_entry(asked.id, asked.text, **speaker.asking))
        or _refuse_id(asked.id)
    )


@_tool("Delete a memory", destroys=True)
def memory_delete(speaker: Speaker, asked: schemas.DeleteArguments) -> schemas.WriteAnswer:
    """Delete one memory by its id, because the person asked for it; an operator can restore it. A chat line is deleted
    for good, with everything made from it."""
    row_id = asked.id
    is_archived = delete_items([row_id], **speaker.asking).count or archive_diary_entry(row_id, **speaker.asking)
    done = WriteResult(True, row_id) if is_archived else _or_none(delete_chat_message(row_id, **speaker.asking))
    return schemas.WriteAnswer.of_result(done or _refuse_id(row_id))


def _or_none(result: WriteResult) -> WriteResult | None:
    return None if result.reason == "unchanged" and result.id is None else result


def _refuse_id(row_id: int) -> WriteResult:
    raise MessageError(
        f"id {row_id} names nothing here. Use an id that memory_search or memory_list gave.", fields=("id",)
    )


@_tool("Save a turn", repeats=False)
def turn_save(speaker: Speaker, asked: schemas.TurnArguments) -> schemas.TurnAnswer:
    """Store what the person said and what you answered, so that it can be recalled later. Call it once after each
    answer.
    """
    place = speaker.scope.conversation or ""
    message = {"text": asked.user_text, "interface_path": place, "message_id": asked.message_id or None}
    message["sender_name"] = speaker.shown_name
    answer_id = asked.message_id + ANSWER_ID if asked.message_id else None
    reply = build_reply(asked.assistant_text, place, speaker.scope.persona, message_id=answer_id)
    said, answered = save_turn(message, reply, **speaker.asking)
    return schemas.TurnAnswer(user=WrittenAnswer.of_result(said), assistant=WrittenAnswer.of_result(answered))
