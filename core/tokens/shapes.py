"""The shapes of tokens, and their text and hash. Pure."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypedDict

from ..errors import ScopeError
from ..scope import PrivacySource, Scope

TokenKind = Literal["scope", "host", "admin"]
"""scope: one participant, with the items that this participant may see. host: one persona, for every participant and
conversation that a request names. admin: only the operator's routes."""


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A valid token."""

    id: int
    kind: TokenKind
    persona: str
    """Persona of the token; blank for an admin token."""
    participant: str | None = None
    """Participant of a scope token; None for other kinds."""
    conversation: str | None = None
    """Only conversation that a scope token may use; None for a token without this limit."""
    server: str = ""
    label: str = ""
    personas: str = ""
    """Other personas that requests of a host token may choose, separated by commas; `*` for all."""
    expires_at: datetime | None = None
    """Time when the token expires; None for a token that never expires."""
    resource: str = ""
    """Only URL that accepts the token; "" if every route of its kind accepts it."""

    def may_speak_as(self, persona: str) -> bool:
        others = {each.strip() for each in self.personas.split(",")} if self.kind == "host" else set()
        return persona == self.persona or (bool(persona) and ("*" in others or persona in others))

    @property
    def scope(self) -> Scope:
        """Return the token's scope; for a host token, the scope of its persona."""
        if self.kind == "admin":
            raise ScopeError("An admin token stands for no persona. Use a host token or a scope token.")
        if self.kind == "scope" and self.conversation is None and not self.server:
            return Scope(self.persona, self.participant, self.participant, privacy="direct", privacy_from="token")
        source: PrivacySource = "token" if self.kind == "scope" else "host"
        return Scope(self.persona, self.conversation, self.participant, self.server, privacy_from=source)


class ListedToken(TypedDict):
    """A token in lists, without its text and hash. JSON keys appear in this order."""

    id: int
    kind: TokenKind
    persona: str
    participant: str | None
    conversation: str | None
    server: str
    personas: str
    label: str
    resource: str
    """Only URL that accepts the token; "" if every route of its kind accepts it."""
    created_at: str
    """Time of creation: ISO 8601, UTC."""
    expires_at: str
    """Time when the token expires: ISO 8601, UTC; blank for a token that never expires."""
    revoked_at: str
    """Time of the revocation: ISO 8601, UTC; blank if it was not revoked."""


class NewToken(ListedToken):
    token: str
    """Text of the token, sent as `Authorization: Bearer TOKEN`. It is shown only once and not stored."""


_FORM = re.compile(r"pe_([0-9]{1,19})_([A-Za-z0-9_-]{43})")
MOST_ID = 2**63 - 1


def write_token(token_id: int, secret: str) -> str:
    """Format a token as text, with a prefix that people and secret scanners recognise."""
    return f"pe_{token_id}_{secret}"


def read_token_id(text: str) -> int | None:
    """Parse the id in the text of a token; None if the text is not a token."""
    parts = _FORM.fullmatch(text)
    number = int(parts[1]) if parts else 0
    return number if 0 < number <= MOST_ID else None


def hash_token(text: str) -> bytes:
    """Return the stored hash of a token; one round of hashing suffices for a secret of 256 random bits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def is_own_place(conversation: str, participant: str) -> bool:
    """Return whether a conversation's key belongs to the participant: their direct chat, or a key below it."""
    return conversation == participant or conversation.startswith(f"{participant}/")
