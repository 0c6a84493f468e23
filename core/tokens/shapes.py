"""What a token is, how it is written, and what is stored of it. Pure."""

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
    personas: str = ""
    """Other personas a host token may speak as, with commas between; `*` for all."""
    expires_at: datetime | None = None
    """When it holds no more unless it is renewed; None for a token that holds until it is revoked."""
    resource: str = ""
    """The one address it is for; blank for every route of its kind."""

    def may_speak_as(self, persona: str) -> bool:
        others = {each.strip() for each in self.personas.split(",")} if self.kind == "host" else set()
        return persona == self.persona or (bool(persona) and ("*" in others or persona in others))

    @property
    def scope(self) -> Scope:
        """Return the scope the token stands for; of a host token the persona's."""
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
    personas: str
    label: str
    resource: str
    """The one address it is for; blank for every route of its kind."""
    created_at: str
    """ISO 8601, UTC."""
    expires_at: str
    """Blank for a token that holds until it is revoked."""
    revoked_at: str
    """Blank while the token holds."""


class NewToken(ListedToken):
    token: str
    """What is sent as `Authorization: Bearer TOKEN`. It is shown this once and stored nowhere."""


_FORM = re.compile(r"pe_([0-9]{1,19})_([A-Za-z0-9_-]{43})")
MOST_ID = 2**63 - 1


def write_token(token_id: int, secret: str) -> str:
    """Return the text of a token, which people and scanners know by its beginning."""
    return f"pe_{token_id}_{secret}"


def read_token_id(text: str) -> int | None:
    """Return the id that a token says of itself, None for what is no token."""
    parts = _FORM.fullmatch(text)
    number = int(parts[1]) if parts else 0
    return number if 0 < number <= MOST_ID else None


def hash_token(text: str) -> bytes:
    """Return what is stored of a token: with 256 random bits in it, one round cannot be turned back."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def is_own_place(conversation: str, participant: str) -> bool:
    """Return whether a conversation is a participant's own by its key alone: the chat with them, or a thread of it."""
    return conversation == participant or conversation.startswith(f"{participant}/")
