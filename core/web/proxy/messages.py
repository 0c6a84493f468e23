"""Read the messages of a request, and insert texts into them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from uuid import uuid4

from ...text.replies import strip_thoughts

MessagesKey = Literal["messages", "input"]
"""Field of a request with the messages: `messages` in Chat Completions, `input` in the Responses API."""
_INSTRUCTIONS = "%instructions"
"""Type of the message that is made from the field `instructions` of the Responses API."""
_RESULTS = ("_output", "_response")
"""Item-type suffixes of tool results (Responses API)."""
_BEHIND = ("system", "developer", "tool", "function", None)
"""Roles that may follow the person's last message in its turn; calls and results in the Responses API have no role."""
_INSERTED = re.compile(
    r"\A\s*(?:(?:### Task:|The user has attached |Use the following )(?:.*</(?:context|files?)>)"
    r"|(?:Context:\s*)?\[CONTEXT 0\]:.*\[END CONTEXT \d+\]"
    r"|Attached document\(s\):\s*```.*\n```)\s*",
    re.DOTALL,
)
"""Text that Open WebUI, LibreChat and AnythingLLM put before the person's words: instructions and documents."""
_GUIDELINE = re.compile(r"\A(?:- [^\n]*|(?:Use the context|In your response,|Given the context)[^\n]*)\s*")
"""A line with an instruction that follows the inserted documents."""
_QUERY = re.compile(r"\A<user_query>(.*)</user_query>\s*\Z", re.DOTALL)
_ASKED = re.compile(
    r"\A\s*(?:Use|Based on|Given) the following\b.*\n\s*(?:Query|Question):\s*(\S.*?)"
    r"(?:\n\s*(?:Helpful )?Answer:\s*)?\Z",
    re.DOTALL,
)
_LABEL = (
    r"\[\s*(?:author'?s note|system(?: note)?|style|genre|tags|scenario|setting|instructions?|reminder|note|"
    r"write (?:the|your) next|start a new|continue your)\b[^\]]*\]"
)
_NOTES = re.compile(rf"\A(?:\s*{_LABEL}[ \t]*(?:\n|\Z))+|(?:\n[ \t]*{_LABEL}\s*)+\Z", re.IGNORECASE)
"""Notes that role-play front ends add to the person's message, in separate paragraphs."""
_TEXT_PARTS = ("text", "input_text", "output_text")
"""Types of message parts that hold text, in Chat Completions and in the Responses API."""
_APART = re.compile("reason|think|thought", re.IGNORECASE)
"""Types of message parts that hold thoughts."""
_PERSONA = re.compile(r"^[ \t]*X-Persona-Id:[ \t]*(\S[^\r\n]*?)[ \t]*(?:\r?\n|\Z)", re.IGNORECASE | re.MULTILINE)


def read_messages(body: Mapping[str, Any], key: MessagesKey) -> Any:
    """Return the messages of a request; the field `instructions` of the Responses API becomes a system message."""
    said = body.get(key)
    if key == "messages":
        return said
    said = [{"role": "user", "content": said}] if isinstance(said, str) else [] if said is None else said
    instructions = body.get("instructions")
    if isinstance(said, list) and isinstance(instructions, str):
        return [{"type": _INSTRUCTIONS, "role": "system", "content": instructions}, *said]
    return said


def write_messages(body: Mapping[str, Any], said: Sequence[Any], key: MessagesKey) -> dict[str, Any]:
    """Replace the messages of a request by `said`; an `input` that was a text stays a text if possible."""
    if key == "messages":
        return {**body, key: said}
    instructions = [each for each in said if isinstance(each, dict) and each.get("type") == _INSTRUCTIONS]
    items = [each for each in said if each not in instructions]
    is_text = isinstance(body.get(key), str) and len(items) == 1
    made = {**body, key: items[0]["content"] if is_text else items} if items or key in body else {**body}
    if instructions:
        made["instructions"] = instructions[0]["content"]
    elif isinstance(body.get("instructions"), str):
        del made["instructions"]
    return made


def read_previous(body: Mapping[str, Any]) -> str:
    """Return an id for the earlier messages that the model server holds; "" if the request holds all messages.

    A repeated `previous_response_id` is the same id; a request with `conversation` gets a new id at each call.
    """
    previous, conversation = body.get("previous_response_id"), body.get("conversation")
    if previous and isinstance(previous, str):
        return previous
    return uuid4().hex if conversation and isinstance(conversation, (str, dict)) else ""


