"""What the functions of `lifelong` give back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict


class Item(TypedDict):
    """One memory item. Keys stand in this order; times are ISO 8601, UTC, blank where there is none."""

    id: int
    text: str
    kind: str
    """One of `memories.rules.KINDS`; blank or another word where a host stored it so."""
    tier: str
    """session: for a while. long_term: until it is pruned."""
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
    """Id of the item in its place; None where it holds."""


class ItemPage(TypedDict):
    """What `search_items` gives."""

    items: list[Item]
    total: int
    """How many there are in all; of very many, how many at least."""
    at_least: NotRequired[bool]
    """There where `total` is not all: more than 10,000 match."""


class ItemVersion(TypedDict):
    """One text an item has had. Keys stand in this order."""

    text: str
    until: str
    """When it was changed, ISO 8601, UTC; blank for the one that holds."""
    reason: str
    changed_by: str


@dataclass(frozen=True, slots=True)
class BulkResult:
    """What became of many items at once."""

    count: int
    """Items that were changed."""
    unknown: tuple[int, ...] = ()
    """Ids there is no item of in the scope."""


class Added(int):
    """How many items were stored: a number, with what became of the others beside it."""

    ids: tuple[int, ...]
    """Ids of the stored ones, in order."""
    merged: int
    """Those that were there already and took over tags, importance and sources."""
    notes: tuple[str, ...]
    reason: str
    """Why nothing was stored, where that is so: privacy, empty, disabled, no_messages, unreadable, busy, model_..."""

    def __new__(
        cls,
        count: int = 0,
        *,
        ids: Iterable[int] = (),
        merged: int = 0,
        notes: Iterable[str] = (),
        reason: str = "",
    ) -> Added:
        result = super().__new__(cls, count)
        result.ids = tuple(ids)
        result.merged = merged
        result.notes = tuple(notes)
        result.reason = reason
        return result


class Pruned(int):
    """How many items were archived, or with `dry_run` would be: a number, with which and why beside it."""

    items: tuple[tuple[int, tuple[str, ...]], ...]
    """Id and reasons: age, importance, expired."""
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
    """What one cycle of consolidation did."""

    stored: int = 0
    pruned: int = 0
    """Items archived: expired session items, and with deep consolidation what was pruned."""
    merged: int = 0
    conversations: int = 0
    """Conversations looked at."""
    reason: str = ""
    """Why nothing came of it, or of a part of it; blank where all went well."""
    deep: bool = False
    """Deep consolidation ran too."""
    queued: tuple[int, ...] = ()
    """Operations put into the queue instead."""
