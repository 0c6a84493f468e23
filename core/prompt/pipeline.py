"""One message to one prompt, stage by stage; a stage that fails gives empty values.

open_call       the message, settings, scope, database                          call.py
load_visible    who sees what; the words and tags of the message                access.py
start_search    the first round of the search: the best rows, read              search.py
read_stored     lines of the history, diary, rows of the sections               history.py
build_history   the lines that are shown                                        history.py
SECTIONS        the other parts of the context, one module each                 <noun>/section.py
finish_search   the best rows that are shown nowhere else                       search.py
compose         the context, with the host's keys                               history.py
assemble, fit   the JSON prompt within its limits                               structure.py, fit.py
MessageLines    or chat messages, or records for somebody else's request        message_lines.py
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from .. import personas
from ..base.hints import shown
from ..calls.call import Call
from ..context import section_diary, section_thoughts
from ..context.context import OWN_KEYS, is_empty, order_context
from ..context.history import HistoryLists
from ..context.incoming import describe_reply
from ..context.lines import name_asker, reply_note
from ..context.live import note_reply
from ..context.section_base import Asked, Built, Section
from ..context.table import StoredLines
from ..conversations import section_recent as section_conversations
from ..conversations import section_saved
from ..database import stored_values
from ..database.compiled import Branch
from ..database.engine import Database
from ..database.rows import read_object
from ..database.sources import AI_DIARY, BY_NAME, CHAT, MEMORIES
from ..errors import PromptTooLargeError
from ..memories import section_instructions, shown_texts
from ..memories.rules import MODES
from ..relationships import section as section_relationship
from ..search.query import MOST_ASKED_CHARS, fold_words
from ..shapes import Hit
from ..short_term import section as section_short_term
from ..stories import section_recaps, section_running
from ..text import times
from ..text.folding import clean
from ..text.hits import content_digest
from ..text.host_values import as_text
from ..text.languages import likely_languages
from ..text.question_words import asked_words, holds
from ..text.sizes import resolve_counter
from ..text.time import find_day_meant
from . import access, search
from .call import Gathered, PromptCall, Recalled, Report, Room, VisibleContext, open_call, with_asker_zone
from .fit import Fitted, Space, fit, read_limit_argument
from .history import ask_history_hook, build_history, compose, describe_replied, place_items, read_stored
from .message_lines import CHARS_OF_TOKEN, MessageLines
from .messages import Messages, check_dialect
from .request import PromptRequest
from .structure import ask_actions, assemble

SECTIONS: tuple[Section, ...] = (
    section_thoughts, section_diary, section_short_term, section_conversations, section_instructions, section_saved,
    section_relationship, section_recaps, section_running,
)  # fmt: skip
"""The modules of sections that read rows of their own, in the order of `context.context.CONTEXT_KEYS`."""
DROPPED_KEYS = frozenset({"latest_diary_entries", "diary_entries", "diary", "chat_history", "current_chat_history"})
"""Keys of the hook `context` that would repeat sections of the prompt."""
_ROWS_OF = dict.fromkeys((section_saved.KEY, section_instructions.KEY), MEMORIES)
_ROWS_OF |= dict.fromkeys((section_diary.KEY, section_thoughts.KEY), AI_DIARY)
"""Table from which the item ids of each section come."""
_SHOWN_CHARS = 64
LONGEST_RECORDS = 1_000_000


def build(request: PromptRequest) -> tuple[dict[str, Any], Report]:
    space, counter = _read_space(request)
    call = open_call(request)
    with _note_repairs(call):
        gathered = _gather(call)
        prompt = assemble(call, gathered, ask_actions(call))
        parts: dict[str, Any] = {"places": gathered.places, "ids": gathered.ids, "words": gathered.words}
        fitted = _fit(call, space, counter, lambda limits: fit(prompt, limits, **parts))
    _note_shown(call, gathered, fitted.memories)
    return fitted.prompt, call.report


def build_messages(request: PromptRequest, dialect: str) -> tuple[Messages | dict[str, Any], Report]:
    check_dialect(dialect)
    space, counter = _read_space(request)
    call = _for_lines(request)
    with _note_repairs(call):
        gathered = _gather(call)
        lines = MessageLines(call, gathered, ask_actions(call))
        fitted = _fit(call, space, counter, lambda limits: lines.write_messages(dialect, limits))
    if request.cite:
        call.report.citations = fitted.citations
        if isinstance(fitted.prompt, Messages):
            fitted.prompt.citations = call.report.citations
    _note_shown(call, gathered, fitted.memories)
    return fitted.prompt, call.report


def build_records(request: PromptRequest, held: Sequence[str] = ()) -> Fitted:
    """Return a message's prompt as plain lines, except lines that a text of the request itself (`held`) contains."""
    limit_chars = Space(request.max_chars).limit_chars
    call = _for_lines(request)
    gathered = _gather(call)
    lines = MessageLines(call, gathered, ask_actions(call), as_turns=False)
    records = lines.write_records(limit_chars or call.settings.max_prompt_chars or LONGEST_RECORDS, held)
    _note_shown(call, gathered, records.memories)
    return records


