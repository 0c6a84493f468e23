"""One message to one prompt, in a straight line: a stage takes values and gives values, and what fails gives none.

open_call       the message, settings, scope, database                                       call.py
load_visible    who sees what; the words and tags of the message                             access.py
start_search    the index: which rows fit best, and these rows                               search.py
read_stored     lines of the history, diary, rows of the sections                            history.py
build_history   the lines that are shown                                                     history.py
build_sections  what each noun shows                                                         sections.py
finish_search   the best rows that are shown nowhere else                                    search.py
compose         the context, with the host's keys                                            history.py
assemble, fit   the JSON prompt within its limits                                            structure.py, fit.py
write_messages  or the same as chat messages, or as records for somebody else's request      message_lines.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from typing import Any

from .. import hooks, personas
from ..base.limits import read_engine_limit, read_limit_argument
from ..calls.call import Call
from ..context.context import order_context
from ..context.history import HistoryLists
from ..context.incoming import IncomingMessage, describe_reply
from ..context.lines import NameLabels, has_name, mark_lines, reply_note, stamp
from ..context.section_base import Asked, Built
from ..context.table import Brought
from ..database import stored_values
from ..database.engine import Database
from ..errors import PromptTooLargeError
from ..memories import shown_texts
from ..memories.rules_modes import MODES
from ..shapes import Hit
from ..templates.render import Renderer
from ..text import times
from ..text.folding import clean
from ..text.hits import content_digest
from ..text.sizes import resolve_counter, to_json
from ..text.strict_json import make_strict
from . import access, cross_channel
from .call import MOST_ASKED_CHARS, PromptCall, PromptRequest, VisibleContext, in_zone_of_asker, open_call
from .fit import Fitted, Space, fit
from .history import (
    StoredLines,
    ask_history_hook,
    build_history,
    compose,
    fill_lists,
    find_replaced,
    plan_lines,
    read_stored,
    shown_diary,
)
from .message_lines import MOST_MEMORIES, Material, Records, write_messages, write_records
from .messages import Messages, check_dialect
from .report import Report
from .search import Recalled, ShownElsewhere, ask_search_hook, finish_search, start_search
from .sections import build_sections, plan_sections
from .structure import (
    MESSAGES,
    Contents,
    assemble,
    choose_answer_format,
    merge_host_context,
    shape_actions,
    write_line,
    write_opening,
)

MARKED = frozenset(
    ("memories", "short_term", "recent_conversations", "standing_wishes", "saved_memories", "running_recap",
     "message_recaps")
)  # fmt: skip
"""Sections of texts that may have several lines."""
LONGEST_RECORDS = 1_000_000
"""Most characters of records where nothing else limits them."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """Everything a prompt is made of."""

    context: dict[str, Any] = field(default_factory=lambda: order_context({}))
    persona: str = ""
    """The persona's own text."""
    recalled: Recalled = field(default_factory=Recalled)
    names: NameLabels = field(default_factory=NameLabels)
    ids: Mapping[str, list[str]] = field(default_factory=dict)
    """Section to the ids of its items."""
    words: Sequence[str] = ()
    """What the message asks for."""

    @property
    def rank(self) -> list[tuple[str, int]]:
        """Return source and id of the memories, best first."""
        ranked = sorted(self.recalled.chosen, key=lambda one: one.rank)
        return [(one.hit["source"], one.hit["id"]) for one in ranked]


def build(request: PromptRequest) -> tuple[dict[str, Any], Report]:
    """Return prompt and report; see `prompt_engine.explain_json_prompt`."""
    space, counter = _read_space(request)
    call = open_call(request)
    with _Repairs(call):
        gathered = _gather(call, space)
        actions, expects_actions = _ask_actions(call)
        prompt = _assemble(request, call, gathered, actions, expects_actions)
        space = _limit(call, space)
        fitted = _fit(call, prompt, space, gathered)
        call.report.add_prompt(fitted, space, counter)
    if fitted.over_limit:
        _refuse(fitted, space)
    shown = fitted.prompt.get("context", {}).get("memories") or ()
    _note_shown(call, gathered.recalled, shown)
    return fitted.prompt, call.report


