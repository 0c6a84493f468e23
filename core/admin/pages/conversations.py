"""Conversations: all there are, and one with its log, its scenes and its recaps."""

from __future__ import annotations

from dataclasses import replace

from starlette.responses import Response

from ... import stories
from ...audience import table_overview
from ...messages import table_log
from . import form_values
from .names import read_names
from .page import Page, PageError

SIZE = 50
"""Conversations of a page, and lines of a page of the log."""


def listing(page: Page) -> Response:
    """Return a page of conversations, the one spoken in last first."""
    words = page.query("q").strip()
    offset = form_values.parse_offset(page.query("offset"))
    shown, total = table_overview.list_conversations(page.db, page.persona, words, SIZE, offset)
    people = [each.person for each in shown]
    return page.render(
        "conversations.html.j2",
        title="Conversations",
        screen="conversations",
        q=words,
        conversations=shown,
        names=read_names(page.db, page.persona, people, (each.key for each in shown)),
        total=total,
        offset=offset,
        size=SIZE,
        flash=None,
    )


def one(page: Page) -> Response:
    """Return a conversation with what was said in it, newest page first, and what was made of that."""
    key = page.query("key").strip()
    known = table_overview.find_conversation(page.db, page.persona, key)
    if known is None:
        raise PageError(f"Nothing is stored of the conversation {key[:80]!r}.", 404)
    before = form_values.parse_ids([page.query("before")])
    lines = table_log.read_log(page.db, page.persona, key, SIZE + 1, before[0] if before else None)
    # What may go to a model on this machine alone is shown to an operator too.
    asking = page.asking()
    asking["scope"] = replace(asking["scope"], destination="local")
    return page.render(
        "conversation.html.j2",
        title="Conversation",
        screen="conversations",
        conversation=known,
        lines=lines[-SIZE:],
        has_older=len(lines) > SIZE,
        is_newest=not before,
        names=read_names(page.db, page.persona, [known.person], [key]),
        scenes=stories.list_scenes(key, **asking),
        running=stories.get_running_recap_storage(key, **asking),
        flash=None,
    )
