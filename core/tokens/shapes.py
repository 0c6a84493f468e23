"""What a token is to those who look one up, and how it is listed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypedDict

from ..errors import ScopeError
from ..scope import Scope

TokenKind = Literal["scope", "host", "admin"]
"""scope: one participant, with what they may see. host: one persona, for every participant and conversation it names.
admin: the operator's routes, and nothing else."""


@dataclass(frozen=True, slots=True)
class AccessToken:
    """Who shows a token that holds."""

    id: int
    kind: TokenKind
    persona: str
    """Blank for an admin token."""
    participant: str | None = None
    """Of a scope token; None otherwise."""
    conversation: str | None = None
    """Of a scope token that was made for one conversation; None otherwise."""
    server: str = ""
    label: str = ""

    @property
    def scope(self) -> Scope:
        """Return the scope the token stands for: of a host token the persona's, to be narrowed by what the
        host says.
        """
        if self.kind == "admin":
            raise ScopeError("An admin token stands for no persona. Use a host token or a scope token.")
        if self.kind == "scope" and self.conversation is None and not self.server:
            return Scope(self.persona, self.participant, self.participant, privacy="direct")
        return Scope(self.persona, self.conversation, self.participant, self.server)


class ListedToken(TypedDict):
    """A token as it is listed. Keys stand in this order; neither the token nor its hash is among them."""

    id: int
    kind: TokenKind
    persona: str
    participant: str | None
    conversation: str | None
    server: str
    label: str
    created_at: str
    """ISO 8601, UTC."""
    revoked_at: str
    """Blank while the token holds."""


class NewToken(ListedToken):
    """A token that was just made."""

    token: str
    """What is sent as `Authorization: Bearer TOKEN`. It is shown this once and stored nowhere."""
