"""Remote programs connect by OAuth: the SDK's own client over a loopback socket, and a browser's part by hand (D9)."""

import asyncio
import hashlib
import hmac
import html
import re
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any
from unittest.mock import AsyncMock
from urllib.parse import parse_qs, urlsplit

import pytest

pytest.importorskip("mcp", reason="needs the extra `mcp`")
pytest.importorskip("uvicorn", reason="needs the extra `admin`")

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

from core import Scope, tokens
from core.config import Settings
from core.conversations import list_saved_memories
from core.database.engine import Database
from core.errors import ConfigError
from core.tokens import shapes, table
from core.tokens.shapes import AccessToken
from core.web import create_app
from tests.servers.base import free_port
from tests.spec.mcp_world import told
from tests.spec.proxy_world import ModelServer, serving
from tests.store.world import Clock, own_scope

SECRET = "0123456789abcdef-oauth"
BACK = "http://127.0.0.1:9/callback"
PERSON = "web/ann"
NAMED = {"redirect_uris": [BACK], "client_name": "Claude <b>"}
VERIFIER = "a" * 43
CHALLENGE = urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")
GOOD = ("https://claude.ai/back", BACK, "http://[::1]:9/", "http://localhost/", "com.example.app:/back")
BAD = (
    "javascript:alert(1)", "data:text/html,x", "http://example.org/back", "https://example.org/#x",
    "https://claude.ai@example.org/", "https://claude.ai:x@example.org/", "myapp://back",
    "view-source:https://example.org/", "intent://example.org/", "com.example.app:/back#x",
)  # fmt: skip


class Storage:
    def __init__(self) -> None:
        self.tokens: Any = None
        self.client: Any = None
        self.get_tokens = AsyncMock(side_effect=lambda: self.tokens)
        self.get_client_info = AsyncMock(side_effect=lambda: self.client)
        self.set_tokens = AsyncMock(side_effect=lambda tokens: setattr(self, "tokens", tokens))
        self.set_client_info = AsyncMock(side_effect=lambda client_info: setattr(self, "client", client_info))


@dataclass
class Site:
    url: str
    db: Database
    persona: str
    storage: Storage = field(default_factory=Storage)
    button: str = "allow"
    method: str = "client_secret_post"
    """How the program shows its secret."""
    landed: str = ""
    """Where the browser was sent last."""

    async def browse(self, address: str) -> None:
        async with httpx2.AsyncClient(follow_redirects=True, headers={"accept": "text/html"}) as browser:
            login = await browser.get(_refresh(await browser.get(address), self.url))
            wanted = html.unescape(re.search(r'name="next" value="([^"]*)"', login.text)[1])  # type: ignore[index]
            own = {"origin": self.url}
            page = await browser.post(f"{self.url}/admin/login", data={"token": SECRET, "next": wanted}, headers=own)
            assert page.status_code == 200 and "Claude &lt;b&gt; asks for access" in page.text, page.text
            assert "http://127.0.0.1:9" in page.text
            assert page.text.count('name="ask"') == 2, "another persona is chosen without losing the request"
            fields = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page.text))
            values = {**fields, "persona": self.persona, "participant": PERSON, self.button: "1"}
            answer = await browser.post(f"{self.url}/admin/page/programs/answer", data=values, headers=own)
            self.landed = _refresh(answer, self.url)

    async def answer(self) -> AuthorizationCodeResult:
        query = {name: values[0] for name, values in parse_qs(urlsplit(self.landed).query).items()}
        return AuthorizationCodeResult(code=query.get("code", ""), state=query.get("state"), iss=query.get("iss"))

    def call(self, tool: str, **arguments: Any) -> Any:
        async def connected() -> Any:
            metadata = OAuthClientMetadata.model_validate({**NAMED, "token_endpoint_auth_method": self.method})
            auth = OAuthClientProvider(f"{self.url}/mcp", metadata, self.storage, self.browse, self.answer)
            async with (
                httpx2.AsyncClient(auth=auth, timeout=60) as http,
                Client(streamable_http_client(f"{self.url}/mcp", http_client=http)) as client,
            ):
                return await client.call_tool(tool, arguments)

        return asyncio.run(connected())

    def post(self, path: str, **data: str) -> Any:
        return httpx2.post(f"{self.url}{path}", data=data)

    def register(self, **more: Any) -> dict[str, str]:
        answer = httpx2.post(f"{self.url}/register", json={**NAMED, **more}).json()
        return {name: answer[name] for name in ("client_id", "client_secret")}

    def authorize(self, client: dict[str, str], **more: str) -> Any:
        query = {"redirect_uri": BACK, "response_type": "code", "state": "s", "code_challenge": CHALLENGE}
        return httpx2.get(f"{self.url}/authorize", params={**query, "client_id": client["client_id"], **more})

    def ask(self, client: dict[str, str]) -> str:
        return parse_qs(urlsplit(self.authorize(client).headers["location"]).query)["ask"][0]

    def consent(self, client: dict[str, str], **more: str) -> str:
        asyncio.run(self.browse(self.authorize(client, **more).headers["location"]))
        return asyncio.run(self.answer()).code

    def exchange(self, client: dict[str, str], code: str, verifier: str = VERIFIER) -> Any:
        form = {"code": code, "redirect_uri": BACK, "grant_type": "authorization_code", "code_verifier": verifier}
        return self.post("/token", **form, **client)

    def renew(self, refresh_token: str) -> Any:
        client = self.storage.client
        own = {"client_id": client.client_id, "client_secret": client.client_secret}
        return self.post("/token", grant_type="refresh_token", refresh_token=refresh_token, **own)