def _read_space(request: PromptRequest) -> tuple[Space, str | None]:
    """Return (limits of the request, name of the token counter or None)."""
    if request.counter is None and request.limit_tokens is None:
        return Space(request.max_chars), None
    given, name = resolve_counter(request.counter)
    count_tokens = Space(counter=given).count_tokens

    def count(text: str) -> int:
        try:
            return count_tokens(text)
        except Exception as error:
            raise CounterError(error) from error

    return Space(request.max_chars, request.limit_tokens, count), name


class CounterError(Exception):
    """The token counter raised the error in `args`."""


def _for_lines(request: PromptRequest) -> PromptCall:
    """Return the call for plain lines: as many memories as fit, and times in the asker's zone."""
    call = open_call(request)
    text, limit_chars = call.message.text, request.max_chars or call.settings.max_prompt_chars
    wants_list = holds(asked_words(text), "list", likely_languages(text, call.settings.languages))
    limits = [limit_chars, None if request.limit_tokens is None else request.limit_tokens * CHARS_OF_TOKEN]
    room = Room(min((limit for limit in limits if limit), default=0), wants_list)
    return replace(with_asker_zone(call), room=room)


@contextmanager
def _note_repairs(call: PromptCall) -> Iterator[None]:
    def count() -> tuple[int, int]:
        return stored_values.count_repairs(), call.db.count_repeats() if isinstance(call.db, Database) else 0

    before = count()
    yield
    repairs, repeats = (now - then for now, then in zip(count(), before, strict=True))
    if repairs:
        call.report.note(f"{repairs} stored values could not be read as they are; `prompt-engine db check` names them")
    if repeats:
        call.report.note(f"{repeats} statements were repeated on a new connection")


def _fit(call: PromptCall, space: Space, counter: str | None, write: Callable[[Space], Fitted]) -> Fitted:
    """Let `write` fit the prompt into the limits, and report it; if the token counter fails, without a token limit."""

    def read_engine_limit(value: object) -> int | None:
        try:
            return read_limit_argument("engine_limit", value)
        except ValueError:
            refusal = f"engine_limit gave {shown(value)}, which is no whole number of at least 1; it is not used"
            call.report.note(refusal)
            return None

    if space.limit_chars is None:  # the caller's value, else the hook's, else the setting's
        limit = call.guard.hook("engine_limit", {}, read_engine_limit, None)
        space = Space(limit or call.settings.max_prompt_chars or None, space.limit_tokens, space.counter)

    def write_and_report(limits: Space) -> Fitted:
        fitted = write(limits)
        call.report.add(fitted, limits, counter)
        return fitted

    try:
        fitted = write_and_report(space)
    except CounterError as failure:
        call.guard.fail("counter", *failure.args)
        fitted = write_and_report(Space(space.limit_chars))
    if fitted.broken is not None:
        size, limit = fitted.size, space.limit_chars
        if fitted.broken == "tokens":
            size, limit = sum(fitted.parts.values()), space.limit_tokens
        raise PromptTooLargeError(size, limit or 0, fitted.parts, unit=fitted.broken)
    return fitted


