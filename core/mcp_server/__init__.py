"""DOOR: the memory for programs that speak the Model Context Protocol. Needs the extra `mcp`.

`prompt-engine mcp` serves it over standard input and output, `prompt-engine serve --mcp` over HTTP. It reads a request,
calls one door, and writes the answer; who sees what, what ranks first and what is stored is decided behind the doors.

| Module | Owns |
|---|---|
| speaker | who speaks: a scope that no argument of a call can change |
| arguments, answers | the shapes that come in and go out, and what is said of those that do not fit |
| tools | the seven tools |
| block | what belongs to a message, as one text of data |
| resources, prompts | what a person can attach or start by hand |
| server | the protocol: handlers of the SDK's server, errors; over standard input and output |
| http | the same over HTTP, by token |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .http import create_face
    from .server import create_server, serve_stdio
    from .speaker import Speaker, build_scope

__all__ = ["Speaker", "build_scope", "create_face", "create_server", "serve_stdio"]

_MODULES = {
    "Speaker": "speaker",
    "build_scope": "speaker",
    "create_face": "http",
    "create_server": "server",
    "serve_stdio": "server",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        from importlib import import_module  # noqa: PLC0415 - the SDK is loaded when it is asked for

        return getattr(import_module(f".{_MODULES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
