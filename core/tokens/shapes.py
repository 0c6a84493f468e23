"""The shapes of tokens, and their text and hash. Pure."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypedDict

from ..errors import ScopeError
from ..scope import Scope

TokenKind = Literal["scope", "host", "admin"]
"""scope: one participant, with what they may see. host: one persona, for every participant and conversation it names.
admin: the operator's routes, and nothing else."""


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A valid token."""

    id: int
    kind: TokenKind
    persona: str
    """Blank for an admin token."""
    participant: str | None = None
    """None unless it is a scope token."""
    conversation: str | None = None
    """Of a scope token for one conversation, else None."""
    server: str = ""
    label: str = ""
    personas: str = ""
    """Other personas that a host token may speak as, separated by commas; `*` for all."""
    expires_at: datetime | None = None
    """None for a token without expiry."""
    resource: str = ""
    """The only address it is for; blank for every route of its kind."""

    def may_speak_as(self, persona: str) -> bool:
        others = {each.strip() for each in self.personas.split(",")} if self.kind == "host" else set()
        return persona == self.persona or (bool(persona) and ("*" in others or persona in others))

    @property
    def scope(self) -> Scope:
        """Return the token's scope; of a host token the persona's."""
        if self.kind == "admin":
            raise ScopeError("An admin token stands for no persona. Use a host token or a scope token.")
        if self.kind == "scope" and self.conversation is None and not self.server:
            return Scope(self.persona, self.participant, self.participant, privacy="direct")
        return Scope(self.persona, self.conversation, self.participant, self.server)


class ListedToken(TypedDict):
    """A token in lists, without text and hash. The order of keys is part of the contract."""

    id: int
    kind: TokenKind
    persona: str
    participant: str | None
    conversation: str | None
    server: str
    personas: str
    label: str
    resource: str
    """The only address it is for; blank for every route of its kind."""
    created_at: str
    """ISO 8601, UTC."""
    expires_at: str
    """Blank for a token without expiry."""
    revoked_at: str
    """Blank while the token is valid."""


class NewToken(ListedToken):
    token: str
    """Sent as `Authorization: Bearer TOKEN`. Shown only once and stored nowhere."""


_FORM = re.compile(r"pe_([0-9]{1,19})_([A-Za-z0-9_-]{43})")
MOST_ID = 2**63 - 1


def write_token(token_id: int, secret: str) -> str:
    """Return the text of a token, with a prefix that people and secret scanners recognise."""
    return f"pe_{token_id}_{secret}"


def read_token_id(text: str) -> int | None:
    """Return the id in the text of a token; None if the text is no token."""
    parts = _FORM.fullmatch(text)
    number = int(parts[1]) if parts else 0
    return number if 0 < number <= MOST_ID else None


def hash_token(text: str) -> bytes:
    """Return the stored hash of a token; one round suffices for 256 random bits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def is_own_place(conversation: str, participant: str) -> bool:
    """Return whether a conversation's key is the participant's own: their direct chat or a part of it."""
    return conversation == participant or conversation.startswith(f"{participant}/")