def _note_shown(call: PromptCall, gathered: Gathered, shown: Sequence[Any]) -> None:
    """Store which memories and rows this prompt showed, to be used when the answer is saved."""
    if call.db is None:
        return
    chosen = {(one.hit["source"], one.hit["id"]): one.row.digest for one in gathered.recalled.chosen}
    texts = {chosen.get((hit.get("source"), hit.get("id"))) for hit in shown}
    said = content_digest(call.message.text)
    rows = {f"{CHAT.number}/{row}" for row in gathered.lines}
    rows |= {f"{BY_NAME[hit['source']].number}/{hit['id']}" for hit in shown if hit.get("source") in BY_NAME}
    upcoming = (name.partition("/") for name in gathered.ids.get("upcoming", ()))
    rows |= {f"{BY_NAME[source].number}/{row}" for source, _, row in upcoming if source in BY_NAME}
    for section, source in _ROWS_OF.items():
        rows |= {f"{source.number}/{row}" for row in gathered.ids.get(section, ())}
    digests = [text for text in texts if text and text != said]
    shown_texts.note_turn(call.db, call.scope, digests, rows, call.message.date)


def _gather(call: PromptCall) -> Gathered:
    chars = len(call.message.text)
    if chars > MOST_ASKED_CHARS:
        call.report.note(f"text has {chars} characters; {MOST_ASKED_CHARS} of them are searched for")
    _save_asked(call)
    file = personas.find_file(call.settings, call.scope.persona)
    persona_text = call.guard("persona_text", lambda: personas.read_text(file), "")
    with call.one_connection():
        return _add_host_context(call, build_context(call, persona_text=persona_text), persona_text)


def _save_asked(call: PromptCall) -> None:
    """Save what the message asks to remember before it is answered, if MEMORY_MODE is plus."""
    db = call.db
    if not isinstance(db, Database) or call.is_down or MODES[call.settings.memory_mode].how != "before":
        return
    from ..conversations import memory_tool  # noqa: PLC0415 - loads all that saves, which mode plus alone needs

    own, text, message_id = Call(db, call.settings, call.scope), call.message.text, call.message.message_id or None
    account = call.guard("memories", lambda: memory_tool.save_before_generation(own, text, message_id), None)
    if account is not None:
        call.report.search[memory_tool.REPORT_KEY] = account


def build_context(call: PromptCall, memories: Sequence[Hit] | None = None, persona_text: str = "") -> Gathered:
    """Run the stages from `load_visible` to `compose`; given `memories` replace the search."""
    guard, report = call.guard, call.report
    seeing = guard("database", lambda: access.load_visible(call), VisibleContext())
    report.search |= {"tags": list(seeing.named_tags), "words": list(seeing.keywords)}
    # stored data
    lines, asked = StoredLines(), None
    if call.db is not None and seeing.viewer is not None and not call.is_down:
        skips = call.live.skips_history
        asked = Asked(call.settings, seeing.viewer, call.message, call.db.clock(), skips, seeing.words)
        none: Sequence[Branch] = ()
        wanted = [guard(section.KEY, partial(section.wanted, asked), none) for section in SECTIONS]
        lines = read_stored(call, seeing, [branch for branches in wanted for branch in branches])
    lines = ask_history_hook(call, lines)
    # the lists, then the memories that are not in them
    lists = guard("history", lambda: build_history(call, seeing, lines, persona_text), HistoryLists())
    started = search.start_search(call, seeing, lists, lines) if memories is None else None
    lists.names.label_asker(call.message)  # before the people of sections and memories
    sections: dict[str, Built] = {}
    if asked is not None:
        for section in SECTIONS:
            sections[section.KEY] = guard(section.KEY, partial(section.build, asked, lines.sections, lists), Built())
    drop = search.build_dropper(call, lists, sections, started)
    if started is not None:
        recalled = search.finish_search(call, started, drop)
    else:
        recalled = search.ask_search_hook(call, seeing, lists, drop) if memories is None else Recalled(memories)
    hits = _finish_hits(call, recalled, lists)
    sections["memory_gap"] = Built(recalled.gap)
    if seeing.index is not None and call.settings.enable_upcoming and not call.is_down:
        from .upcoming import build_upcoming  # noqa: PLC0415 - loads numpy, which only a search needs

        sections["upcoming"] = guard("upcoming", lambda: build_upcoming(call, seeing, lists, recalled, drop), Built())
        hits = [hit for hit in hits if f"{hit['source']}/{hit['id']}" not in sections["upcoming"].ids]
    report.note(*(note for built in sections.values() for note in built.notes))
    nothing: tuple[dict[str, Any], dict[str, list[str]]] = (order_context({}), {})
    context, ids = guard("history_engine", lambda: compose(call, lists, sections, hits), nothing)
    rows = [entry.row_id for entry in lists.visible if entry.row_id is not None]
    reply = guard("history", lambda: describe_replied(call, lists.names), describe_reply(call.message.raw))
    places = place_items(recalled.best, lists, ids.get(section_saved.KEY, ()))
    titles = {each.key: each.title for each in seeing.chats}
    return Gathered(context, "", recalled, lists.names, ids, fold_words(seeing.words), rows, reply, titles, places)


