"""Short-term memory on every engine: written after a turn, expired, read, seen by whom, cleared (M1 to M29)."""

import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from enum import Enum
from functools import partial
from typing import Any

import pytest
from sqlalchemy import update

from core import privacy, short_term
from core.access import table_participants as participants
from core.chat_history_cache import delete_chat_message, edit_chat_message, load_chat_history, save_chat_message
from core.config import Settings
from core.database.engine import Database
from core.database.schema import audiences, conversations, short_term_memories
from core.database.schema import participants as participants_table
from core.errors import MessageError, StoreWriteError
from core.scope import Scope, use_scope
from core.short_term import rules as short_term_rules
from core.short_term import table as short_term_table
from tests.databases import listening, traced
from tests.store.world import NOW, Clock, own_scope, rows_of, run_at_once

DEFAULTS = Settings()
HOUR = timedelta(hours=1)


class World:
    """A persona of its own, and a clock that starts at NOW."""

    def __init__(self, db: Database, settings: Settings = DEFAULTS) -> None:
        self.db, self.scope, self.settings = db, own_scope(), settings
        self.clock: Clock = db.clock  # type: ignore[assignment]
        self.clock.now = NOW

    def given(self, **scope: Any) -> dict[str, Any]:
        return {"db": self.db, "settings": self.settings, "scope": replace(self.scope, **scope)}

    def turn(self, user: Any = "u1", channel: Any = "c1", server: Any = "s1", text: str = "hello", **more: Any) -> Any:
        said = more.pop("messages", [{"kind": "user", "content": text, "sender_id": user}])
        answers = more.pop("responses", [{"text": f"re {text}", "persona_name": "Iris"}])
        scope = more.pop("within", {})
        turn = {"user": user, "channel": channel, "server": server, "messages": said, **more}
        return short_term.write_turn(turn, answers, **self.given(**scope))

    def of_user(self, user: Any = "u1", exclude: Any = None, server: str = "s1", **more: Any) -> list[Any]:
        scope = {"server": server, **more.pop("within", {})}
        return list(short_term.get_for_user(user, exclude, **more, **self.given(**scope)))

    def context(self, user: Any = "u1", channel: Any = "c1", server: Any = "s1", **more: Any) -> list[Any]:
        return list(short_term.build_short_term_context(user, channel, server, **more, **self.given()))

    def summary(self, text: Any = "they talked", user: Any = "u1", channel: Any = "c1", **more: Any) -> Any:
        server = more.pop("server", "s1")
        return short_term.update_short_term_memory(user, channel, text, server, **more, **self.given())

    def rows(self, **where: Any) -> list[Any]:
        conditions = [short_term_memories.c[name] == value for name, value in where.items()]
        return rows_of(self.db, short_term_memories, self.scope.persona, *conditions)


@pytest.fixture
def world(db: Database) -> World:
    return World(db)


def channels(entries: Sequence[Any]) -> list[str]:
    return [entry["channel"] for entry in entries]


def said(entry: Any) -> list[str]:
    return [message["content"] for message in entry["messages"]]


def test_turns_that_fail_at_once_are_all_counted(tmp_path: Any) -> None:
    class SlowDict(dict[str, Any]):
        def get(self, *key: Any) -> Any:
            value = super().get(*key)
            time.sleep(0.05)
            return value

    gone = Database(f"sqlite:///{tmp_path}/no-tables.db", clock=Clock())
    gone.caches = SlowDict()
    run_at_once([lambda: short_term_table.count_error(gone)] * 3)
    assert short_term_table.read_errors(gone) == 3


def test_m1_a_turn_is_not_failed_by_the_store(tmp_path: Any) -> None:
    gone = Database(f"sqlite:///{tmp_path}/no-tables.db", clock=Clock())
    given: dict[str, Any] = {"db": gone, "settings": DEFAULTS, "scope": Scope("p")}
    result = short_term.write_turn({"user": "u", "channel": "c", "messages": ["hi"]}, "yes", **given)
    assert result == (0, "error") and result.error == "StoreWriteError"
    assert short_term.get_stats(**given) == {"entries": None, "errors": 1}
    with pytest.raises(StoreWriteError):
        short_term.store_short_term_memory("u", "c", ["hi"], **given)
    assert short_term.write_turn({"user": "u" * 300, "channel": "c", "messages": ["hi"]}, "yes", **given)[1] == "error"


