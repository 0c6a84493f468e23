"""What EMBEDDER names: a server in the OpenAI dialect, or static vectors in a folder."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core import llm
from core.config import Settings
from core.errors import ConfigError
from core.llm import embedder as embedders
from core.llm.embedder import EmbedderError
from core.llm.embedder_http import Endpoint, EndpointEmbedder
from core.llm.embedder_static import StaticEmbedder
from tests.store.embedder import Grams
from tests.unit.llm.embedding_server import API_KEY, EmbeddingServer, running
from tests.unit.llm.static_model import write_model

TEXTS = ["canary-text 猫", "My dog sleeps", "canary-text \ud800"]
LONG = 60.0


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddingServer]:
    with running() as made:
        yield made
    llm.close()


def at(server: EmbeddingServer, behaviour: str = "ok", **more: Any) -> EndpointEmbedder:
    return EndpointEmbedder(Endpoint(server.base(behaviour), **{"timeout_seconds": LONG, **more}))


@pytest.mark.parametrize("behaviour", ["ok", "base64"])
def test_the_vectors_come_back_in_the_order_of_the_texts(server: EmbeddingServer, behaviour: str) -> None:
    """The server answers the last first, as it may: `index` tells which is which."""
    made = embedders.ask(at(server, behaviour), TEXTS[:2], LONG)
    assert made == Grams(dimensions=64).embed(TEXTS[:2])
    assert server.wrong == []


def test_the_request_is_what_the_dialect_asks_for(server: EmbeddingServer) -> None:
    """Model and key only where they are set; many texts in requests of a batch each."""
    server.asked.clear()
    server.headers.clear()
    at(server).embed(TEXTS)
    assert server.asked == [{"input": ["canary-text 猫", "My dog sleeps", "canary-text �"], "encoding_format": "float"}]
    assert "authorization" not in server.headers[0]
    made = at(server, model=" small ", api_key=" k\n", batch=2).embed(TEXTS)
    assert [len(vector) for vector in made] == [64, 64, 64]
    assert [len(body["input"]) for body in server.asked[1:]] == [2, 1]
    assert {body["model"] for body in server.asked[1:]} == {"small"}
    assert {headers["authorization"] for headers in server.headers[1:]} == {"Bearer k"}
    assert server.wrong == []


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ("keyed", "auth"), ("auth200", "auth"), ("error200", "error"), ("500", "error"), ("html", "error"),
        ("list", "error"), ("few", "count"), ("twice", "count"), ("words", "vector"), ("null", "vector"),
    ],
)  # fmt: skip
def test_f56_what_is_wrong_is_said_and_nothing_of_what_was_sent(
    server: EmbeddingServer, behaviour: str, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither the key, nor a text, nor what a server says about it."""
    texts = TEXTS[:1] if behaviour in ("words", "null") else TEXTS[:2]
    with caplog.at_level(logging.INFO), pytest.raises(EmbedderError) as caught:
        embedders.ask(at(server, behaviour, api_key="another canary-key"), texts, LONG)
    assert caught.value.reason == reason
    assert "canary" not in repr(caught.value) + str(caught.value) + caplog.text
    assert caught.value.__context__ is None


def test_a_server_that_wants_a_key_gets_it(server: EmbeddingServer) -> None:
    """And nobody who prints the embedder."""
    embedder = at(server, "keyed", api_key=API_KEY)
    assert len(embedders.ask(embedder, TEXTS[:1], LONG)) == 1
    assert API_KEY not in repr(embedder)


def test_a_server_that_hangs_or_is_not_there_is_given_up(server: EmbeddingServer) -> None:
    """Within the time of the flag, or of the search."""
    with pytest.raises(EmbedderError) as caught:
        embedders.ask(at(server, "slow", timeout_seconds=0.2), TEXTS[:1], LONG)
    assert caught.value.reason == "timeout"
    with pytest.raises(EmbedderError) as caught:
        embedders.ask(at(server, "slow"), TEXTS[:1], 0.2)
    assert caught.value.reason == "timeout"
    with pytest.raises(EmbedderError) as caught:
        embedders.ask(EndpointEmbedder(Endpoint("http://127.0.0.1:9/v1")), TEXTS[:1], LONG)
    assert caught.value.reason in ("error", "timeout")


