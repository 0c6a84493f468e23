"""Bodies and parameters of the routes, with their ranges. Only messages and people may have unknown fields."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, get_args

from fastapi import Depends, Query, Request, Security
from fastapi.dependencies.utils import get_flat_params
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from fastapi.security import APIKeyCookie, HTTPBearer
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError
from starlette.exceptions import HTTPException

from ..base.wire_ids import LARGEST_ID
from ..context.incoming import ID_BYTES
from ..errors import MessageError
from ..memories.rules import MOST_IDS, Tier
from ..scope import Privacy, key_text
from ..shapes import Ranking
from ..synth_core_memory import SearchMode
from ..text.times import parse_time
from . import access
from .access import AdminCall, WebContext
from .errors import ErrorAnswer, Refused, find_route
from .guard import READING, require_operator
from .problems import NO_BODY, NOT_BOOL


def _split_commas(values: list[str] | None) -> list[str] | None:
    parts = [part.strip() for value in values or () for part in value.split(",")]
    return [part for part in parts if part] or None


ConfUid = Annotated[
    str, Query(min_length=1, max_length=64, description="Persona id, compared exactly.", examples=["default"])
]
DryRun = Annotated[bool, Query(description="Return the same answer, but change nothing.")]
SINCE = "Only from this time on: ISO 8601, or words such as 'last week'."
UNTIL = "Only before this time, or until the end of this day or 'last week'."
Reason = Annotated[str, Query(max_length=100, description="Reason stored with the run.")]
HistoryUid = Annotated[str | None, Query(max_length=512, description="Conversation key. Default: all of the persona.")]
Kinds = Annotated[
    list[str] | None,
    Query(description="Only these kinds; repeat the parameter or separate by commas.", examples=[["KeyFacts"]]),
    AfterValidator(_split_commas),
]


class ItemList(BaseModel):
    q: str = Field(default="", max_length=10_000, description="Words that the text must contain; blank for all items.")
    kinds: Kinds = None
    limit: int = Field(default=50, ge=1, le=500, description="Maximum number of items in the answer.")
    offset: int = Field(default=0, ge=0, le=1_000_000_000, description="Number of items to skip.")


class ItemSearch(ItemList):
    tier: Tier | None = Field(default=None, description="Tier of the items.")
    conversation: str | None = Field(default=None, max_length=512, description="Conversation key.")
    participant: str | None = Field(default=None, max_length=255, description="Participant key.")
    min_importance: float | None = Field(default=None, ge=0, le=1)
    since: str | None = Field(default=None, max_length=64, description=SINCE)
    until: str | None = Field(default=None, max_length=64, description=UNTIL)
    tags: list[str] | None = Field(default=None, description="Tags that an item must have; repeat the parameter.")
    archived: bool = Field(default=False, description="Return archived items (deleted, pruned or replaced) instead.")


def _key_of(name: str) -> BeforeValidator:
    """Build the validator of the id field `name`, which checks type and length (ID_BYTES)."""

    def read(value: object) -> object:
        try:
            return None if value is None else key_text(value, "Input", ID_BYTES[name])
        except MessageError as error:
            raise PydanticCustomError("id", "{reason}", {"reason": str(error)}) from None

    return BeforeValidator(read)


def _read_date(value: object) -> object:
    if value is None or parse_time(value) is not None:
        return value
    raise PydanticCustomError("time", "Input should be an ISO 8601 time such as 2026-03-10T12:00:00Z")


def _check_interface(key: str) -> str:
    if key and not all(key.partition("/")):
        raise PydanticCustomError("key", "Input should have an interface before a slash, such as web/ann")
    return key


Whole = Annotated[int, NOT_BOOL]
MostSize = Annotated[int, NOT_BOOL, Field(ge=1, le=100_000_000)]
ItemId = Annotated[
    int, NOT_BOOL, Field(ge=0, le=LARGEST_ID, description="Item id from an earlier answer.", examples=[7012345678901])
]
Text = Annotated[str, Field(max_length=1_000_000)]
Name = Annotated[str, Field(max_length=255)]
Key = Annotated[str, Field(max_length=512), AfterValidator(_check_interface)]
ParticipantKey = Annotated[Name, AfterValidator(_check_interface)]
ServerId = Annotated[str, Field(max_length=191)]
Tags = Annotated[list[Annotated[str, Field(max_length=255)]], Field(max_length=100)]
PlatformId = Annotated[
    str | int, _key_of("message_id"), Field(description="Id of the message on its platform, at most 191 bytes.")
]
Date = Annotated[str | float | None, BeforeValidator(_read_date)]

BEARER = Security(HTTPBearer(auto_error=False, description="Token of `prompt-engine token add`, or ADMIN_TOKEN."))
_LOGIN = Security(APIKeyCookie(name=access.COOKIE, auto_error=False, description="Set by POST /admin/login."))
OPERATOR = [BEARER, _LOGIN, Depends(require_operator)]


def _open_call(context: Annotated[WebContext, Depends(require_operator)], conf_uid: ConfUid = "default") -> AdminCall:
    return AdminCall(context, conf_uid)


Admin = Annotated[AdminCall, Depends(_open_call)]


def _open_memory_call(admin: Admin) -> AdminCall:
    if not admin.settings.enable_memories:
        raise Refused(503, "Memory is switched off (ENABLE_MEMORIES is 0). Switch it on to look at it or change it.")
    return admin


MemoryAdmin = Annotated[AdminCall, Depends(_open_memory_call)]
"""Call of an operator's route; the response is 503 if memory is switched off."""

