"""The page: what an operator sees in a browser, made on the server.

| Module | Owns |
|---|---|
| page, rendering | one request and its answer; the environment of the templates |
| showing, plots, reading | pure: how values are shown, what is drawn, how form values are read |
| memory, memory_changes | items: found, looked at; changed |
| relationships, transfer, jobs, upkeep, health, quarantine, playground | one screen each |
| templates, static | HTML; one style sheet and one script, nothing loaded from elsewhere |

Everything works without the script: forms, and an answer that leads on to a screen. The script adds what is
comfortable. Screens call doors; what a door refuses is shown in its words.
"""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from .. import guard as guarding
from ..context import AdminContext
from . import (
    health,
    jobs,
    memory,
    memory_changes,
    playground,
    quarantine,
    relationships,
    transfer,
    upkeep,
)
from . import (
    login as signing,
)
from .page import BASE, Page, Pages, of_items


def router(context: AdminContext) -> APIRouter:
    """Return the routes of the page, to stand below the application's prefix."""
    pages = Pages(context)
    pages.add("/", _front)
    pages.add("/login", signing.show, is_open=True)
    for name in signing.FILES:
        pages.add(f"/static/{name}", partial(signing.file, name), is_open=True)
    for path, screen in (
        ("/memory", of_items(memory.listing)),
        ("/memory/item", of_items(memory.item)),
        ("/relationships", relationships.listing),
        ("/relationships/one", relationships.one),
        ("/transfer", of_items(transfer.show)),
        ("/transfer/export", of_items(transfer.export)),
        ("/jobs", jobs.listing),
        ("/health", of_items(health.show)),
        ("/quarantine", quarantine.listing),
        ("/playground", playground.show),
    ):
        pages.add(BASE + path, screen)
    for path, screen in (
        ("/memory/row", of_items(memory_changes.row)),
        ("/memory/bulk", of_items(memory_changes.bulk)),
        ("/memory/edit", of_items(memory_changes.edit)),
        ("/memory/undo", of_items(memory_changes.undo)),
        ("/relationships/adjust", relationships.adjust),
        ("/transfer/import", of_items(transfer.take_in)),
        ("/jobs/change", jobs.change),
        ("/jobs/run", upkeep.run),
        ("/quarantine/release", quarantine.release),
        ("/playground", playground.ask),
    ):
        pages.add(BASE + path, screen, method="POST")
    # The prefix itself, without a slash: Starlette's own routes take no blank path.
    pages.router.add_api_route("", _bare, include_in_schema=False, dependencies=[Depends(guarding.require)])
    return pages.router


def _bare(request: Request) -> RedirectResponse:
    return RedirectResponse(f"{guarding.root(request.scope, request.app.state.admin.prefix)}/", 303)


def _front(page: Page) -> Response:
    return page.see(page.url("memory", conf_uid=page.context.values().persona_id))
