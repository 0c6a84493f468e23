"""A migrated database per module and engine, and nothing of one test left for the next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from core import hooks
from core.database.engine import Database
from tests.spec.lifelong_world import Life
from tests.spec.stage import Stage
from tests.spec.story import Story
from tests.store.world import NOW, Clock

if TYPE_CHECKING:
    from fastapi import FastAPI

    from tests.spec.proxy_world import ModelServer, ProxyWorld
    from tests.spec.web_world import Operator, World


@pytest.fixture
def stage(db: Database) -> Stage:
    return Stage(db)


@pytest.fixture
def story(db: Database) -> Story:
    return Story(db)


# The admin application, whose packages are an extra: they are loaded where a test asks for it.


@pytest.fixture(scope="module")
def app(db: Database) -> FastAPI:
    from tests.spec.web_world import made

    return made(db)


@pytest.fixture
def life(stage: Stage) -> Life:
    return Life(stage)


@pytest.fixture
def operator(app: FastAPI, life: Life) -> Iterator[Operator]:
    from tests.spec.web_world import Operator, client_of

    with client_of(app) as client:
        yield Operator(client, life.persona)


@pytest.fixture
def world(db: Database, stage: Stage) -> Iterator[World]:
    from tests.spec.web_world import World, client_of, made

    with client_of(made(db)) as client:
        yield World(db, client, stage.persona)


@pytest.fixture
def other(operator: Operator, db: Database) -> Operator:
    return type(operator)(operator.client, Stage(db).persona)


@pytest.fixture(autouse=True)
def as_before(request: pytest.FixtureRequest) -> Iterator[None]:
    """Leave neither a hook nor a moved clock to the next test."""
    yield
    hooks.clear_hooks()
    if "db" in request.fixturenames:
        clock = request.getfixturevalue("db").clock
        if isinstance(clock, Clock):
            clock.now = NOW


# The proxy before a model server, whose packages are extras too.


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    from tests.spec.proxy_world import ModelServer, serving

    made = ModelServer()
    with serving(made.app) as url:
        made.url = url
        yield made


@pytest.fixture(scope="module")
def address(db: Database, model: ModelServer) -> Iterator[str]:
    from tests.spec.proxy_world import proxy_of

    with proxy_of(db, model) as url:
        yield url


@pytest.fixture
def proxy(stage: Stage, model: ModelServer, address: str) -> Iterator[ProxyWorld]:
    from tests.spec.proxy_world import ProxyWorld

    model.requests.clear()
    model.answers.clear()
    model.ended.clear()
    model.reply = None
    made = ProxyWorld(stage.db, stage.persona, address, model)
    yield made
    made.close()
