"""Who may ask the HTTP applications: tokens, cookies, hosts, foreign pages, bodies (L33, L34, R7, R12, R13).

FACES_SCOPES is how many people ask all faces (`make isolation` sets 1000); 12 without it.
"""

import asyncio
import itertools
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
from unittest.mock import Mock

import httpx2
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from core import Scope, tokens
from core.config import Settings
from core.database.engine import Database
from core.web import guard
from core.web.errors import Refused
from tests.spec.proxy_world import PATIENCE_SECONDS, ProxyWorld, chat, wait_until
from tests.spec.web_world import BEARER, HOST, TOKEN, World, bearer, client_of, made, routes_of, said
from tests.store.world import Clock

LISTED = "/admin/relationship/recent"
CHANGING = "/admin/memory/prune_session_ttl"

_days = itertools.count(1)
PEOPLE = int(os.environ.get("FACES_SCOPES", "12"))
CANARY = re.compile(r"canary\d+x")
PATHS = ("/v1/search", "/v1/chat/completions", "/mcp")
BROKEN = b'{"messages": ['
WHOLE = b'{"model": "tiny", "messages": [{"role": "user", "content": "hi"}]}'
GONE = [
    ("/v1/chat/completions", BROKEN, "closed"), ("/v1/chat/completions", BROKEN, "reset"),
    ("/v1/chat/completions", WHOLE, "closed"), ("/v1/chat/completions", WHOLE, "reset"),  # while the model thinks
    ("/v1/turns", BROKEN, "closed"), ("/v1/messages", BROKEN, "reset"), ("/mcp", BROKEN, "closed"),
    ("/mcp", BROKEN, "reset"),
]  # fmt: skip


@pytest.fixture
def clock(db: Database) -> Clock:
    """A day of its own for each test: what was revoked on another is over."""
    known: Any = db.clock
    known.forward(days=next(_days))
    return known


@pytest.fixture
def client(app: FastAPI, clock: Clock) -> Iterator[TestClient]:
    with client_of(app) as made_client:
        yield made_client


def test_l34_every_route_without_token_is_401(app: FastAPI, client: TestClient) -> None:
    routes = [route for route in routes_of(app) if route[1].startswith(("/admin", "/v1"))]
    assert ("GET", "/admin/memory/search") in routes and len(routes) > 35
    guarded = [r for r in routes if not guard.is_public(r[1].removeprefix("/admin"), r[0])]
    assert {path for _, path in routes} - {path for _, path in guarded} <= {
        "/admin/login", "/admin/static/admin.css", "/admin/static/admin.js", "/admin/static/mark.svg", "/admin/static",
    }  # fmt: skip
    for method, path in [*guarded, ("GET", "/admin/nowhere"), ("PUT", "/admin/memory/edit")]:
        answer = client.request(method, path)
        assert (answer.status_code, answer.json()["error"]) == (401, "no_token"), (method, path)
        assert answer.headers["www-authenticate"] == "Bearer"
        assert client.request(method, path, headers={"accept": "text/html"}).status_code == 401


def test_l34_a_wrong_token_or_cookie_is_401_and_the_right_one_is_taken(client: TestClient, caplog: Any) -> None:
    wrong = ("", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "ключ")
    shown = [("Authorization", f"{kind} {token}") for token in wrong for kind in ("Bearer", "bearer")]
    cookies = ("", "x", "1.2.3", "9999999999.aa.bb", "9999999999..", "ü.ü.ü")
    shown += [("cookie", f"prompt_engine_admin={cookie}") for cookie in cookies]
    for name, value in (*shown, ("Authorization", f"Basic {TOKEN}")):
        assert client.get(LISTED, headers={name: value.encode()}).status_code == 401, value
    assert client.get(LISTED, params={"token": TOKEN}).status_code == 401
    assert client.get(LISTED, headers=BEARER).status_code == 200 and TOKEN[:-1] not in caplog.text


def logged_in(client: TestClient) -> str:
    answer = client.post("/admin/login", data={"token": TOKEN}, headers={"Origin": HOST})
    assert (answer.status_code, answer.headers["location"]) == (303, "/admin/")
    return str(answer.headers["set-cookie"])


