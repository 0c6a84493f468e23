"""The two history lists of a prompt, once rows and live messages are at hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from typing import Any, TypeVar

from ..shapes import HistoryEntry, IncomingMessage, LeftOut
from .context import Caps
from .lines import ChatLine, body, origin, place_of, turn_of
from .live import LiveHistory
from .merge import (
    STORED,
    SeenMessages,
    chronological,
    entry_id,
    first_ones,
    live_places,
    stored_places,
)
from .names import NameLabels, find_persona_name
from .plan import (
    CURRENT,
    RECENT,
    Candidates,
    HistoryPlan,
    MaySee,
    current_and_recent,
    skips_history,
)
from .shown import Replaced, echo_check, why_not_shown

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class HistoryOptions:
    """How the lines of a call are chosen and look."""

    now: datetime
    """Aware time the ages are counted to."""
    zone: tzinfo = UTC
    """TIMEZONE."""
    replaced: Replaced | None = None
    """What the message takes the place of."""
    persona: str = ""
    """Id of the persona, by which it is called where no line has its name."""


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
    replacing: Replaced | None = None
    """What the message takes the place of."""
    replaced: list[HistoryEntry] = field(default_factory=list)
    """Messages that the message takes the place of, which memories leave out too."""
    whole: frozenset[str] = frozenset()
    """Conversations of which every stored message is shown."""
    full: frozenset[str] = frozenset()
    """Sections that would take no older message, so that none need be read for them."""
    names: NameLabels = field(default_factory=NameLabels, compare=False)
    """What the people of the lines are called."""


def newest(entries: Sequence[Item], count: int) -> list[Item]:
    """Return the last `count` of a chronological list, none when `count` is 0 or less."""
    return list(entries[max(0, len(entries) - count) :]) if count > 0 else []


class _Account:
    """Chooses and renders the lines of one call, and keeps the account of what is left out."""

    def __init__(self, message: IncomingMessage, options: HistoryOptions, may_see: MaySee) -> None:
        self.own = message.interface_path
        self.options = options
        self.may_see = may_see
        self.look: dict[str, Any] = {"zone": options.zone, "now": options.now}
        self.is_echo = echo_check(message)
        self.left_out: list[LeftOut] = []
        self.titles: dict[str, str] = {}
        self.names = NameLabels()
        self._bodies: dict[int, str] = {}

    def leave(self, section: str, reason: str, entry: HistoryEntry) -> None:
        self.left_out.append(LeftOut(section, reason, entry_id(entry)))

    def why_not(self, entry: HistoryEntry) -> str:
        if self.is_replaced(entry):
            return "replaced"
        return "echo" if self.is_echo(entry) else why_not_shown(entry)

    def is_replaced(self, entry: HistoryEntry) -> bool:
        return self.options.replaced is not None and self.options.replaced.takes(entry)

    def body(self, entry: HistoryEntry) -> str:
        """Return the line without the mark of its conversation: what copies of a message have in common."""
        known = self._bodies.get(id(entry))
        if known is None:
            known = self._bodies[id(entry)] = body(entry, **self.look)
        return known

    def named(self, entry: HistoryEntry) -> HistoryEntry:
        """Return the message with the persona's name where it replies to the persona."""
        if entry.reply is None or not entry.reply.is_persona:
            return entry
        return replace(entry, reply=replace(entry.reply, name=self.names.persona))

    def line(self, entry: HistoryEntry) -> ChatLine:
        """Return a line as it is shown; only those of other conversations name theirs."""
        name, named = self.names.entry(entry), self.named(entry)
        shown = body(named, **self.look, name=name)
        if entry.conversation in ("", self.own):
            return ChatLine(shown, turn_of(named, name))
        if not entry.title and entry.conversation in self.titles:
            named = replace(named, title=self.titles[entry.conversation])
        return ChatLine(f"{origin(named)}{shown}", turn_of(named, name, place_of(named)))

    def choose(
        self,
        section: str,
        most: int,
        stored: Sequence[HistoryEntry],
        live: Sequence[HistoryEntry],
    ) -> list[HistoryEntry]:
        """Return the newest messages that are shown, each once, oldest first."""
        seen = SeenMessages(self.body)
        refused = [(entry, reason) for entry in stored if (reason := self.why_not(entry))]
        refused_ids = {id(entry) for entry, _ in refused}
        rows, doubled = first_ones(stored_places(entry for entry in stored if id(entry) not in refused_ids), seen)
        for entry in doubled:
            self.leave(section, "duplicate", entry)
        for entry, reason in refused:
            seen.add_unseen(entry)
            self.leave(section, reason, entry)
        kept: list[HistoryEntry] = []
        for place, entry in reversed(chronological([*rows, *live_places(live)])):
            is_row = place[2] == STORED
            reason = ("" if is_row else self.why_not(entry)) or ("limit" if len(kept) >= most else "")
            if not reason and not is_row and not seen.take(entry):
                reason = "duplicate"
            if reason:
                self.leave(section, reason, entry)
                continue
            kept.append(entry)
        return kept[::-1]


