"""What `prompt_engine` does, apart from it: importing this room loads the database packages.

SQLAlchemy alone takes 250 ms of CPU to import, so the door loads this at the first call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from ..base import logs
from ..base.limits import read_engine_limit, read_limit_argument
from ..calls import defaults
from ..config import Settings
from ..context.incoming import read_message
from ..conversations import memory_prompt
from ..database.engine import Database
from ..errors import PromptTooLargeError
from ..memories import table_recalls as recalls
from ..memories.rules_modes import MODES
from ..scope import Scope
from ..templates.render import Renderer
from ..text.counters import resolve_counter
from ..text.hits import content_digest
from ..text.sizes import size
from . import stages as prompting
from .guard import Guard
from .report import Report
from .rules_reduction import Reduction, fit
from .run import Run
from .structure import assemble


def build(
    message: Any,
    context_memory: Any,
    interface_name: str | None,
    image_data: Any,
    attachments: Any,
    max_chars: int | None,
    history_scope: str | None,
    *,
    limit_tokens: int | None,
    counter: Callable[[str], int] | None,
    destination: str | None,
    db: Database | None,
    settings: Settings | Mapping[str, Any] | None,
    scope: Scope | None,
) -> tuple[dict[str, Any], Report]:
    """Return prompt and report; see `prompt_engine.explain_json_prompt`."""
    # 1. what was asked
    limits = read_limit_argument("max_chars", max_chars), read_limit_argument("limit_tokens", limit_tokens)
    asked = _Asked(message, context_memory, interface_name, history_scope, destination, db, settings, scope)
    run = _start(asked)
    # 2. words, search, history
    with run.db.one_call() if isinstance(run.db, Database) else nullcontext():
        if isinstance(run.db, Database):
            run.db.settle()
        history, changed = prompting.see(run)
        if changed and not isinstance(settings, Settings):
            run = _start(asked)
            history, _ = prompting.see(run)
        if _save_asked(run):
            history, _ = prompting.see(run)  # the first memory of a conversation makes an audience to be seen
        parts = prompting.context_of(run, history)
    # 3. the prompt's structure
    actions = run.guard.hook("actions", {"interface_name": run.message.interface}, _actions, None)
    with run.report.stage("render"):
        prompt = _assemble(run, parts, actions, image_data, attachments)
    # 4. into the limit
    fitted = _fit(run, prompt, _limit(run, limits[0]), limits[1], counter, parts.ids)
    run.guard("recalls", "memory_recalls", lambda: _record(run, fitted), None)
    return fitted.prompt, run.report


def _save_asked(run: Run) -> bool:
    """Save what the message itself asks to remember, in mode plus, and return whether that stored something."""
    db = run.db
    if not isinstance(db, Database) or run.down or MODES[run.settings.memory_mode].how != "before":
        return False
    account = run.guard(
        "memory_tool",
        "memories",
        lambda: memory_prompt.before_generation(db, run.settings, run.scope, run.message.text),
        None,
    )
    if account is None:
        return False
    run.report.extra[memory_prompt.ACCOUNT] = account
    return bool(account["stored"])


def _actions(given: Any) -> Any:
    """Return what the hook `actions` gave in plain dicts, made while it is guarded: its mappings may be of any kind."""
    if not isinstance(given, Mapping):
        return given
    return {name: dict(each) if isinstance(each, Mapping) else each for name, each in given.items()}


def _assemble(run: Run, parts: prompting.Parts, actions: Any, image_data: Any, attachments: Any) -> dict[str, Any]:
    s, word = run.settings, parts.context.get("history_scope")
    return assemble(
        message=run.message,
        context=parts.context,
        renderer=Renderer(s.templates_dir, s.template_steps, run.report.note),
        persona=parts.persona,
        recon=parts.recon,
        recon_instructions=parts.recon_lines,
        actions=actions,
        image_data=image_data,
        attachments=attachments,
        history_scope=word if isinstance(word, str) else None,
        lite=bool(s.prompt_lite_mode),
        with_local_time=bool(s.include_local_time_in_prompts),
        time_zone=s.timezone,
        note=run.report.note,
    )


@dataclass(frozen=True, slots=True)
class _Asked:
    """The arguments a run is started from."""

    message: Any
    context_memory: Any
    interface_name: str | None
    history_scope: str | None
    destination: str | None
    db: Database | None
    settings: Settings | Mapping[str, Any] | None
    scope: Scope | None


def _start(asked: _Asked) -> Run:
    """Read message, settings and scope; a database that cannot be opened leaves a prompt of what is live."""
    if asked.destination not in (None, "remote", "local"):
        raise ValueError(f"destination is {str(asked.destination)[:40]!r}. It must be 'remote' or 'local'.")
    db, settings = asked.db, asked.settings
    known = settings if isinstance(settings, Settings) else defaults.known_settings(settings, db)
    now = db.clock if isinstance(db, Database) else defaults.clock()
    read = read_message(
        asked.message, context_memory=asked.context_memory, interface_name=asked.interface_name, now=now()
    )
    scope = defaults.scope_of(read, asked.scope, known)
    report = Report(scope)
    report.flags = known.differing()
    report.note(*read.notes)
    run = Run(
        raw=asked.message,
        message=read,
        context_memory=asked.context_memory,
        interface_name=asked.interface_name,
        history_scope=asked.history_scope,
        settings=known,
        scope=scope,
        destination=asked.destination or defaults.destination_for(asked.scope, known),
        report=report,
        guard=Guard(report, float(known.hook_timeout_seconds)),
    )
    run.db = run.guard.db = run.guard("open", "database", lambda: defaults.handle(db), None)
    return run


def _limit(run: Run, max_chars: int | None) -> int | None:
    """Return the characters the prompt may have: argument, else hook, else flag."""
    if max_chars is not None:
        return max_chars
    nothing: tuple[int | None, str | None] = (None, None)
    limit, note = run.guard.hook("engine_limit", {}, read_engine_limit, nothing)
    if note:
        run.report.note(note)
    return limit or run.settings.max_prompt_chars or None


def _fit(
    run: Run,
    prompt: dict[str, Any],
    limit: int | None,
    limit_tokens: int | None,
    counter: Callable[[str], int] | None,
    ids: Mapping[str, list[str]],
) -> Reduction:
    """Fit the prompt and account for it.

    Raises:
        PromptTooLargeError: what is never cut is over the limit, or reduction failed and the prompt is.
    """
    count, name = resolve_counter(counter) if counter is not None or limit_tokens is not None else (None, None)
    ranked = sorted(run.chosen, key=lambda one: one.rank)
    rank = [(one.hit["source"], one.hit["id"]) for one in ranked] or None

    def work() -> Reduction:
        return fit(prompt, limit_chars=limit, limit_tokens=limit_tokens, counter=count, memory_rank=rank, ids=ids)

    fitted = run.guard("reduction", "reduction", work, None)
    if fitted is None:
        whole = size(prompt)
        if limit is not None and whole > limit:
            raise PromptTooLargeError(whole, limit, {key: size(value) for key, value in prompt.items()})
        fitted = fit(prompt)
    run.report.reduced(fitted, limit=limit, limit_tokens=limit_tokens, counter=name, count=count)
    if fitted.over_limit:
        over = limit_tokens if fitted.unit == "tokens" else limit
        measured = fitted.tokens if fitted.unit == "tokens" else fitted.size
        if run.settings.prompt_overflow != "return":
            raise PromptTooLargeError(measured or 0, over or 0, fitted.parts, unit=fitted.unit)
        logs.event(40, "prompt_over_limit", size=measured, limit=over, unit=fitted.unit)
    return fitted


def _record(run: Run, fitted: Reduction) -> None:
    """Keep which memories are in the prompt: counted as recalled, and not taken for something said."""
    if run.db is None:
        return
    shown = fitted.prompt.get("context", {}).get("memories") or ()
    kept = {(hit.get("source"), hit.get("id")) for hit in shown}
    texts = {one.row.digest for one in run.chosen if (one.hit["source"], one.hit["id"]) in kept and one.row.digest}
    said = content_digest(run.message.text)
    recalls.note_turn(run.db, run.scope, (text for text in texts if text != said))
    rows = [row for source, row in kept if source == "memories" and row]
    if rows and run.settings.record_recalls and not run.down:
        recalls.record(run.db, run.scope.persona, rows)