def test_l34_the_page_logs_in_with_a_cookie_that_never_holds_the_token(client: TestClient, clock: Clock) -> None:
    cookie = logged_in(client)
    assert TOKEN not in cookie and "HttpOnly" in cookie and "SameSite=strict" in cookie and "Path=/admin" in cookie
    assert "Secure" not in cookie and "Max-Age=43200" in cookie and client.get(LISTED).status_code == 200
    clock.forward(hours=12)
    assert client.get(LISTED).status_code == 401
    logged_in(client)
    value = client.cookies["prompt_engine_admin"]
    out = client.post("/admin/logout", headers={"Origin": HOST})
    assert (out.status_code, out.headers["location"]) == (303, "/admin/login")
    client.cookies.set("prompt_engine_admin", value, domain="localhost.local", path="/admin")
    assert client.get(LISTED, headers={"cookie": f"prompt_engine_admin={value}"}).status_code == 401
    there = "https://localhost"
    answer = client.post(f"{there}/admin/login", data={"token": TOKEN}, headers={"Origin": there})
    assert "Secure" in answer.headers["set-cookie"]


def test_l34_a_wrong_log_in_is_401_and_a_browser_is_led_back(client: TestClient) -> None:
    assert client.post("/admin/login", data={"token": "no"}).status_code == 401
    page = client.post("/admin/login", data={"token": "no"}, headers={"accept": "text/html,*/*"})
    assert page.status_code == 401 and "/admin/login?failed=1" in page.text and "set-cookie" not in page.headers
    assert "0; url=/admin/login" in client.post("/admin/logout", headers={"accept": "text/html"}).text
    asked = client.get("/admin/", headers={"accept": "text/html"})
    assert asked.status_code == 401 and 'content="0; url=/admin/login"' in asked.text
    assert client.post("/admin/login").status_code == 422
    assert client.post("/admin/login", data={"token": "x" * 9000}).status_code == 413
    assert client.post("/admin/login", data={"token": TOKEN}, headers={"Origin": "http://evil"}).status_code == 403