def build_messages(request: PromptRequest, dialect: str) -> tuple[Messages | dict[str, Any], Report]:
    """Return chat messages and report; see `prompt_engine.explain_messages`."""
    check_dialect(dialect)
    space, counter = _read_space(request)
    call = _for_lines(open_call(request))
    with _Repairs(call):
        gathered = _gather(call, space)
        material = _gather_material(call, gathered)
        space = _limit(call, space)
        fitted = write_messages(material, dialect, space)
        call.report.add_messages(fitted, space, counter)
    _note_shown(call, gathered.recalled, fitted.memories)
    return fitted.messages, call.report


def build_records(request: PromptRequest, held: Sequence[str] = ()) -> Records:
    """Return what belongs to a message as one text of plain lines, for a request that somebody else writes.

    Args:
        held: texts that the request has already.
    """
    space, _ = _read_space(request)
    call = _for_lines(open_call(request))
    gathered = _gather(call, Space(None, None, None))
    material = _gather_material(call, gathered)
    most = space.limit_chars or call.settings.max_prompt_chars or LONGEST_RECORDS
    records = write_records(material, most, held)
    _note_shown(call, gathered.recalled, records.memories)
    return records


def _read_space(request: PromptRequest) -> tuple[Space, str | None]:
    """Return the limits that were asked for, and the name of the counter of tokens, None where there is none."""
    limit_chars = read_limit_argument("max_chars", request.max_chars)
    if request.counter is None and request.limit_tokens is None:
        return Space(limit_chars, None, None), None
    count, name = resolve_counter(request.counter)
    return Space(limit_chars, request.limit_tokens, count), name


def _for_lines(call: PromptCall) -> PromptCall:
    """Return the call with as many memories as fit where nobody says how many, and times in the asker's zone."""
    return replace(in_zone_of_asker(call), most_memories=MOST_MEMORIES)


class _Repairs:
    """Notes what was repaired and repeated while a prompt was built."""

    def __init__(self, call: PromptCall) -> None:
        self.call = call

    def __enter__(self) -> None:
        self.before = self._count()

    def __exit__(self, *_: object) -> None:
        repairs, repeats = (now - then for now, then in zip(self._count(), self.before, strict=True))
        if repairs:
            self.call.report.note(
                f"{repairs} stored values could not be read as they are; `prompt-engine db check` names them"
            )
        if repeats:
            self.call.report.note(f"{repeats} statements were repeated on a new connection")

    def _count(self) -> tuple[int, int]:
        db = self.call.db
        return stored_values.count_repairs(), db.count_repeats() if isinstance(db, Database) else 0


# What belongs to the message


def _gather(call: PromptCall, space: Space) -> Gathered:
    """Search, read and build the context of a call."""
    chars = len(call.message.text)
    if chars > MOST_ASKED_CHARS:
        call.report.note(f"text has {chars} characters; {MOST_ASKED_CHARS} of them are searched for")
    limit = space.limit_chars or (0 if hooks.get_hook("engine_limit") else call.settings.max_prompt_chars)
    if limit and chars > limit:
        call.report.note("text alone is over the limit; nothing was searched or read for it")
        return Gathered()
    _save_asked(call)
    with call.one_connection():
        return _add_host_context(call, build_context(call))


def _save_asked(call: PromptCall) -> None:
    """Save what the message itself asks to remember, in mode plus, before it is answered."""
    db = call.db
    if not isinstance(db, Database) or MODES[call.settings.memory_mode].how != "before":
        return
    from ..conversations import memory_tool  # noqa: PLC0415 - loads all that saves, which mode plus alone needs

    account = call.guard(
        "memories",
        lambda: memory_tool.save_before_generation(
            Call(db, call.settings, call.scope), call.message.text, call.message.message_id or None
        ),
        None,
    )
    if account is not None:
        call.report.search[memory_tool.REPORT_KEY] = account


