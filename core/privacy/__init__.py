"""DOOR: who is the same person, what may be kept of them, how private a conversation is, what is quarantined."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from ..base import logs
from ..calls.defaults import clock, handle, known_settings, scope_for, settings_for
from ..calls.defaults import scope_of as scope_of_message
from ..calls.screening import set_screen
from ..config import Settings
from ..context.incoming import read_message
from ..database.engine import Database
from ..database.rows import yes_no
from ..memories.rules import read_id
from ..scope import Privacy, Scope
from ..search.rules_arguments import read_limit
from ..shapes import Source
from ..short_term import cache as short_term_cache
from ..text.hits import snippet
from . import table_levels
from . import table_links as linking
from . import table_marks as conversation_marks
from . import table_quarantine as quarantine

__all__ = ["PrivacySet", "QuarantinedItem", "link_participants", "list_quarantined", "release", "scope_of",
           "set_conversation_local_only", "set_conversation_privacy", "set_privacy", "set_screen",
           "unlink_participant"]  # fmt: skip


class PrivacySet(TypedDict):
    """What `set_privacy` gives."""

    level: str
    """What holds for the person: the strictest level of all linked identities."""
    removed: dict[str, int]
    """Rows removed at once, per table."""
    remaining: dict[str, int]
    """Rows of theirs that are stored, per table, for the host to offer forgetting."""


class QuarantinedItem(TypedDict):
    """One flagged row, for an operator."""

    source: Source
    id: int
    timestamp: str
    """ISO 8601, UTC; blank when it cannot be read."""
    snippet: str


def scope_of(
    message: Any,
    *,
    interface_name: str | None = None,
    context_memory: Any = None,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> Scope:
    """Return the scope of a host's message; with it, what is saved of this turn is seen where it was said alone.

    Args:
        message: as for `build_json_prompt`.
        interface_name, context_memory: as for `build_json_prompt`.
        scope: gives persona and destination, and what the message does not say; the one of `use_scope` by default.

    Returns:
        Conversation, participant, server and privacy as `build_json_prompt` takes them from the message. No database is
        asked.

    Raises:
        MessageError: the message cannot be used.
    """
    known = known_settings(settings, db)
    now = db.clock if db is not None else clock()
    read = read_message(message, context_memory=context_memory, interface_name=interface_name, now=now())
    return scope_of_message(read, scope, known)


def set_conversation_privacy(
    conversation: object,
    privacy: Privacy,
    *,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> dict[str, int]:
    """Make a conversation, with its threads, public, direct or restricted, all its rows in one transaction.

    It is the only way to make a private conversation public.

    Args:
        conversation: its key.
        privacy: `public`: seen in its server. `direct`: with one person. `restricted`: seen in itself alone.

    Returns:
        Changed rows per table: conversations, chat_history_cache, memories, ai_diary, conversation_summaries,
        short_term_memories. All 0: it is not known, or is so already.

    Raises:
        MessageError: another word, or a key that does not fit.
        StoreWriteError: nothing was changed.
    """
    db = handle(db)
    scope = scope_for(scope, settings_for(settings, db))
    return conversation_marks.set_privacy(db, scope, conversation, privacy)


def set_conversation_local_only(
    conversation: object,
    local_only: bool = True,
    *,
    items: bool = False,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> dict[str, int]:
    """Let a conversation, with its threads, stay on this machine, or open it again; all its rows in one transaction.

    What is said in it later, and what is made of it, stays here too. What models elsewhere have been shown, they know.

    Args:
        conversation: its key. One that is not known yet is made where the scope stands in it, before anything is said.
        local_only: False lets it be shown to models elsewhere again.
        items: with `local_only=False`, open its memory items and diary entries too; otherwise they keep their marks,
            some of which may have been given to them alone.

    Returns:
        Changed rows per table: conversations, chat_history_cache, memories, ai_diary, conversation_summaries,
        short_term_memories. All 0: it is not known, or is so already.

    Raises:
        MessageError: a key that does not fit, or a mark that is neither True nor False.
        StoreWriteError: nothing was changed.
    """
    local = bool(yes_no(local_only, "local_only"))
    db = handle(db)
    scope = scope_for(scope, settings_for(settings, db))
    return conversation_marks.set_local_only(db, scope, conversation, local, items=bool(yes_no(items, "items")))


def link_participants(
    a: object,
    b: object,
    *,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> dict[str, int]:
    """Make two participants one person: their direct messages meet, and the stricter privacy level holds for both.

    Args:
        a: participant key `interface/id`; the person goes by the key of this one.
        b: the other.

    Returns:
        Changed rows per table; all 0 where they were linked already.

    Raises:
        MessageError: a key that is blank or does not fit.
        StoreWriteError: nothing was changed.
    """
    db = handle(db)
    return linking.link(db, scope_for(scope, settings_for(settings, db)).persona, a, b)


def unlink_participant(
    participant: object,
    *,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> dict[str, int]:
    """Make a participant a person of their own again; their direct messages go with them.

    Returns:
        Changed rows per table; all 0 where they were linked to nobody.
    """
    db = handle(db)
    return linking.unlink(db, scope_for(scope, settings_for(settings, db)).persona, participant)


def set_privacy(
    participant: object,
    level: str,
    *,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> PrivacySet:
    """Set what may be kept of a person from the next write on; `full` removes their short-term entries at once.

    Args:
        participant: key `interface/id`.
        level: `none` keeps everything, `partial` nothing for the long term, `full` nothing.

    Raises:
        MessageError: another level, a key that is blank or does not fit.
        StoreWriteError: nothing was changed.
    """
    db = handle(db)
    persona = scope_for(scope, settings_for(settings, db)).persona
    found = table_levels.set_privacy(db, persona, participant, level)
    if found["level"] == "full":
        short_term_cache.of(db).drop(persona)
    return {"level": found["level"], "removed": found["removed"], "remaining": found["remaining"]}


def list_quarantined(
    limit: object = 100,
    *,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> list[QuarantinedItem]:
    """Return what the screening hook has flagged of the scope's persona, newest first, for an operator.

    Raises:
        StoreReadError: nothing could be read.
    """
    db = handle(db)
    settings = settings_for(settings, db)
    most, note = read_limit(limit, 100, 1, 10_000)
    if note:
        logs.warning("list_quarantined_limit", note=note)
    return [
        {
            "source": each.source,
            "id": each.id,
            "timestamp": each.at.isoformat() if each.at else "",
            "snippet": snippet(each.text, settings.snippet_chars),
        }
        for each in quarantine.found(db, scope_for(scope, settings).persona, most)
    ]


def release(
    source: Source,
    id: int,  # noqa: A002 - the key of the listing
    *,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> bool:
    """Let a flagged row be found; False where there is none.

    Raises:
        ValueError: a source that has no flagged rows by its nature; names those that have.
        MessageError: an id that is no whole number.
        StoreWriteError: nothing was changed.
    """
    if source not in ("memories", "ai_diary"):
        raise ValueError(f"source is {str(source)[:40]!r}. It must be 'memories' or 'ai_diary'.")
    db = handle(db)
    return quarantine.release(db, scope_for(scope, settings_for(settings, db)).persona, source, read_id(id))
