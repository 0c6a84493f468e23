"""The admin page, rendered on the server.

| Module | Owns |
|---|---|
| page | one request and its answer; names; how form values are read; the environment of the templates |
| formats | template filters; pure |
| memory, people, why, upkeep, programs | the screens and their forms |
| templates, static | HTML; one style sheet and one script, nothing loaded from elsewhere |

Everything works without the script, by forms and redirects; the script adds comfort. Screens call public functions and
show the sentences of their errors.
"""

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Depends, Form
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ....base import logs
from ... import access, guard
from ...bodies import OPERATOR, REFUSALS
from ...errors import Refused, name_route
from . import memory, people, programs, upkeep, why
from .page import BASE, Page, Screen, add_screen
from .page import STATIC as STATIC


def _refuse_address(_: Page) -> Response:
    raise Refused(404, "No screen has this address. The menu leads to all there are.")


SCREENS: Mapping[str, Screen] = {
    "/memory": memory.list_items,
    "/memory/item": memory.show_item,
    "/conversations": people.list_conversations,
    "/conversations/one": people.show_conversation,
    "/people": people.list_people,
    "/people/one": people.show_person,
    "/upkeep": upkeep.show_upkeep,
    "/programs": programs.list_programs,
    "/why": why.show_form,
    "/{path:path}": _refuse_address,
}
CHANGES: Mapping[str, Screen] = {
    "/forget": people.forget_all,
    "/memory/row": memory.change_item,
    "/memory/bulk": memory.change_items,
    "/memory/edit": memory.edit_item,
    "/memory/add": memory.add_item,
    "/upkeep/change": upkeep.change_operation,
    "/upkeep/run": upkeep.run_action,
    "/why": why.explain_message,
    "/programs/answer": programs.answer_request,
    "/programs/revoke": programs.revoke_token,
}


def _choose_page(wanted: str) -> str:
    return wanted if wanted.startswith(f"{BASE}/") else "/"


def _log_in(page: Page) -> Response:
    """Show the log-in form; redirect a logged-in browser: it sends no cookie when it comes from another site."""
    wanted = page.field("next")
    if wanted and page.context.sessions.is_open(page.request.cookies.get(access.COOKIE, ""), page.context.now()):
        return page.redirect(page.root + _choose_page(wanted))
    is_wrong = bool(page.field("failed"))
    return page.render("sign_in.html.j2", is_signed_in=False, title="Sign in", is_wrong=is_wrong, wanted=wanted)


router: APIRouter = APIRouter()
add_screen(router, "/", lambda page: page.redirect(page.url("memory")))
add_screen(router, "/login", _log_in, is_open=True)
for _screens, _method in ((CHANGES, "POST"), (SCREENS, "GET")):
    for _path, _screen in _screens.items():
        add_screen(router, BASE + _path, _screen, method=_method)


# Starlette's own routes accept no blank path
@router.get("", include_in_schema=False, dependencies=[Depends(guard.require_operator)])
def open_bare(request: Request) -> RedirectResponse:
    return RedirectResponse(f"{guard.admin_root(request.scope)}/", 303)


@router.post("/login", status_code=303, response_class=RedirectResponse, responses=REFUSALS, tags=["Log-in"])
def login(
    request: Request,
    token: Annotated[str, Form(description="The value of ADMIN_TOKEN.")],
    wanted: Annotated[str, Form(alias="next", description="Page to redirect to, below /admin.")] = "",
) -> Response:
    """Set the log-in cookie, which is valid for 12 hours, and redirect to the page `next`."""
    context = request.app.state.context
    if not access.is_token(token.strip(), context.admin_token):
        logs.warning("admin_wrong_token", route=name_route(request.scope), client=request.scope.get("client"))
        if "text/html" in request.headers.get("accept", ""):
            return guard.lead_to_login(request.scope, wanted, failed=True)
        raise Refused(401, guard.WRONG_LOGIN)
    base = guard.admin_root(request.scope)
    answer = RedirectResponse(base + _choose_page(wanted), 303)
    answer.set_cookie(
        access.COOKIE,
        context.sessions.begin(context.now()),
        max_age=int(access.LIFETIME.total_seconds()),
        path=base,
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
    return answer


@router.post(
    "/logout", status_code=303, response_class=RedirectResponse, responses=REFUSALS, tags=["Log-in"],
    dependencies=OPERATOR,
)  # fmt: skip
def logout(request: Request) -> Response:
    """Log out: the cookie becomes invalid for every browser that has it."""
    base = guard.admin_root(request.scope)
    request.app.state.context.sessions.end(request.cookies.get(access.COOKIE, ""))
    answer = RedirectResponse(f"{base}/login", 303)
    answer.delete_cookie(access.COOKIE, path=base, httponly=True, samesite="strict")
    return answer
