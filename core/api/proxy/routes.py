"""The two routes of the proxy, and one request in a straight line."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse

from ...admin import errors
from ...base import logs
from ...calls.defaults import known_settings
from ...config import Settings
from ...errors import MessageError, ScopeError
from ...prompt.context_text import HEAD, write_context
from ...prompt_engine import build_json_prompt
from ...scope import Scope
from ...tokens import narrow_scope
from ...transcripts import save_transcript
from .. import access
from ..guard import FaceContext, speak_dialect
from . import rules_request, rules_splice
from .rules_answer import MOST_BYTES, AnswerReader
from .upstream import Upstream, choose_answer_headers

MEMORY_HEADER = "x-memory"
"""On every answer: `used`, `empty` (nothing belongs to the message), `skipped` and why, `failed`."""
MEMORY_SECONDS = 5.0
"""Longest time a request waits for its memory; then it goes on without."""


class _UnreadableError(MessageError):
    """A header says who speaks, or where, in a way nobody can read: refused, where other faults cost the memory."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A request that is a turn of a chat."""

    lines: list[dict[str, Any]]
    scope: Scope
    name: str | None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request as it is sent on."""

    content: bytes
    memory: str
    turn: Turn | None = None
    """None for what is passed on and not stored."""


@dataclass(frozen=True, slots=True)
class Proxy:
    """The routes, and what is entered and left around them."""

    router: APIRouter
    lifespan: Callable[[], Any]


def create_proxy(context: FaceContext) -> Proxy:
    """Return the proxy of a server."""
    handler = _Handler(context, Upstream(known_settings(context.settings, context.db)))
    router = APIRouter(prefix="/v1", include_in_schema=False)
    router.add_api_route("/models", handler.list_models, methods=["GET"], response_model=None)
    router.add_api_route("/models/{rest:path}", handler.list_models, methods=["GET"], response_model=None)
    router.add_api_route("/chat/completions", handler.complete, methods=["POST"], response_model=None)
    return Proxy(router, handler.lifespan)


class _Handler:
    """Answers the requests of one proxy."""

    def __init__(self, context: FaceContext, upstream: Upstream) -> None:
        self._context = context
        self._upstream = upstream
        self._storing: set[asyncio.Task[None]] = set()
        self._passed: Counter[str] = Counter()

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Wait at the end for what is being stored, and end the connections."""
        try:
            yield
        finally:
            if self._storing:
                await asyncio.wait(self._storing, timeout=30.0)
            await self._upstream.close()

    async def list_models(self, request: Request) -> Response:
        """Return what the model server answers."""
        path = request.url.path.partition("/v1")[2]
        return await self._pass_on(request, path, Prepared(b"", ""), await self._read_settings())

    async def complete(self, request: Request) -> Response:
        """Answer a chat request by the model server, with what belongs to its last line put in."""
        # 1. what came
        content = await request.body()
        settings = await self._read_settings()
        # 2. what is sent on
        try:
            prepared = await self._prepare(request, content, settings)
        except rules_request.WrongIdentityError as error:
            return speak_dialect(errors.build_refusal(403, str(error), "forbidden", fields=error.fields))
        except ScopeError as error:
            raise access.AccessRefusedError(403, str(error)) from None
        except _UnreadableError as error:
            return speak_dialect(errors.build_refusal(400, str(error), "bad_value", fields=error.fields))
        except Exception as error:  # noqa: BLE001 - whatever fails here, the request goes on without memory
            logs.warning("proxy_without_memory", error=type(error).__name__)
            prepared = Prepared(content, "failed")
        # 3. the answer, and what is stored of it
        return await self._pass_on(request, "/chat/completions", prepared, settings)

    async def _read_settings(self) -> Settings:
        try:
            return await asyncio.to_thread(self._context.values)
        except Exception as error:  # noqa: BLE001 - as above
            logs.warning("proxy_without_settings", error=type(error).__name__)
            return known_settings(self._context.settings, self._context.db)

    async def _prepare(self, request: Request, content: bytes, settings: Settings) -> Prepared:
        """Return the request with what belongs to it put in."""
        try:
            text = content.decode("utf-8")
            members = rules_splice.find_members(text)
        except (ValueError, RecursionError):
            return Prepared(content, "skipped; no JSON")
        body = {name: span.value for name, span in members.items()}
        token = access.get_token(request)
        try:
            whose = rules_request.read_whose(rules_request.read_identity(request.headers), body, token)
        except MessageError as error:
            raise _UnreadableError(str(error), fields=error.fields) from None
        scope = narrow_scope(
            token,
            conversation=whose.conversation,
            participant=whose.participant,
            server=whose.server,
            privacy=whose.privacy,
        )
        reason = rules_request.name_background(request.headers, body)
        block, failed, turn = "", False, None
        if not reason:
            lines = rules_request.read_lines(body["messages"])
            turn = Turn(lines, scope, whose.name)
            block, failed = await self._find_block(turn, body["messages"], settings)
            start = members["messages"].start
            if block:
                message = {"role": "user", "content": block}
                before = rules_request.find_last_user(body["messages"]) or 0
                text = rules_splice.insert_message(text, start, before, message)
        else:
            self._passed[reason] += 1
            logs.event(logging.INFO, "proxy_no_turn", reason=reason, count=self._passed[reason])
        if whose.model is not None:
            text = rules_splice.replace_value(text, rules_splice.find_members(text)["model"], settings.llm_model)
        memory = f"skipped; {reason}" if reason else "failed" if failed else "used" if block else "empty"
        return Prepared(text.encode("utf-8"), memory, turn)

    async def _find_block(self, turn: Turn, messages: list[Any], settings: Settings) -> tuple[str, bool]:
        """Return what is put in, and whether that failed."""
        text = turn.lines[-1]["content"]
        held = [rules_request.read_text(each.get("content")) for each in messages if isinstance(each, dict)]
        building = asyncio.to_thread(build_block, self._context, settings, turn.scope, text, held)
        try:
            return await asyncio.wait_for(building, MEMORY_SECONDS), False
        except Exception as error:  # noqa: BLE001 - as above
            logs.warning("proxy_without_memory", error=type(error).__name__)
            return "", True

    async def _pass_on(self, request: Request, path: str, prepared: Prepared, settings: Settings) -> Response:
        """Send a request on and return its answer, which is read as it is passed back."""
        import httpx2  # noqa: PLC0415 - an extra of its own

        sending = self._upstream.send(
            request.method, path, request.url.query, request.headers, prepared.content, settings
        )
        try:
            answer = await _while_connected(request, sending)
        except httpx2.HTTPError as error:
            logs.warning("proxy_upstream", error=type(error).__name__)
            said = "The model server of LLM_BASE_URL cannot be reached, or broke off. Try again."
            return speak_dialect(errors.build_refusal(502, said, "upstream", headers=_memory_header(prepared)))
        response = StreamingResponse(self._iter_body(answer, prepared, settings), answer.status_code)
        response.raw_headers = [
            (name.encode("latin-1"), value.encode("latin-1")) for name, value in choose_answer_headers(answer.headers)
        ]
        for name, value in _memory_header(prepared).items():
            response.headers[name] = value
        return response

    async def _iter_body(self, answer: Any, prepared: Prepared, settings: Settings) -> AsyncIterator[bytes]:
        """Yield the answer as it comes, and store the turn when all of it has come."""
        keeps = prepared.turn is not None and 200 <= answer.status_code < 300
        reader = AnswerReader(answer.headers.get("content-type", ""))
        try:
            async for chunk in answer.aiter_raw():
                if keeps:
                    reader.feed(chunk)
                yield chunk
        finally:
            await answer.aclose()
        text = reader.text() if keeps else None
        if keeps and reader.is_too_long:
            logs.warning("proxy_not_stored", error="TooLong", most_bytes=MOST_BYTES)
        if prepared.turn is not None and text is not None:
            await asyncio.shield(self._start_storing(prepared.turn, text, settings))

    def _start_storing(self, turn: Turn, answer: str, settings: Settings) -> asyncio.Task[None]:
        task = asyncio.create_task(self._store(turn, answer, settings))
        self._storing.add(task)
        task.add_done_callback(self._storing.discard)
        return task

    async def _store(self, turn: Turn, answer: str, settings: Settings) -> None:
        def save() -> None:
            save_transcript(
                turn.lines, answer, name=turn.name, db=self._context.database(), settings=settings, scope=turn.scope
            )

        try:
            await asyncio.to_thread(save)
        except Exception as error:  # noqa: BLE001 - the answer was given; the next request brings the lines again
            logs.warning("proxy_not_stored", error=type(error).__name__)


def build_block(context: FaceContext, settings: Settings, scope: Scope, text: str, held: Sequence[str] = ()) -> str:
    """Return what is put into a request before the line it ends with, blank where nothing belongs to that."""
    most = settings.proxy_context_chars
    if most <= len(HEAD):
        return ""
    message = {"message_id": None, "date": None, "text": text, "interface_path": scope.conversation}
    prompt = build_json_prompt(message, db=context.database(), settings=settings, scope=scope)
    return write_context(prompt["context"], most, held).text


async def _while_connected(request: Request, sending: Awaitable[Any]) -> Any:
    """Return what is waited for, unless the client goes away before."""
    work, gone = asyncio.ensure_future(sending), asyncio.ensure_future(_until_gone(request))
    try:
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            raise ClientDisconnect
        return work.result()
    finally:
        gone.cancel()
        if not work.done():
            work.cancel()


async def _until_gone(request: Request) -> None:
    await request.body()
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _memory_header(prepared: Prepared) -> Mapping[str, str]:
    return {MEMORY_HEADER: prepared.memory} if prepared.memory else {}
