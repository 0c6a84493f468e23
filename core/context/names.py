"""What people are called in one prompt: by their display name, told apart where two have the same."""

from __future__ import annotations

from ..shapes import PERSONA_SENDER, HistoryEntry, IncomingMessage
from ..text.folding import fold
from ..text.hits import known_name, name_persona
from .lines import NAMELESS_PERSONA, UNKNOWN, is_persona

Identity = tuple[str, str]
"""Interface and id of a person; of somebody without an id, blank and the name."""

PERSONA: Identity = ("", "")


class NameLabels:
    """Labels of one prompt: `Ann`, and `Ann (2)` for the next person called Ann, by first appearance."""

    def __init__(self, persona: str = "") -> None:
        """Start with the persona's own name, which nobody else of the prompt gets."""
        self._by_label: dict[str, Identity] = {}
        self.persona = self.label(PERSONA, persona) if persona else ""

    def label(self, identity: Identity, name: str) -> str:
        """Return the label of a person shown under a name; of somebody without an id the name itself."""
        has_id = bool(identity[0]) or identity == PERSONA
        label, count = name, 1
        while True:
            owner = self._by_label.setdefault(fold(label), identity) if has_id else self._by_label.get(fold(label))
            if owner == identity or (not has_id and owner != PERSONA):
                return label
            count += 1
            label = f"{name} ({count})"

    def entry(self, entry: HistoryEntry) -> str:
        """Return the label of who sent a message."""
        if is_persona(entry):
            return self.persona or NAMELESS_PERSONA
        name = known_name(entry.sender_name, entry.username, entry.sender_id) or UNKNOWN
        return self.label(identity_of(entry.conversation, entry.sender_id, name), name)

    def asker(self, message: IncomingMessage) -> str:
        """Return the label of who sent the message being answered."""
        who = message.sender
        name = known_name(who.name, who.username, who.id) or UNKNOWN
        return self.label(identity_of(message.interface_path or message.interface, who.id, name), name)

    def participant(self, key: str, name: str) -> str:
        """Return the label of a participant key (`interface/id`), or of a name without one."""
        if key == PERSONA_SENDER:
            return self.persona
        interface, _, own = key.partition("/")
        return self.label(identity_of(interface, own, name), name)


def identity_of(conversation: str, sender_id: str, name: str) -> Identity:
    """Return who a sender is, by id; by name where there is none."""
    return (conversation.partition("/")[0], sender_id) if sender_id else ("", f"name:{fold(name)}")


def find_persona_name(persona: str, entries: list[HistoryEntry]) -> str:
    """Return what the persona is called: the newest name its lines carry, else one made of its id."""
    for entry in reversed(entries):
        if is_persona(entry):
            name = known_name(*(each for each in (entry.sender_name, entry.username) if each != PERSONA_SENDER))
            if name and name != persona:
                return name
    own = name_persona(persona)
    return NAMELESS_PERSONA if own == PERSONA_SENDER else known_name(own[:1].upper() + own[1:])
