"""`worker` and `jobs`: background work and its queue."""

import logging
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer
from typer import Argument, BadParameter, Option

from ..access.rules import plain_key
from ..base import logs
from ..base.signals import stop_on_signals
from ..errors import StoreError
from ..scope import Scope
from ..shapes import OPEN_STATES, ListedOperation, OperationRun, OperationState
from . import output
from .run import LogLevelOption, Run, command, start_log

IdArgument = Annotated[int | None, Argument(metavar="ID", help="Id of the operation.")]
_STYLES = {"completed": "", "retrying": "yellow", "failed": "red", "dropped": "dim"}
_LISTED: Sequence[OperationState] = ("in_progress", "pending", "retrying", "failed")
_SHOWN = 20
_MOST = 10_000


@command("worker", without={"persona_id"}, creates=True)
def work(
    run: Run,
    once: bool = Option(False, "--once", help="End when none is ready; exit code 1 if any failed or awaits a retry."),
    personas: list[str] | None = Option(
        None, "--persona-id", metavar="ID", help="Only run work of this persona; may be repeated. Default: all."
    ),
    log_level: LogLevelOption = None,
) -> None:
    """Do background work: recaps, summaries, consolidation.

    Any number of workers may run at once. SIGTERM or Ctrl-C lets the current operation end first; a second signal
    returns it to the queue. If a worker is killed, another worker runs its operation later.
    """
    from .. import llm
    from ..access.overview import read_titles
    from ..jobs import Worker

    states: Counter[str] = Counter()
    failed: list[OperationRun] = []

    def report(done: OperationRun) -> None:
        states[done.state] += 1
        if done.state == "failed":
            failed.append(done)
        key, server = done.conversation or "", ""
        with suppress(StoreError):
            server = next((each.server_id for each in read_titles(run.db, done.persona, {key} - {""}).values()), "")
        if run.as_json:
            place = {"conversation": plain_key(key) or None, "server": server}
            output.print_json(asdict(done) | place, in_one_line=True)
            return
        where = f" of {plain_key(key)}{server and f' on {server}'}" if key else ""
        how = f"{done.state} in {done.seconds:.1f} s"
        if done.state == "retrying":
            how = f"failed after {done.seconds:.1f} s, next try in {done.wait_seconds:.0f} s"
        output.say(f"{done.type}{where} {how}{f': {done.error}' if done.error else ''}", style=_STYLES[done.state])

    def is_other(record: logging.LogRecord) -> bool:
        """Return whether a log record is not about an operation, which `report` prints."""
        return not record.getMessage().startswith("operation ")

    worker = Worker(run.db, personas=personas or (), on_done=report)
    asked = llm.resolve(None, run.settings, run.db)
    if asked is None and run.settings.llm_base_url.strip():
        output.warn(llm.UNNAMED)
    if not run.as_json:
        whose = ", ".join(personas or ()) or "all personas"
        model = "Without LLM_BASE_URL and LLM_MODEL texts are extracts."
        if isinstance(asked, llm.MeteredModel):
            model = f"The model is {asked.name} at {urlsplit(run.settings.llm_base_url).netloc}."
        output.note(f"Working for {whose} on {run.db.target.shown}, {'once' if once else 'until Ctrl-C'}. {model}")
    start_log(log_level)
    logs.logger.addFilter(is_other)
    try:
        with stop_on_signals(worker.stop):
            begun = worker.run(once=once)
    finally:
        logs.logger.removeFilter(is_other)
        llm.close()
    if not run.as_json:
        of = "" if states["completed"] == begun else f"{states['completed']} of "
        output.note(f"{of}{output.count(begun, 'operation')} done.")
    if once and _print_left(run, personas, failed):
        raise typer.Exit(1)


