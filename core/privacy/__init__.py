"""Who is the same person, what may be kept of them, how private a conversation is."""

from __future__ import annotations

from typing import Any, TypedDict

from ..calls.call import GivenSettings, find_key, open_call
from ..calls.defaults import clock, settings_for
from ..calls.defaults import scope_of as scope_of_message
from ..context.incoming import IncomingMessage
from ..database.engine import Database
from ..database.rows import yes_no
from ..scope import Privacy, Scope
from . import table_marks, table_people
from .table_people import read_rows as read_rows

__all__ = ["PrivacySet", "link_participants", "scope_of",
           "set_conversation_local_only", "set_conversation_privacy", "set_privacy",
           "unlink_participant"]  # fmt: skip


class PrivacySet(TypedDict):
    """What `set_privacy` gives."""

    level: str
    """What holds for the person: the strictest level of all linked identities."""
    removed: dict[str, int]
    """Rows removed at once, per table."""
    remaining: dict[str, int]
    """Rows of theirs that are stored, per table, for the host to offer forgetting."""


def scope_of(
    message: Any,
    *,
    interface_name: str | None = None,
    context_memory: Any = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> Scope:
    """Return the scope of a host's message; with it, what is saved of this turn is seen where it was said alone.

    `message`, `interface_name` and `context_memory` are as `build_json_prompt` takes them; `scope` gives persona and
    destination, and what the message does not say. No database is asked. A message that cannot be used is a
    MessageError.

    >>> from prompt_engine.privacy import scope_of
    >>> message = {"message_id": 1, "date": None, "chat": {"id": 42}, "from_user": {"id": 7}, "text": "hi"}
    >>> scope = scope_of(message, interface_name="tg")
    >>> scope.conversation, scope.participant
    ('tg/42', 'tg/7')
    """
    known = settings_for(settings)
    read = IncomingMessage.read(message, context_memory=context_memory, interface_name=interface_name, now=clock(db)())
    return scope_of_message(read, scope, known)


def set_conversation_privacy(
    conversation: object,
    privacy: Privacy,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> dict[str, int]:
    """Make a conversation, with its threads, `public`, `direct` or `restricted`; return changed rows per table.

    All rows move in one transaction. It is the only way to make a private conversation public. All counts are 0 where
    it is not known, or is so already. Another word, or a key that does not fit, is a MessageError.

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.conversations import add_saved_memory
    >>> from prompt_engine.privacy import set_conversation_privacy
    >>> db, scope = open_database("sqlite://"), Scope("iris", "tg/42", "tg/7", "s1")
    >>> _ = add_saved_memory("Ann likes tea", db=db, scope=scope)
    >>> set_conversation_privacy("tg/42", "restricted", db=db, scope=scope)["conversations"]
    1
    """
    call = open_call(db, settings, scope)
    return table_marks.set_privacy(call.db, call.scope, find_key(call, conversation), privacy)


def set_conversation_local_only(
    conversation: object,
    local_only: bool = True,
    *,
    items: bool = False,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> dict[str, int]:
    """Let a conversation, with its threads, stay on this machine, or open it again; return changed rows per table.

    What is said in it later, and what is made of it, stays here too. What models elsewhere have been shown, they know.

    Args:
        conversation: its key. One that is not known yet is made where the scope stands in it, before anything is said.
        local_only: False lets it be shown to models elsewhere again.
        items: with `local_only=False`, open its memory items and diary entries too; otherwise they keep their marks,
            some of which may have been given to them alone.

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.privacy import set_conversation_local_only
    >>> db, scope = open_database("sqlite://"), Scope("iris", "tg/42", "tg/7")
    >>> set_conversation_local_only("tg/42", db=db, scope=scope)["conversations"]
    1
    """
    local = bool(yes_no(local_only, "local_only"))
    call = open_call(db, settings, scope)
    key, opens = find_key(call, conversation), bool(yes_no(items, "items"))
    return table_marks.set_local_only(call.db, call.scope, key, local, items=opens)


def link_participants(
    a: object,
    b: object,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> dict[str, int]:
    """Make two participants one person: their direct messages meet, and the stricter privacy level holds for both.

    The person goes by the key `interface/id` of the first. Returns changed rows per table, all 0 where they were linked
    already.

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.privacy import link_participants
    >>> db = open_database("sqlite://")
    >>> [link_participants("tg/7", "discord/ann", db=db, scope=Scope("iris"))["participants"] for _ in range(2)]
    [1, 0]
    """
    call = open_call(db, settings, scope)
    return table_people.link_people(call.db, call.persona, a, b)


def unlink_participant(
    participant: object,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> dict[str, int]:
    """Make a participant (`interface/id`) a person of their own again; their direct messages go with them.

    Returns changed rows per table, all 0 where they were linked to nobody.

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.privacy import link_participants, unlink_participant
    >>> db, scope = open_database("sqlite://"), Scope("iris")
    >>> _ = link_participants("tg/7", "discord/ann", db=db, scope=scope)
    >>> unlink_participant("discord/ann", db=db, scope=scope)["participants"]
    1
    """
    call = open_call(db, settings, scope)
    return table_people.unlink_person(call.db, call.persona, participant)


def set_privacy(
    participant: object,
    level: str,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> PrivacySet:
    """Set what may be kept of a person from the next write on; `full` removes their short-term entries at once.

    Args:
        participant: key `interface/id`.
        level: `none` keeps everything, `partial` nothing for the long term, `full` nothing.

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.conversations import add_saved_memory
    >>> from prompt_engine.privacy import set_privacy
    >>> db, scope = open_database("sqlite://"), Scope("iris", "tg/42", "tg/7")
    >>> set_privacy("tg/7", "full", db=db, scope=scope)["level"]
    'full'
    >>> add_saved_memory("Ann likes tea", db=db, scope=scope).reason
    'privacy'
    """
    call = open_call(db, settings, scope)
    level, removed, remaining = table_people.set_privacy(call.db, call.persona, participant, level)
    return {"level": level, "removed": removed, "remaining": remaining}
