"""`prompt-engine token`: tokens, by which programs that reach the engine over a network say who they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import MessageError
from . import output
from .run import Run

if TYPE_CHECKING:
    from ..tokens.shapes import ListedToken, TokenKind

ParticipantOption = Annotated[
    str | None, typer.Option("--participant", metavar="KEY", help="A token of this participant: interface/id.")
]
ConversationOption = Annotated[
    str | None, typer.Option("--conversation", metavar="KEY", help="Of this conversation alone.")
]
ServerOption = Annotated[str, typer.Option("--server", metavar="ID", help="Community the conversation belongs to.")]
HostOption = Annotated[
    bool, typer.Option("--host", help="A token for every participant and conversation of the persona.")
]
AdminOption = Annotated[bool, typer.Option("--admin", help="A token of an operator: for the admin routes alone.")]
PersonasOption = Annotated[
    str, typer.Option("--personas", metavar="NAMES", help="Other personas a --host token may choose; '*' for all.")
]
LabelOption = Annotated[str, typer.Option("--label", metavar="TEXT", help="What it is for, shown in lists.")]
IdArgument = Annotated[int, typer.Argument(metavar="ID", help="Id of the token, as `list` shows it.")]

ONCE = "Keep it: it is shown this once. It is sent as `Authorization: Bearer TOKEN`."


def add(
    run: Run,
    participant: ParticipantOption = None,
    conversation: ConversationOption = None,
    server: ServerOption = "",
    host: HostOption = False,
    admin: AdminOption = False,
    personas: PersonasOption = "",
    label: LabelOption = "",
) -> None:
    """Make a token and print it once.

    With --participant it is of one person, with --host of a whole persona, with --admin of the operator.
    """
    from ..tokens import add_token

    host = host or bool(personas)
    if (participant is not None) + host + admin != 1:
        raise typer.BadParameter("name exactly one of --participant, --host and --admin")
    kind: TokenKind = "admin" if admin else "host" if host else "scope"
    try:
        made = add_token(
            kind,
            label=label,
            personas=personas,
            db=run.db,
            settings=run.settings,
            scope=run.scope(conversation, participant, server),
        )
    except MessageError as error:
        raise typer.BadParameter(str(error)) from error
    run.answer(made, made["token"])
    if not run.as_json:
        output.note(ONCE)


def list_(run: Run, admin: AdminOption = False) -> None:
    """List the tokens of a persona.

    Those that were revoked too; with --admin those of the operator.
    """
    from ..tokens import list_tokens

    tokens = list_tokens(admin=admin, **run.asking())
    whose = "an operator" if admin else f"the persona {run.scope().persona!r}; --persona-id names another one"
    run.answer(tokens, lambda: _print_tokens(tokens, whose))


def revoke(run: Run, token_id: IdArgument, admin: AdminOption = False) -> None:
    """Let a token hold no more."""
    from ..tokens import revoke_token

    done = revoke_token(token_id, admin=admin, **run.asking())
    run.answer({"id": token_id, "revoked": done}, "Revoked." if done else _NOT_THERE)
    if not done:
        raise typer.Exit(1)


_NOT_THERE = "Nothing was changed: no token of this persona has the id, or it was revoked before."


def _print_tokens(tokens: list[ListedToken], whose: str) -> None:
    if not tokens:
        output.say(output.clean(f"There are no tokens of {whose}."))
        return
    columns = ("id", "kind", "participant", "conversation", "label", "made", "revoked")
    rows = [
        (
            each["id"],
            each["kind"],
            each["participant"] or "",
            each["conversation"] or "",
            each["label"],
            each["created_at"][:19],
            each["revoked_at"][:19],
        )
        for each in tokens
    ]
    output.table(columns, rows, right=(0,))
