"""`serve`, `mcp` and `token`: servers, and the tokens of their clients."""

from __future__ import annotations

import gc
import socket
import sys
import threading
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer import Argument, BadParameter, Option

from .. import config
from ..base import logs
from ..base.signals import stop_on_signals
from ..config import Settings
from ..database.files import check_folder
from ..errors import ConfigError, CoreError, MessageError
from ..scope import Destination, Privacy, Scope
from . import output
from .run import ConversationOption, LocalOption, LogLevelOption, Run, ServerOption, command, start_log

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from uvicorn import Server

    from ..calls.call import GivenSettings
    from ..database.engine import Database
    from ..tokens.shapes import TokenKind

STREAM_SECONDS = 25
"""Longest wait at shutdown for running answers: container supervisors kill the process soon after."""
WORKER_SECONDS = 5.0
"""Longest wait at shutdown for the worker's operation; if it does not end, the next worker repeats it."""
KEPT_SECONDS = 75
"""Seconds after which an idle connection is closed; clients drop it earlier, so that none uses a closed connection."""


@command("serve", without={"persona_id", "as_json"}, creates=True)
def serve(
    run: Run,
    host: str | None = Option(None, metavar="ADDRESS", help="Address to listen on. Default: ADMIN_HOST."),
    port: int | None = Option(None, metavar="PORT", min=1, max=65_535, help="Port. Default: ADMIN_PORT."),
    allow_hosts: list[str] | None = Option(
        None, "--allow-host", metavar="NAME", help="Allow this name in the Host header; may be repeated."
    ),
    admin: bool | None = Option(
        None, "--admin/--no-admin", help="Serve the admin page. Default: not with MCP or proxy without ADMIN_TOKEN."
    ),
    mcp: bool = Option(False, "--mcp", help="Also serve the Model Context Protocol under /mcp (docs/mcp.md)."),
    public_url: str = Option("", metavar="URL", help="Let remote programs connect to --mcp by OAuth (docs/mcp.md)."),
    proxy: bool = Option(False, "--proxy", help="Also serve an OpenAI-compatible proxy in front of LLM_BASE_URL."),
    worker: bool = Option(
        True, "--worker/--no-worker", help="Also run a worker for background work such as recaps and summaries."
    ),
    share_port: bool = Option(
        False, "--share-port", help="Share the port with other processes of this command, such as one per core."
    ),
    log_level: LogLevelOption = None,
) -> None:
    """Serve admin page, HTTP API, MCP and proxy until Ctrl-C.

    The page and its routes need the token ADMIN_TOKEN, all other routes a token of `prompt-engine token add`. Only this
    machine reaches the server unless --host is set. SIGTERM ends it as Ctrl-C does.
    """
    from ..calls.defaults import settings_for

    # 1. choose the parts and the address
    given: dict[str, object] = {"ADMIN_HOST": host, "ADMIN_PORT": port}
    asked = {name: value for name, value in given.items() if value is not None} or None
    settings = settings_for(asked)
    with_admin = bool(settings.admin_token) or not (proxy or mcp) if admin is None else admin
    if share_port and with_admin:
        _refuse(
            "--share-port does not go with the admin page, whose log-ins one process keeps. Add --no-admin, and serve "
            "the page by another `prompt-engine serve` on another port."
        )
    if share_port and not hasattr(socket, "SO_REUSEPORT"):
        _refuse("--share-port is not to be had on this system. Give each process a port of its own.")
    served = {"admin": with_admin, "mcp": mcp, "proxy": proxy}
    app = _make_application(run.open_bare(), asked, allow_hosts or (), public_url=public_url, **served)
    # 2. listen
    start_log(log_level)
    with _open_socket(settings.admin_host, settings.admin_port, share_port=share_port) as listening:
        db = run.db  # a refusal above leaves no new file
        _print_place(settings)
        server = _make_server(app)
        with (
            _run_queue(db, asked) if worker else nullcontext(),
            suppress(KeyboardInterrupt),
            stop_on_signals(partial(setattr, server, "should_exit", True)),
        ):
            _warm_up(settings)
            # a garbage collection over the loaded modules would delay one request in sixty by 70 ms
            gc.collect()
            gc.freeze()
            server.run(sockets=[listening])
    output.note("Stopped.")


def _warm_up(settings: Settings) -> None:
    """Load and compile what the first request needs, which would take longer than PROXY_MEMORY_SECONDS."""
    from ..chat_history_cache import save_message
    from ..db import open_database
    from ..prompt_engine import build_messages

    with suppress(CoreError), closing(open_database("sqlite://")) as db:
        message = {"text": "What is my cat called?", "interface_path": "web/ann", "from_user": {"id": "ann"}}
        for step in (save_message, build_messages):
            step(message, db=db, settings=settings.replace(embedder=""))


