"""What every door of stories begins with: handle, settings, scope, and the conversation or message that is meant.

A conversation that the scope does not see is as if it were not there. A scope that names no conversation reads and
changes the one asked for in that conversation's own right, as in `chat_history_cache`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..audience.view import Request
from ..audience.view_statement import look
from ..calls.defaults import handle, scope_for, settings_for
from ..config import Settings
from ..database import readers
from ..database.engine import Database
from ..database.readers import Reader
from ..errors import MessageError
from ..messages import table_lines
from ..messages import table_reading as chat_reading
from ..messages.table_lines import StoryPlace
from ..scope import KEY_BYTES, Scope, key_text
from ..shapes import WriteResult

Given = Settings | Mapping[str, object] | None

NO_MESSAGE = WriteResult(False, None, "unchanged", notes=("there is no such message",))
NO_CONVERSATION = WriteResult(False, None, "unchanged", notes=("there is no such conversation",))


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a door."""

    db: Database
    settings: Settings
    scope: Scope
    """Its conversation is the one that is meant."""
    place: StoryPlace | None
    """The stored conversation; None where there is none, or none the caller sees."""
    audiences: tuple[int, ...] = ()
    """Those the caller sees."""
    row_id: int | None = None
    """The message that is meant; None where there is none, or none the caller sees."""
    stays_here: bool = False
    """The conversation is local_only and the destination is not."""

    @property
    def persona(self) -> str:
        """Return the persona."""
        return self.scope.persona

    @property
    def conversation(self) -> str:
        """Return the key of the conversation."""
        return self.scope.conversation or ""

    def handed_out(self) -> Call:
        """Return the call for a door that hands out texts: what may not leave this machine is not there."""
        return replace(self, place=None, row_id=None) if self.stays_here else self

    def reader(self, source: str = "message_recaps") -> Reader:
        """Return what reads from the handle."""
        return readers.of(self.db, source)


def of_conversation(conversation: object, db: Database | None, settings: Given, scope: Scope | None) -> Call:
    """Return a call about a conversation.

    Args:
        conversation: its key; None is the scope's own.

    Raises:
        MessageError: no key is given and the scope names none, or the key cannot be one.
        StoreReadError: nothing could be read.
    """
    db = handle(db)
    known = settings_for(settings, db)
    asking = scope_for(scope, known)
    if conversation is None:
        conversation = asking.conversation
    if conversation is None:
        raise MessageError(
            "conversation is None, and the scope names none. Pass its key `interface/chat[/thread]`, or a Scope "
            "with it.",
            fields=("conversation",),
        )
    key = key_text(conversation, "conversation", KEY_BYTES["conversation"], required=True)
    return _seen(db, known, asking, key)


def of_message(
    message: object, interface_path: object, db: Database | None, settings: Given, scope: Scope | None
) -> Call:
    """Return a call about a message.

    Args:
        message: the row id that saving returned; with `interface_path` the platform's message id.

    Raises:
        MessageError: a value that can be neither.
        StoreReadError: nothing could be read.
    """
    db = handle(db)
    known = settings_for(settings, db)
    asking = scope_for(scope, known)
    if interface_path is not None:
        key = key_text(interface_path, "interface_path", KEY_BYTES["conversation"], required=True)
        found = chat_reading.find_message(db, asking.persona, key, key_text(message, "message_id", 191))
    elif isinstance(message, bool) or not isinstance(message, int):
        raise MessageError(
            f"message is of type {type(message).__name__}. It must be the row id that saving returned, or the "
            "platform's message id together with interface_path.",
            fields=("message",),
        )
    else:
        found = chat_reading.find_row(db, asking.persona, message) if 0 <= message < 2**63 else None
    if found is None:
        return Call(db, known, asking, None)
    call = _seen(db, known, asking, found[1])
    return call if call.place is None else replace(call, row_id=found[0])


def no_such_message() -> MessageError:
    """Return the error for a message that is not there, or not seen."""
    return MessageError(
        "There is no such message in this scope. Pass the row id that saving returned, or the platform's message id "
        "together with interface_path.",
        fields=("message",),
    )


def _seen(db: Database, settings: Settings, asking: Scope, key: str) -> Call:
    """Return the call with what the scope sees of the conversation."""
    looking = asking if asking.conversation is not None else replace(asking, conversation=key)
    viewer = look(
        db,
        looking,
        Request(),
        destination=looking.destination or settings.prompt_destination,
        private_stays_private=settings.private_stays_private,
    ).viewer
    place = table_lines.find_place(readers.of(db, "conversations"), asking.persona, key)
    seen = place if place is not None and place.audience_id in viewer.audiences else None
    stays = seen is not None and seen.local_only and not viewer.sees_local_only
    return Call(db, settings, replace(asking, conversation=key), seen, viewer.audiences, stays_here=stays)
