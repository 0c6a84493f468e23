"""The routes of the admin application and of the HTTP API, and what a property-testing client finds (L32 to L40, R11).

API_FUZZ_EXAMPLES sets how many requests of each kind every operation gets.
"""

import html
import json
import os
import re
from typing import Any

import httpx2
import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from schemathesis.specs.openapi import checks
from sqlalchemy import select

from core import Scope, chat_history_cache, insert_memory, privacy, prompt_engine, relationships, short_term
from core.config import Settings
from core.database import rows, schema
from core.database.engine import Database
from core.errors import MessageError, StoreReadError
from core.transfer import items
from core.web import guard
from core.web.admin import api as transfer
from tests.spec.lifelong_world import ANN, Life
from tests.spec.proxy_world import serving
from tests.spec.stage import ELSEWHERE, HERE, NOW
from tests.spec.story import Model
from tests.spec.web_world import BEARER, Operator, World, bearer, client_of, made, said

MODEL = Model(facts_about_user=["Ann has a cat called Tofu"], key_facts=[{"text": "Ann moved", "importance": 0.9}])
EXAMPLES = int(os.environ.get("API_FUZZ_EXAMPLES", "2"))
CHECKED = [
    checks.status_code_conformance, checks.content_type_conformance, checks.response_schema_conformance,
    checks.response_headers_conformance,
]  # fmt: skip


@pytest.fixture(scope="module")
def app(db: Database) -> FastAPI:
    return made(db, model=MODEL)


def texts(page: Any) -> list[str]:
    return [item["text"] for item in page["items"]]


def test_l32_search_takes_what_l5_takes(operator: Operator, life: Life) -> None:
    life.item("Ada moved to Rome", days=3, kind="FactsAboutUser", importance=0.9, tags=["rome", "ada"])
    life.item("Ada likes Rome", days=2, kind="KeyFacts", importance=0.2, tags=["rome"], path=HERE)
    life.item("A mood", days=1, kind="Mood", tier="session")
    page = operator.get("/memory/search", limit=1, offset=1)
    assert (texts(page), page["total"]) == (["Ada likes Rome"], 3)
    day = NOW.replace(day=8).date().isoformat()
    for asked, text in (
        ({"q": "ada rome", "kinds": "FactsAboutUser", "min_importance": 0.5}, "Ada moved to Rome"),
        ({"tier": "session"}, "A mood"), ({"conversation": HERE}, "Ada likes Rome"),
        ({"tags": ["rome", "ada"]}, "Ada moved to Rome"), ({"since": day, "until": day}, "Ada likes Rome"),
    ):  # fmt: skip
        assert texts(operator.get("/memory/search", **asked)) == [text], asked
    for kinds in (["mood", "key_facts"], "mood,key_facts"):
        assert len(operator.get("/memory/search", kinds=kinds)["items"]) == 2


def test_l32_an_item_is_edited_and_has_a_history(operator: Operator, life: Life) -> None:
    one = life.item("<b>x</b>", tags=["t"], importance=0.7)
    for text in ("second <script>", "third"):
        item = operator.post("/memory/edit", {"id": one, "new_content": text})
        assert (item["text"], item["tags"], item["importance"]) == (text, ["t"], 0.7)
    versions = operator.get(f"/memory/{one}/history")["versions"]
    assert [v["text"] for v in versions] == ["<b>x</b>", "second <script>", "third"]
    assert [v["changed_by"] for v in versions] == ["admin", "admin", ""]
    assert operator.get(f"/memory/{one}")["text"] == "third"
    assert operator.post("/memory/edit", {"id": one, "new_content": "third"})["text"] == "third"
    assert operator.post("/memory/edit", {"id": one, "new_content": " "}, 422)["fields"] == ["new_content"]


