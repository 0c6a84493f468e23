"""Results of the functions of `lifelong`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NotRequired

from typing_extensions import TypedDict  # pydantic reads this one on every Python


class Item(TypedDict):
    """One memory item. The order of keys is fixed; times are ISO 8601, UTC, "" if missing."""

    id: int
    text: str
    kind: str
    """One of `memories.rules.KINDS`; hosts may have stored "" or another word."""
    tier: str
    """session: expires. long_term: stays until it is pruned."""
    importance: float
    tags: list[str]
    emotion: str
    persona: str
    conversation: str | None
    participant: str | None
    timestamp: str
    expires_at: str
    pinned: bool
    provenance: str
    """host, model, extract, manual or import."""
    source_message_ids: list[Any]
    author: str
    source: str
    label: str
    local_only: bool
    metadata: dict[str, Any]
    archived_at: str
    superseded_by: int | None
    """Id of the item or message that replaced or cancelled this item; None if it is current."""


class ItemPage(TypedDict):
    """The result of `search_items`."""

    items: list[Item]
    total: int
    """Number of all matches; a lower bound if `at_least` is set."""
    at_least: NotRequired[bool]
    """Present if more than 10,000 items match."""


class ItemVersion(TypedDict):
    """One text of an item. The order of keys is fixed."""

    text: str
    until: str
    """Time at which the next text replaced this text, ISO 8601, UTC; "" for the current text."""
    reason: str
    changed_by: str


@dataclass(frozen=True, slots=True)
class BulkResult:
    """The result of a bulk change."""

    count: int
    """Number of items that changed."""
    unknown: tuple[int, ...] = ()
    """Ids without an item in the scope."""
    out_of_reach: tuple[str, ...] = field(default=(), repr=False)
    """After purging: files that may still hold the texts, with the reason."""


class Added(int):
    """The number of items stored, with details."""

    ids: tuple[int, ...]
    """Ids of the stored items, in order."""
    merged: int
    """Number of entries merged into an equal existing item, which got their tags, importance and sources."""
    notes: tuple[str, ...]
    reason: str
    """Why not all was stored: privacy, duplicate, empty, disabled, no_messages, unreadable, changed, busy, model_..."""

    def __new__(
        cls, count: int = 0, *, ids: Iterable[int] = (), merged: int = 0, notes: Iterable[str] = (), reason: str = ""
    ) -> Added:
        result = super().__new__(cls, count)
        result.ids = tuple(ids)
        result.merged = merged
        result.notes = tuple(notes)
        result.reason = reason
        return result


class Pruned(int):
    """The number of items archived, or with `dry_run` to be archived, with details."""

    items: tuple[tuple[int, tuple[str, ...]], ...]
    """Id of each item and its reasons: age, importance, expired."""
    notes: tuple[str, ...]

    def __new__(
        cls, count: int = 0, items: Iterable[tuple[int, tuple[str, ...]]] = (), *, notes: Iterable[str] = ()
    ) -> Pruned:
        result = super().__new__(cls, count)
        result.items = tuple(items)
        result.notes = tuple(notes)
        return result


@dataclass(frozen=True, slots=True)
class CycleResult:
    """The result of one cycle of consolidation."""

    stored: int = 0
    pruned: int = 0
    """Number of archived items: expired session items, and those that deep consolidation pruned."""
    merged: int = 0
    conversations: int = 0
    """Number of conversations examined."""
    reason: str = ""
    """Why the cycle stored nothing, or not everything; "" if all went well."""
    deep: bool = False
    """Whether deep consolidation ran, or was queued."""
    queued: tuple[int, ...] = ()
    """Ids of operations queued for a worker instead of running in this call."""
