"""The history of a prompt: which stored lines are read, whose live lines may be seen, and the context made of both.

Called by the pipeline, and by `HistoryEngine` where somebody wants the context alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, timedelta, tzinfo
from typing import Any

from .. import hooks
from ..access.rules import plain_key
from ..access.table_rooms import resolve_scope
from ..access.view import Recent, Viewer
from ..calls import defaults
from ..config import Settings
from ..context import context as context_rules
from ..context import table as context_table
from ..context.context import read_hits
from ..context.diary_lines import diary_lines, thought_lines
from ..context.history import CURRENT, RECENT, HistoryLists, HistoryOptions, Replaced, build_lists
from ..context.incoming import read_message
from ..context.live import read_context_memory
from ..context.live import read_message as read_live
from ..context.section_base import Asked
from ..context.table import Brought, HistoryWanted
from ..database.engine import Database
from ..database.row_shapes import Branch
from ..messages import table_reading
from ..scope import Scope
from ..shapes import DiaryEntry, HistoryEntry, Hit, IncomingMessage, LeftOut
from ..text.times import zone as find_zone
from . import access
from .access import count_recent, held_private, may_see
from .call import PromptCall, VisibleContext, put_under_key
from .report import Guard, Report
from .sections import BuiltSections, build_sections, plan_sections

MARGIN = 6
"""Rows read beyond the wanted lines, for those that turn out to be blank, hidden, echoes or copies of live ones."""
REPLACED_ROWS = 40
"""Least rows read of a conversation in which a message is replaced, shown or not: its answers are known by them."""
DEEPER, ROUNDS = 4, 6
"""How many times as much a further reading asks for, and most further readings of one call."""


class HistoryEngine:
    """Builds the context of a prompt."""

    def build_context(
        self,
        message: Any,
        context_memory: Any = None,
        interface_name: str | None = None,
        text: str = "",
        memories: Iterable[Hit] | None = None,
        *,
        db: Database | None = None,
        settings: Settings | Mapping[str, Any] | None = None,
        scope: Scope | None = None,
    ) -> dict[str, Any]:
        """Return the `context` of a prompt, its keys in the order of `context.context.CONTEXT_KEYS`.

        Args:
            message: the host's message, an object or a dict.
            context_memory: chat map, metadata dict or both.
            interface_name: surface of the message; None takes it from the conversation key.
            text: the message's text, for hooks.
            memories: hits, of which as many are shown as MEMORY_ITEMS allows; None for none.

        Returns:
            `history_current_chat`, `history_recent`, `thoughts` and what else there is. A source that cannot be read
            gives an empty section and one warning.

        Raises:
            MessageError: the message cannot be used.

        Example:
            >>> from prompt_engine import open_database
            >>> db = open_database("sqlite://")
            >>> message = {"message_id": 2, "date": "2026-03-10T12:00:00Z", "text": "Tea?", "interface_path": "web/7"}
            >>> said = {"text": "Hello.", "sender_name": "Ann", "timestamp": "2026-03-10T11:59:00Z"}
            >>> HistoryEngine().build_context(message, {"web/7": [said]}, db=db)["history_current_chat"]
            ['[2026-03-10 11:59] Ann: "Hello."']
            >>> db.close()
        """
        known = settings if isinstance(settings, Settings) else defaults.settings_for(settings)
        clock = defaults.clock(db)
        read = (
            message
            if isinstance(message, IncomingMessage)
            else read_message(message, context_memory=context_memory, interface_name=interface_name, now=clock())
        )
        guard = Guard(Report())
        where = defaults.scope_of(read, scope, known)
        arguments = {
            "message": message,
            "context_memory": context_memory,
            "interface_name": interface_name,
            "text": text,
        }
        destination = where.destination or known.prompt_destination
        handle = guard.open(db)
        where = resolve_scope(handle, where)
        read, live = put_under_key(read, read_context_memory(context_memory), where.conversation)
        call = PromptCall(read, live, arguments, known, where, destination, handle, guard)
        return _read_and_compose(call, read_hits(memories)[0])


def _read_and_compose(call: PromptCall, memories: Sequence[Hit]) -> dict[str, Any]:
    """Read what the context needs when no prompt has read it before, and compose it."""
    held = held_private(call.db, call.scope.persona)
    seen = access.ask(call, call.db, access.request_for_lines(call)) if call.db is not None else None
    seeing = (
        VisibleContext(held_private=held)
        if seen is None
        else VisibleContext(seen.viewer, seen.recent, held_private=held)
    )
    lines, sections, brought = StoredLines(), None, Brought()
    if seen is not None and call.db is not None:
        wanted = plan_lines(call, seeing)
        sections = Asked(call.settings, seen.viewer, call.message, call.db.clock())
        brought = read_stored(call, seen.viewer, wanted, plan_sections(call.guard, sections))
        lines = StoredLines(brought.current, brought.recent, brought.diary, wanted)
    lists = fill_lists(call, seeing, lines, build_history(call, seeing, lines))
    built = BuiltSections() if sections is None else build_sections(call.guard, sections, brought.sections, lists)
    return compose(call, ContextParts(lists, lines, built, memories)).context


def zone_of(settings: Settings) -> tzinfo:
    """Return the zone times are shown in."""
    return find_zone(settings.timezone) or UTC


def _options(call: PromptCall, replaced: Replaced | None) -> HistoryOptions:
    """Return how lines are chosen and look."""
    return HistoryOptions(
        now=call.message.date,
        zone=zone_of(call.settings),
        replaced=replaced,
        replaced_rows=call.replaced_rows,
        persona=call.scope.persona,
    )


def build_history(call: PromptCall, seeing: VisibleContext, lines: StoredLines) -> HistoryLists:
    """Return the two history lists and the account of every line found."""
    return build_lists(
        message=call.message,
        live=call.live,
        stored_current=lines.current,
        stored_recent=lines.recent,
        settings=call.settings,
        caps=call.caps,
        options=_options(call, lines.replacing),
        may_see=may_see(call, seeing),
    )


def fill_lists(call: PromptCall, seeing: VisibleContext, lines: StoredLines, lists: HistoryLists) -> HistoryLists:
    """Return the lists, with older rows read as long as they are needed to fill them."""
    for _ in range(ROUNDS):
        if call.db is None or seeing.viewer is None or call.is_down:
            break
        further = read_further(call, call.db, seeing, lines, lists)
        if further is None:
            break
        lines = further
        lists = build_history(call, seeing, lines)
    return replace(lists, whole=_shown_whole(call, lines, lists))


def _shown_whole(call: PromptCall, lines: StoredLines, lists: HistoryLists) -> frozenset[str]:
    """Return the conversations of which every stored message was read and none is over the limit of its list."""
    over = {item.section for item in lists.left_out if item.reason == "limit"}
    asked, whole = lines.wanted, set()
    if CURRENT not in over and len(lines.current) < asked.current and call.message.interface_path is not None:
        whole.add(call.message.interface_path)
    if RECENT not in over and len(lines.recent) < asked.recent_most:
        counts = Counter(entry.conversation for entry in lines.recent)
        whole |= {key for key, count in counts.items() if count < asked.recent_rows}
    return frozenset(whole)


@dataclass(frozen=True, slots=True)
class Composed:
    """A context and the account of its sections."""

    context: dict[str, Any]
    left_out: tuple[LeftOut, ...]
    ids: dict[str, list[str]]
    """Section to the ids of its items, in order, for the account of what reduction cuts."""


@dataclass(frozen=True, slots=True)
class ContextParts:
    """What a context is composed of."""

    lists: HistoryLists
    lines: StoredLines
    sections: BuiltSections
    memories: Sequence[Hit]
    """Of these as many are shown as `Caps` says."""


def shown_diary(call: PromptCall, lines: StoredLines) -> frozenset[int]:
    """Return the ids of the diary entries that the prompt shows as lines."""
    s = call.settings
    if not (s.enable_ai_diary and s.ai_diary_full):
        return frozenset()
    lost = {item.id for item in diary_lines(lines.diary, s.diary_chars, zone_of(s))[1]}
    return frozenset(entry.id for entry in lines.diary if str(entry.id) not in lost)


def compose(call: PromptCall, parts_given: ContextParts) -> Composed:
    """Return the context from lists, diary, sections and memories."""
    s, caps, tz, lists = call.settings, call.caps, zone_of(call.settings), parts_given.lists
    parts: dict[str, Any] = {"history_current_chat": lists.current, "history_recent": lists.recent}
    left_out = list(lists.left_out)
    entries = parts_given.lines.diary if s.enable_ai_diary else []
    thoughts: list[str] = []
    diary: list[str] = []
    if s.enable_ai_diary and s.ai_diary_full:
        diary, lost = diary_lines(entries, s.diary_chars, tz)
        left_out += lost
    if s.enable_thoughts and not call.skips_history:
        thoughts, lost = thought_lines(entries, caps.thoughts, tz, shown=diary)
        left_out += lost
    parts["thoughts"] = thoughts
    kept, beyond = list(parts_given.memories[: caps.memories]), parts_given.memories[caps.memories :]
    left_out += [LeftOut("memories", "limit", f"{h['source']}/{h['id']}") for h in beyond]
    if s.enable_memories:
        parts["memories"] = kept
    if s.enable_tags_placeholder and not s.prompt_lite_mode:
        parts["tags_placeholder"] = []
    if s.enable_ai_diary and s.ai_diary_full:
        parts["ai_diary"] = diary
    parts |= parts_given.sections.values
    left_out += parts_given.sections.left_out
    ids = {"memories": [f"{h['source']}/{h['id']}" for h in kept], **parts_given.sections.ids}
    return Composed(context_rules.order_context(parts), tuple(left_out), ids)


# The stored lines


@dataclass(frozen=True, slots=True)
class StoredLines:
    """The stored lines a context is made of."""

    current: Sequence[HistoryEntry] = ()
    """Newest first, as read."""
    recent: Sequence[HistoryEntry] = ()
    diary: Sequence[DiaryEntry] = ()
    wanted: HistoryWanted = field(default_factory=HistoryWanted)
    """What was asked for to get them."""
    replacing: Replaced | None = None
    """The message that the call's message takes the place of."""
    replaced: frozenset[str] = frozenset()
    """Lists whose stored lines the hook `history` gave; nothing further is read for them."""


