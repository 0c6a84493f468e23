"""Probes of the flags of relationships."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from core import relationships
from core.config import Settings
from tests.spec.probes import probe
from tests.spec.stage import Stage
from tests.store.world import NOW


@probe(60, 10)
def _decay_days(stage: Stage, value: Any) -> object:
    clock: Any = stage.db.clock  # type: ignore[union-attr]
    given: dict[str, Any] = {"db": stage.db, "settings": Settings(decay_days=value), "scope": stage.scope()}
    clock.now = NOW - timedelta(days=5)
    try:
        relationships.adjust(f"tg/fades{value}", 60, **given)
    finally:
        clock.now = NOW
    return relationships.get(f"tg/fades{value}", **given)["affinity"]


@probe(1, 0)
def _enable_relationship(stage: Stage, value: Any) -> object:
    relationships.adjust("tg/ann", 5, db=stage.db, settings=Settings(), scope=stage.scope())
    return "relationship" in stage.context("hi", ENABLE_RELATIONSHIP=value)
