"""Ask a model server in the OpenAI dialect, or a host's own model, within a time limit."""

from __future__ import annotations

import atexit
import inspect
import json
import logging
import os
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import copy_context
from importlib.util import find_spec
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..base import logs
from ..errors import ConfigError, ModelError
from ..hooks import accepted_keywords
from ..text.folding import clean

if TYPE_CHECKING:
    import httpx2

MAX_ANSWER_BYTES = 10_000_000
CONNECT_SECONDS = 10.0
MAX_RETRY_AFTER_SECONDS = 3600.0
_ENDPOINT = "/chat/completions"
_STATUS = re.compile("[1-5][0-9]{2}")


class ChatClient:
    """A model behind the route `POST {base_url}/chat/completions`."""

    def __init__(self, base_url: str, *, model: str = "", api_key: str = "", timeout_seconds: float = 60.0) -> None:
        self._url = read_endpoint(base_url)
        self.model: str = model.strip()
        self._key = api_key.strip()
        self._timeout_seconds = timeout_seconds

    def __repr__(self) -> str:
        return f"ChatClient({self._url!r}, model={self.model!r})"

    def complete(self, messages: Sequence[Mapping[str, Any]], **options: Any) -> str:
        body = {"model": self.model or None, "messages": [dict(message) for message in messages], **options}
        given = {name: value for name, value in body.items() if value is not None}
        return read_text(ask_server(self._url, given, self._key, self._timeout_seconds))


def ask_server(url: str, body: Mapping[str, Any], api_key: str, timeout_seconds: float) -> dict[str, Any]:
    """Post a JSON body and return the server's JSON object; raise ModelError, also if that object reports an error."""
    text = clean(json.dumps(body, ensure_ascii=False))
    status, headers, content = _post(url, text.encode(), api_key, timeout_seconds)
    if 200 <= status < 300:
        answer = None
        with suppress(ValueError, RecursionError):
            answer = json.loads(content)
        error = answer.get("error") if isinstance(answer, dict) else None  # some servers send an error with status 200
        if isinstance(answer, dict) and not error:
            return answer
        code = str(error.get("code")) if isinstance(error, dict) else ""
        number = int(code) if _STATUS.fullmatch(code) else None
        failed = ModelError(name_reason(number), error="ErrorObject" if error else "NoJson", status=number)
    else:
        failed = ModelError(name_reason(status), status=status, retry_after_seconds=retry_after(headers))
    # Only at debug level: a server's error may quote texts of the request.
    logs.event(logging.DEBUG, "model_server_said", status=status, answer=content[:500])
    raise failed


def name_reason(status: int | None) -> str:
    return "auth" if status in (401, 403) else "error"


def _post(url: str, body: bytes, api_key: str, timeout_seconds: float) -> tuple[int, Mapping[str, str], bytes]:
    import httpx2  # noqa: PLC0415 - heavy, and needed where a server is asked

    headers = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
    headers |= {"Authorization": f"Bearer {api_key}"} if api_key else {}
    timeout = httpx2.Timeout(timeout_seconds, connect=min(CONNECT_SECONDS, timeout_seconds))
    end = monotonic() + timeout_seconds
    try:
        with _http().stream("POST", url, content=body, headers=headers, timeout=timeout) as response:
            content = bytearray()
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > MAX_ANSWER_BYTES:
                    raise ModelError("error", error="AnswerTooLarge", status=response.status_code)
                if monotonic() > end:
                    raise ModelError("timeout", error="AnswerTooSlow", status=response.status_code)
            return response.status_code, response.headers, bytes(content)
    except httpx2.TimeoutException as error:
        failed = ModelError("timeout", error=type(error).__name__)
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError, ValueError) as error:
        failed = ModelError("error", error=type(error).__name__)
    raise failed  # raised without the cause, which may quote the key


