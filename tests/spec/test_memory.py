"""`Memory`, and chat messages handed over as a list."""

from __future__ import annotations

from typing import Any

import pytest

from core import Memory, build_messages, save_message
from core.chat_history_cache import load_chat_history
from core.errors import MessageError
from core.lifelong import consolidate_history
from core.prompt_engine import build_json_prompt
from core.scope import Scope
from core.synth_core_memory import search_memories
from tests.store.world import of_today

SECRET = "My cat is called Tofu."
QUESTION = {"text": "Who is my cat?"}


@pytest.fixture
def memory(fresh_migrated_url: str) -> Any:
    with of_today(fresh_migrated_url) as db:
        yield Memory(db, persona="iris")


def shown(memory: Memory, user: str, message: Any = QUESTION) -> str:
    return str(memory.messages(message, user=user)) + str(memory.search("Who is my cat?", user=user))


@pytest.mark.parametrize("eve", ["eve", "Ann", "%61nn", "web%2Fann", "ann ", "self", "an", 7])
def test_f1_what_is_remembered_for_a_user_is_seen_by_no_other(memory: Memory, eve: Any) -> None:
    """Whatever somebody else is called: ids are other people's words."""
    memory.remember(SECRET, user="ann")
    memory.save({"text": "Tofu hates the cello."}, user="ann")
    assert "Tofu" in shown(memory, "ann") and "Tofu" not in shown(memory, eve)
    assert "Tofu" not in str(memory.profile(eve)) and SECRET in str(memory.profile("ann"))
    room = {"text": "Who is my cat?", "interface_path": "web/room", "from_user": {"id": "ann"}}
    assert "Tofu" not in str(memory.messages(room)) + str(memory.messages({**room, "is_private": False}))
    assert memory.forget(user=eve)["memories"] == 0 and "Tofu" in shown(memory, "ann")
    assert memory.forget(user="ann").total > 0 and "Tofu" not in shown(memory, "ann")


def test_f1_a_message_that_names_its_conversation_is_said_there(memory: Memory) -> None:
    room = {"text": "The rehearsal moves to Friday.", "interface_path": "web/room", "from_user": {"id": "ann"}}
    assert memory.save(room).stored
    asked = {"text": "When is the rehearsal?", "interface_path": "web/room", "from_user": {"id": "bob"}}
    assert "moves to Friday" in str(memory.messages(asked))
    assert [line["text"] for line in load_chat_history("web/room", db=memory.db, scope=Scope("iris"))] == [room["text"]]


def test_p71_a_message_without_speaker_and_place_is_refused(memory: Memory) -> None:
    for message in ("Who is my cat?", QUESTION, [{"role": "user", "content": "hello"}]):
        with pytest.raises(MessageError, match="says neither who speaks nor where"):
            memory.messages(message)
    for user in (" ", "web/ann"):
        with pytest.raises(MessageError, match=r"user is .* It must be an id without a slash"):
            memory.remember("tea", user=user)
    with pytest.raises(MessageError, match="without a slash"):
        memory.messages({**QUESTION, "from_user": {"id": "web/ann"}})


@pytest.mark.parametrize("user", [None, True, 1.5, b"ann", ["ann"], "\0", "x" * 300])
def test_f70_what_is_no_id_is_no_user(memory: Memory, user: Any) -> None:
    """All users without an id would otherwise be the one user `None`, and read each other's secrets."""
    calls: list[Any] = [lambda: memory.remember(SECRET, user=user), lambda: memory.search("cat", user=user)]
    calls += [lambda: memory.profile(user), lambda: memory.forget(user)]
    calls += [lambda: memory.save(SECRET, user=user), lambda: memory.messages("Who is my cat?", user=user)]
    for call in calls if user is not None else calls[:4]:
        with pytest.raises(MessageError, match=r"^user(_id)? "):
            call()


def test_f70_zero_is_a_user(memory: Memory) -> None:
    memory.save(SECRET, user=0)
    assert "Tofu" in shown(memory, 0)  # type: ignore[arg-type]


CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief, {{char}}."},
    {"role": "user", "content": "I have a dog called Rex."},
    {"role": "assistant", "content": "Hello Rex."},
    {"role": "developer", "content": [{"type": "text", "text": "No emoji."}]},
    {"role": "tool", "content": "The meter shows 42B.", "tool_call_id": "1"},
    {"role": "user", "content": [{"type": "text", "text": "Who is"}, {"type": "text", "text": "my cat?"}]},
]


def test_p71_a_list_of_chat_messages_is_read_as_it_is(memory: Memory) -> None:
    """The last of the person is answered, the others are this conversation, and what the system says comes first."""
    memory.remember(SECRET, user="ann")
    before = [dict(each) for each in CHAT]
    system, first, second, last = memory.messages(CHAT, user="ann")
    assert system["content"].startswith("Be brief, {{char}}.\n\nNo emoji.\n\n") and before == CHAT
    assert first == {"role": "user", "content": "I have a dog called Rex."}
    assert second == {"role": "assistant", "content": "Hello Rex."}
    assert SECRET in last["content"] and last["content"].endswith("\n\nWho is my cat?")
    nobody = build_messages(CHAT, db=memory.db)
    assert [each["role"] for each in nobody] == ["system", "user", "assistant", "user"] and "Tofu" not in str(nobody)
    prompt = build_json_prompt(CHAT, db=memory.db, scope=memory.scope("ann"))
    assert prompt["instructions"].startswith("Be brief, {{char}}.") and "42B" not in str(prompt["context"])
    assert [line.split(": ", 1)[1] for line in prompt["context"]["history_current_chat"]] == [
        '"I have a dog called Rex."', '"Hello Rex."',
    ]  # fmt: skip


def test_p71_lines_that_are_stored_and_in_the_list_stand_once(memory: Memory) -> None:
    for at in (2, 3, 6):
        memory.save(CHAT[:at], user="ann")
    lines = load_chat_history("web/ann", db=memory.db, scope=memory.scope("ann"))
    assert [(line["role"], line["text"]) for line in lines] == [
        ("user", "I have a dog called Rex."), ("persona", "Hello Rex."), ("user", "Who is my cat?"),
    ]  # fmt: skip
    assert str(memory.messages(CHAT, user="ann")).count("I have a dog called Rex.") == 1


def test_p71_a_picture_in_a_list_is_named(memory: Memory) -> None:
    parts = [{"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,A"}}]
    last = memory.messages([{"role": "user", "content": parts}], user="ann")[-1]["content"]
    assert last.endswith("Look\n[Attached: image_url]")


def test_p71_a_list_needs_a_conversation_to_be_stored_and_somebody_who_speaks(memory: Memory) -> None:
    with pytest.raises(MessageError, match=r"names no conversation.*or a scope"):
        save_message(CHAT, db=memory.db)
    assert save_message(CHAT, db=memory.db, scope=Scope("iris", "web/7", "web/ann")).stored
    for wrong in ([], [{"role": "system", "content": "x"}], ["hello"], [None]):
        with pytest.raises(MessageError, match=r"The list holds no message of a user. Pass chat messages as"):
            build_messages(wrong, db=memory.db)


def test_f1_what_is_made_of_a_users_lines_stays_with_them(memory: Memory) -> None:
    memory.save("I play the marimba in Turin.", user="ann")
    consolidate_history(db=memory.db, scope=memory.scope("ann"))
    for scope in (memory.scope("eve"), Scope("iris"), Scope("iris", "web/room")):
        assert search_memories(query="marimba Turin", db=memory.db, scope=scope) == []