@contextmanager
def _run_queue(db: Database, settings: GivenSettings) -> Iterator[None]:
    from ..jobs import Worker

    worker = Worker(db, settings=settings)

    def work() -> None:
        try:
            worker.run()
        except CoreError as error:  # a bad address of the model server: serve without a worker
            reason = str(error) if isinstance(error, ConfigError) else ""
            logs.warning("worker_ended", error=type(error).__name__, reason=reason)

    thread = threading.Thread(target=work, name="prompt-engine-worker", daemon=True)
    thread.start()
    try:
        yield
    finally:
        worker.stop()
        thread.join(WORKER_SECONDS)


def _make_application(
    db: Database, asked: dict[str, Any] | None, allowed: Collection[str], *, public_url: str = "", **served: bool
) -> Starlette:
    """Build the application; exit if an extra, a token or the proxy's model server is missing."""
    try:
        import uvicorn  # noqa: F401 - an extra of its own

        from ..web.app import create_app

        return create_app(db=db, settings=asked, allowed_hosts=allowed, public_url=public_url, **served)
    except ModuleNotFoundError as error:
        _refuse_missing("admin,mcp" if served["mcp"] else "admin", error)
    except ConfigError as error:
        if error.flag not in ("ADMIN_TOKEN", "LLM_BASE_URL", "public_url"):
            raise
        _refuse(f"{error} Without the page: --no-admin." if error.flag == "ADMIN_TOKEN" else str(error))


def _refuse(sentence: str) -> NoReturn:
    output.note(sentence, style="red")
    raise typer.Exit(2)


def _refuse_missing(extra: str, error: ModuleNotFoundError) -> NoReturn:
    _refuse(f"This needs the extra `{extra}`: pip install 'prompt-engine[{extra}]' ({error.name} is missing).")


def _make_server(app: Starlette) -> Server:
    import uvicorn

    from ..web.connections import HeadTimedProtocol

    settings = uvicorn.Config(
        app,
        http=HeadTimedProtocol,
        log_config=None,
        access_log=False,  # addresses of requests contain search words
        server_header=False,
        ws="none",
        lifespan="on",
        timeout_keep_alive=KEPT_SECONDS,
        timeout_graceful_shutdown=STREAM_SECONDS,
    )
    return uvicorn.Server(settings)


def _open_socket(host: str, port: int, *, share_port: bool = False) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, reuse_port=share_port)
        # asyncio sets it only on sockets that name their protocol. Without it an answer of two writes, as every stream
        # is, waits 40 ms for the other side to acknowledge the first.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listening
    except OSError as error:
        raise ConfigError(
            f"Nothing can listen on {host!r}, port {port} ({error.strerror or type(error).__name__}). Name another "
            "address with --host or ADMIN_HOST, another port with --port or ADMIN_PORT.",
            flag="ADMIN_PORT",
        ) from None


def _print_place(settings: Settings) -> None:
    from ..web.guard import is_loopback

    host = f"[{settings.admin_host}]" if ":" in settings.admin_host else settings.admin_host
    place = f"http://{host}:{settings.admin_port}/"
    output.note(f"Serving on {place} until Ctrl-C. This page lists the parts and their addresses.")
    if not is_loopback(settings.admin_host):
        output.warn(
            f"It listens on {settings.admin_host}: every machine that reaches this one can try the token, and nothing "
            "is encrypted on the way. Let a server that speaks TLS stand in front of it, or use 127.0.0.1 through an "
            "SSH tunnel."
        )


def _check_place(participant: str | None, conversation: str | None, privacy: Privacy | None) -> None:
    """Raise for keys without an interface, and for a privacy without a conversation."""
    for option, key, form in (
        ("--participant", participant, "interface/id, such as web/ann"),
        ("--conversation", conversation, "interface/chat, such as web/42"),
    ):
        if key and not all(key.partition("/")):
            raise BadParameter(f"{key!r} does not say on which interface. Write {form}.", param_hint=option)
    if privacy is not None and not conversation:
        raise BadParameter(
            "It says how private a conversation is, and none is named. Add --conversation, or leave it out: the talk "
            "between the two is seen by them alone.",
            param_hint="--privacy",
        )