@pytest.mark.engines("sqlite")
def test_m2_nothing_is_written_and_why_in_this_order(world: World) -> None:
    privacy.set_privacy("tg/ann", "full", **world.given())
    empty: dict[str, Any] = {"is_stop_response": True, "messages": [], "user": "tg/ann", "responses": []}
    for switch, fixed, reason in (
        ("", None, "stop"), ("is_stop_response", False, "no_messages"), ("messages", ["hi"], "no_response"),
        ("responses", ["yes"], "privacy"), ("user", "tg/bob", ""),
    ):  # fmt: skip
        empty |= {switch: fixed} if switch else {}
        assert world.turn(**empty)[1] == reason
    assert world.turn("tg/bob", privacy="full") == (0, "privacy")
    assert world.turn("tg/bob", responses=[{"text": "  "}]) == (0, "no_response")


@pytest.mark.parametrize("direct", ["DM", None, " "])
def test_m5_m6_d25_entries_of_each_persona(world: World, direct: Any) -> None:
    answers: dict[str, list[Any]] = {"default": [None], "one": ["a"], "two": ["a", "b", "a"], "same": ["a", "a"]}
    made = {}
    for name, ids in answers.items():
        responses = [{"text": "yes", "persona_id": each and f"{world.scope.persona}{each}"} for each in ids]
        result = world.turn(responses=responses, server="s1")
        made[name] = (result[0], world.turn(responses=responses, channel="dm", server=direct)[0])
    assert made == {"default": (1, 1), "one": (1, 1), "two": (2, 2), "same": (1, 1)}
    other = replace(world.scope, persona=f"{world.scope.persona}b")
    kept = short_term.get_for_user("u1", db=world.db, settings=DEFAULTS, scope=replace(other, server="s1"))
    assert [said(each) for each in kept] == [["hello", "yes", "yes", "yes"]]


@pytest.mark.parametrize("public", [{"is_private": False}, {"is_dm_channel": False}, {"within": {"privacy": "public"}}])
def test_m6_the_word_for_no_server_makes_no_public_channel_private(world: World, public: dict[str, Any]) -> None:
    """DM is never a server, and where the message is said to be public it is none of one person's either."""
    if "within" in public:
        public = {"within": {**public["within"], "conversation": "tg/c7"}}
    assert world.turn("tg/u1", "tg/c7", server="DM", **public) == (1, "")
    (kept,) = rows_of(world.db, conversations, world.scope.persona)
    (room,) = rows_of(world.db, audiences, world.scope.persona, audiences.c.audience_id == kept.audience_id)
    assert (room.kind, room.server_id) == ("server", "")


def test_m4_m10_texts_and_times_of_a_turn(world: World) -> None:
    messages = [
        {"content": "a" * 4001, "timestamp": NOW - timedelta(minutes=2), "speaker": "Ann"},
        {"content": "b", "timestamp": NOW - timedelta(minutes=1)},
    ]
    world.turn("tg/u1", "tg/c1", messages=messages)
    save_chat_message("tg/c1", "a" * 4001, "Ann", "u1", **world.given())
    (entry,) = world.of_user("tg/u1")
    assert entry["messages"][0] == {
        "role": "user", "content": "a" * 4000 + "...", "speaker": "Ann", "timestamp": "2026-03-10T11:58:00+00:00",
    }  # fmt: skip
    assert [m["timestamp"][11:16] for m in entry["messages"]] == ["11:58", "11:59", "12:00"]
    assert [m["role"] for m in entry["messages"]] == ["user", "user", "model"]
    (line,) = load_chat_history("tg/c1", **world.given())
    assert len(line["text"]) == 4001


