"""Rooms of one name on several servers (F81): two conversations, whichever door is used."""

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from core import Scope, forget, insert_memory, lifelong, short_term, stories
from core import chat_history_cache as chat
from core.ai_diary import add_diary_entry, get_recent_entries
from core.config import Settings
from core.conversations import (
    add_recent_conversation,
    add_saved_memory,
    close_conversation,
    list_recent_conversations,
    list_saved_memories,
)
from core.database import schema
from core.errors import MessageError, StoreReadError
from core.privacy import scope_of, set_conversation_privacy
from core.prompt import call
from core.prompt_engine import build_json_prompt, build_messages, explain_json_prompt
from core.synth_core_memory import explain_search, search_memories, silently_record_memory
from core.transfer.imports import import_file
from tests.databases import traced
from tests.spec.stage import Stage, message
from tests.store.world import count, rows_of, run_at_once

ROOM, THREAD = "irc/general", "irc/general/t1"
SERVERS = ("alpha", "beta")
DM: dict[str, Any] = {"server_id": "DM"}
OWN: dict[str, Any] = {"server_id": "s1"}
GROUP: dict[str, Any] = {"chat": {"id": "bob", "type": "group"}}
CHANNEL: dict[str, Any] = {"chat": {"id": "bob", "type": "channel"}}
PRIVATE: dict[str, Any] = {"chat": {"id": "bob", "type": "private"}}
GROUP_DM: dict[str, Any] = {"chat": {"id": "bob", "type": "group_dm"}}
CLOSED = [
    {**OWN, **CHANNEL, "is_private": True}, {**OWN, **GROUP_DM}, GROUP_DM, {**GROUP, "is_private": True},
    {**DM, **CHANNEL, "is_private": True},
]  # fmt: skip
OPEN = [
    OWN, {**OWN, "chat": {"id": "bob"}}, {**OWN, **GROUP}, {**OWN, **PRIVATE, "is_private": False},
    CHANNEL, {**PRIVATE, "is_private": False}, {**DM, "is_private": False}, {**DM, **GROUP},
]  # fmt: skip
DIRECT = [PRIVATE, {"is_private": True}, {}, DM, {**OWN, **PRIVATE}]


class Rooms:
    """One persona in two servers that have rooms of the same names."""

    def __init__(self, stage: Stage, flags: Settings | None = None) -> None:
        self.stage, self.flags = stage, flags or Settings()

    def given(self, server: str, room: str = ROOM, who: str = "irc/bob") -> dict[str, Any]:
        return {"db": self.stage.db, "settings": self.flags, "scope": Scope(self.stage.persona, room, who, server)}

    def say(self, server: str, room: str = ROOM) -> Any:
        by = self.given(server, room)
        return chat.save_chat_message(room, f"canary of {server}", "Bob", "bob", message_id="m1", **by)

    def fill(self, server: str, room: str = ROOM) -> None:
        by, canary = self.given(server, room), f"canary of {server}"
        assert self.say(server, room).stored
        insert_memory(f"{canary}, an item", "synth", "chat", ["canary"], by["scope"], db=by["db"], settings=self.flags)
        silently_record_memory(f"I like the {canary}", "ok", **by)
        add_diary_entry(f"{canary} in the diary", **by)
        add_saved_memory(f"{canary}, saved", **by)
        short_term.store_short_term_memory("irc/bob", room, [{"text": f"{canary}, just now"}], server, **by)
        short_term.update_short_term_memory("irc/bob", room, f"{canary}, in short", server, **by)
        stories.edit_memory("m1", f"{canary}, recapped", interface_path=room, **by)
        stories.add_scene_break("m1", interface_path=room, name=f"{canary}, a scene", **by)
        add_recent_conversation([f"{canary}, at length"], wait=True, **by)

    def read(self, server: str, room: str = ROOM) -> dict[str, str]:
        by = self.given(server, room)
        asked = message("canary", room, who="Bob", server_id=server, message_id="m9")
        doors: dict[str, Callable[[], Any]] = {
            "load": lambda: chat.load_chat_history(room, **by),
            "global": lambda: chat.load_global_chat_history(**by),
            "search": lambda: search_memories(query="canary", tags=["canary"], limit=50, **by),
            "diary": lambda: get_recent_entries(**by),
            "saved": lambda: list_saved_memories(**by),
            "of user": lambda: short_term.get_for_user("irc/bob", **by),
            "of server": lambda: short_term.get_for_server(server, **by),
            "context": lambda: short_term.build_short_term_context("irc/bob", room, server, **by),
            "recap": lambda: stories.get_memory("m1", interface_path=room, **by),
            "scenes": lambda: stories.list_scenes(**by),
            "prompt": lambda: build_json_prompt(asked, {room: []}, **by),
            "explain": lambda: (explain_search("canary", limit=50, **by), explain_json_prompt(asked, **by)),
            "messages": lambda: [made := build_messages(asked, cite=True, **by), made.citations],
            "profile": lambda: lifelong.profile("irc/bob", **by),
            "items": lambda: lifelong.search_items(conversation=room, **by),
            "recent": lambda: list_recent_conversations(**by),
        }
        return {name: json.dumps(door(), default=str) for name, door in doors.items()}


