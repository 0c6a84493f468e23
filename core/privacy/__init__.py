"""Identities of people, what may be stored about them, and the privacy of conversations."""

from __future__ import annotations

from typing import Any, TypedDict, Unpack

from ..access import overview
from ..access.table_participants import full_key, select_identities
from ..calls.call import CallOptions, find_key, open_call
from ..calls.defaults import clock, settings_for
from ..calls.defaults import scope_of as scope_of_message
from ..context.incoming import IncomingMessage
from ..database.rows import yes_no
from ..scope import Privacy, Scope
from . import table_marks, table_people
from .table_marks import PrivacyRow as PrivacyRow
from .table_people import read_rows as read_rows

__all__ = ["Linked", "PrivacyRow", "PrivacySet", "link_participants", "list_privacy", "scope_of",
           "set_conversation_local_only", "set_conversation_privacy", "set_privacy",
           "unlink_participant"]  # fmt: skip


class PrivacySet(TypedDict):
    """The result of `set_privacy`."""

    level: str
    """The level that applies to the person: the strictest of all linked identities."""
    removed: dict[str, int]
    """Rows removed by this call, per table."""
    remaining: dict[str, int]
    """Rows of the person that are still stored, per table; the host can offer to forget them."""


class Linked(dict[str, int]):
    """Number of changed rows per table. `notes` has a sentence for each unknown key."""

    notes: tuple[str, ...] = ()


def scope_of(
    message: Any, *, interface_name: str | None = None, context_memory: Any = None, **options: Unpack[CallOptions]
) -> Scope:
    """Return the scope of a host's message; items saved with it have the audience of the message's conversation.

    `message`, `interface_name` and `context_memory` are as for `build_json_prompt`. `scope` supplies persona,
    destination and values that the message lacks, and may state that the conversation is private. `db` supplies the
    clock. An unusable message raises MessageError.

    >>> from prompt_engine.privacy import scope_of
    >>> message = {"message_id": 1, "date": None, "chat": {"id": 42}, "from_user": {"id": 7}, "text": "hi"}
    >>> scope = scope_of(message, interface_name="tg")
    >>> scope.conversation, scope.participant
    ('tg/42', 'tg/7')
    """
    known = settings_for(options.get("settings"))
    read = IncomingMessage.read(
        message, context_memory=context_memory, interface_name=interface_name, now=clock(options.get("db"))()
    )
    return scope_of_message(read, options.get("scope"), known)


def set_conversation_privacy(conversation: object, privacy: Privacy, **options: Unpack[CallOptions]) -> dict[str, int]:
    """Make a conversation and its threads `public`, `direct`, `separate` or `restricted`; return the number of changed
    rows per table.

    All rows change in one transaction. Only this function makes a private conversation public. All counts are 0 if the
    conversation is unknown or has this privacy already. MessageError is raised for any other `privacy`, for an invalid
    key, and for `restricted` if the conversation is a user's own chat (`tg/7`, `proxy/Ann/attic`).

    >>> from prompt_engine import Scope, conversations, open_database
    >>> from prompt_engine.privacy import set_conversation_privacy
    >>> db, scope = open_database("sqlite://"), Scope("iris", "tg/42", "tg/7", "s1")
    >>> _ = conversations.add_saved_memory("Ann likes tea", db=db, scope=scope)
    >>> set_conversation_privacy("tg/42", "restricted", db=db, scope=scope)["conversations"]
    1
    """
    call = open_call(**options)
    return table_marks.set_privacy(call.db, call.scope, find_key(call, conversation), privacy)


