"""`prompt-engine recap`: what a story's recaps say, and making and mending them by hand."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..errors import TransferError
from . import output
from .run import Run, ServerOption

KeyArgument = Annotated[
    str, typer.Argument(metavar="CONVERSATION", help="interface/chat or interface/chat/thread.", show_default=False)
]


def _asking(run: Run, conversation: str, server: str) -> dict[str, Any]:
    """Return what the doors of stories are passed.

    Raises:
        TransferError: nothing was stored of the conversation.
    """
    from ..audience import table_places

    scope = run.scope(conversation, server=server, destination="local")
    if not table_places.is_known(run.db, scope.persona, conversation):
        raise TransferError(
            f"Nothing is stored of the conversation {conversation!r} of the persona {scope.persona!r}. "
            "Name it by its key interface/chat[/thread], and the persona it belongs to by --persona-id."
        )
    return {"conversation": conversation, "db": run.db, "settings": run.settings, "scope": scope}


def show(run: Run, conversation: KeyArgument, server: ServerOption = "") -> None:
    """Print the recaps of story, scenes and messages in prompts now."""
    from .. import stories

    asking = _asking(run, conversation, server)
    running = stories.get_running_recap(**asking)
    scenes = stories.list_scenes(**asking)
    text = stories.get_recap_text(**asking)
    facts = {"running": running, "scenes": scenes, "messages": text}

    def people() -> None:
        output.heading("Running recap")
        output.indented(running["content"] if running else "There is none.")
        output.heading("Scenes")
        for scene in scenes:
            output.say(output.clean(f"{scene['name'] or 'A scene without a name'}"))
        output.heading("Recaps of messages in the prompt")
        output.indented(text or "None.")

    run.answer(facts, people)


def make(run: Run, conversation: KeyArgument, server: ServerOption = "") -> None:
    """Queue a recap of every message that has none, for a worker."""
    from .. import stories

    number = stories.queue_recaps(**_asking(run, conversation, server))
    run.answer({"queued": number}, f"{number} recaps are queued. `prompt-engine worker` makes them.")


def refresh(run: Run, conversation: KeyArgument, server: ServerOption = "") -> None:
    """Work out anew what is hidden and which recaps are shown."""
    from .. import stories

    done = stories.refresh_memory(**_asking(run, conversation, server))
    run.answer(done, f"{done['changed']} recaps changed.")


def _answer(run: Run, done: Any, said: str) -> None:
    facts = {"stored": done.stored, "id": done.id, "reason": done.reason}
    run.answer(facts, said if done.stored else "Nothing changed.")
    if not done.stored:
        raise typer.Exit(1)