def build_context(call: PromptCall, memories: Sequence[Hit] | None = None) -> Gathered:
    """Run the stages from the access to the context; `memories` take the place of those that are searched for."""
    guard, report = call.guard, call.report
    seeing = guard("database", lambda: access.load_visible(call), VisibleContext())
    report.search |= {"tags": list(seeing.tags.said), "words": list(seeing.keywords)}
    words = (*seeing.keywords, *seeing.tags.expanded)
    # what is stored
    search = start_search(call, seeing) if memories is None else None
    lines, asked, brought = StoredLines(), None, Brought()
    if call.db is not None and seeing.viewer is not None and not call.is_down:
        wanted = plan_lines(call, seeing)
        asked = Asked(call.settings, seeing.viewer, call.message, call.db.clock(), words)
        parts = [*plan_sections(guard, asked), *(cross_channel.plan(call, seeing) if memories is None else ())]
        brought = read_stored(call, seeing.viewer, wanted, parts)
        lines = StoredLines(brought.current, brought.recent, brought.diary, wanted)
    lines = find_replaced(call, ask_history_hook(call, lines))
    # the lists, then the memories that are not in them
    lists = guard("history", lambda: build_history(call, seeing, lines), HistoryLists())
    lists = guard("history", lambda: fill_lists(call, seeing, lines, lists), lists)
    lists.names.asker(call.message)  # is named before the people of sections and memories
    sections = {} if asked is None else build_sections(guard, asked, brought.sections, lists)
    if search is not None:
        recalled = finish_search(call, search, lists, _shown_elsewhere(call, lines, sections))
    else:
        recalled = ask_search_hook(call, seeing, lists) if memories is None else Recalled(memories)
    hits = guard(
        "cross_channel", lambda: cross_channel.choose(call, seeing, brought.sections, lists, recalled), recalled.hits
    )
    hits = _name_speakers(hits, recalled, lists)
    report.note(*lists.notes, *(note for built in sections.values() for note in built.notes))
    nothing: tuple[dict[str, Any], dict[str, list[str]]] = (order_context({}), {})
    context, ids = guard("history_engine", lambda: compose(call, lists, lines.diary, sections, hits), nothing)
    return Gathered(context, "", recalled, lists.names, ids, words)


def _add_host_context(call: PromptCall, gathered: Gathered) -> Gathered:
    """Return what was gathered with the host's keys, and with the persona's text."""
    without: tuple[dict[str, Any], str, tuple[str, ...]] = (gathered.context, "", ())
    context, persona, notes = call.guard.hook(
        "context", call.hook_arguments, lambda given: merge_host_context(gathered.context, given), without
    )
    call.report.note(*notes)
    persona = persona or call.guard("persona_text", lambda: _read_persona(call), "")
    persona = "\n".join(clean(persona).splitlines())
    asker = gathered.names.asker(call.message) if has_name(call.message) else "the user"
    return replace(gathered, context=context, persona=personas.fill_names(persona, gathered.names.persona, asker))


def _read_persona(call: PromptCall) -> str:
    return personas.read_text(personas.find_file(call.settings, call.scope.persona))


def _shown_elsewhere(call: PromptCall, lines: StoredLines, sections: Mapping[str, Built]) -> ShownElsewhere:
    """Return what wishes, saved memories and the diary show."""
    listed = [built for key in ("standing_wishes", "saved_memories") if (built := sections.get(key))]
    texts = [text for built in listed for text in built.value or ()]
    return ShownElsewhere(
        frozenset(int(each) for built in listed for each in built.ids),
        shown_diary(call, lines.diary),
        frozenset(content_digest(said) for text in texts for said in (text, text.partition(": ")[2]) if said),
    )


def _name_speakers(hits: Sequence[Hit], recalled: Recalled, lists: HistoryLists) -> list[Hit]:
    """Return the hits with the names that the lines use, oldest first named first."""
    keys = {(one.hit["source"], one.hit["id"]): one.row.said_by_key for one in recalled.chosen}
    named: list[Hit] = []
    for hit in reversed(hits):
        speaker = hit.get("speaker", "")
        key = keys.get((hit["source"], hit["id"]), "")
        named.append({**hit, "speaker": lists.names.participant(key, speaker)} if speaker else hit)
    return named[::-1]


# The JSON prompt


def _ask_actions(call: PromptCall) -> tuple[Any, bool]:
    """Return what the hook `actions` gave, and whether it failed before it gave anything."""
    answers = []

    def read(given: Any) -> Any:
        answers.append(True)
        return _copy_actions(given)

    failures = len(call.report.errors)
    actions = call.guard.hook("actions", {"interface_name": call.message.interface}, read, None)
    return actions, not answers and len(call.report.errors) > failures