def build_lists(
    *,
    message: IncomingMessage,
    live: LiveHistory,
    stored_current: Iterable[HistoryEntry],
    stored_recent: Iterable[HistoryEntry],
    plan: HistoryPlan,
    caps: Caps,
    options: HistoryOptions,
    may_see: MaySee,
) -> HistoryLists:
    """Return the two history lists and the account of every message found."""
    rows, others = list(stored_current), list(stored_recent)
    account = _Account(message, options, may_see)
    account.titles = {entry.conversation: entry.title for entry in others if entry.title}
    chosen = current_and_recent(message, live, rows, others, plan, may_see)
    account.left_out.extend(chosen.left_out)
    current = account.choose(CURRENT, caps.history, chosen.current_stored, chosen.current_live)
    recent = account.choose(RECENT, caps.recent, chosen.recent_stored, chosen.recent_live)
    full = [
        section
        for section, lines, most in ((CURRENT, current, caps.history), (RECENT, recent, caps.recent))
        if len(lines) >= most
    ]
    account.names = NameLabels(find_persona_name(options.persona, [*recent, *current]))
    own_live = live.chats.get(message.interface_path, []) if message.interface_path is not None else []
    lists = HistoryLists(
        current=[account.line(entry) for entry in current],
        left_out=account.left_out,
        found=_found(chosen),
        notes=[note for note in live.notes if note],
        echoes=[entry for entry in (*rows, *own_live) if account.is_echo(entry)],
        replacing=options.replaced,
        replaced=[entry for entry in (*rows, *own_live) if account.is_replaced(entry)],
        full=frozenset(full),
        names=account.names,
    )
    lists.visible.extend(current)
    _add_recent(lists, account, recent)
    return _without_history(lists) if skips_history(live.metadata) else lists


def _found(chosen: Candidates) -> dict[str, int]:
    """Return how many messages there were for each list; those of a list that is switched off are none."""
    unseen = [item.section for item in chosen.left_out]
    return {
        CURRENT: len(chosen.current_stored) + len(chosen.current_live) + unseen.count(CURRENT),
        RECENT: len(chosen.recent_stored) + len(chosen.recent_live) + unseen.count(RECENT),
    }


def _add_recent(lists: HistoryLists, account: _Account, recent: list[HistoryEntry]) -> None:
    """Add the lines of other conversations, but for those that read like one of this conversation."""
    current = set(lists.current)
    for entry in recent:
        shown = account.line(entry)
        if shown in current:
            account.leave(RECENT, "duplicate", entry)
            continue
        lists.recent.append(shown)
        lists.visible.append(entry)


def _without_history(lists: HistoryLists) -> HistoryLists:
    """Return the lists emptied; memories, and so what counts as visible to them, stay as with the lists."""
    return replace(
        lists,
        current=[],
        recent=[],
        left_out=[item for item in lists.left_out if item.section not in (CURRENT, RECENT)],
        found={**lists.found, CURRENT: 0, RECENT: 0},
        notes=[*lists.notes, "skip_history: the history lists and thoughts are empty because the host asked for it"],
    )
