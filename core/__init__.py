"""The prompt engine: builds a prompt from a message and a memory in SQLite or a MySQL-family database.

The names below are loaded on first use; importing the package alone loads nothing else. Each group of functions is also
a module, such as `synth_core_memory` or `conversations`.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as in typing, whose import would take most of the time
if TYPE_CHECKING:
    from typing import Any

    from . import aio
    from .chat_history_cache import save_message
    from .db import configure, insert_memory, open_database
    from .forgetting import forget
    from .memory import Memory
    from .personas import set_persona_text
    from .prompt_engine import (
        build_json_prompt,
        build_messages,
        explain_json_prompt,
        explain_messages,
        parse_answer,
        to_messages,
    )
    from .scope import Scope, use_scope
    from .synth_core_memory import search_memories

__all__ = ["Memory", "Scope", "aio", "build_json_prompt", "build_messages", "configure", "explain_json_prompt",
           "explain_messages", "forget", "insert_memory", "open_database", "parse_answer", "save_message",
           "search_memories", "set_persona_text", "to_messages", "use_scope"]  # fmt: skip

_NAMES = {
    "chat_history_cache": ("save_message",),
    "db": ("configure", "insert_memory", "open_database"),
    "forgetting": ("forget",),
    "memory": ("Memory",),
    "personas": ("set_persona_text",),
    "scope": ("Scope", "use_scope"),
    "synth_core_memory": ("search_memories",),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}
"""Module of each public name that is not in `prompt_engine`."""


def __getattr__(name: str) -> Any:
    """Import a public name from its module at each access, so that replacements by a host are used."""
    if name == "aio":
        return import_module(".aio", __name__)
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES.get(name, 'prompt_engine')}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
