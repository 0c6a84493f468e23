"""Read the messages of a request: the person's last message, and the lines that are stored. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...text.thoughts import strip_thoughts
from .json_text import Path

_BEHIND = ("system", "developer", "tool", "function")
"""Roles of messages that may follow the person's last one within its turn."""
_RETRIEVED = re.compile(r"\A\s*### Task:.*</context>\s*", re.DOTALL)
"""What Open WebUI puts in front of a question: instructions and the documents that it found."""
_QUERY = re.compile(r"\A<user_query>(.*)</user_query>\s*\Z", re.DOTALL)


def find_last_user(messages: Any) -> int | None:
    """Return the index of the person's last message, None where it was answered; tool calls are no answer."""
    if not isinstance(messages, list):
        return None
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index] if isinstance(messages[index], dict) else {}
        role = message.get("role")
        if role == "user":
            return index
        if role not in _BEHIND and not (role == "assistant" and _calls_tool(message)):
            return None
    return None


def find_text(messages: Sequence[Any], index: int) -> Path:
    """Return the path of the text of a message: its content, or that of its first text part."""
    content = messages[index].get("content")
    if isinstance(content, str):
        return "messages", index, "content"
    part = next(number for number, each in enumerate(content) if _is_text(each))
    return "messages", index, "content", part, "text"


def read_text(content: Any) -> str:
    """Return the text of a message's content, of parts the texts in lines of their own."""
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if _is_text(part))
    return content if isinstance(content, str) else ""


def read_question(content: Any) -> str:
    """Return what a person wrote, without what a front end put in front of it."""
    text = read_text(content)
    question = _RETRIEVED.sub("", text)
    query = _QUERY.match(question)
    return (query[1].strip() if query else question) or text


def read_lines(messages: Sequence[Any]) -> list[dict[str, Any]]:
    """Return what people and persona said, as a transcript reads it."""
    lines = []
    for message in messages:
        role = message.get("role") if isinstance(message, dict) else None
        if role in ("user", "assistant"):
            content = message.get("content")
            text = read_question(content) if role == "user" else strip_thoughts(read_text(content))
            lines.append({"role": role, "content": text, "name": message.get("name")})
    return lines


def _calls_tool(message: Mapping[str, Any]) -> bool:
    return bool(message.get("tool_calls") or message.get("function_call"))


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)
