"""Audiences: made once, whoever makes them, and never remembered wrongly (D6)."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.access import table as audiences
from core.access.rules import AudienceKey
from core.chat_history_cache import delete_chat_message, save_chat_message
from core.conversations import add_saved_memory
from core.database.engine import Database
from core.database.schema import audiences as table
from core.prompt_engine import build_json_prompt
from core.scope import Scope
from core.synth_core_memory import search_memories
from tests.store.world import count, own_scope

pytestmark = pytest.mark.dialects


def make(db: Database, scope: Scope, key: AudienceKey) -> int:
    """Find or make one audience in a transaction of its own."""
    return db.transaction(lambda c: audiences.find_or_make(c, db, scope.persona, key), source="test")


def test_d6_one_row_per_owner(db: Database, scope: Scope) -> None:
    keys = [AudienceKey("persona"), *(AudienceKey("server", server) for server in ("s1", "S1", "s1 "))]
    keys += [AudienceKey("direct", "", "tg/7"), AudienceKey("conversation", "s1", "tg/7")]
    made = [make(db, scope, key) for key in keys]
    assert len(set(made)) == len(keys) and [make(db, scope, key) for key in keys] == made
    assert count(db, table, scope.persona) == len(keys)
    assert make(db, own_scope(), keys[0]) not in made


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=60))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_f4_hostile_references_are_kept_apart(db: Database, scope: Scope, ref: str) -> None:
    one = make(db, scope, AudienceKey("direct", "", "x" + ref))
    other = make(db, scope, AudienceKey("direct", "", "x" + ref + " "))
    assert one != other and make(db, scope, AudienceKey("direct", "", "x" + ref)) == one


def in_chat(scope: Scope, conversation: str, who: str, privacy: str | None) -> Scope:
    return Scope(scope.persona, conversation, who, privacy=privacy)  # type: ignore[arg-type]


def test_f82_a_separate_chat_shares_only_what_its_person_asked_to_keep(db: Database, scope: Scope) -> None:
    """Both ways between separate and direct conversations, and with nobody else; a parent does not open a thread."""
    ann, other = "web/ann", "web/bob"
    places = {
        "direct": in_chat(scope, ann, ann, "direct"),
        "one": in_chat(scope, "web/ann/one", ann, "separate"),
        "two": in_chat(scope, "web/ann/two", ann, "separate"),
    }
    for name in ("one", "direct", "two"):  # the parent comes after a thread of it
        save_chat_message(places[name].conversation, f"A dragon in {name}", "Ann", db=db, scope=places[name])
        assert add_saved_memory(f"Ann fears the dragon of {name}", db=db, scope=places[name]).stored
    for name, here in places.items():
        for asked in (here, in_chat(scope, str(here.conversation), ann, None)):  # as stored, whatever is said later
            found = search_memories(keywords=["dragon"], limit=50, db=db, scope=asked)
            lines = {hit["snippet"] for hit in found if hit["source"] == "chat_history"}
            saved = {hit["snippet"] for hit in found if hit["source"] == "memories"}
            assert lines == {f"A dragon in {name}"}
            assert saved == {f"Ann fears the dragon of {each}" for each in places}
        prompt = build_json_prompt({"text": "The dragon?", "interface_path": here.conversation}, db=db, scope=here)
        shown = str(prompt)
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
