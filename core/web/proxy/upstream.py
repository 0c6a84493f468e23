"""Send requests to the model server of LLM_BASE_URL, with the headers that may pass. Stores no API key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...config import Settings
from ...errors import ConfigError
from ...llm.client import CONNECT_SECONDS, build_client_options, read_endpoint
from .identity import NAMES

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
"""Request headers that are for this server and are not passed on."""
_OWN_ANSWER = frozenset({"set-cookie", "server", "date"})


class Upstream:
    """Client of one proxy's model server. `close` ends its connections."""

    def __init__(self, settings: Settings) -> None:
        if not settings.llm_base_url.strip():
            raise ConfigError(
                "LLM_BASE_URL is unset. A proxy needs the address of the model server it asks, such as "
                "'http://127.0.0.1:11434/v1'.",
                flag="LLM_BASE_URL",
            )
        self._base = read_endpoint(settings.llm_base_url).removesuffix("/chat/completions")
        import httpx2  # noqa: PLC0415 - an extra of its own

        self._client = httpx2.AsyncClient(
            **build_client_options(),
            timeout=httpx2.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS),
            # a server may close an idle connection just when it is used again
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=0),
        )

    async def send(
        self, method: str, path: str, query: str, headers: Mapping[str, str], content: bytes, settings: Settings
    ) -> Any:
        """Return the answer before its body is read; close it with `aclose`."""
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
    """Return the answer headers to pass on, without headers of the connection or of a removed compression."""
    listed = {each.strip().lower() for each in headers.get("connection", "").split(",")}
    dropped = _HOP_BY_HOP | _OWN_ANSWER | listed | ({"content-encoding", "content-length"} if is_decoded else set())
    kept = [(name, value) for name, value in headers.multi_items() if name.lower() not in dropped]
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in kept]
