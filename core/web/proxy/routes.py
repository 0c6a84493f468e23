"""Pass `/v1` on to the model server: chats with memories added, other routes unchanged."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from ...base import logs
from ...config import Settings
from ...errors import ConfigError
from ...llm.client import CONNECT_SECONDS, build_client_options, read_endpoint
from .. import access, errors
from ..access import WebContext
from ..guard import V1, path_below
from . import messages, tasks
from .identity import NAMES, read_identity, split_model
from .memory import OpenTurn, Turn, TurnMemory, build_opening
from .messages import MessagesKey

MEMORY_HEADER = "x-memory"
"""Header of each answer to a chat: `used`, `empty` (no memory found), `skipped; REASON` (not a turn), or `failed`."""
CHATS: Mapping[str, MessagesKey] = {"/chat/completions": "messages", "/responses": "input"}
"""Paths of the chat routes; each value is the body field with the messages."""
END_SECONDS = 1.0
"""Longest wait at shutdown for interrupted requests."""
FORM_REFUSED = (400, 422)
"""Statuses with which a model server rejects the form of a request."""

ANSWER_SECONDS = 600.0
"""Longest wait for the next bytes of an answer; some models think for minutes."""
KEY_HEADER = "x-upstream-key"
"""Header with the model server's key, which replaces LLM_API_KEY."""
DECODABLE = ("gzip", "x-gzip", "deflate")
"""Compressions that the proxy decodes to read the answer."""

_HOP_BY_HOP = frozenset({
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
    "transfer-encoding", "upgrade",
})  # fmt: skip
_OURS = frozenset({
    "host", "content-length", "authorization", "cookie", "origin", "referer", "accept-encoding", "x-store",
    "forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", KEY_HEADER,
    *map(str.lower, NAMES),
})  # fmt: skip
"""Request headers for this server; they are not passed on to the model server."""
_OWN_ANSWER = frozenset({"set-cookie", "server", "date"})


@dataclass(frozen=True, slots=True)
class Outgoing:
    content: bytes
    memory: str = ""
    turn: Turn | None = None
    """Turn to store; None if the request is not a turn of a chat."""
    without_memory: bytes | None = None
    """Body of the request without memories; None if no memories were added."""

    @property
    def headers(self) -> dict[str, str]:
        return {MEMORY_HEADER: self.memory} if self.memory else {}