def split_persona_line(messages: Any) -> tuple[str, Any]:
    """Return (persona named by a line of a system message, or ""; the messages without that line).

    Front ends insert the line by a macro. A message that contains nothing else is removed.
    """
    for index, message in enumerate(messages if isinstance(messages, list) else ()):
        if isinstance(message, dict) and message.get("role") in ("system", "developer"):
            text = read_text(message.get("content"))
            if match := _PERSONA.search(text):
                left = text[: match.start()] + text[match.end() :]
                kept = [{**message, "content": left}] if left.strip() else []
                return match[1], [*messages[:index], *kept, *messages[index + 1 :]]
    return "", messages


def is_own_name(name: object, persona: str) -> bool:
    """Return whether an assistant's line has the persona's name or no name; `Mira_Vale` equals Mira Vale."""
    return not isinstance(name, str) or not name.strip() or _fold_name(name) == _fold_name(persona)


def _fold_name(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


def find_last_user(messages: Any, persona: str = "") -> int | None:
    """Return the index of the person's last message; None if that message is already answered.

    Tool calls and lines of other characters are not answers. A front end's note is chosen only if the person wrote
    nothing else.
    """
    if not isinstance(messages, list):
        return None
    note, is_called = None, False
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index] if isinstance(messages[index], dict) else {}
        role = message.get("role")
        if role == "user" and is_note(message):
            note = index if note is None else note
            continue
        if role == "user":
            return index
        is_called = is_called or (role is None and str(message.get("type")).endswith(_RESULTS))
        is_other = persona and not is_own_name(message.get("name"), persona)
        calls_tool = message.get("tool_calls") or message.get("function_call")
        if role not in _BEHIND and not (role == "assistant" and (is_called or calls_tool or is_other)):
            break
    return note


def read_text(content: Any) -> str:
    """Join the text parts of a message's content, one line each."""
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if _is_text(part))
    return content if isinstance(content, str) else ""


def read_words(message: Any) -> str:
    """Return the text of an assistant's message: words, refusal or transcript, without thoughts."""
    if not isinstance(message, dict):
        return message if isinstance(message, str) else ""
    kind, content = message.get("type"), message.get("content")
    if isinstance(kind, str) and _APART.search(kind):
        return ""
    words = "".join(map(read_words, content)) if isinstance(content, list) else read_words(content)
    sound = message["audio"] if isinstance(message.get("audio"), dict) else message
    texts = [each if isinstance(each, str) else "" for each in map(message.get, ("text", "refusal"))]
    transcript = sound.get("transcript")
    return words + "".join(texts) or (transcript if isinstance(transcript, str) else "")


def read_question(content: Any) -> str:
    """Return the person's own words, without text that a front end added; if unsure, the whole text."""
    text = read_text(content)
    own = _INSERTED.sub("", text)
    if own != text:
        while (guideline := _GUIDELINE.match(own)) and guideline.end():
            own = own[guideline.end() :]
    query = _QUERY.match(own) or _ASKED.match(own)
    own = query[1] if query else own
    own = _NOTES.sub("", own)
    return (own.strip() if own != text else text) or text


def is_note(message: Any) -> bool:
    """Return whether a user message holds only notes of a role-play front end."""
    text = read_text(message.get("content"))
    return bool(text.strip()) and not _NOTES.sub("", text).strip()


def strip_name(text: str, name: str) -> str:
    """Remove the speaker's name, which some front ends put before the text: `Ann: Hello.`"""
    head, colon, said = text.partition(": ")
    return said if colon and said.strip() and _fold_name(head) == _fold_name(name) else text


def read_lines(messages: Sequence[Any], persona: str, speaker: str = "") -> list[dict[str, Any]]:
    """Convert messages of people (named `speaker` if they have no name), persona and characters to transcript lines."""
    lines = []
    people = [each for each in messages if isinstance(each, dict) and each.get("role") == "user"]
    has_words = not all(is_note(each) for each in people)
    for message in messages:
        role = message.get("role") if isinstance(message, dict) else None
        is_left_out = role == "user" and has_words and is_note(message)
        if role in ("user", "assistant") and not is_left_out:
            content = message.get("content")
            text = read_question(content) if role == "user" else strip_thoughts(read_words(message))
            name = message.get("name")
            is_other = role == "assistant" and not is_own_name(name, persona)
            own = name if isinstance(name, str) and name else speaker if role == "user" else persona
            text = strip_name(text, own)
            lines.append({"role": "character" if is_other else role, "content": text, "name": name})
    return lines


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in _TEXT_PARTS and isinstance(part.get("text"), str)


def put_before(messages: Sequence[Any], index: int, text: str) -> list[Any]:
    """Insert a text before the content of one message, or before its first text part; return all messages."""
    content = messages[index]["content"]
    if isinstance(content, str):
        content = text + content
    else:
        at = next(number for number, each in enumerate(content) if _is_text(each))
        content = [*content[:at], {**content[at], "text": text + content[at]["text"]}, *content[at + 1 :]]
    return [*messages[:index], {**messages[index], "content": content}, *messages[index + 1 :]]