@pytest.mark.engines()
@pytest.mark.parametrize("room", [ROOM, THREAD])
def test_f81_the_same_room_and_message_id_on_two_servers_are_two_conversations(stage: Stage, room: str) -> None:
    rooms = Rooms(stage)
    for server in SERVERS:
        rooms.fill(server, room)
    assert count(stage.db, schema.chat_history_cache, stage.persona) == 2
    kept = rows_of(stage.db, schema.conversations, stage.persona)
    assert {(row.server_id, row.chat_id) for row in kept} == {(server, "general") for server in SERVERS}
    for server, other in (SERVERS, SERVERS[::-1]):
        found = rooms.read(server, room)
        assert {name for name, text in found.items() if f"canary of {other}" in text} == set(), server
        assert {name for name, text in found.items() if f"canary of {server}" not in text} == set(), server
        assert not [name for name, text in found.items() if "\\u001f" in text]
    assert rooms.say("alpha", room).reason == rooms.say("beta", room).reason == "duplicate"


def test_f81_a_thread_belongs_to_the_room_of_its_server(stage: Stage) -> None:
    rooms = Rooms(stage)
    for server, room in (("alpha", ROOM), ("beta", THREAD), ("alpha", THREAD), ("beta", ROOM)):
        rooms.say(server, room)
    assert set_conversation_privacy(ROOM, "restricted", **rooms.given("beta"))["conversations"] == 2
    rows = rows_of(stage.db, schema.conversations, stage.persona)
    assert {(row.server_id, row.is_private) for row in rows} == {("alpha", 0), ("beta", 1)}
    assert "canary of beta" not in json.dumps(rooms.read("beta", "irc/other"))
    assert "canary of alpha" in json.dumps(rooms.read("alpha", "irc/other"))


@pytest.mark.parametrize("room", [ROOM, THREAD])
def test_f81_facts_and_cycles_find_the_room_of_their_server(stage: Stage, room: str) -> None:
    rooms = Rooms(stage)
    for server in SERVERS:
        by, old = rooms.given(server, "irc/other"), {"timestamp": "2026-01-01T12:00:00Z"}
        chat.save_chat_message(room, "hello", **old, **rooms.given(server, room))
        fact = {"text": f"a fact of {server}", "tier": "session", **old}
        assert lifelong.add_facts_with_meta([fact], history_uid=room, **by) == 1
        lifelong.prune_session_by_ttl(exclude_history_uid=room, **by)
        assert lifelong.trigger_memory_consolidation(history_uid=room, **by).conversations == 1
        assert lifelong.deep_consolidation(history_uid=room, **by).conversations == 1
        kept = lifelong.search_items(conversation=room, **rooms.given(server, room))["items"]
        assert [item["text"] for item in kept] == [f"a fact of {server}"]