def test_l32_an_item_is_deleted_and_comes_back(operator: Operator, life: Life) -> None:
    one, two, three = (life.item(text) for text in "abc")
    assert operator.delete(f"/memory/delete/{one}") == {"deleted": 1}
    assert operator.delete(f"/memory/delete/{one}") == {"deleted": 0}
    assert operator.delete("/memory/delete/999", 404)["error"] == "not_found"
    done = operator.post("/memory/delete", {"ids": [two, two, three, 999]})
    assert done == {"count": 2, "unknown": [999], "out_of_reach": []} and operator.get("/memory/search")["total"] == 0
    assert operator.get("/memory/search", archived=True)["total"] == 3
    assert operator.post("/memory/restore", {"ids": [one, two, 999]}) == done
    assert operator.post("/memory/pin", {"ids": [one], "pinned": True})["count"] == 1
    assert operator.post("/memory/retag", {"ids": [one, two], "add": ["x"]}) == {**done, "unknown": []}
    assert operator.get(f"/memory/{one}")["tags"] == ["x"]
    assert operator.post("/memory/retag", {"ids": [one]}, 422)["error"] == "bad_value"
    assert operator.post("/memory/purge", {"ids": [one, 999]}) == {**done, "count": 1}
    operator.get(f"/memory/{one}", 404)


# fmt: off
REFUSED: list[tuple[str, str, dict[str, Any], str]] = [
    ("GET", "/memory/search", {"params": {"limit": 501}}, "limit is 501: input should be less than"),
    ("GET", "/memory/search", {"params": {"kinds": "KeyFact"}}, "Did you mean 'KeyFacts'?"),
    ("GET", "/memory/search", {"params": {"tier": "short"}}, "tier: input should be 'long_term' or 'session'."),
    ("GET", "/memory/search", {"params": {"since": "when"}}, "since is"),
    ("GET", "/memory/search", {"params": {"conf_uid": " "}}, "persona"),
    ("GET", "/relationship", {}, "user_id is missing. It is needed here."),
    ("POST", "/memory/edit", {"json": {"id": True, "new_content": "x"}}, "id is True: input should be a valid integer"),
    ("POST", "/memory/edit", {"json": {"id": 1, "new_content": "x", "conf_uid": "b"}}, "conf_uid is not known here."),
    ("POST", "/memory/edit", {"content": b'{"id": 1,'}, "The body is no JSON."),
    ("POST", "/memory/delete", {"json": {"ids": list(range(1001))}}, "ids: list should have at most 1000 items"),
    ("POST", "/memory/import", {"params": {"dryrun": "1"}, "files": {"file": b"[]"}}, "Did you mean 'dry_run'?"),
    ("POST", "/memory/prune_session_ttl", {"json": {"ttl_sec": 60}}, "This path takes no body."),
    ("POST", "/memory/import", {"files": {"file": b"[]"}, "data": {"dry_run": "1"}}, "dry_run is not known here."),
    ("POST", "/forget", {"params": {"dry-run": "1"}, "json": {"memory": 1}}, "dry-run is not known here."),
    ("DELETE", "/memory/delete/1", {"params": {"dry_run": "1"}}, "dry_run is not known here."),
    ("GET", "/memory/export", {"params": {"after": f"/{2**63}"}}, "after is no place in an export."),
]
# fmt: on


def test_l33_a_bad_parameter_names_value_and_range(operator: Operator) -> None:
    for method, path, sent, hint in REFUSED:
        headers = {"content-type": "application/json"} if "content" in sent else {}
        answer = operator.ask(method, path, headers=headers, **sent)
        assert (answer.status_code, answer.json()["error"]) == (422, "bad_value"), path
        assert hint in answer.json()["message"], answer.json()["message"]
        assert not any(name.isdigit() for name in answer.json()["fields"]), path  # the place of a fault in bad JSON


def test_l35_an_operator_sees_all_audiences_of_the_persona(operator: Operator, life: Life) -> None:
    life.item("said in private", path="tg/ann", participant="tg/ann", privacy="direct")
    life.item("said in a closed channel", path=ELSEWHERE, privacy="restricted")
    life.item("for this machine", local_only=True)
    everything = {"said in private", "said in a closed channel", "for this machine"}
    page = operator.get("/memory/search")
    assert set(texts(page)) == everything and {item["local_only"] for item in page["items"]} == {False, True}
    assert life.search_items(path="tg/bob")["total"] < 3
    assert {item["text"] for item in operator.get("/memory/export")["items"]} == everything
    for item in page["items"]:
        assert operator.post("/memory/pin", {"ids": [item["id"]]})["count"] == 1