def _print_left(run: Run, personas: Sequence[str] | None, failed: Sequence[OperationRun]) -> bool:
    """Report waiting and failed operations, lest the queue look empty; return whether any failed or had an error."""
    from .. import jobs

    left: list[ListedOperation] = []
    for persona in personas or jobs.read_personas(run.db):
        left += jobs.list_operations(("retrying", "pending"), limit=_MOST, **run.asking(Scope(persona)))
    error = next((one["error"] for one in left if one["error"]), "")
    if left:
        reason = f", the last try failed: {error}" if error else ""
        output.warn(f"Operations that wait: {len(left)}{reason}. See `prompt-engine jobs list`.")
    if failed:
        last = failed[-1].error
        first = "Correct LLM_API_KEY, then: " if "auth" in last else ""
        names = sorted({each.persona for each in failed})
        commands = ", ".join(f"`prompt-engine jobs retry --all --persona-id {each}`" for each in names)
        output.warn(f"Operations that failed: {len(failed)}, the last one: {last}. {first}{commands}.")
    return bool(error or failed)


@command("jobs list")
def list_jobs(run: Run) -> None:
    """List waiting, running and failed operations."""
    from .. import jobs

    asking = run.asking()
    queue: dict[str, Any] = {"persona": asking["scope"].persona, "counts": jobs.count_operations(**asking)}
    queue |= {state: jobs.list_operations(state, limit=_SHOWN, **asking) for state in _LISTED}
    run.answer(queue, lambda: _print_queue(run, queue))
    if not queue["counts"]:
        run.warn_of_persona(queue["persona"])


def _print_queue(run: Run, queue: dict[str, Any]) -> None:
    from .. import jobs

    counts = queue["counts"]
    if not counts:
        others = [persona for persona in jobs.read_personas(run.db) if persona != queue["persona"]]
        waits = f" Work waits for {', '.join(others[:_SHOWN])}: see --persona-id." if others else ""
        output.say(f"Nothing is queued for {queue['persona']}.{waits}")
        return
    numbers = [(kind, state, number) for kind, states in counts.items() for state, number in states.items()]
    output.table(("type", "state", "operations"), numbers, right=(2,))
    names = ("id", "type", "state", "conversation", "server", "tries", "created_at", "available_at", "error")
    if rows := [{name: row[name] for name in names} for state in _LISTED for row in queue[state]]:
        output.heading("Operations (times in UTC)")
        output.show(rows)
    if queue["failed"]:
        output.say("`prompt-engine jobs retry ID` puts one back into the queue, `jobs retry --all` all of them.")


@command("jobs cancel")
def cancel(
    run: Run,
    job_id: IdArgument = None,
    every: bool = Option(False, "--all", help="Cancel all operations of the persona that have not ended."),
) -> None:
    """Cancel an operation; the result of a running operation is dropped."""
    from .. import jobs

    number = jobs.cancel(_choose_ids(run, job_id, every, OPEN_STATES), **run.asking())
    nothing = "Nothing was changed: no operation of this persona has the id, or it has ended."
    run.answer({"cancelled": number}, f"{number} cancelled." if number or every else nothing)
    if not number and not every:
        raise typer.Exit(1)


@command("jobs retry")
def retry(
    run: Run,
    job_id: IdArgument = None,
    every: bool = Option(False, "--all", help="Retry all failed operations of the persona."),
) -> None:
    """Put a failed operation back into the queue."""
    from .. import jobs

    results = [jobs.retry_operation(each, **run.asking()) for each in _choose_ids(run, job_id, every, ("failed",))]
    pending = sum(each.stored for each in results)
    refused = sum(each.reason == "refused" for each in results)
    left = f" {refused} cannot be done again: their texts are not kept after the end." if refused else ""
    nothing = "Nothing was changed: no failed operation of this persona has the id."
    sentence = f"{pending} in the queue again.{left}" if pending or refused or every else nothing
    run.answer({"pending": pending, "refused": refused}, sentence)
    if not pending and not every:
        raise typer.Exit(1)


def _choose_ids(run: Run, job_id: int | None, every: bool, states: Sequence[OperationState]) -> list[int]:
    from .. import jobs

    if (job_id is None) != every:
        raise BadParameter("say which operation: either its ID or --all")
    if job_id is not None:
        return [job_id]
    return [each["id"] for each in jobs.list_operations(states, limit=_MOST, **run.asking())]
