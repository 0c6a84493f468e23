"""What the tests of the HTTP applications share: an operator with the token, tokens of each kind, and who shows one."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from starlette.testclient import TestClient

from core import Scope, tokens
from core.config import Settings
from core.database.engine import Database
from core.web import create_app

TOKEN = "a-token-of-the-tests-0001"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
HOST = "http://localhost:8765"


class Operator:
    """Somebody who has the token and asks for one persona."""

    def __init__(self, client: TestClient, persona: str, prefix: str = "/admin") -> None:
        self.client, self.persona, self.prefix = client, persona, prefix

    def ask(self, method: str, path: str, **given: Any) -> Any:
        params = {"conf_uid": self.persona, **given.pop("params", {})}
        headers = {**BEARER, **given.pop("headers", {})}
        return self.client.request(method, self.prefix + path, params=params, headers=headers, **given)

    def get(self, path: str, status: int = 200, **params: Any) -> Any:
        return _json(self.ask("GET", path, params=params), status)

    def post(self, path: str, body: Any = None, status: int = 200, **params: Any) -> Any:
        return _json(self.ask("POST", path, params=params, **({} if body is None else {"json": body})), status)

    def delete(self, path: str, status: int = 200) -> Any:
        return _json(self.ask("DELETE", path), status)

    def send(self, content: bytes, status: int = 200, **params: Any) -> Any:
        asked = self.ask("POST", "/memory/import", params=params, files={"file": ("memories", content)})
        return _json(asked, status)


def _json(answer: Any, status: int) -> Any:
    assert answer.status_code == status, (answer.status_code, answer.text[:500])
    return answer.json()


def made(db: Database | None, settings: Settings | None = None, **more: Any) -> FastAPI:
    known = settings or Settings()
    return create_app(db=db, settings=known.replace(admin_token=TOKEN), **more)


@contextmanager
def client_of(app: Any) -> Iterator[TestClient]:
    with TestClient(app, base_url=HOST, raise_server_exceptions=False, follow_redirects=False) as client:
        yield client


def routes_of(app: FastAPI) -> list[tuple[str, str]]:
    """Return method and path of every route, ids filled in; those of an included router too."""
    found = []
    for route in iter_route_contexts(app.routes):
        path = str(route.path).replace("{id}", "1")
        path = path.replace("{conversation:path}", "web/ann").replace("{path:path}", "x")
        assert "{" not in path, path
        found += [(method, path) for method in sorted(route.methods or ()) if method != "HEAD"]
    return found


def bearer(text: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}"}


class Visitor:
    def __init__(self, client: TestClient, token: str) -> None:
        self.client, self.token = client, token

    def ask(self, method: str, path: str, status: int | None = 200, **given: Any) -> Any:
        headers = {**bearer(self.token), **given.pop("headers", {})}
        answer = self.client.request(method, path, headers=headers, **given)
        assert status is None or answer.status_code == status, (answer.status_code, answer.text[:500])
        return answer.json()

    def post(self, path: str, body: Any, status: int | None = 200) -> Any:
        return self.ask("POST", path, status, json=body)


class World:
    def __init__(self, db: Database, client: TestClient, persona: str) -> None:
        self.db, self.client, self.persona = db, client, persona

    def visitor(self, kind: Any = "host", participant: str | None = None, **more: Any) -> Visitor:
        scope = Scope(more.pop("persona", self.persona), participant=participant, **more)
        return Visitor(self.client, tokens.add_token(kind, db=self.db, scope=scope)["token"])


def said(text: str, who: str = "ann", path: str | None = None, **more: Any) -> dict[str, Any]:
    """Return a message as a host sends it: a direct one unless a path is named."""
    return {"text": text, "interface_path": path or f"web/{who}", "from_user": {"id": who, "full_name": who}, **more}
