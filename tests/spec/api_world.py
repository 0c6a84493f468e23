"""What the tests of the HTTP API share: tokens of each kind, and a client that shows one."""

from __future__ import annotations

from typing import Any

from starlette.testclient import TestClient

from core import tokens
from core.database.engine import Database
from core.scope import Scope


def bearer(text: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}"}


class Visitor:
    def __init__(self, client: TestClient, token: str) -> None:
        self.client = client
        self.token = token

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