_NOTHING = frozenset({b"", b"{}", b"null"})
"""Bodies that count as no body, since some clients always send one."""


async def check_known(request: Request) -> None:
    """Raise RequestValidationError for an unknown parameter, or a body that the route does not read."""
    route = request.scope.get("route")
    if not isinstance(route, APIRoute):
        return
    known = sorted({each.alias for each in get_flat_params(route.dependant)})
    given = [("query", name, known) for name in request.query_params]
    if request.headers.get("content-type", "").startswith("multipart/form-data"):
        fields = [each.alias for each in route.dependant.body_params]
        given += [("body", name, fields) for name in await request.form()]
    elif request.method not in READING and route.body_field is None and (await request.body()).strip() not in _NOTHING:
        raise RequestValidationError([{"type": NO_BODY, "loc": ("body",), "input": None}])
    problems = [
        {"type": "extra_forbidden", "loc": (place, name), "input": None, "ctx": {"known": names}}
        for place, name, names in given
        if name not in names
    ]
    if problems:
        raise RequestValidationError(problems)


async def pass_on(request: Request, error: Exception) -> Any:
    """Re-raise an error for the guard; a 405 gets the allowed methods, an unknown field the known names."""
    if isinstance(error, HTTPException) and error.status_code == 405 and not isinstance(error, Refused):
        methods = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")
        allowed = [each for each in methods if find_route({**request.scope, "method": each}) is not None]
        raise HTTPException(405, headers={"Allow": ", ".join(allowed)})  # the framework names those of one route
    route = request.scope.get("route")
    if isinstance(error, RequestValidationError) and isinstance(route, APIRoute) and route.body_field is not None:
        problems = [*error.errors()]
        for at, problem in enumerate(problems):
            if problem["type"] == "extra_forbidden" and "ctx" not in problem:
                known = _list_fields(route.body_field.field_info.annotation, problem["loc"][1:-1])
                problems[at] = {**problem, "ctx": {"known": known}}
        raise RequestValidationError(problems)
    raise error


def _list_fields(kind: Any, path: Sequence[str | int]) -> list[str]:
    """Return the field names of the part of a body that `path` leads to."""
    for name in path:
        if isinstance(name, str):
            kind = kind.model_fields[name].annotation
            kind = next((one for one in get_args(kind) if isinstance(one, type) and issubclass(one, BaseModel)), kind)
    return list(kind.model_fields)


_REFUSAL = {"application/json": {"schema": {"$ref": f"#/components/schemas/{ErrorAnswer.__name__}"}}}
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"description": description, "content": _REFUSAL}
    for status, description in (
        (400, "The body cannot be read, or the file is of a wrong shape."),
        (401, "No token, or a wrong one."),
        (403, "The token is not for this, or a page of another site asks."),
        (408, "The body did not arrive in time."),
        (413, "The body or the file is too large."),
        (421, "The Host header names another machine."),
        (422, "A parameter is missing or out of its range; the message names both."),
        (503, "Memory is switched off, or the database, the model or the configuration does not serve."),
    )
}
"""Error answers of every route, for the OpenAPI document."""
NOT_FOUND: dict[int | str, dict[str, Any]] = {
    404: {"model": ErrorAnswer, "description": "There is no such thing that the token may see."}
}


class Body(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")


# Bodies of operator routes


class EditBody(Body):
    id: ItemId
    new_content: str = Field(min_length=1, examples=["The cat is called Mochi."])


class IdsBody(Body):
    """Ids of the items of a bulk change; a repeated id counts once."""

    ids: list[ItemId] = Field(max_length=MOST_IDS, examples=[[7012345678901, 7012345678902]])


class RetagBody(IdsBody):
    """Tags to add and remove."""

    add: list[str] = Field(default=[], max_length=100, examples=[["cat"]])
    remove: list[str] = Field(default=[], max_length=100)


class PinBody(IdsBody):
    pinned: bool = True


class RelationshipBody(Body):
    """A change of a relationship by an operator; it does not count as an interaction."""

    user_id: str = Field(min_length=1, max_length=255, description="Key: interface/id", examples=["telegram_bot/u1"])
    affinity_delta: Whole = Field(default=0, ge=-1000, le=1000, description="Change; the result stays in -100 to 100.")
    trust_delta: Whole = Field(default=0, ge=-1000, le=1000, description="Change; the result stays in 0 to 100.")
    username: Name | None = Field(default=None, description="New name; blank and null keep the present one.")


class ForgetBody(Body):
    """Target to forget for good: one of the four fields, or a `conversation` and its `server`."""

    participant: Name | None = Field(default=None, examples=["telegram_bot/u1"])
    conversation: Annotated[str, Field(max_length=512)] | None = None
    server: ServerId | None = None
    memory: ItemId | None = Field(default=None, description="Id of a memory item.")


# Bodies of host routes

MAX_MESSAGES = 500


class Who(Body):
    """Speaker and conversation. With a host token it may be anybody; a scope token needs no field."""

    conversation: Key | None = Field(default=None, description="Key: interface/chat[/thread].", examples=["web/7"])
    participant: ParticipantKey | None = Field(default=None, description="Speaker: interface/id.", examples=["web/ann"])
    server: ServerId = Field(default="", description="Server (community) of a public conversation.")
    privacy: Privacy | None = Field(
        default=None,
        description="public; direct: of one person; separate: apart from that person's other chats; restricted: a "
        "closed channel. Default: as stored, else public, or direct if the chat has the person's id.",
    )


class WhoAsks(Who):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="ignore")


