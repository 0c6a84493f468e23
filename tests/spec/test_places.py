"""Threads of a restricted channel, and what a person said in public known in their own direct messages."""

from __future__ import annotations

from typing import Any

import pytest

from core import chat_history_cache, conversations
from core.config import Settings
from core.privacy import link_participants
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


# SERVER_IN_DIRECT


def town(stage: Stage) -> None:
    """Ann and Bob on two servers, in a staff channel and in their direct messages."""
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


def test_server_in_direct_knows_the_persons_own_public_words_and_nothing_else(stage: Stage) -> None:
    town(stage)
    known = direct(stage, SERVER_IN_DIRECT=1, CONTEXT_VERBOSITY=30)
    assert heard(known) == {"ann direct", "ann public", "ann second"}
    assert "zebra persona line" not in str(known)
    texts = {hit["snippet"]: hit.get("speaker") for hit in known["memories"]}
    assert texts["zebra ann public line"] == texts["zebra ann second memory"] == "Ann"
    assert "zebra ann public saved" in known["saved_memories"]
    # a direct conversation that is not known yet
    assert heard(direct(stage, path="discord/ann-new", SERVER_IN_DIRECT=1, CONTEXT_VERBOSITY=30)) >= {"ann public"}
    assert not {one for one in heard(direct(stage, "bob", SERVER_IN_DIRECT=1)) if one.startswith("ann")}


def test_server_in_direct_never_goes_the_other_way(stage: Stage) -> None:
    town(stage)
    for path, server, private in (
        ("discord/c1", "s1", False), ("discord/c2", "s2", False), (STAFF, "s1", True), ("discord/x", "", False),
    ):  # fmt: skip
        asked = {"path": path, "server_id": server, "is_private": private, "CONTEXT_VERBOSITY": 30}
        off, on = stage.context("zebra", **asked), stage.context("zebra", SERVER_IN_DIRECT=1, **asked)
        assert off == on
        assert not {one for one in heard(on) if one.endswith("direct")}


def test_server_in_direct_knows_all_linked_identities(stage: Stage) -> None:
    town(stage)
    link_participants("discord/ann", "tg/ann", db=stage.db, settings=Settings(), scope=stage.scope())
    known = direct(stage, path="tg/ann", SERVER_IN_DIRECT=1, CONTEXT_VERBOSITY=30, interface="tg")
    assert heard(known) == {"ann direct", "ann public", "ann second"}


def test_server_in_direct_keeps_local_words_at_home(stage: Stage) -> None:
    from core.privacy import set_conversation_local_only

    stage.say("zebra ann local line", "discord/c5", server="s1", minutes=90)
    set_conversation_local_only("discord/c5", db=stage.db, settings=Settings(), scope=stage.scope("discord/c5"))
    assert "ann local" not in str(direct(stage, SERVER_IN_DIRECT=1))
    assert "ann local" in str(direct(stage, SERVER_IN_DIRECT=1, destination="local"))