@command("mcp", without={"as_json"}, creates=True)
def mcp(
    run: Run,
    participant: str | None = Option(
        None,
        metavar="KEY",
        envvar="MCP_PARTICIPANT",
        help="Speaker: interface/id, such as web/ann. Default: one person without a name.",
    ),
    name: str = Option("", metavar="NAME", envvar="MCP_NAME", help="This person's name in messages."),
    conversation: str | None = Option(
        None,
        metavar="KEY",
        envvar="MCP_CONVERSATION",
        help="Conversation: interface/chat or interface/chat/thread. Default: direct messages of this person.",
    ),
    server: str = Option("", metavar="ID", envvar="MCP_SERVER", help="Server (community) of the conversation."),
    privacy: Privacy | None = Option(
        None,
        envvar="MCP_PRIVACY",
        help="Privacy of the conversation given by --conversation. Default: as stored; public for a new one.",
    ),
    local: LocalOption = False,
) -> None:
    """Serve the memory to an agent that starts this command (docs/mcp.md).

    It speaks the Model Context Protocol over standard input and output. The speaker is set here, once; no later call
    can change it. Claude Desktop, Claude Code, Cursor and others start it by themselves; on a terminal it waits for
    messages.
    """
    from ..web.mcp import speaker as mcp_speaker

    _check_place(participant, conversation, privacy)

    def build_scope(who: str) -> Scope:
        destination: Destination | None = "local" if local else None
        return mcp_speaker.build_scope(who, participant, conversation, server, privacy=privacy, destination=destination)

    def make_speaker() -> mcp_speaker.Speaker:
        try:
            scope = build_scope(run.settings.persona_id if run.persona is None else run.persona)
            return mcp_speaker.Speaker(scope, name, run.db, is_host=participant is None)
        except CoreError as error:
            output.note(str(error), style="red")
            raise

    # 1. report wrong options at once; a missing folder stays missing, but a server may come back
    build_scope("persona" if run.persona is None else run.persona)
    check_folder(run.url or config.load().database_url)
    gc.disable()  # saves a fifth of the SDK's loading time
    try:
        from ..web.mcp.stdio import serve_stdio
    except ModuleNotFoundError as error:
        _refuse_missing("mcp", error)
    finally:
        gc.enable()
    # 2. serve until the input ends; the first call opens the database, since clients wait for the first answer
    if sys.stdin.isatty():
        output.note("Waiting for messages of the Model Context Protocol on standard input; Ctrl-C ends it.")
    serve_stdio(make_speaker)


AdminTokenOption = Annotated[bool, Option("--admin", help="Operator tokens, for the admin routes only, not to log in.")]


@command("token add", creates=True)
def add_token(
    run: Run,
    participant: str | None = Option(None, metavar="KEY", help="Token for this participant: interface/id."),
    conversation: ConversationOption = None,
    server: ServerOption = "",
    host: bool = Option(False, "--host", help="Token for all participants and conversations of the persona."),
    admin: AdminTokenOption = False,
    personas: str = Option("", metavar="NAMES", help="Other personas that a --host token may choose; '*' for all."),
    label: str = Option("", metavar="TEXT", help="Purpose of the token, shown in lists."),
) -> None:
    """Make a token and print it once.

    --participant makes a token of one person, --host of a whole persona, --admin of the operator.
    """
    from .. import tokens

    if (participant is not None) + (host or bool(personas)) + admin != 1:
        raise BadParameter("name exactly one of --participant, --host and --admin; --personas goes with --host")
    _check_place(participant, conversation, None)
    kind: TokenKind = "admin" if admin else "host" if participant is None else "scope"
    try:
        scope = run.scope(conversation, participant, server)
        token = tokens.add_token(kind, label=label, personas=personas, db=run.db, settings=run.settings, scope=scope)
    except MessageError as error:
        raise BadParameter(str(error)) from error
    run.answer(token, token["token"])
    if not run.as_json:
        output.note("Keep it: it is shown this once. It is sent as `Authorization: Bearer TOKEN`.")


@command("token list")
def list_tokens(run: Run, admin: AdminTokenOption = False) -> None:
    """List the tokens of a persona.

    The list includes revoked tokens. With --admin, it has the operator's tokens instead.
    """
    from .. import tokens

    whose = "an operator" if admin else f"the persona {run.scope().persona!r}; --persona-id names another one"
    run.answer(tokens.list_tokens(admin=admin, **run.asking()), nothing=f"There are no tokens of {whose}.")


@command("token revoke")
def revoke_token(
    run: Run,
    token_id: int = Argument(metavar="ID", help="Id of the token, as `list` shows it."),
    admin: AdminTokenOption = False,
) -> None:
    """Revoke a token."""
    from .. import tokens

    done = tokens.revoke_token(token_id, admin=admin, **run.asking())
    nothing = "Nothing was changed: no token of this persona has the id, or it was revoked before."
    run.answer({"id": token_id, "revoked": done}, "Revoked." if done else nothing)
    if not done:
        raise typer.Exit(1)