class Proxy:
    """The handler of all paths without a route: passes those under `/v1` on. `guard.Guard` checks requests first."""

    def __init__(self, context: WebContext) -> None:
        self._context = context
        self._upstream = Upstream(context.values())
        self._memory = TurnMemory(context)
        self._requests: set[asyncio.Task[Any]] = set()
        """Running requests; at shutdown each stores the part of the answer that has arrived."""

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        try:
            yield
        finally:
            if self._requests:
                await asyncio.wait(self._requests, timeout=END_SECONDS)
            await self._memory.close()
            await self._upstream.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not path_below(scope).startswith(f"{V1}/"):
            raise HTTPException(404)
        request = Request(scope, receive)
        path = bytes(scope.get("raw_path") or request.url.path.encode()).decode("ascii", "replace")
        if has_dots(path):
            raise errors.Refused(400, "The path holds `..`. Send the path itself.", word="bad_value")
        path = path.removeprefix(str(scope.get("root_path", "")).rstrip("/")).partition("/v1")[2]
        content, settings = await request.body(), self._context.values()
        key = CHATS.get(path) if request.method == "POST" else None
        # the older Completions API is passed on without memories
        skipped = "skipped; dialect" if path == "/completions" and request.method == "POST" else ""
        task = asyncio.current_task()
        assert task is not None
        self._requests.add(task)
        try:
            outgoing = await self._prepare(request, content, settings, key) if key else Outgoing(content, skipped)
            await self._pass_on(request, path, outgoing, settings, send)
        finally:
            self._requests.discard(task)

    async def _prepare(self, request: Request, content: bytes, settings: Settings, key: MessagesKey) -> Outgoing:
        """Add memories to a request; if anything fails, return the request unchanged."""
        try:
            body = json.loads(content)
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            return Outgoing(content, "skipped; no JSON")
        try:
            return await self._add_memory(request, content, body, settings, key)
        except errors.Refused:
            raise
        except Exception as error:  # noqa: BLE001 - a failure costs only the memories
            logs.warning("proxy_without_memory", error=type(error).__name__)
            return Outgoing(content, "failed")

    async def _add_memory(
        self, request: Request, content: bytes, body: dict[str, Any], settings: Settings, key: MessagesKey
    ) -> Outgoing:
        token = access.get_token(request)
        persona_line, said = messages.split_persona_line(messages.read_messages(body, key))
        shared = settings.proxy_shared_memory
        scope, name = read_identity(request.headers, body, token, persona_line, shared_memory=shared)
        model, in_model = split_model(body)
        if in_model and not token.may_speak_as(in_model):  # with X-Persona-Id, `@` is part of the model's name
            model, in_model = str(body["model"]), ""
        if in_model:
            body["model"] = model or settings.llm_model
        if persona_line:
            body = messages.write_messages(body, said, key)
        if in_model or persona_line:
            content = _write_json(body)
        reason = tasks.name_task(request.headers, {**body, "messages": said}, scope.persona)
        after = messages.read_previous(body) if key == "input" else ""
        if reason and not (after and reason == "no_user_line"):  # results of tool calls continue a stored turn
            logs.event(logging.INFO, "proxy_no_turn", reason=reason)
            return Outgoing(content, f"skipped; {reason}")
        speaker = name or (scope.participant or "").rpartition("/")[2]
        lines = messages.read_lines(said, scope.persona, speaker)
        turn = Turn(lines, scope, name, model or settings.llm_model, after)
        last = messages.find_last_user(said, scope.persona)
        if last is None:
            return Outgoing(content, "empty", turn)
        try:
            texts = [messages.read_text(each.get("content")) for each in said if isinstance(each, dict)]
            question = messages.strip_name(messages.read_question(said[last].get("content")), speaker)
            block = await self._memory.build(turn, question, texts, settings)
            outcome = "used" if block else "empty"
        except Exception as error:  # noqa: BLE001 - the turn is stored all the same
            logs.warning("proxy_without_memory", error=type(error).__name__)
            block, outcome = "", "failed; timeout" if isinstance(error, TimeoutError) else "failed"
        more = messages.put_before(said, last, f"{block}\n\n") if block else said
        roles = [each.get("role") for each in said if isinstance(each, dict)]
        if not after and "system" not in roles and "developer" not in roles:  # otherwise the server has it
            opening = await run_in_threadpool(build_opening, turn, settings)
            more = [{"role": "system", "content": opening}, *more] if opening else more
        if more is said:
            return Outgoing(content, outcome, turn)
        return Outgoing(_write_json(messages.write_messages(body, more, key)), outcome, turn, content)

    async def _pass_on(self, request: Request, path: str, outgoing: Outgoing, settings: Settings, send: Send) -> None:
        """Send a request and pass the answer back; an accepted turn is stored even if the connection closes early."""
        try:
            answer, outgoing = await self._ask(request, path, outgoing, settings)
        except (ClientDisconnect, asyncio.CancelledError):
            if outgoing.turn is not None:
                self._memory.save(outgoing.turn, None, settings)
            raise
        open_turn = None
        encoding = answer.headers.get("content-encoding", "").strip().lower()
        if outgoing.turn is not None and 200 <= answer.status_code < 300:
            length = answer.headers.get("content-length", "")
            known = int(length) if length.isdecimal() and "content-encoding" not in answer.headers else None
            open_turn = OpenTurn(self._memory, outgoing.turn, settings, known)
        is_decoded = open_turn is not None and encoding in DECODABLE
        response = StreamingResponse(_iter_answer(answer, open_turn, is_decoded=is_decoded), answer.status_code)
        response.raw_headers = choose_answer_headers(answer.headers, is_decoded=is_decoded)
        response.headers.update(outgoing.headers)
        try:
            await response(request.scope, request.receive, send)
        finally:
            if open_turn is not None:
                open_turn.finish()
            await answer.aclose()

    async def _ask(self, request: Request, path: str, outgoing: Outgoing, settings: Settings) -> tuple[Any, Outgoing]:
        """Return (response whose body is not read yet, the request as it was last sent)."""
        import httpx2  # noqa: PLC0415 - an extra of its own

        def send(content: bytes) -> Awaitable[Any]:
            sending = self._upstream.send(request.method, path, request.url.query, request.headers, content, settings)
            return _while_connected(request, sending)

        try:
            answer = await send(outgoing.content)
            if answer.status_code in FORM_REFUSED and outgoing.without_memory is not None:
                refused = answer.status_code
                await answer.aclose()
                answer = await send(outgoing.without_memory)
                outgoing = replace(outgoing, memory=f"failed; the model server refused it with {refused}")
        except httpx2.HTTPError as error:
            logs.warning("proxy_upstream", error=type(error).__name__)
            sentence = "The model server of LLM_BASE_URL cannot be reached, or broke off. Try again."
            raise errors.Refused(502, sentence, outgoing.headers, word="upstream") from None
        return answer, outgoing


