"""What the HTTP API for hosts does (R11), and what a property-testing client finds in its document.

API_FUZZ_EXAMPLES sets how many requests of each kind every operation gets.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.specs.openapi import checks

from core import chat_history_cache, short_term
from core.scope import Scope
from tests.spec.admin_world import BEARER, client_of, made
from tests.spec.api_world import World, bearer, said

pytestmark = pytest.mark.engines("sqlite")

EXAMPLES = int(os.environ.get("API_FUZZ_EXAMPLES", "3"))
CHECKED = [
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.response_headers_conformance,
]


@pytest.fixture
def world(db: Any, stage: Any) -> Iterator[World]:
    with client_of(made(db)) as client:
        yield World(db, client, stage.persona)


def test_r11_a_turn_is_stored_found_and_in_the_next_prompt(world: World) -> None:
    host = world.visitor()
    stored = host.post("/v1/turns", {"message": said("My cat is called Tofu.", message_id="m1", date=1_773_000_000),
                                     "reply": {"text": "A fine name.", "message_id": "m2"}})  # fmt: skip
    assert stored["stored"] and stored["reply"]["stored"] and stored["id"] > 0
    again = host.post("/v1/turns", {"message": said("My cat is called Tofu.", message_id="m1"),
                                    "reply": {"text": "A fine name.", "message_id": "m2"}})  # fmt: skip
    assert (again["stored"], again["reason"], again["id"]) == (False, "duplicate", stored["id"])
    scope = Scope(world.persona, "web/ann", "web/ann", privacy="direct")
    lines = chat_history_cache.load_chat_history("web/ann", db=world.db, scope=scope)
    assert [(line["sender_id"], line["sender_name"], line["text"]) for line in lines] == [
        ("ann", "ann", "My cat is called Tofu."), ("self", world.persona, "A fine name."),
    ]  # fmt: skip
    (moment,) = short_term.get_for_user("web/ann", db=world.db, scope=scope)
    assert [each["content"] for each in moment["messages"]] == ["My cat is called Tofu.", "A fine name."]
    who = {"conversation": "web/ann", "participant": "web/ann", "privacy": "direct"}
    (hit, *_) = host.post("/v1/search", {"query": "what is my cat called?", **who})["hits"]
    assert (hit["source"], hit["id"]) == ("chat_history", stored["id"]) and "Tofu" in hit["snippet"]
    made_prompt = host.post("/v1/prompt", {"message": said("And my cat?"), "style": "openai", "report": True})
    assert "Tofu" in json.dumps(made_prompt["prompt"]["context"])
    assert made_prompt["messages"][0]["role"] == "system"
    assert made_prompt["report"]["size"] > 0
    plain = host.post("/v1/prompt", {"message": said("And my cat?"), "max_chars": 5000})
    assert plain["messages"] is plain["report"] is None and len(json.dumps(plain["prompt"])) < 6000


def test_r11_many_messages_at_once_or_none(world: World) -> None:
    host = world.visitor()
    lines = [{"message": said(f"line {n}", message_id=n, date=1_773_000_000 + n)} for n in range(20)]
    stored = host.post("/v1/messages", {"messages": [*lines, {"message": said("x"), "reply": {"text": "y"}}]})
    assert [each["stored"] for each in stored["messages"]] == [True] * 21
    assert stored["messages"][-1]["reply"]["stored"]
    bad = {"messages": [{"message": said("fine")}, {"message": {"text": "nowhere"}}]}
    assert "interface_path" in host.post("/v1/messages", bad, 422)["message"]
    for wrong in ("a\0", "x" * 192):
        late = [{"message": said("fine")}, {"message": said("x"), "reply": {"text": "y", "message_id": wrong}}]
        refused = host.post("/v1/messages", {"messages": late}, 422)
        assert refused["fields"] == ["messages.1.reply.message_id"]
        late[1] = {"message": said("x", reply_to_message={"message_id": wrong})}
        refused = host.post("/v1/messages", {"messages": late}, 422)
        assert refused["fields"] == ["reply_to_message.message_id"]
    scope = Scope(world.persona, "web/ann", "web/ann", privacy="direct")
    texts = [line["text"] for line in chat_history_cache.load_chat_history("web/ann", 100, db=world.db, scope=scope)]
    assert len(texts) == 22 and "fine" not in texts


def test_r11_a_message_is_edited_and_deleted(world: World) -> None:
    host = world.visitor()
    path = "web/ann/thread 1"
    host.post("/v1/messages", {"messages": [{"message": said("I live in Bonn", path=path, message_id="a/b c")}]})
    for id_, status in (("a%2Fb%20c", 404), ("nothing", 404)):
        host.ask("PATCH", f"/v1/messages/web/ann/thread%201/{id_}", status, json={"text": "x"})
    host.post("/v1/messages", {"messages": [{"message": said("I live in Bonn", path=path, message_id="m 7",
                                                             date=1_773_000_000)}]})  # fmt: skip
    where = "/v1/messages/web/ann/thread%201/m%207"
    assert host.ask("PATCH", where, json={"text": "I live in Köln"})["stored"]
    scope = Scope(world.persona, path, "web/ann", privacy="direct")
    texts = {line["text"] for line in chat_history_cache.load_chat_history(path, db=world.db, scope=scope)}
    assert "I live in Köln" in texts
    assert host.ask("DELETE", where)["stored"]
    host.ask("DELETE", where, 404)


def test_r11_memories_are_stored_listed_and_deleted(world: World) -> None:
    host = world.visitor()
    id_ = host.post("/v1/memories", {"text": "Ann likes green tea.", "tags": ["tea"], "kind": "FactsAboutUser"})["id"]
    page = host.ask("GET", "/v1/memories?q=green&kinds=FactsAboutUser")
    assert [(each["id"], each["text"], each["tags"]) for each in page["items"]] == [
        (id_, "Ann likes green tea.", ["tea"])
    ]
    assert host.ask("DELETE", f"/v1/memories/{id_}") == {"deleted": 1}
    assert host.ask("DELETE", f"/v1/memories/{id_}") == {"deleted": 0}
    assert host.ask("GET", "/v1/memories")["total"] == 0


def test_g28_every_id_is_a_number_that_every_client_reads_exactly(world: World) -> None:
    """A client that knows doubles alone reads 30 ids, and these 30 are gone."""
    host = world.visitor()
    for n in range(30):
        host.post("/v1/memories", {"text": f"fact number {n}"})
    page = host.ask("GET", "/v1/memories?limit=500")
    read = json.loads(json.dumps(page), parse_int=lambda digits: int(float(digits)))
    ids = [each["id"] for each in read["items"]]
    kept = host.post("/v1/memories", {"text": "one more"})["id"]
    assert len(set(ids)) == 30 and all(isinstance(each, int) and each < 2**53 for each in ids)
    for each in ids:
        assert host.ask("DELETE", f"/v1/memories/{each}") == {"deleted": 1}
    assert [each["id"] for each in host.ask("GET", "/v1/memories")["items"]] == [kept]
    found = host.post("/v1/prompt", {"message": said("which number is the fact?"), "report": True})
    assert not [n for n in _numbers(found) if abs(n) >= 2**53]


def _numbers(value: Any) -> Iterator[int]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _numbers(each)
    elif isinstance(value, int):
        yield value


@pytest.mark.slow
def test_r11_no_request_gives_a_failure_or_an_answer_of_another_shape(db: Any, stage: Any) -> None:
    app = made(db, allowed_hosts=["testserver"])
    with client_of(app) as client:
        world = World(db, client, stage.persona)
        shown = [bearer(world.visitor(*who).token) for who in (("host",), ("scope", "web/ann"), ("admin",))]
    shown.append(BEARER)
    schema = (
        schemathesis.openapi.from_asgi("/openapi.json", app)
        .include(path_regex="^/(v1|admin)/")
        .exclude(path="/admin/login")
    )  # wrong tokens wait there
    seen: set[int] = set()

    @settings(max_examples=EXAMPLES, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    def ask(case: Any) -> None:
        for headers in (*shown, {"Authorization": "Bearer x"}):
            answer = case.call(headers=headers)
            seen.add(answer.status_code)
            assert answer.status_code < 500 or answer.status_code == 503, (
                case.method,
                case.formatted_path,
                answer.text,
            )
            case.validate_response(answer, checks=CHECKED)

    for found in schema.get_all_operations():
        operation = found.ok()
        for mode in (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE):
            given(case=operation.as_strategy(generation_mode=mode))(ask)()
    assert {200, 401, 403, 404, 422} <= seen
