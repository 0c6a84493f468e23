"""Which function does an operation: by type, as `module:function`, imported when the first one of the type is run.

A worker takes only operations whose type it knows; others wait for a worker that does.
"""

from __future__ import annotations

import threading
from importlib import import_module
from typing import cast

from ..calls import defaults
from ..scope import key_text
from .rules import TYPE_BYTES
from .tools import Handler

_handlers: dict[str, str | Handler] = {
    "RECAP": "core.stories.handlers:recap",
    "SCENE_DETECTION": "core.stories.handlers:scene_detection",
    "SCENE_RECAP": "core.stories.handlers:scene_recap",
    "RUNNING_SCENE_RECAP": "core.stories.handlers:running_scene_recap",
    "CONVERSATION_SUMMARY": "core.conversations.handlers:summary",
    "CONSOLIDATION": "core.lifelong.handlers:consolidate",
    "DEEP_CONSOLIDATION": "core.lifelong.handlers:deepen",
    "EMBED": "core.semantic.handlers:embed",
}
_changing = threading.Lock()


def register_handler(type: str, handler: str | Handler | None) -> None:  # noqa: A002 - the column's name
    """Let operations of a type be done by `handler` in this process; None takes the type away again.

    Args:
        type: name of the type, at most 32 bytes.
        handler: `handle(operation, tools) -> Effect | None`, or where to find it as `module:function`.

    Raises:
        MessageError: the type is blank or too long.
        ValueError: the handler is neither.
    """
    name = key_text(type, "type", TYPE_BYTES, required=True)
    if handler is not None and not callable(handler) and (not isinstance(handler, str) or ":" not in handler):
        raise ValueError(f"handler of {name!r} is no function and no text 'module:function'.")
    with _changing:
        if handler is None:
            _handlers.pop(name, None)
        else:
            _handlers[name] = handler


def known() -> tuple[str, ...]:
    """Return the types that can be done in this process: EMBED only where there is an embedder."""
    with _changing:
        return tuple(each for each in _handlers if each != "EMBED" or defaults.default_embedder() is not None)


def find(type: str) -> Handler:  # noqa: A002 - as above
    """Return the function that does operations of a type.

    Raises:
        LookupError: there is none.
        ImportError: its module is not there.
    """
    with _changing:
        handler = _handlers[type]
    if isinstance(handler, str):
        module, _, name = handler.partition(":")
        return cast("Handler", getattr(import_module(module), name))
    return handler