@pytest.mark.parametrize("room", [ROOM, THREAD])
def test_f81_parts_of_a_key_name_the_room_of_the_scopes_server(stage: Stage, room: str) -> None:
    rooms = Rooms(stage)
    parts = dict(zip(("interface", "chat_id", "thread_id"), room.split("/"), strict=False))
    for server in (*SERVERS, "gamma", "DM"):
        by = rooms.given(server, room)
        if server in SERVERS:
            rooms.say(server, room)
        nowhere = by | {"scope": replace(by["scope"], conversation=None)}
        assert add_diary_entry(f"of {server}", **parts, **nowhere).stored
        assert [entry.content for entry in get_recent_entries(**by)] == [f"of {server}"]
    kept = rows_of(stage.db, schema.conversations, stage.persona)
    assert {(row.server_id, row.is_private) for row in kept} == {("alpha", 0), ("beta", 0), ("gamma", 0), ("", 1)}


@pytest.mark.parametrize("room", [ROOM, THREAD])
def test_f81_a_room_of_no_server_is_that_of_the_server_which_is_named_first(stage: Stage, room: str) -> None:
    rooms = Rooms(stage)
    for server, key in (("", ROOM), ("", THREAD), ("alpha", ROOM), ("beta", room)):
        said = (key, f"canary of {server or key}", "Bob", "bob")
        assert chat.save_chat_message(*said, message_id=f"m of {server}", **rooms.given(server, key)).stored
    assert "canary of beta" not in json.dumps(rooms.read("alpha", room))
    assert [line["text"] for line in chat.load_chat_history(room, **rooms.given("beta", room))] == ["canary of beta"]
    assert "canary of irc" not in rooms.read("beta", "irc/other")["search"]
    assert rooms.read("alpha", "irc/other")["search"].count("canary of irc") == 2


def test_f81_what_changes_a_room_leaves_that_of_the_other_server(stage: Stage) -> None:
    rooms = Rooms(stage)
    for server in SERVERS:
        rooms.fill(server)
    by = rooms.given("beta")
    add_diary_entry("canary of alpha", user_message="canary of beta", **rooms.given("alpha"))
    assert chat.edit_chat_message("m1", "canary of beta, edited", interface_path=ROOM, **by).stored
    assert "edited" in rooms.read("beta")["load"] and "edited" not in rooms.read("alpha")["load"]
    assert "edited" not in rooms.read("alpha")["diary"]
    assert chat.delete_chat_message("m1", interface_path=ROOM, **by).stored
    for change in (chat.delete_chat_message, partial(chat.edit_chat_message, message_text="other")):
        assert change("m1", interface_path=ROOM, **by)[:3] == (False, None, "not_found")
    assert "canary of alpha" in rooms.read("alpha")["load"]
    rooms.say("beta")
    assert chat.clear_chat_history(ROOM, **by) == 1
    rooms.say("beta")
    short_term.store_short_term_memory("irc/bob", ROOM, [{"text": "canary of beta"}], "beta", **by)
    assert short_term.clear_by_channel(ROOM, **by) and rooms.read("alpha")["of user"] != "[]"
    close_conversation(ROOM, **by)
    assert forget(conversation=ROOM, **by)["conversations"] == 1
    assert [name for name, text in rooms.read("alpha").items() if "canary of alpha" not in text] == []
    assert rooms.say("alpha").reason == "duplicate" and rooms.say("beta").stored


def test_f81_a_key_cannot_be_spelled_like_that_of_another_server(stage: Stage) -> None:
    """The mark of a server stands in stored keys alone."""
    rooms = Rooms(stage)
    for server in SERVERS:
        rooms.say(server)
    kept = rows_of(stage.db, schema.conversations, stage.persona)
    (stored,) = [row.conversation_key for row in kept if row.server_id == "beta"]
    asked = message("canary", stored, who="Bob", server_id="alpha", message_id="m9")
    given = {"db": stage.db, "scope": stage.scope()}
    for door in (
        lambda: chat.load_chat_history(stored, **rooms.given("alpha", "irc/other")),
        lambda: rooms.say("alpha", stored),
        *(partial(build, asked, **given) for build in (build_messages, build_json_prompt, explain_json_prompt)),
    ):
        with pytest.raises(MessageError):
            door()


