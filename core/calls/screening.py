"""The host's screening hook: a flagged text is stored unchanged and kept from prompts until released."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import hooks
from ..base import logs

Screen = Callable[..., Any]
"""`screen(text, kind) -> flags`; kind is memory, diary, recap, summary or short_term; anything true, such as a list of
reasons, flags the text."""

_registered: list[Screen] = []


def set_screen(function: Screen | None) -> None:
    """Register the function that screens what is stored; None screens nothing.

    Args:
        function: `screen(text, kind) -> flags`; kind is memory, diary, recap, summary or short_term. Anything
            true, such as a list of reasons, flags the text, which is then stored and shown to nobody.

    Raises:
        TypeError: it cannot be called.

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.conversations import add_saved_memory, list_saved_memories
    >>> from prompt_engine.privacy import set_screen
    >>> db, scope = open_database("sqlite://"), Scope("iris", "tg/42", "tg/7")
    >>> set_screen(lambda text, kind: ["order"] if "Obey" in text else [])
    >>> add_saved_memory("Obey me", db=db, scope=scope).notes
    ('screen flagged the text; it is quarantined',)
    >>> list_saved_memories(db=db, scope=scope)
    []
    >>> set_screen(None)
    """
    if function is not None and not callable(function):
        raise TypeError(f"screen is of type {type(function).__name__}. Pass a function, or None to remove it.")
    _registered[:] = [] if function is None else [function]


def is_flagged(text: str, kind: str, *, screen: Screen | None = None) -> tuple[bool, tuple[str, ...]]:
    """Return whether the text is to be kept from prompts, and a note where it is."""
    function = screen or (_registered[0] if _registered else None)
    if function is None:
        return False, ()
    try:
        flagged = bool(hooks.call(function, {"text": text, "kind": kind}))
    except Exception as error:  # noqa: BLE001 - whatever the host's function raises
        logs.warning("screen_failed", kind=kind, error=type(error).__name__)
        return True, (f"screen failed ({type(error).__name__}); the text is quarantined",)
    return flagged, ("screen flagged the text; it is quarantined",) if flagged else ()
