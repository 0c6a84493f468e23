"""Which modes read and save memories; `docs/conversations.md` has the same table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ..text.remember_phrases import Phrases, is_request, says_something

How = Literal["tool", "before", "-"]
"""When a memory is saved. tool: when the model calls the tool. before: from the message, before its answer. -: never"""


@dataclass(frozen=True, slots=True)
class Mode:
    reads: bool
    """Whether prompts show memories."""
    saves: bool
    """Whether a model, or the engine for it, may save things said in a conversation; hosts and people may in every
    mode."""
    how: How


MODES: Mapping[str, Mode] = {
    "agent": Mode(True, True, "tool"),
    "plus": Mode(True, True, "before"),
    "basic": Mode(True, False, "-"),
    "project": Mode(False, False, "-"),
}


_CALL = re.compile(r"(?<![\w@./+-])@memory(?![\w@-]|\.\w)[ \t]*[:,]?", re.IGNORECASE)


def asked_before(text: str, known: Sequence[Phrases]) -> tuple[str, Literal["@memory", "phrase"]] | None:
    """Return the text that a message asks to save, and whether it asks by `@memory` or by a phrase; else None."""
    call = _CALL.search(text)
    if call is None:
        return (text, "phrase") if is_request(text, known) and says_something(text, known) else None
    parts = (text[call.end() :].strip(), text[: call.start()].strip())
    return next((part for part in parts if says_something(part, known)), ""), "@memory"
