"""What a context is made of: which lines are wanted, reading them, and whose live lines may be seen.

Called by `prompt.history`, alone or as a part of a prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from .. import chat_history_cache
from ..audience import view_statement as looking
from ..audience.view import Recent, Request, Seen, Viewer
from ..config import Settings
from ..context import context as rules
from ..context.history import HistoryLists, skips_history
from ..context.live import LiveHistory, read_message
from ..context.plan import CURRENT, RECENT, HistoryPlan, history_plan
from ..context.section_base import Asked
from ..database import sources
from ..database.engine import Database
from ..database.section_parts import SectionPart
from ..scope import Scope
from ..search.reading import last_statement as reading
from ..search.reading.by_id import RowsWanted
from ..search.reading.last_statement import HistoryWanted
from ..shapes import DiaryEntry, HistoryEntry, IncomingMessage
from . import sections
from .guard import Guard
from .sections import Sections

MARGIN = 6
"""Rows read beyond the wanted lines, for those that turn out to be blank, hidden, echoes or copies of live ones."""
DEEPER, ROUNDS = 4, 6
MOST_CHATS = 50
"""Most other conversations read at once."""
_OWN_LOAD, _OWN_LOAD_GLOBAL = chat_history_cache.ORIGINAL_LOADS

_SWITCHES = (
    "enable_history_current_chat",
    "enable_history_recent",
    "unified_history",
    "enable_memories",
    "enable_ai_diary",
    "ai_diary_full",
    "enable_thoughts",
    "enable_tags_placeholder",
)


@dataclass(slots=True)
class Sources:
    """What a context is made of, read before."""

    message: IncomingMessage
    live: LiveHistory
    settings: Settings
    plan: HistoryPlan
    viewer: Viewer | None = None
    """None when nothing stored can be read."""
    current: list[HistoryEntry] = field(default_factory=list)
    recent: list[HistoryEntry] = field(default_factory=list)
    diary: list[DiaryEntry] = field(default_factory=list)
    contributions: Any = None
    chats: Sequence[Recent] = ()
    """Other conversations that may be seen, newest first."""
    asked: HistoryWanted = field(default_factory=HistoryWanted)
    """What was read last."""
    held_private: frozenset[str] = frozenset()
    """Conversations this process has seen to be private or local, for the time the database does not answer."""
    sections: Sections = field(default_factory=Sections)
    """What capabilities bring beside history, diary and memories."""
    replaced: frozenset[str] = frozenset()
    """Sections whose stored lines a stand-in gave."""

    @property
    def caps(self) -> rules.Caps:
        """Return how many items of each kind the context holds."""
        s = self.settings
        return rules.caps(s.context_verbosity, s.thoughts_limit, bool(s.prompt_lite_mode))

    @property
    def flags(self) -> dict[str, object]:
        """Return the switches by the name hosts know them by."""
        return {name.upper(): getattr(self.settings, name) for name in _SWITCHES}

    @property
    def skipped(self) -> bool:
        """Return whether the host asked for empty lists."""
        return skips_history(self.live.metadata)

    @property
    def reads_diary(self) -> bool:
        """Return whether diary entries are needed at all."""
        s = self.settings
        return bool(s.enable_ai_diary and (s.ai_diary_full or (s.enable_thoughts and not self.skipped)))


def plan_sources(message: IncomingMessage, live: LiveHistory, settings: Settings, history_scope: object) -> Sources:
    """Return what a context will be made of, before anything is read."""
    made = Sources(message, live, settings, history_plan({}, None))
    made.plan = history_plan(made.flags, history_scope)
    return made


# What to ask for


def recent_wanted(sources: Sources) -> int:
    """Return how many other conversations are asked for, to fill history_recent."""
    if not sources.plan.recent_stored:
        return 0
    return min(2 * sources.caps.history + 2, MOST_CHATS) if sources.caps.history else 0


def wanted(sources: Sources) -> HistoryWanted:
    """Return which stored lines the context needs."""
    s, caps = sources.settings, sources.caps
    rows = caps.history + MARGIN
    if s.context_exchange_window:
        rows = max(rows, 4 * s.context_exchange_window + MARGIN)
    since = sources.message.date - timedelta(days=s.diary_history_days)
    return HistoryWanted(
        conversation=sources.message.interface_path,
        current=rows if sources.plan.current and (caps.history or s.context_exchange_window) else 0,
        recent=tuple(_open_chats(sources)[: min(caps.history, recent_wanted(sources))]),
        recent_rows=caps.history + 2,
        recent_most=2 * caps.history + MARGIN,
        diary_since=since if sources.reads_diary and s.diary_history_days else None,
    )


# Reading


def look(
    guard: Guard, db: Database, scope: Scope, settings: Settings, destination: str, request: Request
) -> Seen | None:
    """Work out what a scope sees; None when that cannot be told.

    Where a table is missing less is asked: first no vocabulary and settings, then nothing but who sees what.
    """
    bare = Request(live_keys=request.live_keys, recent=request.recent, bare=True)
    without = replace(request, vocabulary_version=None, want_config=False)

    def ask(step: Request) -> Seen:
        private = bool(settings.private_stays_private)
        return looking.look(db, scope, step, destination=destination, private_stays_private=private)

    for step in dict.fromkeys((request, without, bare)):
        seen = guard("look", "conversations", lambda step=step: ask(step), None)  # type: ignore[misc]
        if seen is not None:
            return seen
        if guard.down:
            break
    guard.lose_stored("look")
    return None


def read(
    guard: Guard,
    db: Database,
    viewer: Viewer,
    rows: RowsWanted | None,
    lines: HistoryWanted,
    parts: Sequence[SectionPart] = (),
) -> reading.Brought:
    """Read rows, lines and sections in one round trip; each on its own where all together fail."""
    whole = guard("read", "rows and lines", lambda: reading.read(db, viewer, rows, lines, parts), None)
    if whole is not None:
        return whole
    if guard.down:
        guard.lose_stored("read")
        return reading.Brought()
    nothing = HistoryWanted()
    made = reading.Brought()
    kinds: list[tuple[str, HistoryWanted]] = [
        ("chat_history_cache", replace(lines, diary_since=None)),
        ("ai_diary", replace(nothing, diary_since=lines.diary_since)),
    ]
    for name, kind in kinds:
        brought = guard("read", name, lambda kind=kind: reading.read(db, viewer, None, kind), made)  # type: ignore[misc]
        if brought is not made:
            made.current.extend(brought.current)
            made.recent.extend(brought.recent)
            made.diary.extend(brought.diary)
    for one in [] if rows is None else [replace(rows, ids={number: rows.ids[number]}) for number in rows.sources]:
        (number,) = one.sources
        name = sources.BY_NUMBER[number].table.name
        brought = guard("read", name, lambda one=one: reading.read(db, viewer, one, nothing), made)  # type: ignore[misc]
        if brought is not made:
            made.rows.update(brought.rows)
    for one_part in parts:
        alone = guard(
            "read",
            one_part.source,
            lambda part=one_part: reading.read(db, viewer, None, nothing, (part,)),  # type: ignore[misc]
            made,
        )
        if alone is not made:
            made.sections.update(alone.sections)
    return made


def plan_sections(guard: Guard, history: Sources, viewer: Viewer, now: datetime) -> None:
    """Say what the sections of this call read."""
    history.sections = sections.plan(guard, Asked(history.settings, viewer, history.message, now))


def take(history: Sources, brought: reading.Brought, lines: HistoryWanted) -> None:
    """Take over what was read."""
    history.sections.rows = brought.sections
    history.current, history.recent, history.diary = brought.current, brought.recent, brought.diary
    history.asked = lines


def deepen(
    history: Sources, lists: HistoryLists, build: Callable[[], HistoryLists], db: Database, guard: Guard
) -> HistoryLists:
    """Return the lists, with older rows read as long as they are needed to fill them.

    Usually nothing is read: rows beyond the wanted lines come along in the first place.
    """
    viewer = history.viewer
    for _ in range(ROUNDS):
        if viewer is None or guard.down:
            return lists
        further = _further(history, lists)
        if further is None:
            return lists
        more = guard("read", "chat_history_cache", lambda lines=further: reading.read(db, viewer, None, lines), None)  # type: ignore[misc]
        if more is None:
            return lists
        if further.current:
            history.current = more.current
        if further.recent:
            history.recent = more.recent
        history.asked = replace(
            history.asked,
            current=further.current or history.asked.current,
            recent=further.recent or history.asked.recent,
            recent_rows=further.recent_rows,
            recent_most=further.recent_most,
        )
        lists = build()
    return lists


def _further(history: Sources, lists: HistoryLists) -> HistoryWanted | None:
    """Return the larger reading that may fill the lists, None when they are full or there is nothing more."""
    asked, full = history.asked, lists.full | history.replaced
    current = asked.current if CURRENT not in full and 0 < asked.current <= len(history.current) else 0
    current = 0 if _ends_hidden(history.current) else current
    recent, rows, most, chats = asked.recent, asked.recent_rows, asked.recent_most, _open_chats(history)
    if RECENT in full or not recent:
        recent = ()
    elif len(history.recent) >= most or _reached(history.recent, rows):
        rows, most = rows * DEEPER, most * DEEPER
    elif len(recent) < len(chats):
        recent = tuple(chats[: len(recent) * DEEPER])
    else:
        recent = ()
    if not current and not recent:
        return None
    return replace(asked, current=current * DEEPER, recent=recent, recent_rows=rows, recent_most=most, diary_since=None)


def _open_chats(history: Sources) -> list[Recent]:
    viewer = history.viewer
    return [c for c in history.chats if viewer is not None and (viewer.sees_local_only or not c.local_only)]


def _reached(entries: Sequence[HistoryEntry], rows: int) -> bool:
    chats: dict[str, list[HistoryEntry]] = {}
    for entry in entries:
        chats.setdefault(entry.conversation, []).append(entry)
    return any(len(each) >= rows and not _ends_hidden(each) for each in chats.values())


def _ends_hidden(entries: Sequence[HistoryEntry]) -> bool:
    """Return whether the oldest rows read are all hidden: a story hides everything before its last scenes.

    Ten thousand hidden rows would be read for nothing by every prompt, 1.2 s of it.
    """
    return len(entries) >= MARGIN and all(entry.hidden for entry in entries[-MARGIN:])


# What a host puts in the place of reading


def use_stand_ins(history: Sources, db: Database | None, scope: Scope, guard: Guard) -> None:
    """Let a host's own `load_chat_history` and `load_global_chat_history` give the lines."""
    common = {"db": db, "settings": history.settings, "scope": scope}
    path, count = history.message.interface_path, history.caps.history + MARGIN
    load, load_global = chat_history_cache.load_chat_history, chat_history_cache.load_global_chat_history
    if load is not _OWN_LOAD and path is not None and history.plan.current:
        arguments = {"interface_path": path, "limit": count, **common}
        history.current = guard("history", "load_chat_history", lambda: _entries(guard.call(load, arguments), path), [])
        history.replaced |= {CURRENT}
    if load_global is not _OWN_LOAD_GLOBAL and history.plan.recent_stored:
        arguments = {"limit": count * 2, **common}
        none: list[HistoryEntry] = []
        rows = guard(
            "history", "load_global_chat_history", lambda: _entries(guard.call(load_global, arguments), ""), none
        )
        history.recent = [e for e in rows if e.conversation != path]
        history.replaced |= {RECENT}


def _entries(rows: Any, path: str) -> list[HistoryEntry]:
    made = []
    for order, row in enumerate(rows if isinstance(rows, (list, tuple)) else ()):
        key = row.get("interface_path", path) if isinstance(row, Mapping) else path
        entry = read_message(row, str(key), order)
        if entry is not None:
            made.append(entry)
    return made[::-1]
