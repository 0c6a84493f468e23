"""What the tools answer. Every id is a text of digits, every time ISO 8601 in UTC, blank where there is none."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from ..shapes import WriteResult


class Answer(BaseModel):
    """One answer; nothing stands in it that its schema does not name."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)


class FoundText(Answer):
    """One hit of memory_search."""

    id: str
    source: str = Field(description="memories, ai_diary or chat_history.")
    timestamp: str
    speaker: str = Field(description="Who said it; blank where it is not known.")
    text: str
    tags: list[str]


class SearchAnswer(Answer):
    """Of memory_search."""

    count: int
    hits: list[FoundText] = Field(description="Newest first.")


class WriteAnswer(Answer):
    """Of memory_save, memory_update and memory_delete."""

    done: bool
    id: str = Field(
        description="Of the memory; where it was a duplicate, of the one that says the same; blank without."
    )
    reason: str = Field(description="Why nothing changed: duplicate, privacy, unchanged and so on; blank where it did.")
    notes: list[str]


class ListedMemory(Answer):
    """One memory of memory_list."""

    id: str
    kind: str
    text: str
    speaker: str = Field(description="Key of who said it; blank where it is not known.")
    timestamp: str
    tags: list[str]


class ListAnswer(Answer):
    """Of memory_list."""

    count: int
    total: int = Field(description="How many there are in all.")
    next_offset: int | None = Field(description="Where the next page begins; null at the end.")
    memories: list[ListedMemory] = Field(description="Newest first.")


class SavedLine(Answer):
    """What became of one line of a turn."""

    stored: bool
    id: str
    reason: str = Field(description="Why it was not stored: duplicate, privacy, empty; blank where it was.")


class TurnAnswer(Answer):
    """Of turn_save."""

    user: SavedLine
    assistant: SavedLine
    notes: list[str]


def id_text(value: int | None) -> str:
    """Return an id as it leaves.

    >>> id_text(7), id_text(None)
    ('7', '')
    """
    return "" if value is None else str(value)


def write_answer(result: WriteResult) -> WriteAnswer:
    """Return what a write came to."""
    return WriteAnswer(
        done=result.stored, id=id_text(result.id), reason=result.reason, notes=[str(note) for note in result.notes]
    )


def saved_line(result: WriteResult) -> SavedLine:
    """Return what became of one line."""
    return SavedLine(stored=result.stored, id=id_text(result.id), reason=result.reason)
