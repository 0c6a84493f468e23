"""The tools: each reads its arguments, calls one door, and answers. What a door refuses is answered with its reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import mcp_types as types

from ..chat_history_cache import save_chat_message
from ..conversations import add_saved_memory
from ..errors import ItemNotFoundError
from ..lifelong import delete_item, edit_item, get_item, search_items
from ..memories.rules import WISH
from ..shapes import Hit, WriteResult
from ..synth_core_memory import search_memories
from ..transcripts.turns import finish_turn
from ..wishes import change_wish
from . import answers, arguments
from .block import build_block
from .speaker import Speaker

LISTED = 200
"""Most memories of one list."""
ANSWER_ID = "/answer"
"""What the id of an answer has behind that of the message it answers."""

Work: TypeAlias = Callable[[Speaker, Any], answers.Answer]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: what is said of it, what it takes and answers, and what it does."""

    name: str
    title: str
    about: str
    takes: type[arguments.Arguments]
    gives: type[answers.Answer]
    work: Work
    reads_only: bool = False
    destroys: bool = False
    repeats: bool = True
    """Called again with the same arguments it changes nothing more."""
    text: Callable[[Any], str] | None = None
    """The answer as text; None for its JSON."""

    def describe(self) -> types.Tool:
        """Return the tool as it is listed."""
        return types.Tool(
            name=self.name,
            title=self.title,
            description=self.about,
            input_schema=self.takes.model_json_schema(),
            output_schema=self.gives.model_json_schema(mode="serialization"),
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
            CoreError, ValueError, TypeError: as the door raises it.
        """
        answer = self.work(speaker, arguments.read_arguments(self.takes, given))
        text = self.text(answer) if self.text is not None else answer.model_dump_json()
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=text)], structured_content=answer.model_dump(mode="json")
        )


def find_context(speaker: Speaker, asked: arguments.ContextArguments) -> answers.ContextAnswer:
    """Return what belongs to a message."""
    block = build_block(speaker, asked.message, asked.max_chars)
    return answers.ContextAnswer(context=block.text, characters=len(block.text), left_out=block.left_out)


def search(speaker: Speaker, asked: arguments.SearchArguments) -> answers.SearchAnswer:
    """Return what is found in memories, diary and chat."""
    hits = search_memories(
        query=asked.query or None,
        tags=asked.tags or None,
        limit=asked.limit,
        since=asked.since or None,
        until=asked.until or None,
        **speaker.asking,
    )
    return answers.SearchAnswer(count=len(hits), hits=[_show_hit(hit) for hit in hits])


def _show_hit(hit: Hit) -> answers.FoundText:
    said_by: Any = hit.get("speaker", "")
    return answers.FoundText(
        id=str(hit["id"]),
        source=hit["source"],
        timestamp=hit["timestamp"],
        speaker=said_by or "",
        text=hit["snippet"],
        tags=hit["tags"],
    )


def save(speaker: Speaker, asked: arguments.SaveArguments) -> answers.WriteAnswer:
    """Save what was asked to be remembered."""
    return answers.write_answer(add_saved_memory(asked.text, **speaker.asking))


def list_memories(speaker: Speaker, asked: arguments.ListArguments) -> answers.ListAnswer:
    """Return the newest memories of a kind."""
    page = search_items(kinds=None if asked.kind == "all" else asked.kind, limit=LISTED, **speaker.asking)
    listed = [
        answers.ListedMemory(
            id=str(item["id"]),
            kind=item["kind"],
            text=item["text"],
            speaker=item["participant"] or "",
            timestamp=item["timestamp"],
            tags=item["tags"],
        )
        for item in page["items"]
    ]
    return answers.ListAnswer(count=len(listed), total=page["total"], memories=listed)


def update(speaker: Speaker, asked: arguments.UpdateArguments) -> answers.WriteAnswer:
    """Give a memory another text; a wish gets a new id with it."""
    item_id = int(asked.id)
    try:
        if get_item(item_id, **speaker.asking)["kind"] == WISH:
            return answers.write_answer(change_wish(item_id, asked.text, **speaker.asking))
        done = edit_item(item_id, asked.text, editor="mcp", **speaker.asking)
    except ItemNotFoundError:
        return answers.write_answer(_NO_SUCH)
    return answers.write_answer(done)


def delete(speaker: Speaker, asked: arguments.DeleteArguments) -> answers.WriteAnswer:
    """Archive a memory, whatever its kind."""
    done = delete_item(int(asked.id), **speaker.asking)
    return answers.write_answer(WriteResult(True, int(asked.id)) if done else _NO_SUCH)


_NO_SUCH = WriteResult(False, None, "unchanged", notes=("there is no such memory here",))


def save_turn(speaker: Speaker, asked: arguments.TurnArguments) -> answers.TurnAnswer:
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
    return answers.TurnAnswer(user=answers.saved_line(said), assistant=answers.saved_line(answered), notes=notes)


def _context_text(answer: answers.ContextAnswer) -> str:
    return answer.context or "Nothing is remembered that belongs to this message."


TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            "memory_context",
            "Memory for a message",
            "Return what is remembered that belongs to a message: recent lines, memories, wishes, summaries, as one "
            "text. Call it once before you answer a message.",
            arguments.ContextArguments,
            answers.ContextAnswer,
            find_context,
            reads_only=True,
            text=_context_text,
        ),
        Tool(
            "memory_search",
            "Search memory",
            "Search everything remembered and said for a question or words, tags, or both, within a span of time. Call "
            "it when the context does not hold what you need. Give query, tags, or both.",
            arguments.SearchArguments,
            answers.SearchAnswer,
            search,
            reads_only=True,
        ),
        Tool(
            "memory_save",
            "Remember",
            "Save one fact for good, because the person asked you to remember it.",
            arguments.SaveArguments,
            answers.WriteAnswer,
            save,
        ),
        Tool(
            "memory_list",
            "List memories",
            "List the newest memories with their ids, all or of one kind.",
            arguments.ListArguments,
            answers.ListAnswer,
            list_memories,
            reads_only=True,
        ),
        Tool(
            "memory_update",
            "Change a memory",
            "Give one memory another text, by its id. The former text is kept in its history.",
            arguments.UpdateArguments,
            answers.WriteAnswer,
            update,
            destroys=True,
        ),
        Tool(
            "memory_delete",
            "Delete a memory",
            "Take one memory away, by its id, because the person asked for it. An operator can bring it back.",
            arguments.DeleteArguments,
            answers.WriteAnswer,
            delete,
            destroys=True,
        ),
        Tool(
            "turn_save",
            "Save a turn",
            "Store what the person said and what you answered, so that it can be recalled later. Call it once after "
            "each answer.",
            arguments.TurnArguments,
            answers.TurnAnswer,
            save_turn,
            repeats=False,
        ),
    )
}
