"""Who sees what: audiences, conversations, participants, and the one statement that works out what a scope sees."""

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
