"""L20: an end of a stream that was counted does not raise afterwards, or a host that tells it again counts it twice."""

from unittest.mock import Mock

import pytest
from sqlalchemy import select

from core import lifelong
from core.config import Settings
from core.database import schema
from core.database.schema import counters
from core.errors import StoreError, StoreWriteError
from core.jobs import table_claiming
from core.memories.shapes import CycleResult
from tests.faults.test_prompt_faults import run
from tests.spec.stage import HERE, Stage

JOBS = schema.memory_jobs


def _end(stage: Stage) -> CycleResult:
    settings = Settings(deep_consolidation_every_n_streams=2)
    return lifelong.on_stream_end(HERE, db=stage.db, settings=settings, scope=stage.scope())


def _counted(stage: Stage) -> int:
    asked = select(counters.c.value).where(counters.c.persona_id == stage.persona, counters.c.name == "stream_end")
    return int(stage.db.read(asked, source="counters")[0][0])


def _queued(stage: Stage) -> list[str]:
    return [r[0] for r in stage.db.read(select(JOBS.c.type).order_by(JOBS.c.id), source="memory_jobs")]


@pytest.mark.engines("sqlite")
def test_l20_an_end_whose_cycle_cannot_begin_is_queued_once(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = Mock(side_effect=StoreWriteError("injected", source="memory_jobs"))
    with monkeypatch.context() as patch:
        patch.setattr(table_claiming, "begin", refused)
        done = _end(stage)
        assert (done.reason, done.deep, len(done.queued), _counted(stage)) == ("StoreWriteError", False, 1, 1)
        done = _end(stage)
        assert (done.reason, done.deep, _counted(stage)) == ("StoreWriteError", True, 2)
    assert _queued(stage) == ["CONSOLIDATION", "DEEP_CONSOLIDATION"]
    assert _end(stage).reason == "" and _counted(stage) == 3


@pytest.mark.engines("sqlite")
def test_l20_an_end_that_cannot_be_queued_is_not_counted(stage: Stage) -> None:
    """Counting and queueing are one transaction, so a host may report the end again."""
    _end(stage)
    run(stage.db, "ALTER TABLE memory_jobs RENAME TO gone_memory_jobs")
    with pytest.raises(StoreWriteError):
        _end(stage)
    assert _counted(stage) == 1
    run(stage.db, "ALTER TABLE counters RENAME TO gone")
    with pytest.raises(StoreError):
        _end(stage)


@pytest.mark.engines("sqlite")
def test_l12_a_cycle_that_cannot_be_recorded_tells_what_it_stored(stage: Stage) -> None:
    stage.say("I love tofu, my cat is called Miso.", minutes=5)
    run(stage.db, "CREATE TRIGGER x BEFORE INSERT ON consolidation_runs BEGIN SELECT RAISE(ABORT, 'refused'); END")
    done = _end(stage)
    assert (done.reason, _counted(stage), _queued(stage)) == ("StoreWriteError", 1, ["CONSOLIDATION"])
    assert done.stored > 0