def read_endpoint(base_url: str, endpoint: str = _ENDPOINT, flag: str = "LLM_BASE_URL", without: str = "") -> str:
    """Build the URL of `endpoint` at `base_url`; raise ConfigError for an invalid URL, or without the extra `llm`."""
    base, otherwise = base_url.strip(), without or "remove it to work without a model"
    parts, usable = urlsplit(""), False
    with suppress(ValueError):
        parts = urlsplit(base)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    problem = ""
    if "@" in base or parts.query or parts.fragment:  # the URL is not quoted: people put passwords and keys into it
        problem = (
            f"{flag} holds a user, a query or a fragment. It must be scheme, host and path alone, such as "
            f"'http://127.0.0.1:11434/v1'. Put the key into {flag.partition('_')[0]}_API_KEY."
        )
    elif not usable:
        problem = (
            f"{flag} is {base!r}. It must be the address of a model server beginning with http:// or https://, "
            f"such as 'http://127.0.0.1:11434/v1'. Change it, or {otherwise}."
        )
    elif find_spec("httpx2") is None:
        problem = (
            f"{flag} is set, and the package httpx2 that asks such a server is not installed. "
            f"Run `pip install 'prompt-engine[llm]'`, or {otherwise}."
        )
    if problem:
        raise ConfigError(problem, flag=flag)
    return base.rstrip("/").removesuffix(endpoint) + endpoint


def read_text(answer: Mapping[str, Any]) -> str:
    message: Any = None
    with suppress(KeyError, IndexError, TypeError):
        message = answer["choices"][0]["message"]
    if not isinstance(message, dict) or "content" not in message:
        raise ModelError("error", error="NoMessage")
    content = message["content"]
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        content = "".join(text for text in texts if isinstance(text, str)) if texts else None
    if not isinstance(content, str):
        raise ModelError("no_text", error=type(content).__name__)
    return content


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Parse `Retry-After` in seconds; None if the header is missing or not a number."""
    text = (headers.get("retry-after") or "").strip()[:64]
    if not text.isascii() or not text.replace(".", "", 1).isdecimal():
        return None
    return min(float(text), MAX_RETRY_AFTER_SECONDS)


def build_client_options() -> dict[str, Any]:
    """Return options of an httpx2 client that ignores proxies and passwords of the environment and the home folder."""
    from http.cookiejar import CookieJar, DefaultCookiePolicy  # noqa: PLC0415 - heavy, like its user

    cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
    return {"trust_env": False, "follow_redirects": False, "cookies": cookies}


_clients: dict[int, httpx2.Client] = {}
_clients_lock = threading.Lock()


def _http() -> httpx2.Client:
    """Return the HTTP client of this process, opening it at first use; a forked child process opens its own."""
    import httpx2  # noqa: PLC0415 - heavy, and needed where a server is asked

    with _clients_lock:
        client = _clients.get(os.getpid())
        if client is None:
            limits = httpx2.Limits(max_connections=64, max_keepalive_connections=8)
            client = _clients[os.getpid()] = httpx2.Client(limits=limits, **build_client_options())
    return client


def close() -> None:
    """Close the HTTP client of this process; the next request opens another."""
    with _clients_lock:
        client = _clients.pop(os.getpid(), None)
    if client is not None:
        client.close()


atexit.register(close)


# A host's own model or embedder, plain or async


def call_timed(function: Callable[..., Any], first: str, arguments: Mapping[str, Any], timeout_seconds: float) -> Any:
    """Call a function with the argument named `first` and others it accepts; raise TimeoutError when time is up."""
    keywords = accepted_keywords(function, arguments)
    positional = () if first in keywords else (arguments[first],)
    answers: list[Any] = []
    errors: list[BaseException] = []

    async def wait(awaitable: Any) -> Any:
        return await awaitable

    def work() -> None:
        try:
            answer = function(*positional, **keywords)
            if inspect.isawaitable(answer):
                import asyncio  # noqa: PLC0415 - heavy, and needed for awaitables alone

                answer = asyncio.run(wait(answer))
            answers.append(answer)
        except BaseException as error:  # noqa: BLE001 - foreign code; carried to the caller
            errors.append(error)

    thread = threading.Thread(target=copy_context().run, args=(work,), name="prompt-engine-model", daemon=True)
    thread.start()
    thread.join(min(timeout_seconds, threading.TIMEOUT_MAX))
    if thread.is_alive():  # it stays in its daemon thread
        raise TimeoutError
    for error in errors:
        raise error if isinstance(error, Exception) else ModelError("error", error=type(error).__name__)
    return answers[0]
