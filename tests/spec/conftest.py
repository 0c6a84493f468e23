"""A migrated database per module and engine, and no hook of one test left for the next."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from core import hooks
from core.store.engine import Database
from tests.spec.stage import Stage
from tests.store.world import open_db


@pytest.fixture(scope="module")
def db(engine_url: str) -> Iterator[Database]:
    """A database whose clock stands at NOW."""
    made = open_db(engine_url)
    yield made
    made.close()


@pytest.fixture
def stage(db: Database) -> Stage:
    """A persona of its own."""
    return Stage(db)


@pytest.fixture(autouse=True)
def no_hooks() -> Iterator[None]:
    """Take away what a test has registered."""
    yield
    hooks.clear_hooks()
