"""What the proxy passes on and stores when the other side does not do the usual (R13, R16, R20, R37, F82)."""

import asyncio
import gzip
import json
import logging
import socket
import sqlite3
import struct
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from sqlalchemy import select
from starlette.responses import JSONResponse, Response, StreamingResponse

from core import Scope, forget, open_database
from core.database.schema import TABLES
from core.prompt.message_lines import HEAD
from core.web import guard
from core.web.proxy import memory
from tests.spec import proxy_world
from tests.spec.proxy_world import ProxyWorld, chat, event, wait_until, whole

SAID = event({"delta": {"content": "Hello Ann."}})
DONE = b"data: [DONE]\n\n"
STOP = event({"delta": {}, "finish_reason": "stop"})


def teach(proxy: ProxyWorld) -> None:
    proxy.ask(proxy.client(X_User_Id="ann"), "Please remember: my cat is called Tofu.")
    assert proxy.wait_for_lines(2, "proxy/ann")


def ask_about_cat(proxy: ProxyWorld, messages: list[Any] | None = None, **more: Any) -> Any:
    said = messages or chat("hi", "hello", "What is my cat called?")
    return proxy.client(X_User_Id="ann").chat.completions.with_raw_response.create(model="tiny", messages=said, **more)


@pytest.mark.parametrize("image_first", [True, False])
def test_r37_memory_goes_into_the_text_beside_a_photo_of_any_size(proxy: ProxyWorld, image_first: bool) -> None:
    teach(proxy)
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 9_000_000}}
    parts: list[Any] = [{"type": "text", "text": "What is my cat called?"}]
    parts.insert(0 if image_first else 1, image)
    ask_about_cat(proxy, [{"role": "system", "content": "Be Iris."}, {"role": "user", "content": parts}])
    arrived = proxy.model.last.messages
    (text,) = [part["text"] for part in arrived[-1]["content"] if part["type"] == "text"]
    assert len(arrived) == 2 and len(arrived[-1]["content"]) == 2 and image in arrived[-1]["content"]
    assert text.startswith(HEAD) and text.endswith("\n\nWhat is my cat called?")


@pytest.mark.parametrize("status", [400, 422])
def test_r37_a_request_refused_for_its_form_is_sent_once_more_without_memory(proxy: ProxyWorld, status: int) -> None:
    """A longer request may not fit the model's context; the person gets an answer all the same."""
    teach(proxy)
    refused = JSONResponse({"error": {"message": "too long"}}, status)
    proxy.model.reply = lambda r: refused if HEAD in r.messages[-1]["content"] else JSONResponse(whole("No idea."))
    count, raw = len(proxy.model.requests), ask_about_cat(proxy)
    assert raw.parse().choices[0].message.content == "No idea." and str(status) in raw.headers["x-memory"]
    assert len(proxy.model.requests) == count + 2
    assert proxy.model.last.messages == chat("hi", "hello", "What is my cat called?")
    proxy.model.reply = lambda r: refused
    with pytest.raises(openai.APIStatusError) as caught:
        ask_about_cat(proxy)
    assert caught.value.status_code == status and len(proxy.model.requests) == count + 4


@pytest.mark.parametrize("below", ["", "/api/v1"])
def test_r37_half_a_letter_in_a_line_and_a_mount_cost_no_memory(proxy: ProxyWorld, below: str) -> None:
    """Front ends that cut a line by its length leave half an emoji, and send it again with every request."""
    teach(proxy)
    body = json.dumps({"model": "tiny", "messages": chat("Look \ud83d", "hello", "What is my cat called?")})
    with proxy.served_again(below=below) as world:
        answer = world.post(content=body)
    assert answer.headers["x-memory"] == "used" and proxy.model.last.messages[0]["content"] == "Look \ud83d"


