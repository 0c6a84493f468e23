"""Forgetting a person or a conversation for good: what would go is shown first, and asked for once more."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response

from ...forgetting import forget
from .formats import words_of
from .names import read_names
from .page import Page, PageError

PARTS: Mapping[str, str] = {
    "chat_history_cache": "Messages",
    "memories": "Memory items",
    "ai_diary": "Diary entries",
    "conversations": "Conversations",
    "participants": "People",
    "user_relationships": "Relationships",
    "relationship_log": "Changes of relationships",
    "message_recaps": "Recaps of messages",
    "message_alternatives": "Other answers to a message",
    "scenes": "Scenes",
    "scene_recaps": "Recaps of scenes",
    "running_recaps": "Running recaps",
    "conversation_summaries": "Summaries of conversations",
    "short_term_memories": "What was said a moment ago",
    "item_history": "Former texts",
    "memory_jobs": "Operations waiting",
    "memory_recalls": "Counts of recalls",
    "tags": "Tags",
}
"""What people call the rows of a table; of the others the table's name is made words."""
_INDEX = ("search_", "counters")
"""Begin the names of tables that are counted in no list: what the search keeps of the rows goes with them."""


def run(page: Page) -> Response:
    """Show what forgetting would take, or, when it is asked for once more, forget."""
    person, conversation = page.field("participant"), page.field("conversation")
    if bool(person) == bool(conversation):
        raise PageError("Nothing was named to forget. Press the button on the screen of a person or conversation.")
    names = read_names(page.db, page.persona, [person], [conversation])
    name = names.person(person) if person else names.place(conversation)
    is_trial = page.field("action") != "forget"
    done = forget(
        participant=person or None, conversation=conversation or None, dry_run=is_trial, **page.asking()
    )  # fmt: skip
    parts: dict[str, int] = {}
    for table, count in done.items():
        if count and not table.startswith(_INDEX):
            parts[PARTS.get(table) or words_of(table)] = count
    return page.render(
        "forget.html.j2",
        title=f"Forget {name}",
        screen="people" if person else "conversations",
        name=name,
        target=("participant", person) if person else ("conversation", conversation),
        done=done,
        parts=sorted(parts.items(), key=lambda part: -part[1]),
        rows=sum(parts.values()),
        is_trial=is_trial,
        flash=None,
    )
