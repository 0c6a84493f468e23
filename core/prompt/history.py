"""The history of a prompt: which stored lines are read, and the context made of them and of live ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from .. import hooks
from ..access.rules import plain_key
from ..access.view import Recent, Viewer
from ..context import context as context_rules
from ..context import table as context_table
from ..context.diary_lines import diary_lines, thought_lines
from ..context.history import CURRENT, RECENT, HistoryLists, HistoryOptions, Replaced, build_lists
from ..context.live import read_line
from ..context.section_base import Built
from ..context.table import Brought, HistoryWanted
from ..database.engine import Database
from ..database.row_shapes import Branch
from ..messages import table_reading
from ..shapes import DiaryEntry, HistoryEntry, Hit, LeftOut
from .access import count_recent, may_see
from .call import PromptCall, VisibleContext

MARGIN = 6
"""Rows read beyond the wanted lines, for those that turn out to be blank, hidden, echoes or copies of live ones."""
REPLACED_ROWS = 40
"""Least rows read of a conversation in which a message is replaced, shown or not: its answers are known by them."""
DEEPER, ROUNDS = 4, 6
"""How many times as much a further reading asks for, and most further readings of one call."""


def _options(call: PromptCall, replaced: Replaced | None) -> HistoryOptions:
    """Return how lines are chosen and look."""
    return HistoryOptions(
        now=call.message.date,
        zone=call.zone,
        replaced=replaced,
        replaced_rows=call.request.replaced_rows,
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


def shown_diary(call: PromptCall, entries: Sequence[DiaryEntry]) -> frozenset[int]:
    """Return the ids of the diary entries that the prompt shows as lines."""
    s = call.settings
    if not (s.enable_ai_diary and s.ai_diary_full):
        return frozenset()
    lost = {item.id for item in diary_lines(entries, s.diary_chars, call.zone)[1]}
    return frozenset(entry.id for entry in entries if str(entry.id) not in lost)


def compose(
    call: PromptCall,
    lists: HistoryLists,
    entries: Sequence[DiaryEntry],
    sections: Mapping[str, Built],
    memories: Sequence[Hit],
) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """Return the context, of the memories as many as `Caps` says, and each section's ids of its items."""
    s, caps, tz = call.settings, call.caps, call.zone
    parts: dict[str, Any] = {"history_current_chat": lists.current, "history_recent": lists.recent}
    left_out = list(lists.left_out)
    thoughts: list[str] = []
    diary: list[str] = []
    if s.enable_ai_diary and s.ai_diary_full:
        diary, lost = diary_lines(entries, s.diary_chars, tz)
        left_out += lost
    if s.enable_ai_diary and s.enable_thoughts and not call.skips_history:
        thoughts, lost = thought_lines(entries, caps.thoughts, tz, shown=diary)
        left_out += lost
    parts["thoughts"] = thoughts
    kept = list(memories[: caps.memories])
    left_out += [LeftOut("memories", "limit", f"{h['source']}/{h['id']}") for h in memories[caps.memories :]]
    if s.enable_memories:
        parts["memories"] = kept
    if s.enable_tags_placeholder and not s.prompt_lite_mode:
        parts["tags_placeholder"] = []
    if s.enable_ai_diary and s.ai_diary_full:
        parts["ai_diary"] = diary
    ids = {"memories": [f"{h['source']}/{h['id']}" for h in kept]}
    for key, built in sections.items():
        parts[key] = built.value
        left_out += built.left_out
        if built.ids:
            ids[key] = list(built.ids)
    call.report.leave_out(left_out)
    return context_rules.order_context(parts), ids


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
    """Read lines and the rows of sections; a source that fails gives none."""
    assert call.db is not None
    brought = context_table.read(call.db, viewer, lines, call.guard.ask, parts)
    if call.is_down:
        call.guard.lose_stored()
    return brought


def read_further(
    call: PromptCall, db: Database, visible: VisibleContext, lines: StoredLines, lists: HistoryLists
) -> StoredLines | None:
    """Return the lines with older ones, None where the lists are full or there is nothing more."""
    wanted = _further(visible, lines, lists)
    viewer = visible.viewer
    if wanted is None or viewer is None:
        return None
    failures = len(call.report.errors)
    more = context_table.read(db, viewer, wanted, call.guard.ask)
    if len(call.report.errors) > failures:
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
    replaced = Replaced(path, message_id)
    for entry in (*lines.current, *call.live.chats.get(path, ())):
        if entry.message_id == message_id:
            live = entry.order if entry.row_id is None else replaced.order
            replaced = replace(
                replaced, time=replaced.time or entry.time, row_id=replaced.row_id or entry.row_id, order=live
            )
    if replaced.time is None and db is not None and not call.is_down:
        stored = call.guard(
            "chat_history_cache",
            lambda: table_reading.find_message(db, call.scope.persona, path, message_id),
            None,
        )
        replaced = replaced if stored is None else replace(replaced, time=stored.timestamp, row_id=stored.id)
    if replaced.time is None and replaced.order is None:
        said = "replacing: this conversation has no message of that id (message_id, not the row's); nothing is left out"
        call.report.note(said)
    return replace(lines, replacing=replaced)


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
    entries = []
    for order, row in enumerate(rows if isinstance(rows, (list, tuple)) else ()):
        key = str(row.get("interface_path", path) if isinstance(row, Mapping) else path)
        entry = read_line(row, path if key == plain_key(path) else key, order)
        if entry is not None:
            entries.append(entry)
    return entries[::-1]
