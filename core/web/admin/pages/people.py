"""Screens of people and conversations, and forgetting."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import BaseModel
from starlette.responses import Response

from .... import lifelong, messages, relationships, stories
from ....access import overview
from ....access.rules import show_key
from ....forgetting import forget
from ...errors import Refused
from .formats import words_of
from .page import Key, Names, Offset, Page

SIZE = 50
"""Number of rows on one page of a list, and of lines on one page of the log."""
MOST_ITEMS = 25
"""Maximum number of items on a person's screen."""


class ListQuery(BaseModel):
    q: Key = ""
    offset: Offset = 0


def list_people(page: Page) -> Response:
    asked = page.read(ListQuery)
    rows, total = overview.list_people(page.db, page.persona, asked.q, SIZE, asked.offset)
    names = page.read_names(each.person for each in rows)
    return _render_list(page, "people", asked, total, people=rows, names=names)


def list_conversations(page: Page) -> Response:
    asked = page.read(ListQuery)
    rows, total = overview.list_conversations(page.db, page.persona, asked.q, SIZE, asked.offset)
    names = page.read_names([each.person for each in rows], (each.key for each in rows))
    return _render_list(page, "conversations", asked, total, conversations=rows, names=names)


def _render_list(page: Page, screen: str, asked: ListQuery, total: int, **values: Any) -> Response:
    return page.render(f"{screen}.html.j2", screen=screen, size=SIZE, total=total, **asked.model_dump(), **values)


def show_person(page: Page) -> Response:
    key = page.field("key").strip()
    if not key:
        raise Refused(422, "No person was named. Choose one from the list.")
    identities = overview.read_identities(page.db, page.persona, key)
    keys = [each.key for each in identities] or [key]
    items = lifelong.search_items(participant=keys, limit=MOST_ITEMS, **page.operating())
    relationship = relationships.get(key, **page.admin.asking)
    is_met = bool(relationship["last_interaction"] or relationship["affinity"] or relationship["trust"])
    if not identities and not items["total"] and not is_met:
        raise Refused(404, f"Nothing is stored of {key[:80]!r}.")
    name = next((each.name for each in identities if each.name), "") or relationship["username"] or show_key(key)
    instructions = lifelong.search_items(kinds=["instruction"], participant=keys, limit=MOST_ITEMS, **page.operating())
    called = page.name_items(items["items"])
    return page.render(
        "person.html.j2",
        title=name,
        screen="people",
        key=key,
        name=name,
        identities=identities,
        relationship=relationship if is_met else None,
        found=items,
        instructions=instructions["items"],
        statements=[one for one in lifelong.profile(key, **page.operating()) if one["source"] == "chat_history"],
        names=Names({**called.people, key: name}, called.places),
    )


def show_conversation(page: Page) -> Response:
    key, before = page.field("key").strip(), page.row_id("before")
    known = overview.find_conversation(page.db, page.persona, key)
    if known is None:
        raise Refused(404, f"Nothing is stored of the conversation {key[:80]!r}.")
    lines = messages.read_log(page.db, page.persona, key, SIZE + 1, before or None)
    # an operator also sees lines that only a local model may get
    asking = page.admin.asking
    asking["scope"] = replace(asking["scope"], destination="local")
    return page.render(
        "conversation.html.j2",
        title="Conversation",
        screen="conversations",
        conversation=known,
        lines=lines[-SIZE:],
        has_older=len(lines) > SIZE,
        is_newest=not before,
        names=page.read_names([known.person], [key]),
        scenes=stories.list_scenes(key, **asking),
        running=stories.get_running_recap_storage(key, **asking),
    )


PARTS: Mapping[str, str] = {
    "chat_history_cache": "Messages",
    "memories": "Memory items",
    "ai_diary": "Diary entries",
    "participants": "People",
    "user_relationships": "Relationships",
    "memory_jobs": "Operations waiting",
}
"""Labels of the tables on the screen."""
_INDEX = ("search_", "counters")
"""Prefixes of index tables, which are not listed because their entries are deleted with the rows."""


def forget_all(page: Page) -> Response:
    """Show the number of rows that forgetting would delete, or forget them after confirmation."""
    person, conversation = page.field("participant"), page.field("conversation")
    if bool(person) == bool(conversation):
        raise Refused(422, "Nothing was named to forget. Press the button on the screen of a person or conversation.")
    names = page.read_names([person], [conversation])
    name = names.person(person) if person else names.place(conversation)
    is_trial = page.field("action") != "forget"
    done = forget(
        participant=person or None, conversation=conversation or None, dry_run=is_trial, **page.admin.asking
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
    )
