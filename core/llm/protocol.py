"""What a model is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias


class Completes(Protocol):
    """An object with a method `complete(messages, ...)` that gives a text, or an awaitable of one."""

    @property
    def complete(self) -> Callable[..., Any]:
        """Gets the list of `{role, content}`, and those of the options that its signature names."""


Model: TypeAlias = Completes | Callable[..., Any]
"""An object that completes, or a function taking the list of `{role, content}`; sync or async. Where an object is
both, `complete` is asked."""


def function_of(model: Model) -> Callable[..., Any]:
    """Return what is to be called with the messages.

    >>> function_of(len) is len
    True
    """
    own: Any = model
    found: Callable[..., Any] = getattr(own, "complete", own)
    return found
