"""DOOR: what an operator works with in the browser and by HTTP. Needs the extra `admin`.

`create_app` gives an ASGI application that `prompt-engine serve` serves, and that a host can mount into its own. It
stands above every door and is imported by none of them.

| Module | Owns |
|---|---|
| app | the application: routes put together, errors translated |
| context | what every route works with |
| guard, sessions, hosts | who may ask: token, cookie, origin, host |
| answers, bodies | the shapes that go out and come in |
| errors, validation | which error is which status, and in which words |
| archive_reasons | why an item holds no more |
| memory, relationship, transfer, lifecycle, queue, upkeep, playground, metrics | one group of routes each |
| pages | the page |
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
