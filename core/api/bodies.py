"""What the routes for hosts take. What is not known is refused, not passed over; a message may carry what it likes."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from fastapi import Request
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError, PydanticKnownError

from ..admin.bodies import Whole, check_known
from ..admin.errors import ErrorAnswer
from ..base.wire_ids import LARGEST_ID
from ..scope import Privacy, Scope
from ..shapes import Ranking
from ..text.times import parse_time
from . import access

__all__ = ["check_known"]

MOST_MESSAGES = 500


def read_id(value: object) -> object:
    """Return an id that came as a number, or as a text of digits: clients in JavaScript round numbers above 2^53."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 19:
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise PydanticKnownError("int_type")


ItemId = Annotated[
    int, BeforeValidator(read_id), Field(ge=0, le=LARGEST_ID, description="Id of the item, a text of digits.")
]


def _read_key(value: object) -> object:
    if value is None or (isinstance(value, (str, int)) and not isinstance(value, bool)):
        return value
    raise PydanticCustomError("id", "Input should be a text or a whole number")


def _read_date(value: object) -> object:
    if value is None or parse_time(value) is not None:
        return value
    raise PydanticCustomError("time", "Input should be an ISO 8601 time such as 2026-03-10T12:00:00Z")


def _read_number(value: object) -> object:
    if isinstance(value, bool):
        raise PydanticKnownError("float_type")
    return value


Text = Annotated[str, Field(max_length=1_000_000)]
Key = Annotated[str, Field(max_length=512)]
PlatformId = Annotated[
    str | int, BeforeValidator(_read_key), Field(description="Id of the message on its platform, at most 191 bytes.")
]
Date = Annotated[str | float | None, BeforeValidator(_read_date)]


class Who(BaseModel):
    """Who speaks where. A host token may name anybody of its persona; a scope token need not say any of it."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    conversation: Key | None = Field(default=None, description="interface/chat[/thread].", examples=["web/7"])
    participant: Annotated[str, Field(max_length=255)] | None = Field(
        default=None, description="interface/id.", examples=["web/ann"]
    )
    server: Annotated[str, Field(max_length=191)] = Field(
        default="", description="Community a public conversation belongs to."
    )
    privacy: Privacy | None = Field(default=None, description="What the host says of the conversation.")

    def scope(self, request: Request) -> Scope:
        """Return the scope of the request: its token's, with what this says."""
        return access.read_scope(
            access.get_token(request),
            conversation=self.conversation,
            participant=self.participant,
            server=self.server,
            privacy=self.privacy,
        )


class Person(BaseModel):
    """Who wrote a message."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow")

    id: Annotated[str | int | None, BeforeValidator(_read_key)] = Field(
        default=None, description="Id on the interface of the conversation.", examples=["ann"]
    )
    full_name: str | None = Field(default=None, max_length=1000, examples=["Ann"])
    username: str | None = Field(default=None, max_length=1000)


class HostMessage(BaseModel):
    """One message as its platform has it. Further fields are read as `build_json_prompt` reads them."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow")

    message_id: PlatformId | None = None
    date: Date = Field(default=None, description="ISO 8601, or seconds since 1970; without it now.")
    text: Text = Field(default="", examples=["What was the name of my cat?"])
    interface_path: Key | None = Field(default=None, description="The conversation.", examples=["web/7"])
    from_user: Person | None = None
    server_id: Annotated[str, Field(max_length=191)] | None = None
    is_private: bool | None = None
    chat: dict[str, Any] | None = Field(default=None, description="Its id, type and title on the platform.")
    payload: dict[str, Any] | None = None

    def plain(self) -> dict[str, Any]:
        """Return it as the doors take it."""
        return self.model_dump(exclude_unset=True)


class Reply(BaseModel):
    """What the persona answered."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    text: Text
    message_id: PlatformId | None = None
    date: Date = None
    name: str | None = Field(default=None, max_length=255, description="The persona's name as it is shown.")


class PromptBody(BaseModel):
    """A message, and how its prompt is wanted."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    message: HostMessage
    context_memory: dict[str, Any] | None = Field(
        default=None, description="Live messages by conversation key, as `build_json_prompt` takes them."
    )
    max_chars: Whole | None = Field(default=None, ge=1, le=100_000_000)
    limit_tokens: Whole | None = Field(default=None, ge=1, le=100_000_000)
    style: Literal["prompt", "openai", "anthropic"] = Field(
        default="prompt", description="prompt: the prompt alone. Else also the messages of that dialect."
    )
    report: bool = Field(default=False, description="Also what was found, kept, cut and left out, and why.")


class NewMessage(BaseModel):
    """A message, and the persona's reply to it where there is one."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    message: HostMessage
    reply: Reply | None = None


class MessagesBody(BaseModel):
    """Messages to be stored, oldest first."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    messages: list[NewMessage] = Field(min_length=1, max_length=MOST_MESSAGES)


class TurnBody(BaseModel):
    """A whole turn: what was said, and what the persona answered."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    message: HostMessage
    reply: Reply


class EditBody(BaseModel):
    """What a message reads from now on."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    text: Text


class SearchBody(Who):
    """What is looked for."""

    query: Annotated[str, Field(max_length=20_000)] | None = Field(default=None, description="The message as said.")
    tags: list[Annotated[str, Field(max_length=255)]] | None = Field(default=None, max_length=100)
    keywords: list[Annotated[str, Field(max_length=255)]] | None = Field(default=None, max_length=100)
    include_chat: bool = True
    limit: Whole = Field(default=5, ge=1, le=200)
    ranking: Ranking | None = None
    since: Annotated[str, Field(max_length=64)] | None = Field(default=None, description="The earliest, ISO 8601.")
    until: Annotated[str, Field(max_length=64)] | None = Field(
        default=None, description="The latest time, not included."
    )


class MemoryBody(Who):
    """A memory to be stored."""

    text: Text = Field(examples=["Ann likes green tea."])
    tags: list[Annotated[str, Field(max_length=255)]] = Field(default=[], max_length=100)
    kind: Annotated[str, Field(max_length=32)] | None = None
    importance: Annotated[float | None, BeforeValidator(_read_number)] = Field(default=None, ge=0, le=1)
    pinned: bool = False
    author: Annotated[str, Field(max_length=100)] | None = None
    date: Date = None


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the refusals a route may answer, for the OpenAPI document; those of every route are in it."""
    return {each: {"model": ErrorAnswer, "description": _MEANING[each]} for each in sorted({*_ALWAYS, *statuses})}


_ALWAYS = (400, 401, 403, 408, 413, 421, 422, 503)
_MEANING = {
    400: "The body cannot be read.",
    401: "No token, or none that holds.",
    403: "The token is not for this, or a page of another site asks.",
    404: "There is no such thing that the token may see.",
    408: "The body did not arrive in time.",
    413: "The body is too large.",
    421: "The Host header names another machine.",
    422: "A parameter is missing or out of its range; the message names both.",
    503: "The database or the configuration does not serve.",
}
