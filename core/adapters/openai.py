"""`remember(client)`: an OpenAI client with memory, without a second process.

The memories stand before the text of the last user message, as the proxy puts them; the turn is stored when its answer
is whole. Where the memory fails, the call goes on without it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from ..base import logs
from ..calls import defaults
from ..calls.call import GivenSettings
from ..database.engine import Database
from ..errors import MessageError
from ..memories.rules_modes import MODES
from ..memory import Memory
from ..prompt import pipeline
from ..prompt.request import PromptRequest
from ..scope import Scope
from ..text.replies import strip_thoughts
from ..transcripts import find_replaced, save_transcript
from ..web.proxy import messages as chat
from . import missing

try:
    from openai import AsyncOpenAI, OpenAI
except ImportError as _error:
    raise missing("openai", "openai") from _error

__all__ = ["remember"]

Client = TypeVar("Client", OpenAI, AsyncOpenAI)


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
    """Return the client with memory: `chat.completions.create` and `responses.create`, streams too.

    The client passed stays as it is, so one serves many users, each with a client of their own.

    Args:
        user: who speaks; what belongs to them is seen by them alone.
        persona: who answers; None is PERSONA_ID.
        conversation: one of several conversations of the user; None is the one that they always have.
        db: an open database or a connection string; None is that of the process.
        scope: who speaks where, in place of user, persona and conversation; for rooms with several people.

    Raises:
        MessageError: neither user nor scope with a conversation is given.
    """
    memory = Memory(db, persona=persona)
    where = scope or memory.scope(user or "")
    if conversation is not None and scope is None:
        where = replace(where, conversation=f"{where.conversation}/{conversation}")
    if not where.conversation:
        raise MessageError("The scope names no conversation. Pass one, or a user.", fields=("scope",))
    own: Any = client.copy()
    create = _create_async if isinstance(client, AsyncOpenAI) else _create
    for resource, key in ((own.chat.completions, "messages"), (own.responses, "input")):
        resource.create = create(resource.create, _Turns(memory.db, settings, where, key))
    remembering: Client = own
    return remembering


@dataclass(frozen=True, slots=True)
class _Turns:
    """The turns of one conversation, in one of the two dialects."""

    db: Database
    settings: GivenSettings
    scope: Scope
    key: str
    """Argument that holds the messages: `messages`, or `input` of the Responses API."""

    def open(self, given: Mapping[str, Any]) -> tuple[dict[str, Any], _Turn]:
        """Return the arguments with what is remembered, and the turn; whatever fails, the call goes on without it."""
        turn = _Turn(self)
        try:
            return self._add_memory(given, turn), turn
        except Exception as error:  # noqa: BLE001 - as said above
            logs.warning("recall_failed", error=type(error).__name__)
            return dict(given), turn

    def _add_memory(self, given: Mapping[str, Any], turn: _Turn) -> dict[str, Any]:
        said = given.get(self.key)
        is_text = isinstance(said, str)
        items = [{"role": "user", "content": said}] if is_text else list(said or ())
        given = given if is_text else {**given, self.key: items}  # they may come from a generator
        plain = [each.model_dump() if hasattr(each, "model_dump") else each for each in items]
        last = chat.find_last_user(plain, self.scope.persona)
        if last is None or not chat.read_text(plain[last].get("content")).strip():
            return dict(given)
        turn.lines = chat.read_lines(plain, self.scope.persona)
        texts = [chat.read_text(each.get("content")) for each in plain if isinstance(each, dict)]
        block = self._build_block(chat.read_question(plain[last].get("content")), texts, turn.lines)
        if not block:
            return dict(given)
        more = chat.put_before(plain, last, f"{block}\n\n")[last]
        return {**given, self.key: more["content"] if is_text else [*items[:last], more, *items[last + 1 :]]}

    def _build_block(self, text: str, held: Sequence[str], lines: Sequence[Mapping[str, Any]]) -> str:
        settings = defaults.settings_for(self.settings)
        if MODES[settings.memory_mode].how == "tool":  # the model is offered no tool here
            settings = settings.replace(memory_mode="plus")
        asking: dict[str, Any] = {"db": self.db, "settings": settings, "scope": self.scope}
        message = {"text": text, "interface_path": self.scope.conversation}
        rows = find_replaced(lines, **asking)
        request = PromptRequest(message, max_chars=settings.proxy_context_chars, replaced_rows=rows, **asking)
        return pipeline.build_records(request, held).text


@dataclass(slots=True)
class _Turn:
    turns: _Turns
    lines: list[dict[str, Any]] = field(default_factory=list)
    """What people and persona said; empty for what is no turn."""
    parts: list[str] = field(default_factory=list)
    """The answer, as far as it came."""
    is_saved: bool = False

    def save(self, answer: str | None) -> None:
        """Store the turn, once. The answer was given: a failure is only logged."""
        if self.is_saved or not self.lines:
            return
        self.is_saved = True
        try:
            by: dict[str, Any] = {"db": self.turns.db, "settings": self.turns.settings, "scope": self.turns.scope}
            save_transcript(self.lines, answer, **by)
        except Exception as error:  # noqa: BLE001 - as said above
            logs.warning("turn_not_kept", error=type(error).__name__)

    def read_answer(self, answer: Any) -> str | None:
        """Return what a whole answer says, None where it is no answer that we know."""
        if self.turns.key == "input":
            is_whole = getattr(answer, "status", "completed") == "completed"
            return getattr(answer, "output_text", None) if is_whole else None
        with suppress(AttributeError, IndexError, TypeError):
            return strip_thoughts(chat.read_words(answer.choices[0].message.model_dump()))
        return None

    def read_event(self, event: Any) -> bool:
        """Add what an event of a stream says; return whether the answer is whole."""
        if self.turns.key == "input":
            self.parts += [event.delta] if event.type == "response.output_text.delta" else []
            return bool(event.type == "response.completed")
        choice = next((each for each in event.choices if not each.index), None)
        self.parts += [chat.read_words(choice.delta.model_dump())] if choice is not None else []
        return bool(choice is not None and choice.finish_reason)

    def said(self) -> str:
        return strip_thoughts("".join(self.parts))


def _create(create: Callable[..., Any], turns: _Turns) -> Callable[..., Any]:
    def call(**given: Any) -> Any:
        more, turn = turns.open(given)
        answer = create(**more)
        if given.get("stream"):
            return _Stream(answer, turn)
        turn.save(turn.read_answer(answer))
        return answer

    return call


def _create_async(create: Callable[..., Any], turns: _Turns) -> Callable[..., Any]:
    async def call(**given: Any) -> Any:
        more, turn = await asyncio.to_thread(turns.open, given)
        answer = await create(**more)
        if given.get("stream"):
            return _AsyncStream(answer, turn)
        await asyncio.to_thread(turn.save, turn.read_answer(answer))
        return answer

    return call


class _Watched:
    """A stream of the client, whose answer is stored when it is whole; of one that broke off, the lines before it."""

    def __init__(self, stream: Any, turn: _Turn) -> None:
        self._stream, self._turn = stream, turn
        self._read = self._events()

    def _events(self) -> Any:
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Stream(_Watched):
    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._read)

    def _events(self) -> Iterator[Any]:
        try:
            for event in self._stream:
                if self._turn.read_event(event):
                    self._turn.save(self._turn.said())
                yield event
        finally:
            self._turn.save(None)

    def __enter__(self) -> _Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
        self._turn.save(None)


class _AsyncStream(_Watched):
    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        return await anext(self._read)

    async def _events(self) -> AsyncIterator[Any]:
        try:
            async for event in self._stream:
                if self._turn.read_event(event):
                    await asyncio.to_thread(self._turn.save, self._turn.said())
                yield event
        finally:
            await asyncio.to_thread(self._turn.save, None)

    async def __aenter__(self) -> _AsyncStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stream.close()
        await asyncio.to_thread(self._turn.save, None)
