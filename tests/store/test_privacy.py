"""What may be kept of people (F20 to F24), counted before and after each write."""

import itertools
import json
import threading
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from core import conversations, lifelong, privacy, short_term, transfer
from core.access import table_conversations
from core.ai_diary import add_diary_entry
from core.calls.call import Call
from core.chat_history_cache import edit_chat_message, save_chat_message
from core.config import Settings
from core.database.engine import Database
from core.database.rows import read_object
from core.database.schema import ai_diary, chat_history_cache
from core.database.schema import memories as memory_table
from core.errors import MessageError
from core.memories import new_item as memory_input
from core.memories import table as memories
from core.messages import new_message as messages
from core.messages import table as chat
from core.messages import table_batches as chat_batches
from core.scope import Scope
from core.synth_core_memory import silently_record_memory
from tests.store.world import NOW, count, own_scope, rows_of, run_at_once


def level(db: Database, scope: Scope, who: str, to: str) -> Any:
    return privacy.set_privacy(who, to, db=db, scope=scope)


def save(db: Database, scope: Scope, text: str, sender_id: Any = "7", **more: Any) -> Any:
    return save_chat_message("tg/1", text, "Ann", sender_id, NOW, db=db, scope=scope, **more)


def test_f6_linking_says_which_keys_are_unknown_and_what_is_near(db: Database, scope: Scope) -> None:
    """A mistyped id made one person of somebody and nobody, and nothing said so."""
    save(db, scope, "a line", "1234")
    assert silently_record_memory("Ann likes tea", "ok", scope=replace(scope, participant="web/anna"), db=db)
    done = privacy.link_participants("web/anna", "tg/user1234", db=db, scope=scope)
    assert done["participants"] == 1 and len(done.notes) == 1
    assert "'tg/user1234'" in done.notes[0] and "Near it: tg/1234" in done.notes[0]
    assert privacy.link_participants("web/anna", "tg/1234", db=db, scope=scope).notes == ()


def test_f20_an_operator_lists_what_was_set(db: Database, scope: Scope) -> None:
    for who, to in (("tg/7", "partial"), ("tg/stranger", "full")):
        level(db, scope, who, to)
    rooms = {"tg/open": "public", "tg/staff": "public", "tg/-5": "public", "tg/8": "direct", "web/own": "separate"}
    for key, kind in rooms.items():
        here = replace(scope, conversation=key, participant="tg/8", server="s1" if key == "tg/staff" else "")
        conversations.add_saved_memory("tea", db=db, scope=replace(here, privacy=kind))  # type: ignore[arg-type]
    privacy.set_conversation_privacy("tg/staff", "restricted", db=db, scope=replace(scope, server="s1"))
    privacy.set_conversation_local_only("tg/-5", db=db, scope=scope)
    rows = privacy.list_privacy(db=db, scope=scope)
    assert [tuple(row.values())[:-1] for row in rows] == [
        ("tg/7", "", "", "partial", False), ("tg/stranger", "", "", "full", False), ("", "tg/-5", "", "public", True),
        ("tg/8", "tg/8", "", "direct", False), ("", "tg/staff", "s1", "restricted", False),
        ("tg/8", "web/own", "", "separate", False),
    ]  # fmt: skip
    assert [bool(row["set_at"]) for row in rows] == [True] * 2 + [False] * 4
    assert privacy.list_privacy(db=db, scope=Scope("another persona")) == rows[:2], "a level applies to all personas"


@pytest.mark.parametrize("involved", ["tg/7", "7", "Ann"])
def test_f12_the_rows_of_a_person_include_diary_entries_about_them(db: Database, scope: Scope, involved: str) -> None:
    """Forgetting changes these entries, so an export of the person has to show them."""
    save(db, scope, "a line")
    for people in ([involved], [involved, "Bob"], ["Bob"], ["web/7"]):
        add_diary_entry("a day", involved_users=people, interface="tg", chat_id="1", db=db, scope=scope)
    add_diary_entry("a turn", db=db, scope=replace(scope, conversation="tg/1", participant="tg/7"))
    rows = privacy.read_rows(db, scope.persona, "tg/7")["ai_diary"]
    assert [(row["content"], json.loads(row["involved_users"])) for row in rows] == [
        ("a day", [involved]), ("a day", [involved, "Bob"]), ("a turn", []),
    ]  # fmt: skip


