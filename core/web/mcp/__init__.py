"""The memory for programs that speak the Model Context Protocol. Needs the extra `mcp`.

`prompt-engine mcp` serves it over standard input and output, `prompt-engine serve --mcp` over HTTP.

| Module | Owns |
|---|---|
| speaker | who speaks: a scope that no argument of a call can change |
| schemas | what the tools take and answer |
| tools | the seven tools |
| server | the protocol: handlers of the SDK's server, errors |
| stdio, http | over standard input and output; over HTTP, by token |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .server import create_server
    from .speaker import Speaker, build_scope
    from .stdio import serve_stdio

__all__ = ["Speaker", "build_scope", "create_server", "serve_stdio"]

_MODULES = {
    "Speaker": "speaker",
    "build_scope": "speaker",
    "create_server": "server",
    "serve_stdio": "stdio",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        from importlib import import_module  # noqa: PLC0415 - the SDK is loaded when it is asked for

        return getattr(import_module(f".{_MODULES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
