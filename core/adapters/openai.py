"""`remember(client)`: an OpenAI client with memory, without a second process.

Memories are inserted before the text of the last user message, as in the proxy. The turn is stored when its answer is
complete; the person's line of a streamed turn is stored at once. If the memory fails, the call continues without it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from ..base import logs
from ..calls import defaults
from ..calls.call import Call, GivenSettings
from ..database.engine import Database
from ..errors import MessageError
from ..memory import Memory
from ..scope import Scope
from ..text.replies import strip_thoughts
from ..transcripts import save_transcript
from ..web.proxy import messages as chat
from ..web.proxy.answer import read_choice
from ..web.proxy.recall import recall
from . import missing

try:
    from openai import AsyncOpenAI, OpenAI
except ImportError as _error:
    raise missing("openai", "openai") from _error

__all__ = ["remember"]

Client = TypeVar("Client", OpenAI, AsyncOpenAI)
_RAW = "X-Stainless-Raw-Response"
"""Header by which the client marks calls through `with_raw_response` and `with_streaming_response`."""


def remember(
    client: Client,
    *,
    user: str | None = None,
    persona: str | None = None,
    conversation: str | None = None,
    db: Database | str | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> Client:
    """Return a copy of the client with memory in `chat.completions.create` and `responses.create`, streams included.

    The given client is not changed; a copy of a copy has only the new user. Make one copy for each user.

    Args:
        user: who speaks; only this user's prompts use what is stored.
        persona: who answers; None uses PERSONA_ID.
        conversation: one of several conversations of the user; None uses the user's main conversation.
        db: an open database or a connection string; None uses the process's database.
        scope: replaces user, persona and conversation; for rooms with several people.

    Raises:
        MessageError: neither `user` nor a `scope` with a conversation is given.
    """
    if scope is None and not user:
        raise MessageError("remember() was not told who speaks. Pass user=, or scope= for a room.", fields=("user",))
    if not isinstance(client, OpenAI | AsyncOpenAI):
        raise TypeError(f"client is of type {type(client).__name__}. Pass an OpenAI or AsyncOpenAI.")
    memory = Memory(db, persona=persona)
    where = scope or memory.scope(user or "")
    if conversation is not None and scope is None:
        where = replace(where, conversation=f"{where.conversation}/{conversation}")
    if not where.conversation:
        raise MessageError("The scope names no conversation. Pass one, or a user.", fields=("scope",))
    own: Any = type(client).copy(client)  # not `client.copy`, which may keep a former user's memory
    create = _create_async if isinstance(client, AsyncOpenAI) else _create
    resources: tuple[tuple[Any, chat.MessagesKey], ...] = ((own.chat.completions, "messages"), (own.responses, "input"))
    for resource, key in resources:
        resource.create = create(resource.create, partial(_Turn, memory.db, settings, where, key))
    own.copy = own.with_options = lambda **options: remember(
        type(client).copy(client, **options), db=memory.db, settings=settings, scope=where
    )
    remembering: Client = own
    return remembering


@dataclass(slots=True)
class _Turn:
    db: Database
    settings: GivenSettings
    scope: Scope
    key: chat.MessagesKey
    after: str = ""
    """Id of the preceding response, if the model server holds the earlier lines; else blank."""
    lines: list[dict[str, Any]] = field(default_factory=list)
    """Lines of people and persona; empty if the call is not a turn of a chat."""
    parts: list[str] = field(default_factory=list)
    """Pieces of the streamed answer that have arrived."""

    def open(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the arguments with recalled memories; if anything fails, the unchanged arguments."""
        if _RAW in (given.get("extra_headers") or ()):
            return given  # `with_raw_response`: the answer is no object to read
        said = given.get(self.key)
        if isinstance(said, Iterable) and not isinstance(said, str):
            said = list(said)  # the messages may come from a generator
            given = {**given, self.key: said}
        try:
            if isinstance(said, list):  # objects of the client become the mappings that it sends
                said = [m.model_dump(mode="json", exclude_unset=True) if hasattr(m, "model_dump") else m for m in said]
            messages = chat.read_messages({**given, self.key: said}, self.key)
            self.after = chat.read_previous(given) if self.key == "input" else ""
            last = chat.find_last_user(messages, self.scope.persona)
            block = "" if last is None else self._build_block(messages, last)
        except Exception as error:  # noqa: BLE001 - the call continues without memory
            logs.warning("recall_failed", error=type(error).__name__)
            return given
        if last is None or not block:
            return given
        return chat.write_messages(given, chat.put_before(messages, last, f"{block}\n\n"), self.key)

    def _build_block(self, messages: Sequence[Any], last: int) -> str:
        text = chat.read_question(messages[last].get("content"))
        if not text.strip():
            return ""
        self.lines = chat.read_lines(messages, self.scope.persona)
        message = {"text": text, "interface_path": self.scope.conversation}
        held = [chat.read_text(each.get("content")) for each in messages if isinstance(each, dict)]
        call = Call(self.db, defaults.settings_for(self.settings), self.scope)
        return recall(call, message, self.lines, held, after=self.after)

    def save(self, answer: str | None) -> None:
        """Store the turn, or only its lines if `answer` is None. A failure is only logged."""
        try:
            if self.lines or self.after:
                asking: dict[str, Any] = {"db": self.db, "settings": self.settings, "scope": self.scope}
                save_transcript(self.lines, answer, after=self.after, **asking)
        except Exception as error:  # noqa: BLE001 - a failure is only logged
            logs.warning("turn_not_kept", error=type(error).__name__)

    def save_answer(self, answer: Any) -> None:
        """Store the turn and its answer, which was not streamed; if the answer cannot be read, only the turn."""
        choice = None
        with suppress(AttributeError, KeyError, TypeError):
            choice = read_choice(answer.model_dump())
        self.save(None if choice is None else strip_thoughts(chat.read_words(choice.get("message"))))

    def read_event(self, event: Any) -> None:
        """Add the text of a stream event to the answer, and store the turn when the answer is complete."""
        choice: Mapping[str, Any] = {}
        with suppress(AttributeError, KeyError, TypeError):
            choice = read_choice(event.model_dump()) or {}
        self.parts.append(chat.read_words(choice.get("delta")))
        if choice.get("finish_reason"):
            self.save(strip_thoughts("".join(self.parts)))