@pytest.mark.parametrize("call", [
    lambda **by: privacy.link_participants("1234", "web/anna", **by),
    lambda **by: privacy.link_participants("web/anna", 1234, **by),
    lambda **by: privacy.unlink_participant("1234", **by), lambda **by: privacy.set_privacy("1234", "full", **by),
])  # fmt: skip
def test_f6_f20_an_id_without_its_interface_is_refused(db: Database, scope: Scope, call: Any) -> None:
    save(db, scope, "a line", "1234")
    with pytest.raises(MessageError, match=r"'1234'.*interface/id"):
        call(db=db, scope=scope)


@pytest.mark.parametrize("linked", [False, True])
def test_f20_a_level_holds_for_every_persona(db: Database, linked: bool) -> None:
    """Who asks not to be remembered asks it of all personas, those they have not met yet included."""
    here, met, new = own_scope(participant="tg/7"), own_scope(participant="tg/7"), own_scope(participant="tg/7")
    assert save(db, met, "a line of before").stored
    turn = {"user": "tg/7", "channel": "tg/1", "messages": [{"text": "my secret", "sender_id": "7"}]}
    say: Any = {"db": db, "scope": here}
    given = turn | {"responses": [{"persona_id": met.persona, "text": "an answer"}]}
    assert short_term.write_turn({}, {}, **given, **say).stored
    if linked:
        privacy.link_participants("tg/7", "discord/ann", db=db, scope=here)
    assert level(db, here, "discord/ann" if linked else "tg/7", "full")["level"] == "full"
    assert short_term.get_for_user("tg/7", db=db, scope=met) == []
    for scope in (met, new):
        assert save(db, scope, "a line of theirs").reason == "privacy"
        assert save(db, scope, "the answer", "self", triggered_by="tg/7").reason == "privacy"
        made = [messages.read_message(scope, "tg/1", "of a batch", now=NOW, sender_id=7)]
        done = chat_batches.insert_messages(db, scope, [m for m in made if m], privacy_default="none")
        assert [each.reason for each in done] == ["privacy"]
        assert silently_record_memory("I like tea", "ok", scope=scope, db=db).reason == "privacy"
        answers = {"responses": [{"persona_id": scope.persona, "text": "an answer"}]}
        assert short_term.write_turn({}, {}, **(turn | answers), **say) == (0, "privacy")
    assert [row.message_text for row in rows_of(db, chat_history_cache, met.persona)] == ["a line of before"]
    assert count(db, chat_history_cache, new.persona) == count(db, memory_table, new.persona) == 0


def test_f20_f21_the_level_counts_at_the_moment_of_writing_and_an_edit_is_a_write(db: Database, scope: Scope) -> None:
    ann, said = replace(scope, participant="tg/7"), save(db, scope, "hello")
    message = messages.read_message(ann, "tg/1", "prepared early", now=NOW, sender_id="7")
    item = memory_input.read("prepared early", now=NOW, tier="session")
    assert message is not None and item is not None
    (fact,) = lifelong.add_facts_with_meta(["hello"], db=db, scope=ann).ids
    level(db, scope, "tg/7", "partial")
    assert lifelong.edit_item(fact, "changed", db=db, scope=ann) == (False, fact, "privacy")
    level(db, scope, "tg/7", "full")
    assert chat.insert_message(db, ann, message, privacy_default="none").reason == "privacy"
    assert memories.insert(Call(db, Settings(), ann), item).reason == "privacy"
    assert edit_chat_message(said.id, "changed", db=db, scope=scope) == (False, said.id, "privacy")
    assert [row.message_text for row in rows_of(db, chat_history_cache, scope.persona)] == ["hello"]


