"""The server: one ASGI application with the HTTP API, proxy, MCP and admin page. Extra `admin`.

`create_app` returns the ASGI application that `prompt-engine serve` runs. A route reads scope and message from a
request, calls one public function, and returns its result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .app import create_app

__all__ = ["create_app"]


def __getattr__(name: str) -> Any:
    if name == "create_app":
        from .app import create_app  # noqa: PLC0415 - the web framework is loaded when it is asked for

        return create_app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
