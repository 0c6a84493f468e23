"""Memory items out into files and in from them; figures over items."""

import io
import json
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from core import chat_history_cache, privacy, prompt_engine, transfer
from core.database import schema
from core.database.engine import Database
from core.database.rows import read_texts
from core.database.sources import MEMORIES
from core.db import insert_memory
from core.errors import StoreWriteError, TransferError
from core.index import indexed
from core.memories import table_transfer as item_transfer
from core.scope import Scope
from core.synth_core_memory import search_memories
from core.transfer.items import ItemImport
from core.transfer.items.storage import PUBLIC
from tests.store.world import NOW, count, index_differences, own_scope, rows_of


def _import(db: Database, scope: Scope, value: Any, **options: Any) -> ItemImport:
    source = value if isinstance(value, bytes) else (value if isinstance(value, str) else json.dumps(value)).encode()
    return transfer.import_items(source, db=db, scope=scope, **options)


def _export(db: Database, scope: Scope, **options: Any) -> str:
    return "".join(transfer.export_items(db=db, scope=scope, **options))


def _items(db: Database, scope: Scope, **options: Any) -> list[dict[str, Any]]:
    return json.loads(_export(db, scope, **options))["items"]  # type: ignore[no-any-return]


def _stored(db: Database, scope: Scope) -> list[Any]:
    return sorted(rows_of(db, schema.memories, scope.persona), key=lambda row: row.id)


def _some(db: Database, scope: Scope) -> None:
    shared: dict[str, Any] = {"db": db, "scope": scope}
    insert_memory("Ann likes 'tea': yes, # and — 寿司 🍣\n\n- more", "synth", "chat", ["auto", "Tea"], **shared)
    insert_memory("moved", "ann", "voice", [], emotion="joy", intensity=3, emotion_state="calm", kind="PastEvents",
                  tier="session", importance=0.123, pinned=True, timestamp="2026-03-09T10:00:00.000001Z",
                  expires_at="2026-03-20", local_only=True, provenance="model", source_message_ids=[7, 8],
                  response_text="oh", metadata={"é": [1, {"a": None}], "n": "12", "yes": "no"}, label="own",
                  **shared)  # fmt: skip
    insert_memory("same", "synth", "chat", [], kind="saved", timestamp="2020-01-01", **shared)
    insert_memory("same", "synth", "chat", [], kind="saved", timestamp="2021-01-01", **shared)


@pytest.mark.parametrize("fmt", ["json", "jsonl", "yaml"])
def test_l37_export_import_export_gives_equal_items_but_for_ids(db: Database, fmt: Any) -> None:
    first = own_scope(conversation="web/1", participant="web/ann")
    second = own_scope(conversation="web/1", participant="web/ann")
    assert _import(db, first, _export(db, first, fmt=fmt), fmt=fmt).imported == 0  # of none
    _some(db, first)
    text = _export(db, first, fmt=fmt)
    done = _import(db, second, text, fmt=fmt)
    assert (done.imported, done.skipped, done.errors) == (4, 0, ())
    out, back = _items(db, first), _items(db, second)
    assert [item["timestamp"][:4] for item in out] == ["2020", "2021", "2026", "2026"]
    assert {item["persona"] for item in back} == {second.persona}
    assert [one | {"id": 0, "persona": ""} for one in out] == [one | {"id": 0, "persona": ""} for one in back]
    assert index_differences(db, second.persona) == [] and _import(db, second, text).imported == 0


def test_l9_l37_an_item_has_all_fields_of_l1_and_one_of_a_session_an_end(db: Database, scope: Scope) -> None:
    _import(db, scope, {"items": [{"text": "a", "tier": "session", "timestamp": "2026-03-09"}]})
    assert [row.expires_at.isoformat()[:10] for row in _stored(db, scope)] == ["2026-03-16"]
    scope = own_scope()
    _some(db, scope)
    item = _items(db, scope)[2]
    del item["id"]
    assert item == {
        "text": "moved", "kind": "PastEvents", "tier": "session", "importance": 0.123, "tags": [], "emotion": "joy",
        "persona": scope.persona, "conversation": None, "participant": None,
        "timestamp": "2026-03-09T10:00:00.000001+00:00", "expires_at": "2026-03-20T00:00:00+00:00", "pinned": True,
        "provenance": "model", "source_message_ids": [7, 8], "author": "ann", "source": "voice", "label": "own",
        "local_only": True, "metadata": {"é": [1, {"a": None}], "n": "12", "yes": "no"}, "response_text": "oh",
        "intensity": 3, "emotion_state": "calm",
    }  # fmt: skip


