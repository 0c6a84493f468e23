"""`MemoryBlock`: a LlamaIndex memory block that recalls the memories for the last user message."""

from __future__ import annotations

import asyncio
from typing import Any

from ..prompt.message_lines import HEAD
from . import missing
from .recall import RECALL_CHARS, build_recall, save_lines

try:
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.memory import BaseMemoryBlock
except ImportError as _error:
    raise missing("llama-index-core", "llama-index") from _error

__all__ = ["MemoryBlock"]

_CHARS_PER_TOKEN = 4


class MemoryBlock(BaseMemoryBlock[str]):
    """A memory block for `Memory.from_defaults(memory_blocks=[MemoryBlock(scope=...)])`.

    `scope` names persona, conversation and speaker. Messages that leave LlamaIndex's short-term memory, or are put into
    the block, are stored in that conversation.
    """

    name: str = "remembered"
    priority: int = 1
    db: Any = None
    """Open database; None uses the database of the process."""
    settings: Any = None
    scope: Any = None
    recall_chars: int = RECALL_CHARS
    """Maximum number of characters of recalled text in a request."""

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:  # noqa: ARG002
        listed = list(messages or ())
        asked = next((each.content or "" for each in reversed(listed) if each.role.value == "user"), "")
        shown = [each.content or "" for each in listed]
        return await asyncio.to_thread(
            build_recall, asked, shown=shown, max_chars=self.recall_chars,
            db=self.db, settings=self.settings, scope=self.scope,
        )  # fmt: skip

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Store the spoken messages, without tool calls and their results."""
        lines = [(each.role.value, each.content or "") for each in messages if each.role.value in ("user", "assistant")]
        await asyncio.to_thread(save_lines, lines, db=self.db, settings=self.settings, scope=self.scope)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Return the block shortened by about `tokens_to_truncate` tokens; None if nothing is left.

        LlamaIndex also calls this with an empty list, if the block recalled nothing.
        """
        if not content:
            return None
        left = content[: max(0, len(content) - tokens_to_truncate * _CHARS_PER_TOKEN)].rpartition("\n")[0]
        return left if len(left) > len(HEAD) else None
