"""Which message recaps take part, and which of them fit."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple, get_args

from ...text.thoughts import strip_thoughts

INCLUDED = "Recap of message(s)"
"""Value of `include` of a recap that is shown."""

DEFAULT_PERCENT = 10

Reason = Literal["", "program", "excluded", "user", "thought", "system", "narrator", "disabled", "short"]
"""program: the program's own system message. excluded: marked `exclude`. user, thought, system, narrator: its role.
disabled: its character is disabled in the group. short: fewer tokens than MESSAGE_LENGTH_THRESHOLD."""


Provenance = Literal["model", "extract", "manual", "import"]
"""model: a model wrote it. extract: chosen from the text. manual: a person or the host. import: from a file."""


def check_provenance(provenance: str) -> None:
    """Raise ValueError unless a text may be from there."""
    if provenance not in get_args(Provenance):
        raise ValueError(f"provenance is {str(provenance)[:40]!r}. It must be model, extract, manual or import.")


class Wording(NamedTuple):
    """How a host wants a model to be asked for a recap, where not as the template has it."""

    prompt: str = ""
    """What is asked; blank is the template."""
    prefill: str = ""
    """What the answer begins with."""


def read_wording(payload: Mapping[str, Any]) -> Wording:
    """Return the wording an operation carries; what is no text is none."""
    found = (payload.get(name) for name in Wording._fields)
    return Wording(*(value if isinstance(value, str) else "" for value in found))


_PLACE = re.compile(r"\{\{\s{0,9}(speaker|message)\s{0,9}\}\}")


def fill_prompt(prompt: str, speaker: str, message: str) -> str:
    """Return a host's own prompt with speaker and message in their places; without a place they follow it."""
    values = {"speaker": speaker, "message": message}
    if any(place[1] == "message" for place in _PLACE.finditer(prompt)):
        return _PLACE.sub(lambda place: values[place[1]], prompt)
    return f"{prompt}\n\nSaid by: {speaker}\nMessage: {message}"


def join_prefill(prefill: str, reply: str) -> str:
    """Return a reply with its beginning, which some models say again and some do not."""
    if not prefill:
        return reply
    said = strip_thoughts(reply)
    return said if said.startswith(prefill.strip()) else prefill + said


@dataclass(frozen=True, slots=True)
class Message:
    """What decides whether a message takes part."""

    role: str = "user"
    is_program: bool = False
    """The program's own system message."""
    is_excluded: bool = False
    sender_id: str = ""
    sender_name: str = ""
    is_disabled: bool = False
    """Its character was disabled when it was stored."""
    tokens: int | None = None
    """Tokens of its text as counted; None where MESSAGE_LENGTH_THRESHOLD does not ask."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The settings that decide it."""

    user: bool = True
    system: bool = True
    narrator: bool = True
    threshold: int = 0
    """MESSAGE_LENGTH_THRESHOLD, tokens."""
    factor: float = 1.0
    """TOKEN_CORRECTION."""
    disabled: Collection[str] = frozenset()
    """Sender ids or names of characters that are disabled in the group."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A recap on its way through the limit."""

    row_id: int
    tokens: int
    """As counted, without correction."""


def left_out(message: Message, rules: Rules) -> Reason:
    """Return the first rule by which a message is left out, blank for one that takes part."""
    checks: tuple[tuple[Reason, bool], ...] = (
        ("program", message.is_program),
        ("excluded", message.is_excluded),
        ("user", message.role == "user" and not rules.user),
        ("thought", message.role == "thought"),
        ("system", message.role == "system" and not rules.system),
        ("narrator", message.role == "narrator" and not rules.narrator),
        ("disabled", message.is_disabled or _is_among(message, rules.disabled)),
        ("short", is_short(message.tokens or 0, rules)),
    )
    return next((reason for reason, holds in checks if holds), "")


def is_short(tokens: int, rules: Rules) -> bool:
    """Return whether a text has fewer tokens than MESSAGE_LENGTH_THRESHOLD, as corrected."""
    return rules.threshold > 0 and corrected(tokens, rules.factor) < rules.threshold


def _is_among(message: Message, disabled: Collection[str]) -> bool:
    names = (message.sender_id, message.sender_name)
    return any(name and name in disabled for name in names)


def corrected(tokens: int, factor: float) -> int:
    """Return tokens times the factor, rounded up; the factor is taken as it is written, not as its binary neighbour."""
    return tokens if factor == 1 else math.ceil(tokens * Fraction(str(factor)))


def limit_tokens(limit: int, kind: Literal["percent", "absolute"], context_tokens: int) -> int:
    """Return how many tokens recaps may take: a share of the context rounded down, or the number itself."""
    if kind == "absolute":
        return limit
    return context_tokens * (limit if limit <= 100 else DEFAULT_PERCENT) // 100


def choose(
    candidates: Iterable[Candidate], limit: int, *, separator_tokens: int = 0, factor: float = 1.0
) -> tuple[int, ...]:
    """Return the row ids of the recaps that fit, newest first."""
    return tuple(_fitting(candidates, limit, separator_tokens, factor)) if limit > 0 else ()


def _fitting(candidates: Iterable[Candidate], limit: int, separator: int, factor: float) -> Iterator[int]:
    total = 0
    for at, each in enumerate(candidates):
        total += each.tokens + (separator if at else 0)
        if corrected(total, factor) > limit:
            return
        yield each.row_id


def one_line(memory: str) -> str:
    """Return a recap as one line: line breaks become one space."""
    return " ".join(part for part in (line.strip() for line in memory.splitlines()) if part)


def concatenate(memories: Iterable[str]) -> str:
    """Return recaps as they are presented: oldest first, one a line."""
    return "\n".join(line for line in map(one_line, memories) if line)
