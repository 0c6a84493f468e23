"""The memory tool in three forms of one definition, and calls of it read from replies. Pure.

| form      | the model is told                             | the model calls by                                  |
|-----------|-----------------------------------------------|-----------------------------------------------------|
| xml       | name, argument and the text of a call         | `<use_tool>` anywhere in its reply                  |
| openai    | a function with a JSON schema                 | `{"type": "function", "function": {...}}`           |
| anthropic | a tool with an `input_schema`                 | `{"type": "tool_use", "name": ..., "input": {...}}` |

Called by `conversations.memory_tool`. A call holds what is to be remembered and nothing else: who is asking comes
from the scope alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from ..shapes import ToolCall, ToolForm
from ..text.folding import clean

NAME = "memoryTool"
ARGUMENT = "memoryContent"
ALIAS = "statement"
DESCRIPTION = (
    "Saves one fact for later conversations. Call it only when the person explicitly asks to remember something "
    "('remember that', 'don't forget'). Write the fact as one short sentence of its own, in the person's language, "
    "with the person's name in place of 'I': others may read it."
)
MOST_CALLS = 50
"""Most calls read from one reply."""
ERROR_CHARS = 200

_ARGUMENT_ABOUT = "What to remember, as one short sentence that is clear without the conversation."


# Definitions


def build_schema() -> dict[str, Any]:
    """Return the JSON schema of the tool's arguments: one required text, its alias, and nothing else."""
    return {
        "type": "object",
        "properties": {
            ARGUMENT: {"type": "string", "description": _ARGUMENT_ABOUT},
            ALIAS: {"type": "string", "description": f"Another name of {ARGUMENT}; leave it out."},
        },
        "required": [ARGUMENT],
        "additionalProperties": False,
    }


def build_definition(form: str) -> dict[str, Any]:
    """Return the tool as a model of this form is told of it."""
    if form == "openai":
        return {
            "type": "function",
            "function": {"name": NAME, "description": DESCRIPTION, "parameters": build_schema()},
        }
    if form == "anthropic":
        return {"name": NAME, "description": DESCRIPTION, "input_schema": build_schema()}
    if form == "xml":
        call = f"<use_tool><name>{NAME}</name><{ARGUMENT}>...</{ARGUMENT}></use_tool>"
        return {"name": NAME, "description": DESCRIPTION, "arguments": {ARGUMENT: _ARGUMENT_ABOUT}, "call": call}
    raise ValueError(f"form is {str(form)[:40]!r}. It must be one of {', '.join(map(repr, get_args(ToolForm)))}.")


# Calls in a text

_OPEN = re.compile(r"<[ \t]{0,8}use_tool[ \t]{0,8}>")
_CLOSE = re.compile(r"</[ \t]{0,8}use_tool[ \t]{0,8}>")
_NAME_OPEN, _NAME_CLOSE = re.compile(r"<[ \t]{0,8}name[ \t]{0,8}>"), re.compile(r"</[ \t]{0,8}name[ \t]{0,8}>")
_CONTENT = {
    word: (re.compile(rf"<[ \t]{{0,8}}{word}[ \t]{{0,8}}>"), re.compile(rf"</[ \t]{{0,8}}{word}[ \t]{{0,8}}>"))
    for word in (ARGUMENT, ALIAS)
}
_ENTITY = re.compile(r"&(lt|gt|amp|quot|apos|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});")
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}


def decode_entities(text: str) -> str:
    """Return the text with the five entities of XML and numbered ones decoded, once."""

    def one(found: re.Match[str]) -> str:
        word = found.group(1)
        if word in _NAMED:
            return _NAMED[word]
        number = int(f"0{word[1:]}" if word[1] in "xX" else word[1:], 0)
        return chr(number) if 0 < number < 0x110000 else found.group()

    return clean(_ENTITY.sub(one, text))


def read_text_calls(text: str) -> list[ToolCall]:
    """Return the calls of the memory tool in a reply, in order; calls of other tools are not ours and left out."""
    made = [_read_call(part) for part in _parts(text)]
    return [call for call in made if call is not None]


def _parts(text: str) -> Iterator[str]:
    """Yield what each opening leads to: up to the next opening, or the end."""
    openings = [found.span() for _, found in zip(range(MOST_CALLS + 1), _OPEN.finditer(text), strict=False)]
    for (_, start), (end, _) in zip(openings[:MOST_CALLS], [*openings[1:], (len(text), 0)], strict=False):
        yield text[start:end]


