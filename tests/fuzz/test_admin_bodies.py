"""Every route of the admin API answers any body and query: never 500, never the token, never out of time (F78, L32)."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("fastapi")

from starlette.testclient import TestClient

from core.database.engine import Database
from core.web import create_app
from tests.fuzz import strategies as of
from tests.store.world import open_db

TOKEN = "canary-token-of-the-admin-page"
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """The application on a database of its own, asked with its token."""
    folder = tmp_path_factory.mktemp("admin")
    made: Database = open_db(f"sqlite:///{folder / 'admin.db'}")
    logging.getLogger("prompt_engine").disabled = True
    application = create_app(db=made, settings={"ADMIN_TOKEN": TOKEN})
    with TestClient(
        application,
        base_url="http://localhost",
        headers={"Authorization": f"Bearer {TOKEN}"},
        raise_server_exceptions=True,
        follow_redirects=False,
    ) as made_client:
        yield made_client
    logging.getLogger("prompt_engine").disabled = False
    made.close()


def _routes(client: TestClient) -> list[tuple[str, str]]:
    """Return method and path of every documented route."""
    paths = client.app.openapi()["paths"]  # type: ignore[attr-defined]
    return [
        (method.upper(), path) for path, each in sorted(paths.items()) for method in each if method.upper() in _METHODS
    ]


_words = st.sampled_from(("1", "0", "-1", "9" * 30, "x", "", "%00", "a%2Fb", "😀", "tg/1", "nan", "'--", "..%2F.."))
_bodies = st.one_of(
    of.json_texts.map(lambda text: text.encode("utf-8", "surrogatepass")),
    of.pasted.map(lambda text: text.encode("utf-8", "surrogatepass")),
    of.duplicate_keys.map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.binary(max_size=40),
    st.sampled_from(
        [b"", b"[" * 50_000, b'{"a":' * 20_000, b'{"ids": [' + b"1," * 20_000 + b"1]}", b"null", b"\xff\xfe"]
    ),
    st.fixed_dictionaries(
        {},
        optional={
            name: of.leaves | st.lists(of.leaves, max_size=3)
            for name in (
                "ids",
                "text",
                "tags",
                "kind",
                "pinned",
                "message",
                "persona",
                "participant",
                "affinity",
                "trust",
                "confirm",
                "mode",
            )
        },
    ).map(lambda body: json.dumps(body).encode()),
)


def test_f78_any_body_is_answered(client: TestClient) -> None:
    """What cannot be read is refused with 4xx and a sentence; nothing a caller sends is a failure of the server."""
    routes = _routes(client)
    assert len(routes) > 10
    slow = {"/events", "/stream"}

    @settings(max_examples=max(40, of.EXAMPLES * 4), database=None, suppress_health_check=list(HealthCheck))
    @given(
        st.sampled_from(routes),
        _words,
        _words,
        _bodies,
        st.sampled_from(("application/json", "text/plain", "multipart/form-data")),
    )
    def tried(route: tuple[str, str], word: str, value: str, body: bytes, kind: str) -> None:
        method, path = route
        if any(each in path for each in slow):
            return
        while "{" in path:
            head, _, rest = path.partition("{")
            path = head + (word or "x") + rest.partition("}")[2]
        sent: dict[str, Any] = {} if method == "GET" else {"content": body, "headers": {"content-type": kind}}
        query = dict.fromkeys(("limit", "query", "persona", "kind", "after", "since", "order", "mode", "format"), value)
        answer = client.request(method, path, params=query, **sent)
        assert answer.status_code < 500 or answer.status_code == 503, (method, path, answer.text[:300])
        assert TOKEN not in answer.text

    tried()
