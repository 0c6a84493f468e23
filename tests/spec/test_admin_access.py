"""Who may ask the admin application: token, cookie, origin, host, size (L33, L34)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from core.config import Settings
from core.database.engine import Database
from core.errors import ConfigError
from core.web import create_app, guard
from tests.spec.admin_world import BEARER, HOST, TOKEN, client_of, made, routes_of
from tests.store.world import NOW, Clock

LISTED = "/admin/relationship/recent"
CHANGING = "/admin/memory/prune_ltm"

_days = itertools.count(1)

pytestmark = pytest.mark.engines("sqlite")


@pytest.fixture
def clock(db: Database) -> Iterator[Clock]:
    known: Any = db.clock
    known.now = NOW + timedelta(days=next(_days))
    yield known
    known.now = NOW


@pytest.fixture
def client(app: FastAPI, clock: Clock) -> Iterator[TestClient]:
    with client_of(app) as made_client:
        yield made_client


@pytest.mark.parametrize(("token", "said"), [("", "unset"), ("0123456789abcde", "15 characters")])
def test_l34_without_a_long_token_the_application_is_not_made(token: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        create_app(settings=Settings(admin_token=token))
    assert caught.value.flag == "ADMIN_TOKEN" and "secrets.token_urlsafe" in str(caught.value)
    assert not token or token not in str(caught.value)


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
    for wrong in ("", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "ключ"):
        for kind in ("Bearer ", "bearer "):
            assert client.get(LISTED, headers={"Authorization": f"{kind}{wrong}".encode()}).status_code == 401
    for wrong in ("", "x", "1.2.3", "9999999999.aa.bb", "9999999999..", "ü.ü.ü"):
        cookie = {"cookie": f"prompt_engine_admin={wrong}".encode()}
        assert client.get(LISTED, headers=cookie).status_code == 401, wrong
    assert client.get(LISTED, headers={"Authorization": f"Basic {TOKEN}"}).status_code == 401
    assert client.get(LISTED, params={"token": TOKEN}).status_code == 401
    assert client.get(LISTED, headers=BEARER).status_code == 200
    assert TOKEN[:-1] not in caplog.text


def logged_in(client: TestClient) -> str:
    answer = client.post("/admin/login", data={"token": TOKEN}, headers={"Origin": HOST})
    assert (answer.status_code, answer.headers["location"]) == (303, "/admin/")
    return str(answer.headers["set-cookie"])


def test_l34_the_page_logs_in_with_a_cookie_that_never_holds_the_token(client: TestClient, clock: Clock) -> None:
    cookie = logged_in(client)
    assert TOKEN not in cookie and "HttpOnly" in cookie and "SameSite=strict" in cookie and "Path=/admin" in cookie
    assert "Secure" not in cookie and "Max-Age=43200" in cookie
    assert client.get(LISTED).status_code == 200
    clock.forward(hours=12)
    assert client.get(LISTED).status_code == 401
    logged_in(client)
    value = client.cookies["prompt_engine_admin"]
    out = client.post("/admin/logout", headers={"Origin": HOST})
    assert (out.status_code, out.headers["location"]) == (303, "/admin/login")
    client.cookies.set("prompt_engine_admin", value, domain="localhost.local", path="/admin")
    assert client.get(LISTED, headers={"cookie": f"prompt_engine_admin={value}"}).status_code == 401
    answer = client.post(
        "https://localhost/admin/login", data={"token": TOKEN}, headers={"Origin": "https://localhost"}
    )
    assert "Secure" in answer.headers["set-cookie"]


def test_l34_a_wrong_log_in_is_401_and_a_browser_is_led_back(client: TestClient) -> None:
    assert client.post("/admin/login", data={"token": "no"}).status_code == 401
    page = client.post("/admin/login", data={"token": "no"}, headers={"accept": "text/html,*/*"})
    assert page.status_code == 401 and "/admin/login?failed=1" in page.text and "set-cookie" not in page.headers
    asked = client.get("/admin/", headers={"accept": "text/html"})
    assert asked.status_code == 401 and 'content="0; url=/admin/login"' in asked.text
    assert client.post("/admin/login").status_code == 422
    assert client.post("/admin/login", data={"token": "x" * 9000}).status_code == 413
    assert client.post("/admin/login", data={"token": TOKEN}, headers={"Origin": "http://evil"}).status_code == 403


FOREIGN = [
    {"Origin": "http://evil.example"},
    {"Origin": "http://localhost:9999"},
    {"Origin": "null"},
    {"Origin": ""},
    {"Referer": "http://evil.example/admin/"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site", "Origin": HOST},
    {"Sec-Fetch-Site": "same-origin", "Origin": "http://evil.example"},
]


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
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
    for app, status in (
        (made(db, allowed_hosts=["Box.lan"]), 200),
        (made(db, allowed_hosts=["*"]), 200),
        (made(db, Settings(admin_host="box.lan")), 200),
        (made(db, Settings(admin_host="0.0.0.0")), 421),
    ):
        with client_of(app) as client:
            assert client.get(LISTED, headers=asked).status_code == status
            assert client.get(LISTED, headers={**BEARER, "Host": "192.168.1.7"}).status_code in (200, 421)


def test_l34_every_answer_is_kept_from_frames_caches_and_guesses(client: TestClient) -> None:
    for answer in (client.get(LISTED), client.get(LISTED, headers=BEARER), client.get("/x", headers={"Host": "evil"})):
        assert answer.headers["cache-control"] == "no-store" and answer.headers["x-frame-options"] == "DENY"
        assert "default-src 'self'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff" and "server" not in answer.headers
    for path in ("/docs", "/redoc", "/admin/docs", "/admin/redoc"):
        assert client.get(path, headers=BEARER).status_code == 404


def test_l34_a_host_mounts_it_into_its_own_application(db: Database, clock: Clock) -> None:
    host = FastAPI()

    @host.get("/hello")
    def hello() -> str:
        return "hello"

    host.mount("/tools", made(db))
    with client_of(host) as client:
        assert client.get("/hello").json() == "hello"
        place = "/tools/admin"
        assert client.get(f"{place}/relationship/recent").status_code == 401
        assert client.get(f"{place}/relationship/recent", headers=BEARER).status_code == 200
        answer = client.post(f"{place}/login", data={"token": TOKEN})
        assert answer.headers["location"] == f"{place}/" and f"Path={place};" in answer.headers["set-cookie"]
        assert client.get(f"{place}/relationship/recent").status_code == 200
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
