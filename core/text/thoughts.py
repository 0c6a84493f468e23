"""Remove what a model thought from what it said: one function for model replies, the proxy and the importers."""

from __future__ import annotations

import re

_TAG = re.compile(
    r"(?<![^`]`)(?<!\A`)(?:<(/?)(think|thinking|thought|reasoning|seed:think|ant(?:ml:)?thinking)(?:\s[^<>]{0,200})?(/?)>"
    r"|◁(/?)think▷"
    r"|\[(/?)THINK\])",
    re.IGNORECASE,
)
"""A tag around thoughts; one directly behind a single backtick is quoted, not used."""
_DETAILS = re.compile(
    r"<details\s[^<>]{0,500}\btype=\"(?:reasoning|tool_calls|code_interpreter)\"[^<>]{0,500}>", re.IGNORECASE
)
_DETAILS_END = "</details>"
"""How Open WebUI folds thoughts and tool calls into an answer."""
_ANALYSIS = "<|channel|>analysis"
_FINAL = "<|channel|>final<|message|>"
"""The channels of gpt-oss, as servers that do not separate them pass them on."""


def strip_thoughts(reply: str) -> str:
    """Return a model's reply without its thoughts, trimmed.

    A tag that is never closed hides the rest only where the reply begins with it. A closing tag alone ends thoughts
    that began before the reply.
    """
    if _ANALYSIS in reply:
        reply = reply.rpartition(_FINAL)[2].partition("<|")[0] if _FINAL in reply else ""
    reply = _strip_details(reply)
    said: list[str] = []
    inside, opened_at, end = "", 0, 0
    for tag in _TAG.finditer(reply):
        name = (tag[2] or tag[0].strip("<>◁▷[]/")).lower()
        closes, alone = bool(tag[1] or tag[4] or tag[5]), bool(tag[3])
        if inside:
            if closes and name == inside:
                inside, end = "", tag.end()
            continue
        if not closes:
            said.append(reply[end : tag.start()])
            inside = "" if alone else name
            opened_at = tag.start()
        end = tag.end()
    if inside and reply[:opened_at].strip():
        said.append(reply[opened_at:])
    elif not inside:
        said.append(reply[end:])
    return "".join(said).strip()


def _strip_details(reply: str) -> str:
    said: list[str] = []
    end = 0
    for tag in _DETAILS.finditer(reply):
        if tag.start() < end:
            continue
        closing = reply.find(_DETAILS_END, tag.end())
        if closing < 0:
            break
        said.append(reply[end : tag.start()])
        end = closing + len(_DETAILS_END)
    return "".join(said) + (reply[end:].lstrip() if end else reply)
