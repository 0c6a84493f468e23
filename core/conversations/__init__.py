"""Recent conversations, saved memories, the memory tool, and the memory prompt.

Two memories: a rolling list of summaries of conversations, made by itself when one ends, and a list of facts, made only
when a person asks. Both are held to what the scope may see.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .memory_files import MarkdownResult, export_markdown, import_markdown
    from .memory_prompt import get_system_prompt_with_memory, get_user_memory_prompt, load_memory
    from .memory_tool import memory_tools, parse_tool_call, run_tool_call
    from .recent import add_recent_conversation, close_conversation, list_recent_conversations
    from .saved import add_saved_memory, delete_saved_memory, list_saved_memories

__all__ = ["MarkdownResult", "add_recent_conversation", "add_saved_memory", "close_conversation",
           "delete_saved_memory", "export_markdown", "get_system_prompt_with_memory", "get_user_memory_prompt",
           "import_markdown", "list_recent_conversations", "list_saved_memories", "load_memory", "memory_tools",
           "parse_tool_call", "run_tool_call"]  # fmt: skip

_NAMES = {
    ".memory_files": "MarkdownResult export_markdown import_markdown",
    ".recent": "add_recent_conversation close_conversation list_recent_conversations",
    ".saved": "add_saved_memory delete_saved_memory list_saved_memories",
    ".memory_prompt": "get_system_prompt_with_memory get_user_memory_prompt load_memory",
    ".memory_tool": "memory_tools parse_tool_call run_tool_call",
}
"""Module to its names. It is loaded when one of them is first used, for a prompt needs few of them."""
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Return a public name from its module."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name], __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
