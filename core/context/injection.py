"""The position of the running recap in a prompt, as a word, and as the numbers that chat programs use for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypedDict, get_args

from ..base.hints import shown
from ..config.flags import RecapPosition, RecapRole

KEY = "auto_recap_scene"
"""Key under which a chat program registers the running recap."""

POSITIONS: tuple[RecapPosition, ...] = get_args(RecapPosition)
ROLES: tuple[RecapRole, ...] = get_args(RecapRole)

Numbering = Literal["host", "seed"]
"""host: numbering of chat programs, in which 2 is before_prompt. seed: the same, but 2 is after_prompt."""

_NUMBERS: Mapping[str | None, int] = {None: -1, "in_prompt": 0, "in_chat": 1, "before_prompt": 2, "after_prompt": 1}
_POSITIONS: tuple[RecapPosition, ...] = ("in_prompt", "in_chat", "before_prompt")


class Injection(TypedDict):
    """A text to insert into a prompt, and its position. JSON keys appear in this order."""

    key: str
    value: str
    """Text to insert, blank for none."""
    position: RecapPosition
    depth: int
    """For in_chat: number of chat messages after the text, including the new message."""
    scan: bool
    """Whether the host scans the text for the host's own triggers."""
    role: RecapRole


def check_position(value: object) -> RecapPosition:
    return POSITIONS[_find_index(value, "position", POSITIONS)]


def check_role(value: object) -> RecapRole:
    return ROLES[_find_index(value, "role", ROLES)]


def check_depth(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"depth is {shown(value)}. It must be a whole number of at least 0.")
    return value


def _find_index(value: object, name: str, known: tuple[str, ...]) -> int:
    if value in known:
        return known.index(value)
    quoted = [repr(each) for each in known]
    raise ValueError(f"{name} is {shown(value)}. It must be {', '.join(quoted[:-1])} or {quoted[-1]}.")


def to_number(position: str | None) -> int:
    """Return the number (0 to 2) of a recap position, or -1 for None (no recap inserted).

    after_prompt shares number 1 with in_chat; `to_numbers` also sets its depth to 1.

    Raises:
        ValueError: no such position.

    >>> [to_number(name) for name in ("in_prompt", "in_chat", "before_prompt", None, "after_prompt")]
    [0, 1, 2, -1, 1]
    """
    return _NUMBERS[None if position is None else check_position(position)]


def from_number(number: object, numbering: Numbering | str = "host") -> RecapPosition | None:
    """Return the recap position with this number in a `numbering`, or None (no recap inserted) for -1.

    Args:
        number: -1, 0, 1 or 2.
        numbering: `host`; with `seed`, 2 is after_prompt.

    Raises:
        ValueError: no such number or numbering.

    >>> [from_number(number) for number in (0, 1, 2, -1)], from_number(2, "seed")
    (['in_prompt', 'in_chat', 'before_prompt', None], 'after_prompt')
    """
    if _find_index(numbering, "numbering", get_args(Numbering)) == 1 and number == 2:
        return "after_prompt"
    if isinstance(number, int) and not isinstance(number, bool) and -1 <= number < len(_POSITIONS):
        return None if number == -1 else _POSITIONS[number]
    raise ValueError(f"The number of a position is {shown(number)}. It must be -1, 0, 1 or 2.")


def to_numbers(injection: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of an injection in which position and role are numbers, as chat programs expect them.

    after_prompt becomes position 1 with depth 1; a blank value gets -1 (not inserted).

    Args:
        injection: result of `get_running_recap_injection`.

    Raises:
        ValueError: `injection` is no injection, or its position or role is unknown.

    >>> made = {"key": KEY, "value": "x", "position": "after_prompt", "depth": 2, "scan": False, "role": "system"}
    >>> to_numbers(made)
    {'key': 'auto_recap_scene', 'value': 'x', 'position': 1, 'depth': 1, 'scan': False, 'role': 0}
    """
    missing = [name for name in ("position", "depth", "role", "value") if name not in injection]
    if missing:
        raise ValueError(f"injection has no {missing[0]!r}. It must be what get_running_recap_injection gave.")
    position = check_position(injection["position"])
    return {
        **injection,
        "position": to_number(position if injection["value"] else None),
        "depth": 1 if position == "after_prompt" else injection["depth"],
        "role": _find_index(injection["role"], "role", ROLES),
    }
