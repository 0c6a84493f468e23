"""The memory tool as models call it: offered, read from replies, done, answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base import logs
from ..calls.call import GivenSettings, open_call
from ..config import Settings
from ..database.engine import Database
from ..errors import MessageError, StoreError
from ..memories.rules_modes import is_tool_offered
from ..scope import Scope
from ..shapes import ToolAnswer, ToolCall, ToolForm
from ..text.replies import strip_thoughts
from . import rules_tool_calls
from .saved import save_memory

SAVED = "saved"
_WHY = {
    "disabled": "disabled: saving memories is switched off here",
    "empty": "empty: there is nothing to remember in it",
    "too_long": "too_long: say it in fewer words",
    "not_explicit": "not_explicit: the person did not ask to remember anything",
    "privacy": "privacy: nothing of this person may be saved",
    "duplicate": "duplicate: this is saved already",
}


def memory_tools(
    form: ToolForm = "openai", *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> list[dict[str, Any]]:
    """Return the tools to offer to the model now: the memory tool, or nothing while it is switched off.

    Args:
        form: `openai` and `anthropic` for native tool calling, `xml` for calls written into the reply.

    Returns:
        One definition, or []: MEMORY_MODE, ENABLE_SAVED_MEMORY and ENABLED_TOOL_IDS decide.

    Raises:
        ValueError: another form.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.conversations import memory_tools
    >>> db = open_database("sqlite://")
    >>> [tool["name"] for tool in memory_tools("anthropic", db=db)]
    ['memoryTool']
    >>> db.close()
    """
    definition = rules_tool_calls.build_definition(form)
    return [definition] if _is_offered(open_call(db, settings, scope).settings) else []


def _is_offered(settings: Settings) -> bool:
    return is_tool_offered(
        settings.memory_mode, settings.enable_saved_memory, rules_tool_calls.NAME, settings.enabled_tool_ids
    )


def parse_tool_call(
    reply: Any,
    *,
    db: Database | None = None,  # noqa: ARG001 - every door takes it
    settings: GivenSettings = None,  # noqa: ARG001
    scope: Scope | None = None,  # noqa: ARG001
) -> list[ToolCall]:
    """Return the calls of the memory tool in a model's reply, in order; calls of other tools are left out.

    Args:
        reply: the text; or for native tool calling the message, its `tool_calls`, or its content blocks.

    Returns:
        A call that is broken or incomplete has no content, and the reason as `error`.

    Raises:
        MessageError: neither a text, a mapping nor a list.

    >>> from prompt_engine.conversations import parse_tool_call
    >>> reply = "<use_tool><name>memoryTool</name><memoryContent>Ann likes tea</memoryContent></use_tool>"
    >>> [call.content for call in parse_tool_call(reply)]
    ['Ann likes tea']
    """
    if isinstance(reply, str):
        return rules_tool_calls.read_text_calls(strip_thoughts(reply))
    if not isinstance(reply, (Mapping, list, tuple)):
        raise MessageError(
            f"reply is of type {type(reply).__name__}. Pass the model's text, its message, or its list of tool calls.",
            fields=("reply",),
        )
    calls = rules_tool_calls.read_native_calls(reply)
    content = reply.get("content") if isinstance(reply, Mapping) else None
    return calls or (rules_tool_calls.read_text_calls(strip_thoughts(content)) if isinstance(content, str) else [])


def run_tool_call(
    call: ToolCall,
    *,
    said: str | None = None,
    message_id: object = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> ToolAnswer:
    """Do one call of the memory tool in the scope, and return success, message and the answer in the call's own form.

    Args:
        call: one that `parse_tool_call` gave.
        said: the person's message, where only a request to remember is to be followed; None trusts the model.
        message_id: the person's message, as for `add_saved_memory`.

    Returns:
        `success` is False where nothing was stored; `message` then begins with the reason of `add_saved_memory`.

    Raises:
        MessageError: `call` is of another type.

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.conversations import parse_tool_call, run_tool_call
    >>> db, scope = open_database("sqlite://"), Scope("iris", "tg/42", "tg/7")
    >>> reply = "<use_tool><name>memoryTool</name><memoryContent>Ann likes tea</memoryContent></use_tool>"
    >>> [run_tool_call(call, db=db, scope=scope)["message"] for call in parse_tool_call(reply)]
    ['saved']
    >>> db.close()
    """
    opened = open_call(db, settings, scope)
    if not isinstance(call, ToolCall):
        raise MessageError(
            f"call is of type {type(call).__name__}. Pass one of those `parse_tool_call` gives.", fields=("call",)
        )
    if call.error:
        return _answer(call, False, f"error: {call.error}")
    if call.name != rules_tool_calls.NAME or not _is_offered(opened.settings):
        return _answer(call, False, _WHY["disabled"])
    try:
        result = save_memory(opened, call.content, said, message_id=message_id)
    except StoreError as error:
        logs.warning("memory_tool_failed", source=error.source, number=error.number)
        return _answer(call, False, f"error: it could not be saved ({type(error).__name__})")
    message = SAVED if result.stored else _WHY.get(result.reason, result.reason)
    return _answer(call, result.stored, message, result.id)


def _answer(call: ToolCall, success: bool, message: str, row_id: int | None = None) -> ToolAnswer:
    reply = rules_tool_calls.build_answer(call, success, message)
    return {"success": success, "message": message, "id": row_id, "reply": reply}
