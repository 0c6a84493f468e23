"""The memory prompt for hosts that build their own prompts; what is saved before the model answers.

`before_generation` is called by `prompt.pipeline` once a message is read, in mode plus alone; what became of the
call stands in the report under `memory_tool`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..audience.view import Viewer
from ..base import logs
from ..config import Settings
from ..database.engine import Database
from ..errors import StoreError
from ..memories.rules_modes import MODES, asked_before, is_tool_offered
from ..scope import Scope
from ..shapes import LoadedMemory, RecentConversation, SavedMemory
from ..templates.phrases import load_phrases
from ..templates.render import Renderer
from . import recent as recent_conversations
from . import saved as saved_memories
from .rules_summaries import as_entities, shown_time
from .rules_tool_calls import NAME

TEMPLATE = "memory.txt.j2"
ACCOUNT = "memory_tool"
"""Key of the report."""
Rows = TypeVar("Rows")


# Reading


def load(db: Database, settings: Settings, scope: Scope) -> LoadedMemory:
    """Return both lists as data; a list that is switched off, or that the mode does not read, is empty.

    Raises:
        StoreReadError: nothing could be read.
    """
    recent, saved = _wanted(settings)
    if not recent and not saved:
        return {"recent": [], "saved": []}
    viewer = recent_conversations.viewer_of(db, settings, scope)
    return {
        "recent": recent_conversations.listed(db, settings, viewer) if recent else [],
        "saved": saved_memories.listed(db, viewer) if saved else [],
    }


def text(db: Database, settings: Settings, scope: Scope) -> str | None:
    """Return the memory prompt, None where nothing is to be shown; a part that cannot be read is absent."""
    recent, saved = _wanted(settings)
    if not recent and not saved:
        return None
    nobody: Viewer | None = None
    viewer = _part("conversations", lambda: recent_conversations.viewer_of(db, settings, scope), nobody)
    if viewer is None:
        return None
    no_recent: list[RecentConversation] = []
    no_saved: list[SavedMemory] = []
    if recent and settings.recent_in_prompt:
        found = _part("conversation_summaries", lambda: recent_conversations.listed(db, settings, viewer), no_recent)
        no_recent = found[-settings.recent_in_prompt :]
    if saved and settings.saved_in_prompt:
        no_saved = _part("memories", lambda: saved_memories.listed(db, viewer), no_saved)[-settings.saved_in_prompt :]
    made = _rendered(settings, shown_time(db.clock(), settings.timezone), no_recent, no_saved)
    return made or None


def _wanted(settings: Settings) -> tuple[bool, bool]:
    """Return whether recent conversations and saved memories are read at all; each has a switch of its own."""
    reads = MODES[settings.memory_mode].reads
    return reads and settings.enable_recent_conversations, reads and settings.enable_saved_memory


def _part(source: str, read: Callable[[], Rows], otherwise: Rows) -> Rows:
    """Return what is read, `otherwise` with one warning where it cannot be."""
    try:
        return read()
    except StoreError as error:
        logs.warning("memory_part_not_read", source=error.source or source, number=error.number)
        return otherwise


def _rendered(settings: Settings, now: str, recent: Sequence[RecentConversation], saved: Sequence[SavedMemory]) -> str:
    """Return the parts that have something in them, every stored text with its brackets as entities."""
    renderer = Renderer(settings.templates_dir, settings.template_steps)
    conversations: list[dict[str, Any]] = [
        {name: as_entities(one[name]) for name in ("title", "time", "summary")} for one in recent
    ]
    made = renderer.text(TEMPLATE, now=now, recent=conversations, saved=[as_entities(one["text"]) for one in saved])
    return made.strip()


# Saving before the model answers


def before_generation(db: Database, settings: Settings, scope: Scope, said: str) -> dict[str, Any] | None:
    """Save what the message asks to save, and return an account of it; None where it asks nothing, or in another mode.

    Returns:
        `{call, by, stored, id, reason}`: `by` is `@memory` or `phrase`. Never a text that was said.

    Raises:
        StoreWriteError: it was asked for and could not be saved.
    """
    if MODES[settings.memory_mode].how != "before":
        return None
    if not is_tool_offered(settings.memory_mode, settings.enable_saved_memory, NAME, settings.enabled_tool_ids):
        return None
    asked = asked_before(said, load_phrases(settings.languages, settings.remember_phrases))
    if asked is None:
        return None
    content, by = asked
    result = saved_memories.add(db, settings, scope, content)
    return {"call": NAME, "by": by, "stored": result.stored, "id": result.id, "reason": result.reason}
