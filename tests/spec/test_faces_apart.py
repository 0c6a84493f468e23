"""All faces on one server: many people who each ask all of them, and bodies and headers that mean harm (R7, R12, R13).

FACES_SCOPES is how many people ask (`make isolation` sets 1000); 12 without it.
"""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

pytest.importorskip("mcp", reason="needs the extra `mcp`")

from core import tokens
from core.config import Settings
from core.database.engine import Database
from core.scope import Scope
from core.web import create_app
from tests.spec.proxy_world import PATIENCE_SECONDS, ModelServer, ProxyWorld, chat, serving

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
