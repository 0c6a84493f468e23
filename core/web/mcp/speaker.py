"""Who speaks: the scope that all calls of a connection run in, said by whoever starts the server, never by a call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...scope import Destination, Privacy, Scope

if TYPE_CHECKING:
    from ...calls.call import GivenSettings
    from ...database.engine import Database

UNNAMED = "mcp/me"
"""Participant of a server that is started for one person and told no name."""


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who speaks, and the database and settings the doors are passed; None for those of the process."""

    scope: Scope
    """It always names a conversation: without one, another asked for by its key would be read in its own right."""
    name: str = ""
    """What the person is called in what is stored; blank takes the last part of the participant's key."""
    db: Database | None = None
    settings: GivenSettings = None

    def __post_init__(self) -> None:
        if self.scope.conversation is None:
            raise ValueError("The scope of a speaker names no conversation. Make it with `build_scope`.")

    @property
    def asking(self) -> Mapping[str, Any]:
        return {"db": self.db, "settings": self.settings, "scope": self.scope}

    @property
    def shown_name(self) -> str:
        return self.name or (self.scope.participant or "").rpartition("/")[2]

    def name_person(self, key: str) -> str:
        """Return what a person is called, by their key or the last part of it; others keep what they are called."""
        own = self.scope.participant or ""
        return self.shown_name if own and key in (own, own.rpartition("/")[2]) else key


def build_scope(
    persona: str,
    participant: str | None = None,
    conversation: str | None = None,
    server: str = "",
    *,
    privacy: Privacy | None = None,
    destination: Destination | None = None,
) -> Scope:
    """Return the scope of a connection: without a conversation the direct messages with the participant.

    >>> build_scope("iris").conversation, build_scope("iris").privacy
    ('mcp/me', 'direct')
    >>> build_scope("iris", "web/ann", "web/42").conversation, build_scope("iris", "web/ann", "web/42").privacy
    ('web/42', None)
    """
    who = participant or UNNAMED
    if conversation:
        return Scope(persona, conversation, who, server, destination, privacy)
    return Scope(persona, who, who, server, destination, privacy or "direct")
