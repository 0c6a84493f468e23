"""DOOR: what other programs reach by HTTP: the API for hosts, the proxy, and one server for every face. Extra `admin`.

`create_server` gives the ASGI application that `prompt-engine serve` serves. It decides nothing about memory: a route
reads a request into a scope and the host's message, calls one door, and writes the answer.

| Module | Owns |
|---|---|
| server | the faces under one address, what is mounted beside them, their beginning and end |
| guard | what every request passes first: host, origin, size, token |
| access | a header to the token it shows, a token and a request to the scope |
| host_app, host_routes, bodies, answers | the API for hosts |
| proxy | the OpenAI dialect, passed on to a model server with what belongs to the message put in |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .access import check_token, read_scope
    from .server import Mounted, create_server

__all__ = ["Mounted", "check_token", "create_server", "read_scope"]

_MODULES = {"Mounted": "server", "create_server": "server", "check_token": "access", "read_scope": "access"}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        from importlib import import_module  # noqa: PLC0415 - the web framework is loaded when it is asked for

        return getattr(import_module(f".{_MODULES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
