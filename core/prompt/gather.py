"""From a call to everything its prompt is made of: a stage takes values and gives values, and what fails gives none.

load_visible    who sees what; the words and tags of the message                access.py
start_search    the index: which rows fit best, and these rows                  search.py
read_stored     lines of the history, diary, rows of the sections               history.py
build_history   the lines that are shown                                        history.py
SECTIONS        what each noun shows                                            <noun>/section.py
finish_search   the best rows that are shown nowhere else                       search.py
compose         the context, with the host's keys                               history.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .. import personas
from ..calls.call import Call
from ..context.context import OWN_KEYS, is_empty, order_context
from ..context.history import HistoryLists
from ..context.lines import NameLabels, has_name
from ..context.section_base import Asked, Built, Section, StoredRows
from ..context.table import StoredLines
from ..conversations import section_recent as section_conversations
from ..conversations import section_saved
from ..database.engine import Database
from ..database.row_shapes import Branch
from ..memories import section_instructions
from ..memories.rules_modes import MODES
from ..relationships import section as section_relationship
from ..shapes import Hit
from ..short_term import section as section_short_term
from ..stories import section_recaps, section_running
from ..text.folding import clean
from ..text.host_values import as_text
from . import access, search
from .call import MOST_ASKED_CHARS, PromptCall, VisibleContext
from .history import DiaryLines, ask_history_hook, build_history, compose, read_stored, show_diary
from .search import Recalled

SECTIONS: tuple[Section, ...] = (
    section_short_term,
    section_conversations,
    section_instructions,
    section_saved,
    section_relationship,
    section_recaps,
    section_running,
)
"""Every section of the package, in the order of `context.context.CONTEXT_KEYS`."""
DROPPED_KEYS = frozenset({"latest_diary_entries", "diary_entries", "diary", "chat_history", "current_chat_history"})
"""Keys of the hook `context` that would repeat what the prompt holds in its own sections."""
PERSONA_KEY = "persona"
_SHOWN_CHARS = 64


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


def gather(call: PromptCall) -> Gathered:
    """Search, read and build the context of a call, with the host's keys and the persona's text."""
    chars = len(call.message.text)
    if chars > MOST_ASKED_CHARS:
        call.report.note(f"text has {chars} characters; {MOST_ASKED_CHARS} of them are searched for")
    _save_asked(call)
    with call.one_connection():
        return _add_host_context(call, build_context(call))


def _save_asked(call: PromptCall) -> None:
    """Save what the message itself asks to remember, in mode plus, before it is answered."""
    db = call.db
    if not isinstance(db, Database) or MODES[call.settings.memory_mode].how != "before":
        return
    from ..conversations import memory_tool  # noqa: PLC0415 - loads all that saves, which mode plus alone needs

    own, text, message_id = Call(db, call.settings, call.scope), call.message.text, call.message.message_id or None
    account = call.guard("memories", lambda: memory_tool.save_before_generation(own, text, message_id), None)
    if account is not None:
        call.report.search[memory_tool.REPORT_KEY] = account


def build_context(call: PromptCall, memories: Sequence[Hit] | None = None) -> Gathered:
    """Run the stages from the access to the context; `memories` take the place of those that are searched for."""
    guard, report = call.guard, call.report
    seeing = guard("database", lambda: access.load_visible(call), VisibleContext())
    report.search |= {"tags": list(seeing.named_tags), "words": list(seeing.keywords)}
    # what is stored
    started = search.start_search(call, seeing) if memories is None else None
    lines, asked = StoredLines(), None
    if call.db is not None and seeing.viewer is not None and not call.is_down:
        asked = Asked(call.settings, seeing.viewer, call.message, call.db.clock(), seeing.words)
        parts = [*_plan_sections(call, asked), *(search.plan_cross_channel(call, seeing) if memories is None else ())]
        lines = read_stored(call, seeing, parts)
    lines = ask_history_hook(call, lines)
    # the lists, then the memories that are not in them
    lists = guard("history", lambda: build_history(call, seeing, lines), HistoryLists())
    lists.names.asker(call.message)  # is named before the people of sections and memories
    sections = {} if asked is None else _build_sections(call, asked, lines.sections, lists)
    diary = guard("ai_diary", lambda: show_diary(call, lines.diary), DiaryLines())
    if started is not None:
        recalled = search.finish_search(call, started, lists, diary.ids, sections)
    else:
        recalled = search.ask_search_hook(call, seeing, lists) if memories is None else Recalled(memories)
    hits = guard(
        "cross_channel",
        lambda: search.add_cross_channel(call, seeing, lines.sections, lists, recalled),
        recalled.hits,
    )
    hits = _name_speakers(hits, recalled, lists)
    report.note(*lists.notes, *(note for built in sections.values() for note in built.notes))
    nothing: tuple[dict[str, Any], dict[str, list[str]]] = (order_context({}), {})
    context, ids = guard("history_engine", lambda: compose(call, lists, diary, sections, hits), nothing)
    return Gathered(context, "", recalled, lists.names, ids, seeing.words)


def _plan_sections(call: PromptCall, asked: Asked) -> list[Branch]:
    """Return what the sections of this call read."""
    none: Sequence[Branch] = ()
    wanted = [call.guard(s.KEY, lambda s=s: s.wanted(asked), none) for s in SECTIONS]  # type: ignore[misc]
    return [branch for branches in wanted for branch in branches]


def _build_sections(call: PromptCall, asked: Asked, rows: StoredRows, lists: HistoryLists) -> dict[str, Built]:
    return {
        s.KEY: call.guard(s.KEY, lambda s=s: s.build(asked, rows, lists), Built())  # type: ignore[misc]
        for s in SECTIONS
    }


def _name_speakers(hits: Sequence[Hit], recalled: Recalled, lists: HistoryLists) -> list[Hit]:
    """Return the hits with the names that the lines use, oldest first named first."""
    keys = {(one.hit["source"], one.hit["id"]): one.row.said_by_key for one in recalled.chosen}
    named: list[Hit] = []
    for hit in reversed(hits):
        speaker = hit.get("speaker", "")
        key = keys.get((hit["source"], hit["id"]), "")
        named.append({**hit, "speaker": lists.names.participant(key, speaker)} if speaker else hit)
    return named[::-1]


# What the hook `context` adds


def _add_host_context(call: PromptCall, gathered: Gathered) -> Gathered:
    """Return what was gathered with the host's keys, and with the persona's text."""
    given = call.request
    arguments = {
        "message": given.message,
        "context_memory": given.context_memory,
        "interface_name": given.interface_name,
        "text": call.message.text,
    }
    without: tuple[dict[str, Any], str, tuple[str, ...]] = (gathered.context, "", ())
    context, persona, notes = call.guard.hook(
        "context", arguments, lambda answer: merge_host_context(gathered.context, answer), without
    )
    call.report.note(*notes)
    persona = persona or call.guard(
        "persona_text", lambda: personas.read_text(personas.find_file(call.settings, call.scope.persona)), ""
    )
    persona = "\n".join(clean(persona).splitlines())
    asker = gathered.names.asker(call.message) if has_name(call.message) else "the user"
    return replace(gathered, context=context, persona=personas.fill_names(persona, gathered.names.persona, asker))


def merge_host_context(context: Mapping[str, Any], given: Any) -> tuple[dict[str, Any], str, tuple[str, ...]]:
    """Return `(context, persona text, notes)`: the context with the host's keys after its own."""
    merged, persona, notes = dict(context), "", []
    if given is not None and not isinstance(given, Mapping):
        notes.append(f"hook context: {type(given).__name__} is no dict and is left out")
    for key, value in given.items() if isinstance(given, Mapping) else ():
        name = repr(clean(key)[:_SHOWN_CHARS]) if isinstance(key, str) else "a key that is no text"
        shown = f"hook context: {name}"
        if key == PERSONA_KEY:
            text, note = as_text(value)
            persona = text or ""
            notes += [f"{shown} {note}"] if note else []
        elif key in DROPPED_KEYS:
            notes.append(f"{shown} repeats a section of the prompt and is left out")
        elif key in OWN_KEYS:
            notes.append(f"{shown} has the name of a section and is left out")
        elif key in merged:
            notes.append(f"{shown} is there already and is left out")
        elif not is_empty(value):
            merged[key] = value
    return merged, persona, tuple(notes)
