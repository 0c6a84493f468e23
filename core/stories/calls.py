"""Calls about stories: find the conversation or message that a host names, and check that the caller sees it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..access import table_conversations
from ..access.view import ConversationFacts
from ..calls.call import Call, find_key, load_viewer
from ..config import Settings
from ..errors import MessageError
from ..messages import table_lines
from ..shapes import WriteResult
from ..text.sizes import Counter, resolve_counter

NO_MESSAGE = WriteResult(False, None, "not_found", notes=("there is no such message",))
NO_CONVERSATION = WriteResult(False, None, "unchanged", notes=("there is no such conversation",))


@dataclass(frozen=True, slots=True)
class StoryCall(Call):
    """A call about a conversation or message: `scope` names the conversation, `viewer` has the caller's permissions."""

    place: ConversationFacts | None = None
    """The stored conversation; None if the caller sees no such conversation."""
    row_id: int | None = None
    """The message; None if the caller sees no such message."""

    @property
    def conversation(self) -> str:
        return self.scope.conversation or ""

    @property
    def audiences(self) -> tuple[int, ...]:
        return self.viewer.audiences if self.viewer is not None else ()

    def change(self, write: Callable[..., bool], *values: Any, **named: Any) -> bool:
        """Run `write`, which changes this conversation's running recap, in a transaction, and return its result."""
        return self.db.idempotent_transaction(
            lambda connection: write(connection, self.persona, self.conversation, *values, **named),
            source="running_recaps",
        )

    def redacted(self) -> StoryCall:
        """Return this call, but without a conversation that is local_only if the destination is remote."""
        hides = self.place is not None and self.place.local_only and not (self.viewer and self.viewer.sees_local_only)
        return replace(self, place=None, row_id=None) if hides else self


def choose_counter(counter: Counter | None, settings: Settings) -> Counter:
    """Return the host's `counter`, else the token counter of LLM_MODEL, else a function that estimates tokens."""
    return functools.cache(resolve_counter(counter, settings.llm_model or None)[0])


def open_conversation(call: Call, conversation: object) -> StoryCall:
    conversation = call.scope.conversation if conversation is None else conversation
    if conversation is None:
        text = "conversation is None, and the scope names none. Pass its key `interface/chat[/thread]`, or a Scope"
        raise MessageError(f"{text} with it.", fields=("conversation",))
    return _see(call, find_key(call, conversation, "conversation"), is_named=True)


def open_message(call: Call, message: object, interface_path: object) -> StoryCall:
    """Return a call about a message. If only a row id is given, the scope itself must see the message."""
    interface_path = None if interface_path is None else find_key(call, interface_path)
    named = table_lines.find_named(call.db, call.persona, message, interface_path)
    if named is None:
        return StoryCall(call.db, call.settings, call.scope, call.viewer)
    row_id, conversation = named
    story = _see(call, conversation, is_named=interface_path is not None)
    return story if story.place is None else replace(story, row_id=row_id)


def no_such_message() -> MessageError:
    return MessageError(
        "There is no such message in this scope. Pass the row id that saving returned, or the platform's message id "
        "together with interface_path.",
        fields=("message",),
    )


def _see(call: Call, key: str, *, is_named: bool) -> StoryCall:
    """Return a call about conversation `key`, with `place` if the caller sees it; `is_named`: the host gave the key."""
    viewer = load_viewer(call, key if is_named else None)
    place = table_conversations.find_among(call.db.read, call.persona, [key]).get(key)
    is_seen = place is not None and place.audience_id in viewer.audiences
    scope = replace(call.scope, conversation=key)
    return StoryCall(call.db, call.settings, scope, viewer, place if is_seen else None)
