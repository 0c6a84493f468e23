"""An operation that makes a text of a story: what it works with, what a model is asked, which answers count."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import llm
from ..access import table_participants
from ..config import Settings
from ..database.compiled import Reader
from ..database.engine import Database
from ..errors import ModelError
from ..jobs.handlers import Tools
from ..messages import table_lines
from ..messages.table_lines import Line
from ..shapes import Operation
from ..templates.render import Renderer
from ..templates.words import refused_patterns
from ..text.replies import is_unreadable, judge_refusal, read_object, strip_thoughts
from ..text.sizes import Counter, to_json
from .calls import choose_counter
from .refresh import left_out

SHARE = 0.7
"""Part of CONTEXT_TOKENS that what a model is to read may take; the rest is for instructions and answer."""
OVERHEAD_TOKENS = 12
"""Of one message beside its text: name, number, signs of the JSON."""
KEYS = ("recap", "memory", "scene_recap", "running_recap", "summary")
"""Keys of a reply under which the text may stand."""

UNREADABLE = "unreadable"
"""Reason why a reply is refused that is no text: an object of other keys, or one too long to be read."""


@dataclass(frozen=True, slots=True)
class Task:
    """An operation about a stored conversation whose stories are on."""

    operation: Operation
    conversation: str
    db: Database
    settings: Settings
    model: Any
    """None where there is none, and where what was said may not leave the machine."""
    count: Counter
    read: Reader
    notes: list[str]
    """Those of the tools."""

    @property
    def persona(self) -> str:
        return self.operation.persona

    @property
    def provenance(self) -> str:
        return "extract" if self.model is None else "model"

    @property
    def room(self) -> int:
        """Return how many tokens of texts a model is given at once."""
        return max(1, math.floor(self.settings.context_tokens * SHARE))

    def read_lines(self, rows: Sequence[int]) -> list[Line]:
        """Return the messages a text may be made of: no setting leaves them out, and nobody at level full said them."""
        lines = table_lines.read_lines(self.read, self.persona, rows)
        with self.db.connection(source="participants") as connection:
            lines = table_participants.keep_allowed(connection, self.persona, lines, self.settings.privacy_default)
        measures = self.settings.message_length_threshold > 0
        return [
            line
            for line in lines
            if line.text.strip() and not left_out(line, self.settings, (), self.count(line.text) if measures else None)
        ]

    def ask(self, template: str, **values: Any) -> str:
        """Return the model's answer to a template; lists and objects among the values are handed over as JSON."""
        texts = {name: to_json(value) if isinstance(value, (list, dict)) else value for name, value in values.items()}
        question = Renderer(self.settings.templates_dir).text(template, **texts)
        return llm.ask(self.model, [{"role": "user", "content": question}], self.settings)

    def ask_text(self, template: str, **values: Any) -> str:
        """Return the text of the model's answer; raise ModelError for an answer that is none."""
        text = read_text(self.ask(template, **values))
        if is_unreadable(text):
            raise ModelError(UNREADABLE)
        return text

    def judge(self, text: str, current: str) -> str:
        """Return why a text must not take the place of the current one; blank when it may."""
        return judge_refusal(text, current, patterns=refused_patterns(self.settings.templates_dir))

    def check(self, text: str, current: str) -> str:
        """Return a text that may take the place of the current one, blank for an extract that may not.

        Raises:
            ModelError: a model's text may not, so it is asked again later.
        """
        reason = self.judge(text, current)
        if reason and self.model is not None:
            raise ModelError(reason)
        return "" if reason else text


def open_task(operation: Operation, tools: Tools) -> Task | None:
    """Return the task of an operation; None where its conversation is gone, or stories are off for it."""
    if operation.conversation is None:
        return None
    read = tools.db.read
    place = table_lines.find_place(read, operation.persona, operation.conversation)
    if place is None or place.stories_off:
        return None
    stays = place.local_only and tools.settings.prompt_destination != "local"
    return Task(
        operation, operation.conversation, tools.db, tools.settings, None if stays else tools.model,
        choose_counter(None, tools.settings), read, tools.notes,
    )  # fmt: skip


def read_text(reply: str) -> str:
    """Return the text a reply holds: under one of `KEYS` of its object, else the reply without think-blocks."""
    answer = read_object(reply, KEYS, fits=lambda each: any(isinstance(each.get(key), str) for key in KEYS))
    if answer is not None:
        return next(str(answer[key]).strip() for key in KEYS if isinstance(answer.get(key), str))
    return strip_thoughts(reply).strip()


def cut_pieces(entries: Iterable[Mapping[str, str]], key: str, count: Counter, room: int) -> list[list[dict[str, str]]]:
    """Return entries in groups that take at most `room` tokens; an entry whose text is longer is cut in parts."""
    pieces: list[list[dict[str, str]]] = []
    used = 0
    for entry in entries:
        tokens = count(entry[key])
        size = min(tokens, room) + OVERHEAD_TOKENS
        for part in cut_text(entry[key], tokens, room):
            if not pieces or used + size > room:
                pieces.append([])
                used = 0
            pieces[-1].append({**entry, key: part})
            used += size
    return pieces


def cut_text(text: str, tokens: int, room: int) -> list[str]:
    """Return a text in as many equal parts as it needs for each to take at most about `room` tokens."""
    size = max(1, math.ceil(len(text) / max(1, math.ceil(tokens / room))))
    return [text[at : at + size] for at in range(0, len(text), size)] or [text]
