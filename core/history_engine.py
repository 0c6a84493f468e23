"""Public class that builds the `context` of a prompt from history, diary, thoughts and memories."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Unpack

from .calls.call import CallOptions
from .context.context import read_hits
from .prompt import pipeline
from .prompt.call import open_call
from .prompt.request import PromptRequest
from .shapes import Hit

__all__ = ["HistoryEngine"]


class HistoryEngine:
    """Builds the context of a prompt."""

    def build_context(
        self,
        message: Any,
        context_memory: Any = None,
        interface_name: str | None = None,
        text: str = "",  # noqa: ARG002 - part of the original signature
        memories: Iterable[Hit] | None = None,
        **options: Unpack[CallOptions],
    ) -> dict[str, Any]:
        """Return the `context` of a prompt, its keys in the order of `context.context.CONTEXT_KEYS`.

        Args:
            message: the host's message, an object or a dict.
            context_memory: mapping of conversation keys to live messages, of metadata names to values, or of both.
            interface_name: platform of the message; None takes it from the conversation key.
            text: not used; the message holds its text.
            memories: hits to show, at most MEMORY_ITEMS; None shows none.

        Returns:
            `history_current_chat`, `history_recent`, `thoughts` and all filled sections. A source that cannot be read
            gives an empty section and one warning.

        Raises:
            MessageError: the message cannot be used.

        Example:
            >>> from prompt_engine import open_database
            >>> db = open_database("sqlite://")
            >>> message = {"message_id": 2, "date": "2026-03-10T12:00:00Z", "text": "Tea?", "interface_path": "web/7"}
            >>> said = {"text": "Hello.", "sender_name": "Ann", "timestamp": "2026-03-10T11:59:00Z"}
            >>> HistoryEngine().build_context(message, {"web/7": [said]}, db=db)["history_current_chat"]
            ['[2026-03-10 11:59] Ann: "Hello."']
            >>> db.close()
        """
        call = open_call(PromptRequest(message, context_memory, interface_name, **options))
        with call.one_connection():
            return pipeline.build_context(call, read_hits(memories)[0]).context
