"""G21, F56: a server in the OpenAI dialect gives texts and vectors, or an error without anything that was said."""

import logging
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from time import perf_counter
from typing import Any

import pytest

from core import llm
from core.config import Settings
from core.errors import ConfigError, ModelError
from core.llm import embedder as embedders
from core.llm.client import ChatClient, retry_after
from core.llm.embedder import EmbedderError, EndpointEmbedder
from tests.store.embedder import Grams
from tests.unit.llm.model_server import API_KEY, ModelServer, running

ASKED = [{"role": "user", "content": "canary-text 猫"}]


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with running() as made:
        yield made
    llm.close()


def failed(server: ModelServer, behaviour: str, **options: Any) -> ModelError:
    client = ChatClient(server.base(behaviour), api_key="canary-key", **{"timeout_seconds": 5.0, **options})
    with pytest.raises(ModelError) as raised:
        client.complete(ASKED)
    return raised.value


@pytest.mark.parametrize(
    ("behaviour", "text"),
    [("ok", "ok"), ("unicode", "猫はトーフ 😀 café"), ("chunked", "猫" * 50), ("parts", "ab"), ("blank", " \n")],
)
def test_g21_the_text_of_the_answer_comes_back(server: ModelServer, behaviour: str, text: str) -> None:
    for endpoint in ("", "/chat/completions"):
        assert ChatClient(server.base(behaviour) + endpoint).complete(ASKED) == text


def test_g21_the_request_is_what_the_dialect_asks_for(server: ModelServer) -> None:
    client = ChatClient(server.base("ok") + "/", model="small", api_key=" sk-1\n")
    client.complete(ASKED, max_tokens=50, temperature=0.0, response_format={"type": "json_object"}, stop=None)
    asked = server.asked[-1]
    sent = (asked.path, asked.headers["authorization"], asked.headers["content-type"])
    assert sent == ("/ok/v1/chat/completions", "Bearer sk-1", "application/json")
    options = {"max_tokens": 50, "temperature": 0.0, "response_format": {"type": "json_object"}}
    assert asked.body == {"model": "small", "messages": ASKED, **options}
    ChatClient(server.base("ok")).complete([{"role": "user", "content": "\ud800"}])
    assert server.asked[-1].body == {"messages": [{"role": "user", "content": "�"}]}
    assert "authorization" not in server.asked[-1].headers


