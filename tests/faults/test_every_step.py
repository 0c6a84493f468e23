"""S45, L19, G16: a worker that dies at any step of any work: another one finishes it, every effect is there once."""

import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.faults import steps
from tests.faults.host import ROOT
from tests.faults.steps import STORIES, Dying
from tests.store.world import index_differences, verify_index

ROUNDS = int(os.environ.get("FAULT_ROUNDS", "1"))


def _base(url: str, persona: str, name: str) -> None:
    stage = steps.stage_of(url, persona)
    STORIES[name].before(stage)
    stage.db.close()


def _work(url: str, persona: str, name: str, until: int | None = None, hours: int = 0) -> Dying:
    stage = steps.stage_of(url, persona, hours=hours)
    with steps.dying(stage, until) as watched:
        STORIES[name].work(stage)
    stage.db.close()
    return watched


def _end(url: str, persona: str, name: str) -> tuple[dict[str, object], list[str]]:
    """Return what is held, and what is wrong, after two workers that come later than every lease."""
    _work(url, persona, name, hours=1)
    stage = steps.stage_of(url, persona, hours=2)
    with closing(stage.db) as db:
        for _ in range(2):
            STORIES[name].work(stage)
            db.clock.forward(hours=1)  # type: ignore[attr-defined]
        return steps.held(db, persona, name), [*index_differences(db, persona), *verify_index(db)]  # type: ignore[return-value]


def _undisturbed(url: str, persona: str, name: str) -> tuple[dict[str, object], Dying]:
    watched = _work(url, persona, name)
    found, wrong = _end(url, persona, name)
    assert wrong == []
    return found, watched


@pytest.mark.engines("sqlite")
@pytest.mark.slow
@pytest.mark.parametrize("name", STORIES)
def test_s45_a_worker_may_die_at_every_step(name: str, tmp_path: Path, engine_name: str) -> None:
    """Before each commit, which is all that can differ in what is stored; before each statement with FAULT_ROUNDS."""
    base = tmp_path / "base.db"
    _base(f"sqlite:///{base}", "p", name)
    urls = [f"sqlite:///{shutil.copy(base, tmp_path / f'{copy}.db')}" for copy in ("first", "whole")]
    _work(urls[0], "p", name)  # what a process looks up once is not counted the second time
    wanted, seen = _undisturbed(urls[1], "p", name)
    assert seen.steps > 5 and seen.commits, "the work is hardly any"
    died = 0
    steps_to_die_at = [*seen.commits, seen.steps] if ROUNDS == 1 else range(seen.steps + 1)
    for step in steps_to_die_at:
        file = tmp_path / "died.db"
        for end in ("", "-wal", "-shm"):
            Path(f"{file}{end}").unlink(missing_ok=True)
        shutil.copy(base, file)
        url = f"sqlite:///{file}"
        died += _work(url, "p", name, step).dead
        found, wrong = _end(url, "p", name)
        assert wrong == [], f"after step {step} of {seen.steps}"
        assert steps.differing(wanted, found) == [], f"after step {step} of {seen.steps}"  # type: ignore[arg-type]
    assert died >= len(steps_to_die_at) - 1


@pytest.mark.engines("sqlite", "mariadb", "mysql")
@pytest.mark.slow
@pytest.mark.parametrize("name", STORIES)
@pytest.mark.skipif(ROUNDS == 1, reason="runs in `make test-faults`, or with FAULT_ROUNDS above 1")
def test_s45_a_worker_killed_for_real_is_followed_by_another(name: str, migrated_url: str) -> None:
    place = list(STORIES).index(name)
    _base(migrated_url, f"whole{place}", name)
    wanted, seen = _undisturbed(migrated_url, f"whole{place}", name)
    number = seen.steps
    for step in sorted({1, number // 3, 2 * number // 3, number - 5}):  # personas differ by a step or two
        persona = f"died{place}at{step}"
        _base(migrated_url, persona, name)
        words = [sys.executable, "-m", "tests.faults.steps", migrated_url, persona, name, str(step)]
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == -9, (done.returncode, done.stderr[-2000:])
        found, wrong = _end(migrated_url, persona, name)
        assert wrong == [], f"after step {step} of {number}"
        assert steps.differing(wanted, found) == [], f"after step {step} of {number}"  # type: ignore[arg-type]
