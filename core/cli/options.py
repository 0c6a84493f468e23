"""Options that several subcommands have, and how an argument a door refuses is told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

ConversationOption = Annotated[
    str | None,
    typer.Option("--conversation", metavar="KEY", help="Conversation: interface/chat or interface/chat/thread."),
]
UserOption = Annotated[
    str | None, typer.Option("--user", metavar="ID", help="Who asks: id on the interface of the conversation.")
]
ServerOption = Annotated[str, typer.Option("--server", metavar="ID", help="Community the conversation belongs to.")]
LocalOption = Annotated[
    bool, typer.Option("--local", help="For a model on this machine: what is marked local_only counts too.")
]


def participant(conversation: str | None, user: str | None) -> str | None:
    """Return the participant key of a user id; the interface is that of the conversation.

    >>> participant("telegram_bot/42", "7"), participant(None, "telegram_bot/7"), participant("webui/1", None)
    ('telegram_bot/7', 'telegram_bot/7', None)
    """
    if user is None or conversation is None:
        return user
    return f"{conversation.split('/', 1)[0]}/{user}"


@contextmanager
def refusals() -> Iterator[None]:
    """Tell a value that a door refuses as a command called wrongly."""
    try:
        yield
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
