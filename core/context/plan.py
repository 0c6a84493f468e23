"""Which history lists a call has and where their messages come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..shapes import HistoryEntry, IncomingMessage, LeftOut
from .live import LiveHistory
from .merge import entry_id

CURRENT, RECENT = "history_current_chat", "history_recent"

MaySee = Callable[[str], str]
"""Conversation key to blank, or to the reason why its messages stay out, such as `private`."""

_OFF_WORDS = frozenset({"", "0", "false", "no", "off"})


@dataclass(frozen=True, slots=True)
class HistoryPlan:
    """What is read for the two history lists."""

    current: bool
    """history_current_chat is filled."""
    recent: bool
    """history_recent is filled."""
    recent_stored: bool
    """Stored messages of other conversations count, not the live ones alone."""
    same_interface_only: bool
    """Only conversations of the message's interface count among the live ones."""


def is_on(value: object) -> bool:
    """Return whether a switch is on; the usual words for off are off, whatever their case."""
    return value.strip().lower() not in _OFF_WORDS if isinstance(value, str) else bool(value)


def history_plan(flags: Mapping[str, object]) -> HistoryPlan:
    """Return what is read for the two history lists."""
    unified = is_on(flags.get("UNIFIED_HISTORY", 1))
    recent = is_on(flags.get("ENABLE_HISTORY_RECENT", 1))
    return HistoryPlan(
        current=is_on(flags.get("ENABLE_HISTORY_CURRENT_CHAT", 1)),
        recent=recent,
        recent_stored=recent and unified,
        same_interface_only=not unified,
    )


def skips_history(metadata: Mapping[str, Any]) -> bool:
    """Return whether the host asked for a prompt without history lists and thoughts."""
    return is_on(metadata.get("skip_history"))


@dataclass(frozen=True, slots=True)
class Candidates:
    """The messages each list is chosen from."""

    current_stored: list[HistoryEntry] = field(default_factory=list)
    current_live: list[HistoryEntry] = field(default_factory=list)
    recent_stored: list[HistoryEntry] = field(default_factory=list)
    recent_live: list[HistoryEntry] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    """Live messages of conversations that may not be seen."""


def current_and_recent(
    message: IncomingMessage,
    live: LiveHistory,
    stored_current: Iterable[HistoryEntry],
    stored_recent: Iterable[HistoryEntry],
    plan: HistoryPlan,
    may_see: MaySee,
) -> Candidates:
    """Return the messages each list is chosen from: this conversation's, and other conversations'."""
    own = message.interface_path
    surface = message.interface if own is None else own.split("/", 1)[0]
    candidates = Candidates()
    if plan.current and own is not None:
        candidates.current_stored.extend(entry for entry in stored_current if entry.conversation == own)
    if plan.recent and plan.recent_stored:
        candidates.recent_stored.extend(entry for entry in stored_recent if entry.conversation != own)
    for key, entries in live.chats.items():
        is_own = key == own
        if not (plan.current if is_own else plan.recent):
            continue
        if not is_own and plan.same_interface_only and key.split("/", 1)[0] != surface:
            continue
        reason = may_see(key)
        if reason:
            candidates.left_out.extend(
                LeftOut(CURRENT if is_own else RECENT, reason, entry_id(entry)) for entry in entries
            )
        else:
            (candidates.current_live if is_own else candidates.recent_live).extend(entries)
    return candidates
