"""DOOR: recent conversations, saved memories, the memory tool, and the memory prompt.

Two memories: a rolling list of summaries of conversations, made by itself when one ends, and a list of facts, made only
when a person asks. Both are held to what the scope may see.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..calls.defaults import call_with
from ..calls.screening import Screen
from ..config import Settings
from ..database.engine import Database
from ..errors import MessageError
from ..scope import Scope
from ..shapes import (
    FormerText,
    LoadedMemory,
    RecentConversation,
    SavedMemory,
    ToolAnswer,
    ToolCall,
    ToolForm,
    WriteResult,
)
from . import memory_prompt, memory_tool
from . import recent as recent_conversations
from . import saved as saved_memories
from .memory_files import MarkdownResult, export_markdown, import_markdown

__all__ = ["MarkdownResult", "add_recent_conversation", "add_saved_memory", "close_conversation",
           "delete_saved_memory", "export_markdown", "get_system_prompt_with_memory", "get_user_memory_prompt",
           "import_markdown", "list_recent_conversations", "list_saved_memories", "load_memory", "memory_tools",
           "parse_tool_call", "run_tool_call", "saved_memory_history", "update_saved_memory"]  # fmt: skip

Given = Settings | Mapping[str, object] | None


def add_recent_conversation(
    messages: Any = None,
    model: Any = None,
    *,
    wait: bool = False,
    db: Database | None = None,
    settings: Given = None,
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
    """
    return recent_conversations.add(*call_with(db, settings, scope), messages, model, wait=wait)


