"""Who may ask the HTTP API (R12, R13): every route with each kind of token, foreign hosts and pages, large bodies."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.websockets import WebSocketDisconnect

from core import tokens
from core.config import Settings
from core.database.engine import Database
from core.scope import Scope
from core.web import guard
from core.web.errors import Refused
from tests.spec.admin_world import BEARER, TOKEN, client_of, made
from tests.spec.api_world import World, bearer, said

pytestmark = pytest.mark.engines("sqlite")

ROUTES: list[tuple[str, str, Any]] = [
    ("POST", "/v1/prompt", {"message": said("tea?")}),
    ("POST", "/v1/messages", {"messages": [{"message": said("I like tea")}]}),
    ("POST", "/v1/turns", {"message": said("I like tea"), "reply": {"text": "Noted."}}),
    ("POST", "/v1/search", {"query": "tea", "conversation": "web/ann", "participant": "web/ann"}),
    ("POST", "/v1/memories", {"text": "Ann likes tea", "participant": "web/ann"}),
    ("GET", "/v1/memories?participant=web/ann", None),
    ("GET", "/v1/profile?participant=web/ann", None),
    ("DELETE", "/v1/memories/7", None),
    ("PATCH", "/v1/messages/web/ann/1", {"text": "x"}),
    ("DELETE", "/v1/messages/web/ann/1", None),
]


@pytest.fixture
def world(db: Database, stage: Any) -> Iterator[World]:
    with client_of(made(db)) as client:
        yield World(db, client, stage.persona)


def test_r12_the_routes_here_are_all_there_are(world: World) -> None:
    document = world.client.get("/openapi.json").json()
    paths = {path: each for path, each in document["paths"].items() if path.startswith("/v1/")}
    assert sum(len(each) for each in paths.values()) == len(ROUTES)


@pytest.mark.parametrize(("method", "path", "body"), ROUTES, ids=lambda value: str(value)[:30])
def test_r12_every_route_with_each_kind_of_token(world: World, method: str, path: str, body: Any) -> None:
    revoked = world.visitor()
    assert tokens.revoke_token(int(revoked.token.split("_")[1]), db=world.db, scope=Scope(world.persona))
    for text in ("", "x", revoked.token, world.visitor().token[:-1] + "!"):
        answer = world.client.request(method, path, json=body, headers=bearer(text))
        assert (answer.status_code, answer.json()["error"]) == (401, "no_token"), text
        assert ("not valid here" in answer.json()["message"]) == bool(text)
        assert answer.headers["www-authenticate"] == "Bearer"
    assert world.client.request(method, path, content=b"{broken").status_code == 401
    for text in (TOKEN, world.visitor("admin").token):
        answer = world.client.request(method, path, json=body, headers=bearer(text))
        assert (answer.status_code, answer.json()["error"]) == (403, "forbidden")
    ann, bob = world.visitor("scope", "web/ann"), world.visitor("scope", "web/bob")
    for visitor in (world.visitor(), ann):
        answer = world.client.request(method, path, json=body, headers=bearer(visitor.token))
        assert answer.status_code in (200, 404), answer.text
    answer = world.client.request(method, path, json=body, headers=bearer(bob.token))
    assert answer.status_code == (403 if "ann" in f"{path}{body}" else 404 if "7" in path else 200), answer.text


def test_r12_admin_routes_take_admin_tokens_alone(world: World) -> None:
    where = "/admin/relationship/recent"
    assert world.client.get(where, headers=BEARER).status_code == 200
    assert world.client.get(where, headers=bearer(world.visitor("admin").token)).status_code == 200
    for visitor in (world.visitor(), world.visitor("scope", "web/ann")):
        answer = world.client.get(where, headers=bearer(visitor.token))
        assert (answer.status_code, answer.json()["error"]) == (403, "forbidden")


def test_r12_a_token_reads_and_changes_nothing_of_others(world: World) -> None:
    host, bob = world.visitor(), world.visitor("scope", "web/bob")
    host.post("/v1/turns", {"message": said("my pin is 7321", message_id="1"), "reply": {"text": "Noted"}})
    host.post("/v1/memories", {"text": "the pin is 7321", "conversation": "web/ann", "participant": "web/ann",
                               "privacy": "direct"})  # fmt: skip
    asked = [
        ("POST", "/v1/search", {"query": "pin", "participant": "web/ann"}),
        ("POST", "/v1/search", {"query": "pin", "conversation": "web/ann"}),
        ("POST", "/v1/search", {"query": "pin", "conversation": "web/nobody"}),
        ("POST", "/v1/search", {"query": "pin", "server": "s1"}),
        ("POST", "/v1/prompt", {"message": said("my pin?")}),
        ("POST", "/v1/prompt", {"message": said("my pin?", "bob", "web/ann")}),
        ("POST", "/v1/messages", {"messages": [{"message": said("x", "bob", "web/ann")}]}),
        ("POST", "/v1/messages", {"messages": [{"message": said("x", "bob", "web/room", server_id="s1")}]}),
        ("GET", "/v1/memories?participant=web/ann", None),
        ("PATCH", "/v1/messages/web/ann/1", {"text": "x"}),
        ("DELETE", "/v1/messages/web/ann/1", None),
    ]  # fmt: skip
    answers = [bob.ask(method, path, 403, json=body) for method, path, body in asked]
    assert {each["error"] for each in answers} == {"forbidden"} and "7321" not in json.dumps(answers)
    for path, body in (("/v1/search", {"query": "pin"}), ("/v1/prompt", {"message": said("my pin?", "bob")})):
        assert "7321" not in json.dumps(bob.post(path, body))
    assert bob.ask("GET", "/v1/memories")["items"] == []
    ann = world.visitor("scope", "web/ann")
    assert "7321" in json.dumps(ann.post("/v1/search", {"query": "pin"}))
    (item,) = ann.ask("GET", "/v1/memories")["items"]
    bob.ask("DELETE", f"/v1/memories/{item['id']}", 404)
    assert ann.ask("DELETE", f"/v1/memories/{item['id']}") == {"deleted": 1}
    other = world.visitor(persona=f"{world.persona}-2")
    assert other.post("/v1/search", {"query": "pin"}) == {"hits": []}


def test_r13_errors_have_one_shape(world: World) -> None:
    host = world.visitor()
    for method, path, content, status in (
        ("POST", "/v1/search", b"{broken", 422), ("POST", "/v1/search", b'{"limit": 0}', 422),
        ("POST", "/v1/search", b'{"unknown": 1}', 422), ("POST", "/v1/search?x=1", b"{}", 422),
        ("GET", "/v1/nowhere", b"", 404), ("GET", "/nowhere", b"", 404), ("PUT", "/v1/search", b"", 405),
        ("DELETE", "/v1/memories/7", b"", 404), ("DELETE", "/v1/memories/x", b"", 422),
        ("POST", "/v1/messages", b'{"messages": [{"message": {"text": "x"}}]}', 422),
        ("POST", "/v1/prompt", b'{"message": {"txt": "x"}}', 422), ("POST", "/v1/turns", b'{"message": {}}', 422),
        ("POST", "/v1/memories", b'{"text": " "}', 422), ("POST", "/v1/search", b"[" * 100_000, 400),
        ("POST", "/v1/search", b'{"query": "\\ud800\\u0000"}', 422), ("POST", "/v1/search", b"\xff\xfe", 422),
        ("POST", "/v1/memories", b'{"text": "x", "participant": "a\\u0000b"}', 422),
    ):  # fmt: skip
        headers = {"content-type": "application/json"}
        answer = world.client.request(method, path, content=content, headers={**bearer(host.token), **headers})
        assert answer.status_code == status, (path, content[:40], answer.status_code, answer.text[:200])
        assert status == 200 or set(answer.json()) == {"error", "message", "fields"}, path


def test_r13_what_a_route_does_not_read_is_refused_with_what_may_be_meant(world: World) -> None:
    """Of a filter that is misspelt, a list of everything would be the answer; whatever the method."""
    host = world.visitor()
    for method, path, body, hint in (
        ("GET", "/v1/memories?partcipant=web/ann", None, "Did you mean 'participant'?"),
        ("POST", "/v1/search", {"qurey": "tea"}, "qurey is not known here."),
        ("POST", "/v1/search", {"QUERY": "tea"}, "QUERY is not known here."),
        ("POST", "/v1/turns", {"message": {"text": "hi"}, "reply": {"txt": "ho"}}, "reply.txt is not known here."),
        ("DELETE", "/v1/memories/7?server_id=s", None, "Did you mean 'server'?"),
    ):
        answer = host.ask(method, path, 422, json=body)
        assert hint in answer["message"] and answer["error"] == "bad_value", answer
    message = said("tea", path="web/7", txt="hi")
    (saved,) = host.post("/v1/messages", {"messages": [{"message": message}]})["messages"]
    assert saved["stored"] and "'txt' (did you mean 'text'?)" in saved["notes"][0]


@pytest.mark.parametrize(
    ("path", "field", "value", "said_of_it"),
    [
        ("turns", "message.text", ["a"], ": "),
        ("turns", "message.message_id", True, " is True: "),
        ("turns", "message.from_user.id", False, " is False: "),
        ("turns", "message.date", "soon" * 50, ": "),
        ("turns", "reply.date", "\ud800", ": "),
        ("memories", "importance", True, " is True: "),
    ],
)
def test_r13_a_field_of_another_type_is_refused_by_name_and_value(
    world: World, path: str, field: str, value: Any, said_of_it: str
) -> None:
    """Taken as something else it is stored for good: true was the id 1, and a date nobody could read was now."""
    body: dict[str, Any] = {"text": "tea"} if path == "memories" else {}
    if path == "turns":
        body = {"message": {**said("tea"), "from_user": {"id": "ann"}}, "reply": {"text": "ho"}}
    *places, name = field.split(".")
    inner = body
    for place in places:
        inner = inner[place]
    inner[name] = value
    headers = {"content-type": "application/json"}
    answer = world.visitor().ask("POST", f"/v1/{path}", 422, content=json.dumps(body), headers=headers)
    assert answer["fields"] == [field] and answer["message"].startswith(field), answer
    assert said_of_it in answer["message"]


def test_r13_a_body_that_does_not_come_is_given_up() -> None:
    async def never() -> Any:
        await asyncio.sleep(60)

    async def read() -> None:
        await guard.read_body(never, 10, 0.05)

    with pytest.raises(Refused) as caught:
        asyncio.run(read())
    assert caught.value.status_code == 408


def test_r13_allowed_origins_are_exact(db: Database) -> None:
    token = tokens.add_token("host", db=db)["token"]
    with client_of(made(db, Settings(allowed_origins=("https://chat.example",)))) as client:
        for origin, status in (("https://chat.example", 200), ("https://chat.example.evil", 403),
                               ("http://chat.example", 403)):  # fmt: skip
            answer = client.get("/v1/memories", headers={**bearer(token), "Origin": origin})
            assert answer.status_code == status
            assert answer.headers.get("access-control-allow-origin") == (origin if status == 200 else None)
        asked = {"Origin": "https://chat.example", "Access-Control-Request-Method": "POST",
                 "Access-Control-Request-Headers": "authorization"}  # fmt: skip
        assert client.options("/v1/search", headers=asked).status_code == 200


def test_r13_what_fails_unforeseen_tells_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("secret 7321")

    monkeypatch.setattr("core.lifelong.search_items", fail)
    answer = world.client.get("/v1/memories", headers=bearer(world.visitor().token))
    assert answer.status_code == 500 and "7321" not in answer.text
    assert set(answer.json()) == {"error", "message", "fields"}


def test_r13_websockets_are_closed(world: World) -> None:
    for path in ("/v1/prompt", "/nowhere"):
        with pytest.raises(WebSocketDisconnect), world.client.websocket_connect(path):
            pass