def _copy_actions(given: Any) -> Any:
    """Return what the hook `actions` gave in plain dicts, made while it is guarded: its mappings may be of any kind."""
    if not isinstance(given, Mapping):
        return given
    return {name: dict(each) if isinstance(each, Mapping) else each for name, each in given.items()}


def _assemble(
    request: PromptRequest, call: PromptCall, gathered: Gathered, actions: Any, expects_actions: bool
) -> dict[str, Any]:
    s = call.settings
    context = {key: _mark(value) if key in MARKED else value for key, value in gathered.context.items()}
    contents = Contents(
        message=call.message,
        context=context,
        persona=gathered.persona,
        names=gathered.names,
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


def _mark(value: Any) -> Any:
    """Return a section without lines inside of its texts that could be taken for a speaker's."""
    if isinstance(value, str):
        return mark_lines(value)
    if isinstance(value, dict):
        return {name: _mark(each) for name, each in value.items()}
    return [_mark(each) for each in value] if isinstance(value, list) else value


def _limit(call: PromptCall, space: Space) -> Space:
    """Return the limits of the prompt; where the caller says nothing, hook, else flag."""
    if space.limit_chars is not None:
        return space
    nothing: tuple[int | None, str | None] = (None, None)
    limit, note = call.guard.hook("engine_limit", {}, read_engine_limit, nothing)
    if note:
        call.report.note(note)
    return Space(limit or call.settings.max_prompt_chars or None, space.limit_tokens, space.counter)


def _fit(call: PromptCall, prompt: dict[str, Any], space: Space, gathered: Gathered) -> Fitted:
    """Return the prompt within its limits; a counter that fails counts for nothing."""
    known: dict[str, Any] = {"rank": gathered.rank, "ids": gathered.ids, "words": gathered.words}
    fitted = call.guard("counter", lambda: fit(prompt, space, **known), None)
    return fitted or fit(prompt, Space(space.limit_chars, None, None), **known)


def _refuse(fitted: Fitted, space: Space) -> None:
    """Raise what says that the parts that are never cut are too large."""
    in_tokens = fitted.unit == "tokens"
    size, most = (sum(fitted.parts.values()), space.limit_tokens) if in_tokens else (fitted.size, space.limit_chars)
    raise PromptTooLargeError(size, most or 0, fitted.parts, unit=fitted.unit)


def _note_shown(call: PromptCall, recalled: Recalled, shown: Sequence[Any]) -> None:
    """Keep which memories are in the prompt: what repeats them is not stored as something new."""
    if call.db is None:
        return
    kept = {(hit.get("source"), hit.get("id")) for hit in shown}
    texts = {one.row.digest for one in recalled.chosen if (one.hit["source"], one.hit["id"]) in kept and one.row.digest}
    said = content_digest(call.message.text)
    shown_texts.note_turn(call.db, call.scope, (text for text in texts if text != said))


# Messages


def _gather_material(call: PromptCall, gathered: Gathered) -> Material:
    """Return what messages are made of."""
    note, s, message = call.report.note, call.settings, call.message
    actions, expects_actions = _ask_actions(call)
    lite = bool(s.prompt_lite_mode)
    shaped = make_strict(shape_actions(actions, lite, note))[0]
    template = MESSAGES[choose_answer_format(s.answer_format, shaped or expects_actions)]
    line = write_line(Renderer(s.templates_dir, note), template, message.interface, lite=lite)
    asker, persona = gathered.names.asker(message), gathered.names.persona
    system = write_opening(gathered.persona, line, persona, asker if has_name(message) else "the user")
    zone = times.zone(s.timezone) or UTC
    return Material(
        gathered.context,
        message.text_with_attachments(),
        asker,
        persona,
        [*system, to_json({"actions": shaped})] if shaped else system,
        zone,
        _say_time(call, zone) if s.include_local_time_in_prompts else "",
        {place: at for at, place in enumerate(gathered.rank)},
        gathered.words,
        _say_reply(message),
    )


def _say_reply(message: IncomingMessage) -> str:
    replied = describe_reply(message.raw)
    return reply_note(replied.get("from", ""), replied.get("text", "")) if replied else ""


def _say_time(call: PromptCall, zone: tzinfo) -> str:
    weekday = times.local_time(call.message.date, call.settings.timezone)[0]["weekday"]
    return f"It is {weekday}, {stamp(call.message.date, zone)[1:-1]}."
