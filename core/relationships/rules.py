"""Rules for relationships: bounds, decay with absence, checked arguments, results."""

from __future__ import annotations

from datetime import datetime

from typing_extensions import TypedDict  # pydantic reads this one on every Python

from ..base.hints import shown
from ..base.wire_ids import find_whole
from ..errors import MessageError
from ..scope import KEY_BYTES, Scope, key_text
from ..shapes import WriteResult
from ..text.folding import clean

LOWEST_AFFINITY, HIGHEST_AFFINITY = -100, 100
LOWEST_TRUST, HIGHEST_TRUST = 0, 100
MOST_MOVED = 1000
"""Larger changes are cut to this number, which moves any value to a bound and fits every column."""
NAME_CHARS = 255
MOST_LISTED = 500


class Relationship(TypedDict):
    """The persona's relationship to one person. JSON keys appear in this order."""

    user_id: str
    """Participant key."""
    username: str
    """Name of the person; "" until it is known. The same holds for `realname`."""
    realname: str
    affinity: int
    """Affinity, -100 to 100, faded with absence."""
    trust: int
    """Trust, 0 to 100; it does not fade."""
    interaction_count: int
    last_interaction: str | None
    """Time of the last interaction, ISO 8601, UTC; None before the first one."""


class RelationshipInPrompt(TypedDict):
    """The section `relationship` of a prompt. JSON keys appear in this order."""

    affinity: int
    trust: int
    interactions: int


class RelationshipResult(WriteResult):
    """The result of a write: `(stored, None, reason)`, and the relationship after it."""

    relationship: Relationship


def inactive_days(last_interaction: datetime | None, now: datetime, counted: int = 0) -> int:
    """Return the whole days since the last interaction, minus the days `counted` in the stored affinity."""
    return 0 if last_interaction is None else max(0, (now - last_interaction).days - counted)


def decay(base: int, days: int, decay_days: int) -> int:
    """Return the affinity after `days` whole days of absence: it moves linearly to 0 and stops there."""
    days = min(max(days, 0), decay_days)
    lost = (2 * abs(base) * days + decay_days) // (2 * decay_days)
    return base + lost if base < 0 else base - lost


def read_delta(value: object, field: str) -> int:
    """Check a change of affinity or trust, and limit it to -MOST_MOVED to MOST_MOVED."""
    if (whole := find_whole(int(value) if isinstance(value, float) and value.is_integer() else value)) is None:
        text = f"{field} is {shown(value)}. It must be a whole number, such as 5 or -5. Round it before the call."
        raise MessageError(text, fields=(field,))
    return max(-MOST_MOVED, min(MOST_MOVED, whole))


def read_name(value: object, field: str) -> str:
    """Cut a name to 255 characters; None becomes "", which keeps the old name."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise MessageError.of_type(field, value, "a text")
    return clean(value).strip()[:NAME_CHARS]


def key_of(user_id: object, scope: Scope) -> str:
    """Build the participant key of a user id; an id without an interface gets the scope's interface."""
    if user_id is None:
        if not scope.participant:
            raise MessageError("user_id is missing and the scope names no participant. Name one.", fields=("user_id",))
        return scope.participant
    key = key_text(user_id, "user_id", KEY_BYTES["participant"], required=True)
    known = next((each for each in (scope.participant, scope.conversation) if each and "/" in each), "")
    if "/" in key or not known:
        return key
    return key_text(f"{known.partition('/')[0]}/{key}", "user_id", KEY_BYTES["participant"])