def is_refused(answer: Any, error: str) -> bool:
    return bool(answer.status_code == 400 and answer.json()["error"] == error)


def _refresh(answer: Any, root: str) -> str:
    place = html.unescape(re.search(r'content="0; url=([^"]*)"', answer.text)[1])  # type: ignore[index]
    return place if "://" in place else f"{root}{place}"


@pytest.fixture
def site(db: Database) -> Iterator[Site]:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    app = create_app(db=db, settings=Settings(admin_token=SECRET), mcp=True, public_url=url)
    with serving(app, port):
        yield Site(url, db, own_scope().persona)


@pytest.mark.parametrize("method", ["none", "client_secret_post", "client_secret_basic"])
def test_f86_a_remote_program_gets_one_person_after_the_operator_consents(site: Site, method: str) -> None:
    site.method = method
    told(site.call("memory_save", text="Ann likes plums"))
    listed = list_saved_memories(db=site.db, scope=Scope(site.persona, PERSON, PERSON, privacy="direct"))
    assert [each["text"] for each in listed] == ["Ann likes plums"]
    (token,) = tokens.list_tokens(db=site.db, scope=Scope(site.persona))
    assert (token["kind"], token["participant"], token["label"]) == ("scope", PERSON, "Claude <b>")
    assert token["expires_at"] and site.storage.tokens.refresh_token


def test_f86_a_program_renews_its_token_once_with_each_refresh_token(site: Site) -> None:
    site.call("memory_list")
    first, clock = site.storage.tokens, site.db.clock
    assert isinstance(clock, Clock)
    clock.forward(hours=2)
    assert tokens.find_token(first.access_token, db=site.db) is None
    renewed = site.renew(first.refresh_token)
    assert renewed.status_code == 200, renewed.text
    found = tokens.find_token(renewed.json()["access_token"], db=site.db)
    assert found is not None and found.participant == PERSON
    clock.forward(days=91)
    assert is_refused(site.renew(renewed.json()["refresh_token"]), "invalid_grant")


def test_f86_an_access_token_renews_nothing_and_a_revoked_program_cannot_renew(site: Site) -> None:
    site.call("memory_list")
    held = site.storage.tokens
    assert is_refused(site.renew(held.access_token), "invalid_grant")
    assert tokens.find_token(held.access_token, db=site.db) is not None
    (token,) = tokens.list_tokens(db=site.db, scope=Scope(site.persona))
    assert tokens.revoke_token(token["id"], db=site.db, scope=Scope(site.persona))
    asked = httpx2.post(f"{site.url}/mcp", headers={"Authorization": f"Bearer {held.access_token}"}, json={})
    assert asked.status_code == 401
    assert f"{site.url}/.well-known/oauth-protected-resource/mcp" in asked.headers["www-authenticate"]
    assert site.renew(held.refresh_token).status_code == 400


def test_f86_without_consent_there_is_no_token(site: Site) -> None:
    site.button = "deny"
    with pytest.raises(BaseExceptionGroup):
        site.call("memory_list")
    assert "error=access_denied" in site.landed and "code=" not in site.landed
    assert tokens.list_tokens(db=site.db, scope=Scope(site.persona)) == []