def plan_lines(call: PromptCall, visible: VisibleContext) -> HistoryWanted:
    """Return which stored lines the context needs."""
    s, caps = call.settings, call.caps
    rows = caps.history + MARGIN
    current = rows if s.enable_history_current_chat and caps.history else 0
    if call.replacing is not None:
        current = max(current, REPLACED_ROWS)
    since = call.message.date - timedelta(days=s.diary_history_days)
    return HistoryWanted(
        conversation=call.message.interface_path,
        current=current,
        recent=tuple(_open_chats(visible)[: min(caps.recent, count_recent(call))]),
        recent_rows=caps.recent + 2,
        recent_most=2 * caps.recent + MARGIN,
        diary_since=since if call.reads_diary and s.diary_history_days else None,
    )


def read_stored(call: PromptCall, viewer: Viewer, lines: HistoryWanted, parts: Sequence[Branch] = ()) -> Brought:
    """Read lines and sections; each on its own where all together fail."""
    db, guard, nothing = call.db, call.guard, HistoryWanted()
    assert db is not None

    def read(source: str, lines: HistoryWanted, parts: Sequence[Branch]) -> Brought | None:
        return guard(source, lambda: context_table.read(db, viewer, lines, parts), None)

    whole = read("lines and sections", lines, parts)
    if whole is not None:
        return whole
    if guard.down:
        guard.lose_stored()
        return Brought()
    chat = read("chat_history_cache", replace(lines, diary_since=None), ()) or Brought()
    diary = read("ai_diary", replace(nothing, diary_since=lines.diary_since), ()) or Brought()
    sections: dict[int, Any] = {}
    for part in parts:
        brought = read(part.source, nothing, (part,))
        sections |= brought.sections if brought is not None else {}
    return Brought(chat.current, chat.recent, diary.diary, sections)


