"""One request of the page: persona, form values, and the rendered answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin
from urllib.parse import parse_qs, urlencode

from fastapi import APIRouter
from fastapi.exceptions import RequestValidationError
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pydantic import BaseModel, BeforeValidator, Field, StringConstraints, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from ....access import overview
from ....access.rules import show_key
from ....base.wire_ids import find_id
from ....config import Settings
from ....database.engine import Database
from ....errors import StoreError
from ... import errors, guard
from ...access import AdminCall, WebContext
from . import formats

FOLDER = Path(__file__).resolve().parent
STATIC = FOLDER / "static"

BASE = "/page"
"""Path of the page's screens, relative to ADMIN."""
GROUPS: Mapping[str, Mapping[str, str]] = {
    "What is remembered": {"memory": "m", "conversations": "c", "people": "e"},
    "What a model gets": {"why": "w"},
    "Care": {"upkeep": "u", "programs": "p"},
}
"""Menu groups by heading; each maps the path of a screen, also its title, to the key that opens it after `g`."""


@lru_cache(maxsize=1)
def environment() -> Environment:
    templates = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    templates.filters.update(formats.FILTERS)
    return templates


def split_ids(text: str) -> list[int]:
    return [row_id for part in text.split(",") if (row_id := find_id(part.strip())) is not None]


Id = Annotated[int, BeforeValidator(lambda text: next(iter(split_ids(str(text))), 0))]
Ids = Annotated[list[int], BeforeValidator(lambda texts: split_ids(",".join(texts)))]
SPLIT_COMMAS = BeforeValidator(lambda texts: [part.strip() for part in ",".join(texts).split(",") if part.strip()])
Words = Annotated[list[str], SPLIT_COMMAS]
Fraction = Annotated[float | None, BeforeValidator(lambda text: text.replace(",", "."))]
Offset = Annotated[int, Field(ge=0, le=1_000_000_000)]
Key = Annotated[str, StringConstraints(strip_whitespace=True)]
Model = TypeVar("Model", bound=BaseModel)


