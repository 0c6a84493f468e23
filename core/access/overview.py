"""The public face of the noun: its conversations, people and personas, listed, counted and named."""

from .table_overview import (
    ConversationCount,
    choose_persona,
    count_places,
    find_conversation,
    list_conversations,
    list_keys,
    list_people,
    list_personas,
    read_identities,
    read_names,
    read_titles,
)

__all__ = ["ConversationCount", "choose_persona", "count_places", "find_conversation", "list_conversations",
           "list_keys", "list_people", "list_personas", "read_identities", "read_names", "read_titles"]  # fmt: skip
