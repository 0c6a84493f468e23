"""A model server in the OpenAI dialect: one request, one text, or a ModelError."""

from __future__ import annotations

import atexit
import json
import logging
import os
import re
import threading
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from importlib.util import find_spec
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..base import logs
from ..errors import ConfigError, ModelError
from ..text.folding import clean

if TYPE_CHECKING:
    import httpx2

MAX_ANSWER_BYTES = 10_000_000
"""A longer answer is given up."""
CONNECT_SECONDS = 10.0
"""Longest wait for a connection."""
MAX_RETRY_AFTER_SECONDS = 3600.0
"""A server that asks for a longer rest is taken to ask for this."""
AUTH_STATUSES = (401, 403)
_ENDPOINT = "/chat/completions"
_STATUS = re.compile("[1-5][0-9]{2}")


class ChatClient:
    """A model behind `POST {base_url}/chat/completions`."""

    def __init__(self, base_url: str, *, model: str = "", api_key: str = "", timeout_seconds: float = 60.0) -> None:
        """Take the address of the server, such as `http://127.0.0.1:11434/v1`."""
        self._url = read_endpoint(base_url)
        self.model: str = model.strip()
        self._key = api_key.strip()
        self._timeout_seconds = timeout_seconds

    def __repr__(self) -> str:
        return f"ChatClient({self._url!r}, model={self.model!r})"

    def complete(self, messages: Sequence[Mapping[str, Any]], **options: Any) -> str:
        """Return the answer's text."""
        body = {"model": self.model or None, "messages": [dict(message) for message in messages], **options}
        sent = clean(json.dumps({k: v for k, v in body.items() if v is not None}, ensure_ascii=False)).encode()
        status, headers, content = post_json(self._url, sent, self._key, self._timeout_seconds)
        if not 200 <= status < 300:
            _tell(status, content)
            reason = "auth" if status in AUTH_STATUSES else "error"
            raise ModelError(reason, status=status, retry_after_seconds=retry_after(headers))
        return text_of(content)


def post_json(url: str, content: bytes, api_key: str, timeout_seconds: float) -> tuple[int, Mapping[str, str], bytes]:
    """Post a JSON body and return status, headers and body of the answer, whatever the status."""
    import httpx2  # noqa: PLC0415 - heavy, and needed where a server is asked

    headers = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
    if api_key:
        headers["Authorization"] = f"Bearer {api_key}"
    timeout = httpx2.Timeout(timeout_seconds, connect=min(CONNECT_SECONDS, timeout_seconds))
    end = monotonic() + timeout_seconds
    try:
        with _http().stream("POST", url, content=content, headers=headers, timeout=timeout) as response:
            return response.status_code, response.headers, _read(response, end)
    except httpx2.TimeoutException as error:
        failed = ModelError("timeout", error=type(error).__name__)
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError, ValueError) as error:
        failed = ModelError("error", error=type(error).__name__)
    raise failed  # out here, so that the exception underneath, which may quote the key, does not hang on to it


def read_endpoint(base_url: str, endpoint: str = _ENDPOINT, flag: str = "LLM_BASE_URL", without: str = "") -> str:
    """Return the address to post to, where there is what asks it."""
    base, otherwise = base_url.strip(), without or "remove it to work without a model"
    try:
        parts = urlsplit(base)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        parts, usable = urlsplit(""), False
    if "@" in base or parts.query or parts.fragment:  # not quoted: this is where people put passwords and keys
        raise ConfigError(
            f"{flag} holds a user, a query or a fragment. It must be scheme, host and path alone, such as "
            f"'http://127.0.0.1:11434/v1'. Put the key into {flag.partition('_')[0]}_API_KEY.",
            flag=flag,
        )
    if not usable:
        raise ConfigError(
            f"{flag} is {base!r}. It must be the address of a model server beginning with http:// or https://, "
            f"such as 'http://127.0.0.1:11434/v1'. Change it, or {otherwise}.",
            flag=flag,
        )
    if find_spec("httpx2") is None:
        raise ConfigError(
            f"{flag} is set, and the package httpx2 that asks such a server is not installed. "
            f"Run `pip install 'prompt-engine[llm]'`, or {otherwise}.",
            flag=flag,
        )
    trimmed = base.rstrip("/")
    return trimmed if trimmed.endswith(endpoint) else trimmed + endpoint