def test_m7_m29_ids_are_kept_apart(world: World) -> None:
    zero = {**world.given(), "scope": replace(world.scope, server="s1")}
    for user, channel in (("a:b", "c"), ("a", "b:c"), (0, 0), ("u1", "c"), ("U1", "c"), ("u1 ", "c"), ("u%", "c")):
        assert world.turn(user, channel, text=f"{user}|{channel}")[0] == 1
    assert said(world.of_user("a:b")[0])[0] == "a:b|c"
    assert world.of_user("a")[0]["key"].startswith("shortterm:user:a:b%3Ac:")
    assert [said(each)[0] for each in world.of_user(0)] == ["0|0"]
    assert [said(each)[0] for each in world.of_user("u1")] == ["u1|c"]
    stored = short_term.store_short_term_memory(0, 0, ["x"], 0, persona=0, **zero)
    assert stored.stored and rows_of(world.db, short_term_memories, "0", short_term_memories.c.id == stored.id)
    kept = short_term.get_for_user(0, persona=0, db=world.db, settings=DEFAULTS, scope=Scope("x", server="0"))
    assert [each["key"] for each in kept] == ["shortterm:user:0:0:0"]
    short_term.clear_by_user(0, **{**world.given(), "scope": Scope("0")})
    short_term.clear_by_channel(0, **{**world.given(), "scope": Scope("0")})


def test_m8_a_living_summary_is_carried_with_its_own_age(world: World) -> None:
    world.turn()
    world.summary("first")
    world.clock.forward(hours=23)
    world.turn(text="later")
    (entry,) = world.of_user()
    assert (entry["summary"], entry["summary_updated"]) == ("first", NOW.isoformat())
    assert entry["last_updated"] == (NOW + 23 * HOUR).isoformat() and said(entry)[0] == "later"
    world.clock.forward(hours=2)
    world.turn(text="last")
    (entry,) = world.of_user()
    assert (entry["summary"], entry["summary_updated"]) == (None, None)
    assert {row.summary for row in world.rows()} == {None}


def test_m9_without_user_or_channel_nothing_is_written(world: World, caplog: pytest.LogCaptureFixture) -> None:
    for user, channel in ((None, "c1"), (" ", "c1"), ("u1", None), ("u1", "")):
        assert world.turn(user, channel) == (0, "empty")
        assert short_term.store_short_term_memory(user, channel, ["hi"], **world.given())[2] == "empty"
    assert world.rows() == [] and caplog.text.count("short_term_without_place") == 8
    assert short_term.store_short_term_memory("u1", "c1", [" "], **world.given())[2] == "empty"


def test_m11_of_two_turns_the_later_one_stays(world: World) -> None:
    late, early = NOW + timedelta(seconds=2), NOW + timedelta(seconds=1)
    assert world.turn(text="late", at=late) == (1, "")
    assert world.turn(text="early", at=early) == (0, "unchanged") and said(world.of_user()[0])[0] == "late"
    # A clock that has been set back must not keep new turns out for long.
    world.turn(text="from the future", at=NOW + HOUR)
    assert world.turn(text="now", at=NOW) == (1, "")


def test_m11_a_summary_made_meanwhile_keeps_no_turn_out(world: World) -> None:
    """A host dates a turn by its message; the model may write the summary of the last turn while this one is said."""
    world.turn(text="one", at=NOW)
    world.clock.forward(seconds=20)
    assert world.summary().stored and world.turn(text="two", at=NOW + timedelta(seconds=5)) == (1, "")
    assert world.turn(text="late", at=NOW + timedelta(seconds=1)) == (0, "unchanged")
    assert said(world.of_user()[0])[0] == "two"


