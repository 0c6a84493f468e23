"""The server over streamable HTTP: an ASGI application that is put behind whatever looks at tokens.

No session is kept: each request says by its token who speaks, so that none can go on as another, and nothing grows with
the number of programs that once asked. An answer is one JSON body; there is no stream to listen on.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from .server import create_server
from .speaker import Speaker

PATH = "/mcp"
_SPEAKER = "prompt_engine_mcp_speaker"


class HttpFace:
    """The ASGI application; it serves while its `lifespan` is entered, once."""

    def __init__(self, find_speaker: Callable[[Request], Speaker], *, max_body_bytes: int) -> None:
        """Make it.

        Args:
            find_speaker: who sends a request; what it raises is answered by whoever stands before this application.
            max_body_bytes: largest body of a request.
        """
        self._find_speaker = find_speaker
        self._sessions = StreamableHTTPSessionManager(
            create_server(lambda request: request.scope[_SPEAKER]),
            json_response=True,
            stateless=True,
            max_request_body_size=max_body_bytes,
        )

    def lifespan(self) -> AbstractAsyncContextManager[None]:
        """Return what is entered before the first request, and left after the last one."""
        return self._sessions.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["path"].rstrip("/") != PATH:
            await PlainTextResponse("Not found", 404)(scope, receive, send)
        elif scope["method"] != "POST":
            await PlainTextResponse("Method not allowed", 405, {"Allow": "POST"})(scope, receive, send)
        else:
            scope[_SPEAKER] = self._find_speaker(Request(scope))
            await self._sessions.handle_request(scope, receive, send)
