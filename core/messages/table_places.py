"""Where a conversation belongs, as far as stories need it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import bindparam, select

from ..database.readers import Reader
from ..database.schema import conversations

_C = conversations.c
_ONE = select(_C.id, _C.audience_id, _C.stories_off, _C.local_only).where(
    _C.persona_id == bindparam("persona"), _C.conversation_key == bindparam("conversation")
)


@dataclass(frozen=True, slots=True)
class StoryPlace:
    """A stored conversation."""

    id: int
    audience_id: int
    stories_off: bool
    local_only: bool


def find(read: Reader, persona: str, conversation: str) -> StoryPlace | None:
    """Return the stored row of a conversation, None where there is none."""
    for r in read(_ONE, {"persona": persona, "conversation": conversation}):
        return StoryPlace(r.id, r.audience_id, bool(r.stories_off), bool(r.local_only))
    return None