def test_m11_eight_threads_lose_nothing(world: World) -> None:
    def write(n: int) -> None:
        for i in range(5):
            result = world.turn(f"u{n % 2}", text=f"{n} {i}", at=NOW + timedelta(seconds=n + 8 * i))
            assert result.reason in ("", "unchanged"), result.error

    run_at_once([partial(write, n) for n in range(8)])
    last = [row for row in world.rows() if row.last_updated == NOW + timedelta(seconds=39)]
    assert len(last) == 1 and '"7 4"' in last[0].messages and '"re 7 4"' in last[0].messages
    assert len(world.rows()) == 2 and len(rows_of(world.db, conversations, world.scope.persona)) == 1


def test_m12_m13_expired_entries_are_not_read_and_go_with_the_next_turn(world: World) -> None:
    for n in range(3):
        world.turn(f"u{n}", f"dm{n}", "DM")
    world.clock.forward(hours=12)
    assert world.of_user("u0", server="", within={"conversation": "dm0", "participant": "u0"}) == []
    assert short_term.clear_expired(**world.given()) == 3 and short_term.clear_expired(**world.given()) == 0
    world.turn("u1")
    world.clock.forward(hours=12)
    world.turn("u2")
    assert [row.participant_key for row in world.rows()] == ["u2"]
    world.clock.forward(hours=13)
    world.summary("new", "u2")
    assert [(each["summary"], each["messages"]) for each in world.of_user("u2")] == [("new", [])]


def test_m16_other_channels_newest_first(world: World) -> None:
    for n in (1, 2, 3, 4, 5):
        world.turn(channel=f"c{n}")
        world.clock.forward(seconds=1 if n != 3 else 0)
    world.turn("u2", "c6")
    assert channels(world.of_user("u1", "c5", within={"conversation": "c5"})) == ["c3", "c4", "c2", "c1"]
    assert channels(world.of_user("u1", "c5", server="")) == ["c3", "c4", "c2", "c1"]
    assert channels(short_term.get_for_server("s1", "c5", **world.given())) == ["c6", "c3", "c4", "c2", "c1"]
    short_term.store_short_term_memory("u1", "c7", ["x"], "s1", lineage="l1", **world.given())
    assert channels(world.of_user(lineage="l1")) == ["c7"]
    world.turn("u2", "c7")  # a newer entry of another lineage
    assert channels(short_term.get_for_server("s1", lineage="l1", **world.given())) == ["c7"]
    assert channels(world.context("u1", "c8", lineage="l1")) == ["c7"]
    assert world.of_user(None) == [] == short_term.get_for_server(None, **world.given())


def test_m16_a_server_shows_the_newest_entry_of_each_channel(world: World) -> None:
    """Each person has an entry of their own; what was said last in a channel is what the server knows of it."""
    turns = [("u1", "c1"), ("u2", "c1"), ("u3", "c2"), ("u1", "c2"), ("u4", "c2"), ("u5", "c2")]
    for n, (user, channel) in enumerate(turns):
        world.turn(user, channel, text=f"turn {n}")
        world.clock.forward(seconds=1)
    found = short_term.get_for_server("s1", **world.given())
    assert [(each["channel"], said(each)[0]) for each in found] == [("c2", "turn 5"), ("c1", "turn 1")]
    shown = [(each["channel"], each["lines"][0]) for each in world.context("u9", "c9")]
    assert shown == [("c2", 'Unknown: "turn 5"'), ("c1", 'Unknown: "turn 1"')]


def test_m13_an_expired_summary_hides_no_other_of_the_channel(world: World) -> None:
    world.settings = Settings(short_term_memory_summary_ttl_hours=2)
    for user, summary in (("u1", "the first hour"), ("u2", "the second hour")):
        world.turn(user)
        world.summary(summary, user)
        world.clock.forward(minutes=55)
    world.turn("u1")
    world.clock.forward(minutes=15)
    assert [each["summary"] for each in world.context()] == ["the second hour"]


