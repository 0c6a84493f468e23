"""What one call may see: computed by `load`, used by every read of the call."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..scope import Privacy, Scope
from ..shapes import Vocabulary
from .rules import SEPARATE, UNSTATED, AudienceKey


@dataclass(frozen=True, slots=True)
class ConversationFacts:
    """The columns `table_conversations.FACTS` of a stored conversation, as far as visibility needs it."""

    id: int
    key: str
    audience_id: int
    server: str
    state: int
    """How private it is: a value of `rules.STATES`, or UNSTATED."""
    local_only: bool
    direct_person: str | None

    @property
    def is_private(self) -> bool:
        return bool(self.state)

    @property
    def is_separate(self) -> bool:
        return self.state == SEPARATE

    @property
    def is_unstated(self) -> bool:
        """Return whether it is restricted only because its privacy is not known yet."""
        return self.state == UNSTATED


@dataclass(frozen=True, slots=True)
class Viewer:
    """The person asking, the audiences they see, and the facts about these."""

    scope: Scope
    destination: str
    privacy: Privacy
    person: str | None
    """Key of the person speaking, the same for all linked identities."""
    own: AudienceKey
    """Audience of rows written in this scope."""
    audiences: tuple[int, ...]
    """Ids of the audiences seen."""
    conversations: Mapping[str, ConversationFacts] = field(default_factory=dict)
    """Stored conversations asked about: the scope's own, its parent, those of live messages."""

    @property
    def sees_local_only(self) -> bool:
        """Return whether rows marked local_only may enter."""
        return self.destination == "local"

    @property
    def bound(self) -> dict[str, Any]:
        """Return the values that statements bind for the viewer."""
        return {
            "persona": self.scope.persona,
            "audiences": self.audiences,
            "local_only": int(self.sees_local_only),
        }


@dataclass(frozen=True, slots=True)
class Request:
    """What `load_snapshot` reads beside what the scope sees."""

    live_keys: tuple[str, ...] = ()
    """Conversation keys of the host's live messages."""
    vocabulary_version: int | None = None
    """Version of the tag vocabulary the caller holds; the vocabulary is read too when the stored one differs."""
    recent: int = 0
    """How many other conversations of each audience are read, those with the newest messages."""
    inserted_into: tuple[int, ...] = ()
    """Numbers of the sources in which rows that others inserted by SQL are indexed first."""
    servers: bool = False
    """With SERVER_IN_DIRECT the public audiences of servers are seen too: where rows are found, never where they are
    changed."""


@dataclass(frozen=True, slots=True)
class Recent:
    """Another conversation with messages."""

    key: str
    title: str
    local_only: bool


@dataclass(frozen=True, slots=True)
class AccessSnapshot:
    """What `load_snapshot` read."""

    viewer: Viewer
    recent: tuple[Recent, ...] = ()
    """Other conversations that may be seen, newest first."""
    vocabulary_version: int = 0
    vocabulary: Vocabulary | None = None
    """None when the caller's version is the stored one."""
    notes: tuple[str, ...] = ()
    """Notes on rows that are not visible yet, and what to do."""


def is_seen(row: Any, audiences: Collection[int], local: bool) -> bool:
    """Return whether a row that was looked up by its id is there and may be seen."""
    return row is not None and row.audience_id in audiences and (local or not row.local_only)