@pytest.mark.parametrize(("said", "first"), [
    *itertools.product((DM, {"is_private": True}, {**DM, "chat": {"id": "general", "type": "private"}}), (True, False)),
    # a room for several people would be that of the server which is named later
    ({**DM, "chat": {"id": "general", "type": "group_dm"}}, False),
    ({**DM, "chat": {"id": "general", "type": "group"}}, False),
], ids=str)  # fmt: skip
def test_f81_a_message_of_no_server_is_in_no_servers_room(stage: Stage, said: dict[str, Any], first: bool) -> None:
    rooms = Rooms(stage)
    asked = message("canary of none", ROOM, who="Bob", message_id="m1", **said)
    saving = {"interface_name": "irc", "db": stage.db, "settings": rooms.flags}
    if not first:
        assert [rooms.say(server).stored for server in SERVERS] == [True, True]
    assert chat.save_message(asked, scope=stage.scope(), **saving).stored
    if first:
        assert [rooms.say(server).stored for server in SERVERS] == [True, True]
    # the default of a host's scope says nothing about a message that names no server
    again = chat.save_message(asked, scope=stage.scope(server="alpha"), **saving) if "server_id" in said else None
    assert again is None or again.reason == "duplicate"
    for server in SERVERS:
        found = rooms.read(server)
        assert f"canary of {server}" in found["load"] and "canary of none" not in json.dumps(found)
    prompt = json.dumps(build_json_prompt({**asked, "message_id": "m2"}, {}, scope=stage.scope(), **saving))
    assert "canary of none" in prompt and "canary of alpha" not in prompt and "canary of beta" not in prompt


@pytest.mark.parametrize("chat_fields", [{}, {"chat": {"id": "bob"}}], ids=str)
def test_f17_equal_ids_make_no_stored_room_private(stage: Stage, chat_fields: dict[str, Any]) -> None:
    """On Twitch a channel has the name of its streamer; one call without `chat` must not hide it from the viewers."""
    given = {"db": stage.db, "scope": stage.scope()}
    raid = message("The raid is on Friday.", "twitch/bob", message_id="m1", **CHANNEL)
    assert chat.save_message(raid, **given).stored
    by_owner = message("When is the raid?", "twitch/bob", who="Bob", message_id="m2", **chat_fields)
    assert "on Friday" in json.dumps(build_json_prompt(by_owner, **given)["context"]["history_current_chat"])
    assert chat.save_message(by_owner, **given).stored
    short_term.write_turn({"message": by_owner, "messages": [{"text": "raid"}]}, [{"text": "Friday"}], **given)
    insert_memory("Raids are fun", "synth", "chat", [], scope_of(by_owner, **given), db=stage.db)
    stored = rows_of(stage.db, schema.conversations, stage.persona)
    assert [(row.conversation_key, row.is_private) for row in stored] == [("twitch/bob", 0)]
    viewer = message("When is the raid?", "twitch/o", who="Cem", message_id="m3", chat={"id": "o", "type": "channel"})
    assert "on Friday" in json.dumps(build_json_prompt(viewer, **given))
    build_json_prompt({**by_owner, "is_private": True}, **given)
    assert rows_of(stage.db, schema.conversations, stage.persona)[0].is_private


