"""Databases that may be broken: each test that breaks one has one of its own."""

import logging
from collections.abc import Iterator
from contextlib import closing

import pytest

from core import hooks
from core.database.engine import Database
from tests.spec.stage import Stage
from tests.store.world import open_db


@pytest.fixture
def stage(fresh_migrated_url: str) -> Iterator[Stage]:
    """A persona with something in every section, each text holding the word `canary`, in a database of its own."""
    with closing(open_db(fresh_migrated_url)) as db:
        made = Stage(db)
        fill(made)
        yield made


@pytest.fixture
def own(db: Database) -> Stage:
    """As `stage`, in a database shared with other personas: on a server a database of its own takes seconds."""
    made = Stage(db)
    fill(made)
    return made


def fill(stage: Stage) -> None:
    for n in range(4):
        stage.say(f"canary tofu here {n}", minutes=20 - n)
        stage.say(f"canary tofu there {n}", "tg/43", "Bob", minutes=30 - n)
    stage.remember("canary Ann cooks pizza", ["pizza", "canary"], 600)
    stage.remember("canary Ann has a cat called tofu", ["cat"], 700)
    stage.diary("canary quiet day", 90, personal_thought="canary thought", context_tags=["tofu"])


@pytest.fixture(autouse=True)
def nothing_leaks(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Whatever fails, no text that was said reaches a log at INFO or above (G26)."""
    caplog.set_level(logging.INFO)
    yield
    hooks.clear_hooks()
    assert "canary" not in caplog.text


@pytest.fixture
def live() -> dict[str, list[dict[str, str]]]:
    line = {"sender_name": "Ann", "sender_id": "ann", "timestamp": "2026-03-10T11:59:00Z"}
    return {"tg/42": [{**line, "text": "canary live here"}], "tg/43": [{**line, "text": "canary live there"}]}
