"""How a token is written, and what is kept of it. Pure."""

from __future__ import annotations

import hashlib
import hmac
import re

PREFIX = "pe_"
"""What every token begins with, so that people and scanners know one when they see it."""

_FORM = re.compile(r"pe_([0-9]{1,19})_([A-Za-z0-9_-]{43})")
MOST_ID = 2**63 - 1


def write_token(token_id: int, secret: str) -> str:
    """Return the text of a token."""
    return f"{PREFIX}{token_id}_{secret}"


def read_token_id(text: str) -> int | None:
    """Return the id that a token says of itself, None for what is no token."""
    parts = _FORM.fullmatch(text)
    number = int(parts[1]) if parts else 0
    return number if 0 < number <= MOST_ID else None


def hash_token(text: str) -> bytes:
    """Return what is stored of a token: with 256 random bits in it, one round cannot be turned back."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def is_same_hash(one: bytes, other: bytes) -> bool:
    """Return whether two hashes are equal, in a time that tells nothing of where they differ."""
    return hmac.compare_digest(one, other)


def is_own_place(conversation: str, participant: str) -> bool:
    """Return whether a conversation is a participant's own by its key alone: the chat with them, or a thread of it."""
    return conversation == participant or conversation.startswith(f"{participant}/")
