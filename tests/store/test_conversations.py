"""Conversations: registered once, private or public, moved as a whole; people linked (F5, F6, F10 to F17)."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from threading import Thread
from typing import Any

import pytest
from sqlalchemy import Connection

from core import ai_diary, conversations
from core.access import load, table_conversations
from core.access import table as audience_table
from core.access.view import Request
from core.calls.call import Call
from core.chat_history_cache import load_chat_history, load_global_chat_history, save_chat_message
from core.config import Settings
from core.conversations import table_summaries as summaries
from core.database import ids, schema
from core.database.engine import Database
from core.errors import MessageError
from core.forgetting import forget
from core.messages import new_message as messages
from core.messages import table_batches as chat_batches
from core.privacy import link_participants, set_conversation_privacy, unlink_participant
from core.scope import Scope
from tests.store.world import NOW, index_differences, insert_item, own_scope, rows_of, run_at_once, save

MADE_OF_IT = {"conversation_summaries": 0, "short_term_memories": 0, "stored_values": 0}
"""Tables whose rows move too, and of which these conversations have none."""


def kind_of(db: Database, scope: Scope, conversation: str) -> tuple[str, str, str]:
    row = next(r for r in rows_of(db, schema.conversations, scope.persona) if r.conversation_key == conversation)
    found = next(r for r in rows_of(db, schema.audiences, scope.persona) if r.audience_id == row.audience_id)
    return found.kind, found.server_id, found.ref


def everywhere(db: Database, scope: Scope) -> list[str]:
    lines = load_global_chat_history(100, db=db, scope=scope)
    entries = ai_diary.get_recent_entries(db=db, scope=scope)
    seen = load.load_snapshot(db, scope, Request(), destination="remote", settings=Settings()).viewer.audiences
    items = [r.content for r in rows_of(db, schema.memories, scope.persona) if r.audience_id in seen]
    return sorted([line["text"] for line in lines] + [entry.content for entry in entries] + items)


def consistent(db: Database, scope: Scope) -> None:
    held = {r.conversation_key: r.audience_id for r in rows_of(db, schema.conversations, scope.persona)}
    for row in rows_of(db, schema.chat_history_cache, scope.persona):
        assert row.audience_id == held[row.interface_path]
    for row in rows_of(db, schema.memories, scope.persona):
        assert row.conversation_key is None or row.audience_id == held[row.conversation_key]
    assert index_differences(db, scope.persona) == []


def test_d7_a_conversation_its_thread_and_the_newest_message_are_known(db: Database, scope: Scope) -> None:
    for _ in range(2):
        save(db, replace(scope, server="s1"), "telegram_bot/42", "in the group", title="Our group")
        save(db, replace(scope, server="s1"), "telegram_bot/42/7", "in the thread")
    group, thread = rows_of(db, schema.conversations, scope.persona)
    assert (group.interface, group.chat_id, group.thread_id, group.parent_key) == ("telegram_bot", "42", "", None)
    assert (thread.chat_id, thread.thread_id, thread.parent_key) == ("42", "7", "telegram_bot/42")
    assert (group.title, group.server_id, group.is_private, group.last_message_at) == ("Our group", "s1", 0, NOW)
    assert kind_of(db, scope, "telegram_bot/42") == ("server", "s1", "")
    names = {"title": "Renamed", "server_name": "Tea friends"}
    save(db, replace(scope, server="s1"), "telegram_bot/42", "a new title", **names)
    for hour in (10, 14, 11):
        moment, own = f"2026-03-10T{hour}:00Z", replace(scope, server="s1")
        save_chat_message("telegram_bot/42", f"at {hour}", sender_id="7", timestamp=moment, db=db, scope=own)
    renamed = rows_of(db, schema.conversations, scope.persona)[0]
    assert (renamed.title, renamed.server_name, renamed.last_message_at.hour) == ("Renamed", "Tea friends", 14)


@pytest.mark.parametrize(("path", "more", "sender", "expected"), [
    ("tg/7", {}, "7", ("direct", "", "tg/7")), ("tg/7", {}, "8", ("server", "", "")),
    ("tg/7", {"privacy": "public", "conversation": "tg/7"}, "7", ("server", "", "")),
    ("tg/1", {"privacy": "direct", "conversation": "tg/1"}, "7", ("direct", "", "tg/7")),
    ("tg/1", {"privacy": "restricted", "conversation": "tg/1", "server": "s"}, "7", ("conversation", "s", "tg/1")),
    ("tg/1", {"server": "s1"}, "7", ("server", "s1", "")),
    ("tg/1", {"privacy": "direct", "conversation": "tg/other"}, "7", ("server", "", "")),
    ("tg/1", {"privacy": "direct", "conversation": "tg/1"}, "self", ("conversation", "", "tg/1")),
    ("tg/1", {"privacy": "direct", "conversation": "tg/1", "participant": "tg/7"}, "self", ("direct", "", "tg/7")),
])  # fmt: skip
def test_f17_what_a_new_conversation_is(db: Database, path: str, more: Any, sender: str, expected: Any) -> None:
    scope = own_scope(**more)
    save(db, scope, path, "hello", sender)
    assert kind_of(db, scope, path) == expected


def test_f17_a_direct_message_the_persona_began_finds_its_person(db: Database, scope: Scope) -> None:
    direct = replace(scope, conversation="dc/77", privacy="direct")
    save(db, direct, "dc/77", "Good morning", "self")
    save(db, direct, "dc/77", "hello", "ann")
    assert kind_of(db, scope, "dc/77") == ("direct", "", "dc/ann")
    consistent(db, scope)


def test_f17_a_thread_follows_its_parent(db: Database, scope: Scope) -> None:
    save(db, replace(scope, conversation="dc/c9", server="s1", privacy="restricted"), "dc/c9", "in the channel")
    save(db, replace(scope, server="s1"), "dc/c9/1", "in the thread")
    assert kind_of(db, scope, "dc/c9/1") == ("conversation", "s1", "dc/c9/1")
    save(db, replace(scope, conversation="dc/77", privacy="direct"), "dc/77", "hello", "ann")
    save(db, scope, "dc/77/1", "in a thread of the direct message", "ann")
    assert kind_of(db, scope, "dc/77/1") == ("direct", "", "dc/ann")
    save(db, replace(scope, server="s1"), "dc/c1/1", "a thread before its parent")
    save(db, replace(scope, server="s1"), "dc/c10/1", "of another channel")
    save(db, replace(scope, server="s1", conversation="dc/c1", privacy="restricted"), "dc/c1", "the parent")
    assert kind_of(db, scope, "dc/c1/1")[0] == "conversation" and kind_of(db, scope, "dc/c10/1")[0] == "server"
    consistent(db, scope)


def test_f17_an_id_with_a_slash_is_no_thread_of_somebody_elses_talk(db: Database, scope: Scope) -> None:
    for who in ("u1", "u1/x"):
        own = replace(scope, conversation=f"tg/{who}", participant=f"tg/{who}", privacy="direct")
        save(db, own, f"tg/{who}", f"from {who}", who)
    assert kind_of(db, scope, "tg/u1/x") == ("direct", "", "tg/u1/x")
    save(db, replace(scope, participant="tg/u1"), "tg/u1/thread", "from u1", "u1")
    assert kind_of(db, scope, "tg/u1/thread") == ("direct", "", "tg/u1")


def test_f17_500_rows_turn_private_by_themselves(db: Database, scope: Scope) -> None:
    made = [messages.read_message(scope, "tg/1", f"text {n}", now=NOW, sender_id="7", message_id=n) for n in range(500)]
    chat_batches.insert_messages(db, scope, [m for m in made if m], privacy_default="none")
    own = replace(scope, conversation="tg/1")
    insert_item(db, own, "an item", tags=["t"])
    ai_diary.add_diary_entry("an entry", interface="tg", chat_id="1", db=db, scope=scope)
    save(db, scope, "tg/2", "elsewhere")
    group = replace(scope, conversation="tg/2")
    assert len(everywhere(db, group)) == 102
    save(db, replace(own, privacy="direct"), "tg/1", "now in private")
    assert everywhere(db, group) == ["elsewhere"] and len(load_chat_history("tg/1", 1000, db=db, scope=scope)) == 501
    lines = [r for r in rows_of(db, schema.chat_history_cache, scope.persona) if r.interface_path == "tg/1"]
    assert {r.audience_id for r in rows_of(db, schema.ai_diary, scope.persona)} == {r.audience_id for r in lines}
    consistent(db, scope)


def test_f17_set_conversation_privacy_moves_all_and_counts(db: Database, scope: Scope) -> None:
    own = replace(scope, conversation="tg/1")
    save(db, own_scope(), "tg/1", "of another persona", "8")
    for n in range(3):
        save(db, scope, "tg/1", f"text {n}", "9")
    save(db, scope, "tg/1/5", "in the thread")
    insert_item(db, own, "an item", tags=["t"])
    ai_diary.add_diary_entry("an entry", db=db, scope=own)

    def turn(privacy: Any) -> dict[str, int]:
        return set_conversation_privacy("tg/1", privacy, db=db, scope=scope)

    moved = {"conversations": 2, "chat_history_cache": 4, "memories": 1, "ai_diary": 1, **MADE_OF_IT}
    assert turn("restricted") == moved and everywhere(db, scope) == [] and turn("restricted") == dict.fromkeys(moved, 0)
    assert turn("direct") == moved and kind_of(db, scope, "tg/1") == ("direct", "", "tg/9")
    assert turn("public") == moved and len(everywhere(db, scope)) == 6
    consistent(db, scope)
    assert set_conversation_privacy("tg/9", "direct", db=db, scope=scope) == dict.fromkeys(moved, 0)
    with pytest.raises(MessageError, match="'secret'"):
        turn("secret")


def test_f6_d8_linked_they_meet_unlinked_they_part(db: Database, scope: Scope) -> None:
    telegram = replace(scope, conversation="tg/7", participant="tg/7", privacy="direct")
    discord = replace(scope, conversation="dc/dm1", participant="dc/u1", privacy="direct")
    save(db, telegram, "tg/7", "on telegram")
    save(db, discord, "dc/dm1", "on discord", "u1")
    save(db, discord, "dc/dm1", "the answer", "self")
    insert_item(db, discord, "an item", tags=["t"])
    ai_diary.add_diary_entry("an entry", db=db, scope=discord)
    before = everywhere(db, telegram), everywhere(db, discord)
    assert before == (["on telegram"], ["an entry", "an item", "on discord", "the answer"])
    link = partial(link_participants, "tg/7", "dc/u1", db=db, scope=scope)
    moved = {"participants": 1, "conversations": 1, "memories": 1, "ai_diary": 1, "chat_history_cache": 2, **MADE_OF_IT}
    assert link() == moved and link() == dict.fromkeys(moved, 0)
    assert everywhere(db, telegram) == everywhere(db, discord) == sorted(before[0] + before[1])
    consistent(db, scope)
    save(db, discord, "dc/dm1", "while linked", "u1")
    assert "while linked" in everywhere(db, telegram)
    assert unlink_participant("dc/u1", db=db, scope=scope) == {**moved, "chat_history_cache": 3}
    assert everywhere(db, telegram) == before[0] and everywhere(db, discord) == sorted([*before[1], "while linked"])
    assert unlink_participant("dc/u1", db=db, scope=scope) == dict.fromkeys(moved, 0)
    consistent(db, scope)


def start_within(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, change: Callable[[], object]) -> list[Thread]:
    """Start a change within the first call of a function, which goes on when it is done or waits for a lock."""
    call, threads = getattr(owner, name), list[Thread]()

    def run(*args: Any, **more: Any) -> Any:
        result = call(*args, **more)
        if not threads:
            threads.append(Thread(target=change))
            threads[0].start()
            threads[0].join(1)
        return result

    monkeypatch.setattr(owner, name, run)
    return threads


@pytest.mark.engines("mariadb", "mysql")
@pytest.mark.parametrize("name", ["choose_place", "settle"])
def test_f6_what_is_saved_while_identities_are_linked_is_seen_afterwards(
    db: Database, scope: Scope, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    save(db, replace(scope, server="s1"), "web/room", "hello")
    chat = replace(scope, conversation="web/c1", participant="web/7", privacy="separate")
    direct = replace(scope, conversation="web/7", participant="web/7", privacy="direct")
    telegram = replace(scope, conversation="tg/ann", participant="tg/ann", privacy="direct")
    conversations.add_saved_memory("I like tea", db=db, scope=chat)
    link = partial(link_participants, "tg/ann", "web/7", db=db, scope=scope)
    linked = start_within(monkeypatch, table_conversations, name, link)
    if name == "choose_place":
        assert conversations.add_saved_memory("I like jazz", db=db, scope=chat).stored
    else:
        assert save(db, direct, "web/7", "I like jazz").stored
    linked[0].join()
    assert "I like jazz" in everywhere(db, telegram)


@pytest.mark.engines("mariadb", "mysql")
def test_f47_a_room_that_is_new_while_its_server_is_forgotten_is_seen_afterwards(
    db: Database, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_server = replace(scope, server="s1")
    save(db, on_server, "tg/old", "before")
    change = partial(forget, server="s1", db=db, scope=scope)
    forgetting = start_within(monkeypatch, audience_table, "find_or_make", change)
    save(db, on_server, "tg/new", "meanwhile")
    forgetting[0].join()
    left = [row.message_text for row in rows_of(db, schema.chat_history_cache, scope.persona)]
    assert left in ([], ["meanwhile"]) and everywhere(db, on_server) == left


@pytest.mark.engines("mariadb", "mysql", "seekdb")
def test_c9_whoever_adds_to_a_list_waits_for_the_one_before(db: Database) -> None:
    persona, most = own_scope().persona, 10
    call = Call(db, Settings(max_recent_conversations=most), Scope(persona))
    inside = threading.Event()

    @ids.retry_duplicates
    def put(n: int, hold_seconds: float = 0.0) -> None:
        new = summaries.NewSummary(db.ids.one(), "", f"T{n}", "s", NOW + timedelta(minutes=n), -n - 1, "extract")

        def work(connection: Connection) -> None:
            place = summaries.find_place(connection, call)
            assert place is not None
            summaries.enlist_summary(connection, call, place, new)
            inside.set()
            time.sleep(hold_seconds)

        db.transaction(work, source="test")

    for n in range(most):
        put(n)
    inside.clear()
    first = threading.Thread(target=put, args=(most, 0.4))
    first.start()
    assert inside.wait(60)
    put(most + 1)
    first.join()
    left = [row.title for row in rows_of(db, schema.conversation_summaries, persona)]
    assert sorted(left) == sorted(f"T{n}" for n in range(2, most + 2))


def test_c10_many_who_report_one_end_queue_it_once(db: Database) -> None:
    scope = own_scope(conversation="tg/1")

    def report() -> str:
        given = [{"text": "bye", "sender_id": "ann", "message_id": "m1"}]
        return conversations.add_recent_conversation(given, db=db, scope=scope).reason

    assert sorted(run_at_once([report] * 6)) == ["", *["duplicate"] * 5]
    assert len(rows_of(db, schema.memory_jobs, scope.persona)) == 1
