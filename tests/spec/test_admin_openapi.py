"""What a property-testing client of the OpenAPI document finds in the admin application (L33).

ADMIN_FUZZ_EXAMPLES sets how many requests of each kind every operation gets.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.specs.openapi import checks

from core.database.engine import Database
from tests.spec.admin_world import BEARER, Operator, client_of, made
from tests.spec.lifelong_world import Life
from tests.spec.stage import Stage

pytestmark = pytest.mark.engines("sqlite")

EXAMPLES = int(os.environ.get("ADMIN_FUZZ_EXAMPLES", "3"))
CHECKED = [
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.response_headers_conformance,
]
"""Every status is one of those documented, and 500 is none; its type and shape are the documented ones."""

FORM = "multipart/form-data"
LOG_IN = "/admin/login"
"""Left out: its wrong tokens wait, which `test_admin_access` looks at."""


@pytest.mark.slow
def test_l33_no_request_gives_a_failure_or_an_answer_of_another_shape(db: Database) -> None:
    """Requests that fit the document, and requests that do not, made by a property-testing client."""
    life = Life(Stage(db, "default"))
    life.item("a", tags=["t"])
    app = made(db, allowed_hosts=["testserver"])
    schema = schemathesis.openapi.from_asgi("/openapi.json", app).include(path_regex="^/admin/")
    seen: set[int] = set()

    @settings(max_examples=EXAMPLES, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    def ask(case: Any) -> None:
        answer = case.call(headers=BEARER)
        seen.add(answer.status_code)
        assert answer.status_code < 500 or answer.status_code == 503, (case.method, case.formatted_path, answer.text)
        case.validate_response(answer, checks=CHECKED)

    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.path == LOG_IN:
            continue
        for mode in (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE):
            given(case=operation.as_strategy(generation_mode=mode))(ask)()
    assert {200, 404, 422} <= seen


def test_l33_odd_requests_are_refused_in_the_documented_shape(db: Database) -> None:
    """What a client that follows the document does not send."""
    deep = b'{"id": 1, "new_content": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    odd: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "/memory/edit", {"content": deep}),
        ("POST", "/memory/edit", {"content": b'{"id": 1e999, "new_content": "x"}'}),
        ("POST", "/memory/edit", {"content": b'{"id": NaN, "new_content": "x"}'}),
        ("POST", "/memory/edit", {"content": b'{"id": ' + b"9" * 5000 + b', "new_content": "x"}'}),
        ("POST", "/memory/edit", {"content": b'{"id": 1, "new_content": "\\ud800"}'}),
        ("POST", "/memory/edit", {"content": b"\xff\xfe{}"}),
        ("POST", "/memory/edit", {"content": b"null"}),
        ("GET", "/memory/search?q=%00%ff&tags=%00&conf_uid=%00", {}),
        ("GET", "/memory/search?offset=999999999999999999999999", {}),
        ("GET", "/memory/99999999999999999999", {}),
        ("GET", "/memory/1%2F2", {}),
        ("GET", "/relationship?user_id=%00", {}),
        ("PUT", "/memory/search", {}),
        ("POST", "/memory/import", {"content": b"--x\r\nbroken", "headers": {"content-type": f"{FORM}; boundary=x"}}),
        ("POST", "/memory/import", {"content": b"", "headers": {"content-type": FORM}}),
        ("POST", "/memory/import", {"files": {"file": ("x", b"\x1f\x8bbroken")}}),
        ("POST", "/prompt/explain", {"content": b'{"text": "\\u0000", "conversation": "\\u0000"}'}),
    ]  # fmt: skip
    with client_of(made(db)) as client:
        operator = Operator(client, "odd")
        for method, path, more in odd:
            headers = {"content-type": "application/json", **more.get("headers", {})}
            if "files" in more:
                del headers["content-type"]
            answer = operator.client.request(method, f"/admin{path}", **{**more, "headers": {**BEARER, **headers}})
            assert 400 <= answer.status_code < 500, (method, path, answer.status_code)
            assert set(answer.json()) == {"error", "message", "fields"}, (method, path)