def _read(response: httpx2.Response, end: float) -> bytes:
    """Return the body, unless it is too long or takes too long."""
    parts: list[bytes] = []
    size = 0
    for chunk in response.iter_bytes():
        size += len(chunk)
        if size > MAX_ANSWER_BYTES:
            raise ModelError("error", error="AnswerTooLarge", status=response.status_code)
        if monotonic() > end:
            raise ModelError("timeout", error="AnswerTooSlow", status=response.status_code)
        parts.append(chunk)
    return b"".join(parts)


def text_of(content: bytes) -> str:
    """Return the text of an answer."""
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError) as error:
        failed = ModelError("error", error=type(error).__name__)
    else:
        return _content(answer)
    _tell(None, content)
    raise failed


def _content(answer: Any) -> str:
    if isinstance(answer, dict) and answer.get("error"):  # some servers send it with status 200
        _tell(200, json.dumps(answer["error"]).encode())
        said = answer["error"]
        code = str(said.get("code")) if isinstance(said, dict) else ""
        status = int(code) if _STATUS.fullmatch(code) else None
        raise ModelError("auth" if status in AUTH_STATUSES else "error", error="ErrorObject", status=status)
    try:
        message = answer["choices"][0]["message"]
        content = message["content"]
    except (KeyError, IndexError, TypeError) as error:
        failed = ModelError("error", error=type(error).__name__)
    else:
        if isinstance(content, list):
            texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
            content = "".join(text for text in texts if isinstance(text, str)) if texts else None
        if isinstance(content, str):
            return content
        failed = ModelError("no_text", error=type(content).__name__)
    raise failed


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return how many seconds `Retry-After`, a number or a date, asks to wait; None without one."""
    said = (headers.get("retry-after") or "").strip()[:64]
    if not said:
        return None
    try:
        if said.replace(".", "", 1).isdecimal():
            seconds = float(said)
        else:
            there = parsedate_to_datetime(headers.get("date") or "")
            seconds = (parsedate_to_datetime(said) - there).total_seconds()
    except (ValueError, TypeError):
        return None
    return min(max(seconds, 0.0), MAX_RETRY_AFTER_SECONDS)


def _tell(status: int | None, content: bytes) -> None:
    """Log what a server said against a request, at debug level: it may quote texts."""
    logs.event(logging.DEBUG, "model_server_said", status=status, answer=content[:500])


def build_client_options() -> dict[str, Any]:
    """Return how a client of httpx2 is made: environment and home folder would add proxies and passwords."""
    from http.cookiejar import CookieJar, DefaultCookiePolicy  # noqa: PLC0415 - as heavy as what needs it

    cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
    return {"trust_env": False, "follow_redirects": False, "cookies": cookies}


_clients: dict[int, httpx2.Client] = {}
_clients_lock = threading.Lock()


def _http() -> httpx2.Client:
    """Return the connections of this process; a forked child takes none of its parent's."""
    import httpx2  # noqa: PLC0415 - heavy, and needed where a server is asked

    with _clients_lock:
        client = _clients.get(os.getpid())
        if client is None:
            limits = httpx2.Limits(max_connections=64, max_keepalive_connections=8)
            client = _clients[os.getpid()] = httpx2.Client(limits=limits, **build_client_options())
    return client


def close() -> None:
    """End the connections of this process; the next request opens new ones."""
    with _clients_lock:
        client = _clients.pop(os.getpid(), None)
    if client is not None:
        client.close()


atexit.register(close)
