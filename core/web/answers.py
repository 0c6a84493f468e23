"""Answers of the routes, as described in OpenAPI: ids are whole numbers, times ISO 8601 in UTC."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BaseModel, Field, PlainSerializer

from ..access.rules import AudienceKind
from ..shapes import Source, StatementKind, WriteReason, WriteResult

RowId = Annotated[int, Field(description="A whole number below 2^53.", examples=[7012345678901])]
FileId = Annotated[str | int | None, PlainSerializer(lambda uid: uid and str(uid), return_type=str | None)]


class ItemAnswer(BaseModel):
    id: RowId
    text: str = Field(examples=["The cat is called Tofu."])
    kind: str = Field(description="A built-in kind, or another one stored by a host.", examples=["FactsAboutUser"])
    tier: str = Field(description="session: expires. long_term: stays until pruned.", examples=["long_term"])
    importance: float = Field(description="Importance, 0 to 1.", examples=[0.5])
    tags: list[str] = Field(examples=[["cat", "tofu"]])
    emotion: str
    persona: str = Field(examples=["default"])
    conversation: str | None = Field(examples=["telegram_bot/42"])
    participant: str | None = Field(examples=["telegram_bot/u1"])
    timestamp: str = Field(examples=["2026-03-10T12:00:00+00:00"])
    expires_at: str
    pinned: bool
    provenance: str = Field(description="Origin: host, model, extract, manual or import.", examples=["host"])
    source_message_ids: list[Any]
    author: str
    source: str
    label: str
    local_only: bool
    metadata: dict[str, Any]
    archived_at: str = Field(description="Time of archiving; blank if active.")
    superseded_by: RowId | None = Field(description="Id of the item that replaces it.")


class ItemPageAnswer(BaseModel):
    items: list[ItemAnswer]
    total: int = Field(description="Number of matching items; a minimum if `at_least` is true.", examples=[1])
    at_least: bool = Field(default=False, description="Whether there may be more than `total`.")


class DeletedAnswer(BaseModel):
    deleted: int = Field(description="1; 0 if it was already archived.", examples=[1])


class VersionAnswer(BaseModel):
    text: str
    until: str = Field(description="Time of the change; blank for the current version.")
    reason: str
    changed_by: str


class VersionsAnswer(BaseModel):
    versions: list[VersionAnswer]


class RelationshipAnswer(BaseModel):
    """Relationship of the persona to a person, decayed up to now; zeros for an unknown person."""

    user_id: str = Field(examples=["telegram_bot/u1"])
    username: str = Field(examples=["Ann"])
    realname: str
    affinity: int = Field(description="Affinity, -100 to 100.", examples=[5])
    trust: int = Field(description="Trust, 0 to 100.", examples=[0])
    interaction_count: int
    last_interaction: str | None


class RelationshipChanged(RelationshipAnswer):
    """Present values of the relationship, and whether something was stored."""

    stored: bool
    reason: str = Field(description="unchanged; privacy, if nothing may be stored about the person; else blank.")


class RelationshipsAnswer(BaseModel):
    relationships: list[RelationshipAnswer]


class ImportProblem(BaseModel):
    """A refused row of a file. Quotes nothing of its text."""

    row: int = Field(description="1-based position in the list, or line number.", examples=[3])
    reason: str = Field(examples=["kind is 'Nope'. It must be one of FactsAboutUser, PastEvents, ..."])
    uid: FileId = Field(default=None, description="Id of the item in the file.")


class ImportAnswer(BaseModel):
    """Result of an import, or of its dry run."""

    format: str = Field(examples=["items"])
    imported: int = Field(examples=[1])
    skipped: int = Field(description="Number of blank items and duplicates.", examples=[1])
    duplicates: int = Field(description="Number of items that were stored before; part of `skipped`.")
    errors: list[ImportProblem] = Field(description="The first 1,000 refused rows.")
    error_count: int
    notes: list[str]
    dry_run: bool


class PrunedItem(BaseModel):
    id: RowId
    reasons: list[str] = Field(examples=[["age", "importance"]])


class PrunedAnswer(BaseModel):
    """Number of archived items, or with dry_run of items that would be archived, and the first 1,000 of them."""

    pruned: int = Field(examples=[3])
    notes: list[str]
    items: list[PrunedItem]
    dry_run: bool = False


class ForgottenAnswer(BaseModel):
    """Number of rows deleted for good, or with dry_run of rows that would be, by table."""

    persona: str
    dry_run: bool
    total: int = Field(description="Number of rows deleted or changed.")
    tables: dict[str, int] = Field(description="Number of rows by table.", examples=[{"memories": 3}])
    operations: int = Field(description="Number of queued operations that rebuild summaries without forgotten texts.")
    files: list[str] = Field(description="Rewritten Markdown files.")
    out_of_reach: list[str] = Field(description="Files to delete by hand, each with a reason.")
    notes: list[str] = Field(description="If nothing is known of the target: what is near it.")


# The API for hosts


class PromptAnswer(BaseModel):
    prompt: dict[str, Any]
    messages: Any = Field(default=None, description="The prompt as messages in the style asked for; null for `prompt`.")
    report: dict[str, Any] | None = None


class WrittenAnswer(BaseModel):
    """Result of storing one message or memory."""

    stored: bool
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


class HitAnswer(BaseModel):
    source: Source
    id: RowId
    timestamp: str
    snippet: str
    tags: list[str]
    speaker: str | None = None


class StatementAnswer(BaseModel):
    source: Source
    id: RowId
    text: str = Field(examples=["I play the cello in a quartet."])
    about: list[StatementKind]
    timestamp: str
    conversation: str
    seen_by: AudienceKind


class ProfileAnswer(BaseModel):
    statements: list[StatementAnswer] = Field(description="Memories, newest first, then chat lines, newest first.")


class HitsAnswer(BaseModel):
    hits: list[HitAnswer]


class StoredMemoryAnswer(BaseModel):
    id: RowId
