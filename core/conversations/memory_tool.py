"""The memory tool for models: its definition, the calls read from replies, and the answers to them.

| form      | the model reads                               | the model calls by                                  |
|-----------|-----------------------------------------------|-----------------------------------------------------|
| xml       | name, argument and the text of a call         | `<use_tool>` anywhere in its reply                  |
| openai    | a function with a JSON schema                 | `{"type": "function", "function": {...}}`           |
| anthropic | a tool with an `input_schema`                 | `{"type": "tool_use", "name": ..., "input": {...}}` |

A call contains only the text to remember; the asking person comes only from the scope.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Unpack, get_args

from ..base import logs
from ..base.hints import shown
from ..calls.call import Call, CallOptions, open_call, settings_of
from ..config import Settings
from ..errors import MessageError, StoreError
from ..memories.rules import MODES, asked_before
from ..shapes import ToolAnswer, ToolCall, ToolForm
from ..templates.words import phrases_for
from ..text.folding import clean
from ..text.replies import strip_thoughts
from .saved import save_memory

NAME = "memoryTool"
REPORT_KEY = "memory_tool"
"""Key of the report under which the result of `save_before_generation` is stored."""
ARGUMENT = "memoryContent"
ALIAS = "statement"
DESCRIPTION = (
    "Saves one fact for later conversations. Call it only when the person explicitly asks to remember something "
    "('remember that', 'don't forget'). Write the fact as one short sentence of its own, in the person's language, "
    "with the person's name in place of 'I': others may read it."
)
MOST_CALLS = 50

_ARGUMENT_ABOUT = "What to remember, as one short sentence that is clear without the conversation."
_WHY = {
    "disabled": "disabled: saving memories is switched off here",
    "empty": "empty: there is nothing to remember in it",
    "too_long": "too_long: say it in fewer words",
    "not_explicit": "not_explicit: the person did not ask to remember anything",
    "privacy": "privacy: nothing of this person may be saved",
    "duplicate": "duplicate: this is saved already",
}


def memory_tools(form: ToolForm = "openai", **options: Unpack[CallOptions]) -> list[dict[str, Any]]:
    """Return the tools to offer to the model: the memory tool, or [] while the memory tool is switched off.

    Args:
        form: `openai` and `anthropic` for native tool calling, `xml` for calls written into the reply.

    Returns:
        One definition, or [], depending on MEMORY_MODE, ENABLE_SAVED_MEMORY and ENABLED_TOOL_IDS.
    """
    definition = build_definition(form)
    return [definition] if is_offered(open_call(**options).settings) else []


def is_offered(settings: Settings) -> bool:
    is_listed = not settings.enabled_tool_ids or NAME in settings.enabled_tool_ids
    return settings.enable_saved_memory and MODES[settings.memory_mode].saves and is_listed


def parse_tool_call(reply: Any, **options: Unpack[CallOptions]) -> list[ToolCall]:
    """Parse the calls of the memory tool in a model's reply, in order; calls of other tools are left out.

    Args:
        reply: the text; or for native tool calling the message, its `tool_calls`, or its content blocks.

    Returns:
        One ToolCall for each call; a broken or incomplete call has no content, and the reason in `error`.

    >>> from prompt_engine.conversations import parse_tool_call
    >>> reply = "<use_tool><name>memoryTool</name><memoryContent>Ann likes tea</memoryContent></use_tool>"
    >>> [call.content for call in parse_tool_call(reply)]
    ['Ann likes tea']
    """
    settings_of(options)
    if isinstance(reply, str):
        return read_text_calls(strip_thoughts(reply))
    if not isinstance(reply, (Mapping, list, tuple)):
        raise MessageError.of_type("reply", reply, "the model's text, its message, or its list of tool calls")
    calls = read_native_calls(reply)
    content = reply.get("content") if isinstance(reply, Mapping) else None
    return calls or (read_text_calls(strip_thoughts(content)) if isinstance(content, str) else [])


def run_tool_call(
    call: ToolCall, *, said: str | None = None, message_id: object = None, **options: Unpack[CallOptions]
) -> ToolAnswer:
    """Run one call of the memory tool in the scope, and return success, message and the answer in the call's form.

    Args:
        call: a result of `parse_tool_call`.
        said: the person's message; a memory is saved only if the message asks for it. None trusts the model.
        message_id: id of the person's message, as for `add_saved_memory`.

    Returns:
        `success` is False if nothing was stored; `message` then begins with `error` or a reason of `add_saved_memory`.
    """
    opened = open_call(**options)
    if not isinstance(call, ToolCall):
        raise MessageError.of_type("call", call, "one that `parse_tool_call` returned")
    if call.error:
        return _answer(call, False, f"error: {call.error}")
    if call.name != NAME or not is_offered(opened.settings):
        return _answer(call, False, _WHY["disabled"])
    try:
        result = save_memory(opened, call.content, said, message_id=message_id)
    except StoreError as error:
        logs.warning("memory_tool_failed", source=error.source, number=error.number)
        return _answer(call, False, f"error: it could not be saved ({type(error).__name__})")
    message = "saved" if result.stored else _WHY.get(result.reason, result.reason)
    if result.similar is not None:
        message += f"; an older memory of {result.similar['day']} is about the same: {result.similar['text']}"
    return _answer(call, result.stored, message, result.id)


def _answer(call: ToolCall, success: bool, message: str, row_id: int | None = None) -> ToolAnswer:
    return {"success": success, "message": message, "id": row_id, "reply": build_answer(call, success, message)}


def save_before_generation(call: Call, text: str, message_id: object = None) -> dict[str, Any] | None:
    """Save a fact if a message asks for it and MEMORY_MODE is plus; return the entry for the report, or None."""
    settings = call.settings
    if MODES[settings.memory_mode].how != "before" or not is_offered(settings):
        return None
    request = asked_before(text, phrases_for(text, settings))
    if request is None:
        return None
    content, by = request
    stored = save_memory(call, content, message_id=message_id)
    return {"call": NAME, "by": by, "stored": stored.stored, "id": stored.id, "reason": stored.reason}


def build_definition(form: str) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {
            ARGUMENT: {"type": "string", "description": _ARGUMENT_ABOUT},
            ALIAS: {"type": "string", "description": f"Another name of {ARGUMENT}; leave it out."},
        },
        "required": [ARGUMENT],
        "additionalProperties": False,
    }
    if form == "openai":
        return {"type": "function", "function": {"name": NAME, "description": DESCRIPTION, "parameters": schema}}
    if form == "anthropic":
        return {"name": NAME, "description": DESCRIPTION, "input_schema": schema}
    if form == "xml":
        call = f"<use_tool><name>{NAME}</name><{ARGUMENT}>...</{ARGUMENT}></use_tool>"
        return {"name": NAME, "description": DESCRIPTION, "arguments": {ARGUMENT: _ARGUMENT_ABOUT}, "call": call}
    raise ValueError(f"form is {shown(form)}. It must be one of {', '.join(map(repr, get_args(ToolForm)))}.")


def _build_tag(word: str, slash: str = "") -> re.Pattern[str]:
    """Compile a pattern for an element's tag; it allows extra spaces, which models add."""
    return re.compile(rf"<{slash}[ \t]{{0,8}}{word}[ \t]{{0,8}}>")


