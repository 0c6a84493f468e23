"""What the tests of the tables share: a migrated database per module and engine, and a persona per test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from core.database.engine import Database
from core.scope import Scope
from tests.store.search_world import open_quick
from tests.store.world import own_scope


@pytest.fixture(scope="module")
def db(migrated_url: str) -> Iterator[Database]:
    """A database whose clock stands at NOW."""
    handle = open_quick(migrated_url)
    yield handle
    handle.close()


@pytest.fixture
def scope() -> Scope:
    """A persona of the test's own."""
    return own_scope()
