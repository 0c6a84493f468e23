"""A new memory item: the host's values, checked once."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from ..database import rows
from ..scope import key_text
from ..tags import rules as tag_rules
from ..text.folding import fold
from ..text.hits import content_digest
from ..text.times import read_time_or_now
from .rules import DEFAULT_IMPORTANCE, Tier, check_choice, importance_of

Provenance = Literal["host", "model", "extract", "manual", "import"]


@dataclass(frozen=True, slots=True)
class NewMemory:
    content: str
    at: datetime
    response_text: str | None = None
    author: str = ""
    source: str = ""
    tags: tuple[str, ...] = ()
    label: str = "general"
    emotion: str | None = None
    intensity: int | None = None
    emotion_state: str | None = None
    tier: Tier = "long_term"
    kind: str = ""
    importance: float = DEFAULT_IMPORTANCE
    pinned: int = 0
    local_only: int = 0
    source_message_ids: Any = None
    provenance: Provenance = "host"
    expires_at: datetime | None = None
    metadata: Any = None
    dropped_tags: int = 0
    notes: tuple[str, ...] = ()
    folded: str = field(init=False, repr=False)
    digest: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "folded", fold(self.content))
        object.__setattr__(self, "digest", content_digest(self.content))
        rows.check_size(self.folded, "content in its folded form")


def read(
    content: object,
    *,
    now: datetime,
    author: object = None,
    source: object = None,
    tags: object = None,
    label: object = "general",
    emotion: object = None,
    intensity: object = None,
    emotion_state: object = None,
    timestamp: object = None,
    response_text: object = None,
    tier: Tier = "long_term",
    kind: object = "",
    provenance: Provenance = "host",
    importance: object = None,
    pinned: object = False,
    local_only: object = False,
    source_message_ids: object = None,
    expires_at: object = None,
    metadata: object = None,
) -> NewMemory | None:
    """Return the item to store, or None if its content is blank."""
    said = rows.text(content, "content")
    if not said.strip():
        return None
    kept, dropped = tag_rules.stored_form(tags)
    notes = [f"a tag of {size} bytes was left out; at most {tag_rules.TAG_BYTES} are stored" for size in dropped]
    check_choice(tier, "tier", Tier)
    check_choice(provenance, "provenance", Provenance)
    return NewMemory(
        content=said,
        at=read_time_or_now(timestamp, "timestamp", now, notes),
        response_text=None if response_text is None else rows.text(response_text, "response_text"),
        author=rows.name(author, "author", 100, notes),
        source=rows.name(source, "source", 100, notes),
        tags=tuple(kept),
        label=rows.name(label, "label", 50, notes) or "general",
        emotion=None if emotion is None else rows.name(emotion, "emotion", 50, notes),
        intensity=rows.number(intensity, "intensity"),
        emotion_state=None if emotion_state is None else rows.name(emotion_state, "emotion_state", 50, notes),
        tier=tier,
        kind=key_text(kind or "", "kind", 20),
        importance=_importance(importance, notes),
        pinned=rows.yes_no(pinned, "pinned"),
        local_only=rows.yes_no(local_only, "local_only"),
        source_message_ids=rows.json_value(source_message_ids, "source_message_ids", notes),
        provenance=provenance,
        expires_at=None if expires_at is None else read_time_or_now(expires_at, "expires_at", now, notes),
        metadata=rows.json_value(metadata, "metadata", notes),
        dropped_tags=len(dropped),
        notes=tuple(notes),
    )


def _importance(value: object, notes: list[str]) -> float:
    importance = importance_of(value)
    if value is not None and importance != value:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and value == value
        notes.append(f"importance {'lies outside 0 to 1' if is_number else 'is no number'}; {importance:g} is used")
    return importance
