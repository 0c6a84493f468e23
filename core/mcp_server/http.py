"""The server over streamable HTTP: an ASGI application behind the guard of `api`, which looks at tokens and sizes.

No session is kept: each request says by its token who speaks, so that none can go on as another, and nothing grows with
the number of programs that once asked. An answer is one JSON body; there is no stream to listen on.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from ..api import access
from ..api.server import Mounted
from ..calls.call import GivenSettings
from ..database.engine import Database
from . import tools  # noqa: F401 - a server that starts once loads them then
from .server import create_server
from .speaker import Speaker

PATH = "/mcp"
NO_PERSON = (
    "The token stands for no single person, and MCP takes its word for who speaks. Make one with "
    "`prompt-engine token add --participant KEY`."
)
_SPEAKER = "prompt_engine_mcp_speaker"
_ANY_BYTES = 2**40
"""The guard decides by its own limit."""


def create_face(db: Database | None = None, settings: GivenSettings = None) -> Mounted:
    """Return the face under `/mcp`, for `api.server.create_server`.

    Args:
        db, settings: None for those of the process.
    """

    def find_speaker(request: Request) -> Speaker:
        token = access.get_token(request)
        if token.kind != "scope":
            raise access.AccessRefusedError(403, NO_PERSON)
        # A token of no conversation speaks in its person's own direct messages.
        scope = access.read_scope(token, conversation=token.conversation or token.participant)
        return Speaker(replace(scope, server="") if token.conversation is None else scope, db=db, settings=settings)

    face = HttpFace(find_speaker)
    return Mounted(PATH, face, face.lifespan)


class HttpFace:
    """The ASGI application; it serves while its `lifespan` is entered, once."""

    def __init__(self, find_speaker: Callable[[Request], Speaker]) -> None:
        """Make it.

        Args:
            find_speaker: who sends a request; what it raises is answered by whoever stands before this application.
        """
        self._find_speaker = find_speaker
        self._sessions = StreamableHTTPSessionManager(
            create_server(lambda request: request.scope[_SPEAKER]),
            json_response=True,
            stateless=True,
            max_request_body_size=_ANY_BYTES,
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