class ProfileQuery(BaseModel):
    about: ParticipantKey | None = Field(default=None, description="Person's key. Default: the asking participant.")
    limit: int = Field(default=50, ge=1, le=200, description="Maximum number of statements.")


class Person(BaseModel):
    """The sender of a message."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow")

    id: Annotated[str | int | None, _key_of("from_user.id")] = Field(
        default=None, description="Id on the interface of the conversation.", examples=["ann"]
    )
    full_name: str | None = Field(default=None, max_length=1000, examples=["Ann"])
    username: str | None = Field(default=None, max_length=1000)


class HostMessage(BaseModel):
    """One message of a platform. Other fields are read as `build_json_prompt` reads them."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow")

    message_id: PlatformId | None = None
    date: Date = Field(default=None, description="ISO 8601, or seconds or milliseconds since 1970; without it now.")
    text: Text = Field(default="", examples=["What was the name of my cat?"])
    interface_path: Key | None = Field(default=None, description="Conversation key.", examples=["web/7"])
    from_user: Person | None = None
    server_id: ServerId | None = None
    server_name: Annotated[str | None, BeforeValidator(lambda name: str(name) if type(name) is int else name)] = None
    is_private: bool | None = None
    chat: dict[str, Any] | None = Field(default=None, description="Id, type and title of the chat on its platform.")
    reply_to_message: Any = Field(default=None, description="The message it answers, with the fields of a message.")
    attachments: Any = Field(default=None, description="List of names, or of objects with a file name or type.")
    time_zone: Any = Field(default=None, description="IANA name of the sender's zone.", examples=["Europe/Rome"])
    payload: dict[str, Any] | None = None


class Reply(Body):
    """The answer of the persona."""

    text: Text
    message_id: PlatformId | None = None
    date: Date = Field(default=None, description="As of a message; without it the message's.")
    name: str | None = Field(default=None, max_length=255, description="Display name of the persona.")


class PromptBody(Body):
    """A message, and options for the prompt that answers it."""

    message: HostMessage
    context_memory: dict[str, Any] | None = Field(
        default=None, description="Live messages by conversation key, in the form that `build_json_prompt` takes."
    )
    max_chars: MostSize | None = None
    limit_tokens: MostSize | None = None
    style: Literal["prompt", "openai", "alternating", "anthropic"] = Field(
        default="prompt", description="prompt: the prompt object. Others: the chat messages of `build_messages`."
    )
    report: bool = Field(default=False, description="Also return what was found, kept, cut and left out, and why.")


class NewMessage(Body):
    """A message, and the persona's reply if there is one."""

    message: HostMessage
    reply: Reply | None = None


class MessagesBody(Body):
    messages: list[NewMessage] = Field(min_length=1, max_length=MAX_MESSAGES, description="Messages, oldest first.")


class TurnBody(NewMessage):
    """A whole turn: a message, and the answer of the persona."""

    reply: Reply


class MessageEditBody(Body):
    text: Text


class SearchBody(Who):
    query: Annotated[str, Field(max_length=20_000)] | None = Field(default=None, description="Text to search for.")
    tags: Tags | None = None
    keywords: Tags | None = None
    include_chat: bool = True
    limit: Whole = Field(default=5, ge=1, le=200)
    ranking: Ranking | None = None
    mode: SearchMode = Field(default="best", description="best: best hits. all: a page of all matches, oldest first.")
    offset: Whole = Field(default=0, ge=0, le=200, description="Number of matches to skip, with mode `all`.")
    since: Annotated[str, Field(max_length=64)] | None = Field(default=None, description=SINCE)
    until: Annotated[str, Field(max_length=64)] | None = Field(default=None, description=UNTIL)


class MemoryBody(Who):
    text: Text = Field(examples=["Ann likes green tea."])
    tags: Tags = []
    kind: Annotated[str, Field(max_length=32)] | None = None
    importance: Annotated[float, NOT_BOOL, Field(ge=0, le=1)] | None = None
    pinned: bool = False
    author: Annotated[str, Field(max_length=100)] | None = None
    date: Date = None