@pytest.mark.parametrize("order", ["direct first", "owner first", "viewer first", "room not stored"])
@pytest.mark.parametrize("room", [*CLOSED, *OPEN], ids=str)
@pytest.mark.parametrize("direct", DIRECT, ids=str)
def test_f12_f81_a_direct_text_is_in_no_prompt_of_a_room_with_its_key(
    stage: Stage, direct: dict[str, Any], room: dict[str, Any], order: str
) -> None:
    """On Twitch a channel has the id of its streamer, and so have the streamer's direct messages."""
    given = {"db": stage.db, "scope": stage.scope()}
    whisper, viewer, owner = ("Bob", "whisper", direct), ("Ann", "viewer", room), ("Bob", "owner", room)
    said = {
        "direct first": [whisper, viewer, owner],
        "owner first": [owner, whisper, viewer],
        "viewer first": [viewer, whisper, owner],
        "room not stored": [whisper],
    }[order]
    for who, text, how in said:
        line = message(f"a canary of the {text}", "irc/bob", who=who, message_id=text, **how)
        assert chat.save_message(line, **given).stored

    def ask(who: str, how: dict[str, Any], path: str = "irc/bob") -> set[str]:
        asked = message("canary?", path, who=who, message_id="m9", **how)
        scope = scope_of(asked, **given)
        by = {"db": stage.db, "scope": scope}
        lines = [search_memories(query="canary", limit=50, **by), chat.load_chat_history("irc/bob", **by)]
        found = json.dumps([build_json_prompt(asked, **given), build_messages(asked, **given), lines], default=str)
        return {text for text in ("whisper", "viewer", "owner") if f"of the {text}" in found}

    if not direct and room in OPEN and room.get("server_id") != "s1" and order in ("owner first", "viewer first"):
        # nobody says that the text is private, and the room is stored as public
        assert ask("Ann", room) == ask("Bob", room) == ask("Bob", direct) == {"whisper", "viewer", "owner"}
        return
    # a public room without a server is made private by a direct message, with all that was said there before
    later = said[said.index(whisper) + 1 :] if room in OPEN and room.get("server_id") != "s1" else said
    in_room = {text for _, text, _ in later} - {"whisper"}
    for who in ("Ann", "Bob"):
        found = ask(who, room)
        assert "whisper" not in found and in_room <= found
    private = ask("Bob", direct)
    assert "whisper" in private and (room in OPEN or private == {"whisper"})
    if "is_private" not in room and room.get("server_id") == "s1" and room in OPEN and viewer in said:
        by = {"interface_path": "irc/bob", "db": stage.db, "scope": stage.scope(server="s1")}
        assert chat.edit_chat_message("owner", "edited", **by).stored


