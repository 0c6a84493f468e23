"""What the tests of the tables share: a persona per test, a queue and a relay that can lose a commit."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from core.database.engine import Database
from core.scope import Scope
from core.search import rank
from tests.store.job_world import Queue, counted, handled
from tests.store.relay import Relay
from tests.store.world import NOW, Clock, open_db, own_scope, url_of


@pytest.fixture
def scope() -> Scope:
    return own_scope()


@pytest.fixture
def own_db(fresh_migrated_url: str) -> Iterator[Database]:
    """A database of the test's own: what reads or indexes every row takes longer with the rows of a whole module."""
    with closing(open_db(fresh_migrated_url)) as made:
        yield made


@pytest.fixture
def queue(db: Database) -> Iterator[Queue]:
    """A queue of a persona nobody else has; its operations are counted."""
    with handled(COUNTED=counted):
        yield Queue(db)


@pytest.fixture
def relayed(db: Database) -> Iterator[tuple[Database, Relay]]:
    """The same database by way of a relay that can lose a commit."""
    with Relay(url_of(db)) as relay, closing(Database(relay.url, clock=db.clock)) as made:
        yield made, relay


@pytest.fixture(autouse=True)
def at_now(request: pytest.FixtureRequest) -> None:
    """Let every test begin at NOW, whatever the one before it has moved."""
    if "db" in request.fixturenames and isinstance(clock := request.getfixturevalue("db").clock, Clock):
        clock.now = NOW


MATCHING_ONLY = {
    "test_embeddings", "test_external_rows", "test_meaning_at_size", "test_search", "test_search_fuzz",
    "test_search_packed", "test_search_relevance", "test_search_round_trips",
}  # fmt: skip
"""Modules that look at which rows match; rows beside them are in test_search_context."""


@pytest.fixture(autouse=True)
def matching_only(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.module.__name__.rpartition(".")[2] in MATCHING_ONLY:
        monkeypatch.setattr(rank, "CONTEXT_REACH", 0)
