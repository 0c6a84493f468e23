"""Probes of the flags of session and long-term memory and of relationships."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from core import relationships
from core.config import Settings
from core.lifelong import Scheduler
from tests.spec.lifelong_world import Life, Model, said_in
from tests.spec.probes import probe
from tests.spec.stage import HERE, NOW, Stage


def _own(stage: Stage) -> Stage:
    """Return a persona of the probe's own: what one value did must not be seen with the other."""
    return Stage(stage.db)


def _talk(stage: Stage, number: int) -> None:
    for n in range(number):
        stage.say(f"said {n}", message_id=f"m{n}", minutes=(number - n) / 60)


def _ticks(stage: Stage, *seconds: int, **flags: Any) -> int:
    """Return how many cycles a scheduler runs that looks at these seconds."""
    assert stage.db is not None
    clock: Any = stage.db.clock
    scheduler = Scheduler(stage.db, personas=[stage.persona], settings=Settings(**flags))
    try:
        runs = 0
        for second in seconds:
            clock.now = NOW + timedelta(seconds=second)
            runs += len(scheduler.tick())
        return runs
    finally:
        clock.now = NOW


@probe(604_800, 60)
def _session_ttl_sec(stage: Stage, value: Any) -> object:
    stage = _own(stage)
    life = Life(stage)
    life.add_facts_with_meta(
        [{"text": "an hour ago", "tier": "session", "timestamp": NOW - timedelta(hours=1)}], SESSION_TTL_SEC=value
    )
    return life.search_items(SESSION_TTL_SEC=value)["total"]


@probe(1800, 60)
def _memory_consolidation_interval_sec(stage: Stage, value: Any) -> object:
    stage = _own(stage)
    _talk(stage, 1)
    return _ticks(stage, 0, 120, memory_consolidation_interval_sec=value, consolidate_every_n_messages=0)


@probe(30, 3)
def _consolidate_every_n_messages(stage: Stage, value: Any) -> object:
    stage = _own(stage)
    _talk(stage, 4)
    return _ticks(stage, 0, consolidate_every_n_messages=value)


@probe(120, 20)
def _consolidation_window(stage: Stage, value: Any) -> object:
    stage = _own(stage)
    _talk(stage, 22)
    model = Model(key_facts=["a"])
    Life(stage).consolidate_history(HERE, model=model, CONSOLIDATION_WINDOW=value)
    return len(said_in(model.asked[0]))


@probe(False, True)
def _prune_by_itself(stage: Stage, value: Any) -> object:
    life = Life(_own(stage))
    life.item("old and dull", days=400, importance=0.2)
    return life.on_stream_end(PRUNE_BY_ITSELF=value, DEEP_CONSOLIDATION_EVERY_N_STREAMS=1).pruned


@probe(5, 2)
def _deep_consolidation_every_n_streams(stage: Stage, value: Any) -> object:
    stage = _own(stage)
    life = Life(stage)
    return [life.on_stream_end(DEEP_CONSOLIDATION_EVERY_N_STREAMS=value).deep for _ in range(2)]


def _pruned(stage: Stage, **flags: Any) -> int:
    life = Life(_own(stage))
    life.item("old", days=366, importance=0.6)
    life.item("old and dull", days=366, importance=0.2)
    life.item("dull", importance=0.2)
    life.item("dull a little", days=366, importance=0.3)
    return int(life.prune_ltm(dry_run=True, **flags))


@probe(365, 400)
def _prune_max_age_days(stage: Stage, value: Any) -> object:
    return _pruned(stage, PRUNE_MAX_AGE_DAYS=value)


@probe(0.25, 0.4)
def _prune_max_importance(stage: Stage, value: Any) -> object:
    return _pruned(stage, PRUNE_MAX_IMPORTANCE=value)


@probe("all", "any")
def _prune_mode(stage: Stage, value: Any) -> object:
    return _pruned(stage, PRUNE_MODE=value)


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