def test_l36_what_an_operator_changes_is_no_interaction(operator: Operator, life: Life) -> None:
    def update(who: str, *names: str, **more: Any) -> list[Any]:
        done = operator.post("/relationship/update", {"user_id": who, **more})
        return [done[name] for name in names]

    told = update("tg/ann", "stored", "affinity", "interaction_count", "last_interaction", affinity_delta=5)
    assert told == [True, 5, 0, None]
    named = update("tg/ann", "trust", "username", "interaction_count", trust_delta=300, username="Ann")
    assert named == [100, "Ann", 0] and operator.get("/relationship", user_id="tg/ann")["affinity"] == 5
    by = life.stage.asking()
    assert operator.get("/relationship", user_id="tg/u9") == relationships.get("tg/u9", **by)
    relationships.ensure_and_touch("tg/bob", "Bob", **by)
    recent = operator.get("/relationship/recent", limit=5)["relationships"]
    assert [each["user_id"] for each in recent] == ["tg/bob", "tg/ann"]
    privacy.set_privacy("tg/eve", "full", **by)
    assert update("tg/eve", "stored", "reason", "affinity", affinity_delta=5) == [False, "privacy", 0]


def test_l32_consolidation_and_pruning_by_hand(operator: Operator, life: Life) -> None:
    life.stage.say_all((f"line {n}" for n in range(3)), minutes=60)
    life.item("old mood", days=9, tier="session")
    done = operator.post("/memory/consolidate", reason="by the test")
    assert (done["stored"], done["pruned"], done["deep"]) == (2, 1, False)
    assert operator.post("/memory/consolidate")["stored"] == 0
    life.item("old and of no use", days=400, importance=0.1)
    assert operator.post("/memory/deep_consolidation", reason="deeply")["pruned"] == 1
    life.item("a mood", days=8, tier="session")
    life.item("a mood here", days=8, tier="session", path=HERE)
    expired = operator.post("/memory/prune_session_ttl", history_uid=HERE)
    assert (expired["pruned"], expired["notes"], expired["items"][0]["reasons"]) == (1, [], ["expired"])
    short = operator.post("/memory/prune_session_ttl", ttl_sec=30)
    assert short["pruned"] == 1 and "60" in short["notes"][0]
    waiting = operator.post("/memory/consolidate", wait=False)
    assert waiting["queued"] and 'operations{state="pending"} 1.0' in operator.ask("GET", "/metrics").text


def test_l33_without_memory_or_database_the_answer_is_503(db: Database, life: Life) -> None:
    gone = Database("mysql://nobody:canary-password@127.0.0.1:1/nowhere", timeout_seconds=0.3)
    with client_of(made(db, Settings(enable_memories=False))) as off, client_of(made(gone)) as client:
        asked = Operator(off, life.persona)
        for path in ("/memory/search", "/memory/export", "/memory/1"):
            assert asked.get(path, 503)["error"] == "disabled"
        assert asked.post("/memory/consolidate", None, 503)["message"].startswith("Memory is switched off")
        assert asked.get("/relationship/recent") == {"relationships": []}
        asked = Operator(client, life.persona)
        for path in ("/memory/search", "/memory/export", "/metrics", "/relationship/recent"):
            answer = asked.get(path, 503)
            assert answer["error"] == "database" and "canary" not in answer["message"], path
        assert asked.send(b'{"items": ["a"]}', 503)["error"] == "database"
        assert asked.post("/relationship/update", {"user_id": "a", "affinity_delta": 1}, 503)["error"] == "database"


def test_f40_a_participant_is_forgotten_by_the_route(operator: Operator, other: Operator, life: Life) -> None:
    life.item("canary of Ann", path="tg/ann", participant=ANN, privacy="direct")
    assert operator.post("/forget", {"participant": ANN}, dry_run=True)["tables"]["memories"] == 1
    nothing = other.post("/forget", {"participant": ANN})
    assert (nothing["total"], nothing["persona"]) == (0, other.persona)
    assert f"of the persona {other.persona!r}. Rows are stored of " in nothing["notes"][0]
    assert operator.post("/forget", {"conversation": "tg/an"}, dry_run=True)["notes"][0].endswith("Near it: tg/ann.")
    assert operator.post("/forget", {"server": "s2"})["total"] == 0 and operator.get("/memory/search")["total"] == 1
    assert "such as 'web/ann'" in operator.post("/forget", {"participant": "ann"}, 422)["message"]
    met = Scope(other.persona, "tg/9", ANN)
    chat_history_cache.save_chat_message("tg/9", "hello", "Ann", ANN.partition("/")[2], db=life.db, scope=met)
    done = operator.post("/forget", {"participant": ANN})
    assert done["notes"][0].startswith("Still known to: ") and other.persona in done["notes"][0]
    assert "; repeat with conf_uid=" in done["notes"][0]
    assert done["tables"]["memories"] == 1 and operator.get("/memory/search", archived=True)["total"] == 0
    operator.post("/forget", {}, 422)
    operator.post("/forget", {"participant": ANN, "memory": 1}, 422)


