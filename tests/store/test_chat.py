"""The log of what was said: stored once, read by who may, edited and deleted with its index (P42, F5)."""

import functools
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import exc, select

from core import chat_history_cache as door
from core.chat_history_cache import delete_chat_message, edit_chat_message, get_cache_stats, save_chat_message
from core.database import rows, schema
from core.database.engine import Database
from core.database.ids import BITS
from core.errors import MessageError, StoreError
from core.memories import instructions
from core.messages import new_message, table_batches
from core.messages import table as messages_table
from core.scope import Scope
from tests.databases import listening, watched
from tests.store.world import NOW, count, index_differences, indexed_rows, open_db, own_scope, rows_of, run_at_once


def save(db: Database, scope: Scope, path: str, text: str, **more: Any) -> Any:
    given = {"sender_name": "Ann", "sender_id": "7", "timestamp": NOW, **more}
    return save_chat_message(path, text, db=db, scope=scope, **given)


def at(seconds: float) -> Any:
    return NOW + timedelta(seconds=seconds)


def load(db: Database, scope: Scope, path: str, limit: Any = None, **more: Any) -> Any:
    return door.load_chat_history(path, limit, db=db, scope=scope, **more)


def test_p42_a_message_is_stored_as_said(db: Database, scope: Scope) -> None:
    result = save(db, scope, "tg/1", "Hello \x00 Straße 😀", message_id=42, metadata={"a": [1, float("nan")]})
    row = rows_of(db, schema.chat_history_cache, scope.persona)[0]
    assert (result.stored, result.reason) == (True, "") and result.id == row.id
    assert result.notes == ("metadata: a[]: nan became null",)
    assert (row.message_text, row.text_folded) == ("Hello  Straße 😀", "hello  strasse 😀")
    assert (row.message_id, row.sender_id, row.participant_key, row.sender_name) == ("42", "7", "tg/7", "Ann")
    assert (row.role, row.timestamp, row.interface_path) == ("user", NOW, "tg/1")
    assert row.triggered_by is None and row.edited_at is None and (row.hidden, row.excluded) == (0, 0)
    assert index_differences(db, scope.persona) == []
    assert [save(db, scope, "tg/2", blank)[2] for blank in (None, "", " \n\t", "\x00")] == ["empty"] * 4
    assert count(db, schema.conversations, scope.persona) == 1


def test_p42_one_text_of_a_person_within_five_seconds_is_one_message_others_are_kept(
    db: Database, scope: Scope
) -> None:
    first = save(db, scope, "tg/1", "hello there", timestamp=at(0))
    assert save(db, scope, "tg/1", "Hello  THERE", timestamp=at(4.9)) == (False, first.id, "duplicate")
    assert save(db, scope, "tg/1", "hello there", timestamp=at(5)).stored
    assert save(db, scope, "tg/1", "hello there", timestamp=at(-4.999999)).reason == "duplicate"
    assert save(db, scope, "tg/1", "hello there", timestamp=at(-5)).stored
    assert save(db, scope, "tg/1", "one").stored and save(db, scope, "tg/1", "two").stored
    assert save(db, scope, "tg/1", "yes", sender_id="ann").stored
    assert save(db, scope, "tg/1", "yes", sender_id="bob", sender_name="Bob").stored
    assert save(db, scope, "tg/2", "yes", sender_id="ann").stored
    for name in ("Ann", "Bob"):
        assert save(db, scope, "tg/3", "yes", sender_id=None, sender_name=name).stored
    assert save(db, scope, "tg/3", "yes", sender_id=None, sender_name="Bob").reason == "duplicate"
    assert count(db, schema.chat_history_cache, scope.persona) == 10


def test_p42_d9_the_same_id_in_a_conversation_is_one_message(db: Database, scope: Scope) -> None:
    first = save(db, scope, "tg/1", "one", message_id="m1")
    assert save(db, scope, "tg/1", "another text", message_id="m1", timestamp=at(900)) == (False, first.id, "duplicate")
    assert save(db, scope, "tg/2", "one", message_id="m1").stored
    assert save(db, scope, "tg/1", "one", message_id="M1", timestamp=at(1)).stored, "different ids are two messages"
    assert save(db, scope, "tg/1", "one", timestamp=at(2)).reason == "duplicate", "the new one lacks an id"
    assert save(db, scope, "tg/1", "two", timestamp=at(3)).stored
    again = save(db, scope, "tg/1", "two", timestamp=at(4), message_id="m9")
    assert again.reason == "duplicate", "the old one lacks it"


