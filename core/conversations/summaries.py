"""From the end of a conversation to its title and summary: what was said, the model, the row."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .. import llm
from ..access import table_conversations, table_participants
from ..base import logs
from ..calls import screening
from ..calls.call import Call
from ..config import Settings
from ..database.engine import Connection, Database
from ..errors import ModelError, StoreWriteError
from ..jobs.handlers import Effect, Tools, operation_call
from ..shapes import Operation, WriteResult
from ..templates.render import Renderer
from ..templates.words import refused_patterns
from ..text.times import parse_time
from . import memory_files, rules_summaries, table_summaries
from .rules_summaries import Line, Summary

TEMPLATE = "conversation_summary.txt.j2"
_MODELS, _MOST_MODELS = "conversation_models", 1000
MODEL_TRIES = 3
"""Tries in which a failing model is asked again later; after these the extract is stored."""


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
        payload: dict[str, Any] = {"summary": self.id, "last": self.last, "at": self.at.isoformat()}
        if self.rows is not None:
            payload["rows"] = list(self.rows)
            payload["texts"] = [
                {
                    "text": line.text,
                    "who": line.who,
                    "participant": line.participant,
                    "persona": line.is_persona,
                    "for": line.triggered_by,
                }
                for line in self.texts
            ]
        return payload


def read_end(payload: Mapping[str, Any], now: datetime) -> End | None:
    """Return the end an operation holds, None if its payload is not one of ours."""
    summary_id, last, rows, texts = (payload.get(name) for name in ("summary", "last", "rows", "texts"))
    if not isinstance(summary_id, int) or not isinstance(last, int):
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
    row_ids = tuple(row if isinstance(row, int) else None for row in rows) if isinstance(rows, list) else None
    return End(summary_id, last, parse_time(payload.get("at")) or now, row_ids, tuple(lines))


def keep_model(db: Database, end: int, model: Any) -> None:
    """Keep the model passed for an end that this process may summarise itself; other processes ask theirs."""
    models: dict[int, Any] = db.caches.setdefault(_MODELS, {})
    if len(models) >= _MOST_MODELS:
        models.clear()
    models[end] = model


def find_model(db: Database, end: int, *, forget: bool = False) -> Any:
    """Return the model that was passed with an end in this process, None if none was."""
    models: dict[int, Any] = db.caches.get(_MODELS, {})
    return models.pop(end, None) if forget else models.get(end)


# Making the summary


def keep_allowed(connection: Connection, persona: str, lines: Sequence[Line], default: str) -> list[Line]:
    """Return the lines a summary may be made of: not those of people at level full, nor answers to them."""
    names = {name for line in lines for name in line.people}
    levels = table_participants.known(connection, persona, names, default) if names else {}
    return [
        line
        for line in lines
        if all(levels[name].level != "full" for name in line.people)
        and (line.is_persona or line.participant or default != "full")
    ]


def gather_lines(call: Call, end: End) -> list[Line]:
    """Return the lines an end is summarised from, oldest first; none if nothing is left of them."""
    db, persona, key = call.db, call.persona, call.scope.conversation or ""
    if end.rows is None:
        lines = table_summaries.read_lines_up_to(db, persona, key, end.last, rules_summaries.MOST_MESSAGES)
    else:
        stored = table_summaries.read_lines(db, persona, key, [row for row in end.rows if row is not None])
        texts = iter(end.texts)
        handed_in = [next(texts, None) if row is None else stored.get(row) for row in end.rows]
        lines = [line for line in handed_in if line is not None and line.text]
    with db.connection(source="participants") as connection:
        return rules_summaries.keep_newest(keep_allowed(connection, persona, lines, call.settings.privacy_default))


def choose_model(call: Call, model: Any) -> Any:
    """Return the model to ask, None for an extract: there is none, or what was said may not leave the machine."""
    asked = llm.resolve(model, call.settings, call.db)
    if asked is None or call.destination == "local" or not call.scope.conversation:
        return asked
    with call.db.connection(source="conversations") as connection:
        facts = table_conversations.find(connection, call.persona, call.scope.conversation)
    return None if facts is not None and facts.local_only else asked


def make_summary(settings: Settings, lines: Sequence[Line], model: Any, *, or_raise: bool = False) -> Summary:
    """Return title and summary: by the model, without one an extract; a failing model gives the substitute."""
    if model is None:
        return screen_summary(lines, rules_summaries.extract_summary(lines))
    renderer = Renderer(settings.templates_dir)
    shown = [json.dumps({"from": line.who or ("persona" if line.is_persona else "person"), "text": line.text},
                        ensure_ascii=False) for line in lines]  # fmt: skip
    try:
        reply = llm.ask(model, [{"role": "user", "content": renderer.text(TEMPLATE, messages=shown)}], settings)
    except ModelError as error:
        if or_raise:
            raise
        logs.warning("conversation_summary_without_model", reason=error.reason, error=error.error)
        return screen_summary(lines, rules_summaries.build_substitute(lines))
    summary = rules_summaries.read_reply(reply, lines, patterns=refused_patterns(settings.templates_dir))
    return screen_summary(lines, summary)


def screen_summary(lines: Sequence[Line], summary: Summary) -> Summary:
    """Return title and summary; what the host's screen flags gives way to an extract of the other lines."""

    def is_open(*texts: str) -> bool:
        return not screening.is_flagged("\n".join(texts), "summary")[0]

    if is_open(summary.title, summary.text):
        return summary
    plain = rules_summaries.extract_summary([line for line in lines if is_open(line.text)])
    return plain if is_open(plain.title, plain.text) else rules_summaries.extract_summary([])