def test_f40_the_route_takes_the_server_of_a_conversation(operator: Operator, life: Life) -> None:
    for server in ("s1", "s2"):
        life.stage.say(f"canary of {server}", "tg/9", "Bob", server=server)
    assert "'tg/9' is on s1, s2" in operator.post("/forget", {"conversation": "tg/9"}, 422)["message"]
    assert operator.post("/forget", {"conversation": "tg/9", "server": "s2"})["tables"]["chat_history_cache"] == 1
    left = chat_history_cache.load_chat_history("tg/9", db=life.db, scope=Scope(operator.persona, "tg/9", server="s1"))
    assert [line["text"] for line in left] == ["canary of s1"]


def test_p60_the_page_shows_prompt_and_report_and_stores_nothing(operator: Operator, life: Life) -> None:
    private = {"path": "tg/ann", "privacy": "direct"}
    life.item("Ann's cat is called Tofu", days=2, tags=["cat"], participant=ANN, **private)
    life.stage.say("my cat is ill", **private)
    before = _everything(life)

    def explain(**form: str) -> Any:
        asked = {"text": "what is my cat called?", "conversation": "tg/ann", "user_id": "ann", **form}
        shown = operator.ask("POST", "/page/why", data=asked).text
        prompt = re.search(r'<pre id="json"[^>]*>(.*?)</pre>', shown, re.DOTALL)
        return json.loads(html.unescape(prompt[1])) if prompt else shown

    shown = explain()
    assert [hit["snippet"] for hit in shown["context"]["memories"]] == ["Ann's cat is called Tofu"]
    assert shown["input"]["payload"]["text"] == "what is my cat called?"
    assert explain(conversation="tg/99", user_id="tg/bob")["context"]["memories"] == []
    assert len(json.dumps(explain(max_chars="3000", destination="local"), ensure_ascii=False)) <= 3000
    assert "The prompt's protected parts take" in html.unescape(explain(max_chars="40"))
    assert before == _everything(life)


def _everything(life: Life) -> dict[str, Any]:
    return {name: life.db.read(select(table), source=name) for name, table in schema.TABLES.items()}


def test_r12_the_metrics_of_a_mistyped_persona_are_refused(operator: Operator, life: Life) -> None:
    """Zeros would look like a persona at rest; without a name they are those of PERSONA_ID."""
    life.item("Tofu is a cat")
    for path in ("/metrics", "/admin/metrics"):
        wrong = operator.client.get(path, params={"conf_uid": f"{life.persona}s"}, headers=BEARER)
        assert wrong.status_code == 404 and life.persona in wrong.text
    named = operator.client.get("/metrics", params={"conf_uid": life.persona}, headers=BEARER)
    with client_of(made(life.db, Settings(persona_id=life.persona))) as client:
        bare = client.get("/metrics", headers=BEARER)
    assert named.status_code == 200 and bare.text == named.text


def test_r12_the_metrics_count_name_nobody_and_answer_where_scrapers_look(operator: Operator, life: Life) -> None:
    life.item("canary text", participant="tg/canary")
    life.item("of a strange kind", tier="session")
    operator.post("/memory/consolidate")
    answer = operator.ask("GET", "/metrics")
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/plain; version=")
    assert operator.client.get("/metrics", params={"conf_uid": life.persona}, headers=BEARER).text == answer.text
    accept = "application/openmetrics-text;version=1.0.0;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
    asked = operator.client.get("/metrics", headers={**BEARER, "Accept": accept, "User-Agent": "Prometheus/2.53"})
    assert asked.status_code == 200 and asked.text.startswith("# HELP prompt_engine_")
    for headers in ({}, {"Authorization": "Bearer no"}):
        assert operator.client.get("/metrics", headers=headers).status_code == 401
    lines = answer.text.splitlines()
    items = {f'prompt_engine_memory_items{{kind="KeyFacts",tier="{tier}"}} 1.0' for tier in ("long_term", "session")}
    assert {*items, 'prompt_engine_operations{state="pending"} 0.0'} <= set(lines)
    ended = 'prompt_engine_last_run_finished_timestamp_seconds{kind="cycle"} '
    assert [float(line[len(ended) :]) for line in lines if line.startswith(ended)] == [NOW.timestamp()]
    assert life.persona not in answer.text and "canary" not in answer.text


