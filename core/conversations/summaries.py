"""From the end of a conversation to its title and summary: what was said, the model, the row.

Called by `conversations.recent` for hosts that wait, and by `conversations.handlers` in the background.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from .. import llm
from ..audience import table_conversations as conversations
from ..audience import table_participants as participants
from ..base import logs
from ..calls import screening
from ..config import Settings
from ..database.engine import Database
from ..errors import ModelError, StoreWriteError
from ..scope import Scope
from ..shapes import WriteResult
from ..templates.refused import refused_patterns
from ..templates.render import Renderer
from ..text.times import parse_time
from . import rules_summaries as rules
from . import table_ended as ended
from . import table_summaries as summaries
from .rules_summaries import Line, Made

if TYPE_CHECKING:
    from sqlalchemy import Connection

TEMPLATE = "conversation_summary.txt.j2"
_MODELS, _MOST_MODELS = "conversation_models", 1000


@dataclass(frozen=True, slots=True)
class End:
    """One end of a conversation: what is known of it when it is reported."""

    id: int
    """Id the summary will have."""
    last: int
    at: datetime
    rows: tuple[int | None, ...] | None = None
    """For each message handed in the row it is stored in; None for the whole conversation up to `last`."""
    texts: tuple[Line, ...] = ()
    """The messages handed in that are not stored, in order."""

    def payload(self) -> dict[str, Any]:
        """Return the end as the operation keeps it: ids, and under `texts` what is stored nowhere else."""
        made: dict[str, Any] = {"summary": self.id, "last": self.last, "at": self.at.isoformat()}
        if self.rows is not None:
            made |= {"rows": list(self.rows), "texts": [_as_json(line) for line in self.texts]}
        return made


def _as_json(line: Line) -> dict[str, Any]:
    return {
        "text": line.text,
        "who": line.who,
        "participant": line.participant,
        "persona": line.is_persona,
        "for": line.triggered_by,
    }


def end_of(payload: Mapping[str, Any], now: datetime) -> End | None:
    """Return the end an operation holds, None where its payload is not one of ours."""
    found, last, rows, texts = (payload.get(name) for name in ("summary", "last", "rows", "texts"))
    if not isinstance(found, int) or not isinstance(last, int):
        return None
    lines = [
        Line(
            str(each.get("text", "")),
            str(each.get("who") or ""),
            each.get("participant"),
            each.get("for"),
            is_persona=bool(each.get("persona")),
        )
        for each in (texts if isinstance(texts, list) else [])
        if isinstance(each, Mapping)
    ]
    listed = tuple(row if isinstance(row, int) else None for row in rows) if isinstance(rows, list) else None
    return End(found, last, parse_time(payload.get("at")) or now, listed, tuple(lines))


def keep_model(db: Database, end: int, model: Any) -> None:
    """Keep the model passed for an end that this process may summarise itself; other processes ask theirs."""
    models: dict[int, Any] = db.caches.setdefault(_MODELS, {})
    if len(models) >= _MOST_MODELS:
        models.clear()
    models[end] = model


def model_of(db: Database, end: int, *, forget: bool = False) -> Any:
    """Return the model that was passed with an end in this process, None where none was."""
    models: dict[int, Any] = db.caches.get(_MODELS, {})
    return models.pop(end, None) if forget else models.get(end)


# Making the summary


def allowed(connection: Connection, persona: str, lines: Iterable[Line], default: str) -> list[Line]:
    """Return the lines a summary may be made of: not those of people at level full, nor answers to them."""
    listed = list(lines)
    names = {name for line in listed for name in line.people}
    levels = participants.known(connection, persona, names, default) if names else {}
    return [
        line
        for line in listed
        if all(levels[name].level != "full" for name in line.people)
        and (line.is_persona or line.participant or default != "full")
    ]


def gather(db: Database, settings: Settings, scope: Scope, end: End) -> list[Line]:
    """Return the lines an end is summarised from, oldest first; none where nothing is left of them.

    Raises:
        StoreReadError: they could not be read.
    """
    key = scope.conversation or ""
    if end.rows is None:
        lines = ended.lines_up_to(db, scope.persona, key, end.last, rules.MOST_MESSAGES)
    else:
        stored = ended.lines_of(db, scope.persona, key, [row for row in end.rows if row is not None])
        texts = iter(end.texts)
        found = [next(texts, None) if row is None else stored.get(row) for row in end.rows]
        lines = [line for line in found if line is not None and line.text]
    with db.connection(source="participants") as connection:
        return rules.newest(allowed(connection, scope.persona, lines, settings.privacy_default))


def ask_whom(db: Database, settings: Settings, scope: Scope, model: Any) -> Any:
    """Return the model to ask, None for an extract: there is none, or what was said may not leave the machine."""
    known = llm.resolve(model, settings)
    if known is None or (scope.destination or settings.prompt_destination) == "local" or not scope.conversation:
        return known
    with db.connection(source="conversations") as connection:
        facts = conversations.find(connection, scope.persona, scope.conversation)
    return None if facts is not None and facts.local_only else known


def make(settings: Settings, lines: Sequence[Line], model: Any, *, or_raise: bool = False) -> Made:
    """Return title and summary: of the model, else what C4 gives in its place, without one the extract of C5.

    Args:
        or_raise: let a model that failed be tried again later.

    Raises:
        ModelError: only with `or_raise`.
    """
    if model is None:
        return screened(settings, lines, rules.extracted(lines))
    renderer = Renderer(settings.templates_dir, settings.template_steps)
    shown = [json.dumps({"from": line.who or ("persona" if line.is_persona else "person"), "text": line.text},
                        ensure_ascii=False) for line in lines]  # fmt: skip
    try:
        reply = llm.ask(model, [{"role": "user", "content": renderer.text(TEMPLATE, messages=shown)}], settings)
    except ModelError as error:
        if or_raise:
            raise
        logs.warning("conversation_summary_without_model", reason=error.reason, error=error.error)
        return screened(settings, lines, rules.without_answer(lines))
    made = rules.read_reply(reply, lines, patterns=refused_patterns(settings.templates_dir))
    return screened(settings, lines, made)


def screened(settings: Settings, lines: Sequence[Line], made: Made) -> Made:
    """Return title and summary; what the host's screen flags gives way to an extract of the other lines."""

    def is_open(*texts: str) -> bool:
        return not screening.is_flagged("\n".join(texts), "summary", settings=settings)[0]

    if is_open(made.title, made.summary):
        return made
    plain = rules.extracted([line for line in lines if is_open(line.text)])
    return plain if is_open(plain.title, plain.summary) else rules.extracted([])


def store(
    connection: Connection,
    db: Database,
    settings: Settings,
    scope: Scope,
    end: End,
    lines: Sequence[Line],
    made: Made,
) -> WriteResult:
    """Put a summary on its list, in the caller's transaction, if everything it was made of still holds.

    Somebody who has turned to level full meanwhile is left out: what is stored then is the extract of the other lines.

    Raises:
        StoreWriteError: a message it was made of is gone; made anew it would be another one.
    """
    place = summaries.place_of(connection, db, scope.persona, scope.conversation)
    if place is None:
        return WriteResult(False, None, "unchanged", notes=("the conversation is gone",))
    if not ended.are_there(connection, scope.persona, [line.row_id for line in lines if line.row_id is not None]):
        raise StoreWriteError(
            "A message was removed while its conversation was summarised.", source="chat_history_cache"
        )
    left = allowed(connection, scope.persona, lines, settings.privacy_default)
    if not left:
        return WriteResult(False, None, "privacy")
    if len(left) < len(lines):
        made = screened(settings, left, rules.extracted(left))
    new = summaries.NewSummary(end.id, scope.conversation, made.title, made.summary, end.at, end.last, made.provenance)
    return summaries.keep(connection, db, scope.persona, new, place, most=settings.max_recent_conversations)
