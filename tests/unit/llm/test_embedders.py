"""What EMBEDDER names: a server in the OpenAI dialect."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from core import llm
from core.config import Settings
from core.errors import ConfigError
from core.llm import embedder as embedders
from core.llm.embedder import EmbedderError, EndpointEmbedder
from tests.store.embedder import Grams
from tests.unit.llm.model_server import API_KEY, ModelServer, running

TEXTS = ["canary-text 猫", "My dog sleeps", "canary-text \ud800"]
LONG = 60.0


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with running() as made:
        yield made
    llm.close()


def at(server: ModelServer, behaviour: str = "ok", **more: Any) -> EndpointEmbedder:
    return EndpointEmbedder(server.base(behaviour), **{"timeout_seconds": LONG, **more})


def test_the_request_is_what_the_dialect_asks_for(server: ModelServer) -> None:
    assert embedders.ask(at(server), TEXTS[:2], LONG) == Grams(dimensions=64).embed(TEXTS[:2]), "in their order"
    keyed = at(server, "keyed", api_key=API_KEY)
    assert len(embedders.ask(keyed, TEXTS[:1], LONG)) == 1 and API_KEY not in repr(keyed)
    server.asked.clear()
    at(server).embed(TEXTS)
    (asked,) = server.asked
    assert asked.body == {"input": ["canary-text 猫", "My dog sleeps", "canary-text �"], "encoding_format": "float"}
    assert "authorization" not in asked.headers
    made = at(server, model=" small ", api_key=" k\n", batch=2).embed(TEXTS)
    assert [len(vector) for vector in made] == [64, 64, 64]
    assert [len(asked.body["input"]) for asked in server.asked[1:]] == [2, 1]
    assert {asked.body["model"] for asked in server.asked[1:]} == {"small"}
    assert {asked.headers["authorization"] for asked in server.asked[1:]} == {"Bearer k"}


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ("keyed", "auth"), ("auth200", "auth"), ("error200", "error"), ("html", "error"),
        ("few", "count"), ("twice", "count"), ("words", "vector"), ("null", "vector"),
    ],
)  # fmt: skip
def test_f56_what_is_wrong_is_said_and_nothing_of_what_was_sent(
    server: ModelServer, behaviour: str, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    texts = TEXTS[:1] if behaviour in ("words", "null") else TEXTS[:2]
    with caplog.at_level(logging.INFO), pytest.raises(EmbedderError) as caught:
        embedders.ask(at(server, behaviour, api_key="another canary-key"), texts, LONG)
    assert caught.value.reason == reason
    assert "canary" not in repr(caught.value) + str(caught.value) + caplog.text
    assert caught.value.__context__ is None


def test_a_server_that_hangs_or_is_not_there_is_given_up(server: ModelServer) -> None:
    nobody = EndpointEmbedder("http://127.0.0.1:9/v1")
    for embedder, limit in ((at(server, "slow", timeout_seconds=0.2), LONG), (at(server, "slow"), 0.2), (nobody, LONG)):
        with pytest.raises(EmbedderError) as caught:
            embedders.ask(embedder, TEXTS[:1], limit)
        assert caught.value.reason == "timeout" or (embedder is nobody and caught.value.reason == "error")


def test_what_embedder_names_comes_after_what_the_host_passes() -> None:
    settings = Settings(embedder="http://127.0.0.1:9/v1", embedder_model="small")
    first = embedders.resolve(None, settings)
    assert isinstance(first, EndpointEmbedder)
    assert first == embedders.resolve(None, settings)
    assert first != embedders.resolve(None, settings.replace(embedder="http://127.0.0.1:8/v1"))
    assert embedders.resolve(None, Settings()) is None
    grams = Grams()
    assert embedders.resolve(grams, settings) is grams
    assert (first.name, first.is_local) == ("small", False)


@pytest.mark.parametrize("value", ["core.llm:anything", "model2vec:/path", "http", "127.0.0.1/v1"])
def test_embedder_is_an_address_and_no_code(value: str) -> None:
    """Flags may stand in a file that others write: no class is named there."""
    with pytest.raises(ConfigError, match=r"EMBEDDER is .* must be an address such as"):
        Settings(embedder=value)


@pytest.mark.parametrize("url", ["", "127.0.0.1:9", "http://u:canary@h/v1", "ftp://h"])
def test_an_address_that_leads_nowhere_is_told_with_what_to_do(url: str) -> None:
    with pytest.raises(EmbedderError) as caught:
        embedders.ask(EndpointEmbedder(url), ["x"], LONG)
    assert caught.value.reason == "config"
    assert str(caught.value).startswith("EMBEDDER ")
    assert "canary" not in str(caught.value)
