"""`prompt-engine mcp`: the memory for a program that starts it and speaks the Model Context Protocol with it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from .. import config
from ..database.files import check_folder
from ..errors import CoreError
from ..scope import Destination, Privacy, Scope
from . import output
from .run import LocalOption, Run

ParticipantOption = Annotated[
    str | None,
    typer.Option(
        "--participant",
        metavar="KEY",
        envvar="MCP_PARTICIPANT",
        help="Who speaks: interface/id, such as web/ann. Without it one person nobody has named.",
    ),
]
NameOption = Annotated[
    str, typer.Option("--name", envvar="MCP_NAME", help="What this person is called in what is stored.")
]
PlaceOption = Annotated[
    str | None,
    typer.Option(
        "--conversation",
        metavar="KEY",
        envvar="MCP_CONVERSATION",
        help="Where they speak: interface/chat or interface/chat/thread. Without it between the two alone.",
    ),
]
CommunityOption = Annotated[
    str,
    typer.Option("--server", metavar="ID", envvar="MCP_SERVER", help="Community the conversation belongs to."),
]
PrivacyOption = Annotated[
    Privacy | None,
    typer.Option(
        "--privacy",
        envvar="MCP_PRIVACY",
        help="How private a conversation named by --conversation is. Without it as it is stored, a new one public.",
    ),
]

EXTRA = "It needs the extra `mcp`: pip install 'prompt-engine[mcp]' ({name} is missing)."


def _check_place(participant: str | None, conversation: str | None, privacy: Privacy | None) -> None:
    """Refuse keys that no other program would find, and a privacy that would open the talk between the two.

    Raises:
        BadParameter: a key without its interface; a privacy without a conversation.
    """
    for option, key, form in (
        ("--participant", participant, "interface/id, such as web/ann"),
        ("--conversation", conversation, "interface/chat, such as web/42"),
    ):
        if key and not all(key.partition("/")):
            raise typer.BadParameter(f"{key!r} does not say on which interface. Write {form}.", param_hint=option)
    if privacy is not None and not conversation:
        raise typer.BadParameter(
            "It says how private a conversation is, and none is named. Add --conversation, or leave it out: the talk "
            "between the two is seen by them alone.",
            param_hint="--privacy",
        )


def mcp(
    run: Run,
    participant: ParticipantOption = None,
    name: NameOption = "",
    conversation: PlaceOption = None,
    server: CommunityOption = "",
    privacy: PrivacyOption = None,
    local: LocalOption = False,
) -> None:
    """Serve the memory to an agent that starts this (docs/mcp.md).

    It speaks the Model Context Protocol over standard input and output. Who speaks is said here, once, and by no later
    call. Claude Desktop, Claude Code, Cursor and others start it by themselves; on a terminal it waits for messages.
    """
    from ..web import mcp as mcp_server

    _check_place(participant, conversation, privacy)

    def build_scope(who: str) -> Scope:
        destination: Destination | None = "local" if local else None
        return mcp_server.build_scope(who, participant, conversation, server, privacy=privacy, destination=destination)

    def make_speaker() -> mcp_server.Speaker:
        try:
            scope = build_scope(run.settings.persona_id if run.persona is None else run.persona)
            return mcp_server.Speaker(scope, name, run.db)
        except CoreError as error:
            output.note(output.clean(str(error)), style="red")
            raise

    # 1. what is wrong with the options is told at once; a server may come back while this waits, a folder does not
    build_scope("persona" if run.persona is None else run.persona)
    check_folder(run.url or config.load().database_url)
    try:
        serve = _load_server()
    except ModuleNotFoundError as error:
        output.note(EXTRA.format(name=error.name), style="red")
        raise typer.Exit(2) from None
    # 2. serve until the other side ends; the first call opens the database, for programs wait for the first answer
    if sys.stdin.isatty():
        output.note("Waiting for messages of the Model Context Protocol on standard input; Ctrl-C ends it.")
    serve(make_speaker)


def _load_server() -> Callable[[Callable[[], Any]], None]:
    """Return `serve_stdio`. Of what the SDK makes while it loads nothing goes again: looking for that takes a fifth."""
    import gc

    gc.disable()
    try:
        from ..web.mcp import serve_stdio
    finally:
        gc.enable()
    return serve_stdio