def test_l35_the_page_takes_the_name_of_a_persona_as_it_is_written(operator: Operator, life: Life) -> None:
    item = life.item("Tofu is a cat")
    for name in (f"{life.persona} ", f" {life.persona}", life.persona.upper(), f"{life.persona}%", "%", "*"):
        other = Operator(operator.client, name)
        assert "Tofu is a cat" not in other.ask("GET", "/page/memory").text, name
        assert other.ask("GET", "/page/memory/item", params={"id": item}).status_code == 404
        other.ask("POST", "/page/memory/bulk", data={"ids": str(item), "action": "add", "tags": "foreign"})
        other.ask("POST", "/page/memory/row", data={"delete": str(item)})
    operator.ask("POST", "/page/memory/bulk", data={"ids": str(item), "action": "add", "tags": "own"})
    kept = operator.get(f"/memory/{item}")
    assert (kept["tags"], kept["archived_at"]) == (["own"], "")
    assert operator.client.get("/admin/page/memory?conf_uid=%20", headers=BEARER).status_code == 422


def test_l33_words_and_tags_are_as_many_as_a_database_takes(operator: Operator, life: Life) -> None:
    life.item("w1 w2", tags=["t1"])
    words = " ".join(f"w{n}" for n in range(1500))
    for asked, told in (({"q": words}, "q has 1500 words."), ({"tags": words.split()}, "tags has 1500 entries.")):
        answer = operator.get("/memory/search", 422, **asked)
        assert answer["message"].startswith(f"{told} At most 200 are looked for.")
    assert operator.ask("GET", "/page/memory", params={"q": words}).status_code == 422
    assert operator.get("/memory/search", q=" ".join(f"w{n}" for n in range(200)), tags=["t1"])["total"] == 0
    assert operator.get("/memory/search", q="w1 " * 3000)["total"] == 1


def test_l32_export_and_import_by_the_routes(operator: Operator, other: Operator, life: Life) -> None:
    life.item("tea", days=2, tags=["t"], kind="FactsAboutUser")
    life.item("coffee", days=1)
    whole = operator.ask("GET", "/memory/export")
    assert whole.headers["content-disposition"] == 'attachment; filename="memories.json"'
    assert texts(whole.json()) == ["tea", "coffee"]
    first = operator.get("/memory/export", limit=1)["items"][-1]
    for narrow in ({"kind": "KeyFacts"}, {"after": f"{first['timestamp']}/{first['id']}"}):
        assert texts(operator.get("/memory/export", **narrow)) == ["coffee"]
    lines = operator.ask("GET", "/memory/export", params={"fmt": "jsonl"}).text.splitlines()
    assert [json.loads(line)["text"] for line in lines] == ["tea", "coffee"]
    yaml = operator.ask("GET", "/memory/export", params={"fmt": "yaml"})
    assert yaml.headers["content-disposition"] == 'attachment; filename="memories.yaml"'
    assert other.send(yaml.content, dry_run=True)["imported"] == 2
    dry = other.send(whole.content, dry_run=True)
    assert (dry["imported"], dry["dry_run"], other.get("/memory/search")["total"]) == (2, True, 0)
    done = other.send(whole.content, history_uid=HERE)
    assert (done["imported"], done["skipped"], done["errors"]) == (2, 0, [])
    found = other.get("/memory/search")["items"]
    assert {(item["conversation"], item["persona"]) for item in found} == {(HERE, other.persona)}
    again = other.send(whole.content, history_uid=HERE)
    assert (again["imported"], again["skipped"]) == (0, 2)
    assert other.send(b'{"items": ["x"]}', default_kind="Mood", fmt="json")["imported"] == 1
    assert other.get("/memory/search", kinds="Mood")["total"] == 1
    assert other.send(b"[]", 400)["error"] == "wrong_shape"
    assert other.post("/memory/import", None, 422)["fields"] == ["file"]


