"""All faces on one server: many people who each ask all of them, and bodies and headers that mean harm (R7, R12, R13).

FACES_SCOPES is how many people ask (`make isolation` sets 1000); 12 without it.
"""

from __future__ import annotations

import json
import logging
import os
import re
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx2
import pytest

pytest.importorskip("mcp", reason="needs the extra `mcp`")

from core import tokens
from core.config import Settings
from core.database.engine import Database
from core.scope import Scope
from core.web import create_app
from tests.spec.proxy_world import PATIENCE_SECONDS, ModelServer, ProxyWorld, chat, serving, wait_until

pytestmark = pytest.mark.engines("sqlite")

PEOPLE = int(os.environ.get("FACES_SCOPES", "12"))
CANARY = re.compile(r"canary\d+x")
PATHS = ("/v1/search", "/v1/chat/completions", "/mcp")


@pytest.fixture
def faces(db: Database, stage: Any) -> Iterator[ProxyWorld]:
    model = ModelServer()
    with serving(model.app) as model_url:
        settings = Settings(llm_base_url=f"{model_url}/v1", llm_api_key="k")
        app = create_app(db=db, settings=settings, admin=False, proxy=True, mcp=True)
        with serving(app) as url:
            made = ProxyWorld(db, stage.persona, url, model)
            yield made
            made.close()


def search_by_mcp(client: httpx2.Client, token: str, query: str) -> str:
    asked = {"name": "memory_search", "arguments": {"query": query, "limit": 100}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked}
    head = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    return client.post("/mcp", json=body, headers=head).text


@pytest.mark.slow
def test_r12_of_many_people_each_is_told_their_own_by_every_face(faces: ProxyWorld) -> None:
    people = [(f"{faces.persona}{'b' if n % 2 else ''}", f"user{n // 2}", n) for n in range(PEOPLE)]
    with httpx2.Client(base_url=faces.url, timeout=PATIENCE_SECONDS, trust_env=False) as client:
        held = {}
        for persona, who, n in people:
            one = Scope(persona, participant=f"proxy/{who}")
            own = held[n] = tokens.add_token("scope", db=faces.db, scope=one)["token"]
            message = {"text": f"My secret word is canary{n}x, for the green door.", "interface_path": f"proxy/{who}",
                       "from_user": {"id": who}, "message_id": f"m{n}"}  # fmt: skip
            body = {"messages": [{"message": message}]}
            answer = client.post("/v1/messages", json=body, headers={"Authorization": f"Bearer {own}"})
            assert answer.status_code == 200, answer.text
        question = "What is the secret word for the green door?"
        for persona, who, n in people:
            head = {"Authorization": f"Bearer {held[n]}"}
            told = [search_by_mcp(client, held[n], question),
                    client.post("/v1/search", json={"query": question, "limit": 100}, headers=head).text]  # fmt: skip
            asked = {"model": "tiny", "messages": chat(question)}
            given = {**head, "X-Conversation-Id": f"c{n}", "X-Conversation-Privacy": "direct"}
            assert client.post("/v1/chat/completions", json=asked, headers=given).status_code == 200
            told.append(str(faces.model.last.messages))
            for text in told:
                assert set(CANARY.findall(text)) == {f"canary{n}x"}, (persona, who, n, text[:500])


def test_r13_a_foreign_name_page_and_a_large_body_are_refused_by_every_face(faces: ProxyWorld) -> None:
    own = faces.token("scope", "proxy/ann")
    head = {"Authorization": f"Bearer {own}", "Content-Type": "application/json", "Accept": "application/json"}
    with httpx2.Client(base_url=faces.url, timeout=PATIENCE_SECONDS, trust_env=False) as client:
        for path in PATHS:
            for more, status in ((("Host", "evil.example"), 421), (("Origin", "https://evil.example"), 403)):
                answer = client.post(path, content=b"{}", headers={**head, more[0]: more[1]})
                assert answer.status_code == status, (path, more, answer.status_code)
            if "chat" not in path:  # the proxy passes on what it does not read, such as photos
                assert client.post(path, content=b" " * 10_485_760, headers=head).status_code == 413, path
    assert faces.model.requests == []


def test_r13_a_body_that_ends_early_stores_nothing_and_the_next_is_served(faces: ProxyWorld) -> None:
    own = faces.token("scope", "proxy/ann")
    host, port = faces.url.removeprefix("http://").split(":")
    body = json.dumps({"model": "m", "messages": chat("half of a request"), "query": "x"}).encode()
    for path in PATHS:
        head = (f"POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {own}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body) + 50}\r\n\r\n")  # fmt: skip
        with socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS) as client:
            client.sendall(head.encode() + body)
            client.shutdown(socket.SHUT_WR)
            while client.recv(65_536):
                pass
    assert faces.model.requests == [] and faces.lines("proxy/ann") == []
    assert faces.ask(faces.client(own), "a whole request") == "ok 1"


BROKEN = b'{"messages": ['
WHOLE = b'{"model": "tiny", "messages": [{"role": "user", "content": "hi"}]}'
GONE = [
    ("/v1/chat/completions", BROKEN, "closed"), ("/v1/chat/completions", BROKEN, "reset"),
    ("/v1/chat/completions", WHOLE, "closed"), ("/v1/chat/completions", WHOLE, "reset"),  # while the model thinks
    ("/v1/turns", BROKEN, "closed"), ("/v1/messages", BROKEN, "reset"), ("/mcp", BROKEN, "closed"),
    ("/mcp", BROKEN, "reset"),
]  # fmt: skip


def test_r13_a_client_that_goes_is_one_quiet_line(db: Any, stage: Any, caplog: pytest.LogCaptureFixture) -> None:
    """A traceback for each browser tab that is closed hides the one that matters."""
    token = tokens.add_token("scope", db=db, scope=Scope(stage.persona, participant="web/ann"))["token"]
    with socket.create_server(("127.0.0.1", 0)) as silent, caplog.at_level(logging.INFO), ExitStack() as opened:
        settings = Settings(llm_base_url=f"http://127.0.0.1:{silent.getsockname()[1]}/v1")
        with serving(create_app(db=db, settings=settings, admin=False, proxy=True, mcp=True)) as url:
            host, port = url.removeprefix("http://").split(":")
            clients = []
            for path, body, _ in GONE:
                client = opened.enter_context(socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS))
                head = (f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                        "Accept: application/json, text/event-stream\r\nAuthorization: Bearer "
                        f"{token}\r\nContent-Length: {len(body) if body is WHOLE else 1000}\r\n\r\n")  # fmt: skip
                client.sendall(head.encode() + body)
                clients.append(client)
            time.sleep(0.5)  # the rest is being waited for
            for client, (_, _, ending) in zip(clients, GONE, strict=True):
                if ending == "reset":
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                client.close()
            assert wait_until(lambda: caplog.text.count("request_cut_off") >= len(GONE), 20), caplog.text
    told = [record for record in caplog.records if record.name.startswith("prompt_engine")]
    assert [record.getMessage().split()[0] for record in told] == ["request_cut_off"] * len(GONE)
    assert not [record for record in caplog.records if record.exc_info or record.levelno > logging.INFO], caplog.text
