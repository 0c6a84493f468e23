"""Answer `/v1` by the model server: chats with memory added, every other route as it came."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from ...base import logs
from ...calls.defaults import settings_for
from ...config import Settings
from ...tokens.shapes import AccessToken
from .. import access, errors
from ..context import WebContext
from . import identity, messages, tasks
from .answer import MAX_BYTES, AnswerReader
from .memory import Turn, TurnMemory, build_opening
from .upstream import DECODABLE, Upstream, choose_answer_headers

MEMORY_HEADER = "x-memory"
"""On every answer to a chat: `used`, `empty` (nothing belongs to the message), `skipped` and why, `failed`."""
NOTICE_HEADER = "x-memory-notice"
NOTICE = "what was said without X-User-Id and X-Conversation-Id stays in a conversation of its own"
MAX_READ_BYTES = 64_000_000
"""A longer request is passed on without memory, while it still arrives."""
WAIT_SECONDS = 60.0
"""Longest wait for the next bytes of a request."""
CHAT = "/chat/completions"
FORM_REFUSED = (400, 422)
"""Statuses by which a model server refuses the form of a request."""
MAX_NOTICED = 10_000


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request as it is sent on."""

    content: bytes | AsyncIterator[bytes]
    memory: str = ""
    turn: Turn | None = None
    """None for what is passed on and not stored."""
    without_memory: bytes | None = None
    """The request as it came, where something was added."""
    notice: str = ""


