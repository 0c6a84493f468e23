"""What the history lists are made with and what they are: the options of a call, and its lists with their account."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo

from ..shapes import HistoryEntry, LeftOut


@dataclass(frozen=True, slots=True)
class HistoryOptions:
    """How the lines of a call are chosen and look, flag by flag."""

    now: datetime
    """Aware time the ages are counted to."""
    zone: tzinfo = UTC
    """TIMEZONE."""
    age_marker_minutes: int = 10
    """HISTORY_AGE_MARKER_MINUTES, 0 to 10080; 0 gives no mark."""
    reply_quote_chars: int = 40
    """REPLY_QUOTE_CHARS, 0 to 400."""
    echo_window_seconds: int = 60
    """ECHO_WINDOW_SECONDS, 0 to 3600."""
    noise_prefixes: tuple[str, ...] = ()
    """NOISE_PREFIXES."""
    exchange_window: int = 0
    """CONTEXT_EXCHANGE_WINDOW, 0 to 50 exchanges; 0 is off."""
    exchange_char_cap: int = 8000
    """CONTEXT_EXCHANGE_CHAR_CAP, 100 to 1000000 characters."""


@dataclass(frozen=True, slots=True)
class HistoryLists:
    """The history part of `context`, and the account of it."""

    current: list[str] = field(default_factory=list)
    """history_current_chat, oldest first."""
    recent: list[str] = field(default_factory=list)
    """history_recent, oldest first."""
    visible: list[HistoryEntry] = field(default_factory=list)
    """The messages shown in the two lists: what memories need not repeat."""
    left_out: list[LeftOut] = field(default_factory=list)
    found: dict[str, int] = field(default_factory=dict)
    """Section to number of messages found; the lines and the left out of a section add up to it."""
    notes: list[str] = field(default_factory=list)
    echoes: list[HistoryEntry] = field(default_factory=list)
    """Copies of the message being answered, which memories leave out too."""
    extra: dict[str, list[str]] = field(default_factory=dict)
    """Context keys of contributions with a target of their own."""
    full: frozenset[str] = frozenset()
    """Sections that would take no older message, so that none need be read for them."""
