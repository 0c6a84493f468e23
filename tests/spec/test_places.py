"""Threads of a restricted channel, and what is public on servers known in direct messages (SERVER_IN_DIRECT)."""

from __future__ import annotations

from typing import Any

import pytest

from core import chat_history_cache, conversations, lifelong
from core.config import Settings
from core.errors import ItemNotFoundError
from core.privacy import link_participants, set_conversation_local_only, set_privacy
from core.synth_core_memory import search_memories
from tests.spec.stage import Stage

pytestmark = pytest.mark.engines("sqlite")

STAFF, THREAD = "discord/c9", "discord/c9/t1"


def staff(stage: Stage) -> None:
    """A restricted channel of s1 with two threads, one like it on another server, and a channel with a like name."""
    for text, path, server in (
        ("zebra staff", STAFF, "s1"),
        ("zebra thread", THREAD, "s1"),
        ("zebra sibling", "discord/c9/t2", "s1"),
        ("zebra lookalike", "discord/c90/t1", "s1"),
        ("zebra elsewhere", "discord/c9/t3", "s2"),
    ):
        stage.say(text, path, "Cid", minutes=40, server=server, privacy="restricted")


def words(context: dict[str, Any], *of: str) -> set[str]:
    return {word for word in of if f"zebra {word}" in str(context)}


ALL = ("staff", "thread", "sibling", "lookalike", "elsewhere", "public")


def test_f12_a_thread_of_a_staff_channel_is_seen_in_the_staff_channel(stage: Stage) -> None:
    staff(stage)
    stage.say("zebra public", "discord/c1", "Cid", minutes=40, server="s1")
    seen = {
        path: words(stage.context("zebra", path=path, server_id=server, is_private=private), *ALL)
        for path, server, private in (
            (STAFF, "s1", True),
            (THREAD, "s1", True),
            ("discord/c1", "s1", False),
            ("discord/new", "s1", True),
            ("discord/c9", "s2", True),
        )
    }
    assert seen["discord/c9"] == {"elsewhere"}, "the channel of this name on another server"
    assert seen[THREAD] == {"thread", "public"}, "there may be fewer people in a thread"
    assert seen["discord/c1"] == seen["discord/new"] == {"public"}


def test_f13_live_lines_of_a_thread_are_seen_in_the_staff_channel_too(stage: Stage) -> None:
    staff(stage)
    live = {THREAD: [{"text": "zebra live", "sender_name": "Cid", "timestamp": "2026-03-10T11:59:00Z"}]}
    here = stage.context("zebra", live, path=STAFF, server_id="s1", is_private=True)
    elsewhere = stage.context("zebra", live, path="discord/c8", server_id="s1", is_private=True)
    assert words(here, "live") == {"live"} and words(elsewhere, "live") == set()


def town(stage: Stage) -> None:
    for who in ("Ann", "Bob"):
        low = who.lower()
        for place, path, more in (
            ("public", "discord/c1", {"server": "s1"}),
            ("second", "discord/c2", {"server": "s2"}),
            ("staff", STAFF, {"server": "s1", "privacy": "restricted"}),
            ("direct", f"discord/{low}", {"privacy": "direct"}),
        ):
            stage.say(f"zebra {low} {place} line", path, who, minutes=500, **more)
            scope = stage.scope(path, participant=f"discord/{low}", **more)
            conversations.add_saved_memory(f"zebra {low} {place} saved", db=stage.db, settings=Settings(), scope=scope)
            stage.remember(f"zebra {low} {place} memory", ["zebra"], 60, path, participant=f"discord/{low}", **more)
            chat_history_cache.save_chat_message(
                path, f"Call me {low} {place}", who, low, db=stage.db, settings=Settings(), scope=scope
            )
    stage.say("zebra persona line", "discord/c1", "self", minutes=50, server="s1", participant="discord/ann")


PLACES = ("public", "second", "staff", "direct")


def heard(context: dict[str, Any]) -> set[str]:
    """Return whose words of which place are anywhere in a context."""
    return {f"{who} {place}" for who in ("ann", "bob") for place in PLACES if f"{who} {place}" in str(context)}


def direct(stage: Stage, who: str = "ann", path: str | None = None, **flags: Any) -> dict[str, Any]:
    return stage.context("zebra", path=path or f"discord/{who}", who=who.title(), is_private=True, **flags)