def _write_json(body: Mapping[str, Any]) -> bytes:
    """Format a body as JSON; raise ValueError for numbers that JSON lacks, such as 1e999."""
    text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode(errors="backslashreplace")  # JSON's own escape for half a surrogate pair


async def _iter_answer(answer: Any, open_turn: OpenTurn | None, *, is_decoded: bool) -> AsyncIterator[bytes]:
    import httpx2  # noqa: PLC0415 - an extra of its own

    try:
        async for chunk in answer.aiter_bytes() if is_decoded else answer.aiter_raw():
            if open_turn is not None:
                open_turn.feed(chunk)
            yield chunk
    except httpx2.HTTPError as error:
        logs.warning("proxy_upstream", error=type(error).__name__)
        raise errors.CutOffError from None


def has_dots(path: str) -> bool:
    """Return whether a path contains `..`, even if encoded several times."""
    for _ in range(4):
        if any(part.partition(";")[0] in (".", "..") for part in path.replace("\\", "/").split("/")):
            return True
        decoded = unquote(path)
        if decoded == path:
            return False
        path = decoded
    return True


async def _while_connected(request: Request, sending: Awaitable[Any]) -> Any:
    """Await `sending` and return its result; raise ClientDisconnect if the client disconnects first."""

    async def wait_for_disconnect() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    work, ended = asyncio.ensure_future(sending), asyncio.ensure_future(wait_for_disconnect())
    try:
        await asyncio.wait({work, ended}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            raise ClientDisconnect
        return work.result()
    finally:
        ended.cancel()
        work.cancel()


class Upstream:
    def __init__(self, settings: Settings) -> None:
        if not settings.llm_base_url.strip():
            raise ConfigError(
                "LLM_BASE_URL is unset. A proxy needs the address of the model server it asks, such as "
                "'http://127.0.0.1:11434/v1'.",
                flag="LLM_BASE_URL",
            )
        import httpx2  # noqa: PLC0415 - an extra of its own

        self._base = read_endpoint(settings.llm_base_url).removesuffix("/chat/completions")
        self._client = httpx2.AsyncClient(
            **build_client_options(),
            timeout=httpx2.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS),
            # a server may close an idle connection just when it is used again
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=0),
        )

    async def send(
        self, method: str, path: str, query: str, headers: Mapping[str, str], content: bytes, settings: Settings
    ) -> Any:
        """Send a request and return the response before its body is read; close it with `aclose`."""
        url = f"{self._base}{path}{f'?{query}' if query else ''}"
        chosen = _choose_headers(headers, settings)
        request = self._client.build_request(method, url, content=content or None, headers=chosen)
        return await self._client.send(request, stream=True)

    async def close(self) -> None:
        await self._client.aclose()


def _choose_headers(headers: Mapping[str, str], settings: Settings) -> dict[str, str]:
    listed = {each.strip().lower() for each in headers.get("connection", "").split(",")}
    kept = {
        name: value
        for name, value in headers.items()
        if name not in _HOP_BY_HOP and name not in _OURS and name not in listed and not name.startswith("x-openwebui-")
    }
    key = headers.get(KEY_HEADER, "").strip() or settings.llm_api_key.strip()
    if key:
        kept["authorization"] = f"Bearer {key}"
    return {**kept, "accept-encoding": "identity"}


def choose_answer_headers(headers: Any, *, is_decoded: bool = False) -> list[tuple[bytes, bytes]]:
    """Return the response headers without connection headers and, if `is_decoded`, without compression headers."""
    listed = {each.strip().lower() for each in headers.get("connection", "").split(",")}
    dropped = _HOP_BY_HOP | _OWN_ANSWER | listed | ({"content-encoding", "content-length"} if is_decoded else set())
    kept = [(name, value) for name, value in headers.multi_items() if name.lower() not in dropped]
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in kept]