def set_conversation_local_only(
    conversation: object, local_only: bool = True, *, items: bool = False, **options: Unpack[CallOptions]
) -> dict[str, int]:
    """Keep a conversation and its threads on this machine, or release them; return the number of changed rows per
    table.

    The mark also applies to later messages and to everything made from them. Remote models still know what they were
    shown before.

    Args:
        conversation: key of the conversation. An unknown conversation is created if it is the scope's own.
        local_only: False allows remote models to see the conversation again.
        items: with `local_only=False`, release the memory items and diary entries too; by default they stay marked,
            because some may have been marked individually.

    >>> from prompt_engine import Scope, open_database, privacy
    >>> db, scope = open_database("sqlite://"), Scope("iris", "tg/42", "tg/7")
    >>> privacy.set_conversation_local_only("tg/42", db=db, scope=scope)["conversations"]
    1
    """
    local = bool(yes_no(local_only, "local_only"))
    call = open_call(**options)
    key, opens = find_key(call, conversation), bool(yes_no(items, "items"))
    return table_marks.set_local_only(call.db, call.scope, key, local, items=opens)


def link_participants(a: object, b: object, **options: Unpack[CallOptions]) -> Linked:
    """Make two participants one person: their direct messages are shared, and the stricter privacy level applies to
    both.

    Both then have the person key of `a`. Returns the number of changed rows per table, all 0 if they were linked
    already; `notes` name unknown keys, which may be mistyped, and known keys similar to them.

    >>> from prompt_engine import Scope, open_database, privacy
    >>> db = open_database("sqlite://")
    >>> [privacy.link_participants("tg/7", "discord/ann", db=db, scope=Scope("iris"))["participants"] for _ in range(2)]
    [1, 0]
    """
    call = open_call(**options)
    keys = full_key(a, "a"), full_key(b, "b")
    unknown = [k for k in keys if not call.db.read(select_identities(call.persona, k), source="participants")]
    notes = [overview.name_near(call.db, call.persona, "participant", key) for key in unknown]
    done = Linked(table_people.link_people(call.db, call.persona, *keys))
    done.notes = tuple(filter(None, notes))
    return done


def unlink_participant(participant: object, **options: Unpack[CallOptions]) -> dict[str, int]:
    """Make a participant (`interface/id`) a separate person again, with the direct messages of this participant.

    Returns the number of changed rows per table, all 0 if the participant was not linked.

    >>> from prompt_engine import Scope, open_database, privacy
    >>> db, scope = open_database("sqlite://"), Scope("iris")
    >>> _ = privacy.link_participants("tg/7", "discord/ann", db=db, scope=scope)
    >>> privacy.unlink_participant("discord/ann", db=db, scope=scope)["participants"]
    1
    """
    call = open_call(**options)
    return table_people.unlink_person(call.db, call.persona, participant)


def set_privacy(participant: object, level: str, **options: Unpack[CallOptions]) -> PrivacySet:
    """Set what may be stored about a person from now on; `full` also removes short-term entries and quotes in replies.

    Args:
        participant: key `interface/id`.
        level: `none` allows everything, `partial` nothing long-term, `full` nothing.

    >>> from prompt_engine import Scope, conversations, open_database
    >>> from prompt_engine.privacy import set_privacy
    >>> db, scope = open_database("sqlite://"), Scope("iris", "tg/42", "tg/7")
    >>> set_privacy("tg/7", "full", db=db, scope=scope)["level"]
    'full'
    >>> conversations.add_saved_memory("Ann likes tea", db=db, scope=scope).reason
    'privacy'
    """
    call = open_call(**options)
    level, removed, remaining = table_people.set_privacy(call.db, call.persona, participant, level)
    return {"level": level, "removed": removed, "remaining": remaining}


def list_privacy(**options: Unpack[CallOptions]) -> list[PrivacyRow]:
    """Return rows with `user`, `conversation`, `server`, `privacy`, `local_only` and `set_at`: levels of people,
    for all personas, then the conversations that are not public or are local only.

    >>> from prompt_engine import Scope, open_database, privacy
    >>> db, scope = open_database("sqlite://"), Scope("iris")
    >>> _ = privacy.set_privacy("tg/7", "partial", db=db, scope=scope)
    >>> [(row["user"], row["privacy"]) for row in privacy.list_privacy(db=db, scope=scope)]
    [('tg/7', 'partial')]
    """
    call = open_call(**options)
    return table_marks.list_privacy(call.db, call.persona)