def _finish_hits(call: PromptCall, recalled: Recalled, lists: HistoryLists) -> list[Hit]:
    """Return the hits with speakers and replies as in the history, and with the dates of words such as `tomorrow`."""
    chosen = {(one.hit["source"], one.hit["id"]): one for one in recalled.chosen}
    zone, finished, labels = with_asker_zone(call).zone, list[Hit](), dict[tuple[str, str], str]()
    today, languages = call.message.date.astimezone(zone).date(), call.settings.languages
    for hit in reversed(recalled.hits):  # names are given from the oldest hit on
        one, more = chosen.get((hit["source"], hit["id"])), dict[str, str]()
        if speaker := hit.get("speaker", ""):
            who = "" if one is None else one.row.said_by_key, speaker
            more["speaker"] = labels.get(who) or labels.setdefault(who, lists.names.label_participant(*who))
        said_at = times.parse_time(hit["timestamp"]) if call.settings.include_local_time_in_prompts else None
        # A word such as `tomorrow` needs a date if it was said on another day.
        if said_at is not None and said_at.astimezone(zone).date() != today:
            day = find_day_meant(hit["snippet"], said_at, zone, languages)
            more |= {"snippet": f"{hit['snippet']} ({day})"} if day else {}
        if one is not None and one.row.reply and (reply := note_reply(read_object(one.row.reply))):
            more["reply"] = reply_note(lists.names.label_reply(reply, one.row.conversation), reply.text)
        finished.append({**hit, **more} if more else hit)  # type: ignore[typeddict-item]
    return finished[::-1]


def _add_host_context(call: PromptCall, gathered: Gathered, persona_text: str) -> Gathered:
    given = call.request
    arguments = {"message": given.message, "context_memory": given.context_memory, "text": call.message.text}
    arguments |= {"interface_name": given.interface_name}
    without: tuple[dict[str, Any], str, tuple[str, ...]] = (gathered.context, "", ())
    merge = partial(merge_host_context, gathered.context)
    context, persona, notes = call.guard.hook("context", arguments, merge, without)
    call.report.note(*notes)
    persona = "\n".join(clean(persona or persona_text).splitlines())
    persona = personas.fill_names(persona, gathered.names.persona, name_asker(call.message))
    opening = "\n\n".join(filter(None, (*call.message.opening, persona)))
    return replace(gathered, context=context, persona=opening)


def merge_host_context(context: Mapping[str, Any], given: Any) -> tuple[dict[str, Any], str, tuple[str, ...]]:
    """Return `(context, persona text, notes)`; the host's keys come after the package's."""
    merged, persona, notes = dict(context), "", []
    if given is not None and not isinstance(given, Mapping):
        notes.append(f"hook context: {type(given).__name__} is no dict and is left out")
    for key, value in given.items() if isinstance(given, Mapping) else ():
        name = repr(clean(key)[:_SHOWN_CHARS]) if isinstance(key, str) else "a key that is no text"
        shown = f"hook context: {name}"
        if key == "persona":
            text, note = as_text(value)
            persona = text or ""
            notes += [f"{shown} {note}"] if note else []
        elif key in DROPPED_KEYS:
            notes.append(f"{shown} repeats a section of the prompt and is left out")
        elif key in OWN_KEYS:
            notes.append(f"{shown} has the name of a section and is left out")
        elif not is_empty(value):
            merged[key] = value
    return merged, persona, tuple(notes)