def test_r37_every_other_route_but_the_hosts_own_passes_as_it_is_with_a_token(proxy: ProxyWorld) -> None:
    """One base URL serves all that a front end does: embeddings, files, speech, whatever comes next."""
    head = {"Authorization": f"Bearer {proxy.host}"}
    for method, path in (("PUT", "memories"), ("GET", "search"), ("DELETE", "prompt")):
        assert httpx2.request(method, f"{proxy.url}/v1/{path}", headers=head).status_code == 405, (method, path)
    assert httpx2.get(f"{proxy.url}/v1/memories", headers=head).json()["items"] == [] and not proxy.model.requests
    answer = httpx2.post(f"{proxy.url}/v1/embeddings", json={})
    assert answer.status_code == 401 and answer.json()["error"]["message"] and not proxy.model.requests
    for path in ("embeddings", "completions", "responses/r1/cancel", "rerank", "some/thing%20new"):
        answer = httpx2.post(f"{proxy.url}/v1/{path}?x=1", json={"input": "Ann"}, headers=head)
        assert answer.json() == {"path": f"/v1/{path.replace('%20', ' ')}", "bytes": 15, "method": "POST"}
        assert proxy.model.last.headers["authorization"] == "Bearer upstream-key"
        said = "skipped; dialect" if path == "completions" else None
        assert answer.headers.get("x-memory") == said, path
    answer = httpx2.delete(f"{proxy.url}/v1/files/f1", headers=head)
    assert answer.json()["method"] == "DELETE" and answer.json()["path"] == "/v1/files/f1"
    sound = b"\x00\xff" * 100_000
    httpx2.post(f"{proxy.url}/v1/audio/transcriptions", files={"file": ("a.wav", sound)}, headers=head)
    assert sound in proxy.model.last.content
    assert proxy.model.last.headers["content-type"].startswith("multipart/form-data; boundary=")


def test_r37_what_is_too_large_is_refused_in_the_dialect(proxy: ProxyWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "PROXY_BYTES", 1000)
    with pytest.raises(openai.APIStatusError, match="At most 1000 bytes") as caught:
        ask_about_cat(proxy, chat("word " * 1000))
    assert caught.value.status_code == 413 and proxy.lines("proxy/ann") == []


