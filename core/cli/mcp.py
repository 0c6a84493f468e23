"""`prompt-engine mcp`: the memory for a program that starts it and speaks the Model Context Protocol with it."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ..scope import Privacy
from . import output
from .run import LocalOption, Run

PersonaOption = Annotated[
    str | None, typer.Option("--persona", metavar="ID", help="Whose memory. Without it PERSONA_ID.")
]
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


def mcp(
    run: Run,
    persona: PersonaOption = None,
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
    # 1. who speaks; before anything slow, so that a wrong option is told at once
    try:
        from .. import mcp_server

        scope = mcp_server.build_scope(
            run.settings.persona_id if persona is None else persona,
            participant,
            conversation,
            server,
            privacy=privacy,
            destination="local" if local else None,
        )
        serve = mcp_server.serve_stdio
    except ModuleNotFoundError as error:
        output.note(EXTRA.format(name=error.name), style="red")
        raise typer.Exit(2) from None
    # 2. serve until the other side ends
    if sys.stdin.isatty():
        output.note("Waiting for messages of the Model Context Protocol on standard input; Ctrl-C ends it.")
    serve(mcp_server.Speaker(scope, name, run.db))