def store_summary(connection: Connection, call: Call, end: End, lines: Sequence[Line], summary: Summary) -> WriteResult:
    """Put a summary on its list, in the caller's transaction, if everything it was made of still holds."""
    db, settings, persona, key = call.db, call.settings, call.persona, call.scope.conversation
    place = table_summaries.find_place(connection, db, persona, key)
    if place is None:
        return WriteResult(False, None, "unchanged", notes=("the conversation is gone",))
    if not table_summaries.are_stored(connection, persona, [line.row_id for line in lines if line.row_id is not None]):
        raise StoreWriteError(
            "A message was removed while its conversation was summarised.", source="chat_history_cache"
        )
    allowed = keep_allowed(connection, persona, lines, settings.privacy_default)
    if not allowed:
        return WriteResult(False, None, "privacy")
    if len(allowed) < len(lines):
        summary = screen_summary(allowed, rules_summaries.extract_summary(allowed))
    new = table_summaries.NewSummary(end.id, key, summary.title, summary.text, end.at, end.last, summary.provenance)
    return table_summaries.enlist_summary(connection, db, persona, new, place, most=settings.max_recent_conversations)


# The operation CONVERSATION_SUMMARY


def summary(operation: Operation, tools: Tools) -> Effect | None:
    """Return what stores title and summary of a conversation that ended; None if nothing is left of it."""
    call = operation_call(operation, tools)
    end = read_end(operation.payload, tools.now)
    if end is None or not call.settings.enable_recent_conversations:
        return None
    lines = gather_lines(call, end)
    if not lines:
        return None
    given = find_model(call.db, end.id)
    model = choose_model(call, given if given is not None else tools.model)
    try:
        text = make_summary(call.settings, lines, model, or_raise=True)
    except ModelError as error:
        if error.reason != "auth" and operation.tries < MODEL_TRIES:
            raise
        text = screen_summary(lines, rules_summaries.build_substitute(lines))

    def effect(connection: Connection) -> None:
        store_summary(connection, call, end, lines, text)
        find_model(call.db, end.id, forget=True)

    return effect


def follow_summary(operation: Operation, tools: Tools) -> None:
    """Write the Markdown files after a worker has stored a summary."""
    memory_files.write_files(operation_call(operation, tools))
