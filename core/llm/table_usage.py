"""Model calls per day (table model_usage): the daily limit, and the model of the latest proxied chat.

The column `asker` is `worker` for the calls of one model, `total` for the calls of all models, which LLM_DAILY_CALLS
limits, and `front_end` for proxied chats, whose model is stored but whose calls are not counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, select, update

from ..base import logs
from ..database.dialects import insert_ignore, upsert
from ..database.engine import Database
from ..database.schema import model_usage
from ..errors import ModelError, StoreError

KEPT_DAYS = 90
MODEL_BYTES = 191

_U = model_usage.c
_SOURCE = "model_usage"


class ModelUsage(NamedTuple):
    """One model's use on one day, in UTC."""

    day: str
    model: str
    calls: int
    characters: int
    """Number of characters of questions and answers."""


@dataclass(frozen=True, slots=True)
class MeteredModel:
    """A model whose calls are counted and limited to LLM_DAILY_CALLS a day."""

    model: Any
    name: str
    db: Database


def count_call(metered: MeteredModel, daily_calls: int, characters: int) -> None:
    """Count a call before it is made; raise ModelError `budget` if all models together made `daily_calls` today."""
    db, now = metered.db, metered.db.clock()
    row = {"day": f"{now:%Y-%m-%d}", "asker": "worker", "model": _cut(metered.name), "last_at": now}
    within = (_U.calls < daily_calls,) if daily_calls else ()
    total = update(model_usage).where(_U.day == row["day"], _U.asker == "total", *within)
    of_model = upsert(model_usage, db.family, update=["last_at"], add=["calls", "characters"])

    def work(connection: Connection) -> bool:
        connection.execute(insert_ignore(model_usage, db.family), {**row, "asker": "total", "model": "", "calls": 0})
        if not connection.execute(total.values(calls=_U.calls + 1, last_at=now)).rowcount:
            return False
        connection.execute(of_model, {**row, "calls": 1, "characters": characters})
        connection.execute(delete(model_usage).where(_U.day < f"{now - timedelta(days=KEPT_DAYS):%Y-%m-%d}"))
        return True

    if not db.transaction(work, source=_SOURCE, confirm=lambda *_: True):
        tomorrow = datetime.combine(now.astimezone(UTC).date() + timedelta(days=1), time(), UTC)
        raise ModelError("budget", retry_after_seconds=(tomorrow - now).total_seconds())


def count_answer(metered: MeteredModel, characters: int) -> None:
    """Count the characters of an answer; a failure is only logged."""
    db = metered.db
    of_model = (_U.day == f"{db.clock():%Y-%m-%d}", _U.asker == "worker", _U.model == _cut(metered.name))
    change = update(model_usage).where(*of_model).values(characters=_U.characters + characters)
    try:
        db.idempotent_transaction(lambda connection: connection.execute(change), source=_SOURCE)
    except StoreError as error:
        logs.warning("model_usage_not_counted", error=type(error).__name__)


def note_request(db: Database, model: str) -> None:
    """Store the model of a proxied chat, for workers without LLM_MODEL; at most once an hour."""
    now = db.clock()
    known: dict[str, datetime] = db.caches.setdefault(__name__, {})
    if not model or now - known.get(model, now - timedelta(days=1)) < timedelta(hours=1):
        return
    row = {"day": f"{now:%Y-%m-%d}", "asker": "front_end", "model": _cut(model), "last_at": now}
    statement = upsert(model_usage, db.family, update=["last_at"])
    db.idempotent_transaction(lambda connection: connection.execute(statement, row), source=_SOURCE)
    known.clear()
    known[model] = now


def find_last_model(db: Database) -> str:
    last = select(_U.model).where(_U.asker == "front_end").order_by(_U.last_at.desc(), _U.day.desc()).limit(1)
    return next((str(row[0]) for row in db.read(last)), "")


def read_usage(db: Database, days: int = 14) -> list[ModelUsage]:
    """Return the usage of each model on each of the last `days` days, newest first."""
    since = f"{db.clock() - timedelta(days=days - 1):%Y-%m-%d}"
    counted = select(_U.day, _U.model, _U.calls, _U.characters).where(_U.asker == "worker", _U.day >= since)
    rows = db.read(counted.order_by(_U.day.desc(), _U.model))
    return [ModelUsage(row.day, row.model, int(row.calls), int(row.characters)) for row in rows]


def _cut(model: str) -> str:
    return model.encode("utf-8", "replace")[:MODEL_BYTES].decode("utf-8", "ignore")
