"""The memory prompt for hosts that build their own prompts."""

from __future__ import annotations

import html
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC
from functools import partial
from typing import Unpack

from ..base import logs
from ..calls.call import CallOptions, load_viewer, open_call
from ..config import Settings
from ..context.lines import NameLabels
from ..errors import MessageError, StoreError
from ..memories.rules import MODES
from ..shapes import LoadedMemory, RecentConversation
from ..templates.render import Renderer
from ..text import times
from . import table_saved
from .recent import read_recent
from .rules_summaries import format_time
from .saved import read_saved
from .section_recent import RECENT_IN_PROMPT
from .section_saved import choose_saved, write_lines

_escape = partial(html.escape, quote=False)
"""Escapes a text so that it cannot end its part of the prompt."""


def get_user_memory_prompt(**options: Unpack[CallOptions]) -> str | None:
    """Build a text of recent conversations, then saved memories, each between two marker lines; None without both.

    The text has at most 10 conversations, and as many saved memories as SAVED_CHARS allows, oldest first. A part that
    cannot be read is left out and logged.

    Returns:
        A text, in which `<`, `>` and `&` of stored texts are written as entities.
    """
    call = open_call(**options)
    has_recent, has_saved = _switches(call.settings)
    if not has_recent and not has_saved:
        return None
    recent: list[RecentConversation] = []
    saved: list[str] = []
    with _logged("conversations"):
        viewer = load_viewer(call)
        if has_recent:
            with _logged("conversation_summaries"):
                recent = read_recent(call, viewer)
        if has_saved:
            with _logged("memories"):
                rows = choose_saved(table_saved.read_shown(call.db, viewer), (), call.settings)
                zone = times.zone(call.settings.timezone) or UTC
                saved = write_lines(rows, (*viewer.identities, viewer.person), NameLabels(), zone)
    conversations = [
        {"title": _escape(one["title"]), "time": one["time"], "summary": _escape(one["summary"])}
        for one in recent[-RECENT_IN_PROMPT:]
    ]
    now, renderer = format_time(call.db.clock(), call.settings.timezone), Renderer(call.settings.templates_dir)
    return renderer.text("memory.txt.j2", now=now, recent=conversations, saved=[*map(_escape, saved)]).strip() or None


def get_system_prompt_with_memory(base: str, **options: Unpack[CallOptions]) -> str:
    """Return `base`, an empty line and the memory prompt; only `base` if there are no memories.

    Args:
        base: the host's own system prompt.
    """
    if not isinstance(base, str):
        raise MessageError.of_type("base", base, "a text")
    memory = get_user_memory_prompt(**options)
    return base if memory is None else f"{base}\n\n{memory}"


def load_memory(**options: Unpack[CallOptions]) -> LoadedMemory:
    """Return recent conversations and saved memories as data, `{"recent": [...], "saved": [...]}`, each oldest first.

    Returns:
        Always both keys. Without ENABLE_RECENT_CONVERSATIONS `recent` is empty, without ENABLE_SAVED_MEMORY `saved`;
        if MEMORY_MODE is `project`, both are.
    """
    call = open_call(**options)
    recent, saved = _switches(call.settings)
    if not recent and not saved:
        return {"recent": [], "saved": []}
    viewer = load_viewer(call)
    conversations = read_recent(call, viewer) if recent else []
    return {"recent": conversations, "saved": read_saved(call.db, viewer) if saved else []}


def _switches(settings: Settings) -> tuple[bool, bool]:
    """Return (whether recent conversations are read, whether saved memories are read)."""
    reads = MODES[settings.memory_mode].reads
    return reads and settings.enable_recent_conversations, reads and settings.enable_saved_memory


@contextmanager
def _logged(source: str) -> Iterator[None]:
    """Log a read error in the block, so that the prompt is built without this part."""
    try:
        yield
    except StoreError as error:
        logs.warning("memory_part_not_read", source=error.source or source, number=error.number)