def _create(create: Callable[..., Any], begin: Callable[[], _Turn]) -> Callable[..., Any]:
    def call(**given: Any) -> Any:
        turn = begin()
        answer = create(**turn.open(given))
        if given.get("stream"):
            turn.save(None)
            return _Stream(answer, turn)
        turn.save_answer(answer)
        return answer

    return call


def _create_async(create: Callable[..., Any], begin: Callable[[], _Turn]) -> Callable[..., Any]:
    async def call(**given: Any) -> Any:
        turn = begin()
        answer = await create(**await asyncio.to_thread(turn.open, given))
        if given.get("stream"):
            await asyncio.to_thread(turn.save, None)
            return _Stream(answer, turn)
        await asyncio.to_thread(turn.save_answer, answer)
        return answer

    return call


class _Stream:
    """A stream of either client that stores the turn when the answer is complete."""

    def __init__(self, stream: Any, turn: _Turn) -> None:
        self._stream, self._turn = stream, turn

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __iter__(self) -> _Stream:
        return self

    def __next__(self) -> Any:
        event = next(self._stream)
        self._turn.read_event(event)
        return event

    def __enter__(self) -> _Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def __aiter__(self) -> _Stream:
        return self

    async def __anext__(self) -> Any:
        event = await anext(self._stream)
        await asyncio.to_thread(self._turn.read_event, event)
        return event

    async def __aenter__(self) -> _Stream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stream.close()
