"""How long items are kept: expiry of session items, what pruning takes, heuristic importance."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal

from ..errors import MessageError
from .rules import INSTRUCTION

PruneMode = Literal["any", "all"]
"""any: too old or too unimportant. all: both."""
PRUNE_MODES = ("any", "all")
LEAST_TTL_SECONDS = 60
KEPT_KINDS = ("saved", INSTRUCTION)
"""Kinds that a person asked for: nothing prunes them."""
PHRASE_BONUS = 0.2
FULL_LENGTH_CHARS = 400


def heuristic_importance(text: str, holds_phrase: bool) -> float:
    """Return how important a text is by its looks, 0.1 to 1: the longer the more, and more with a phrase to
    remember.
    """
    by_length = min(max(len(text) / FULL_LENGTH_CHARS, 0.1), 1.0)
    return round(min(by_length + (PHRASE_BONUS if holds_phrase else 0.0), 1.0), 3)


def session_ttl(ttl_sec: object, default_seconds: int) -> tuple[int, tuple[str, ...]]:
    """Return the time to live that a call asks for, in seconds, and a note where it was raised."""
    if ttl_sec is None:
        return default_seconds, ()
    if isinstance(ttl_sec, bool) or not isinstance(ttl_sec, int) or ttl_sec < 0 or ttl_sec > 315_360_000:
        raise MessageError(
            f"ttl_sec is {str(ttl_sec)[:40]!r}. It must be a whole number of seconds, 60 to 315360000, or 0 for "
            "SESSION_TTL_SEC.",
            fields=("ttl_sec",),
        )
    if ttl_sec == 0:
        return default_seconds, ()
    if ttl_sec < LEAST_TTL_SECONDS:
        return LEAST_TTL_SECONDS, (f"ttl_sec {ttl_sec} became {LEAST_TTL_SECONDS}, the least there is",)
    return ttl_sec, ()


def expires_at(at: datetime, ttl_seconds: int) -> datetime:
    """Return when a session item of a time expires."""
    try:
        return at + timedelta(seconds=ttl_seconds)
    except OverflowError:
        return at


def read_mode(value: object, default: PruneMode) -> PruneMode:
    """Return the mode of pruning."""
    if value is None:
        return default
    if value not in PRUNE_MODES:
        raise MessageError(f"mode is {str(value)[:40]!r}. It must be any or all.", fields=("mode",))
    return value  # type: ignore[return-value]
