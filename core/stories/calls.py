"""The call of a public function of stories: the conversation or message that is meant, and what the caller sees."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..calls.call import Call, find_key, load_access
from ..config import Settings
from ..errors import MessageError
from ..messages import table_lines
from ..messages.table_lines import StoryPlace
from ..shapes import WriteResult
from ..text.sizes import Counter, resolve_counter

NO_MESSAGE = WriteResult(False, None, "unchanged", notes=("there is no such message",))
NO_CONVERSATION = WriteResult(False, None, "unchanged", notes=("there is no such conversation",))


@dataclass(frozen=True, slots=True)
class StoryCall(Call):
    """A call about one conversation, or one message of it: its scope names that conversation, its viewer who asks."""

    place: StoryPlace | None = None
    """The stored conversation; None if there is none, or none the caller sees."""
    row_id: int | None = None
    """The message that is meant; None if there is none, or none the caller sees."""
    is_local_only: bool = False
    """The conversation is local_only and the destination is not."""

    @property
    def conversation(self) -> str:
        return self.scope.conversation or ""

    def change(self, write: Callable[..., bool], *values: Any, **named: Any) -> bool:
        """Return what a function that changes the running recap of this conversation returns, run in a transaction."""
        return self.db.idempotent_transaction(
            lambda connection: write(connection, self.persona, self.conversation, *values, **named),
            source="running_recaps",
        )

    def redacted(self) -> StoryCall:
        """Return the call for a function that returns texts, without a conversation that may not leave this machine."""
        return replace(self, place=None, row_id=None) if self.is_local_only else self


def choose_counter(counter: Counter | None, settings: Settings) -> Counter:
    """Return the counter to use: the host's, else that of LLM_MODEL, else the estimate."""
    return functools.cache(resolve_counter(counter, settings.llm_model or None)[0])


def open_conversation(call: Call, conversation: object) -> StoryCall:
    if conversation is None:
        conversation = call.scope.conversation
    if conversation is None:
        raise MessageError(
            "conversation is None, and the scope names none. Pass its key `interface/chat[/thread]`, or a Scope "
            "with it.",
            fields=("conversation",),
        )
    return _see(call, find_key(call, conversation, "conversation"), is_named=True)


def open_message(call: Call, message: object, interface_path: object) -> StoryCall:
    """Return a call about a message; a row id alone lets the caller see no more than the scope does."""
    interface_path = None if interface_path is None else find_key(call, interface_path)
    named = table_lines.find_named(call.db, call.persona, message, interface_path)
    if named is None:
        return StoryCall(call.db, call.settings, call.scope, call.viewer)
    row_id, conversation = named
    story = _see(call, conversation, is_named=interface_path is not None)
    return story if story.place is None else replace(story, row_id=row_id)


def no_such_message() -> MessageError:
    """Return the error for a message that is not there, or not seen."""
    return MessageError(
        "There is no such message in this scope. Pass the row id that saving returned, or the platform's message id "
        "together with interface_path.",
        fields=("message",),
    )


def _see(call: Call, key: str, *, is_named: bool) -> StoryCall:
    """Return the call with what the scope sees of the conversation; a scope without one sees what was named."""
    named = replace(call, scope=replace(call.scope, conversation=key))
    viewer = load_access(named if is_named and call.scope.conversation is None else call).viewer
    place = table_lines.find_place(call.db.read, call.persona, key)
    story = StoryCall(call.db, call.settings, named.scope, viewer)
    if place is None or place.audience_id not in viewer.audiences:
        return story
    return replace(story, place=place, is_local_only=place.local_only and not viewer.sees_local_only)
