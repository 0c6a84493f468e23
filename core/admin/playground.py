"""The route that shows which prompt a message would get, and why; nothing is stored by it."""

from __future__ import annotations

import copy
from typing import Any

from fastapi import APIRouter

from ..database.engine import Database
from ..prompt_engine import explain_json_prompt
from ..scope import Scope
from ..text.strict_json import make_strict
from .answers import ExplainedAnswer
from .bodies import Admin, ExplainBody, refusals
from .context import AdminContext
from .errors import refuse_bad_values

router: APIRouter = APIRouter(prefix="/prompt", tags=["Playground"])

MESSAGE_ID = "playground"


@router.post("/explain", responses=refusals())
def explain(admin: Admin, body: ExplainBody) -> ExplainedAnswer:
    """Return the prompt a message would get and the report on it: what was found, kept, cut, left out and why."""
    scope = Scope(
        admin.call.persona,
        body.conversation or None,
        _build_participant(body),
        body.server,
        body.destination,
        body.privacy,
    )
    with refuse_bad_values():
        prompt, report = explain_json_prompt(
            _build_message(admin.context, body),
            max_chars=body.max_chars,
            limit_tokens=body.limit_tokens,
            destination=body.destination,
            db=without_writing(admin.call.db),
            settings=admin.call.settings.replace(record_recalls=False),
            scope=scope,
        )
    return ExplainedAnswer(prompt=dict(make_strict(prompt)[0]), report=dict(make_strict(report)[0]))


def _build_message(context: AdminContext, body: ExplainBody) -> dict[str, Any]:
    who = (body.user_id or "").rpartition("/")[2]
    message: dict[str, Any] = {
        "message_id": MESSAGE_ID,
        "date": context.now(),
        "text": body.text,
        "from_user": {"id": who, "full_name": body.name or body.username or who, "username": body.username},
        "server_id": body.server,
    }
    return {**message, "interface_path": body.conversation} if body.conversation else message


def _build_participant(body: ExplainBody) -> str | None:
    if not body.user_id:
        return None
    if "/" in body.user_id or not body.conversation:
        return body.user_id
    return f"{body.conversation.partition('/')[0]}/{body.user_id}"


def without_writing(db: Database) -> Database:
    """Return a copy of the handle, on the same connections, that writes nothing and has caches of its own."""
    reading = copy.copy(db)
    reading.caches = {}
    reading.transaction = _not_done  # type: ignore[assignment, method-assign]
    return reading


def _not_done(*_: Any, **__: Any) -> None:
    return None