@pytest.fixture
def held(proxy: ProxyWorld) -> Iterator[Callable[..., None]]:
    """A model server that never ends what it has begun to say; calls leave as soon as they have read some words."""
    over = threading.Event()

    async def pieces(*sent: bytes) -> Any:
        for each in sent:
            yield each
        while not over.is_set():  # noqa: ASYNC110 - set by the test, in another thread
            await asyncio.sleep(0.005)

    def leave(who: str, sent: list[bytes], words: bytes, ending: str = "close", stream: bool = True) -> None:
        kind = "text/event-stream" if stream else "application/json"
        proxy.model.reply = lambda r: StreamingResponse(pieces(*sent), media_type=kind)
        body = json.dumps({"model": "t", "messages": chat("hi"), "stream": stream}).encode()
        host, port = proxy.url.removeprefix("http://").split(":")
        head = f"Host: {host}\r\nAuthorization: Bearer {proxy.host}\r\nX-User-Id: {who}\r\n"
        count, got = len(proxy.model.requests), b""
        with socket.create_connection((host, int(port)), timeout=proxy_world.PATIENCE_SECONDS) as client:
            client.sendall(f"POST /v1/chat/completions HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode())
            client.sendall(body)
            while words not in got:
                got += client.recv(65_536)
            assert wait_until(lambda: len(proxy.model.requests) > count)
            if ending == "reset":
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    yield leave
    over.set()


@pytest.mark.parametrize("ending", ["close", "reset"])
def test_r39_a_turn_is_stored_when_its_reason_came(proxy: ProxyWorld, held: Callable[..., None], ending: str) -> None:
    """Clients stop reading there; some destroy their socket in the same moment."""
    sent_to = {"ann": [SAID, STOP], "bob": [SAID + STOP, event({"delta": {}})], "cy": [SAID + STOP + DONE]}
    for who, sent in sent_to.items():
        held(who, sent, b'"finish_reason": "stop"', ending)
        assert proxy.wait_for_lines(2, f"proxy/{who}") == [(who, "hi"), ("self", "Hello Ann.")]


@pytest.mark.parametrize(("sent", "words", "stream"), [([SAID], b"Hello", True), ([], b"", True), ([], b"", False)])
def test_r39_who_leaves_in_the_middle_has_said_it_once(
    proxy: ProxyWorld, held: Callable[..., None], sent: list[bytes], words: bytes, stream: bool
) -> None:
    held("ann", sent, words, stream=stream)
    assert proxy.wait_for_lines(1, "proxy/ann") == [("ann", "hi")]
    proxy.model.reply, proxy.model.answers = None, ["Hello."]
    proxy.ask(proxy.client(X_User_Id="ann"), "hi")
    assert proxy.wait_for_lines(2, "proxy/ann") == [("ann", "hi"), ("self", "Hello.")]


@pytest.mark.slow
def test_r39_many_requests_at_once_keep_their_memory(proxy: ProxyWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    build = memory.build_block

    def build_slowly(*given: Any) -> str:
        time.sleep(0.25)
        return build(*given)

    monkeypatch.setattr(memory, "build_block", build_slowly)
    requests = 20 * memory.PLACES

    async def ask(client: httpx2.AsyncClient, url: str, number: int) -> str:
        head = {"Authorization": f"Bearer {proxy.host}", "X-User-Id": f"user{number}"}
        body = {"model": "t", "messages": chat("hi")}
        answer = await client.post(f"{url}/v1/chat/completions", json=body, headers=head)
        return str(answer.headers["x-memory"])

    async def ask_all(url: str) -> list[str]:
        async with httpx2.AsyncClient(timeout=proxy_world.PATIENCE_SECONDS) as client:
            return await asyncio.gather(*(ask(client, url, number) for number in range(requests)))

    with proxy.served_again(proxy_memory_seconds=4) as world:
        assert asyncio.run(ask_all(world.url)) == ["empty"] * requests


@pytest.mark.slow
def test_r39_what_takes_too_long_is_told(proxy: ProxyWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stuck database holds up nobody for longer than who came first, however many wait."""
    over = threading.Event()
    monkeypatch.setattr(memory, "build_block", lambda *_: over.wait(proxy_world.PATIENCE_SECONDS) and "")
    body = {"model": "t", "messages": chat("hi")}

    def ask(number: int) -> str:
        return str(world.post(f"user{number}", json=body).headers["x-memory"])

    with proxy.served_again(proxy_memory_seconds=0.5) as world:
        try:
            with ThreadPoolExecutor(4 * memory.PLACES) as pool:
                assert set(pool.map(ask, range(4 * memory.PLACES))) == {"failed; timeout"}
        finally:
            over.set()


def test_r37_thoughts_reach_no_other_chat(proxy: ProxyWorld) -> None:
    proxy.model.answers = ["<think>I must hide the key.</think>Hello.", "Bye."]
    client = proxy.client(X_User_Id="ann")
    first = proxy.ask(client, "hi")
    assert proxy.wait_for_lines(2, "proxy/ann") == [("ann", "hi"), ("self", "Hello.")]
    proxy.ask(client, "hi", first, "bye")
    assert [text for _, text in proxy.wait_for_lines(4, "proxy/ann")] == ["hi", "Hello.", "bye", "Bye."]


@pytest.mark.parametrize("kind", ["text/plain", "application/json", "text/event-stream"])
@pytest.mark.parametrize("stream", [True, False])
def test_r37_an_answer_of_any_type_is_stored_compressed_too(proxy: ProxyWorld, kind: str, stream: bool) -> None:
    content = SAID + DONE if stream else json.dumps(whole("Hello Ann.")).encode()
    for who, sent, more in (("ann", content, {}), ("bob", gzip.compress(content), {"content-encoding": "gzip"})):
        proxy.model.reply = lambda r, sent=sent, more=more: Response(sent, media_type=kind, headers=more)
        assert proxy.post(who, json={"model": "t", "messages": chat("hi"), "stream": stream}).content == content
        assert proxy.wait_for_lines(2, f"proxy/{who}") == [(who, "hi"), ("self", "Hello Ann.")]


@pytest.mark.slow
def test_r37_a_locked_database_costs_a_request_its_memory_alone(proxy: ProxyWorld, tmp_path: Path) -> None:
    """Another program's long write must not stop the chat, and no turn is lost."""
    file = tmp_path / "locked.sqlite3"
    db = open_database(f"sqlite:///{file}", settings={"DB_TIMEOUT_SECONDS": 4})
    elsewhere = ProxyWorld(db, proxy.persona, "", proxy.model)
    with elsewhere.served_again(proxy_memory_seconds=0.5) as world:
        world.ask(world.client(X_User_Id="ann"), "hello")
        world.wait_for_lines(2, "proxy/ann")
        lock = sqlite3.connect(file, isolation_level=None)
        lock.execute("BEGIN IMMEDIATE")
        for number in range(5):
            world.ask(world.client(X_User_Id=f"user{number}"), "hello")
        started, client = time.monotonic(), world.client(X_Store="no")
        client.models.list()
        world.ask(client, "hello")
        assert time.monotonic() - started < 4
        time.sleep(2)
        lock.execute("COMMIT")
        lock.close()
        for number in range(5):
            assert len(world.wait_for_lines(2, f"proxy/user{number}")) == 2
    db.close()


def test_r37_the_next_message_knows_the_last_turn_however_fast_it_comes(proxy: ProxyWorld) -> None:
    for number in range(10):
        client = proxy.client(X_User_Id=f"quick{number}")
        proxy.ask(client, "My cat is called Tofu.")
        proxy.ask(client, "What is my cat called?")
        assert "Tofu" in str(proxy.model.last.messages), number


def test_f82_a_new_story_knows_nothing_of_the_last(proxy: ProxyWorld) -> None:
    ask = "Where is the sword of the smuggler Marlo, and who is the innkeeper?"
    for number, told in enumerate(("The smuggler Marlo hides a sword.", "The innkeeper Brida found the sword.", "")):
        client = proxy.client(X_User_Id="ann", X_Conversation_Id=f"story{number}")
        raw = client.chat.completions.with_raw_response.create(model="t", messages=chat(ask))
        assert raw.headers["x-memory"] == "empty" and proxy.model.last.messages == chat(ask), number
        first = raw.parse().choices[0].message.content or ""
        proxy.ask(client, ask, first, told or "Bye.")
        assert proxy.wait_for_lines(4, f"proxy/ann/story{number}")
    raw = proxy.client(X_User_Id="ann").chat.completions.with_raw_response.create(model="t", messages=chat(ask))
    assert raw.headers["x-memory"] == "empty"
    proxy.ask(proxy.client(X_User_Id="ann", X_Conversation_Id="story1"), "And the smuggler?")
    assert "Brida" in str(proxy.model.last.messages) and "Marlo hides" not in str(proxy.model.last.messages)


def test_f82_what_a_person_asked_to_keep_is_shared_by_their_chats_until_they_are_forgotten(proxy: ProxyWorld) -> None:
    kept = ("Please remember: I am allergic to walnuts.", "From now on always answer in German.")
    client = proxy.client(X_User_Id="ann", X_Conversation_Id="one")
    for text in kept:
        proxy.ask(client, text)
    assert proxy.wait_for_lines(4, "proxy/ann/one")
    for who, chats in (("ann", ("two", "")), ("bob", ("two", "one", ""))):
        for name in chats:
            named = {"X_Conversation_Id": name} if name else {}
            proxy.ask(proxy.client(X_User_Id=who, **named), "What do you cook for me? I like walnuts.")
            arrived = str(proxy.model.last.messages)
            assert [word in arrived for word in ("allergic", "German")] == [who == "ann"] * 2, (who, name)
    for name in ("proxy/ann", "proxy/ann/two"):
        proxy.wait_for_lines(2, name)
    forget(participant="proxy/ann", db=proxy.db, scope=Scope(proxy.persona))
    assert proxy.lines("proxy/ann/one") == []
    proxy.ask(proxy.client(X_User_Id="ann", X_Conversation_Id="two"), "Am I allergic to walnuts?")
    assert HEAD not in str(proxy.model.last.messages)


def test_f82_sharing_everything_is_a_choice(proxy: ProxyWorld) -> None:
    """An assistant that helps with one thing over many chats wants all of them."""
    with proxy.served_again(proxy_shared_memory=True) as world:
        world.ask(world.client(X_User_Id="ann", X_Conversation_Id="one"), "My cat is called Tofu.")
        world.wait_for_lines(2, "proxy/ann/one")
        world.ask(world.client(X_User_Id="ann", X_Conversation_Id="two"), "What is my cat called?")
        assert "Tofu" in str(world.model.last.messages)


def test_r20_keys_are_neither_stored_nor_logged(proxy: ProxyWorld, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        proxy.ask(proxy.client(X_User_Id="ann", X_Upstream_Key="key-of-the-request"), "hello")
        proxy.ask(proxy.client(X_User_Id="ann"), "hello again")
        proxy.wait_for_lines(4, "proxy/ann")
    assert [each.headers["authorization"] for each in proxy.model.requests] == [
        "Bearer key-of-the-request", "Bearer upstream-key",
    ]  # fmt: skip
    assert not [each for each in proxy.model.requests if "x-upstream-key" in each.headers]
    ours = "".join(record.getMessage() for record in caplog.records if record.name.startswith("prompt_engine"))
    rows = repr([tuple(row) for t in TABLES.values() for row in proxy.db.read(select(t), source=t.name)])
    for secret in ("key-of-the-request", "upstream-key", proxy.host):
        assert secret not in ours and secret not in rows and secret not in json.dumps(proxy.model.last.body)


@pytest.mark.parametrize(("name", "value"), [
    ("X-User-Id", "a" * 300), ("X-User-Id", "../../admin"), ("X-User-Id", "' OR 1=1 --"), ("X-User-Id", "%00"),
    ("X-Conversation-Id", "c" * 600), ("X-Conversation-Id", "../bob"), ("X-Conversation-Id", "/"),
    ("X-Interface", "web/ann"), ("X-Server-Id", "s" * 300), ("X-User-Name", "%FF%00"),
    ("X-OpenWebUI-User-Id", "u" * 5000),
])  # fmt: skip
def test_r16_a_hostile_id_is_a_name_or_costs_the_memory(proxy: ProxyWorld, name: str, value: str) -> None:
    proxy.ask(proxy.client(X_User_Id="ann", X_Conversation_Id="c"), "My pin is 7321, keep it.")
    proxy.wait_for_lines(2, "proxy/ann/c")
    body = {"model": "tiny", "messages": chat("What is my pin, to keep it?")}
    answer = proxy.post("bob", {name: value}, json=body)
    assert answer.status_code == 200 and "7321" not in str(proxy.model.last.body)
    assert len(proxy.lines("proxy/ann/c")) == 2


@pytest.mark.parametrize("lines", [
    b"X-User-Id: ann\r\nX-User-Id: bob\r\n", b"X-User-Id: \xff\xfe\r\n", b"Content-Length: 5\r\nContent-Length: 6\r\n",
    b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", b"X-Bad\r\n", b"Host: evil.example\r\n",
])  # fmt: skip
def test_r13_a_request_that_is_no_http_is_refused_and_the_next_one_served(proxy: ProxyWorld, lines: bytes) -> None:
    host, port = proxy.url.removeprefix("http://").split(":")
    start = f"POST /v1/chat/completions HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {proxy.host}\r\n"
    with socket.create_connection((host, int(port)), timeout=proxy_world.PATIENCE_SECONDS) as client:
        client.sendall(start.encode() + lines + b"Connection: close\r\n\r\n")
        client.shutdown(socket.SHUT_WR)
        got = b""
        while part := client.recv(65_536):
            got += part
    assert not got or b" 500 " not in got.partition(b"\r\n")[0]
    assert proxy.ask(proxy.client(X_User_Id="ann"), "hello").startswith("ok")
