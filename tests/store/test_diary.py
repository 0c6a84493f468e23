"""The diary (P46), its privacy (F20)."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from core import ai_diary as door
from core.ai_diary import add_diary_entry, cleanup_old_entries, get_recent_entries
from core.chat_history_cache import save_chat_message
from core.database.engine import Database
from core.database.schema import ai_diary, conversations, participants, tags
from core.errors import MessageError
from core.privacy import set_privacy
from core.scope import Scope
from tests.store.world import NOW, count, index_differences, rows_of


def add(db: Database, scope: Scope, content: Any, *given: Any, **more: Any) -> Any:
    more.setdefault("timestamp", NOW)
    return add_diary_entry(content, *given, db=db, scope=scope, **more)


def recent(db: Database, scope: Scope, *given: Any, **more: Any) -> list[str]:
    return [entry.content for entry in get_recent_entries(*given, db=db, scope=scope, **more)]


def test_p46_an_entry_reads_back_and_a_blank_one_is_empty(db: Database, scope: Scope) -> None:
    for blank in (None, " \n\x00"):
        assert add(db, scope, blank, "a thought") == (False, None, "empty")
    texts = ("I wonder", [{"joy": 7}], "We talked", "Hi!")
    result = add(db, scope, "A day", *texts, ["Cat", "cat "], ["Ann", "Bob", "Ann"], "telegram_bot", 42, 7)
    row = rows_of(db, ai_diary, scope.persona)[0]
    assert result == (True, row.id, "") and row.text_folded == "a day\x1fi wonder\x1fwe talked\x1fhi!"
    entry = get_recent_entries(db=db, scope=replace(scope, conversation="telegram_bot/42/7"))[0]
    assert (entry.id, entry.timestamp, entry.content, entry.personal_thought) == (row.id, NOW, "A day", "I wonder")
    assert (entry.interaction_summary, entry.user_message, entry.emotions) == ("We talked", "Hi!", ({"joy": 7},))
    assert (entry.context_tags, entry.involved_users) == (("cat",), ("Ann", "Bob"))
    assert (entry.interface, entry.chat_id, entry.thread_id) == ("telegram", "42", "7")
    assert [(r.tag, r.uses) for r in rows_of(db, tags, scope.persona)] == [("cat", 1)]
    assert index_differences(db, scope.persona) == []


def test_p46_recent_entries_up_to_the_first_that_does_not_fit(db: Database, scope: Scope) -> None:
    for n, size in enumerate((100, 300, 50)):
        add(db, scope, chr(97 + n) * size, timestamp=NOW - timedelta(minutes=n))
    assert [len(c) for c in recent(db, scope)] == [100, 300, 50]
    assert [len(c) for c in recent(db, scope, 2, 200)] == [100] == [len(c) for c in recent(db, scope, 2, 399)]
    assert [len(c) for c in recent(db, scope, 2, 400)] == [100, 300] and recent(db, scope, 2, 99) == []
    assert len(recent(db, scope, 2, 450)) == 3 and recent(db, scope, 2, 0) == []


def test_g9_an_entry_of_exactly_two_days_is_too_old(db: Database, scope: Scope) -> None:
    add(db, scope, "just", timestamp=NOW - timedelta(days=2) + timedelta(microseconds=1))
    add(db, scope, "exact", timestamp=NOW - timedelta(days=2))
    assert recent(db, scope) == ["just"] and recent(db, scope, 3) == ["just", "exact"] and recent(db, scope, 0) == []
    for bad in (-1, "x", True, float("nan"), None):
        with pytest.raises(ValueError, match="days is"):
            recent(db, scope, bad)


def test_p46_by_tags_and_by_person(db: Database, scope: Scope) -> None:
    add(db, scope, "one", context_tags=["cat", "pet"], involved_users=["Ann"], timestamp=NOW - timedelta(days=9))
    add(db, scope, "two", context_tags=["category"], involved_users=["Ann Lee"])
    add(db, scope, "three", context_tags=["dog"], involved_users=["ann"])

    def tagged(*wanted: Any, limit: Any = 10) -> list[str]:
        return [e.content for e in door.get_entries_by_tags(list(wanted), limit, db=db, scope=scope)]

    def with_person(name: Any) -> list[str]:
        return [e.content for e in door.get_entries_with_person(name, db=db, scope=scope)]

    assert (tagged("Cat"), tagged("cat", "dog")) == (["one"], ["three", "one"])
    assert tagged("cat", "dog", limit=1) == ["three"]
    assert tagged() == [] == tagged(" ") == tagged('["cat"]') == tagged("%")
    assert [with_person(name) for name in ("Ann", "ann", "Ann ", "")] == [["one"], ["three"], [], []]


def test_p46_archived_and_brought_back(db: Database, scope: Scope) -> None:
    for days in (40, 30, 29):
        add(db, scope, f"of {days} days", context_tags=["day"], timestamp=NOW - timedelta(days=days))
    by: dict[str, Any] = {"db": db, "scope": scope}
    assert cleanup_old_entries(**by) == 2 and cleanup_old_entries(**by) == 0
    assert recent(db, scope, 100) == ["of 29 days"] and index_differences(db, scope.persona) == []
    oldest = rows_of(db, ai_diary, scope.persona)[0].id
    assert [door.unarchive_entries(*given, **by) for given in ([[oldest, 1]], [], [])] == [1, 1, 0]
    assert len(recent(db, scope, 100)) == 3 and index_differences(db, scope.persona) == []
    assert cleanup_old_entries(0, **by) == 3


def test_f11_an_entry_belongs_to_its_conversation(db: Database, scope: Scope) -> None:
    """Not seen elsewhere, however the host names the interface; a scope says more than the entry."""
    direct = replace(scope, conversation="telegram_bot/7", privacy="direct")
    save_chat_message("telegram_bot/7", "hello", "Ann", "7", NOW, db=db, scope=direct)
    add(db, scope, "by full name", interface="telegram_bot", chat_id="7")
    add(db, scope, "by short name", interface="telegram", chat_id=7)
    add(db, direct, "by scope", interface="discord", chat_id="other")
    add(db, scope, "of the persona")
    assert recent(db, scope) == ["of the persona"] and len(recent(db, direct)) == 4
    known = {(r.interface, r.chat_id) for r in rows_of(db, ai_diary, scope.persona)}
    assert known == {("telegram", "7"), ("unknown", "")} and count(db, conversations, scope.persona) == 1


@pytest.mark.parametrize("level", ["partial", "full"])
def test_f20_a_closed_person_leaves_neither_message_nor_name(db: Database, scope: Scope, level: str) -> None:
    for who, name in (("7", "Ann"), ("8", "Bob")):
        save_chat_message("tg/1", f"hi from {name}", name, who, NOW, db=db, scope=scope)
    set_privacy("tg/7", level, db=db, scope=scope)
    keys = [f"tg/0{n}" for n in range(1001)]
    nameless = [{"persona_id": scope.persona, "participant_key": key, "person_key": key} for key in keys]
    db.transaction(lambda connection: connection.execute(participants.insert(), nameless), source="a test")
    for n, named in enumerate((["Ann", "Bob"], ["tg/7", "Bob"], ["7", "Bob"])):
        result = add(db, scope, f"day {n}", user_message="hi", involved_users=named, interface="tg", chat_id="1")
        assert result.stored and len(result.notes) == 2
    add(db, scope, "day 9", user_message="hi", involved_users=["Bob"], interface="tg", chat_id="1")
    own = replace(scope, conversation="tg/1", participant="tg/7")
    add(db, own, "day 10", user_message="hi", involved_users=["Annie"])
    found = {r.content: (r.involved_users, r.user_message) for r in rows_of(db, ai_diary, scope.persona)}
    assert found["day 0"] == found["day 1"] == found["day 2"] == ('["Bob"]', None)
    assert found["day 9"] == ('["Bob"]', "hi")
    assert found["day 10"] == ("[]", None), "a name that leads to nobody is taken for the speaker's"
    of_strangers = add(db, own, "day 11", involved_users=["tg/7", "tg/9"])
    stored = " ".join(str(r.participant_keys) for r in rows_of(db, ai_diary, scope.persona))
    assert of_strangers.stored and ("tg/7" in stored) == (level == "partial")
    assert index_differences(db, scope.persona) == []


@pytest.mark.parametrize("privacy", ["direct", "separate"])
def test_f20_a_chat_with_a_person_at_full_has_no_entry(db: Database, scope: Scope, privacy: Any) -> None:
    """The entry's texts are about this person, and its conversation is the person's key."""
    own = replace(scope, conversation="tg/7", privacy=privacy, participant="tg/7")
    assert add(db, own, "day 1").stored
    set_privacy("tg/7", "full", db=db, scope=scope)
    assert add(db, own, "day 2").reason == "privacy"
    assert add(db, replace(scope, conversation="tg/7"), "day 3").reason == "privacy"
    assert add(db, scope, "day 4", interface="tg", chat_id="7").reason == "privacy"
    set_privacy("tg/7", "partial", db=db, scope=scope)
    assert add(db, own, "day 5").stored
    assert [row.content for row in rows_of(db, ai_diary, scope.persona)] == ["day 1", "day 5"]
    assert index_differences(db, scope.persona) == []


def test_f70_and_f63_bad_input(db: Database, scope: Scope) -> None:
    for name, bad in {"interface": "i" * 51, "chat_id": "\x00", "content": 7, "personal_thought": [],
                      "user_message": "a" * 17_000_000}.items():  # fmt: skip
        with pytest.raises(MessageError):
            add(db, scope, **{"content": "a day", name: bad})
    with pytest.raises(TypeError, match="involved_users"):
        add(db, scope, "a day", involved_users=["a", ["b"]])
    assert count(db, ai_diary, scope.persona) == 0
