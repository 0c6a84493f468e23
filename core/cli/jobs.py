"""`worker`, `jobs` and `recap`: background work, its queue, and the recaps it writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, BadParameter, Option

from ..errors import TransferError
from ..scope import Scope
from . import output
from .run import Run, ServerOption, command

if TYPE_CHECKING:
    from ..memories.shapes import CycleResult
    from ..shapes import ListedOperation, OperationRun

IdArgument = Annotated[int, Argument(metavar="ID", help="Id of the operation.", show_default=False)]
StoryArgument = Annotated[
    str, Argument(metavar="CONVERSATION", help="interface/chat or interface/chat/thread.", show_default=False)
]
_SHOWN = 20
_MOST = 10_000

# The worker


@command("worker", without={"persona_id"}, creates=True)
def work(
    run: Run,
    once: Annotated[bool, Option("--once", help="End as soon as nothing may begin, instead of waiting.")] = False,
    schedule: Annotated[
        bool, Option("--schedule", help="Consolidate memory when it is due, too: by interval and number of messages.")
    ] = False,
    personas: Annotated[
        list[str] | None,
        Option("--persona-id", metavar="ID", help="Only work of this persona; may be repeated. Without it of all."),
    ] = None,
) -> None:
    """Do the work in the background: recaps, summaries, consolidation.

    Any number of workers may run at once. SIGTERM or Ctrl-C lets the present operation end first; a second one gives it
    back. A worker that is killed loses nothing: another does the operation after a while.
    """
    from .. import llm
    from ..access import external_rows
    from ..jobs import Worker

    failed: list[OperationRun] = []

    def report(done: OperationRun) -> None:
        where = f" of {done.conversation}" if done.conversation else ""
        why = f": {done.error}" if done.error else ""
        style = {"completed": "", "retrying": "yellow", "failed": "red", "dropped": "dim"}[done.state]
        _print_event(run, asdict(done), f"{done.type}{where} {done.state} in {done.seconds:.1f} s{why}", style)
        if done.state == "failed":
            failed.append(done)

    external_rows.index_all_rows(run.db)
    worker = Worker(run.db, personas=personas or (), on_done=report)
    if not run.as_json:
        whose = ", ".join(personas or ()) or "all personas"
        asked = llm.resolve(None, run.settings, run.db)
        model = f"The model is {asked!r}." if asked else "Without LLM_BASE_URL and LLM_MODEL texts are extracts."
        output.note(f"Working for {whose} on {run.db.target.shown}, {'once' if once else 'until Ctrl-C'}. {model}")
    try:
        with worker.on_signals(), _scheduled(run, personas or (), schedule=schedule, once=once):
            begun = worker.run(once=once)
        if once:
            _print_left(run, personas, failed)
    finally:
        llm.close()
    if not run.as_json:
        output.note(f"{begun} {'operation' if begun == 1 else 'operations'} done.")


def _print_event(run: Run, value: dict[str, Any], sentence: str, style: str = "") -> None:
    if run.as_json:
        output.print_json(value, in_one_line=True)
    else:
        output.say(sentence, style=style)


def _print_left(run: Run, personas: Sequence[str] | None, failed: Sequence[OperationRun]) -> None:
    """Print what a run to the end has left: a model that does not answer looks like an empty queue."""
    from .. import jobs
    from ..jobs.table_claiming import read_personas

    left: list[ListedOperation] = []
    for persona in personas or read_personas(run.db):
        asking: dict[str, Any] = {"db": run.db, "settings": run.settings, "scope": Scope(persona)}
        left += jobs.list_operations(("retrying", "pending"), limit=_MOST, **asking)
    if left:
        error = next((one["error"] for one in left if one["error"]), "")
        reason = f", the last try failed: {error}" if error else ""
        output.note(f"Operations that wait: {len(left)}{reason}. See `prompt-engine jobs list`.", style="yellow")
    if failed:
        error = failed[-1].error
        first = "Correct LLM_API_KEY, then: " if "auth" in error else ""
        names = sorted({each.persona for each in failed})
        commands = ", ".join(f"`prompt-engine jobs retry --all --persona-id {each}`" for each in names)
        output.note(f"Operations that failed: {len(failed)}, the last one: {error}. {first}{commands}.", style="yellow")


@contextmanager
def _scheduled(run: Run, personas: Sequence[str], *, schedule: bool, once: bool) -> Iterator[None]:
    """Let a scheduler run beside the worker; with `once` it looks a single time, before the worker begins."""
    if not schedule:
        yield
        return
    from ..lifelong import Scheduler

    def report(persona: str, done: CycleResult) -> None:
        why = f": {done.reason}" if done.reason else ""
        sentence = f"Cycle of {persona}: {done.stored} stored, {done.pruned} archived{why}"
        _print_event(run, {"cycle": persona, **asdict(done)}, sentence)

    scheduler = Scheduler(run.db, personas=personas, on_done=report)
    if once:
        scheduler.tick()
        yield
        return
    with scheduler:
        yield


# The queue


@command("jobs list")
def list_jobs(run: Run) -> None:
    """List what waits, what runs and what failed."""
    from .. import jobs

    asking = run.asking()
    queue: dict[str, Any] = {"persona": asking["scope"].persona, "counts": jobs.count_operations(**asking)}
    for state in ("in_progress", "retrying", "failed"):
        queue[state] = jobs.list_operations(state, limit=_SHOWN, **asking)
    run.answer(queue, lambda: _print_queue(run, queue))


def _print_queue(run: Run, queue: dict[str, Any]) -> None:
    from ..jobs.rules import STATES
    from ..jobs.table_claiming import read_personas

    counts = queue["counts"]
    if not counts:
        others = [persona for persona in read_personas(run.db) if persona != queue["persona"]]
        waits = f" Work waits for {', '.join(others[:_SHOWN])}: see --persona-id." if others else ""
        output.say(f"Nothing is queued for {queue['persona']}.{waits}")
        return
    states = [state for state in STATES if any(state in each for each in counts.values())]
    output.table(
        ("type", *(state.replace("_", " ") for state in states)),
        [(kind, *(each.get(state, 0) for state in states)) for kind, each in counts.items()],
        right=range(1, len(states) + 1),
    )
    _print_operations("Running", queue["in_progress"], "since", "updated_at")
    _print_operations("Tried again", queue["retrying"], "next try", "available_at")
    _print_operations("Failed", queue["failed"], "at", "updated_at")
    if queue["failed"]:
        output.say("`prompt-engine jobs retry ID` puts one back into the queue, `jobs retry --all` all of them.")


def _print_operations(title: str, rows: Sequence[ListedOperation], column: str, field: str) -> None:
    """Print operations with the time of one field, in UTC."""
    if rows:
        output.heading(f"{title} (times in UTC)")
        cells = [
            (
                one["id"], one["type"], one["conversation"] or "", one["tries"],
                str(one.get(field) or "")[5:16].replace("T", " "), one["error"],
            )
            for one in rows
        ]  # fmt: skip
        output.table(("id", "type", "conversation", "try", column, "reason"), cells, right=(0, 3))


@command("jobs cancel")
def cancel(run: Run, job_id: IdArgument) -> None:
    """Cancel an operation; the result of a running one is dropped."""
    from .. import jobs

    done = bool(jobs.cancel([job_id], **run.asking()))
    run.answer({"id": job_id, "cancelled": done}, "Cancelled." if done else _NOT_THERE)
    if not done:
        raise typer.Exit(1)


@command("jobs clear")
def clear(run: Run) -> None:
    """Cancel all operations of a persona that have not ended.

    Results of running ones are dropped.
    """
    from .. import jobs

    waiting = jobs.list_operations(("in_progress", "retrying", "pending"), limit=_MOST, **run.asking())
    number = jobs.cancel([each["id"] for each in waiting], **run.asking())
    run.answer({"cancelled": number}, f"{number} cancelled.")


@command("jobs retry")
def retry(
    run: Run,
    job_id: Annotated[int | None, Argument(metavar="ID", help="Id of the operation.", show_default=False)] = None,
    every: Annotated[bool, Option("--all", help="Every failed operation of the persona, in place of an ID.")] = False,
) -> None:
    """Put a failed operation back into the queue."""
    from .. import jobs

    asking = run.asking()
    if (job_id is None) != every:
        raise BadParameter("say which operation: either its ID or --all")
    if job_id is None:
        failed = jobs.list_operations("failed", (), _MOST, **asking)
        again = [jobs.retry_operation(one["id"], **asking) for one in failed]
        pending, refused = sum(each.stored for each in again), sum(each.reason == "refused" for each in again)
        left = f" {refused} cannot be done again: their texts are not kept after the end." if refused else ""
        run.answer({"pending": pending, "refused": refused}, f"{pending} in the queue again.{left}")
        return
    done = jobs.retry_operation(job_id, **asking)
    notes = "; ".join(done.notes)
    sentence = "It is in the queue again." if done.stored else f"Not possible: {notes}." if notes else _NOT_FAILED
    run.answer({"id": job_id, "pending": done.stored, "reason": done.reason, "notes": list(done.notes)}, sentence)
    if not done.stored:
        raise typer.Exit(1)


_NOT_THERE = "Nothing was changed: no operation of this persona has the id, or it has ended."
_NOT_FAILED = "Nothing was changed: no failed operation of this persona has the id."


# Recaps


def _asking(run: Run, conversation: str, server: str) -> dict[str, Any]:
    """Return the arguments of the functions of stories; refuse a conversation that nothing was stored of."""
    from ..access import table_overview

    scope = run.scope(conversation, server=server, destination="local")
    if table_overview.find_conversation(run.db, scope.persona, conversation) is None:
        raise TransferError(
            f"Nothing is stored of the conversation {conversation!r} of the persona {scope.persona!r}. "
            "Name it by its key interface/chat[/thread], and the persona it belongs to by --persona-id."
        )
    return {"conversation": conversation, "db": run.db, "settings": run.settings, "scope": scope}


@command("recap show")
def show_recaps(run: Run, conversation: StoryArgument, server: ServerOption = "") -> None:
    """Print the recaps of story, scenes and messages in prompts now."""
    from .. import stories

    asking = _asking(run, conversation, server)
    running = stories.get_running_recap(**asking)
    scenes = stories.list_scenes(**asking)
    text = stories.get_recap_text(**asking)

    def show() -> None:
        output.heading("Running recap")
        output.indented(running["content"] if running else "There is none.")
        output.heading("Scenes")
        for scene in scenes:
            output.say(scene["name"] or "A scene without a name")
        output.heading("Recaps of messages in the prompt")
        output.indented(text or "None.")

    run.answer({"running": running, "scenes": scenes, "messages": text}, show)


@command("recap make")
def make_recaps(run: Run, conversation: StoryArgument, server: ServerOption = "") -> None:
    """Queue a recap of every message that has none, for a worker."""
    from .. import stories

    number = stories.queue_recaps(**_asking(run, conversation, server))
    run.answer({"queued": number}, f"{number} recaps are queued. `prompt-engine worker` makes them.")


@command("recap refresh")
def refresh_recaps(run: Run, conversation: StoryArgument, server: ServerOption = "") -> None:
    """Decide again what is hidden and which recaps are shown."""
    from .. import stories

    done = stories.refresh_memory(**_asking(run, conversation, server))
    run.answer(done, f"{done['changed']} recaps changed.")
