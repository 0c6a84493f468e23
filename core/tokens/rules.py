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
    """Return the text of a token.

    Args:
        token_id: id of its row.
        secret: 43 characters, 256 random bits.

    >>> write_token(7, "s" * 43)[:8]
    'pe_7_sss'
    """
    return f"{PREFIX}{token_id}_{secret}"


def read_token_id(text: str) -> int | None:
    """Return the id that a token says of itself, None for what is no token.

    >>> read_token_id("pe_7_" + "s" * 43), read_token_id("pe_7_short"), read_token_id("")
    (7, None, None)
    """
    parts = _FORM.fullmatch(text)
    number = int(parts[1]) if parts else 0
    return number if 0 < number <= MOST_ID else None


def hash_token(text: str) -> bytes:
    """Return what is stored of a token: with 256 random bits in it, one round cannot be turned back.

    >>> len(hash_token("pe_7_x"))
    32
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def is_same_hash(one: bytes, other: bytes) -> bool:
    """Return whether two hashes are equal, in a time that tells nothing of where they differ.

    >>> is_same_hash(b"a" * 32, b"a" * 32), is_same_hash(b"a" * 32, b"b" * 32)
    (True, False)
    """
    return hmac.compare_digest(one, other)


def is_own_place(conversation: str, participant: str) -> bool:
    """Return whether a conversation is a participant's own by its key alone: the chat with them, or a thread of it.

    Everything else may be somebody else's, whether it is stored or not, so nothing has to be looked up to refuse it.

    >>> is_own_place("web/ann", "web/ann"), is_own_place("web/ann/2", "web/ann"), is_own_place("web/anna", "web/ann")
    (True, True, False)
    """
    return conversation == participant or conversation.startswith(f"{participant}/")