@pytest.mark.parametrize(("behaviour", "reason", "status"), [
    ("401", "auth", 401), ("auth200", "auth", 401), ("400", "error", 400), ("429", "error", 429), ("500", "error", 500),
    ("error200", "error", 429), ("text200", "error", None), ("307", "error", 307), ("garbage", "error", None),
    ("deep", "error", None), ("choiceless", "error", None), ("half", "error", None), ("nothing", "error", None),
    ("refused", "no_text", None), ("tools", "no_text", None), ("number", "no_text", None),
])  # fmt: skip
def test_f56_whatever_goes_wrong_has_a_reason(
    server: ModelServer, behaviour: str, reason: str, status: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        error = failed(server, behaviour)
    assert (error.reason, error.status) == (reason, status)
    assert "canary" not in f"{error!r} {error.__cause__!r} {error.__context__!r} {caplog.text}"


def test_g26_what_a_server_wrote_is_logged_as_debug(server: ModelServer, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        failed(server, "400")
    held = [record for record in caplog.records if "canary" in record.getMessage()]
    assert [record.levelno for record in held] == [logging.DEBUG]
    assert "canary-key" not in repr(ChatClient(server.base("ok"), api_key="canary-key"))


def test_g21_how_long_to_wait_is_told(server: ModelServer) -> None:
    assert failed(server, "429").retry_after_seconds == 7
    assert failed(server, "503").retry_after_seconds == 3600, "no longer than an hour"
    assert failed(server, "500").retry_after_seconds is None
    for said in ("", "soon", "-5", "1.2.3", "nan", "1e9", "٣", "Tue, 10 Mar 2026 12:00:00 GMT"):
        assert retry_after({"retry-after": said}) is None, said
    assert [retry_after({"retry-after": said}) for said in ("0", " 7.5 ", "9" * 500)] == [0, 7.5, 3600]


def test_g21_a_server_that_is_not_there_or_does_not_answer_in_time_is_a_failure(server: ModelServer) -> None:
    for behaviour in ("slow", "dripping"):
        began = perf_counter()
        assert failed(server, behaviour, timeout_seconds=0.4).reason == "timeout" and perf_counter() - began < 30
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(ModelError) as raised:
            ChatClient(f"http://127.0.0.1:{taken.getsockname()[1]}").complete(ASKED)
    assert (raised.value.reason, raised.value.error) == ("error", "ConnectError")
    with pytest.raises(ModelError):
        ChatClient("http://no-such-host.invalid/v1", timeout_seconds=3).complete(ASKED)


def test_g21_no_redirect_is_followed_no_cookie_kept_and_no_endless_answer_read(server: ModelServer) -> None:
    assert failed(server, "huge").error == "AnswerTooLarge"
    before = len(server.asked)
    failed(server, "307")
    assert len(server.asked) == before + 1
    for _ in range(2):
        ChatClient(server.base("cookie")).complete(ASKED)
    assert "cookie" not in server.asked[-1].headers


def test_g21_connections_are_used_again_closed_and_never_go_through_a_proxy_of_the_surroundings(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    llm.close()
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for _ in range(3):
        ChatClient(server.base("ok")).complete(ASKED)
    assert len({asked.peer for asked in server.asked[-3:]}) == 1
    llm.close()
    llm.close()
    assert ChatClient(server.base("ok")).complete(ASKED) == "ok" and server.asked[-1].peer != server.asked[-2].peer


@pytest.mark.parametrize("address", [
    "localhost:11434/v1", "ftp://x/v1", "http://", "/v1", "http://x:0/v1", "http://x:99999/v1", "http://[::1/v1",
    "x", "http://me:canary@x/v1", "http://x/v1?key=canary", "http://x/v1#canary",
])  # fmt: skip
def test_g21_g26_an_address_that_is_none_is_named_and_one_with_a_secret_is_refused_unquoted(address: str) -> None:
    with pytest.raises(ConfigError) as raised:
        ChatClient(address)
    assert raised.value.flag == "LLM_BASE_URL"
    assert ("LLM_API_KEY" if "canary" in address else repr(address)) in str(raised.value)
    assert "canary" not in str(raised.value)


def test_g21_an_impossible_key_or_a_missing_extra_is_told(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("canary\nx", "canary-鍵"):
        with pytest.raises(ModelError) as raised:
            ChatClient(server.base("ok"), api_key=key).complete(ASKED)
        assert "canary" not in f"{raised.value} {raised.value.__context__!r}"
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(ConfigError, match=r"prompt-engine\[llm\]"):
        ChatClient("http://127.0.0.1:1/v1")


@pytest.mark.posix
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_g21_a_forked_process_opens_connections_of_its_own(server: ModelServer) -> None:
    code = (
        "import os, sys\nfrom core import llm\n"
        "ask = lambda: llm.ChatClient(sys.argv[1]).complete([{'role': 'user', 'content': 'x'}])\n"
        "ask()\nchild = os.fork()\n"
        "if child == 0:\n    ask(); os._exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0; ask(); print('ok')"
    )
    done = subprocess.run([sys.executable, "-c", code, server.base("ok")], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "ok", done.stderr
    first, second, third = [asked.peer for asked in server.asked[-3:]]
    assert first == third != second


TEXTS = ["canary-text 猫", "My dog sleeps", "canary-text \ud800"]
LONG = 60.0


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
    sent = [(each.body["model"], each.headers["authorization"], len(each.body["input"])) for each in server.asked[1:]]
    assert sent == [("small", "Bearer k", 2), ("small", "Bearer k", 1)]


@pytest.mark.parametrize(("behaviour", "reason"), [
    ("keyed", "auth"), ("auth200", "auth"), ("error200", "error"), ("html", "error"),
    ("few", "count"), ("twice", "count"), ("words", "vector"), ("null", "vector"),
])  # fmt: skip
def test_f56_what_is_wrong_is_said_and_nothing_of_what_was_sent(
    server: ModelServer, behaviour: str, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    texts = TEXTS[:1] if behaviour in ("words", "null") else TEXTS[:2]
    with caplog.at_level(logging.INFO), pytest.raises(EmbedderError) as caught:
        embedders.ask(at(server, behaviour, api_key="another canary-key"), texts, LONG)
    assert caught.value.reason == reason and "canary" not in repr(caught.value) + str(caught.value) + caplog.text
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
    assert isinstance(first, EndpointEmbedder) and first == embedders.resolve(None, settings)
    assert first != embedders.resolve(None, settings.replace(embedder="http://127.0.0.1:8/v1"))
    assert embedders.resolve(None, Settings()) is None
    grams = Grams()
    assert embedders.resolve(grams, settings) is grams and (first.name, first.is_local) == ("small", False)
    # flags may stand in a file that others write: no class is named there
    for value in ("core.llm:anything", "model2vec:/path", "http", "127.0.0.1/v1"):
        with pytest.raises(ConfigError, match=r"EMBEDDER is .* must be an address such as"):
            Settings(embedder=value)


@pytest.mark.parametrize("url", ["", "127.0.0.1:9", "http://u:canary@h/v1", "ftp://h"])
def test_an_address_that_leads_nowhere_is_told_with_what_to_do(url: str) -> None:
    with pytest.raises(EmbedderError) as caught:
        embedders.ask(EndpointEmbedder(url), ["x"], LONG)
    assert caught.value.reason == "config"
    assert str(caught.value).startswith("EMBEDDER ") and "canary" not in str(caught.value)
