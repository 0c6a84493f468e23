"""Where the running recap is put among the parts of a prompt, and the numbers other programs use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, get_args

from ..config.flags import RecapPosition, RecapRole

KEY = "auto_recap_scene"
"""Key the running recap is registered under."""

POSITIONS: tuple[RecapPosition, ...] = get_args(RecapPosition)
ROLES: tuple[RecapRole, ...] = get_args(RecapRole)

Numbering = Literal["host", "seed"]
"""host: as chat programs number positions. seed: the same, but 2 is after_prompt."""

NONE = -1
_POSITIONS: dict[int, RecapPosition | None] = {NONE: None, 0: "in_prompt", 1: "in_chat", 2: "before_prompt"}


class Injection(TypedDict):
    """What is to be put into a prompt, and where. Keys stand in this order."""

    key: str
    value: str
    """Blank when nothing is to be put in."""
    position: RecapPosition
    depth: int
    """For in_chat: how many chat messages, the new one counted, come after it."""
    scan: bool
    """Whether the host is to look in it for its own triggers."""
    role: RecapRole


def check_position(value: object) -> RecapPosition:
    """Return the position, when it is one of the four."""
    return POSITIONS[_find_index(value, "position", POSITIONS)]


def check_role(value: object) -> RecapRole:
    """Return the role, when it is one of the three."""
    return ROLES[_find_index(value, "role", ROLES)]


def _find_index(value: object, name: str, known: Sequence[str]) -> int:
    if isinstance(value, str) and value in known:
        return known.index(value)
    quoted = [repr(each) for each in known]
    raise ValueError(f"{name} is {_quote(value)}. It must be {', '.join(quoted[:-1])} or {quoted[-1]}.")


def check_depth(value: object) -> int:
    """Return the depth, when it is a whole number of at least 0."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"depth is {_quote(value)}. It must be a whole number of at least 0.")
    return value


def _quote(value: object) -> str:
    return repr(value[:40]) if isinstance(value, str) else repr(value)[:40]


# Numbers, for the hosts that use them


def to_number(position: str | None) -> int:
    """Return the number of a position; None is -1, nowhere.

    after_prompt has none of its own: it is in_chat, 1, with depth 1 (`to_numbers`).

    Args:
        position: before_prompt, in_prompt, in_chat or after_prompt; None for nowhere.

    Returns:
        0 to 2, or -1 for nowhere; after_prompt, which has no number of its own, is 1 with depth 1.

    Raises:
        ValueError: no such position.

    >>> [to_number(name) for name in ("in_prompt", "in_chat", "before_prompt", None, "after_prompt")]
    [0, 1, 2, -1, 1]
    """
    known = None if position is None else check_position(position)
    return next((number for number, name in _POSITIONS.items() if name == known), 1)


def from_number(number: object, numbering: Numbering | str = "host") -> RecapPosition | None:
    """Return the position of a number, None for -1, nowhere.

    Args:
        number: -1, 0, 1 or 2.
        numbering: `host`, or `seed`, where 2 is after_prompt.

    Returns:
        in_prompt for 0, in_chat for 1, before_prompt for 2.

    Raises:
        ValueError: no such number or numbering.

    >>> [from_number(number) for number in (0, 1, 2, -1)], from_number(2, "seed")
    (['in_prompt', 'in_chat', 'before_prompt', None], 'after_prompt')
    """
    if numbering not in get_args(Numbering):
        raise ValueError(f"numbering is {_quote(numbering)}. It must be 'host' or 'seed'.")
    if isinstance(number, int) and not isinstance(number, bool) and number in _POSITIONS:
        position = _POSITIONS[number]
        return "after_prompt" if numbering == "seed" and position == "before_prompt" else position
    raise ValueError(f"The number of a position is {_quote(number)}. It must be -1, 0, 1 or 2.")


def role_to_number(role: str) -> int:
    """Return the number of a role: system 0, user 1, assistant 2.

    Args:
        role: system, user or assistant.

    Returns:
        0 to 2.

    Raises:
        ValueError: no such role.

    >>> [role_to_number(name) for name in ("system", "user", "assistant")]
    [0, 1, 2]
    """
    return _find_index(role, "role", ROLES)


def role_from_number(number: object) -> RecapRole:
    """Return the role of a number.

    Args:
        number: 0, 1 or 2.

    Returns:
        system, user or assistant.

    Raises:
        ValueError: none of 0, 1, 2.

    >>> role_from_number(2)
    'assistant'
    """
    if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < len(ROLES):
        return ROLES[number]
    raise ValueError(f"The number of a role is {_quote(number)}. It must be 0, 1 or 2.")


def to_numbers(injection: Mapping[str, Any]) -> dict[str, Any]:
    """Return an injection with numbers for position and role, as chat programs take it.

    after_prompt becomes position 1 with depth 1; a blank value goes nowhere, -1.

    Args:
        injection: what `get_running_recap_injection` gave.

    Returns:
        A new dict with the same keys; the one given stays as it is.

    Raises:
        ValueError: it is no injection, or position or role is none of the known.

    >>> made = {"key": KEY, "value": "x", "position": "after_prompt", "depth": 2, "scan": False, "role": "system"}
    >>> to_numbers(made)
    {'key': 'auto_recap_scene', 'value': 'x', 'position': 1, 'depth': 1, 'scan': False, 'role': 0}
    """
    given = injection if isinstance(injection, Mapping) else {}
    for name in ("position", "depth", "role", "value"):
        if name not in given:
            raise ValueError(f"injection has no {name!r}. It must be what get_running_recap_injection gave.")
    position = check_position(given["position"])
    return {
        **given,
        "position": to_number(position) if given["value"] else NONE,
        "depth": 1 if position == "after_prompt" else given["depth"],
        "role": role_to_number(given["role"]),
    }
