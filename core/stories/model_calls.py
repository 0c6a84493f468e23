"""Asking a model about stories: a template, the data in it as JSON, the answer; texts in pieces a model can take."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from .. import llm
from ..calls import screening
from ..config import Settings
from ..jobs.tools import Tools
from ..messages import table_lines
from ..messages.table_lines import Line, StoryPlace
from ..templates.render import Renderer
from ..templates.words import refused_patterns
from ..text.replies import judge_refusal, read_object, strip_thoughts
from ..text.sizes import to_json

T = TypeVar("T")

SHARE = 0.7
"""Part of CONTEXT_TOKENS that what a model is to read may take; the rest is for instructions and answer."""
OVERHEAD_TOKENS = 12
"""Of one message beside its text: name, number, signs of the JSON."""

FLAGGED = "flagged"
"""Reason of a text that the host's screen has flagged."""
UNREADABLE = "unreadable"
"""Reason why a reply is refused that is no text: an object of other keys, or one too long to be read."""


def ask_model(tools: Tools, template: str, **values: Any) -> str:
    """Return the model's answer to a template; lists and objects among the values are handed over as JSON."""
    texts = {name: to_json(value) if isinstance(value, (list, dict)) else value for name, value in values.items()}
    question = Renderer(tools.settings.templates_dir).text(template, **texts)
    return llm.ask(tools.model, [{"role": "user", "content": question}], tools.settings)


def choose_tools(tools: Tools, place: StoryPlace) -> Tools:
    """Return the tools for a conversation: without a model where what was said there may not leave the machine."""
    stays = place.local_only and tools.settings.prompt_destination != "local"
    return replace(tools, model=None) if stays else tools


def read_open_lines(tools: Tools, persona: str, lines: Sequence[Line]) -> list[Line]:
    """Return the messages a text may be made of and a model may be shown: not of people at level full."""
    with tools.db.connection(source="participants") as connection:
        return table_lines.choose_open(connection, persona, lines, tools.settings.privacy_default)


def read_text(reply: str, keys: Sequence[str]) -> str:
    """Return the text a reply holds: under one of `keys` of its object, else the reply without think-blocks."""
    answer = read_object(reply, keys, fits=lambda each: any(isinstance(each.get(key), str) for key in keys))
    if answer is not None:
        return next(str(answer[key]).strip() for key in keys if isinstance(answer.get(key), str))
    return strip_thoughts(reply).strip()


def reason_against(tools: Tools, text: str, current: str) -> str:
    """Return why a text that was made must not take the place of the current one; blank when it may."""
    why = judge_refusal(text, current, patterns=refused_patterns(tools.settings.templates_dir))
    return why or (FLAGGED if screening.is_flagged(text, "recap")[0] else "")


def room_tokens(settings: Settings) -> int:
    """Return how many tokens of texts a model is given at once."""
    return max(1, math.floor(settings.context_tokens * SHARE))


def cut_pieces(items: Sequence[T], size: Callable[[T], int], room: int) -> list[list[T]]:
    """Return items in groups that take at most `room` together; a larger item is a group of its own."""
    pieces: list[list[T]] = []
    used = 0
    for item in items:
        each = size(item)
        if not pieces or used + each > room:
            pieces.append([])
            used = 0
        pieces[-1].append(item)
        used += each
    return pieces


def cut_text(text: str, tokens: int, room: int) -> list[str]:
    """Return a text in as many equal parts as it needs for each to take at most about `room` tokens."""
    parts = max(1, math.ceil(tokens / room))
    size = max(1, math.ceil(len(text) / parts))
    return [text[at : at + size] for at in range(0, len(text), size)] or [text]