class Proxy:
    """The application under `/v1`, to be put behind a `guard.Guard`, which does not read its bodies."""

    def __init__(self, context: WebContext) -> None:
        self._context = context
        self._upstream = Upstream(settings_for(context.settings))
        self._memory = TurnMemory(context)
        self._passed: Counter[str] = Counter()
        self._noticed: set[tuple[str, str]] = set()

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Be ready to store before the first request; wait at the end for what is being stored."""
        await self._memory.warm_up()
        try:
            yield
        finally:
            await self._memory.close()
            await self._upstream.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        response = await self._answer(request)
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        path = bytes(request.scope.get("raw_path") or request.url.path.encode()).decode("ascii", "replace")
        if has_dots(path):
            raise errors.Refused(400, "The path holds `..`. Send the path itself.", word="bad_value")
        path = path.partition("/v1")[2]
        # 1. what came
        content, is_whole = await read_start(request)
        settings = self._context.values()
        # 2. what is sent on
        outgoing = Outgoing(content if is_whole else _chain(content, request))
        if path == CHAT and request.method == "POST":
            try:
                outgoing = (
                    await self._prepare(request, content, settings)
                    if is_whole
                    else replace(outgoing, memory="skipped; too long")
                )
            except errors.Refused:
                raise
            except Exception as error:  # noqa: BLE001 - whatever fails here, the request goes on without memory
                logs.warning("proxy_without_memory", error=type(error).__name__)
                outgoing = Outgoing(content, "failed")
        # 3. the answer, and what is stored of it
        return await self._pass_on(request, path, outgoing, settings)

    async def _prepare(self, request: Request, content: bytes, settings: Settings) -> Outgoing:
        """Return the request with what belongs to it added."""
        try:
            text = content.decode("utf-8")
            body = json.loads(text)
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            return Outgoing(content, "skipped; no JSON")
        token = access.get_token(request)
        who = identity.read_identity(request.headers, body, token, shared_memory=settings.proxy_shared_memory)
        scope = access.read_scope(
            token,
            persona=who.persona,
            conversation=who.conversation,
            participant=who.participant,
            server=who.server,
            privacy=who.privacy,
        )
        model, in_model = identity.split_model(body)
        if in_model and not token.may_speak_as(in_model):  # X-Persona-Id was given: the name is the provider's own
            model, in_model = str(body["model"]), ""
        changes: dict[str, Any] = {"model": model or settings.llm_model} if in_model else {}
        if messages.find_persona(body.get("messages")):
            changes["messages"] = messages.without_persona_line(body["messages"])
        if changes:
            body |= changes
            text = json.dumps(body)
        plain = text.encode("utf-8")
        reason = tasks.name_task(request.headers, body, scope.persona)
        if reason:
            self._passed[reason] += 1
            logs.event(logging.INFO, "proxy_no_turn", reason=reason, count=self._passed[reason])
            return Outgoing(plain, f"skipped; {reason}")
        last = messages.find_last_user(body["messages"], scope.persona)
        assert last is not None
        lines = messages.read_lines(body["messages"], scope.persona)
        turn = Turn(lines, scope, who.name, model or settings.llm_model)
        block = notice = ""
        try:
            said = [messages.read_text(each.get("content")) for each in body["messages"] if isinstance(each, dict)]
            question = messages.read_question(body["messages"][last].get("content"))
            block = await self._memory.build(turn, question, said, settings)
            notice = await self._find_notice(token, who, scope, settings)
            outcome = "used" if block else "empty"
        except Exception as error:  # noqa: BLE001 - as above
            logs.warning("proxy_without_memory", error=type(error).__name__)
            block, outcome = "", "failed"
        if block:
            text = messages.insert_text(text, messages.find_text(body["messages"], last), f"{block}\n\n")
        if not messages.has_system_message(body["messages"]):
            opening = await run_in_threadpool(build_opening, turn, settings)
            text = messages.insert_message(text, {"role": "system", "content": opening}) if opening else text
        content = text.encode("utf-8")
        return Outgoing(content, outcome, turn, plain if content != plain else None, notice)

    async def _find_notice(self, token: AccessToken, who: identity.Identity, scope: Any, settings: Settings) -> str:
        """Return a notice where a request is the first to name somebody, and something was said before; once each."""
        if not who.is_named or token.kind == "scope" or (scope.persona, scope.conversation) in self._noticed:
            return ""
        if len(self._noticed) < MAX_NOTICED:
            self._noticed.add((scope.persona, scope.conversation))
        unnamed = identity.unnamed_conversation(token)
        before = access.read_scope(
            token, persona=scope.persona, conversation=unnamed, participant=unnamed, privacy="direct"
        )
        if not await self._memory.is_hidden(before, scope, settings):
            return ""
        logs.warning("proxy_said_before_elsewhere", token=token.id)
        return NOTICE

    async def _pass_on(self, request: Request, path: str, outgoing: Outgoing, settings: Settings) -> Response:
        """Send a request on and return its answer, which is read as it is passed back."""
        import httpx2  # noqa: PLC0415 - an extra of its own

        def send(content: bytes | AsyncIterator[bytes]) -> Awaitable[Any]:
            sending = self._upstream.send(request.method, path, request.url.query, request.headers, content, settings)
            return _while_connected(request, sending) if isinstance(content, bytes) else sending

        try:
            answer = await send(outgoing.content)
            if answer.status_code in FORM_REFUSED and outgoing.without_memory is not None:
                refused = answer.status_code
                await answer.aclose()
                answer = await send(outgoing.without_memory)
                outgoing = replace(outgoing, memory=f"failed; the model server refused it with {refused}")
        except httpx2.HTTPError as error:
            logs.warning("proxy_upstream", error=type(error).__name__)
            said = "The model server of LLM_BASE_URL cannot be reached, or broke off. Try again."
            raise errors.Refused(502, said, _own_headers(outgoing), word="upstream") from None
        turn = outgoing.turn if 200 <= answer.status_code < 300 else None
        is_decoded = turn is not None and answer.headers.get("content-encoding", "").strip().lower() in DECODABLE
        chunks = answer.aiter_bytes() if is_decoded else answer.aiter_raw()
        body = _iter_plain(answer, chunks) if turn is None else self._iter_turn(answer, chunks, turn, settings)
        response = StreamingResponse(body, answer.status_code)
        response.raw_headers = choose_answer_headers(answer.headers, is_decoded=is_decoded)
        for name, value in _own_headers(outgoing).items():
            response.headers[name] = value
        return response

    async def _iter_turn(
        self, answer: Any, chunks: AsyncIterator[bytes], turn: Turn, settings: Settings
    ) -> AsyncIterator[bytes]:
        """Yield the answer as it comes, and store the turn as soon as the answer is complete."""
        reader = AnswerReader(read_length(answer.headers))
        is_stored = False
        async for chunk in _iter_plain(answer, chunks):
            reader.feed(chunk)
            if reader.is_complete and not is_stored:
                is_stored = self._store(turn, reader, settings)
            yield chunk
        if not is_stored:
            self._store(turn, reader, settings)

    def _store(self, turn: Turn, reader: AnswerReader, settings: Settings) -> bool:
        text = reader.text()
        if reader.is_too_long:
            logs.warning("proxy_not_stored", error="TooLong", max_bytes=MAX_BYTES)
        elif text is None:
            logs.event(logging.INFO, "proxy_not_stored", error="NoAnswer")
        else:
            self._memory.save(turn, text, settings)
        return True


async def _iter_plain(answer: Any, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    import httpx2  # noqa: PLC0415 - an extra of its own

    try:
        async for chunk in chunks:
            yield chunk
    except httpx2.HTTPError as error:
        logs.warning("proxy_upstream", error=type(error).__name__)
        raise errors.CutOffError from None
    finally:
        await answer.aclose()


async def read_start(request: Request) -> tuple[bytes, bool]:
    """Return the body, or what came of it by MAX_READ_BYTES, and whether that is all."""
    parts: list[bytes] = []
    size = 0
    while size <= MAX_READ_BYTES:
        try:
            message = await asyncio.wait_for(request.receive(), WAIT_SECONDS)
        except TimeoutError:
            raise errors.Refused(
                408, f"The body did not arrive. Send it without pauses of {WAIT_SECONDS:.0f} s."
            ) from None
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if not message.get("more_body", False):
            return b"".join(parts), True
    return b"".join(parts), False


async def _chain(content: bytes, request: Request) -> AsyncIterator[bytes]:
    yield content
    async for chunk in request.stream():
        yield chunk


def has_dots(path: str) -> bool:
    """Return whether a path leaves its folder, however often it is encoded."""
    for _ in range(4):
        if any(part.partition(";")[0] in (".", "..") for part in path.replace("\\", "/").split("/")):
            return True
        decoded = unquote(path)
        if decoded == path:
            return False
        path = decoded
    return True


def read_length(headers: Mapping[str, str]) -> int | None:
    """Return how many bytes an answer has, None where that is not known."""
    length = headers.get("content-length", "")
    return int(length) if length.isdecimal() and "content-encoding" not in headers else None


async def _while_connected(request: Request, sending: Awaitable[Any]) -> Any:
    """Return what is waited for, unless the client goes away before."""
    work, gone = asyncio.ensure_future(sending), asyncio.ensure_future(_wait_for_disconnect(request.receive))
    try:
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            raise ClientDisconnect
        return work.result()
    finally:
        gone.cancel()
        if not work.done():
            work.cancel()


async def _wait_for_disconnect(receive: Callable[[], Awaitable[Any]]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _own_headers(outgoing: Outgoing) -> Mapping[str, str]:
    named = {MEMORY_HEADER: outgoing.memory, NOTICE_HEADER: outgoing.notice}
    return {name: value for name, value in named.items() if value}