@pytest.mark.parametrize("what", ["code", "refresh"])
def test_f86_what_is_used_twice_ends_the_whole_family(site: Site, what: str) -> None:
    """One of the two who used it has stolen it, and nobody knows which."""
    client, other = site.register(), site.register(client_name="Other")
    code = site.consent(client)
    assert [site.exchange(*given).status_code for given in ((other, code), (client, code, "b" * 43))] == [400, 400]
    first = site.exchange(client, code).json()
    renew = {"grant_type": "refresh_token", "refresh_token": first["refresh_token"], **client}
    last = site.post("/token", **renew).json()
    assert tokens.find_token(last["access_token"], db=site.db) is not None
    assert site.post("/token", **{**renew, "refresh_token": first["refresh_token"][:-1] + "g"}).status_code == 400
    assert site.exchange(other, code).status_code == 400
    assert tokens.find_token(last["access_token"], db=site.db) is not None  # who did not hold it ends nothing
    assert is_refused(site.exchange(client, code) if what == "code" else site.post("/token", **renew), "invalid_grant")
    assert tokens.find_token(last["access_token"], db=site.db) is None
    assert site.post("/token", **{**renew, "refresh_token": last["refresh_token"]}).status_code == 400


def test_f86_a_token_is_asked_for_with_this_resource_alone(site: Site) -> None:
    client = site.register()
    form = {"code": site.consent(client), "redirect_uri": BACK, "grant_type": "authorization_code", **client}
    for foreign in ("https://example.org/mcp", f"{site.url}/v1", f"{site.url}.example.org/mcp"):
        assert is_refused(site.post("/token", code_verifier=VERIFIER, resource=foreign, **form), "invalid_target")
    done = site.post("/token", code_verifier=VERIFIER, resource=f"{site.url}/mcp", **form)
    assert done.status_code == 200, done.text
    renew = {"grant_type": "refresh_token", "refresh_token": done.json()["refresh_token"], **client}
    assert is_refused(site.post("/token", resource="https://example.org/mcp", **renew), "invalid_target")
    assert site.post("/token", resource=f"{site.url}/", **renew).status_code == 200


def test_f86_one_consent_gives_one_code(site: Site) -> None:
    """A browser that goes back and sends the form again gives nobody a second code."""
    form = {"ask": site.ask(site.register()), "persona": site.persona, "participant": PERSON}
    own = {"origin": site.url, "Authorization": f"Bearer {SECRET}"}
    answers = [
        httpx2.post(f"{site.url}/admin/page/programs/answer", data={**form, button: "1"}, headers=own)
        for button in ("allow", "allow", "deny")
    ]
    assert ["code=" in answer.text for answer in answers] == [True, False, False]
    assert [answer.status_code for answer in answers] == [200, 410, 410]


@pytest.mark.slow
def test_f86_each_kind_of_token_opens_its_own_routes_alone(db: Database, model: ModelServer) -> None:
    """A program that may remember must not spend the model's key, nor see what its person does not."""
    model.reply = None
    port, persona = free_port(), own_scope().persona
    url = f"http://127.0.0.1:{port}"
    settings = Settings(admin_token=SECRET, llm_base_url=f"{model.url}/v1")
    person, resource = {"db": db, "scope": Scope(persona, participant=PERSON)}, f"{url}/mcp"
    program = AccessToken(0, "scope", persona, PERSON, resource=resource)
    shown = {
        "none": "", "scope": tokens.add_token(**person)["token"],
        "host": tokens.add_token("host", db=db, scope=Scope(persona))["token"],
        "operator": tokens.add_token("admin", db=db)["token"], "ADMIN_TOKEN": SECRET,
        "program": tokens.issue_token(db, program)["token"],
        "foreign": tokens.issue_token(db, replace(program, resource="https://example.org/mcp"))["token"],
    }  # fmt: skip
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    said = [{"role": "user", "content": "hi"}]
    routes: dict[tuple[str, str], tuple[Any, set[str]]] = {
        ("POST", "/v1/chat/completions"): ({"model": "t", "messages": said}, {"scope", "host"}),
        ("GET", "/v1/models"): (None, {"scope", "host"}),
        ("POST", "/v1/responses"): ({}, {"scope", "host"}),
        ("POST", "/v1/search"): ({"query": "tea"}, {"scope", "host"}),
        ("GET", "/v1/memories"): (None, {"scope", "host"}),
        ("POST", "/v1/memories"): ({"text": "tea", "author": "ann"}, {"scope", "host"}),
        ("POST", "/mcp"): (call, {"scope", "program"}),
        ("GET", "/admin/relationship/recent"): (None, {"operator", "ADMIN_TOKEN"}),
        ("GET", "/health/ready"): (None, set(shown)),
    }
    with serving(create_app(db=db, settings=settings, proxy=True, mcp=True, public_url=url), port):
        for (method, path), (body, allowed) in routes.items():
            for kind, token in shown.items():
                head = {"Accept": "application/json, text/event-stream"}
                head |= {"Authorization": f"Bearer {token}"} if token else {}
                answer = httpx2.request(method, f"{url}{path}", json=body, headers=head)
                right = {200, 201} if kind in allowed else {401 if kind == "none" else 403}
                assert answer.status_code in right, (kind, path, answer.status_code, answer.text)