def test_p42_d9_f63_roles_and_whose_turn_it_is(db: Database) -> None:
    scope = own_scope(participant="tg/7")
    save(db, scope, "tg/1", "hi")
    door.save_message({"text": "hello Ann", "sender_id": "self", "interface_path": "tg/1"}, db=db, scope=scope)
    save(db, scope, "tg/1", "rain falls", sender_id=None, role="narrator")
    save(db, scope, "tg/1", "who?", sender_id=None, sender_name="Ann")
    save(db, scope, "tg/1", "hm", sender_id="self", triggered_by="tg/9")
    found = {r.message_text: r for r in rows_of(db, schema.chat_history_cache, scope.persona)}
    assert (found["hello Ann"].role, found["hello Ann"].participant_key) == ("persona", None)
    assert found["hello Ann"].triggered_by == "tg/7" and found["hm"].triggered_by == "tg/9"
    assert (found["rain falls"].role, found["rain falls"].participant_key) == ("narrator", None)
    assert (found["who?"].participant_key, found["who?"].sender_id) == ("tg/7", "7")
    with pytest.raises(MessageError, match=r"'boss'.*narrator"):
        save(db, scope, "tg/1", "x", role="boss")
    with pytest.raises(MessageError, match="17000000 bytes"):
        save(db, scope, "tg/1", "a" * 17_000_000)
    assert count(db, schema.chat_history_cache, scope.persona) == 5


memory_db = functools.cache(functools.partial(open_db, "sqlite://"))
TEXTS, PEOPLE, IDS = map(st.sampled_from, (["yes", "no"], ["a", "b"], [None, "m1", "m2"]))


@given(st.lists(st.tuples(TEXTS, PEOPLE, IDS, st.integers(0, 12)), max_size=14))
def test_p42_a_batch_answers_as_one_by_one(said: list[tuple[str, str, str | None, int]]) -> None:
    db, one, many = memory_db(), own_scope(), own_scope()
    made = [
        new_message.read_message(one, "tg/1", text, now=NOW, sender_id=who, message_id=number, timestamp=at(second))
        for text, who, number, second in said
    ]
    ready = [m for m in made if m is not None]
    single = [messages_table.insert_message(db, one, m, privacy_default="none") for m in ready]
    half = len(ready) // 2
    batch = table_batches.insert_messages(db, many, ready[:half], privacy_default="none")
    batch += table_batches.insert_messages(db, many, ready[half:], privacy_default="none")
    assert [(r.stored, r.reason) for r in single] == [(r.stored, r.reason) for r in batch]
    assert index_differences(db, many.persona) == []


def test_p42_f5_eight_writers_of_one_id_store_one_row_in_one_conversation(db: Database, scope: Scope) -> None:
    run_at_once([functools.partial(save, db, scope, "tg/2", f"text {n}", sender_id=str(n)) for n in range(8)])
    assert count(db, schema.conversations, scope.persona) == 1
    results = run_at_once([functools.partial(save, db, scope, "tg/1", "hello", message_id="m1")] * 8)
    assert sorted(r.reason for r in results) == [""] + ["duplicate"] * 7
    assert len({r.id for r in results}) == 1 and count(db, schema.chat_history_cache, scope.persona) == 9
    assert index_differences(db, scope.persona) == []


def test_a_save_sends_five_statements(db: Database, scope: Scope) -> None:
    save(db, scope, "tg/1", "one"), save(db, scope, "tg/1", "two", timestamp=at(10))
    seen: list[str] = []
    with watched(db, lambda statement, *_: seen.append(statement)):
        assert save(db, scope, "tg/1", "three", timestamp=at(20)).stored
    assert len(seen) == 5


def test_g16_a_failure_after_any_statement_leaves_nothing(db: Database, scope: Scope) -> None:
    def everything() -> Any:
        tables = (schema.chat_history_cache, schema.conversations, schema.participants)
        return [[tuple(row) for row in rows_of(db, table, scope.persona)] for table in tables]

    save(db, scope, "tg/1", "known words here")
    seen: list[str] = []
    with watched(db, lambda statement, *_: seen.append(statement)):
        save(db, scope, "tg/1", "newwords of a new message", sender_id="98")
    newest = max(row.id for row in rows_of(db, schema.chat_history_cache, scope.persona))
    assert delete_chat_message(newest, db=db, scope=scope).stored
    before = everything()
    assert len(seen) > 4
    for broken in range(1, len(seen) + 1):
        left = iter(range(broken - 1, -1, -1))

        def fail(*_: Any, left: Iterator[int] = left) -> None:
            if next(left) == 0:
                raise RuntimeError("broken on purpose")

        try:
            with watched(db, fail, after=True):
                save(db, scope, "tg/1", f"text{broken} of a message", sender_id="99")
        except (StoreError, RuntimeError):
            pass
        else:  # what is asked from time to time stood in the first one alone
            assert broken == len(seen) and next(left, None) is not None
            break
        assert everything() == before
    assert index_differences(db, scope.persona) == []