def test_what_embedder_names_is_made_once_and_after_what_the_host_passes(tmp_path: Path) -> None:
    """A host's own goes before the flag; another value of a flag is another embedder."""
    settings = Settings(embedder="http://127.0.0.1:9/v1", embedder_model="small")
    first = embedders.resolve(None, settings)
    assert isinstance(first, EndpointEmbedder)
    assert first is embedders.resolve(None, settings)
    assert first is not embedders.resolve(None, settings.replace(embedder="http://127.0.0.1:8/v1"))
    assert embedders.resolve(None, Settings()) is None
    grams = Grams()
    assert embedders.resolve(grams, settings) is grams
    static = embedders.resolve(None, Settings(embedder=f"model2vec:{tmp_path}"))
    assert isinstance(static, StaticEmbedder)
    assert (static.path, static.is_local, first.is_local) == (tmp_path, True, False)
    assert first.name == "small"


@pytest.mark.parametrize("value", ["core.llm:anything", "model2vec:", "model2vec:  ", "http", "127.0.0.1/v1"])
def test_embedder_is_an_address_or_a_folder_and_no_code(value: str) -> None:
    """Flags may stand in a file that others write: no class is named there."""
    with pytest.raises(ConfigError, match=r"EMBEDDER is .* must be an address such as .* model2vec: and the path"):
        Settings(embedder=value)


@pytest.mark.parametrize("url", ["", "127.0.0.1:9", "http://u:canary@h/v1", "ftp://h"])
def test_an_address_that_leads_nowhere_is_told_with_what_to_do(url: str) -> None:
    """By whoever asks, and without what may be a password."""
    with pytest.raises(EmbedderError) as caught:
        embedders.ask(EndpointEmbedder(Endpoint(url)), ["x"], LONG)
    assert caught.value.reason == "config"
    assert str(caught.value).startswith("EMBEDDER ")
    assert "canary" not in str(caught.value)


def test_static_vectors_come_from_the_folder_alone(tmp_path: Path) -> None:
    """Texts that mean the same are near; the name tells the folder and what it holds."""
    write_model(tmp_path / "tiny")
    embedder = StaticEmbedder(str(tmp_path / "tiny"))
    dog, hound, soup = embedders.ask(embedder, ["My dog", "a hound", "soup"], LONG)

    def near(one: list[float], other: list[float]) -> float:
        return sum(a * b for a, b in zip(one, other, strict=True))

    assert near(dog, hound) > 0.9 > 0.3 > near(dog, soup)
    assert embedder.name.startswith("model2vec:tiny:")
    assert embedder.name == StaticEmbedder(f"{tmp_path}/tiny").name
    write_model(tmp_path / "other" / "tiny", turn=1)
    assert StaticEmbedder(str(tmp_path / "other" / "tiny")).name != embedder.name
    assert len(StaticEmbedder(str(write_model(tmp_path / ("ü" * 100)))).name.encode()) <= 100


@pytest.mark.parametrize("spoilt", ["nowhere", "empty", "config.json", "model.safetensors", "tokenizer.json"])
def test_a_folder_that_is_none_of_a_model_is_told_with_what_to_do(tmp_path: Path, spoilt: str) -> None:
    """Nothing is looked for anywhere else."""
    folder = tmp_path / "model"
    if spoilt == "empty":
        folder.mkdir()
    elif spoilt != "nowhere":
        write_model(folder)
        (folder / spoilt).write_bytes(b"[1")
    with pytest.raises(EmbedderError) as caught:
        embedders.ask(StaticEmbedder(str(folder)), ["x"], LONG)
    assert caught.value.reason == "config"
    told = {"nowhere": "no such folder", "empty": "holds no config.json and no tokenizer.json and no model.safetensors"}
    usual = "config.json cannot be read" if spoilt == "config.json" else "hold no static model"
    assert told.get(spoilt, usual) in str(caught.value)
    assert str(folder) in str(caught.value) and "nothing is downloaded" in str(caught.value)
