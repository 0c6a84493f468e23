"""Answers of the routes, as described in OpenAPI: ids are whole numbers, times ISO 8601 in UTC."""

from typing import Annotated, Any, Self

from pydantic import BaseModel, Field

from ..memories.shapes import ItemVersion
from ..relationships import Relationship
from ..shapes import Hit, ProfileStatement, WriteReason, WriteResult

RowId = Annotated[int, Field(description="A whole number below 2^53.", examples=[7012345678901])]


class DeletedAnswer(BaseModel):
    deleted: int = Field(description="1; 0 if it was already archived.", examples=[1])


class VersionsAnswer(BaseModel):
    versions: list[ItemVersion]


class RelationshipsAnswer(BaseModel):
    relationships: list[Relationship]


class RelationshipChanged(Relationship):
    """Current values of the relationship, and whether the change was stored."""

    stored: bool
    reason: str
    """Why nothing was stored: unchanged, or privacy if nothing may be stored about the person; else ""."""


class PrunedItem(BaseModel):
    id: RowId
    reasons: list[str] = Field(examples=[["age", "importance"]])


class PrunedAnswer(BaseModel):
    """Number of archived items, and the first 1,000 of them."""

    pruned: int = Field(examples=[3])
    notes: list[str]
    items: list[PrunedItem]


class ForgottenAnswer(BaseModel):
    """Number of deleted rows in each table; with `dry_run`, of rows that would be deleted."""

    persona: str
    dry_run: bool
    total: int = Field(description="Number of rows deleted or changed.")
    tables: dict[str, int] = Field(description="Number of rows by table.", examples=[{"memories": 3}])
    operations: int = Field(description="Number of queued operations that rebuild summaries without forgotten texts.")
    files: list[str] = Field(description="Rewritten Markdown files.")
    out_of_reach: list[str] = Field(description="Files to delete by hand, each with a reason.")
    notes: list[str] = Field(description="What is near an unknown target; other personas that know the person.")


class PromptAnswer(BaseModel):
    prompt: dict[str, Any] | None = Field(description="The prompt object; null for other styles than `prompt`.")
    messages: Any = Field(default=None, description="Chat messages in the style asked for; null for `prompt`.")
    report: dict[str, Any] | None = None


class WrittenAnswer(BaseModel):
    """Result of storing, changing or deleting one message or memory."""

    stored: bool = Field(description="Whether something was stored, changed or deleted.")
    id: RowId | None = Field(description="Id of the stored row, or of an equal row stored before.")
    reason: WriteReason = Field(description="Reason why nothing was stored; blank if stored.")
    notes: list[str] = []

    @classmethod
    def of_result(cls, result: WriteResult) -> Self:
        return cls(stored=result.stored, id=result.id, reason=result.reason, notes=list(result.notes))


class SavedAnswer(WrittenAnswer):
    reply: WrittenAnswer | None = None


class SavedMessagesAnswer(BaseModel):
    messages: list[SavedAnswer]


class ProfileAnswer(BaseModel):
    statements: list[ProfileStatement] = Field(description="Memories, newest first, then chat lines, newest first.")


class HitsAnswer(BaseModel):
    hits: list[Hit]
    total: int | None = Field(default=None, description="In mode `all`, the number of matches on all pages.")
    notes: list[str] = Field(description="Notes on the search, such as how many equal texts mode `all` left out.")


class StoredMemoryAnswer(BaseModel):
    id: RowId
