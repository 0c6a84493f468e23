"""All hooks: functions of the host that this package calls.

`set_hook(name, function)` registers a function. It runs in the caller's thread and gets those arguments of the table
that its signature accepts. If it fails, its section is empty and the report names it; only `save` raises its error.

| hook | arguments | returns |
|---|---|---|
| context | message, context_memory, interface_name, text | {key: list or text}; `persona` goes to the instructions |
| actions | interface_name | {name: {schema, brief, source}} |
| engine_limit | | maximum characters of a prompt for the active model, or None |
| search | tags, keywords, query, limit, include_chat, exclude, db, settings, scope | hits, in place of the search |
| extract_tags | text, vocabulary, db, settings, scope | tags of the message |
| expand_tags | tags, vocabulary, db, settings, scope | these tags and the tags linked to them |
| history | interface_path, limit, db, settings, scope | stored messages, oldest first, in place of the database's |
| save | arguments of `db.insert_memory`, and message_id | row id, for `silently_record_memory` |

Elsewhere: `db.configure` takes the model that writes summaries and the embedder that makes vectors.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from .base.hints import hint_name, shown

HOOK_NAMES = ("context", "actions", "engine_limit", "search", "extract_tags", "expand_tags", "history", "save")
"""Names that `set_hook` accepts."""

_hooks: dict[str, Callable[..., Any]] = {}


def set_hook(name: str, function: Callable[..., Any] | None) -> None:
    """Register the host's function under a name, replacing the previous one; None removes it.

    Args:
        name: one of `HOOK_NAMES`; the table in `core/hooks.py` lists arguments and results.
        function: a plain function; it gets only the keyword arguments that its signature accepts.

    Raises:
        ValueError: an unknown name; the error gives the nearest known name.

    >>> set_hook("engine_limit", lambda: 30000)
    >>> get_hook("engine_limit")()
    30000
    >>> clear_hooks()
    >>> get_hook("engine_limit") is None
    True
    """
    if name not in HOOK_NAMES:
        known = ", ".join(HOOK_NAMES)
        raise ValueError(f"{shown(name)} is no hook. The hooks are {known}.{hint_name(name, HOOK_NAMES)}")
    if function is None:
        _hooks.pop(name, None)
        return
    if not callable(function) or any(map(inspect.iscoroutinefunction, (function, type(function).__call__))):
        kind = "async" if callable(function) else f"of type {type(function).__name__}"
        raise TypeError(f"The hook {name} is {kind}. Pass a plain function, or None to remove it.")
    _hooks[name] = function


def get_hook(name: str) -> Callable[..., Any] | None:
    """Return the function registered under a name; None without a function."""
    return _hooks.get(name)


def clear_hooks() -> None:
    """Remove all hooks."""
    _hooks.clear()


def call(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """Call the function with the arguments that its signature accepts by keyword, and return its result."""
    return function(**accepted_keywords(function, arguments))


def accepted_keywords(function: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that the function accepts by keyword; {} if its signature cannot be inspected."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        return {}
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return dict(arguments)
    by_name = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    return {name: value for name, value in arguments.items() if name in by_name}