@pytest.mark.parametrize("headers", [
    {"Origin": "http://evil.example"}, {"Origin": "http://localhost:9999"}, {"Origin": "null"}, {"Origin": ""},
    {"Referer": "http://evil.example/admin/"}, {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site", "Origin": HOST}, {"Sec-Fetch-Site": "same-origin", "Origin": "http://evil.example"},
], ids=str)  # fmt: skip
def test_l34_a_changing_request_from_another_site_is_403(client: TestClient, headers: dict[str, str]) -> None:
    asked = client.post(CHANGING, headers={**BEARER, **headers})
    assert (asked.status_code, asked.json()["error"]) == (403, "foreign_site")
    assert client.request("DELETE", "/admin/memory/delete/1", headers={**BEARER, **headers}).status_code == 403
    logged_in(client)
    assert client.post(CHANGING, headers=headers).status_code == 403
    read = client.get(LISTED, headers=headers)
    assert read.status_code == 200 and "access-control-allow-origin" not in read.headers


def test_l34_the_cookie_alone_changes_nothing_unless_the_request_says_where_it_is_from(client: TestClient) -> None:
    logged_in(client)
    assert client.post(CHANGING).status_code == 403
    for headers in ({"Origin": HOST}, {"Referer": f"{HOST}/admin/page"}, {"Sec-Fetch-Site": "same-origin"}):
        assert client.post(CHANGING, headers=headers).status_code == 200, headers
    assert client.post(CHANGING, headers=BEARER).status_code == 200


def test_l34_an_operator_may_allow_names(db: Database, clock: Clock) -> None:
    asked = {**BEARER, "Host": "box.lan:80"}
    for app, by_name, by_address in (
        (made(db, allowed_hosts=["Box.lan"]), 200, 421), (made(db, allowed_hosts=["*"]), 200, 200),
        (made(db, Settings(admin_host="box.lan")), 200, 421), (made(db, Settings(admin_host="0.0.0.0")), 421, 200),
    ):  # fmt: skip
        with client_of(app) as client:
            assert client.get(LISTED, headers=asked).status_code == by_name
            assert client.get(LISTED, headers={**BEARER, "Host": "192.168.1.7"}).status_code == by_address


def test_l34_every_answer_is_kept_from_frames_caches_and_guesses(client: TestClient) -> None:
    for answer in (client.get(LISTED), client.get(LISTED, headers=BEARER), client.get("/x", headers={"Host": "evil"})):
        assert answer.headers["cache-control"] == "no-store" and answer.headers["x-frame-options"] == "DENY"
        assert "default-src 'self'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff" and "server" not in answer.headers
    for path in ("/docs", "/redoc", "/admin/docs", "/admin/redoc"):
        assert client.get(path, headers=BEARER).status_code == 404


def test_l34_a_host_mounts_it_into_its_own_application(db: Database, clock: Clock) -> None:
    host = FastAPI()
    host.get("/hello")(lambda: "hello")
    host.mount("/tools", made(db))
    with client_of(host) as client:
        assert client.get("/hello").json() == "hello"
        place = "/tools/admin"
        assert [client.get(f"/tools{LISTED}", headers=each).status_code for each in ({}, BEARER)] == [401, 200]
        answer = client.post(f"{place}/login", data={"token": TOKEN})
        assert answer.headers["location"] == f"{place}/" and f"Path={place};" in answer.headers["set-cookie"]
        assert client.get(f"/tools{LISTED}").status_code == 200
        assert client.get(place).headers["location"] == f"{place}/"
        assert f'href="{place}/"' in client.get("/tools/").text
        assert client.get("/tools/v1/memories").status_code == 401


def test_l35_the_first_page_says_what_runs_here_and_nothing_more(db: Database) -> None:
    with client_of(made(db)) as client:
        shown = client.get("/")
        assert shown.status_code == 200 and shown.headers["content-type"].startswith("text/html")
        for part in ('href="/admin/"', "/v1</code>", 'href="/openapi.json"', "docs/"):
            assert part in shown.text, part
        assert "/mcp" not in shown.text and "front end" not in shown.text
        assert client.get("/", headers={"Host": "evil.example"}).status_code == 421
    with client_of(made(db, Settings(llm_base_url="http://127.0.0.1:9/v1"), admin=False, proxy=True, mcp=True)) as bare:
        shown = bare.get("/")
        assert "/mcp" in shown.text and "front end" in shown.text and "/admin" not in shown.text
    with client_of(made(db, mcp=True, public_url="https://memory.example.org")) as remote:
        assert "https://memory.example.org/mcp" in remote.get("/").text


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


def test_r12_a_participants_token_changes_no_public_channel_of_the_same_key(world: World) -> None:
    """On Twitch a channel has the name of its streamer."""
    host, bob = world.visitor(), world.visitor("scope", "web/bob")
    raid = said("The raid is on Friday.", "ann", "web/bob", message_id="1", chat={"id": "bob", "type": "channel"})
    assert host.post("/v1/messages", {"messages": [{"message": raid}]})["messages"][0]["stored"]
    for at, more in enumerate(({}, {"is_private": True}, {"chat": {"type": "private"}})):
        own = said(f"secret {at}", "bob", **more)
        bob.post("/v1/prompt", {"message": own})
        assert bob.post("/v1/messages", {"messages": [{"message": own}]})["messages"][0]["stored"]
    bob.post("/v1/memories", {"text": "a secret wish"})
    bob.ask("DELETE", "/v1/messages/web/bob/1", 404)
    asked = said("raid secret?", "cem", "web/cem", chat={"type": "channel"})
    prompt = str(host.post("/v1/prompt", {"message": asked}))
    assert "on Friday" in prompt and "secret 0" not in prompt and "a secret" not in prompt
    assert "a secret wish" in str(bob.post("/v1/search", {"query": "secret wish"}))


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
        assert "7321" not in str(bob.post(path, body))
    assert bob.ask("GET", "/v1/memories")["items"] == []
    ann = world.visitor("scope", "web/ann")
    assert "7321" in str(ann.post("/v1/search", {"query": "pin"}))
    (item,) = ann.ask("GET", "/v1/memories")["items"]
    bob.ask("DELETE", f"/v1/memories/{item['id']}", 404)
    assert ann.ask("DELETE", f"/v1/memories/{item['id']}") == {"deleted": 1}
    assert world.visitor(persona=f"{world.persona}-2").post("/v1/search", {"query": "pin"})["hits"] == []


def test_r12_a_participants_token_deletes_no_memory_of_others(world: World) -> None:
    host, bob = world.visitor(), world.visitor("scope", "web/bob")
    *shared, by_host = (
        host.post("/v1/memories", {"text": f"The room has {n} seats.", "participant": who})["id"]
        for n, who in enumerate((None, "web/ann", "web/bob"))
    )
    own = [by_host, bob.post("/v1/memories", {"text": "I have a seat."})["id"]]
    assert {each["id"] for each in bob.ask("GET", "/v1/memories")["items"]} == {*shared, *own}
    for each in shared:
        assert bob.ask("DELETE", f"/v1/memories/{each}", 403)["error"] == "forbidden"
        assert host.ask("DELETE", f"/v1/memories/{each}") == {"deleted": 1}
    for each in own:
        assert bob.ask("DELETE", f"/v1/memories/{each}") == {"deleted": 1}


def test_r13_errors_have_one_shape_whatever_fails_and_websockets_are_closed(world: World, monkeypatch: Any) -> None:
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
        told = answer.json()
        assert set(told) == {"error", "message", "fields"}, path
        assert told["error"] == {400: "wrong_shape", 404: "not_found", 405: "method", 422: "bad_value"}[status], path
        assert ("/openapi.json" in told["message"]) == (status in (400, 405) or path.endswith("nowhere")), path
    assert "the header Content-Type" in world.client.post("/v1/search", content="{}", headers=bearer(host.token)).text
    allowed = {"/v1/memories": "GET, POST", "/v1/messages/a/7": "DELETE, PATCH", "/health": "GET, HEAD"}
    for path, methods in allowed.items():
        assert world.client.put(path, headers=bearer(host.token)).headers["Allow"] == methods
    for path in ("/v1/prompt", "/nowhere"):
        with pytest.raises(WebSocketDisconnect), world.client.websocket_connect(path):
            pass
    failure = Mock(side_effect=RuntimeError("secret 7321"))
    monkeypatch.setattr("core.lifelong.search_items", failure)
    answer = world.visitor().ask("GET", "/v1/memories", 500)
    assert failure.called and "7321" not in str(answer) and set(answer) == {"error", "message", "fields"}


def test_r13_a_key_without_an_interface_is_refused(world: World) -> None:
    """`olga` was a public conversation of no chat, in which everybody could read what Olga told in private."""
    host = world.visitor()
    reply, search = {"text": "Ok."}, {"query": "therapist"}
    for path, body, name in (
        ("/v1/turns", {"message": said("My therapist left.", path="olga"), "reply": reply}, "message.interface_path"),
        ("/v1/prompt", {"message": said("Hi", path="/olga")}, "message.interface_path"),
        ("/v1/search", {**search, "conversation": "olga"}, "conversation"),
        ("/v1/search", {**search, "participant": "web/"}, "participant"),
    ):  # fmt: skip
        answer = host.post(path, body, 422)
        assert answer["fields"] == [name]
        assert answer["message"] == f"{name}: input should have an interface before a slash, such as web/ann."
    assert host.post("/v1/search", search)["hits"] == []


def test_r13_what_a_route_does_not_read_is_refused_with_what_may_be_meant(world: World) -> None:
    """Of a filter that is misspelt, a list of everything would be the answer; whatever the method."""
    host = world.visitor()
    for method, path, body, hint in (
        ("GET", "/v1/memories?partcipant=web/ann", None, "Did you mean 'participant'?"),
        ("POST", "/v1/search", {"qurey": "tea"}, "qurey is not known here. Did you mean 'query'?"),
        ("POST", "/v1/memories", {"content": "tea"}, "content is not known here. Leave it out. text is missing. It is"),
        ("POST", "/v1/search", {"QUERY": "tea"}, "QUERY is not known here. Did you mean 'query'?"),
        ("POST", "/v1/turns", {"message": {"text": "hi"}, "reply": {"txt": "ho"}}, "reply.txt is not known here. Did"),
        ("POST", "/v1/messages", {"messages": [{"mesage": {}}]}, "Did you mean 'message'?"),
        ("DELETE", "/v1/memories/7?server_id=s", None, "Did you mean 'server'?"),
    ):
        answer = host.ask(method, path, 422, json=body)
        assert hint in answer["message"] and answer["error"] == "bad_value", answer
        assert "Did you mean" not in answer["message"] or "Leave it out" not in answer["message"], answer
    message = said("tea", path="web/7", txt="hi")
    (saved,) = host.post("/v1/messages", {"messages": [{"message": message}]})["messages"]
    assert saved["stored"] and "'txt' (did you mean 'text'?)" in saved["notes"][0]


@pytest.mark.parametrize(("path", "field", "value", "said_of_it"), [
    ("turns", "message.text", ["a"], ": "), ("turns", "message.message_id", True, " is True: "),
    ("turns", "message.from_user.id", False, " is False: "), ("turns", "message.date", "soon" * 50, ": "),
    ("turns", "reply.date", "\ud800", ": "), ("memories", "importance", True, " is True: "),
    ("memories", "text", " ", " is blank."),
])  # fmt: skip
def test_r13_a_field_of_another_type_is_named(world: World, path: str, field: str, value: Any, said_of_it: str) -> None:
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
    never: Any = lambda: asyncio.sleep(60)  # noqa: E731
    with pytest.raises(Refused) as caught:
        asyncio.run(guard.read_body(never, 10, 0.05))
    assert (caught.value.status_code, caught.value.answer.error) == (408, "too_slow")


def test_r13_allowed_origins_are_exact(db: Database) -> None:
    token = tokens.add_token("host", db=db)["token"]
    with client_of(made(db, Settings(allowed_origins=("https://chat.example",)))) as client:
        good = "https://chat.example"
        for origin in (good, f"{good}.evil", "http://chat.example"):
            answer = client.get("/v1/memories", headers={**bearer(token), "Origin": origin})
            assert answer.status_code == (200 if origin == good else 403)
            assert answer.headers.get("access-control-allow-origin") == (origin if origin == good else None)
        wanted = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
        assert client.options("/v1/search", headers={"Origin": good, **wanted}).status_code == 200


@pytest.fixture
def faces(proxy: ProxyWorld) -> Iterator[ProxyWorld]:
    pytest.importorskip("mcp", reason="needs the extra `mcp`")
    with proxy.served_again(mcp=True) as made:
        yield made


@pytest.mark.slow
def test_r12_of_many_people_each_is_told_their_own_by_every_face(faces: ProxyWorld) -> None:
    from tests.spec.mcp_world import asked

    people = [(f"{faces.persona}{'b' if n % 2 else ''}", f"user{n // 2}", n) for n in range(PEOPLE)]
    with httpx2.Client(base_url=faces.url, timeout=PATIENCE_SECONDS, trust_env=False) as client:
        heads = []
        for persona, who, n in people:
            one = Scope(persona, participant=f"proxy/{who}")
            heads.append(bearer(tokens.add_token("scope", db=faces.db, scope=one)["token"]))
            text = f"Say canary{n}x at the green door: my secret word."
            message = said(text, who, f"proxy/{who}", message_id=f"m{n}")
            answer = client.post("/v1/messages", json={"messages": [{"message": message}]}, headers=heads[n])
            assert answer.status_code == 200, answer.text
        question = "What is the secret word for the green door?"
        for (persona, who, n), head in zip(people, heads, strict=True):
            wanted = {"query": question, "limit": 100}
            streams = {**head, "Accept": "application/json, text/event-stream"}
            told = [client.post("/mcp", json=asked("memory_search", **wanted), headers=streams).text,
                    client.post("/v1/search", json=wanted, headers=head).text]  # fmt: skip
            body = {"model": "tiny", "messages": chat(question)}
            given = {**head, "X-Conversation-Id": f"c{n}", "X-Conversation-Privacy": "direct"}
            assert client.post("/v1/chat/completions", json=body, headers=given).status_code == 200
            told.append(str(faces.model.last.messages))
            for text in told:
                assert set(CANARY.findall(text)) == {f"canary{n}x"}, (persona, who, n, text[:500])


def test_r13_a_foreign_name_page_and_a_large_body_are_refused_by_every_face(faces: ProxyWorld) -> None:
    own = faces.token("scope", "proxy/ann")
    head = {"Authorization": f"Bearer {own}", "Content-Type": "application/json", "Accept": "application/json"}
    with httpx2.Client(base_url=faces.url, timeout=PATIENCE_SECONDS, trust_env=False) as client:
        for path in PATHS:
            for name, value, status, word in (
                ("Host", "evil.example", 421, "foreign_host"), ("Origin", "https://evil.example", 403, "foreign_site"),
            ):  # fmt: skip
                answer = client.post(path, content=b"{}", headers={**head, name: value})
                assert (answer.status_code, word in answer.text) == (status, True), (path, name, answer.text)
            if "chat" not in path:  # the proxy passes on what it does not read, such as photos
                assert client.post(path, content=b" " * 10_485_760, headers=head).status_code == 413, path
    assert faces.model.requests == []


def test_r13_a_client_that_goes_is_one_quiet_line(proxy: ProxyWorld, caplog: pytest.LogCaptureFixture) -> None:
    """A traceback for each browser tab that is closed hides the one that matters."""
    pytest.importorskip("mcp", reason="needs the extra `mcp`")
    token = proxy.token("scope", "web/ann")
    with socket.create_server(("127.0.0.1", 0)) as silent, caplog.at_level(logging.INFO), ExitStack() as opened:
        thinking = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        with proxy.served_again(llm_base_url=thinking, mcp=True) as world:
            host, port = world.url.removeprefix("http://").split(":")
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
            assert wait_until(lambda: caplog.text.count("request_cut_off") >= len(GONE), PATIENCE_SECONDS), caplog.text
    told = [record.getMessage().split()[0] for record in caplog.records if record.name.startswith("prompt_engine")]
    assert told == ["request_cut_off"] * len(GONE)
    assert not [record for record in caplog.records if record.exc_info or record.levelno > logging.INFO], caplog.text
