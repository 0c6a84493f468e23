"""`Memory`: a capability of Pydantic AI that recalls the memories for a prompt and stores the turn."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Any

from ..scope import Scope
from . import missing
from .recall import RECALL_CHARS, build_recall, find_scope, save_lines

try:
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import ModelRequest, TextPart, UserPromptPart
except ImportError as _error:
    raise missing("pydantic-ai-slim", "pydantic-ai") from _error

__all__ = ["Memory"]


@dataclass
class Memory(AbstractCapability[Any]):
    """A capability for `Agent(model, capabilities=[Memory(scope=...)])`.

    If a run's `deps` is a `Scope` or has the attribute `scope`, that scope is used instead.
    """

    db: Any = None
    """Open database; None uses the database of the process."""
    settings: Any = None
    scope: Scope | None = None
    """Persona, conversation and speaker."""
    recall_chars: int = RECALL_CHARS
    """Maximum number of characters of recalled text in a request."""

    async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
        """Add recalled memories before the last user prompt, for this request only."""
        messages = list(request_context.messages)
        at = next((n for n in range(len(messages) - 1, -1, -1) if _read_prompt(messages[n])), None)
        if at is None:
            return request_context
        answers = [part.content for each in messages for part in each.parts if isinstance(part, TextPart)]
        shown = [*map(_read_prompt, messages), *answers]
        text = await asyncio.to_thread(
            build_recall, _read_prompt(messages[at]), shown=shown, max_chars=self.recall_chars, **self._given(ctx)
        )
        if not text:
            return request_context
        messages[at] = replace(messages[at], parts=[UserPromptPart(text), *messages[at].parts])
        return replace(request_context, messages=messages)

    async def after_run(self, ctx: Any, *, result: Any) -> Any:
        """Store the person's lines and the answer.

        If storing fails, the answer is still returned and the failure is logged.

        Raises:
            MessageError: the scope names no conversation.
        """
        lines = [("user", _read_prompt(message)) for message in result.new_messages()]
        if isinstance(result.output, str):
            lines.append(("assistant", result.output))
        await asyncio.to_thread(save_lines, lines, turn=getattr(ctx, "run_id", None), **self._given(ctx))
        return result

    def _given(self, ctx: Any) -> dict[str, Any]:
        scope = find_scope(getattr(ctx, "deps", None)) or self.scope
        return {"db": self.db, "settings": self.settings, "scope": scope}


def _read_prompt(message: Any) -> str:
    if not isinstance(message, ModelRequest):
        return ""
    contents = (part.content for part in message.parts if isinstance(part, UserPromptPart))
    parts = (part for content in contents for part in ([content] if isinstance(content, str) else content))
    return "\n".join(part for part in parts if isinstance(part, str))
