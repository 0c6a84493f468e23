"""The words by which a host marks a text that nobody said. Pure.

| Called by | For |
|---|---|
| `short_term.rules_turn` | the messages of a turn |
| `conversations.rules_summaries` | the messages of a conversation that ended |
| `memories.capture` | the source of a text that is to be captured |
"""

from __future__ import annotations

from typing import Any

from ..text.host_values import word_at

NOT_SAID = frozenset(
    {"tool", "tool_result", "tool_call", "function", "function_call", "memory", "memories", "recap", "summary",
     "prompt", "context", "system", "developer", "narrator", "thought"}
)  # fmt: skip
"""Results of tools, memories and prompts, whatever else stands beside the word."""

MARKS = ("kind", "role", "type", "source")
"""Fields of a message in which such a word may stand."""


def is_marked(message: Any) -> bool:
    """Return whether a message, dict or object, is marked as something nobody said."""
    return any(word_at(message, name) in NOT_SAID for name in MARKS)
