"""What the routes for hosts answer. Every id is a text of digits; times are ISO 8601, UTC."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field

from ..admin.answers import ItemAnswer
from ..shapes import Source, WriteReason, WriteResult

EXACT = 2**53
"""Whole numbers from here on lose digits in clients that know no other number than a double."""

Id = Annotated[str, BeforeValidator(str), Field(pattern="^[0-9]{1,19}$", examples=["7012345678901"])]


def write_ids(value: Any) -> Any:
    """Return plain JSON values with every number that a double cannot hold as a text of digits: ids are such
    numbers.
    """
    if isinstance(value, dict):
        return {key: write_ids(each) for key, each in value.items()}
    if isinstance(value, list):
        return [write_ids(each) for each in value]
    return str(value) if type(value) is int and abs(value) >= EXACT else value


class PromptAnswer(BaseModel):
    """The prompt of a message."""

    prompt: dict[str, Any]
    messages: Any = Field(default=None, description="The prompt as messages of the dialect asked for; else null.")
    report: dict[str, Any] | None = None


class WrittenAnswer(BaseModel):
    """What became of one thing that was to be stored."""

    stored: bool
    id: Id | None = Field(description="Of the row that was stored, or of the one that is there.")
    reason: WriteReason = Field(description="Why nothing new was stored; blank where it was.")
    notes: list[str] = []


class SavedAnswer(WrittenAnswer):
    """What became of a message and of the reply to it."""

    reply: WrittenAnswer | None = None


class SavedMessagesAnswer(BaseModel):
    """What became of each message, in the order they came."""

    messages: list[SavedAnswer]


class HitAnswer(BaseModel):
    """One found row."""

    source: Source
    id: Id
    timestamp: str
    snippet: str
    tags: list[str]
    speaker: str | None = None


class HitsAnswer(BaseModel):
    """What was found."""

    hits: list[HitAnswer]


class MemoryAnswer(ItemAnswer):
    """One memory item."""

    id: Id  # type: ignore[assignment]
    superseded_by: Id | None = Field(default=None, description="Id of the item in its place.")  # type: ignore[assignment]


class MemoriesAnswer(BaseModel):
    """A page of items, newest first."""

    items: list[MemoryAnswer]
    total: int
    at_least: bool = Field(default=False, description="There may be more than `total`.")


class StoredMemoryAnswer(BaseModel):
    """A memory that was stored."""

    id: Id


class DeletedAnswer(BaseModel):
    """What became of one item."""

    deleted: int = Field(description="1, or 0 where it was archived before.", examples=[1])


def build_written(result: WriteResult) -> dict[str, Any]:
    """Return what a write did, as it is answered."""
    return {"stored": result.stored, "id": result.id, "reason": result.reason, "notes": list(result.notes)}