def test_m15_statements_and_rows_do_not_grow(world: World) -> None:
    for n in range(6):
        world.turn(channel=f"c{n}")
    counts = []
    for users in (0, 60):
        for n in range(users):
            short_term.store_short_term_memory(f"x{n}", f"y{n}", ["x"], f"z{n}", **world.given())
        rows: list[int] = []

        def note(_c: Any, cursor: Any, *_: Any, into: list[int] = rows) -> None:
            into.append(cursor.rowcount)

        with traced(world.db) as statements, listening(world.db.engines()[0], "after_cursor_execute", note):
            found = world.context(channel="c0")
        counts.append((len(statements), rows, len(found)))
    assert counts[0] == counts[1] and counts[0][0] == 5


def test_m17_a_context_shows_the_newest_three_and_the_own_summary(world: World) -> None:
    for n in range(1, 6):
        world.turn(channel=f"c{n}", channel_name=f"room {n}")
        world.clock.forward(minutes=1)
    world.turn(channel="c0")
    assert [each["channel"] for each in world.context(channel="c0")] == ["room 5", "room 4", "room 3"]
    world.summary("own", channel="c0")
    world.summary("of four", channel="c4")
    shown = world.context(channel="c0")
    assert [each["channel"] for each in shown] == ["c0", "room 4", "room 5", "room 3"]
    assert shown[0] == {"channel": "c0", "age": "just now", "summary": "own"}
    assert shown[1]["summary"] == "of four" and "lines" not in shown[1]
    assert shown[2]["lines"] == ['Unknown: "hello"', '[2026-03-10 12:04] Iris: "re hello"']
    assert shown[2]["age"] == "1 minute ago"
    # Somebody who was never there knows it from the server, and everybody the summary of a channel.
    assert len(world.context("u9", "c9")) == 3
    world.turn("u9", "c4")
    assert {"own", "of four"} <= {each.get("summary") for each in world.context("u9", "c4")}
    assert world.context("u9", "c9", "s9") == [] == world.context("u9", "c4", "s9")


def test_m18_a_named_thread_follows_its_channel(world: World) -> None:
    world.turn(channel="tg/closed", is_private=True)
    world.turn(channel="tg/early", parent_channel="tg/closed", text="early")
    world.turn(channel="tg/late", parent_channel="tg/open", text="late")
    world.turn(channel="tg/open")
    (early,) = rows_of(world.db, conversations, world.scope.persona, conversations.c.conversation_key == "tg/early")
    assert early.is_private == 1
    assert [each["channel"] for each in world.context(channel="tg/x")] == ["tg/late", "tg/open"]
    privacy.set_conversation_privacy("tg/open", "restricted", **world.given())
    assert world.context(channel="tg/x") == []
    world.summary("in the thread", channel="tg/late")
    assert [each["channel"] for each in world.context(channel="tg/late")] == ["tg/late"]


def test_m22_the_summary_is_cut_and_dated(world: World) -> None:
    world.turn()
    world.clock.forward(minutes=1)
    assert world.summary(" " + "x" * 1501).notes == ("cut 1",)
    told = [(len(r.summary), r.summary_updated_at, r.last_updated, r.turns_since_summary) for r in world.rows()]
    assert told == [(1500, world.clock.now, world.clock.now, 0)]
    world.turn()
    assert world.summary("  ")[2] == "empty" and world.summary(None)[2] == "empty"
    assert {len(r.summary) for r in world.rows()} == {1500}
    result = world.summary("first", channel="new")
    assert result.stored and [e["messages"] for e in world.of_user() if e["channel"] == "new"] == [[]]
    assert world.summary("x", None)[2] == "empty"
    with pytest.raises(MessageError):
        world.summary(7)


