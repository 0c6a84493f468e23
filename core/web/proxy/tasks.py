"""Distinguish people's messages from a front end's own requests for titles, tags or summaries. Pure.

One sign is not enough: people also ask for titles. In doubt a message counts as the person's: a turn that is not stored
is lost, whereas a stored task can be deleted.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from .messages import find_last_user, read_question, read_text

SHORT_TOKENS = 64
"""A request that limits its answer to at most this number of tokens comes from a program, not from a person."""
READ_CHARS = 10_000
"""Number of characters read at each end of a longer message, since instructions are in its first or last lines."""
COMMAND_CHARS = 2500
"""Maximum number of characters of a system message that may be an order; longer messages describe a persona."""

_RESULT = re.compile(
    r"\b(titles?|names?|topics?|tags?|labels?|keywords?|emojis?|summar\w+|recaps?|quer(?:y|ies)|follow-ups?|json|"
    r"classify|prompts?)\b|标题|主题|总结|概括|关键词",
    re.IGNORECASE,
)
"""Results that a front end's task asks for."""
_LIMIT = re.compile(
    r"\b(?:\d+|one|two|three|four|five|six|ten)(?:\s?(?:-|to|or)\s?\w+)?[- ](?:words?|characters?|tags)\b"
    r"(?:[- ]or[- ](?:less|fewer))?"
    r"|\bor (?:less|fewer)\b|\bnothing (?:else|but)\b|\bno (?:\w+ ){0,2}(?:quot|punctuat)\w+"
    r"|\bwithout any\b|\bremove enclosing\b|\bjson (?:format|object)\b|\bignore (?:all )?previous instructions\b"
    r"|\b(?:only|just)[\w* ]{0,12} (?:return|give|provide|output|respond|reply|the (?:title|name|summary))\b"
    r"|\b(?:return|give|provide|output|respond|reply)[\w* ]{0,12} (?:only|exclusively)\b"
    r"|\bto use as a prompt\b|\bstrictly\b|\bno other (?:text|words)\b|\bnew summary\s*:"
    r"|不要|字以内|字内|直接返回|只返回",
    re.IGNORECASE,
)
"""Limits on the answer's form, as programs set them. People may set one or two limits."""
_CHAT = re.compile(
    r"(?i)\b(?:conversation|discussion|chat|session|dialogue|story|roleplay|message)\b|对话|聊天|会话|这句话"
)
_QUOTED_CHAT = re.compile(
    r"<(?:chat_history|conversation|messages?|history)>|\bchat history\s*:|\bconversation\s*:"
    r"|^\W{0,4}(?:user|human|assistant|ai|bot|q|a)\W{0,2}:|\"role\"\s*:\s*\"(?:user|assistant)\"",
    re.IGNORECASE | re.MULTILINE,
)
_IGNORE = r"(?:ignore (?:all )?previous instructions|pause your roleplay)\b"
_OPENING = re.compile(rf"\A\W*(?:task:|{_IGNORE})", re.IGNORECASE)
_ORDER = (
    rf"\W*(?:{_IGNORE}\W*)?(?:please )?(?:briefly )?(?:summari[sz]e|classify|简要总结|总结|使用"
    r"|(?:generate|create|write|provide|give|suggest|name)\b[^.\n]{0,80}\b(?:title|topic|tags?|summary|keywords?|name)\b)"
)
"""Orders in a system message for a result other than the persona's next line."""
_ORDER_FIRST = re.compile(rf"\A{_ORDER}", re.IGNORECASE)
_ORDER_IN_BRACKETS = re.compile(rf"\A\s*\[(?={_IGNORE}){_ORDER}[^\]]*\]\s*\Z", re.IGNORECASE)
_ORDER_WITHIN = re.compile(rf"(?:\A|[.!\n]){_ORDER}", re.IGNORECASE)
_OTHER_LINE = re.compile(rf"\A\W*(?:write your next reply from|continue\b|{_IGNORE})", re.IGNORECASE)
"""System messages in which role-play front ends ask for another text than the persona's next line."""


def name_task(headers: Mapping[str, str], body: Mapping[str, Any], persona: str = "") -> str:
    """Return why a request is not stored: asked (X-Store), short, no_user_line, no_text, task; "" for a turn."""
    if headers.get("x-store", "").strip().lower() in ("no", "false", "0"):
        return "asked"
    for name in ("max_tokens", "max_completion_tokens", "max_output_tokens"):
        limit = body.get(name)
        if isinstance(limit, int) and not isinstance(limit, bool) and 0 < limit <= SHORT_TOKENS:
            return "short"
    messages = body.get("messages")
    last = find_last_user(messages, persona)
    if last is None or not isinstance(messages, list):
        return "no_user_line"
    if not read_text(messages[last].get("content")).strip():
        return "no_text"
    return "task" if is_task(messages, last) else ""


def is_task(messages: Sequence[Any], last: int) -> bool:
    """Return whether a front end wrote the last message: it asks for a result about the chat, in a limited form."""
    question = read_question(messages[last].get("content"))
    asked = question if len(question) <= READ_CHARS else f"{question[:READ_CHARS]}\n{question[-READ_CHARS:]}"
    before, behind = _read_commands(messages[:last]), _read_commands(messages[last + 1 :])
    if any(_OTHER_LINE.match(text) or (_ORDER_FIRST.match(text) and _is_request(text)) for text in behind):
        return True
    if question != read_text(messages[last].get("content")):
        return False
    roles = [each.get("role") for each in messages if isinstance(each, dict)]
    if roles.count("user") > 1 or "assistant" in roles:
        limits = 0 if _ORDER_IN_BRACKETS.match(asked) else 3
        return len(asked) <= COMMAND_CHARS and _is_request(asked, limits)
    if any(_OPENING.match(text) and _is_request(text) and "</context>" not in text for text in before):
        return True
    if not _QUOTED_CHAT.search(asked):
        return False
    return _is_request(asked) or any(_ORDER_WITHIN.search(text) and _is_request(text) for text in before)


def _is_request(text: str, limits: int = 1) -> bool:
    return bool(_RESULT.search(text) and _CHAT.search(text)) and len(_LIMIT.findall(text)) >= limits


def _read_commands(messages: Sequence[Any]) -> list[str]:
    system = [each for each in messages if isinstance(each, dict) and each.get("role") in ("system", "developer")]
    texts = [read_text(each.get("content")) for each in system]
    return [text for text in texts if len(text) <= COMMAND_CHARS]
