"""The page: what an operator sees in a browser, made on the server.

| Module | Owns |
|---|---|
| page | one request and its answer; the environment of the templates |
| formats, plots, form_values | pure: how values are shown, what is drawn, how form values are read |
| names | what people and conversations are called |
| memory, conversations, people, playground, upkeep, quarantine | one screen each, and what its forms change |
| forgetting | a person or a conversation forgotten, after a question |
| templates, static | HTML; one style sheet and one script, nothing loaded from elsewhere |

Everything works without the script: forms, and an answer that leads on to a screen. The script adds what is
comfortable. Screens call doors; what a door refuses is shown in its words.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache, partial

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ...audience import table_overview
from .. import guard
from ..context import AdminContext
from . import conversations, forgetting, memory, people, playground, quarantine, upkeep
from .page import BASE, STATIC, Page, Pages, of_memory, render_missing

__all__ = ["BASE", "FILES", "render_missing", "router"]

FILES = {
    "admin.css": "text/css; charset=utf-8",
    "admin.js": "text/javascript; charset=utf-8",
    "mark.svg": "image/svg+xml",
}
"""The only files there are: nothing of a request's path reaches the file system."""


def router(context: AdminContext) -> APIRouter:
    """Return the routes of the page, to stand below the application's prefix."""
    pages = Pages(context)
    pages.add("/", _front)
    pages.add("/login", _log_in, is_open=True)
    for name in FILES:
        pages.add(f"/static/{name}", partial(_file, name), is_open=True)
    for path, screen in (
        ("/memory", of_memory(memory.listing)),
        ("/memory/item", of_memory(memory.item)),
        ("/conversations", conversations.listing),
        ("/conversations/one", conversations.one),
        ("/people", people.listing),
        ("/people/one", of_memory(people.one)),
        ("/upkeep", upkeep.listing),
        ("/quarantine", quarantine.listing),
        ("/playground", playground.show),
    ):
        pages.add(BASE + path, screen)
    for path, screen in (
        ("/forget", forgetting.run),
        ("/memory/row", of_memory(memory.row)),
        ("/memory/bulk", of_memory(memory.bulk)),
        ("/memory/edit", of_memory(memory.edit)),
        ("/memory/add", of_memory(memory.add)),
        ("/memory/classify", of_memory(memory.classify)),
        ("/memory/undo", of_memory(memory.undo)),
        ("/upkeep/change", upkeep.change),
        ("/upkeep/run", of_memory(upkeep.run)),
        ("/quarantine/release", quarantine.release),
        ("/playground", playground.ask),
    ):
        pages.add(BASE + path, screen, method="POST")
    # The prefix itself, without a slash: Starlette's own routes take no blank path.
    pages.router.add_api_route("", _bare, include_in_schema=False, dependencies=[Depends(guard.require_token)])
    return pages.router


def _bare(request: Request) -> RedirectResponse:
    return RedirectResponse(f"{guard.root_path(request.scope, request.app.state.admin.prefix)}/", 303)


def _front(page: Page) -> Response:
    """Lead to the memory of the persona that is set, or, where nothing is stored of it, of the one spoken to last."""
    wanted = page.context.values().persona_id
    return page.redirect(page.url("memory", conf_uid=table_overview.choose_persona(page.db, wanted)))


def _log_in(page: Page) -> Response:
    """Return the log-in form; who came from a wrong token is told so."""
    return page.render(
        "sign_in.html.j2",
        is_signed_in=False,
        title="Sign in",
        is_wrong=bool(page.query("failed")),
    )


def _file(name: str, page: Page) -> Response:
    """Return the style sheet or the script; asked for anew each time, and sent when it is another one."""
    content, sign = _read_static(name)
    headers = {"Cache-Control": "no-cache", "ETag": sign}
    if page.request.headers.get("if-none-match") == sign:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=FILES[name], headers=headers)


@lru_cache(maxsize=4)
def _read_static(name: str) -> tuple[bytes, str]:
    content = (STATIC / name).read_bytes()
    return content, f'"{hashlib.sha256(content).hexdigest()[:20]}"'