def test_f12_f81_a_room_that_is_not_found_shows_nothing_stored(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key as given may be that of a direct message."""
    given = {"db": stage.db, "scope": stage.scope()}
    assert chat.save_message(message("a whispered canary", "irc/bob", who="Bob", message_id="m1"), **given).stored
    failure = StoreReadError("The database did not answer.", source="conversations")
    monkeypatch.setattr(call, "resolve_scope", Mock(side_effect=failure))
    asked = message("canary?", "irc/bob", who="Ann", message_id="m9", **CHANNEL)
    shown = json.dumps([explain_json_prompt(asked, **given), build_messages(asked, **given)], default=str)
    assert "whispered" not in shown and "did not answer" in shown


def test_f17_a_thread_of_a_direct_message_stays_private(stage: Stage) -> None:
    given = {"db": stage.db, "scope": stage.scope()}
    for n, (path, said) in enumerate((("irc/bob", {"is_private": True}), ("irc/bob/t1", {"is_private": False}))):
        assert chat.save_message(message("hi", path, who="Bob", message_id=f"m{n}", **said), **given).stored
    assert [row.is_private for row in rows_of(stage.db, schema.conversations, stage.persona)] == [1, 1]


@pytest.mark.parametrize("first", [True, False])
def test_f81_the_server_dm_of_a_scope_or_turn_is_no_server(stage: Stage, first: bool) -> None:
    rooms = Rooms(stage)
    by, canary = rooms.given("DM"), "canary of none"
    if not first:
        for server in SERVERS:
            rooms.fill(server)
    assert chat.save_chat_message(ROOM, canary, "Bob", "bob", message_id="m1", **by).stored
    short_term.store_short_term_memory("irc/bob", ROOM, [{"text": f"{canary}, just now"}], "DM",
                                       **{**by, "scope": stage.scope()})  # fmt: skip
    turn = {"user": "irc/bob", "channel": ROOM, "server": "DM", "messages": [{"text": f"{canary}, in a turn"}]}
    assert short_term.write_turn(turn, "Hello", **{**by, "scope": stage.scope()}).stored
    if first:
        for server in SERVERS:
            rooms.fill(server)
    for server in SERVERS:
        found = rooms.read(server)
        assert canary not in json.dumps(found)
        assert {name for name, text in found.items() if f"canary of {server}" not in text} == set(), server
    assert [line["text"] for line in chat.load_chat_history(ROOM, **by)][:1] == [canary]
    entries = json.dumps(short_term.get_for_user("irc/bob", **by))
    assert canary in entries and "canary of alpha" not in entries and "canary of beta" not in entries


def test_f81_an_import_is_stored_in_the_room_of_its_server(stage: Stage, tmp_path: Path) -> None:
    rooms = Rooms(stage)
    for server in SERVERS:
        file = tmp_path / f"{server}.jsonl"
        line = {"conversation": "general", "speaker": "bob", "text": f"canary of {server}", "id": "m1",
                "timestamp": "2026-03-10T12:00:00Z"}  # fmt: skip
        file.write_text(json.dumps(line))
        given = {"db": stage.db, "settings": rooms.flags, "scope": stage.scope(server=server)}
        assert import_file(file, interface="irc", **given).imported == 1
        assert import_file(file, interface="irc", **given).imported == 0
    for server, other in (SERVERS, SERVERS[::-1]):
        found = rooms.read(server)["load"]
        assert f"canary of {server}" in found and f"canary of {other}" not in found


def test_a_scope_without_conversation_says_dm_of_what_is_saved_with_it(stage: Stage) -> None:
    assert chat.save_chat_message("irc/q", "canary", "Bob", "bob", **stage.asking(server="DM")).stored
    (kept,) = rows_of(stage.db, schema.conversations, stage.persona)
    assert kept.direct_person_key == "irc/bob"


@pytest.mark.engines()
def test_f81_two_servers_that_name_a_room_at_the_same_moment_have_two(stage: Stage) -> None:
    rooms = Rooms(stage)
    for number in range(10):
        room = f"irc/room-{number}"
        assert all(done.stored for done in run_at_once([partial(rooms.say, server, room) for server in SERVERS]))
        for server in SERVERS:
            lines = chat.load_chat_history(room, **rooms.given(server, room))
            assert [line["text"] for line in lines] == [f"canary of {server}"]


def test_f81_a_message_known_in_a_room_of_no_server_gives_it_the_server(stage: Stage) -> None:
    rooms = Rooms(stage)
    assert [rooms.say(server).reason for server in ("", *SERVERS)] == ["", "duplicate", ""]
    texts = [[line["text"] for line in chat.load_chat_history(ROOM, **rooms.given(server))] for server in SERVERS]
    assert texts == [["canary of "], ["canary of beta"]]


def test_f81_a_message_that_is_saved_looks_for_its_room_once(stage: Stage) -> None:
    """On a server each look is a round trip of every message."""
    rooms = Rooms(stage)
    rooms.say("alpha")
    line = message("again", ROOM, who="Bob", server_id="alpha", message_id="m2")
    with traced(stage.db) as reads:
        assert chat.save_message(line, db=stage.db, settings=rooms.flags, scope=Scope(stage.persona)).stored
    assert sum("conversation_key IN" in read for read in reads) == 1


@pytest.mark.parametrize("ranking", ["relevance", "recency"])
def test_t37_a_room_is_excluded_by_its_name_on_every_server(stage: Stage, ranking: str) -> None:
    rooms = Rooms(stage)
    for server in SERVERS:
        rooms.say(server, ROOM)
    for server in SERVERS:
        scope = replace(stage.scope("discord/other"), server=server)
        asked = {"query": "canary", "ranking": ranking, "db": stage.db, "scope": scope}
        assert search_memories(**asked) and search_memories(**asked, exclude=[ROOM]) == []
