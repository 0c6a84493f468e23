"""What a face does with the persona's answer: stored under the persona's name, and kept as said a moment ago."""

from __future__ import annotations

from typing import Any

from .. import short_term
from ..calls.call import GivenSettings
from ..chat_history_cache import save_chat_message
from ..database.engine import Database
from ..scope import Scope
from ..shapes import PERSONA_SENDER, WriteResult
from ..text.hits import name_persona


def save_answer(
    text: str,
    *,
    name: str | None = None,
    at: Any = None,
    message_id: str | int | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope,
) -> WriteResult:
    """Store what the persona said in the scope's conversation, as `save_chat_message` does."""
    called = name or name_persona(scope.persona)
    return save_chat_message(
        scope.conversation, text, called, PERSONA_SENDER, at, message_id=message_id, db=db, settings=settings,
        scope=scope,
    )  # fmt: skip


def finish_turn(
    said: WriteResult,
    text: str,
    answer: str,
    *,
    name: str | None = None,
    at: Any = None,
    message_id: str | int | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope,
) -> WriteResult:
    """Store the answer to a line, and what of both counts as said a moment ago; a turn sent again counts once."""
    asking: dict[str, Any] = {"db": db, "settings": settings, "scope": scope}
    done = save_answer(answer, name=name, at=at, message_id=message_id, **asking)
    if (said.stored or done.stored) and scope.participant and text.strip():
        said_back = [{"text": answer, "persona_name": name}]
        short_term.write_turn({"messages": [{"role": "user", "content": text}]}, said_back, **asking)
    return done