def test_m23_at_most_once_a_turn_and_asked_for_now_and_then(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(db)
    monkeypatch.setattr(short_term_rules, "SUMMARY_EVERY", 3)
    messages = [{"content": str(n)} for n in range(5)]  # and the answer
    assert [world.turn(messages=messages).summary_due for _ in range(4)] == [False, False, True, True]
    assert world.of_user()[0]["summary_due"] and world.summary().stored and world.summary("another")[2] == "limit"
    assert world.turn(messages=messages).summary_due is False and world.summary("another").stored
    assert [r.turns_since_summary for r in world.rows()] == [0]
    assert [world.turn(channel="few", messages=messages[1:]).summary_due for _ in range(4)] == [False] * 4


@pytest.mark.engines("sqlite")
def test_m24_m25_what_is_no_summary(world: World) -> None:
    world.turn()
    assert world.summary("ok", said="remember that I moved")[2] == "explicit"
    assert world.summary("they spoke of a book", said="my notebook").stored
    world.turn()
    assert world.summary("Error 429: too many requests")[2] == "refused"
    assert world.of_user()[0]["summary"] == "they spoke of a book"
    world.summary("y" * 1000)
    world.turn()
    refused = world.summary("z" * 299)
    assert refused[2] == "refused" and refused.notes == ("the summary is shorter",) and world.summary("z" * 300).stored
    with pytest.raises(MessageError):
        world.summary("ok", said=7)


def test_m27_clearing_counts_what_is_gone(world: World) -> None:
    for channel in ("c1", "c2", "c3"):
        world.turn("tg/u1", channel)
    world.turn("tg/u10", "c1")
    world.turn("tg/u1", "c1", "s10")
    world.turn("tg/u11", "c1")
    privacy.link_participants("tg/u11", "tg/u1", **world.given())
    # The room c1 of s10 is another one, and u11 is the same person.
    assert short_term.clear_by_user("tg/u1", **world.given()) == 5 and world.of_user("tg/u11") == []
    assert channels(world.of_user("tg/u10")) == ["c1"]
    for user, channel in (("u2", "c1"), ("u2", "c2"), ("u2", "c3"), ("u2", "c4")):
        world.turn(user, channel)
    assert short_term.clear_by_server("s1", "c1", **world.given()) == 2
    assert short_term.clear_by_channel("c2", **world.given()) == 1
    assert short_term.clear_by_server("s1", **world.given()) == 2 and world.rows() == []
    assert short_term.clear_by_channel(None, **world.given()) == 0 == short_term.clear_by_user(" ", **world.given())
    other = World(world.db)
    other.turn()
    assert short_term.clear_by_channel("c1", **world.given()) == 0 and len(other.rows()) == 1


def test_m28_f22_full_privacy_takes_out_what_is_theirs(world: World) -> None:
    world.turn("tg/anna", "tg/c2", "DM")
    world.turn("tg/anna", "tg/c1")
    lines = [{"content": f"{name} {n}", "sender_id": name} for n, name in enumerate(["anna", "bobby"] * 4 + ["bobby"])]
    world.turn("tg/bobby", "tg/c1", messages=lines)
    world.summary(user="tg/bobby", channel="tg/c1")
    privacy.link_participants("tg/anna", "discord/anna", **world.given())
    assert privacy.set_privacy("discord/anna", "full", **world.given())["removed"] == {"short_term_memories": 2}
    left = world.rows()
    assert [(r.participant_key, r.summary, r.messages.count('"content"')) for r in left] == [("tg/bobby", None, 6)]
    assert "anna" not in str([r.messages for r in left]) and world.of_user("tg/anna") == []
    # From now on nothing of theirs is kept, whoever speaks.
    assert world.turn("tg/anna", "tg/c1") == (0, "privacy")
    world.turn("tg/bobby", "tg/c1", messages=lines)
    assert [len(e["messages"]) for e in world.of_user("tg/bobby")] == [6]
    assert world.summary(user="tg/anna", channel="tg/c1")[2] == "privacy"
    # An entry of which nothing is left goes.
    world.turn("tg/bobby", "tg/c7", messages=[{"content": "bobby", "sender_id": "bobby"}])
    assert privacy.set_privacy("tg/bobby", "full", **world.given())["removed"]["short_term_memories"] == 2
    assert world.rows() == []


def test_m28_an_answer_to_who_turns_private_goes_with_their_lines(world: World) -> None:
    answer = {"role": "assistant", "content": "Anna lives in Oslo.", "triggered_by": "tg/anna"}
    world.turn("tg/bobby", "tg/c1", messages=[answer, {"content": "ok", "sender_id": "bobby"}])
    assert said(world.of_user("tg/bobby")[0]) == ["Anna lives in Oslo.", "ok", "re hello"]
    privacy.set_privacy("tg/anna", "full", **world.given())
    assert said(world.of_user("tg/bobby")[0]) == ["ok", "re hello"]
    assert world.turn("tg/anna", messages=[{"content": "ok", "sender_id": "bobby"}]) == (0, "privacy")


def test_p45_an_edited_or_deleted_message_is_so_in_the_entries_too(world: World) -> None:
    saved = save_chat_message("tg/c1", "the code is 7391", "Ann", "u1", **world.given())
    other = save_chat_message("tg/c1", "y" * 5000, "Ann", "u1", **world.given())
    lines = ["the code is 7391", "y" * 5000, "stays", "the...", "yy..."]  # the last two were not cut
    world.turn("tg/u1", "tg/c1", messages=lines)
    world.of_user("tg/u1", server="")
    edit_chat_message(saved.id, "the code is secret", **world.given(conversation="tg/c1"))
    delete_chat_message(other.id, **world.given(conversation="tg/c1"))
    (entry,) = world.of_user("tg/u1", server="")
    assert said(entry) == ["the code is secret", "stays", "the...", "yy...", "re hello"]
    assert "7391" not in str([row.messages for row in world.rows()])
    world.turn("tg/u1", "tg/c3", messages=[{"content": "yes", "sender_id": who} for who in ("u1", "u2")])
    saved = save_chat_message("tg/c3", "yes", "Ann", "u1", **world.given())
    edit_chat_message(saved.id, "no", **world.given(conversation="tg/c3"))
    assert said(world.of_user("tg/u1", server="")[-1]) == ["no", "yes", "re hello"]
    own, nobodys = {"content": "bye", "sender_id": "u1"}, {"role": "assistant", "content": "bye"}
    for number in (4, 5):
        world.turn("tg/u1", f"tg/c{number}", messages=[own, nobodys])
        saved = save_chat_message(f"tg/c{number}", "bye", "Ann", "u1", **world.given())
        by = world.given(conversation=f"tg/c{number}")
        assert (edit_chat_message(saved.id, "hm", **by) if number == 4 else delete_chat_message(saved.id, **by)).stored
    told = {entry["channel"]: said(entry) for entry in world.of_user("tg/u1", server="")}
    assert (told["tg/c4"], told["tg/c5"]) == (["hm", "bye", "re hello"], ["re hello"])
    world.turn("tg/u1", "tg/c2", messages=["only"], responses=["one"])
    for text in ("only", "one"):
        row = save_chat_message("tg/c2", text, "Ann", "u1", **world.given()).id
        delete_chat_message(row, **world.given(conversation="tg/c2"))
    assert set(channels(world.of_user("tg/u1", server=""))) == {"tg/c1", "tg/c3", "tg/c4", "tg/c5"}


def test_f85_a_level_is_set_beside_lines_that_cannot_be_read(world: World) -> None:
    """A line whose speaker is a list is nobody's; it must not keep others at the level they left."""
    world.turn("tg/eve", "tg/c1")
    world.turn("tg/dan", "tg/c1")
    broken = update(short_term_memories).where(short_term_memories.c.participant_key == "tg/dan")
    lines = [{"role": "user", "content": "hm", "who": ["a"]}]
    world.db.transaction(lambda connection: connection.execute(broken.values(messages=lines)), source="a test")
    assert privacy.set_privacy("tg/eve", "full", **world.given())["removed"] == {"short_term_memories": 1}


def test_f20_a_turn_notes_nobody_at_level_full(world: World) -> None:
    """The level applies to every persona; one set for another must not leave the name here."""
    fay = {"messages": [{"content": "hi", "sender_id": "fay", "sender_name": "Fay"}], "user_name": "Fay"}
    privacy.set_privacy("tg/fay", "full", **World(world.db).given())
    assert world.turn("tg/fay", "tg/c1", **fay) == (0, "privacy")
    assert rows_of(world.db, participants_table, world.scope.persona) == []


def test_f24_people_nobody_knows_have_the_default_level(db: Database) -> None:
    world = World(db, Settings(privacy_default="full"))
    assert world.turn("tg/new", "tg/c1") == (0, "privacy")
    privacy.set_privacy("tg/known", "none", **world.given())
    lines = [{"content": "mine", "sender_id": "known"}, {"content": "theirs", "sender_id": "stranger"}]
    assert world.turn("tg/known", "tg/c1", messages=lines) == (1, "")
    assert said(world.of_user("tg/known")[0]) == ["mine", "re hello"]
    privacy.set_privacy("tg/gus", "none", **World(world.db).given())  # known elsewhere
    assert world.turn("tg/gus", "tg/c1") == (1, "") and channels(world.of_user("tg/gus")) == ["tg/c1"]


def test_f21_a_turn_waits_for_who_turns_private(world: World) -> None:
    world.turn("tg/ann", "tg/c1")
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(world.turn("tg/ann", "tg/c1", text="later")))

    def turn_private(connection: Any) -> None:
        participants.hold(connection, world.db, world.scope.persona, ["tg/ann"])
        participants.set_level(connection, world.db, "tg/ann", "full")
        thread.start()
        thread.join(0.3)
        assert results == []

    world.db.transaction(turn_private, source="participants")
    thread.join()
    assert results == [(0, "privacy")]


