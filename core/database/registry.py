"""Every table in one list: which of its columns hold texts, and how rows of somebody are found in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Scoped = Literal["persona", "audience", "none"]
"""persona: has a persona_id of its own. audience: part of the search index, made of other rows, by audience_id. none:
about the database or a participant of any persona."""


@dataclass(frozen=True, slots=True)
class Registered:
    """How a table is read for a person, a conversation, a persona."""

    table: str
    scoped: Scoped
    texts: tuple[str, ...] = ()
    """Columns that hold what people or models wrote, or words of it: where a canary must not be after forgetting."""
    participant: tuple[str, ...] = ()
    """Key columns that name a participant; a row in which one of them is theirs is found by it."""
    conversation: tuple[str, ...] = ()
    """Columns that name the conversation: one holds its key; three are interface, chat id and thread id."""
    row_of: str = ""
    """Column with the id of a row elsewhere, with which this row goes: `row_table` says of which table."""
    row_table: str = ""
    """Table that `row_of` leads to."""

    @property
    def persona(self) -> str:
        """Return the column by which rows of a persona are found; blank where rows are nobody's."""
        return {"persona": "persona_id", "audience": "audience_id", "none": ""}[self.scoped]


REGISTRY: tuple[Registered, ...] = (
    Registered("audiences", "persona", participant=("ref",), conversation=("ref",)),
    Registered(
        "conversations",
        "persona",
        texts=("server_name", "title", "metadata"),
        participant=("direct_person_key",),
        conversation=("conversation_key",),
    ),
    Registered("participants", "persona", texts=("display_name",), participant=("participant_key", "person_key")),
    Registered("privacy_levels", "none", participant=("participant_key",)),
    Registered(
        "chat_history_cache",
        "persona",
        texts=("sender_name", "message_text", "text_folded", "metadata"),
        participant=("participant_key", "triggered_by"),
        conversation=("interface_path",),
    ),
    Registered(
        "memories",
        "persona",
        texts=(
            "content",
            "text_folded",
            "response_text",
            "author",
            "source",
            "tags",
            "scope",
            "emotion",
            "emotion_state",
            "source_message_ids",
            "metadata",
        ),
        participant=("participant_key",),
        conversation=("conversation_key",),
    ),
    Registered(
        "ai_diary",
        "persona",
        texts=(
            "content",
            "personal_thought",
            "interaction_summary",
            "user_message",
            "text_folded",
            "emotions",
            "context_tags",
            "involved_users",
            "source_message_ids",
            "participant_keys",
        ),
        conversation=("interface", "chat_id", "thread_id"),
    ),
    Registered("tags", "persona", texts=("tag",)),
    Registered("tag_aliases", "persona", texts=("alias", "tag")),
    Registered("tag_links", "persona", texts=("tag", "related_tag")),
    Registered("search_fresh", "audience"),
    Registered("search_segment", "audience"),
    Registered("search_block", "audience", texts=("term",)),
    Registered("search_gone", "audience"),
    Registered("counters", "persona"),
    Registered(
        "message_recaps",
        "persona",
        texts=("memory", "include", "data"),
        conversation=("conversation_key",),
        row_of="message_row",
        row_table="chat_history_cache",
    ),
    Registered(
        "message_alternatives",
        "persona",
        texts=("text", "metadata"),
        row_of="message_row",
        row_table="chat_history_cache",
    ),
    Registered(
        "scenes",
        "persona",
        texts=("name",),
        conversation=("conversation_key",),
        row_of="break_row",
        row_table="chat_history_cache",
    ),
    Registered("scene_recaps", "persona", texts=("content", "metadata"), row_of="scene_id", row_table="scenes"),
    Registered("running_recaps", "persona", texts=("content", "data"), conversation=("conversation_key",)),
    Registered(
        "memory_jobs",
        "persona",
        texts=("payload", "depends_on", "error"),
        participant=("participant_key",),
        conversation=("conversation_key",),
    ),
    Registered("conversation_summaries", "persona", texts=("title", "summary"), conversation=("conversation_key",)),
    Registered(
        "item_history", "persona", texts=("old_text", "reason", "changed_by"), row_of="item_id", row_table="memories"
    ),
    Registered(
        "short_term_memories",
        "persona",
        texts=("server_name", "channel_name", "messages", "summary"),
        participant=("participant_key",),
        conversation=("channel_id",),
    ),
    Registered("user_relationships", "persona", texts=("username", "realname"), participant=("user_id",)),
    Registered("consolidation_runs", "persona", texts=("reason", "error"), conversation=("conversation_key",)),
    Registered("search_vector", "audience"),
    Registered("search_vector_version", "audience"),
    Registered("search_vector_gone", "audience"),
    Registered(
        "access_tokens",
        "persona",
        texts=("label", "personas"),
        participant=("participant_key",),
        conversation=("conversation_key",),
    ),
    Registered("model_usage", "none"),
    Registered(
        "stored_values",
        "persona",
        texts=("value",),
        participant=("participant_key",),
        conversation=("conversation_key",),
        row_of="memory_id",
        row_table="memories",
    ),
    Registered("schema_version", "none"),
)

BY_TABLE: dict[str, Registered] = {entry.table: entry for entry in REGISTRY}