def test_f21_while_eight_write(db: Database, scope: Scope) -> None:
    stop = threading.Event()

    def write(n: int) -> Any:
        for i in itertools.takewhile(lambda _: not stop.is_set(), itertools.count()):
            save(db, scope, f"text {n} {i}")
        return save(db, scope, f"after {n}").reason

    def turn_private() -> None:
        level(db, scope, "tg/7", "full")
        stop.set()

    assert run_at_once([*(partial(write, n) for n in range(4)), turn_private]) == [*["privacy"] * 4, None]
    assert not any(r.message_text.startswith("after") for r in rows_of(db, chat_history_cache, scope.persona))


@pytest.mark.parametrize("default", ["none", "full"])
def test_f20_a_reply_keeps_no_quote_of_a_person_at_full(db: Database, scope: Scope, default: Any) -> None:
    """Ann's line was refused, and kept all the same in the answers of others."""
    own = replace(scope, persona=f"{scope.persona}-{default}")
    settings = Settings(privacy_default=default)
    for who, to in (("tg/7", "none" if default == "full" else "full"), ("tg/8", "none")):
        level(db, own, who, to)
    quotes = {
        "ann": {"text": "my secret", "sender_id": "9" if default == "full" else "7", "username": "Ann"},
        "host": {"message_id": 4, "text": "my secret", "from_user": {"id": "9" if default == "full" else "7"}},
        "self": {"text": "my tea", "sender_id": "self"},
        "bob": {"text": "his tea", "username": "Bob", "sender_id": "8"},
        "nobody": {"text": "a secret"},
    }
    for name, quote in quotes.items():
        key = "reply_to_message" if name == "host" else "reply_to"
        save(db, own, f"to {name}", "8", metadata={"a": 1, key: quote}, settings=settings)
        batch = messages.read_message(own, "tg/2", f"to {name}", now=NOW, sender_id="8", metadata={key: quote})
        assert batch and chat_batches.insert_messages(db, own, [batch], privacy_default=default)[0].stored
    rows = rows_of(db, chat_history_cache, own.persona)
    kept = {(row.interface_path, row.message_text): read_object(row.metadata) for row in rows}
    assert kept["tg/1", "to ann"] == kept["tg/1", "to host"] == {"a": 1}
    assert kept["tg/2", "to ann"] is kept["tg/2", "to host"] is None
    assert ("reply_to" in (kept["tg/1", "to nobody"] or {})) is (default == "none"), "of nobody known"
    for name in ("self", "bob", *(["nobody"] if default == "none" else [])):
        noted = {"reply_to": quotes[name]}
        assert kept["tg/1", f"to {name}"] == {"a": 1, **noted} and kept["tg/2", f"to {name}"] == noted


def test_f20_setting_full_removes_the_quotes_in_answers_of_others(db: Database, scope: Scope) -> None:
    """As forgetting does; the person's own rows stay."""
    other = replace(scope, persona=f"{scope.persona}-b")
    for own in (scope, other):
        save(db, own, "my secret", message_id="a1")
        quotes = ({"text": "my secret", "sender_id": "7"}, {"message_id": "a1", "text": "my se"}, {"username": "ANN"})
        for n, quote in enumerate(quotes):
            save(db, own, f"indeed {n}", "8", metadata={"n": n, "reply_to": quote})
        save(db, own, "no", "8", metadata={"reply_to": {"sender_id": "9", "text": "my secret"}})
    level(db, scope, "tg/7", "full")
    for own in (scope, other):
        kept = {row.message_text: read_object(row.metadata) for row in rows_of(db, chat_history_cache, own.persona)}
        assert [kept[f"indeed {n}"] for n in range(3)] == [{"n": n} for n in range(3)]
        assert kept["my secret"] is None and kept["no"] == {"reply_to": {"sender_id": "9", "text": "my secret"}}