def read_further(
    call: PromptCall, db: Database, visible: VisibleContext, lines: StoredLines, lists: HistoryLists
) -> StoredLines | None:
    """Return the lines with older ones, None where the lists are full or there is nothing more."""
    wanted = _further(visible, lines, lists)
    viewer = visible.viewer
    if wanted is None or viewer is None:
        return None
    more = call.guard("chat_history_cache", lambda: context_table.read(db, viewer, wanted), None)
    if more is None:
        return None
    asked = replace(
        lines.wanted,
        current=wanted.current or lines.wanted.current,
        recent=wanted.recent or lines.wanted.recent,
        recent_rows=wanted.recent_rows,
        recent_most=wanted.recent_most,
    )
    return replace(
        lines,
        current=more.current if wanted.current else lines.current,
        recent=more.recent if wanted.recent else lines.recent,
        wanted=asked,
    )


def _further(visible: VisibleContext, lines: StoredLines, lists: HistoryLists) -> HistoryWanted | None:
    """Return the larger reading that may fill the lists, None when they are full or there is nothing more."""
    asked, full = lines.wanted, lists.full | lines.replaced
    current = asked.current if CURRENT not in full and 0 < asked.current <= len(lines.current) else 0
    current = 0 if _ends_hidden(lines.current) else current
    recent, rows, most, chats = asked.recent, asked.recent_rows, asked.recent_most, _open_chats(visible)
    if RECENT in full or not recent:
        recent = ()
    elif len(lines.recent) >= most or _is_cut(lines.recent, rows):
        rows, most = rows * DEEPER, most * DEEPER
    elif len(recent) < len(chats):
        recent = tuple(chats[: len(recent) * DEEPER])
    else:
        recent = ()
    if not current and not recent:
        return None
    return replace(asked, current=current * DEEPER, recent=recent, recent_rows=rows, recent_most=most, diary_since=None)