@pytest.mark.parametrize("ends_late", [False, True])
def test_d34_a_commit_whose_answer_was_lost_is_not_repeated(
    db: Database, scope: Scope, monkeypatch: pytest.MonkeyPatch, ends_late: bool
) -> None:
    if ends_late:
        monkeypatch.setattr(rows, "check_stored", lambda *_: lambda *_: False)
    lost: list[str] = []

    def lose(connection: Any) -> None:
        if not lost:
            connection._dbapi_connection.dbapi_connection.commit() if hasattr(connection, "_dbapi_connection") else None
            lost.append("once")
            raise exc.OperationalError("COMMIT", {}, Exception(2013, "lost"), connection_invalidated=True)

    with listening(db.engines()[1], "commit", lose):
        result = save(db, scope, "tg/1", "said once")
    assert lost and result.stored
    assert [r.id for r in rows_of(db, schema.chat_history_cache, scope.persona)] == [result.id]


@pytest.mark.parametrize("number", [1213, 1021])
def test_r11_all_are_stored_or_none(db: Database, scope: Scope, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    save(db, scope, "tg/1", "line 0", message_id=0)
    facts: dict[str, Any] = {"interface_path": "tg/1", "date": NOW.isoformat(), "from_user": {"id": 7}}
    lines = [({**facts, "message_id": n, "text": f"line {n}"}, scope) for n in (0, 1, 2)]
    lines.append(({**facts, "message_id": 3, "text": "And?", "reply_to_message": {"message_id": 2}}, scope))
    write_rows, calls = messages_table.write_rows, []

    def fail_third(*given: Any) -> None:
        write_rows(*given)
        calls.append(given[3][0][0])
        if len(calls) == 3:
            raise exc.OperationalError("INSERT", {}, Exception(number, "ended"))

    monkeypatch.setattr(messages_table, "write_rows", fail_third)
    if number == 1021:
        with pytest.raises(StoreError, match="disk is full"):
            door.save_together(lines, db=db)
        assert [row.message_text for row in rows_of(db, schema.chat_history_cache, scope.persona)] == ["line 0"]
    else:
        assert [result.reason for result in door.save_together(lines, db=db)] == ["duplicate", "", "", ""]
        assert {each >> BITS for each in calls[3:]} == {each >> BITS for each in calls[:3]}
        row = rows_of(db, schema.chat_history_cache, scope.persona)[-1]
        assert "line 2" in str(row.metadata)
    assert index_differences(db, scope.persona) == []


def test_others_write_while_a_list_of_messages_is_read(
    db: Database, scope: Scope, migrated_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading 500 texts takes a second; SQLite has one writer."""
    read, lines = instructions.read_instructions, [{"text": f"line {n}", "interface_path": "tg/1"} for n in range(3)]
    with closing(Database(migrated_url, timeout_seconds=1)) as other:

        def write_beside(text: str, *given: Any, **more: Any) -> Any:
            assert "line" not in text or save(other, scope, "tg/2", text.replace("line", "beside")).stored
            return read(text, *given, **more)

        monkeypatch.setattr(instructions, "read_instructions", write_beside)
        assert all(each.stored for each in door.save_together([(line, scope) for line in lines], db=db))


# Reading


def test_p43_the_newest_ten_oldest_first(db: Database, scope: Scope) -> None:
    for n in range(12):
        save(db, scope, "tg/1", f"text {n}", timestamp=at(60 * n), metadata={"n": n} if n == 11 else None)
    lines = load(db, scope, "tg/1")
    assert [line["text"] for line in lines] == [f"text {n}" for n in range(2, 12)]
    assert list(lines[0]) == ["sender_name", "sender_id", "text", "timestamp", "interface_path", "role"]
    assert list(lines[-1].values()) == ["Ann", "7", "text 11", "2026-03-10T12:11:00+00:00", "tg/1", "user", {"n": 11}]
    assert [line["text"] for line in load(db, scope, "tg/1", 2)] == ["text 10", "text 11"]
    assert len(load(db, scope, "tg/1", "4")) == 4 and load(db, scope, " ") == []


def test_p43_a_level_holds_what_is_below_and_nothing_else(db: Database, scope: Scope) -> None:
    for n, path in enumerate(("tg/1", "tg/1/2", "tg/10", "tg/1%", "tg/1-", "tg/10/2")):
        save(db, scope, path, f"in {path}", timestamp=at(n))
    assert [line["interface_path"] for line in load(db, scope, "tg/1", level=True)] == ["tg/1", "tg/1/2"]
    assert [line["interface_path"] for line in load(db, scope, "tg/1")] == ["tg/1"]


def test_p44_the_newest_over_all_conversations(db: Database, scope: Scope) -> None:
    for n in range(6):
        save(db, scope, "tg/a" if n % 2 else "tg/b", f"text {n}", timestamp=at(60 * n))
    for limit, first in ((3, 3), (None, 0)):
        lines = door.load_global_chat_history(limit, db=db, scope=scope)
        assert [line["text"] for line in lines] == [f"text {n}" for n in range(first, 6)]


def test_p44_clearing_counts_and_takes_the_index_along(db: Database, scope: Scope) -> None:
    for n in range(5):
        save(db, scope, "tg/1", f"text {n}")
    save(db, scope, "tg/1/2", "below")
    assert [door.clear_chat_history("tg/1", db=db, scope=scope) for _ in range(2)] == [5, 0]
    assert [r.interface_path for r in rows_of(db, schema.chat_history_cache, scope.persona)] == ["tg/1/2"]
    assert index_differences(db, scope.persona) == []


def test_p44_stats(db: Database, scope: Scope) -> None:
    stats = get_cache_stats(db=db, scope=scope)
    names = ["total_messages", "unique_interface_paths", "oldest_message", "newest_message", "history_limit"]
    assert (list(stats), list(stats.values())) == (names, [0, 0, None, None, 10])
    for n in range(3):
        save(db, scope, f"tg/{n % 2}", f"text {n}", timestamp=at(n))
    stats = get_cache_stats(db=db, scope=scope)
    assert list(stats.values()) == [3, 2, "2026-03-10T12:00:00+00:00", "2026-03-10T12:00:02+00:00", 10]


def test_p45_an_edited_message_is_found_by_its_new_words(db: Database, scope: Scope) -> None:
    result = save(db, scope, "tg/1", "my cat sleeps", message_id="m1")
    assert edit_chat_message(result.id, "my dog sleeps", db=db, scope=scope) == (True, result.id, "")
    mine = {r.audience_id for r in rows_of(db, schema.chat_history_cache, scope.persona)}
    assert {word for one in indexed_rows(db, mine).values() for word in one.terms} == {"my", "dog", "sleeps"}
    row = rows_of(db, schema.chat_history_cache, scope.persona)[0]
    assert (row.message_text, row.text_folded, row.edited_at) == ("my dog sleeps", "my dog sleeps", NOW)
    again = edit_chat_message("m1", "my dog sleeps", interface_path="tg/1", db=db, scope=scope)
    assert again == (False, result.id, "unchanged")
    assert edit_chat_message(result.id, " ", db=db, scope=scope).reason == "empty"
    assert save(db, scope, "tg/1", "My dog sleeps").reason == "duplicate" and index_differences(db, scope.persona) == []


# Keys of every length


@pytest.mark.dialects
@pytest.mark.parametrize("others", [[], ["web/ann"]], ids=["alone", "with others"])
def test_d3_a_blank_key_in_a_list_is_found(db: Database, scope: Scope, others: list[str]) -> None:
    save(db, scope, "web/room", "public")
    place = schema.audiences.c
    wanted = (place.persona_id == scope.persona, place.ref.in_(["", *others]), place.server_id.in_([""]))
    assert len(db.read(select(place.audience_id).where(*wanted), source="audiences")) == 1


@pytest.mark.dialects
@pytest.mark.parametrize(("path", "fields", "named"), [
    ("tg/" + "x" * 510, {}, "interface_path"), ("tg/" + "猫" * 171, {}, "interface_path"),
    ("tg/1", {"message_id": "x" * 192}, "message_id"), ("tg/1", {"sender_id": "x" * 256}, "sender_id"),
    ("t" * 65 + "/1", {}, "interface"),
])  # fmt: skip
def test_d3_a_key_is_never_cut(db: Database, scope: Scope, path: str, fields: dict[str, str], named: str) -> None:
    with pytest.raises(MessageError) as caught:
        save(db, scope, path, "hello", **fields)
    assert any(named in field for field in caught.value.fields)
    assert count(db, schema.chat_history_cache, scope.persona) == 0
    whole = "tg/" + "a" * 255 + "/" + "b" * 253
    assert len(whole) == 512 and save(db, scope, whole, "hello", sender_id="x" * 252, message_id="x" * 191).stored
    row = rows_of(db, schema.chat_history_cache, scope.persona)[0]
    assert (row.interface_path, row.message_id, row.sender_id) == (whole, "x" * 191, "x" * 252)