def test_l37_filters_limits_and_places(db: Database) -> None:
    scope, other = own_scope(), own_scope()
    kinds = ["KeyFacts", "Mood", "chat"]
    items = [{"text": f"t{n}", "kind": kinds[n % 3], "timestamp": 1_700_000_000 + n // 4} for n in range(1005)]
    _import(db, scope, {"items": items})
    _import(db, other, {"items": ["foreign"]})
    whole = transfer.export_items(db=db, scope=scope)
    assert len(json.loads("".join(whole))["items"]) == whole.count == 1000
    assert [item["text"] for item in _items(db, scope, after=whole.next_after)] == [f"t{n}" for n in range(1000, 1005)]
    assert [item["text"] for item in _items(db, scope, limit=50_000)] == [f"t{n}" for n in range(1005)]
    assert [i["text"] for i in _items(db, scope, kind="key_facts", limit=3)] == ["t0", "t3", "t6"]
    assert [i["text"] for i in _items(db, scope, kind=["Mood", "chat"], limit=3)] == ["t1", "t2", "t4"]
    last = transfer.export_items(db=db, scope=scope, limit=1005)
    assert "".join(last) and last.next_after is None
    walked: list[str] = []
    after: str | None = None
    while len(walked) < 30:
        page = transfer.export_items(db=db, scope=scope, limit=7, after=after)
        walked += [item["text"] for item in json.loads("".join(page))["items"]]
        after = page.next_after
    assert walked == [f"t{n}" for n in range(35)]
    for wrong in (0, 50_001):
        with pytest.raises(ValueError, match=r"limit is .* 1 to 50000"):
            transfer.export_items(limit=wrong, db=db, scope=scope)


def test_l37_what_is_not_read_is_not_exported(db: Database, scope: Scope) -> None:
    _import(db, scope, {"items": ["a", "b", "c", {"text": "d", "tier": "session", "timestamp": "2026-03-01"}]})
    rows = _stored(db, scope)
    archived: dict[str, Any] = {"persona": scope.persona, "ids": [rows[0].id], "archived_at": NOW}
    db.transaction(lambda c: indexed.set_columns(c, db, MEMORIES, **archived), source="memories")
    t = schema.memories
    timeless = t.update().where(t.c.persona_id == scope.persona, t.c.id == rows[2].id).values(timestamp=None)
    db.transaction(lambda c: c.execute(timeless), source="memories")
    assert [item["text"] for item in _items(db, scope)] == ["c", "b"] and _items(db, scope)[0]["timestamp"] == ""
    page = transfer.export_items(db=db, scope=scope, limit=1)
    assert "".join(page) and [i["text"] for i in _items(db, scope, after=page.next_after)] == ["b"]
    assert _import(db, scope, {"items": ["a", "b"]}).imported == 1, "what was archived comes back"


def test_l38_texts_and_objects_blank_and_unknown_kinds(db: Database, scope: Scope) -> None:
    with pytest.raises(TransferError, match="no shape"):
        _import(db, scope, [])
    given = {"items": ["a", "", {"text": "b", "kind": "Nope"}]}
    done = _import(db, scope, given)
    assert (done.imported, done.skipped, done.error_count) == (1, 1, 1)
    (problem,) = done.errors
    assert problem.row == 3 and problem.reason.startswith("kind is 'Nope'. It must be one of ")
    again = _import(db, scope, given)
    assert (again.imported, again.skipped, again.duplicates, again.error_count) == (0, 2, 1, 1)
    (row,) = _stored(db, scope)
    assert (row.content, row.kind, row.tier, row.importance, row.provenance, row.pinned) == (
        "a", "KeyFacts", "long_term", 0.5, "import", 0
    )  # fmt: skip


def test_l38_whose_an_item_is_says_the_call_alone(db: Database) -> None:
    """F3: a file of strangers names no persona, participant or audience; what it names otherwise is kept."""
    scope = own_scope(conversation="web/1", participant="web/ann")
    item = {
        "text": "a", "persona": "other", "conf_uid": "other", "conversation": "x/y", "participant": "x/z",
        "audience_id": 7, "archived_at": "2020-01-01", "mark": [1], "kind": None, "metadata": {"m": 1}, "id": 3,
        "quarantined": True,
    }  # fmt: skip
    done = _import(db, scope, {"items": [item]}, default_kind="past_events")
    (row,) = _stored(db, scope)
    assert (row.conversation_key, row.participant_key, row.kind) == ("web/1", "web/ann", "PastEvents")
    assert row.archived_at is None and row.audience_id != 7 and row.id != 3
    assert json.loads(row.metadata) == {"m": 1, "mark": [1]}
    assert done.notes == ("items of another persona and conversation and participant: they are those of the call: 1",)
    assert [hit["snippet"] for hit in search_memories(keywords=["a"], db=db, scope=scope)] == ["a"]


def test_l38_an_import_that_makes_items_of_a_conversation_public_says_so(db: Database) -> None:
    """An export holds direct messages' items too; taken over without a conversation everybody may see them."""
    item = {"text": "Between us: I will quit my job.", "conversation": "web/ann", "participant": "web/ann"}
    for scope in (own_scope(), own_scope(conversation="web/ann", privacy="public")):
        assert [note for note in _import(db, scope, {"items": [item]}).notes if note == f"{PUBLIC}: 1"]
        assert _seen_by(db, scope, "eve") == [item["text"]]


@pytest.mark.parametrize("fields", [{}, {"participant": "web/ann"}, {"privacy": "direct"}])
def test_l38_items_of_a_conversation_that_nobody_has_spoken_in_stay_there(db: Database, fields: Any) -> None:
    scope, item = own_scope(conversation="web/ann", **fields), {"text": "I will quit my job", "conversation": "web/ann"}
    assert PUBLIC not in str(_import(db, scope, {"items": [item]}).notes)
    assert (_seen_by(db, scope, "ann"), _seen_by(db, scope, "eve")) == ([item["text"]], [])
    _import(db, own_scope(conversation="web/ann", participant="web/zoe"), {"items": [{"text": "Zoe likes tea"}]})
    for who in ("eve", "ann"):
        said = {"text": "hello", "interface_path": f"web/{who}", "from_user": {"id": who}}
        assert chat_history_cache.save_message(said, db=db, scope=Scope(scope.persona)).stored
    assert (_seen_by(db, scope, "ann"), _seen_by(db, scope, "eve")) == ([item["text"]], [])
    asked = {"text": "Who will quit?", "interface_path": "web/eve", "from_user": {"id": "eve"}}
    assert "quit my" not in str(prompt_engine.build_json_prompt(asked, db=db, scope=Scope(scope.persona))["context"])


def _seen_by(db: Database, scope: Scope, who: str) -> list[str]:
    own = Scope(scope.persona, f"web/{who}", f"web/{who}", privacy="direct")
    return [hit["snippet"] for hit in search_memories(query="Who will quit?", db=db, scope=own)]


def test_l38_as_many_as_the_file_holds_are_stored_once(db: Database, scope: Scope) -> None:
    twice = {"items": ["same", "SAME", {"text": "same", "kind": "Mood"}, {"text": "same", "tier": "session"}]}
    assert _import(db, scope, twice).imported == 4
    assert _import(db, scope, {"items": [*twice["items"], "same"]}).imported == 1
    assert _import(db, scope, twice).imported == 0
    assert _import(db, Scope(scope.persona, participant="web/ann"), {"items": ["same"]}).imported == 1


def test_l38_values_that_cannot_be_used_are_noted_or_refused(db: Database, scope: Scope) -> None:
    """A bad number costs the number, a value of a wrong type the row; nothing of the text is in a reason."""
    given = [
        {"text": "b", "importance": 3}, {"text": "c", "importance": "much"}, {"text": "d", "timestamp": "soon"},
        {"text": 7}, {"kind": "chat"}, 7, None, {"text": "canary", "tags": [["x"]]},
        {"text": "canary", "pinned": "yes"}, {"text": "canary", "tier": "ever"}, {"text": "canary", "intensity": "x"},
        {"text": "e", "provenance": "log"},
    ]  # fmt: skip
    done = _import(db, scope, {"items": given})
    assert (done.imported, done.skipped, done.error_count) == (4, 0, 8)
    reasons = {problem.row: problem.reason for problem in done.errors}
    assert reasons[4] == "text is of type int. It must be a text" and reasons[5] == "text is missing"
    assert reasons[6] == "the item is of type int. It must be a text or an object" and "canary" not in str(done)
    stored = {row.content: row for row in _stored(db, scope)}
    assert (stored["b"].importance, stored["c"].importance, stored["d"].timestamp) == (1.0, 0.5, NOW)
    assert json.loads(stored["e"].metadata) == {"provenance": "log"} and len(done.notes) == 4


def test_f20_the_level_of_the_person_counts(db: Database) -> None:
    scope = own_scope(conversation="web/1", participant="web/ann")
    privacy.set_privacy("web/ann", "partial", db=db, scope=scope)
    done = _import(db, scope, {"items": ["a", {"text": "b", "tier": "session"}]})
    assert (done.imported, [(p.row, p.reason) for p in done.errors]) == (1, [(1, "privacy")])
    privacy.set_privacy("web/ann", "full", db=db, scope=scope)
    assert _import(db, scope, {"items": [{"text": "c", "tier": "session"}]}).errors[0].reason == "privacy"
    assert [row.content for row in _stored(db, scope)] == ["b"]


def test_l39_a_file_that_is_refused_stores_nothing(db: Database, scope: Scope) -> None:
    key_twice_after_many = b"items:\n" + b"- good\n" * 1500 + b"- a: 1\n  a: 2\n"
    for content in (key_twice_after_many, b'{"items": ["good", "better"', b'{"items": ["good", "\xff"]}'):
        with pytest.raises(TransferError):
            _import(db, scope, content)
        assert _stored(db, scope) == [], content[:40]


def test_l39_a_dry_run_gives_the_same_answer_and_stores_nothing(db: Database) -> None:
    scope = own_scope(conversation="web/dry", participant="web/ann")
    before = _import(db, scope, {"items": ["a", "a", "", {"text": "b", "kind": "Nope"}, "c"]}, dry_run=True)
    assert rows_of(db, schema.conversations, scope.persona) == [] and _stored(db, scope) == []
    assert before == _import(db, scope, {"items": ["a", "a", "", {"text": "b", "kind": "Nope"}, "c"]})
    _import(db, scope, {"items": ["d"]})
    more = {"items": ["a", "d", "d", "e"]}
    assert (dry := _import(db, scope, more, dry_run=True)).imported == 2 and dry == _import(db, scope, more)


def test_l40_an_import_that_fails_goes_on_where_it_was(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    scope, told = own_scope(), []
    given = {"items": [{"text": f"item {n}", "kind": "chat"} for n in range(2500)]}
    store, calls = item_transfer.store, []

    def failing(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise StoreWriteError("memories could not be written.", source="memories")
        return store(*arguments, **options)

    monkeypatch.setattr(item_transfer, "store", failing)
    with pytest.raises(TransferError, match="All items up to row 2000 are stored; run the same import again") as caught:
        _import(db, scope, given)
    assert caught.value.row == 2000 and count(db, schema.memories, scope.persona) == 2000
    done = _import(db, scope, given, progress=lambda *step: told.append(step))
    assert (done.imported, done.duplicates) == (500, 2000)
    assert [step for step in told if step[0] == "storing"] == [("storing", n, 2500) for n in (1000, 2000, 2500)]


def test_l40_two_imports_of_one_file_at_once_store_it_once(db: Database, scope: Scope) -> None:
    given = {"items": [f"item {n}" for n in range(1200)]}
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda _: _import(db, scope, given), range(2)))
    assert sum(each.imported for each in done) == count(db, schema.memories, scope.persona) == 1200
    assert sum(each.duplicates for each in done) == 1200


def test_l41_a_broken_entry_of_a_book_leaves_the_others(db: Database) -> None:
    entries = [
        {"id": 100 + n, "keys": [f"key{n}", "/re/i"], "content": " " if n in (3, 7) else f"entry {n}",
         "enabled": True, "constant": n == 6, "insertion_order": n, "extensions": {}, "secondary_keys": ["more"]}
        for n in range(20)
    ]  # fmt: skip
    scope = own_scope()
    card = {"spec": "chara_card_v2", "data": {"name": "Iris", "character_book": {"name": "Lore", "entries": entries}}}
    done = _import(db, scope, card)
    assert (done.format, done.imported, done.error_count) == ("character_book", 18, 2)
    assert [(each.row, each.reason, each.uid) for each in done.errors] == [(4, "empty", 103), (8, "empty", 107)]
    rows = {row.content: row for row in _stored(db, scope)}
    assert json.loads(rows["entry 5"].tags) == ["key5", "more"]
    assert (rows["entry 6"].kind, rows["entry 6"].pinned, rows["entry 4"].pinned) == ("saved", 1, 0)
    metadata = {n: json.loads(rows[f"entry {n}"].metadata) for n in (4, 5, 6)}
    assert [m["constant"] for m in metadata.values()] == [False, False, True]
    assert metadata[5]["patterns"] == ["/re/i"] and metadata[5]["book"] == "Lore" and metadata[5]["uid"] == 105
    assert [hit["snippet"] for hit in search_memories(tags=["key4"], db=db, scope=scope)] == ["entry 4"]
    assert _import(db, scope, {"entries": entries}).imported == 0
    done = _import(db, own_scope(), {"entries": {"0": None, "1": {"uid": 1, "key": ["a"], "content": "b"}, "2": 7}})
    assert (done.format, done.imported) == ("world_info", 1)
    assert [(each.uid, each.reason) for each in done.errors] == [(at, "the entry is no object") for at in "02"]


@pytest.mark.parametrize("form", ["world_info", "character_book"])
def test_l41_entries_of_a_book_have_the_effect_they_have_there(db: Database, form: str) -> None:
    scope = Scope(f"iris{own_scope().persona}")
    entries: list[dict[str, Any]] = [
        {"uid": 0, "key": ["{{char}}"], "keys": ["{{char}}"], "content": "{{char}} met {{User}} and <BOT> waved"},
        {"uid": 1, "key": ["rome"], "keys": ["rome"], "content": "Rome is lost", "disable": True, "enabled": False},
        {"uid": 2, "key": ["rain"], "keys": ["rain"], "content": "It always rains here", "constant": True},
    ]
    if form == "world_info":
        value: Any = {"entries": {str(n): entry for n, entry in enumerate(entries)}}
        name = scope.persona
    else:
        value, name = {"data": {"name": "Iris", "character_book": {"entries": entries}}}, "Iris"
    done = _import(db, scope, value)
    assert (done.imported, [(each.uid, each.reason) for each in done.errors]) == (2, [(1, "disabled")])
    hits = search_memories(query="met", db=db, scope=scope)
    assert [hit["snippet"] for hit in hits] == [f"{name} met the user and {name} waved"]
    assert search_memories(query="Rome", db=db, scope=scope) == []
    message = {"text": "good morning", "interface_path": "tg/1", "from_user": {"id": 1, "full_name": "Ann"}}
    prompt = prompt_engine.build_json_prompt(message, db=db, scope=scope)
    assert "It always rains here" in json.dumps(prompt) and "Rome is lost" not in json.dumps(prompt)


def test_l41_the_memories_of_mem0(db: Database, scope: Scope) -> None:
    results = [
        {"id": "m1", "memory": "Ann likes tea", "user_id": "ann", "metadata": {"x": 1},
         "created_at": "2025-07-01T10:00:00-07:00"},
        {"id": "m2", "memory": ""},
    ]  # fmt: skip
    done = _import(db, scope, {"results": results, "relations": [{"source": "ann"}]})
    assert (done.format, done.imported) == ("mem0", 1)
    assert [(p.reason, p.uid) for p in done.errors] == [("a relation, which is no memory", None)]
    (row,) = _stored(db, scope)
    assert (row.content, row.timestamp.isoformat()) == ("Ann likes tea", "2025-07-01T17:00:00+00:00")
    assert json.loads(row.metadata) == {"x": 1, "id": "m1", "user_id": "ann"}
    assert _import(db, own_scope(), results).format == "mem0"


def test_l41_the_graph_of_the_mcp_memory_server(db: Database) -> None:
    lines = [
        {"type": "entity", "name": "Ann_Miller", "entityType": "person", "observations": ["Likes tea", "Keeps bees"]},
        {"type": "relation", "from": "Ann_Miller", "to": "Tofu", "relationType": "owns"},
        {"type": "entity", "name": "Tofu"},
    ]
    scope, content = own_scope(), "\n".join(map(json.dumps, lines)).encode()
    done = _import(db, scope, content)
    assert (done.format, done.imported, [problem.row for problem in done.errors]) == ("mcp_memory", 3, [3])
    assert {row.content: read_texts(row.tags) for row in rows_of(db, schema.memories, scope.persona)} == {
        "Ann Miller: Likes tea": ["ann miller", "person"], "Ann Miller: Keeps bees": ["ann miller", "person"],
        "Ann Miller owns Tofu": ["ann miller", "tofu"],
    }  # fmt: skip
    assert _import(db, scope, content).duplicates == 3


def test_l38_uploads_and_streams_are_read_like_files(db: Database) -> None:
    scope, content = own_scope(), b'{"items": ["a"]}'
    assert _import(db, scope, {"items": ["a"]}).imported == 1
    reading, writing = os.pipe()  # a stream that cannot go back
    os.write(writing, content)
    os.close(writing)
    with os.fdopen(reading, "rb") as one_way:
        for source in (io.BytesIO(content), one_way):
            done = transfer.import_items(source, db=db, scope=scope)
            assert (done.imported, done.duplicates) == (0, 1)