def _between(part: str, opens: re.Pattern[str], closes: re.Pattern[str], at: int = 0) -> tuple[str | None, int]:
    """Return what stands between two tags, and where the second ends; None where one of them is missing."""
    first = opens.search(part, at)
    last = closes.search(part, first.end()) if first else None
    return (part[first.end() : last.start()], last.end()) if first and last else (None, at)


def _read_call(part: str) -> ToolCall | None:
    name, after = _between(part, _NAME_OPEN, _NAME_CLOSE)
    if name is not None and name.strip() != NAME:
        return None
    if name is None:
        return _broken("xml", "the call names no tool: <name> is missing or not closed")
    for word, (opens, closes) in _CONTENT.items():
        if not opens.search(part, after):
            continue
        content, end = _between(part, opens, closes, after)
        if content is None:
            return _broken("xml", f"</{word}> is missing")
        if not _CLOSE.search(part, end):
            return _broken("xml", "</use_tool> is missing")
        return ToolCall(NAME, decode_entities(content).strip())
    return _broken("xml", f"<{ARGUMENT}> is missing")


def _broken(form: ToolForm, reason: str, call_id: str = "") -> ToolCall:
    return ToolCall(NAME, "", form, call_id, f"the call cannot be read: {reason}"[:ERROR_CHARS])


# Native calls


def read_native_call(given: Mapping[str, Any]) -> ToolCall | None:
    """Return a native tool call, OpenAI's or Anthropic's, as a call of ours; None for another tool's."""
    function = given.get("function")
    if isinstance(function, Mapping):
        form: ToolForm = "openai"
        name, arguments = function.get("name"), function.get("arguments")
    elif given.get("type") == "tool_use" or "input" in given:
        form, name, arguments = "anthropic", given.get("name"), given.get("input")
    else:
        form, name, arguments = "openai", given.get("name"), given.get("arguments")
    if name != NAME:
        return None
    call_id = given.get("id") or given.get("call_id")
    known = call_id if isinstance(call_id, str) else ""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return _broken(form, "its arguments are no JSON", known)
    return _of_arguments(arguments, form, known)


def _of_arguments(arguments: Any, form: ToolForm, call_id: str) -> ToolCall:
    if not isinstance(arguments, Mapping):
        return _broken(form, "its arguments are no object", call_id)
    unknown = sorted(str(key)[:40] for key in arguments if key not in (ARGUMENT, ALIAS))
    if unknown:
        return _broken(form, f"{unknown[0]!r} is no argument; {ARGUMENT} is the only one", call_id)
    content = arguments.get(ARGUMENT, arguments.get(ALIAS))
    if content is None:
        return _broken(form, f"{ARGUMENT} is missing", call_id)
    if not isinstance(content, str):
        return _broken(form, f"{ARGUMENT} is no text", call_id)
    return ToolCall(NAME, clean(content).strip(), form, call_id)


def read_native_calls(given: Any) -> list[ToolCall]:
    """Return the native calls of the memory tool in a message: its `tool_calls`, its content blocks, or a
    list of them.
    """
    if isinstance(given, Mapping):
        for key in ("tool_calls", "content"):
            if isinstance(given.get(key), Sequence) and not isinstance(given[key], str) and given[key]:
                return read_native_calls(given[key])
        made = read_native_call(given)
        return [] if made is None else [made]
    if isinstance(given, Sequence) and not isinstance(given, (str, bytes)):
        found = (read_native_call(each) for each in list(given)[:MOST_CALLS] if isinstance(each, Mapping))
        return [call for call in found if call is not None]
    return []


# Answers


def build_answer(call: ToolCall, success: bool, message: str) -> Any:
    """Return `{success, message}` in the form the call came in, ready to be handed to the model."""
    if call.form == "xml":
        told = message.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        word = "true" if success else "false"
        return f"<tool_result><name>{NAME}</name><success>{word}</success><message>{told}</message></tool_result>"
    content = json.dumps({"success": success, "message": message}, ensure_ascii=False)
    if call.form == "anthropic":
        return {"type": "tool_result", "tool_use_id": call.call_id, "content": content, "is_error": not success}
    return {"role": "tool", "tool_call_id": call.call_id, "content": content}
