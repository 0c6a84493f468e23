"""Recall memories as one text and store turns, for frameworks that build their own request.

The text is the same as in the proxy, without lines of the conversation, which the framework already has. It is
introduced as data, not as instructions.
"""

from collections.abc import Iterable
from typing import Any, Unpack
from uuid import uuid4

from ..base import logs
from ..calls import defaults
from ..calls.call import CallOptions, settings_of
from ..chat_history_cache import save_chat_message
from ..errors import CoreError, MessageError, StoreError
from ..prompt.pipeline import build_records
from ..prompt.request import PromptRequest
from ..scope import Scope

RECALL_CHARS = 8000
"""Default for the maximum number of characters of recalled text in a request."""


def find_scope(context: Any) -> Scope | None:
    """Return the scope of a framework's run: `context` if it is a Scope, else its attribute `scope`."""
    scope = context if isinstance(context, Scope) else getattr(context, "scope", None)
    return scope if isinstance(scope, Scope) else None


def build_recall(
    text: str, *, shown: Iterable[str] = (), max_chars: int = RECALL_CHARS, **options: Unpack[CallOptions]
) -> str:
    """Return memories for a message in at most `max_chars` characters, without the texts in `shown`; "" without any."""
    if not text.strip() or not max_chars:
        return ""
    settings = settings_of(options)
    where = defaults.scope_for(options.get("scope"), settings)
    message: dict[str, Any] = {"text": text}
    if where.conversation:
        message["interface_path"] = where.conversation
    # the request has the last lines of the conversation; the search finds earlier ones
    flags = settings.replace(history_lines=0, enable_history_recent=False)
    request = PromptRequest(message, {}, max_chars=max_chars, db=options.get("db"), settings=flags, scope=where)
    try:
        return build_records(request, [text, *shown]).text
    except CoreError as error:  # the request continues without memories
        logs.warning("recall_failed", error=type(error).__name__)
        return ""


def save_lines(lines: Iterable[tuple[str, str]], *, turn: str | None = None, **options: Unpack[CallOptions]) -> None:
    """Store the lines of a turn, each `(role, text)`, in the scope's conversation, except blank lines.

    A role is `user` for the speaker, `assistant` for the persona. Lines with the same `turn` id are stored once;
    without `turn` the id is new, so that an answer equal to a recent answer is stored too. If the database fails, the
    remaining lines are not stored, and the failure is logged.
    """
    options["settings"] = settings = settings_of(options)
    options["scope"] = where = defaults.scope_for(options.get("scope"), settings)
    if not where.conversation:
        what = "The scope names no conversation, so a turn cannot be kept. Use Scope(persona, conversation=...)."
        raise MessageError(what, fields=("conversation",))
    named = turn or uuid4().hex
    try:
        for place, (role, text) in enumerate(lines):
            if text.strip():
                sender = "self" if role == "assistant" else None
                done = save_chat_message(
                    where.conversation, text, message_id=f"{named}/{place}", sender_id=sender, **options
                )
                if done.reason == "privacy":
                    logs.warning("turn_refused", reason=done.reason)
    except StoreError as error:
        logs.warning("turn_not_kept", error=type(error).__name__)