def read_text_calls(text: str) -> list[ToolCall]:
    parts = _build_tag("use_tool").split(text, MOST_CALLS)[1:]
    return [call for part in parts if (call := _read_call(part)) is not None]


def _read_element(part: str, word: str, at: int = 0) -> tuple[str | None, int]:
    """Return (content, end) of the first element with this name; the content is None if one of its tags is missing."""
    first = _build_tag(word).search(part, at)
    last = _build_tag(word, "/").search(part, first.end()) if first else None
    return (part[first.end() : last.start()], last.end()) if first and last else (None, at)


def _read_call(part: str) -> ToolCall | None:
    name, after = _read_element(part, "name")
    if name is not None and name.strip() != NAME:
        return None
    if name is None:
        return _broken("xml", "the call names no tool: <name> is missing or not closed")
    word = next((word for word in (ARGUMENT, ALIAS) if _build_tag(word).search(part, after)), None)
    if word is None:
        return _broken("xml", f"<{ARGUMENT}> is missing")
    content, end = _read_element(part, word, after)
    if content is None:
        return _broken("xml", f"</{word}> is missing")
    if not _build_tag("use_tool", "/").search(part, end):
        return _broken("xml", "</use_tool> is missing")
    return ToolCall(NAME, clean(html.unescape(content)).strip())


def _broken(form: ToolForm, reason: str, call_id: str = "") -> ToolCall:
    return ToolCall(NAME, "", form, call_id, f"the call cannot be read: {reason}"[:200])


def read_native_calls(given: Any) -> list[ToolCall]:
    """Parse the calls of the memory tool in a message: in its `tool_calls`, its content blocks, or a list of calls."""
    if isinstance(given, Mapping):
        calls = next((c for key in ("tool_calls", "content") if (c := given.get(key)) and _is_list(c)), None)
        given = [given] if calls is None else calls
    if not _is_list(given):
        return []
    read = (_read_native_call(each) for each in islice(given, MOST_CALLS) if isinstance(each, Mapping))
    return [call for call in read if call is not None]


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _read_native_call(given: Mapping[str, Any]) -> ToolCall | None:
    """Parse a call in OpenAI's or Anthropic's form; None if it calls another tool."""
    function = given.get("function")
    form: ToolForm = "openai"
    named = function if isinstance(function, Mapping) else given
    arguments = named.get("arguments")
    if named is given and (given.get("type") == "tool_use" or "input" in given):
        form, arguments = "anthropic", given.get("input")
    if named.get("name") != NAME:
        return None
    given_id = given.get("id") or given.get("call_id")
    call_id = given_id if isinstance(given_id, str) else ""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return _broken(form, "its arguments are no JSON", call_id)
    if not isinstance(arguments, Mapping):
        return _broken(form, "its arguments are no object", call_id)
    if unknown := sorted(str(key)[:40] for key in arguments if key not in (ARGUMENT, ALIAS)):
        return _broken(form, f"{unknown[0]!r} is no argument; {ARGUMENT} is the only one", call_id)
    content = arguments.get(ARGUMENT, arguments.get(ALIAS))
    if not isinstance(content, str):
        return _broken(form, f"{ARGUMENT} is {'missing' if content is None else 'no text'}", call_id)
    return ToolCall(NAME, clean(content).strip(), form, call_id)


def build_answer(call: ToolCall, success: bool, message: str) -> Any:
    if call.form == "xml":
        shown, word = html.escape(message, quote=False), "true" if success else "false"
        return f"<tool_result><name>{NAME}</name><success>{word}</success><message>{shown}</message></tool_result>"
    content = json.dumps({"success": success, "message": message}, ensure_ascii=False)
    if call.form == "anthropic":
        return {"type": "tool_result", "tool_use_id": call.call_id, "content": content, "is_error": not success}
    return {"role": "tool", "tool_call_id": call.call_id, "content": content}
