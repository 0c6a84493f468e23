"""Which messages are never shown, and which are the message being answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..shapes import HistoryEntry, IncomingMessage
from ..text.folding import collapsed
from ..text.hits import compared_text
from .lines import is_persona

ECHO_WINDOW = timedelta(seconds=60)
"""An equal line of the same sender this near is the message itself, which the host stored a moment before it asked."""


def why_not_shown(entry: HistoryEntry) -> str:
    """Return `blank`, `hidden`, `excluded` or `noise`, or blank text for a message that is shown."""
    if not entry.text.replace("\x00", "").strip():
        return "blank"
    if entry.hidden:
        return "hidden"
    if entry.excluded:
        return "excluded"
    return "noise" if entry.role == "thought" or (entry.conversation.endswith("/-1") and is_persona(entry)) else ""


@dataclass(frozen=True, slots=True)
class Replaced:
    """A message of the conversation that another one takes the place of, and what the persona said after it."""

    conversation: str
    message_id: str
    time: datetime | None = None
    """When it was said; None where it was not found."""
    row_id: int | None = None
    order: int | None = None
    """Its position among the live messages; None where it is not one of them."""

    def takes(self, entry: HistoryEntry) -> bool:
        """Return whether an entry, stored or live, is not to be shown for it."""
        if entry.conversation != self.conversation:
            return False
        return entry.message_id == self.message_id or (is_persona(entry) and self._is_before(entry))

    def _is_before(self, entry: HistoryEntry) -> bool:
        if entry.row_id is None and self.order is not None:
            return entry.order > self.order
        if self.time is None or entry.time is None:
            return False
        if entry.time == self.time and entry.row_id is not None and self.row_id is not None:
            return entry.row_id > self.row_id
        return entry.time >= self.time


def _is_sender(entry: HistoryEntry, message: IncomingMessage) -> bool:
    """Return whether the entry and the message have one sender: by id, or by a name where one of them has no id."""
    sender = message.sender
    if entry.sender_id and sender.id:
        return entry.sender_id in (sender.id, f"{message.interface}/{sender.id}")
    names = {collapsed(name) for name in (entry.sender_name, entry.username) if name.strip()}
    asked = {collapsed(name) for name in (sender.name, sender.username) if name.strip()}
    if names or asked:
        return bool(names & asked)
    return not entry.sender_id and not sender.id


def echo_check(message: IncomingMessage) -> Callable[[HistoryEntry], bool]:
    """Return the function that tells whether an entry, stored or live, is the message being answered."""
    said = collapsed(message.text)

    def check(entry: HistoryEntry) -> bool:
        if message.interface_path is None or entry.conversation != message.interface_path:
            return False
        if message.message_id and entry.message_id == message.message_id:
            return True
        is_near = entry.time is None or abs(entry.time - message.date) <= ECHO_WINDOW
        return bool(said) and is_near and _is_sender(entry, message) and compared_text(entry) == said

    return check