def test_f86_of_two_renewals_at_once_one_wins(site: Site) -> None:
    site.call("memory_list")
    token = tokens.find_token(site.storage.tokens.access_token, db=site.db)
    assert token is not None and token.expires_at is not None
    known = shapes.hash_token(site.storage.tokens.access_token)
    renewed = [table.renew_token(site.db, token.id, known, new * 32, token.expires_at) for new in (b"1", b"2")]
    assert renewed == [True, False]


def test_f86_a_browser_is_sent_over_tls_on_this_machine_or_to_an_app(site: Site) -> None:
    for address in (*GOOD, *BAD):
        answer = httpx2.post(f"{site.url}/register", json={"redirect_uris": [address]})
        expected = (201, None) if address in GOOD else (400, "invalid_redirect_uri")
        assert (answer.status_code, answer.json().get("error")) == expected, address


def test_f86_what_was_not_signed_here_is_refused_and_no_character_hides_something(site: Site) -> None:
    client = site.register(client_name="Cla\u202eude\x00\n\x1b[31m \u200bfor\u2028 Ann")
    assert site.authorize({"client_id": "x" + client["client_id"]}).status_code == 400
    assert "error=invalid_target" in site.authorize(client, resource="https://example.org/mcp").headers["location"]
    place, operator = f"{site.url}/admin/page/programs", {"Authorization": f"Bearer {SECRET}"}
    page = httpx2.get(place, params={"ask": site.ask(client)}, headers=operator)
    assert ">Cla ude [31m for Ann asks for access" in page.text
    assert httpx2.get(place, params={"ask": "e30.00"}, headers=operator).status_code == 410
    assert httpx2.get(place, headers={"accept": "text/html"}).status_code == 401


def test_f86_a_program_may_ask_for_the_scope_it_registered(site: Site) -> None:
    """Programs name one of their own, also where they renew; every token may do the same."""
    client = site.register(scope="claudeai")
    first = site.exchange(client, site.consent(client, scope="claudeai"))
    assert first.status_code == 200, first.text
    again = {"grant_type": "refresh_token", "refresh_token": first.json()["refresh_token"], "scope": "claudeai"}
    assert site.post("/token", **again, **client).status_code == 200


def test_f86_a_request_that_a_log_in_cannot_repeat_is_refused_at_once(site: Site) -> None:
    """Cut off in the address of the log-in it would read as too old."""
    client = site.register()

    def fits(size: int) -> bool:
        return "error" not in site.authorize(client, state="s" * size).headers["location"]

    most = next(size for size in range(4_000, 0, -100) if fits(size))
    assert site.consent(client, state="s" * most)
    assert "error=invalid_request" in site.authorize(client, state="s" * (most + 100)).headers["location"]


def test_f86_what_programs_get_does_not_help_to_guess_the_token(site: Site) -> None:
    """Anybody may register: a signature by one round over ADMIN_TOKEN could be compared with guesses at full speed."""
    body, _, signature = site.register()["client_id"].partition(".")
    guess = hmac.new(hashlib.sha256(SECRET.encode()).digest(), f"client {body}".encode(), hashlib.sha256)
    assert signature != guess.hexdigest()
    begun = time.thread_time()
    create_app(db=site.db, settings=Settings(admin_token=SECRET), mcp=True, public_url=site.url)
    assert time.thread_time() - begun > 0.01


def test_f86_a_public_address_is_used_as_clients_write_it_encrypted_and_needs_the_operator(db: Database) -> None:
    settings = Settings(admin_token=SECRET)
    app = create_app(db=db, settings=settings, mcp=True, public_url="https://Memory.Example.ORG:443/")
    assert app.state.context.oauth.resource == "https://memory.example.org/mcp"
    assert app.state.context.allowed_hosts == {"memory.example.org"}
    bad = ("https://u:p@example.org", "https://*", "https://[::1", "https://example.org:99999")
    for url in ("http://example.org", "https://example.org/below", "example.org", *bad):
        with pytest.raises(ConfigError, match="https://NAME"):
            create_app(db=db, settings=settings, mcp=True, public_url=url)
    with pytest.raises(ConfigError, match="admin page"):
        create_app(db=db, settings=Settings(), admin=False, mcp=True, public_url="https://example.org")