def close_conversation(
    conversation: str | None = None,
    model: Any = None,
    *,
    wait: bool = False,
    db: Database | None = None,
    settings: Given = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Mark a conversation closed and report its end, in one transaction; its next message opens it again.

    Args:
        conversation: its key; None for the scope's.
        model, wait: as for `add_recent_conversation`.

    Returns:
        `(True, id of the summary, "")`, the id None where there is nothing to summarise, with a note why; `unchanged`
        where it is not known or closed already.

    Raises:
        MessageError: no conversation is named, or its key does not fit.
        StoreWriteError: nothing was changed.
    """
    return recent_conversations.close(*call_with(db, settings, scope), conversation, model, wait=wait)


def list_recent_conversations(
    *, former: bool = False, db: Database | None = None, settings: Given = None, scope: Scope | None = None
) -> list[RecentConversation]:
    """Return the conversations on the list that the scope may see, oldest first, ties by id.

    Args:
        former: those that have left the list too.

    Returns:
        At most MAX_RECENT_CONVERSATIONS of each audience; more with `former`.

    Raises:
        StoreReadError: nothing could be read.
    """
    known_db, known, asking = call_with(db, settings, scope)
    viewer = recent_conversations.viewer_of(known_db, known, asking)
    return recent_conversations.listed(known_db, known, viewer, former=bool(former))


def add_saved_memory(
    text: str,
    *,
    said: str | None = None,
    screen: Screen | None = None,
    db: Database | None = None,
    settings: Given = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Save one fact at once, because a person asked for it.

    Args:
        text: trimmed, line breaks become spaces; at most SAVED_MEMORY_CHARS, never cut.
        said: the person's message; it must hold a phrase that asks to remember and none that asks not to. None: the
            host vouches that it was asked for.
        screen: screening hook for this call.

    Returns:
        `(True, id, "")`; else `disabled`, `empty`, `too_long`, `not_explicit`, `privacy`, or `duplicate` with the id of
        the one that says the same.

    Raises:
        MessageError: a value that is no text.
        StoreWriteError: nothing was stored.
    """
    return saved_memories.add(*call_with(db, settings, scope), text, said, screen)


def update_saved_memory(
    statement: str,
    *,
    model: Any = None,
    said: str | None = None,
    db: Database | None = None,
    settings: Given = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Let a model rewrite what the scope's person has saved for this audience, by a statement, in one transaction.

    What is replaced or dropped stays readable and can be restored. Where there is no model, or its answer cannot be
    followed, the statement is saved by itself, and a note says why.

    Args:
        statement: as `text` of `add_saved_memory`.
        model: by default that of the process.
        said: as for `add_saved_memory`.

    Returns:
        `(True, id of the first new memory, "")`, the id None where memories were dropped alone; `notes` count what
        became of the list. Else as `add_saved_memory`.

    Raises:
        MessageError: a value that is no text.
        StoreWriteError: nothing was changed.
    """
    return saved_memories.update(*call_with(db, settings, scope), statement, model, said)


def list_saved_memories(
    *, former: bool = False, db: Database | None = None, settings: Given = None, scope: Scope | None = None
) -> list[SavedMemory]:
    """Return all saved memories that the scope may see, oldest first, ties by id; with `former` deleted ones too.

    Raises:
        StoreReadError: nothing could be read.
    """
    known_db, known, asking = call_with(db, settings, scope)
    return saved_memories.listed(known_db, recent_conversations.viewer_of(known_db, known, asking), former=bool(former))


def saved_memory_history(
    id: int,  # noqa: A002 - the key of the listing
    *,
    db: Database | None = None,
    settings: Given = None,
    scope: Scope | None = None,
) -> list[FormerText]:
    """Return every text a saved memory has had, the first one first; none where the scope sees no such memory.

    Raises:
        MessageError: `id` is no whole number.
        StoreReadError: nothing could be read.
    """
    known_db, known, asking = call_with(db, settings, scope)
    return saved_memories.history(known_db, recent_conversations.viewer_of(known_db, known, asking), id)


def delete_saved_memory(
    id: int,  # noqa: A002 - the key of the listing
    *,
    restore: bool = False,
    db: Database | None = None,
    settings: Given = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Take a saved memory off the list; it is kept, and `restore=True` brings it back.

    Returns:
        `(True, id, "")`; `unchanged` where the scope sees no such memory, whether there is one or not; restoring what
        another on the list says gives `duplicate` with the id of that.

    Raises:
        MessageError: `id` is no whole number.
        StoreWriteError: nothing was changed.
    """
    known_db, known, asking = call_with(db, settings, scope)
    viewer = recent_conversations.viewer_of(known_db, known, asking)
    return saved_memories.delete(known_db, viewer, id, restore=restore)


def get_user_memory_prompt(
    *, db: Database | None = None, settings: Given = None, scope: Scope | None = None
) -> str | None:
    """Return recent conversations, then saved memories, each between its two lines; None where there is nothing.

    At most RECENT_IN_PROMPT and SAVED_IN_PROMPT, the newest, oldest of them first. A part that cannot be read is absent
    and logged.
    """
    return memory_prompt.text(*call_with(db, settings, scope))


def load_memory(*, db: Database | None = None, settings: Given = None, scope: Scope | None = None) -> LoadedMemory:
    """Return both lists as data, `{"recent": [...], "saved": [...]}`, oldest first; one that is not read is empty.

    Raises:
        StoreReadError: nothing could be read.
    """
    return memory_prompt.load(*call_with(db, settings, scope))


def get_system_prompt_with_memory(
    base: str, *, db: Database | None = None, settings: Given = None, scope: Scope | None = None
) -> str:
    """Return base, one empty line, and the memory prompt; base alone where there is none.

    Raises:
        MessageError: `base` is no text.
    """
    if not isinstance(base, str):
        raise MessageError(f"base is of type {type(base).__name__}. It must be a text.", fields=("base",))
    memory = memory_prompt.text(*call_with(db, settings, scope))
    return base if memory is None else f"{base}\n\n{memory}"


def memory_tools(
    form: ToolForm = "openai", *, db: Database | None = None, settings: Given = None, scope: Scope | None = None
) -> list[dict[str, Any]]:
    """Return the tools to offer to the model now: the memory tool, or nothing while it is switched off.

    Args:
        form: `openai` and `anthropic` for native tool calling, `xml` for calls written into the reply.

    Raises:
        ValueError: another form.
    """
    return memory_tool.offered(call_with(db, settings, scope)[1], form)


def parse_tool_call(
    reply: Any,
    *,
    db: Database | None = None,  # noqa: ARG001 - every door takes it
    settings: Given = None,  # noqa: ARG001
    scope: Scope | None = None,  # noqa: ARG001
) -> list[ToolCall]:
    """Return the calls of the memory tool in a model's reply, in order; calls of other tools are left out.

    Args:
        reply: the text; or for native tool calling the message, its `tool_calls`, or its content blocks.

    Returns:
        A call that is broken or incomplete has no content, and the reason as `error`.

    Raises:
        MessageError: neither a text, a mapping nor a list.
    """
    return memory_tool.parse(reply)


def run_tool_call(
    call: ToolCall,
    *,
    said: str | None = None,
    db: Database | None = None,
    settings: Given = None,
    scope: Scope | None = None,
) -> ToolAnswer:
    """Do one call of the memory tool in the scope, and return success, message and the answer in the call's own form.

    Args:
        call: one that `parse_tool_call` gave.
        said: the person's message, where only an explicit wish is to be followed; None trusts the model.

    Returns:
        `success` is False where nothing was stored; `message` then begins with the reason of `add_saved_memory`.

    Raises:
        MessageError: `call` is of another type.
    """
    return memory_tool.run(*call_with(db, settings, scope), call, said)
