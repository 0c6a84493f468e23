"""What belongs to a message that somebody sends over MCP, as one text."""

from __future__ import annotations

from ..prompt.context_text import ContextText, write_context
from ..prompt_engine import build_json_prompt
from .speaker import Speaker


def build_block(speaker: Speaker, message: str, max_chars: int) -> ContextText:
    """Return what belongs to a message, at most `max_chars` characters.

    Raises:
        PromptTooLargeError: the message alone is longer than MAX_PROMPT_CHARS.
        StoreError: nothing could be read.
    """
    said = {
        "message_id": None,
        "date": None,
        "text": message,
        "interface_path": speaker.scope.conversation,
        "from_user": {"full_name": speaker.shown_name},
    }
    return write_context(build_json_prompt(said, **speaker.asking)["context"], max_chars)
