"""Recognises the wishes of a message, for the doors that store it: patterns, rule and screening put together.

Called by `chat_history_cache` and `wishes`.
"""

from __future__ import annotations

from ..base import logs
from ..calls import screening
from ..config import Settings
from ..memories.rules_modes import MODES
from .phrases import load_wish_words
from .rules import MOST_CHARS, Wish, find_wishes


def read_wishes(
    text: str, settings: Settings, *, role: str = "user", excluded: bool = False
) -> tuple[tuple[Wish, bool], ...]:
    """Return the wishes of a message, each with whether the screening hook flags it.

    None of what people did not say themselves or what is left out of everything, and none where RECORD_WISHES is off or
    MEMORY_MODE saves nothing of what is said.

    Never raises: a message is stored whatever becomes of its wishes.
    """
    if role != "user" or excluded:
        return ()
    if not settings.record_wishes or not MODES[settings.memory_mode].saves or len(text) > MOST_CHARS:
        return ()
    try:
        found = find_wishes(text, load_wish_words(text, settings.languages))
    except (OSError, ValueError) as error:
        logs.warning("wishes_unread", error=type(error).__name__)
        return ()
    return tuple((wish, screening.is_flagged(wish.text, "memory", settings=settings)[0]) for wish in found)