def test_f16_server_in_direct_sees_what_is_public_on_the_servers_where_the_person_spoke(stage: Stage) -> None:
    town(stage)
    stage.say("zebra cid third line", "discord/c3", "Cid", minutes=50, server="s3")
    assert heard(direct(stage)) == {"ann direct"}
    known = direct(stage, SERVER_IN_DIRECT=1, CONTEXT_VERBOSITY=30)
    assert heard(known) == {"ann direct", "ann public", "ann second", "bob public", "bob second"}
    assert "cid third" not in str(known), "a server where the person has not spoken"
    texts = {hit["snippet"]: hit.get("speaker") for hit in known["memories"]}
    assert texts["zebra ann public line"] == "Ann" and texts["zebra bob second memory"] == "Bob"
    assert "zebra bob public saved" in str(known["saved_memories"])
    assert "Call me bob" not in str(known["standing_wishes"])
    # a direct conversation that is not known yet
    assert heard(direct(stage, path="discord/ann-new", SERVER_IN_DIRECT=1, CONTEXT_VERBOSITY=30)) >= {"ann public"}
    assert heard(direct(stage, "cid", SERVER_IN_DIRECT=1)) == set()


def test_f16_server_in_direct_takes_a_line_that_still_exists_and_a_level_that_allows_it(stage: Stage) -> None:
    stage.say("zebra ann public line", "discord/c1", "Bob", minutes=50, server="s1")
    row = stage.say("Hello", "discord/c1", "Ann", minutes=40, server="s1")
    stage.say("A reply", "discord/c2", "self", minutes=30, server="s2", participant="discord/ann")
    stage.say("zebra bob second line", "discord/c2", "Bob", minutes=30, server="s2")
    by = stage.asking("discord/c1", server="s1")
    on = {"SERVER_IN_DIRECT": 1}
    for level, seen in (("none", {"ann public"}), ("partial", {"ann public"}), ("full", set())):
        set_privacy("discord/ann", level, **by)
        assert heard(direct(stage, **on)) == seen, level
    set_privacy("discord/ann", "none", **by)
    chat_history_cache.delete_chat_message(row, **by)
    assert heard(direct(stage, **on)) == set()


def test_f16_server_in_direct_is_for_the_person_of_the_direct_message(stage: Stage) -> None:
    town(stage)
    stage.say("zebra bob third line", "discord/c3", "Bob", minutes=50, server="s3")
    assert "bob third" not in str(direct(stage, SERVER_IN_DIRECT=1))
    flags = {"SERVER_IN_DIRECT": 1, "CONTEXT_VERBOSITY": 30}
    asked = stage.context("zebra", path="discord/ann", who="Bob", is_private=True, **flags)
    assert "bob third" not in str(asked), "somebody else speaks in Ann's direct message"


def test_f16_server_in_direct_changes_nothing_of_a_server(stage: Stage) -> None:
    row = stage.say("zebra bob public line", "discord/c1", "Bob", minutes=50, server="s1")
    stage.say("Hello", "discord/c1", "Ann", minutes=40, server="s1")
    item = stage.remember("zebra bob memory", ["zebra"], 60, "discord/c1", server="s1")
    direct_scope = stage.scope("discord/ann", participant="discord/ann", privacy="direct")
    known: dict[str, Any] = {"db": stage.db, "settings": Settings(server_in_direct=True), "scope": direct_scope}
    assert {hit["id"] for hit in search_memories(query="zebra bob", **known)} == {row, item}
    assert chat_history_cache.edit_chat_message(row, "changed", **known).reason == "unchanged"
    assert chat_history_cache.delete_chat_message(row, **known).reason == "unchanged"
    assert chat_history_cache.clear_chat_history("discord/c1", **known) == 0
    assert lifelong.delete_items([item], **known).count == 0
    with pytest.raises(ItemNotFoundError):
        lifelong.edit_item(item, "changed", **known)
    assert {hit["id"] for hit in search_memories(query="zebra bob", **known)} == {row, item}


def test_f16_server_in_direct_looks_at_few_servers_the_newest_first(stage: Stage) -> None:
    for number in range(12):
        stage.say(f"zebra place{number}x", f"discord/n{number}", minutes=90 - number, server=f"n{number}")
    known = str(direct(stage, SERVER_IN_DIRECT=1, CONTEXT_VERBOSITY=30))
    assert [number for number in range(12) if f"place{number}x" in known] == list(range(2, 12))


def test_f16_server_in_direct_counts_the_lines_of_the_identity_that_asks(stage: Stage) -> None:
    town(stage)
    link_participants("discord/ann", "tg/ann", **stage.asking())
    known = direct(stage, path="tg/ann", SERVER_IN_DIRECT=1, CONTEXT_VERBOSITY=30, interface="tg")
    assert heard(known) == {"ann direct"}


def test_f16_server_in_direct_keeps_local_words_at_home(stage: Stage) -> None:
    stage.say("zebra ann local line", "discord/c5", server="s1", minutes=90)
    set_conversation_local_only("discord/c5", **stage.asking("discord/c5"))
    assert "ann local" not in str(direct(stage, SERVER_IN_DIRECT=1))
    assert "ann local" in str(direct(stage, SERVER_IN_DIRECT=1, destination="local"))
