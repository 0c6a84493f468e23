"""Rules for values stored with a message, for choosing message recaps, and for hiding messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypedDict, get_args

from ..base.hints import hint_name, shown
from ..errors import MessageError

INCLUDED = "Recap of message(s)"
"""Value of `include` for a recap that prompts show."""

DEFAULT_PERCENT = 10
Reason = Literal["", "program", "excluded", "user", "thought", "system", "narrator", "disabled", "short"]
"""program: the program's own system message. excluded: marked `exclude`. user, thought, system, narrator: the message's
role. disabled: its character is disabled in the group. short: fewer tokens than MESSAGE_LENGTH_THRESHOLD."""

Provenance = Literal["model", "extract", "manual", "import"]
"""model: written by a model. extract: chosen from the text. manual: by a person or the host. import: from a file."""


def check_provenance(provenance: str) -> None:
    if provenance not in get_args(Provenance):
        raise ValueError(f"provenance is {shown(provenance)}. It must be model, extract, manual or import.")


Kind = Literal["text", "switch", "texts", "number", "object"]

KINDS: dict[str, Kind] = {
    "memory": "text",
    "include": "text",
    "prefill": "text",
    "reasoning": "text",
    "error": "text",
    "edited": "switch",
    "exclude": "switch",
    "scene_break": "switch",
    "scene_break_visible": "switch",
    "scene_break_name": "text",
    "scene_recap_memory": "text",
    "scene_recap_versions": "texts",
    "scene_recap_current_index": "number",
    "scene_recap_metadata": "object",
    "auto_scene_break_checked": "switch",
}
"""Kind of each key, in the order in which `get_data` returns values."""

SCENE = frozenset(key for key in KINDS if key.startswith("scene_"))
"""Keys of the scene that ends with the message."""

IN_DATA = ("prefill", "reasoning", "error", "auto_scene_break_checked")
"""Keys stored in the JSON column of a recap; each other key has its own column."""

READABLE = (*KINDS, "stale", "provenance")
"""Keys that `get_data` accepts; only the program sets the last two."""

_WANTED: dict[Kind, str] = {
    "text": "a text or None",
    "switch": "True, False or None",
    "texts": "a list of texts or None",
    "number": "a whole number of at least 0, or None",
    "object": "an object (dict) or None",
}


def check_key(key: object, known: tuple[str, ...] = tuple(KINDS)) -> str:
    if isinstance(key, str) and key in known:
        return key
    what = f"{shown(key)} is no key of a message's data.{hint_name(key, known)} Known are {', '.join(known)}."
    raise ValueError(what)


def read_value(key: str, value: object) -> Any:
    """Check the value for `key` and return its stored form; None (also for a switch that is off) stores nothing."""
    kind = KINDS[key]
    if value is None:
        return None
    if kind == "text" and isinstance(value, str):
        return value
    if kind == "switch" and isinstance(value, (bool, int)) and value in (0, 1):
        return True if value else None
    if kind == "texts" and isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return list(value)
    if kind == "number" and isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31:
        return value
    if kind == "object" and isinstance(value, Mapping):
        return dict(value)
    raise MessageError(f"{key} is of type {type(value).__name__}. It must be {_WANTED[kind]}.", fields=(key,))


def limit_tokens(limit: int, kind: Literal["percent", "absolute"], context_tokens: int) -> int:
    """Return `limit` in tokens: unchanged if `absolute`, else this percentage of `context_tokens`, rounded down."""
    if kind == "absolute":
        return limit
    return context_tokens * (limit if limit <= 100 else DEFAULT_PERCENT) // 100


def choose(candidates: Iterable[tuple[int, int]], limit: int, *, separator_tokens: int = 0) -> tuple[int, ...]:
    """Return the row ids of the newest recaps that together fit `limit` tokens; a candidate is `(row id, tokens)`."""
    chosen: list[int] = []
    total = -separator_tokens
    for row_id, tokens in candidates if limit > 0 else ():
        total += tokens + separator_tokens
        if total > limit:
            break
        chosen.append(row_id)
    return tuple(chosen)


def concatenate(memories: Iterable[str]) -> str:
    """Return recaps as one text, one per line; line breaks inside a recap become spaces."""
    return "\n".join(filter(None, (" ".join(filter(None, map(str.strip, text.splitlines()))) for text in memories)))


class HidePlan(TypedDict):
    """Messages to hide and to show, as ascending ranges `(first index, last index)`."""

    hide: list[tuple[int, int]]
    show: list[tuple[int, int]]


def plan_hiding(start: int, hidden: Sequence[bool | None]) -> HidePlan:
    """Return the changes that hide messages before index `start` and show later ones; None in `hidden` stays hidden."""
    return {
        "hide": ranges(at for at, is_hidden in enumerate(hidden[:start]) if is_hidden is False),
        "show": ranges(at for at, is_hidden in enumerate(hidden[start:], start) if is_hidden),
    }


def last_hidden_scene(breaks: Sequence[int], hidden: Sequence[bool | None]) -> int | None:
    """Return the last break among the first messages that an import hid (None in `hidden`); None without a break."""
    end = next((at for at, is_hidden in enumerate(hidden) if is_hidden is not None), len(hidden))
    return max((at for at in breaks if at < end), default=None)


def ranges(indexes: Iterable[int]) -> list[tuple[int, int]]:
    stretches: list[tuple[int, int]] = []
    for index in sorted(set(indexes)):
        if stretches and index == stretches[-1][1] + 1:
            stretches[-1] = (stretches[-1][0], index)
        else:
            stretches.append((index, index))
    return stretches