class Page:
    def __init__(self, request: Request) -> None:
        self.context: WebContext = request.app.state.context
        self.request = request
        self.form = FormData()
        self.root: str = guard.admin_root(request.scope)
        self.base: str = self.root + BASE

    def read(self, model: type[Model]) -> Model:
        """Parse the form, or the query of a screen without a form; blank values count as missing."""
        given: dict[str, Any] = {}
        for name, field in model.model_fields.items():
            texts = [value.replace("\r\n", "\n") for value in self._given.getlist(name) if isinstance(value, str)]
            values = [text for text in texts if text.strip()]
            if values:
                origins: list[Any] = [get_origin(each) for each in (field.annotation, *get_args(field.annotation))]
                given[name] = values if list in origins else values[-1]
        try:
            return model.model_validate(given)
        except ValidationError as error:
            problems = [{**problem, "loc": ("form", *problem["loc"])} for problem in error.errors()]
            raise RequestValidationError(problems) from None

    @property
    def _given(self) -> FormData | QueryParams:
        return self.request.query_params if self.request.method in guard.READING else self.form

    def field(self, name: str) -> str:
        value = self._given.get(name, "")
        return value if isinstance(value, str) else ""

    def row_id(self, name: str) -> int:
        """Parse the first whole number in the form or query field `name`; 0 without a number."""
        return next(iter(split_ids(self.field(name))), 0)

    @cached_property
    def persona(self) -> str:
        """The persona named in the URL, else PERSONA_ID if it has rows, else the persona of the newest message."""
        named = self.request.query_params.get("conf_uid")  # unchanged: blanks distinguish personas
        wanted = self.context.values().persona_id
        with suppress(StoreError):
            return named or overview.choose_persona(self.context.database(), wanted)
        return wanted

    @cached_property
    def admin(self) -> AdminCall:
        return AdminCall(self.context, self.persona)

    @property
    def db(self) -> Database:
        return self.admin.db

    @property
    def settings(self) -> Settings:
        return self.admin.settings

    def operating(self) -> dict[str, Any]:
        """Return the arguments for item functions, with which an operator sees all audiences of the persona."""
        return {**self.admin.asking, "operator": True}

    def read_names(self, people: Iterable[str | None] = (), places: Iterable[str | None] = ()) -> Names:
        """Return the names of `people`, of the conversations `places`, and of the people in direct conversations."""
        titles = overview.read_titles(self.db, self.persona, filter(None, places))
        keys = {*filter(None, people), *(each.person for each in titles.values() if each.person)}
        return Names(overview.read_names(self.db, self.persona, keys), titles)

    def name_items(self, rows: Sequence[Mapping[str, Any]]) -> Names:
        return self.read_names((row["participant"] for row in rows), (row["conversation"] for row in rows))

    def url(self, path: str, **query: Any) -> str:
        """Build the URL of a screen of this persona; false and blank values are left out."""
        given = {"conf_uid": self.persona, **query}
        kept = {name: 1 if value is True else value for name, value in given.items() if value}
        return f"{self.base}/{path}?{urlencode(kept, doseq=True)}"

    def url_after(self, path: str, back: str, **query: Any) -> str:
        """Build the URL of a screen after a change; it keeps `back`, the query of the previous screen."""
        given = {name: values for name, values in parse_qs(back[:4000]).items() if name not in _NOT_KEPT}
        return self.url(path, **{**given, **query})

    def render(self, template: str, status: int = 200, *, screen: str = "memory", **values: Any) -> HTMLResponse:
        usual = {"names": Names(), "is_signed_in": True, "flash": None, "screen": screen, "title": screen.capitalize()}
        more = {"page": self, "groups": GROUPS, "zone": self.context.values().timezone}
        return HTMLResponse(environment().get_template(template).render({**usual, **more, **values}), status)

    def list_personas(self) -> list[str]:
        with suppress(StoreError):
            return overview.list_personas(self.context.database(), 200)
        return []

    @staticmethod
    def redirect(address: str) -> RedirectResponse:
        return RedirectResponse(address, 303)


_NOT_KEPT = ("conf_uid", "note", "count", "undo", "edit")
Screen = Callable[[Page], Response]


def add_screen(router: APIRouter, path: str, screen: Screen, *, method: str = "GET", is_open: bool = False) -> None:
    async def handle(request: Request) -> Response:
        if not is_open:
            guard.require_operator(request)
        page = Page(request)
        try:
            async with request.form(max_fields=5000) as page.form:  # blank for a screen without a form
                return await run_in_threadpool(_answer_screen, screen, page)
        except HTTPException as error:
            return await run_in_threadpool(_render_problem, page, str(error.detail), error.status_code)

    router.add_route(path, handle, methods=[method], include_in_schema=False)


def _answer_screen(screen: Screen, page: Page) -> Response:
    try:
        with errors.refuse_bad_values():
            return screen(page)
    except Exception as error:  # noqa: BLE001 - the outermost point: show that it failed
        refused = errors.judge(error, page.request.scope)
        return _render_problem(page, refused.answer.message, refused.status_code)


def _render_problem(page: Page, text: str, status: int) -> Response:
    title = "There is nothing here" if status == 404 else "This did not work"
    return page.render("problem.html.j2", status, title=title, text=text)


class Names(NamedTuple):
    """Names of people and titles of conversations, by key; a key without a name is shown unchanged."""

    people: Mapping[str, str] = {}
    places: Mapping[str, overview.ConversationCount] = {}

    def person(self, key: str) -> str:
        return self.people.get(key) or show_key(key)

    def place(self, key: str) -> str:
        """Return title (else key) and server of a conversation, or "Chat with Ann" if it is direct and has no title."""
        known = self.places.get(key)
        if known is None:
            return show_key(key)
        if not known.title and known.person:
            return f"Chat with {self.person(known.person)}"
        return f"{known.title or show_key(key)}{f' · {known.server}' if known.server else ''}"
