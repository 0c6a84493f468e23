"""The memory tool as models call it: offered, read from replies, done, answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base import logs
from ..config import Settings
from ..database.engine import Database
from ..errors import MessageError, StoreError
from ..memories.rules_modes import is_tool_offered
from ..scope import Scope
from ..shapes import ToolAnswer, ToolCall, ToolForm
from ..text.replies import without_thoughts
from . import rules_tool_calls as tool_calls
from . import saved as saved_memories

SAVED = "saved"
_WHY = {
    "disabled": "disabled: saving memories is switched off here",
    "empty": "empty: there is nothing to remember in it",
    "too_long": "too_long: say it in fewer words",
    "not_explicit": "not_explicit: the person did not ask to remember anything",
    "privacy": "privacy: nothing of this person may be saved",
    "duplicate": "duplicate: this is saved already",
}


def offered(settings: Settings, form: ToolForm) -> list[dict[str, Any]]:
    """Return the definitions to hand to the model: the memory tool, or nothing.

    Raises:
        ValueError: another form.
    """
    made = tool_calls.definition(form)
    known = is_tool_offered(
        settings.memory_mode, settings.enable_saved_memory, tool_calls.NAME, settings.enabled_tool_ids
    )
    return [made] if known else []


def parse(reply: object) -> list[ToolCall]:
    """Return the calls in a reply, in order: of a text those in XML, else native ones.

    Raises:
        MessageError: neither a text, a mapping nor a list.
    """
    if isinstance(reply, str):
        return tool_calls.calls_in(without_thoughts(reply))
    if not isinstance(reply, (Mapping, list, tuple)):
        raise MessageError(
            f"reply is of type {type(reply).__name__}. Pass the model's text, its message, or its list of tool calls.",
            fields=("reply",),
        )
    calls = tool_calls.native_calls(reply)
    content = reply.get("content") if isinstance(reply, Mapping) else None
    return calls or (tool_calls.calls_in(without_thoughts(content)) if isinstance(content, str) else [])


def run(db: Database, settings: Settings, scope: Scope, call: ToolCall, said: str | None) -> ToolAnswer:
    """Do one call and answer it; a store that fails is an answer too.

    Raises:
        MessageError: `call` is none of `parse_tool_call`, or `said` no text.
    """
    if not isinstance(call, ToolCall):
        raise MessageError(
            f"call is of type {type(call).__name__}. Pass one of those `parse_tool_call` gives.", fields=("call",)
        )
    if call.error:
        return _answer(call, False, f"error: {call.error}")
    known = is_tool_offered(
        settings.memory_mode, settings.enable_saved_memory, tool_calls.NAME, settings.enabled_tool_ids
    )
    if call.name != tool_calls.NAME or not known:
        return _answer(call, False, _WHY["disabled"])
    try:
        result = saved_memories.add(db, settings, scope, call.content, said)
    except StoreError as error:
        logs.warning("memory_tool_failed", source=error.source, number=error.number)
        return _answer(call, False, f"error: it could not be saved ({type(error).__name__})")
    message = SAVED if result.stored else _WHY.get(result.reason, result.reason)
    return _answer(call, result.stored, message, result.id)


def _answer(call: ToolCall, success: bool, message: str, row_id: int | None = None) -> ToolAnswer:
    reply = tool_calls.answer(call, success, message)
    return {"success": success, "message": message, "id": row_id, "reply": reply}
