"""Model calls of story operations: the inputs of an operation, its questions to a model, and checks of the answers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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
"""Share of CONTEXT_TOKENS for the texts that a model reads; the rest is for instructions and the answer."""
OVERHEAD_TOKENS = 12
"""Tokens of one message besides its text: name, number, JSON punctuation."""
KEYS = ("recap", "memory", "scene_recap", "running_recap", "summary")
"""Keys of a JSON reply that may hold the text."""

UNREADABLE = "unreadable"
"""Reason for refusing a reply without a usable text: an object with other keys, or an overlong one."""


@dataclass(frozen=True, slots=True)
class Task:
    """An operation about a stored conversation with stories switched on."""

    operation: Operation
    conversation: str
    db: Database
    settings: Settings
    model: Any
    """Model to ask; None if there is none, or if the conversation must stay on this machine."""
    count: Counter
    read: Reader
    notes: list[str]
    """Notes of the operation's tools."""

    @property
    def persona(self) -> str:
        return self.operation.persona

    @property
    def provenance(self) -> str:
        return "extract" if self.model is None else "model"

    @property
    def room(self) -> int:
        """Return how many tokens of text a model gets at once."""
        return max(1, math.floor(self.settings.context_tokens * SHARE))

    def read_lines(self, rows: Sequence[int]) -> list[Line]:
        """Return the messages that a text may use: not excluded, of nobody at level full; the id for a missing name."""
        lines = table_lines.read_lines(self.read, self.persona, rows)
        with self.db.connection(source="participants") as connection:
            lines = table_participants.keep_allowed(connection, self.persona, lines, self.settings.privacy_default)
        measures = self.settings.message_length_threshold > 0
        return [
            line if line.sender_name else replace(line, sender_name=line.sender_id)
            for line in lines
            if line.text.strip() and not left_out(line, self.settings, (), self.count(line.text) if measures else None)
        ]

    def ask(self, template: str, **values: Any) -> str:
        """Return the model's answer to a rendered template; lists and objects among the values become JSON."""
        texts = {name: to_json(value) if isinstance(value, (list, dict)) else value for name, value in values.items()}
        question = Renderer(self.settings.templates_dir).text(template, **texts)
        return llm.ask(self.model, [{"role": "user", "content": question}], self.settings)

    def ask_text(self, template: str, **values: Any) -> str:
        """Return the text of the model's answer; raise ModelError if the answer has none."""
        text = read_text(self.ask(template, **values))
        if is_unreadable(text):
            raise ModelError(UNREADABLE)
        return text

    def judge(self, text: str, current: str) -> str:
        """Return the reason why a text must not replace the current one, or ""."""
        return judge_refusal(text, current, patterns=refused_patterns(self.settings.templates_dir))

    def check(self, text: str, current: str) -> str:
        """Return a text that may replace the current one; "" for an extract that may not.

        Raises:
            ModelError: a model's text may not replace it, so the model is asked again later.
        """
        reason = self.judge(text, current)
        if reason and self.model is not None:
            raise ModelError(reason)
        return "" if reason else text


def open_task(operation: Operation, tools: Tools) -> Task | None:
    """Return the task of an operation; None if its conversation is gone or has stories switched off."""
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
    """Return the text of a reply: the value of one of `KEYS` in its object, else the reply without think-blocks."""
    answer = read_object(reply, KEYS, fits=lambda each: any(isinstance(each.get(key), str) for key in KEYS))
    if answer is not None:
        return next(str(answer[key]).strip() for key in KEYS if isinstance(answer.get(key), str))
    return strip_thoughts(reply).strip()


def cut_pieces(entries: Iterable[Mapping[str, str]], key: str, count: Counter, room: int) -> list[list[dict[str, str]]]:
    """Return entries in groups of at most `room` tokens; an entry with a longer text is split."""
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
    """Return a text in equal parts of about `room` tokens or less."""
    size = max(1, math.ceil(len(text) / max(1, math.ceil(tokens / room))))
    return [text[at : at + size] for at in range(0, len(text), size)] or [text]
