"""The permissions of one call: `load` computes them, and all reads of the call use them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..scope import Privacy, Scope
from ..shapes import Vocabulary
from .rules import SEPARATE, UNSTATED, AudienceKey, stored_privacy


@dataclass(frozen=True, slots=True)
class ConversationFacts:
    """The columns of a stored conversation that decide who may see it (`table_conversations.FACTS`)."""

    id: int
    key: str
    audience_id: int
    server: str
    state: int
    """Privacy as stored: a value of `rules.STATES`, or UNSTATED."""
    local_only: bool
    direct_person: str | None
    consolidated_to: int | None = None
    """Row id up to which the conversation's messages are consolidated; None before the first consolidation."""
    stories_off: bool = False
    """Whether stories are switched off. `load_snapshot` leaves this field and `consolidated_to` at their defaults."""

    @property
    def is_private(self) -> bool:
        return bool(self.state)

    @property
    def privacy(self) -> Privacy:
        return stored_privacy(self.state, self.direct_person)

    @property
    def is_separate(self) -> bool:
        return self.state == SEPARATE

    @property
    def is_unstated(self) -> bool:
        """Return whether the conversation is restricted only because its privacy is not known yet."""
        return self.state == UNSTATED


@dataclass(frozen=True, slots=True)
class Viewer:
    scope: Scope
    destination: str
    privacy: Privacy
    person: str | None
    """Key of the person of the direct message, else of the person asking; linked identities share it."""
    identities: tuple[str, ...]
    """Participant keys of the person asking."""
    own: AudienceKey
    """Audience of rows written in this scope."""
    audiences: tuple[int, ...]
    conversations: Mapping[str, ConversationFacts] = field(default_factory=dict)
    """Stored conversations by key: the scope's own, its parent, and those of live messages."""

    @property
    def sees_local_only(self) -> bool:
        return self.destination == "local"

    @property
    def bound(self) -> dict[str, Any]:
        """Return the parameter values that statements for this viewer bind."""
        return {"persona": self.scope.persona, "audiences": self.audiences, "local_only": int(self.sees_local_only)}


@dataclass(frozen=True, slots=True)
class Request:
    """What `load_snapshot` reads in addition to the visible audiences."""

    live_keys: tuple[str, ...] = ()
    """Conversation keys of the host's live messages."""
    vocabulary_version: int | None = None
    """Vocabulary version that the caller has cached; the tag vocabulary is read if the stored version differs."""
    recent: int = 0
    """Number of other conversations to read for each audience: the conversations with the newest messages."""
    inserted_into: tuple[int, ...] = ()
    """Numbers of the sources whose externally inserted rows are indexed first."""
    is_prompt: bool = False
    """Whether a prompt or search asks: SERVER_IN_DIRECT adds audiences, level `full` allows only public audiences."""


@dataclass(frozen=True, slots=True)
class Recent:
    """A visible conversation with messages, other than the scope's."""

    key: str
    title: str
    local_only: bool


@dataclass(frozen=True, slots=True)
class AccessSnapshot:
    viewer: Viewer
    recent: tuple[Recent, ...] = ()
    """Other visible conversations, newest first."""
    vocabulary_version: int = 0
    vocabulary: Vocabulary | None = None
    """Tag vocabulary; None if the caller's version is current."""
    notes: tuple[str, ...] = ()
    """Notes on rows that are not visible yet, each with a remedy."""


def is_seen(row: Any, audiences: Collection[int], local: bool) -> bool:
    """Return whether a row that was looked up by id exists, is in a visible audience, and may be shown here."""
    return row is not None and row.audience_id in audiences and (local or not row.local_only)
