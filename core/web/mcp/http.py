"""MCP over streamable HTTP: an ASGI application behind the guard, which checks tokens and sizes.

Requests are stateless: the token of each request names the speaker, so no session can be taken over, and the process's
memory does not grow with the number of clients. An answer is one JSON body, never a stream.
"""

from contextlib import AbstractAsyncContextManager
from urllib.parse import unquote

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from .. import access
from ..access import WebContext
from ..errors import Refused
from . import tools  # noqa: F401 - load the tools at start
from .server import create_server
from .speaker import Speaker

NO_PERSON = (
    "The token stands for no single person, and MCP takes its word for who speaks. Make one with "
    "`prompt-engine token add --participant KEY`."
)
_SPEAKER = "prompt_engine_mcp_speaker"


class McpEndpoint:
    """The ASGI application; its `lifespan` may be entered only once."""

    def __init__(self, context: WebContext) -> None:
        self._context = context
        self._sessions = StreamableHTTPSessionManager(
            create_server(lambda request: request.scope[_SPEAKER]),
            json_response=True,
            stateless=True,
            max_request_body_size=2**40,  # practically no limit: the guard limits bodies
        )

    def lifespan(self) -> AbstractAsyncContextManager[None]:
        return self._sessions.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            raise Refused(405, "MCP takes POST here; no stream is kept open.", {"Allow": "POST"})
        request = Request(scope)
        token = access.get_token(request)
        if token.kind != "scope":
            raise Refused(403, NO_PERSON)
        # a token without a conversation speaks in its participant's direct messages
        own = access.read_scope(token, conversation=token.conversation or token.participant)
        name = unquote(access.read_header(request.headers, "X-User-Name"))
        scope[_SPEAKER] = Speaker(own, name, self._context.db, self._context.settings)
        await self._sessions.handle_request(scope, receive, send)