def test_m28_who_turns_private_waits_for_a_turn_under_way(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where nobody knew the person before: what was being written is taken out."""
    under_way, go_on = threading.Event(), threading.Event()
    hold = short_term_table.hold_place

    def slow(*arguments: Any, **more: Any) -> Any:
        held = hold(*arguments, **more)
        under_way.set()
        go_on.wait(60)
        return held

    monkeypatch.setattr(short_term_table, "hold_place", slow)
    turn = threading.Thread(target=lambda: world.turn("tg/new", "tg/c1"))
    private = threading.Thread(target=lambda: privacy.set_privacy("tg/new", "full", **world.given()))
    turn.start()
    assert under_way.wait(60)
    private.start()
    private.join(0.2)
    assert private.is_alive()
    go_on.set()
    turn.join()
    private.join()
    assert world.rows() == []


class Level(Enum):
    """Levels as the application of seed 002 numbers them."""

    NONE = 0
    PARTIAL = 1
    FULL = 2


@pytest.mark.parametrize("level", ["complete", 7, True, 1.5, [], 2, Level.FULL, "FULL "])
def test_m31_a_level_that_is_not_known_counts_as_full_and_those_below_are_kept(
    world: World, level: Any, caplog: pytest.LogCaptureFixture
) -> None:
    assert world.turn(privacy_level=level) == (0, "privacy") and world.rows() == []
    known = level in (2, Level.FULL, "FULL ")
    assert len([r for r in caplog.records if "level_not_known" in r.getMessage()]) == (0 if known else 1)
    for below in (None, "", "none", 0, 1, Level.PARTIAL):
        assert world.turn(privacy_level=below) == (1, "")


def test_m31_a_host_without_a_scope_gets_all_entries(world: World) -> None:
    given = {"db": world.db, "settings": world.settings.replace(persona_id=world.scope.persona)}
    assert world.turn() == (1, "") and len(short_term.get_for_user("u1", **given)) == 1
    alone = Scope(world.scope.persona)  # says who remembers, not who asks
    assert len(short_term.get_for_user("u1", scope=alone, **given)) == 1
    assert len(short_term.get_for_server("s1", **given)) == 1 and world.turn("u2", "dm2", is_dm_channel=True) == (1, "")
    assert len(short_term.get_for_user("u2", **given)) == 1
    asking = replace(world.scope, participant="tg/u9")
    assert short_term.get_for_user("u1", scope=asking, **given) == [], "who asks with a scope sees what it sees"
    with use_scope(asking):
        assert short_term.get_for_user("u1", **given) == []