def test_l32_an_export_is_sent_while_it_is_read(
    app: FastAPI, life: Life, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    life.add_facts_with_meta([f"{n} {'x' * 3000}" for n in range(300)])
    read: list[int] = []
    known = items._build_item

    def item_of(row: Any) -> dict[str, Any]:
        read.append(row.id)
        if len(read) > 200:
            raise StoreReadError("canary: the connection is gone")
        return known(row)

    monkeypatch.setattr(items, "_build_item", item_of)
    parts = transfer.chunks(items.export_items(fmt="jsonl", db=life.db, scope=life.stage.scope()))
    assert len(next(parts)) < 2 * transfer.CHUNK_CHARS and len(read) < 40
    read.clear()
    with serving(app) as url, pytest.raises(httpx2.RemoteProtocolError):
        asked = {"conf_uid": life.persona, "fmt": "jsonl"}
        httpx2.get(f"{url}/admin/memory/export", params=asked, headers=BEARER, timeout=60)
    assert len(read) > 200 and "canary" not in caplog.text


def test_the_log_names_the_route_and_client_of_a_refused_request_and_no_id(caplog: pytest.LogCaptureFixture) -> None:
    with client_of(made(Database("mysql://nobody:x@127.0.0.1:1/none"))) as client:
        assert client.get("/admin/memory/7012/history", headers=BEARER).status_code == 503
        assert client.get("/admin/memory/7012", headers=bearer("no")).status_code == 401
        assert client.post("/admin/login", data={"token": "no"}).status_code == 401
    assert [record.getMessage() for record in caplog.records if record.name == "prompt_engine"] == [
        "request_unavailable route='GET /admin/memory/{id}/history' error='StoreReadError' number=2003",
        "admin_wrong_token route='GET /admin/memory/{id}' client=('testclient', 50000)",
        "admin_wrong_token route='POST /admin/login' client=('testclient', 50000)",
    ]


def test_l33_a_file_that_is_too_large_is_413(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "UPLOAD_BYTES", 30_000)
    monkeypatch.setattr(transfer, "MAX_BYTES", 20_000)
    told = operator.send(b" " * 40_000, 413)
    assert "30000 bytes" in told["message"] and told["error"] == "too_large"
    assert "20,000 bytes" in operator.send(b" " * 25_000, 413)["message"]


def test_r11_a_turn_is_stored_found_and_in_the_next_prompt(world: World) -> None:
    host = world.visitor()
    turn = {"message": said("My cat is called Tofu.", message_id="m1", date=1_773_000_000),
            "reply": {"text": "A fine name.", "message_id": "m2"}}  # fmt: skip
    stored, again = host.post("/v1/turns", turn), host.post("/v1/turns", turn)
    assert stored["stored"] and stored["reply"]["stored"] and stored["id"] > 0
    assert (again["stored"], again["reason"], again["id"]) == (False, "duplicate", stored["id"])
    scope = Scope(world.persona, "web/ann", "web/ann", privacy="direct")
    lines = chat_history_cache.load_chat_history("web/ann", db=world.db, scope=scope)
    assert [(line["sender_id"], line["sender_name"], line["text"]) for line in lines] == [
        ("ann", "ann", "My cat is called Tofu."), ("self", world.persona, "A fine name."),
    ]  # fmt: skip
    (moment,) = short_term.get_for_user("web/ann", db=world.db, scope=scope)
    assert [each["content"] for each in moment["messages"]] == ["My cat is called Tofu.", "A fine name."]
    who = {"conversation": "web/ann", "participant": "web/ann", "privacy": "direct"}
    hits = host.post("/v1/search", {"query": "what is my cat called?", **who})["hits"]
    assert [(hit["source"], hit["id"]) for hit in hits if "Tofu" in hit["snippet"]] == [("chat_history", stored["id"])]
    host.post("/v1/messages", {"messages": [{"message": said("gg", message_id=f"g{at}")} for at in range(5)]})
    every = host.post("/v1/search", {"query": "gg", "mode": "all", **who})
    assert (len(every["hits"]), every["total"]) == (1, 1) and every["notes"][-1].endswith("another: 4.")
    made_prompt = host.post("/v1/prompt", {"message": said("And my cat?"), "style": "openai", "report": True})
    known: dict[str, Any] = {"db": world.db, "settings": Settings(), "scope": scope}
    assert made_prompt["prompt"] is None and made_prompt["report"]["size"] > 0
    assert made_prompt["messages"] == prompt_engine.build_messages(said("And my cat?"), **known)
    plain = host.post("/v1/prompt", {"message": said("And my cat?"), "max_chars": 5000})
    assert plain["messages"] is plain["report"] is None and len(json.dumps(plain["prompt"])) < 6000
    assert "Tofu" in json.dumps(plain["prompt"]["context"])


def test_r11_the_document_describes_what_a_message_may_have(world: World) -> None:
    kinds = world.client.get("/openapi.json").json()["components"]["schemas"]
    fields = kinds["HostMessage"]["properties"]
    assert all(fields[name]["description"] for name in ("reply_to_message", "attachments", "time_zone"))
    assert "restricted: a closed channel" in kinds["SearchBody"]["properties"]["privacy"]["description"]
    assert "deleted" in kinds["WrittenAnswer"]["properties"]["stored"]["description"]


def test_r11_a_reply_without_a_date_follows_its_message(world: World) -> None:
    """A host that stores its old chat later keeps the order of the lines."""
    old = {"message": said("Old question", date="2026-01-01T10:00:00Z"), "reply": {"text": "Old answer"}}
    later = {"message": said("Later", timestamp="2026-01-01T10:05:00Z"), "reply": {"text": "Later answer"}}
    world.visitor().post("/v1/messages", {"messages": [old, later]})
    scope = Scope(world.persona, "web/ann", "web/ann", privacy="direct")
    lines = chat_history_cache.load_chat_history("web/ann", db=world.db, scope=scope)
    assert [line["text"] for line in lines] == ["Old question", "Old answer", "Later", "Later answer"]
    assert [line["timestamp"][:16] for line in lines] == ["2026-01-01T10:00"] * 2 + ["2026-01-01T10:05"] * 2


def test_r11_many_messages_at_once_or_none(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    host = world.visitor()
    lines = [{"message": said(f"line {n}", message_id=n, date=1_773_000_000 + n)} for n in range(20)]
    stored = host.post("/v1/messages", {"messages": [*lines, {"message": said("x"), "reply": {"text": "y"}}]})
    assert [each["stored"] for each in stored["messages"]] == [True] * 21
    assert stored["messages"][-1]["reply"]["stored"]

    def refuse(last: dict[str, Any]) -> Any:
        return host.post("/v1/messages", {"messages": [{"message": said("fine")}, last]}, 422)

    refused = refuse({"message": {"text": "nowhere"}})
    assert refused["fields"] == ["messages.1.message.interface_path"]
    assert refused["message"] == "messages.1.message.interface_path is missing."
    for wrong in ("a\0", "x" * 192):
        refused = refuse({"message": said("x"), "reply": {"text": "y", "message_id": wrong}})
        assert refused["fields"] == ["messages.1.reply.message_id"]
        refused = refuse({"message": said("x", reply_to_message={"message_id": wrong})})
        assert refused["fields"] == ["reply_to_message.message_id"]
    assert "server_name" in refuse({"message": said("x", server_name=["a"])})["message"]
    monkeypatch.setattr(rows, "TEXT_BYTES", 1000)
    longest = "\ufdfa" * 300  # 900 bytes, which fold to 9,900
    for each in (said(longest), said("", caption=longest)):
        assert "folded" in refuse({"message": each})["message"]
    assert "folded" in refuse({"message": said("x"), "reply": {"text": longest}})["message"]
    scope = Scope(world.persona, "web/ann", "web/ann", privacy="direct")
    texts = [line["text"] for line in chat_history_cache.load_chat_history("web/ann", 100, db=world.db, scope=scope)]
    assert len(texts) == 22 and "fine" not in texts


def test_r11_a_message_is_edited_and_deleted(world: World) -> None:
    host, path = world.visitor(), "web/ann/thread 1"
    for n, name in enumerate(("a/b c", "m 7")):
        home = said("I live in Bonn", path=path, message_id=name, date=1_773_000_000 + n)
        host.post("/v1/messages", {"messages": [{"message": home}]})
    for id_, status in (("a%2Fb%20c", 200), ("a/b%20c", 404), ("nothing", 404)):
        host.ask("PATCH", f"/v1/messages/web/ann/thread%201/{id_}", status, json={"text": "x"})
    where = "/v1/messages/web/ann/thread%201/m%207"
    assert host.ask("PATCH", where, json={"text": "I live in Köln"})["stored"]
    scope = Scope(world.persona, path, "web/ann", privacy="direct")
    texts = {line["text"] for line in chat_history_cache.load_chat_history(path, db=world.db, scope=scope)}
    assert "I live in Köln" in texts
    assert host.ask("DELETE", where)["stored"]
    host.ask("DELETE", where, 404)


def test_r11_a_search_for_nothing_and_a_delete_of_nothing_are_refused(world: World) -> None:
    host = world.visitor()
    for body in ({"since": "last week"}, {"query": " ", "until": "2026-03-01"}, {"tags": [], "mode": "all"}):
        assert host.post("/v1/search", body, status=422)["fields"] == ["query"], body
    gone = host.ask("DELETE", "/v1/memories/5", status=404)
    assert gone["error"] == "not_found" and "archived" not in gone["message"]


def test_r11_g28_memories_are_stored_listed_and_deleted_by_ids_that_every_client_reads_exactly(world: World) -> None:
    host = world.visitor()
    for n in range(30):
        host.post("/v1/memories", {"text": f"fact number {n}"})
    page = host.ask("GET", "/v1/memories?limit=500")
    read = json.loads(json.dumps(page), parse_int=lambda digits: int(float(digits)))
    ids = [each["id"] for each in read["items"]]
    tea = {"text": "Ann likes green tea.", "tags": ["tea"], "kind": "FactsAboutUser"}
    kept = host.post("/v1/memories", tea)["id"]
    assert len(set(ids)) == 30 and all(isinstance(each, int) and each < 2**53 for each in ids)
    for each in ids:
        assert [host.ask("DELETE", f"/v1/memories/{each}")["deleted"] for _ in range(2)] == [1, 0]
    for asked in ("", "?q=green&kinds=FactsAboutUser"):
        (left,) = host.ask("GET", f"/v1/memories{asked}")["items"]
        assert (left["id"], left["text"], left["tags"]) == (kept, tea["text"], ["tea"])
    found = host.post("/v1/prompt", {"message": said("which number is the fact?"), "report": True})
    numbers: list[int] = []
    json.loads(json.dumps(found), parse_int=lambda digits: numbers.append(int(digits)))
    assert numbers and max(numbers) < 2**53


def test_l2_r11_a_memory_of_another_kind_is_refused_over_http_and_in_python(world: World) -> None:
    """`note` was stored, and `key_facts` as written, so that a list of KeyFacts lacked it."""
    host = world.visitor()
    for kind in ("key_facts", "SAVED", "", None):
        host.post("/v1/memories", {"text": f"a fact of kind {kind}", "kind": kind})
    kinds = {each["text"][15:]: each["kind"] for each in host.ask("GET", "/v1/memories")["items"]}
    assert kinds == {"key_facts": "KeyFacts", "SAVED": "saved", "": "", "None": ""}
    for kind, near in (("keyfact", "KeyFacts"), ("instruction", ""), ("note", "")):
        refused = host.post("/v1/memories", {"text": "x", "kind": kind}, 422)
        assert refused["fields"] == ["kind"] and near in refused["message"] and f"kind is '{kind}'" in str(refused)
        with pytest.raises(MessageError, match=f"kind is '{kind}'"):
            insert_memory("x", kind=kind, db=world.db)


@pytest.mark.slow
def test_r11_no_request_gives_a_failure_or_an_answer_of_another_shape(db: Any, stage: Any) -> None:
    app = made(db, allowed_hosts=["testserver"])
    with client_of(app) as client:
        world = World(db, client, stage.persona)
        shown = [bearer(world.visitor(*who).token) for who in (("host",), ("scope", "web/ann"), ("admin",))]
    shown.append(BEARER)
    schema = schemathesis.openapi.from_asgi("/openapi.json", app).include(path_regex="^/(v1|admin)/")
    schema = schema.exclude(path="/admin/login")  # wrong tokens wait there
    seen: set[int] = set()

    @settings(max_examples=EXAMPLES, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    def ask(case: Any) -> None:
        for headers in (*shown, {"Authorization": "Bearer x"}):
            answer = case.call(headers=headers)
            seen.add(answer.status_code)
            place = (case.method, case.formatted_path, answer.text)
            assert answer.status_code < 500 or answer.status_code == 503, place
            case.validate_response(answer, checks=CHECKED)

    for found in schema.get_all_operations():
        operation = found.ok()
        for mode in (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE):
            given(case=operation.as_strategy(generation_mode=mode))(ask)()
    assert {200, 401, 403, 404, 422} <= seen