def test_f22_what_remains_is_told(db: Database, scope: Scope) -> None:
    ann = replace(scope, participant="tg/7")
    for n in range(12):
        save(db, ann, f"text {n}")
    for n in range(3):
        silently_record_memory(f"item {n}", "ok", scope=ann, db=db)
    save(db, scope, "Bob's", "8")
    told = level(db, scope, "tg/7", "full")
    remaining = {"chat_history_cache": 12, "memories": 3, "user_relationships": 1}
    assert told == {"level": "full", "removed": {}, "remaining": remaining}
    assert level(db, scope, "tg/nobody", "partial")["remaining"] == dict.fromkeys(told["remaining"], 0)


def test_f23_linked_identities_share_the_strictest(db: Database, scope: Scope) -> None:
    level(db, scope, "discord/u1", "partial")
    level(db, scope, "tg/7", "full")
    own = replace(scope, participant="discord/u1")
    assert save_chat_message("discord/1", "one", "Ann", "u1", NOW, db=db, scope=own).stored
    privacy.link_participants("discord/u1", "tg/7", db=db, scope=scope)
    said = save_chat_message("discord/1", "two", "Ann", "u1", NOW, db=db, scope=own)
    assert said.reason == "privacy" and save(db, scope, "three").reason == "privacy"
    assert level(db, scope, "discord/u1", "none")["level"] == "full"
    privacy.unlink_participant("discord/u1", db=db, scope=scope)
    assert save_chat_message("discord/1", "two", "Ann", "u1", NOW, db=db, scope=own).stored
    assert save(db, scope, "three").reason == "privacy"


def test_f24_the_default_holds_for_people_who_have_not_chosen(db: Database, scope: Scope) -> None:
    closed = Settings(privacy_default="full")
    assert save(db, scope, "one", settings=closed).reason == "privacy"
    assert save(db, scope, "nobody knows who", None, settings=closed).reason == "privacy"
    assert save(db, scope, "rain falls", None, role="narrator", settings=closed).stored
    assert save(db, scope, "my own line", "self", settings=closed).stored
    assert save(db, scope, "an answer", "self", triggered_by="tg/9", settings=closed).reason == "privacy"
    assert silently_record_memory("I like tea", "ok", scope=scope, db=db, settings=closed).reason == "privacy"
    level(db, scope, "tg/7", "none")
    assert save(db, scope, "the next line", settings=closed).stored
    assert save(db, scope, "of another", "8", settings=closed).reason == "privacy"
    save(db, scope, "of one who is known", "9")
    assert save(db, scope, "and has not chosen", "9", settings=closed).reason == "privacy"


@pytest.mark.engines("mariadb", "mysql")
@pytest.mark.parametrize("kind", ["saved", "fact", "import", "diary", "batch"])
def test_f21_a_write_that_waits_for_its_conversation_obeys_a_level_set_meanwhile(
    db: Database, scope: Scope, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    ann = replace(scope, conversation="tg/1", participant="tg/7")
    say: Any = {"db": db, "scope": ann}
    assert save(db, ann, "hello").stored
    ensure = table_conversations.ensure

    def ensure_late(*args: Any, **more: Any) -> Any:
        level(db, scope, "tg/7", "full")
        return ensure(*args, **more)

    monkeypatch.setattr(table_conversations, "ensure", ensure_late)
    if kind == "saved":
        assert conversations.add_saved_memory("my secret", **say).reason == "privacy"
    elif kind == "fact":
        assert lifelong.add_facts_with_meta(["my secret"], **say).reason == "privacy"
    elif kind == "import":
        source = json.dumps({"items": [{"text": "my secret"}]}).encode()
        assert transfer.import_items(source, **say).errors[0].reason == "privacy"
    elif kind == "diary":
        assert add_diary_entry("An entry", involved_users=["Ann"], user_message="my secret", **say).stored
    else:
        made = [messages.read_message(ann, "tg/1", "my secret", now=NOW, sender_id=7)]
        done = chat_batches.insert_messages(db, ann, [m for m in made if m], privacy_default="none")
        assert [each.reason for each in done] == ["privacy"]
    tables = (chat_history_cache, memory_table, ai_diary)
    assert not any("my secret" in str(row) for table in tables for row in rows_of(db, table, scope.persona))