def _open_chats(visible: VisibleContext) -> list[Recent]:
    viewer = visible.viewer
    return [c for c in visible.chats if viewer is not None and (viewer.sees_local_only or not c.local_only)]


def _is_cut(entries: Sequence[HistoryEntry], rows: int) -> bool:
    """Return whether some conversation may have more than the `rows` lines read of it."""
    chats: dict[str, list[HistoryEntry]] = {}
    for entry in entries:
        chats.setdefault(entry.conversation, []).append(entry)
    return any(len(each) >= rows and not _ends_hidden(each) for each in chats.values())


def _ends_hidden(entries: Sequence[HistoryEntry]) -> bool:
    """Return whether the oldest rows read are all hidden: a story hides everything before its last scenes."""
    return len(entries) >= MARGIN and all(entry.hidden for entry in entries[-MARGIN:])


# What the message takes the place of


def find_replaced(call: PromptCall, lines: StoredLines) -> StoredLines:
    """Return the lines with the place of the message that is replaced, None where none is."""
    path, message_id, db = call.message.interface_path, call.replacing, call.db
    if path is None or message_id is None:
        return lines
    found = Replaced(path, message_id)
    for entry in (*lines.current, *call.live.chats.get(path, ())):
        if entry.message_id == message_id:
            live = entry.order if entry.row_id is None else found.order
            found = replace(found, time=found.time or entry.time, row_id=found.row_id or entry.row_id, order=live)
    if found.time is None and db is not None and not call.is_down:
        stored = call.guard(
            "chat_history_cache",
            lambda: table_reading.find_time(db, call.scope.persona, path, message_id),
            None,
        )
        found = found if stored is None else replace(found, time=stored[1], row_id=stored[0])
    if found.time is None and found.order is None:
        said = "replacing: this conversation has no message of that id (message_id, not the row's); nothing is left out"
        call.report.note(said)
    return replace(lines, replacing=found)


# What a host's own history gives


def ask_history_hook(call: PromptCall, lines: StoredLines) -> StoredLines:
    """Return the lines with those of the hook `history` in place of the database's, where it is set."""
    function, path = hooks.get_hook("history"), call.message.interface_path
    if function is None:
        return lines
    arguments = {"interface_path": path and plain_key(path), "limit": call.caps.history + 2 * call.caps.recent + MARGIN}
    none: list[HistoryEntry] = []
    given = call.guard("history", lambda: _entries(call.ask_hook(function, arguments), path or ""), none)
    return replace(
        lines,
        current=[entry for entry in given if entry.conversation == path],
        recent=[entry for entry in given if entry.conversation != path],
        replaced=frozenset({CURRENT, RECENT}),
    )


def _entries(rows: Any, path: str) -> list[HistoryEntry]:
    made = []
    for order, row in enumerate(rows if isinstance(rows, (list, tuple)) else ()):
        key = str(row.get("interface_path", path) if isinstance(row, Mapping) else path)
        entry = read_live(row, path if key == plain_key(path) else key, order)
        if entry is not None:
            made.append(entry)
    return made[::-1]
