"""One call of `build_json_prompt` in a straight line, from the request to the fitted prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC
from functools import partial
from typing import Any

from .. import hooks, personas
from ..audience.table_rooms import resolve_scope
from ..base.limits import read_engine_limit, read_limit_argument
from ..calls import defaults
from ..calls.call import Call
from ..config import Settings
from ..context.context import order_context
from ..context.history import HistoryLists
from ..context.incoming import read_message, read_message_id
from ..context.lines import indent_lines
from ..context.live import LiveHistory, read_context_memory
from ..context.names import NameLabels
from ..context.section_base import Asked
from ..conversations import memory_prompt
from ..database import stored_values
from ..database.engine import Database
from ..errors import PromptTooLargeError
from ..memories import shown_texts
from ..memories.rules_modes import MODES
from ..search.reading.last_statement import Brought
from ..shapes import Hit, IncomingMessage
from ..templates.render import Renderer
from ..text import times
from ..text.counters import resolve_counter
from ..text.hits import content_digest
from ..text.sizes import size, to_json
from ..text.strict_json import make_strict
from . import message_list, own_words, reading, sight
from .call import MOST_ASKED_CHARS, PromptCall, Sight
from .contributions import merge_host_context
from .guard import Guard
from .history import Composed, Material, build_history, compose, fill_lists, shown_diary
from .live_visibility import put_under_key
from .message_list import MOST_MEMORIES, Limit, write_messages
from .messages import Messages, check_dialect
from .reading import StoredLines
from .report import Report
from .request import PromptRequest
from .rules_reduction import Reduction, count_tokens, fit
from .search import Recalled, ShownElsewhere, ask_search_hook, finish_search, plan_rows, start_search
from .sections import BuiltSections, build_sections, plan_sections
from .structure import MESSAGES, Contents, assemble, choose_answer_format, shape_actions, write_line


@dataclass(frozen=True, slots=True)
class _Built:
    """The context of a prompt, and what else its contents need."""

    context: dict[str, Any]
    persona: str
    recalled: Recalled
    names: NameLabels = field(default_factory=NameLabels)
    ids: Mapping[str, list[str]] = field(default_factory=dict)
    """Section to the ids of its items."""


def build(request: PromptRequest) -> tuple[dict[str, Any], Report]:
    """Return prompt and report; see `prompt_engine.explain_json_prompt`."""
    # 1. what was asked
    limit_chars = read_limit_argument("max_chars", request.max_chars)
    limit_tokens = read_limit_argument("limit_tokens", request.limit_tokens)
    call = _start(request)
    repeats = call.db.count_repeats() if isinstance(call.db, Database) else 0
    repairs = stored_values.count_repairs()
    # 2. who sees what; search, history and sections; the context
    call, built = _collect(call, limit_chars)
    # 3. the prompt's structure
    actions, expects_actions = _ask_actions(call)
    with call.report.stage("render"):
        prompt = _assemble(request, call, built, actions, expects_actions)
    # 4. into the limit
    limit_chars = _limit(call) if limit_chars is None else limit_chars
    fitted = _fit(request, call, prompt, limit_chars, limit_tokens, built)
    shown = fitted.prompt.get("context", {}).get("memories") or ()
    _note_shown(call, built.recalled, shown)
    if repairs := stored_values.count_repairs() - repairs:
        call.report.note(f"{repairs} stored values could not be read as they are; `prompt-engine db check` names them")
    if isinstance(call.db, Database) and (repeats := call.db.count_repeats() - repeats):
        call.report.add_account("repeated", repeats)
    return fitted.prompt, call.report


def build_messages(request: PromptRequest, dialect: str) -> Messages | dict[str, Any]:
    """Return chat messages; see `prompt_engine.build_messages`."""
    check_dialect(dialect)
    limit_chars = read_limit_argument("max_chars", request.max_chars)
    limit_tokens = read_limit_argument("limit_tokens", request.limit_tokens)
    call = _start(request)
    if call.settings.memory_items is None:
        call = replace(call, settings=replace(call.settings, memory_items=MOST_MEMORIES))
    call, built = _collect(call, limit_chars)
    actions, expects_actions = _ask_actions(call)
    limit_chars = _limit(call) if limit_chars is None else limit_chars
    limits = [Limit(limit_chars, len)] if limit_chars is not None else []
    if limit_tokens is not None:
        count = resolve_counter(request.counter)[0]
        limits.append(Limit(limit_tokens, partial(count_tokens, count), "tokens"))
    material = _gather_material(call, built, actions, expects_actions)
    with call.report.stage("render"):
        fitted = write_messages(material, dialect, limits)
    _note_shown(call, built.recalled, fitted.memories)
    return fitted.messages


def _collect(call: PromptCall, limit_chars: int | None) -> tuple[PromptCall, _Built]:
    """Search, read and build the context of a call."""
    if len(call.message.text) > MOST_ASKED_CHARS:
        call.report.note(f"text has {len(call.message.text)} characters; {MOST_ASKED_CHARS} of them are searched for")
    with call.one_connection():
        if _is_hopeless(call, limit_chars):
            call.report.note("text alone is over the limit; nothing was searched or read for it")
            return call, _Built(order_context({}), "", Recalled())
        call, seeing = _look(call)
        return call, _build_context(call, seeing)


# 1. What was asked


def _is_hopeless(call: PromptCall, limit_chars: int | None) -> bool:
    """Return whether the message alone is over the limit, so that the call ends in an error whatever is found."""
    limit = limit_chars or (0 if hooks.get_hook("engine_limit") else call.settings.max_prompt_chars)
    return bool(limit) and len(call.message.text) > limit


def _start(request: PromptRequest) -> PromptCall:
    """Read message, settings and scope; a database that cannot be opened leaves a prompt of what is live."""
    if request.db is not None:
        defaults.check_handle(request.db)
    if request.destination not in (None, "remote", "local"):
        raise ValueError(f"destination is {str(request.destination)[:40]!r}. It must be 'remote' or 'local'.")
    settings = defaults.settings_for(request.settings)
    now = request.db.clock if isinstance(request.db, Database) else defaults.clock()
    message = read_message(
        request.message, context_memory=request.context_memory, interface_name=request.interface_name, now=now()
    )
    return _make_call(request, settings, message, read_context_memory(request.context_memory))


def _make_call(request: PromptRequest, settings: Settings, message: IncomingMessage, live: LiveHistory) -> PromptCall:
    """Return the call with these settings; its report begins here."""
    scope = defaults.scope_of(message, request.scope, settings)
    report = Report(scope, flags=settings.differing())
    report.note(*message.notes, *live.notes)
    if live.skipped:
        report.note(f"context_memory: {live.skipped} things are no message and are left out")
    guard = Guard(report)
    db = guard.open(request.db)
    scope = guard("scope", "database", lambda: resolve_scope(db, scope), scope) if scope.server else scope
    message, live = put_under_key(message, live, scope.conversation)
    return PromptCall(
        message=message,
        live=live,
        hook_arguments={
            "message": request.message,
            "context_memory": request.context_memory,
            "interface_name": request.interface_name,
            "text": message.text,
        },
        settings=settings,
        scope=scope,
        destination=request.destination or scope.destination or settings.prompt_destination,  # type: ignore[arg-type]
        db=db,
        guard=guard,
        replacing=read_message_id(request.replacing, "replacing"),
    )


# 2. Who sees what


def _look(call: PromptCall) -> tuple[PromptCall, Sight]:
    """Take the first round trip, and save what the message itself asks to remember."""
    first = call.guard("scope", "database", lambda: sight.look(call), None)
    if first is None:
        _save_asked(call)
        return call, Sight()
    reasons: set[sight.Reason] = set()
    if sight.register_private(call, first):
        reasons.add("privacy")
    if _save_asked(call):
        reasons.add("memory")
    seeing = call.guard("scope", "database", lambda: sight.complete_sight(call, first, reasons), Sight())
    tags = seeing.tags
    call.report.look_for(tags.said, tags.expansion, seeing.keywords)
    return call, seeing


def _save_asked(call: PromptCall) -> bool:
    """Save what the message itself asks to remember, in mode plus, and return whether that stored something."""
    db = call.db
    if not isinstance(db, Database) or call.is_down or MODES[call.settings.memory_mode].how != "before":
        return False
    account = call.guard(
        "memory_tool",
        "memories",
        lambda: memory_prompt.save_before_generation(
            Call(db, call.settings, call.scope), call.message.text, call.message.message_id or None
        ),
        None,
    )
    if account is None:
        return False
    call.report.add_account(memory_prompt.ACCOUNT, account)
    return bool(account["stored"])


# 2. Search, history and sections; the context


def _build_context(call: PromptCall, seeing: Sight) -> _Built:
    """Run the stages from the search to the context."""
    guard, report = call.guard, call.report
    # what is stored: the second and third round trip
    search = start_search(call, seeing)
    lines, sections, brought, rows = StoredLines(), None, Brought(), None
    if call.db is not None and seeing.viewer is not None and not call.is_down:
        # Some of the best rows stand in the history lists: seldom half as many as these have lines.
        rows = plan_rows(call, search, (call.caps.history + call.caps.recent) // 2 + 2)
        search = search if rows is not None else None
        wanted = reading.plan_lines(call, seeing)
        words = (*seeing.keywords, *seeing.tags.expanded)
        sections = Asked(call.settings, seeing.viewer, call.message, call.db.clock(), words)
        parts = [*plan_sections(guard, sections), *own_words.plan(call, seeing)]
        brought = reading.read_stored(call, seeing.viewer, rows, wanted, parts)
        lines = StoredLines(brought.current, brought.recent, brought.diary, wanted)
    lines = reading.find_replaced(call, reading.ask_history_hook(call, lines))
    # the lists, then the memories that are not in them
    lists = guard("history", "history", lambda: build_history(call, seeing, lines), HistoryLists())
    lists = guard("history", "history", lambda: fill_lists(call, seeing, lines, lists), lists)
    built = BuiltSections() if sections is None else build_sections(guard, sections, brought.sections, lists)
    if search is None:
        recalled = ask_search_hook(call, seeing, lists)
    else:
        recalled = finish_search(
            call,
            search,
            rows,
            brought.rows,
            lists,
            _shown_elsewhere(call, lines, built),
        )
    hits = guard(
        "search", "own_words", lambda: own_words.choose(call, seeing, brought.sections, lists, recalled), recalled.hits
    )
    lists.names.asker(call.message)
    hits = _name_speakers(hits, recalled, lists)
    report.note(*lists.notes, *built.notes)
    # the context
    composed = guard(
        "context",
        "history_engine",
        lambda: compose(call, Material(lists, lines, built, hits)),
        Composed(order_context({}), (), {}),
    )
    report.leave_out_all(composed.left_out)
    without: tuple[dict[str, Any], str, tuple[str, ...]] = (composed.context, "", ())
    context, persona, notes = guard.hook(
        "context", call.hook_arguments, lambda given: merge_host_context(composed.context, given), without
    )
    report.note(*notes)
    persona = persona or guard("persona", "persona_text", lambda: _read_persona(call), "")
    persona = personas.fill_names(persona, lists.names.persona, lists.names.asker(call.message))
    return _Built(context, persona, recalled, lists.names, composed.ids)


def _read_persona(call: PromptCall) -> str:
    return personas.read_text(personas.find_file(call.settings, call.scope.persona))


def _shown_elsewhere(call: PromptCall, lines: StoredLines, built: BuiltSections) -> ShownElsewhere:
    """Return what wishes, saved memories and the diary show."""
    listed = ("standing_wishes", "saved_memories")
    texts = [text for key in listed for text in built.values.get(key) or ()]
    return ShownElsewhere(
        frozenset(int(each) for key in listed for each in built.ids.get(key, ())),
        shown_diary(call, lines),
        frozenset(content_digest(said) for text in texts for said in (text, text.partition(": ")[2]) if said),
    )


def _name_speakers(hits: Sequence[Hit], recalled: Recalled, lists: HistoryLists) -> list[Hit]:
    """Return the hits with the names that the lines use, oldest first named first."""
    keys = {(one.hit["source"], one.hit["id"]): one.row.said_by_key for one in recalled.chosen}
    named: list[Hit] = []
    for found in reversed(hits):
        key = keys.get((found["source"], found["id"]), "")
        speaker = found.get("speaker", "")
        shown: Hit = {**found, "snippet": indent_lines(found["snippet"])}
        if speaker:
            shown["speaker"] = lists.names.participant(key, speaker)
        named.append(shown)
    return named[::-1]


# 3. The prompt's structure


def _ask_actions(call: PromptCall) -> tuple[Any, bool]:
    """Return what the hook `actions` gave, and whether it failed before it gave anything."""
    answers = []

    def read(given: Any) -> Any:
        answers.append(True)
        return _copy_actions(given)

    actions = call.guard.hook("actions", {"interface_name": call.message.interface}, read, None)
    return actions, not answers and "actions" in call.report.failed_sources


def _copy_actions(given: Any) -> Any:
    """Return what the hook `actions` gave in plain dicts, made while it is guarded: its mappings may be of any kind."""
    if not isinstance(given, Mapping):
        return given
    return {name: dict(each) if isinstance(each, Mapping) else each for name, each in given.items()}


def _assemble(
    request: PromptRequest, call: PromptCall, built: _Built, actions: Any, expects_actions: bool
) -> dict[str, Any]:
    s = call.settings
    contents = Contents(
        message=call.message,
        context=built.context,
        persona=built.persona,
        names=built.names,
        actions=actions,
        image_data=request.image_data,
        attachments=request.attachments,
        answer_format=s.answer_format,
        expects_actions=expects_actions,
        lite=bool(s.prompt_lite_mode),
        with_local_time=bool(s.include_local_time_in_prompts),
        time_zone=s.timezone,
    )
    note = call.report.note
    return assemble(contents, Renderer(s.templates_dir, note), note)


def _gather_material(call: PromptCall, built: _Built, actions: Any, expects_actions: bool) -> message_list.Material:
    """Return what messages are made of."""
    note, s, message = call.report.note, call.settings, call.message
    lite = bool(s.prompt_lite_mode)
    shaped = make_strict(shape_actions(actions, lite, note))[0]
    template = MESSAGES[choose_answer_format(s.answer_format, shaped or expects_actions)]
    line = write_line(Renderer(s.templates_dir, note), template, message.interface, lite=lite)
    asker = built.names.asker(message)
    system = [built.persona.strip("\r\n"), line, f"You are talking with {asker}."]
    chosen = built.recalled.chosen
    return message_list.Material(
        built.context,
        message.text,
        asker,
        built.names.persona,
        [text for text in (*system, to_json({"actions": shaped}) if shaped else "") if text.strip()],
        times.zone(message.time_zone or s.timezone) or UTC,
        {(one.hit["source"], one.hit["id"]): one.rank for one in chosen},
    )


# 4. Into the limit


def _limit(call: PromptCall) -> int | None:
    """Return the characters the prompt may have where the caller says nothing: hook, else flag."""
    nothing: tuple[int | None, str | None] = (None, None)
    limit, note = call.guard.hook("engine_limit", {}, read_engine_limit, nothing)
    if note:
        call.report.note(note)
    return limit or call.settings.max_prompt_chars or None


def _fit(
    request: PromptRequest,
    call: PromptCall,
    prompt: dict[str, Any],
    limit: int | None,
    limit_tokens: int | None,
    built: _Built,
) -> Reduction:
    """Fit the prompt and account for it."""
    counter, report = request.counter, call.report
    count, name = resolve_counter(counter) if counter is not None or limit_tokens is not None else (None, None)
    ranked = sorted(built.recalled.chosen, key=lambda one: one.rank)
    rank = [(one.hit["source"], one.hit["id"]) for one in ranked] or None

    def work() -> Reduction:
        return fit(prompt, limit_chars=limit, limit_tokens=limit_tokens, counter=count, memory_rank=rank, ids=built.ids)

    fitted = call.guard("reduction", "reduction", work, None)
    if fitted is None:
        whole = size(prompt)
        if limit is not None and whole > limit:
            raise PromptTooLargeError(whole, limit, {key: size(value) for key, value in prompt.items()})
        fitted = fit(prompt)
    report.reduced(fitted, limit=limit, limit_tokens=limit_tokens, counter=name, count=count)
    if fitted.over_limit:
        over = limit_tokens if fitted.unit == "tokens" else limit
        measured = fitted.tokens if fitted.unit == "tokens" else fitted.size
        raise PromptTooLargeError(measured or 0, over or 0, fitted.parts, unit=fitted.unit)
    return fitted


def _note_shown(call: PromptCall, recalled: Recalled, shown: Sequence[Any]) -> None:
    """Keep which memories are in the prompt: what repeats them is not stored as something new."""
    if call.db is None:
        return
    kept = {(hit.get("source"), hit.get("id")) for hit in shown}
    texts = {one.row.digest for one in recalled.chosen if (one.hit["source"], one.hit["id"]) in kept and one.row.digest}
    said = content_digest(call.message.text)
    shown_texts.note_turn(call.db, call.scope, (text for text in texts if text != said))
