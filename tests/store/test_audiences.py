"""Audiences: made once, whoever makes them, and never remembered wrongly (D6)."""

from typing import Any

import pytest

from core.access import table as audiences
from core.access.rules import AudienceKey
from core.chat_history_cache import delete_chat_message, save_chat_message
from core.conversations import add_saved_memory
from core.database.engine import Database
from core.database.schema import audiences as table
from core.errors import MessageError
from core.privacy import set_conversation_privacy
from core.prompt_engine import build_json_prompt
from core.scope import Scope
from core.synth_core_memory import search_memories
from tests.store.world import count, own_scope

pytestmark = pytest.mark.dialects


def make(db: Database, scope: Scope, key: AudienceKey) -> int:
    return db.transaction(lambda c: audiences.find_or_make(c, db, scope.persona, key), source="test")


def test_d6_f4_one_row_per_owner_however_alike_their_keys_are(db: Database, scope: Scope) -> None:
    keys = [AudienceKey("persona"), *(AudienceKey("server", server) for server in ("s1", "S1", "s1 "))]
    refs = ("7", "7 ", "é", "e\u0301", "É", "%", "_", "😀", "😁", "\n", "ß", "ss", "'", "\\")
    keys += [AudienceKey("direct", "", f"tg/{ref}") for ref in refs]
    keys.append(AudienceKey("conversation", "s1", "tg/7"))
    made = [make(db, scope, key) for key in keys]
    assert len(set(made)) == len(keys) and [make(db, scope, key) for key in keys] == made
    assert count(db, table, scope.persona) == len(keys) and make(db, own_scope(), keys[0]) not in made


def in_chat(scope: Scope, conversation: str, who: str, privacy: str | None) -> Scope:
    return Scope(scope.persona, conversation, who, privacy=privacy)  # type: ignore[arg-type]


def test_f82_a_separate_chat_shares_only_what_its_person_asked_to_keep(db: Database, scope: Scope) -> None:
    """Both ways between separate and direct conversations, and with nobody else; a parent does not open a thread."""
    ann, other = "web/ann", "web/bob"
    places = {
        "direct": in_chat(scope, ann, ann, "direct"), "one": in_chat(scope, "web/ann/one", ann, "separate"),
        "two": in_chat(scope, "web/ann/two", ann, "separate"),
    }  # fmt: skip
    for name in ("one", "direct", "two"):  # the parent comes after a thread of it
        save_chat_message(places[name].conversation, f"A dragon in {name}", "Ann", db=db, scope=places[name])
        assert add_saved_memory(f"Ann fears the dragon of {name}", db=db, scope=places[name]).stored
    for name, here in places.items():
        for asked in (here, in_chat(scope, str(here.conversation), ann, None)):  # as stored, whatever is said later
            found = search_memories(keywords=["dragon"], limit=50, db=db, scope=asked)
            lines = {hit["snippet"] for hit in found if hit["source"] == "chat_history"}
            saved = {hit["snippet"] for hit in found if hit["source"] == "memories"}
            assert lines == {f"A dragon in {name}"} and saved == {f"Ann fears the dragon of {each}" for each in places}
        shown = str(build_json_prompt({"text": "The dragon?", "interface_path": here.conversation}, db=db, scope=here))
        assert all(f"fears the dragon of {each}" in shown for each in places)
        assert all((f"dragon in {each}" in shown) is (each == name) for each in places)
    elsewhere = (other, other, "direct"), ("web/bob/one", other, "separate")
    for place in (*elsewhere, ("web/room", ann, "restricted"), ("web/hall", ann, "public")):
        assert search_memories(keywords=["dragon"], limit=50, db=db, scope=in_chat(scope, *place)) == []


def test_f82_what_was_kept_of_a_deleted_message_of_a_separate_chat_goes_too(db: Database, scope: Scope) -> None:
    here = in_chat(scope, "web/ann/one", "web/ann", "separate")
    save_chat_message("web/ann/one", "Remember: I like tea", "Ann", db=db, scope=here, message_id="m1")
    assert add_saved_memory("Ann likes tea", message_id="m1", db=db, scope=here).stored
    delete_chat_message("m1", interface_path="web/ann/one", db=db, scope=here)
    assert search_memories(keywords=["tea"], db=db, scope=here) == []


def test_f82_a_stored_chat_becomes_separate_and_direct_again(db: Database, scope: Scope) -> None:
    """An imported chat is direct. Whoever asks next, with whatever scope, sees all of it, as its person's other chats
    see what they asked to keep."""
    ann, one, two = "proxy/ann", "proxy/ann/one", "proxy/ann/two"
    for key in (one, two):
        here = in_chat(scope, key, ann, "direct")
        save_chat_message(key, f"A dragon in {key}", "Ann", db=db, scope=here)
        assert add_saved_memory(f"Ann fears the dragon of {key}", db=db, scope=here).stored

    def find(key: str, privacy: Any) -> set[str]:
        hits = search_memories(keywords=["dragon"], limit=50, db=db, scope=in_chat(scope, key, ann, privacy))
        return {hit["snippet"] for hit in hits}

    kept = {f"Ann fears the dragon of {key}" for key in (one, two)}
    for privacy, shared in (("separate", False), ("direct", True), ("separate", False)):
        assert set_conversation_privacy(one, privacy, db=db, scope=scope)["memories"] == 0  # type: ignore[arg-type]
        for asked in ("separate", "direct", None):
            build_json_prompt({"text": "Hm", "interface_path": one}, db=db, scope=in_chat(scope, one, ann, asked))
            assert find(one, asked) == kept | {f"A dragon in {key}" for key in ((one, two) if shared else (one,))}
            assert (f"A dragon in {one}" in find(two, asked)) is shared


def test_f82_a_separate_chat_takes_its_threads_along(db: Database, scope: Scope) -> None:
    for key in ("web/ann", "web/ann/one", "web/bob/one"):
        here = in_chat(scope, key, key.removesuffix("/one"), "direct")
        save_chat_message(key, f"A dragon in {key}", "Ann", db=db, scope=here)
    assert set_conversation_privacy("web/ann", "separate", db=db, scope=scope)["conversations"] == 2
    for key in ("web/ann", "web/ann/one"):
        found = search_memories(keywords=["dragon"], db=db, scope=in_chat(scope, key, "web/ann", None))
        assert [hit["snippet"] for hit in found] == [f"A dragon in {key}"]


@pytest.mark.parametrize(("key", "who"), [("proxy/ann/one", "proxy/ann"), ("tg/7", "tg/7")])
def test_f81_a_persons_own_chat_is_not_made_a_room(db: Database, scope: Scope, key: str, who: str) -> None:
    """A room's key may be its owner's id, so the person's scopes would look for another conversation."""
    here = in_chat(scope, key, who, "direct")
    save_chat_message(key, "A dragon", "Ann", db=db, scope=here)
    with pytest.raises(MessageError, match="separate"):
        set_conversation_privacy(key, "restricted", db=db, scope=scope)
    assert len(search_memories(keywords=["dragon"], db=db, scope=here)) == 1
    room = in_chat(scope, "web/42", who, "direct")
    save_chat_message("web/42", "A dragon", "Ann", db=db, scope=room)
    set_conversation_privacy("web/42", "restricted", db=db, scope=scope)
    assert len(search_memories(keywords=["dragon"], db=db, scope=room)) == 1
