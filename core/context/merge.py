"""When two messages are one, and the order messages stand in."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from ..shapes import HistoryEntry, LeftOut
from ..text.folding import collapsed
from ..text.hits import compared_text
from .lines import body, sender

SAME_MESSAGE_SECONDS = 5
"""Two copies of one message without a common id are less than this apart."""

_WINDOW = SAME_MESSAGE_SECONDS * 1_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Render = Callable[[HistoryEntry], str]
Place = tuple[int, datetime, int, int, int]
"""What messages are sorted by: how the time is known, the time, where it comes from, row, position."""

Placed = tuple[Place, HistoryEntry]

STORED, LIVE = 0, 1
"""Where a message comes from, in the order they stand at equal times."""


def plain_line(entry: HistoryEntry) -> str:
    """Return the line in UTC without an age mark: what is compared when no other look is given."""
    return body(entry, zone=UTC, now=_EPOCH)


def entry_id(entry: HistoryEntry) -> str:
    """Return what the report calls the message by: its message id, else its row id, else blank."""
    return entry.message_id or ("" if entry.row_id is None else str(entry.row_id))


def _microseconds(time: datetime) -> int:
    """Return whole microseconds since 1970; a float would not tell 4.999999 s from 5 s."""
    since = time - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


class _Times:
    """Times of messages of one sender and text: whether one is less than 5 s away, in constant time."""

    __slots__ = ("_boxes", "_missing")

    def __init__(self) -> None:
        self._boxes: dict[int, tuple[int, int]] = {}
        self._missing = False

    def add(self, time: datetime | None) -> None:
        if time is None:
            self._missing = True
            return
        at = _microseconds(time)
        low, high = self._boxes.get(at // _WINDOW, (at, at))
        self._boxes[at // _WINDOW] = (min(low, at), max(high, at))

    def is_near(self, time: datetime | None) -> bool:
        """Return whether a time is less than 5 s away; a missing time is near to every other."""
        if self._missing or time is None:
            return self._missing or bool(self._boxes)
        at = _microseconds(time)
        box = at // _WINDOW
        if box in self._boxes:
            return True
        before, after = self._boxes.get(box - 1), self._boxes.get(box + 1)
        return (before is not None and at - before[1] < _WINDOW) or (after is not None and after[0] - at < _WINDOW)


class SeenMessages:
    """The messages seen so far; `take` tells whether one more is the same as any of them."""

    def __init__(self, render: Render = plain_line) -> None:
        self._render = render
        self._ids: set[tuple[str, str]] = set()
        self._lines: set[tuple[str, str]] = set()
        self._said: dict[tuple[str, ...], _Times] = {}

    def take(self, entry: HistoryEntry) -> bool:
        """Return True and remember the message when it is a new one, else False."""
        place = entry.conversation
        if entry.message_id and (place, entry.message_id) in self._ids:
            return False
        line = (place, collapsed(self._render(entry)))
        if line in self._lines:
            return False
        text, name = compared_text(entry), collapsed(sender(entry))
        if self._is_said(entry, place, name, text):
            return False
        self._lines.add(line)
        self._remember(entry, name, text)
        return True

    def add_unseen(self, entry: HistoryEntry) -> None:
        """Remember a message that has no line, such as a hidden one, so that its copies are known by (a) and (b)."""
        self._remember(entry, collapsed(sender(entry)), compared_text(entry))

    def _remember(self, entry: HistoryEntry, name: str, text: str) -> None:
        if entry.message_id:
            self._ids.add((entry.conversation, entry.message_id))
        for key in self._keys(entry, entry.conversation, name, text):
            self._said.setdefault(key, _Times()).add(entry.time)

    def _is_said(self, entry: HistoryEntry, place: str, name: str, text: str) -> bool:
        """Return whether (b) holds: one of two lacks an id, sender and text are equal, the times near or missing."""
        which = "no id" if entry.message_id else "any id"
        asked = [("name", which, place, name, text)]
        if entry.sender_id:
            asked = [("sender", which, place, entry.sender_id, text), ("no sender", which, place, name, text)]
        return any((times := self._said.get(key)) is not None and times.is_near(entry.time) for key in asked)

    @staticmethod
    def _keys(entry: HistoryEntry, place: str, name: str, text: str) -> Iterable[tuple[str, ...]]:
        """Yield the keys under which later messages ask for this one."""
        for which in ("any id",) if entry.message_id else ("any id", "no id"):
            yield ("name", which, place, name, text)
            if entry.sender_id:
                yield ("sender", which, place, entry.sender_id, text)
            else:
                yield ("no sender", which, place, name, text)


def stored_places(entries: Iterable[HistoryEntry]) -> list[Placed]:
    """Return stored messages with their places; an unreadable time counts as oldest."""
    return [((0 if e.time is None else 1, e.time or _EPOCH, STORED, e.row_id or 0, e.order), e) for e in entries]


def live_places(entries: Iterable[HistoryEntry]) -> list[Placed]:
    """Return live messages with their places, of equal times after the stored ones."""
    by_chat: dict[str, list[HistoryEntry]] = {}
    for entry in entries:
        by_chat.setdefault(entry.conversation, []).append(entry)
    placed: list[Placed] = []
    for chat in by_chat.values():
        time = next((entry.time for entry in chat if entry.time is not None), None)
        for entry in chat:
            time = entry.time or time
            placed.append(((2 if time is None else 1, time or _EPOCH, LIVE, 0, entry.order), entry))
    return placed


def chronological(placed: Iterable[Placed]) -> list[Placed]:
    """Return the messages oldest first, the last tie-breaker being the conversation key."""
    return sorted(placed, key=lambda item: (item[0], item[1].conversation))


def first_ones(placed: Iterable[Placed], seen: SeenMessages) -> tuple[list[Placed], list[HistoryEntry]]:
    """Return the messages that are new to `seen` and those that are not; of two copies the newer stays."""
    kept: list[Placed] = []
    doubled: list[HistoryEntry] = []
    for item in reversed(chronological(placed)):
        if seen.take(item[1]):
            kept.append(item)
        else:
            doubled.append(item[1])
    return kept[::-1], doubled


def merge(
    stored: Iterable[HistoryEntry],
    live: Iterable[HistoryEntry],
    *,
    render: Render = plain_line,
    section: str = "history_current_chat",
) -> tuple[list[HistoryEntry], list[LeftOut]]:
    """Return each message once, oldest first, and those left out as duplicates."""
    seen = SeenMessages(render)
    kept_stored, doubled_stored = first_ones(stored_places(stored), seen)
    kept_live, doubled_live = first_ones(live_places(live), seen)
    entries = [entry for _, entry in chronological([*kept_stored, *kept_live])]
    return entries, [LeftOut(section, "duplicate", entry_id(entry)) for entry in (*doubled_stored, *doubled_live)]
