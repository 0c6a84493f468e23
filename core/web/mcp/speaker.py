"""The speaker, whose scope all calls use: set when the server starts, or over HTTP by the token, never by arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...scope import Destination, Privacy, Scope

if TYPE_CHECKING:
    from ...calls.call import GivenSettings
    from ...database.engine import Database

UNNAMED = "mcp/me"
"""Participant of a server that was started without a participant."""


@dataclass(frozen=True, slots=True)
class Speaker:
    """Scope, name, database and settings of a connection; for `db` and `settings`, None uses those of the process."""

    scope: Scope
    """Scope of all calls. It names a conversation; else a call's arguments would decide what the call sees."""
    name: str = ""
    """Name of the person in stored lines; blank uses the last part of the participant's key."""
    db: Database | None = None
    settings: GivenSettings = None
    is_host: bool = False
    """Whether the server was started without a participant: then its calls may change every row that they see."""

    @property
    def asking(self) -> Mapping[str, Any]:
        return {"db": self.db, "settings": self.settings, "scope": self.scope}

    @property
    def shown_name(self) -> str:
        return self.name or (self.scope.participant or "").rpartition("/")[2]

    def name_person(self, key: str) -> str:
        """Return the speaker's name if `key` is the speaker's key or its last part; else `key`."""
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
    """Build the scope of a connection; without a conversation, the scope of the participant's direct messages.

    >>> build_scope("iris").conversation, build_scope("iris").privacy
    ('mcp/me', 'direct')
    >>> build_scope("iris", "web/ann", "web/42").conversation, build_scope("iris", "web/ann", "web/42").privacy
    ('web/42', None)
    """
    who = participant or UNNAMED
    if conversation:
        return Scope(persona, conversation, who, server, destination, privacy)
    return Scope(persona, who, who, server, destination, privacy or "direct")
