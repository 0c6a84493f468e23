"""What is kept of a turn and what is shown of it, without a database (M2 to M24)."""

from datetime import UTC, datetime, timedelta
from enum import Enum
from types import SimpleNamespace
from typing import Any

import pytest

from core.short_term.rules import Since, build_key, choose_entries, cut_text, describe_age, drop_expired, slice_turn
from core.short_term.shapes import Entry, Item
from core.short_term.turns import read_answers, read_messages, read_turn

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
SINCE = Since(NOW - timedelta(hours=12), NOW - timedelta(hours=24))


def said(*texts: str) -> list[dict[str, str]]:
    return [{"type": "user", "content": text} for text in texts]


def kept(messages: list[Any], answers: list[str], most: int = 10) -> list[str]:
    items = slice_turn(read_messages(messages), [each.item for each in read_answers(answers)], most)
    return [item.content for item in items]


def entry(channel: str, minutes: float = 0, user: str = "u1", **more: Any) -> Entry:
    return Entry(more.pop("id", 1), user, channel, NOW - minutes * MINUTE, **more)


def test_m3_the_answers_push_out_the_oldest_and_system_lines_take_a_place() -> None:
    messages = said(*(f"m{n}" for n in range(12)))
    assert kept(messages, ["a", "b"]) == [*(f"m{n}" for n in range(4, 12)), "a", "b"]
    assert kept(messages, ["a", "b"], 4) == ["m10", "m11", "a", "b"] and kept(messages, ["a", "b"], 1) == ["b"]
    assert len(kept(messages, ["a", "b"], 200)) == 14
    assert kept(said("a", "  ", "\n", "b"), [" ", "c"]) == ["a", "b", "c"], "blank ones are left out"
    for at in (3, 6, 9):
        messages[at]["type"] = "system"
    assert kept(messages, ["a", "b"]) == ["m2", "m4", "m5", "m7", "m8", "m10", "m11", "a", "b"]


def test_m4_t53_role_and_speaker_are_read_from_any_shape_and_what_nobody_said_is_no_line() -> None:
    for mark in ({"type": "system"}, {"role": "user", "source": "tool_result"}, {"type": "whatever"}):
        assert read_messages([{"content": "the code is 7391", **mark}]) == (None,)
    shapes: list[Any] = [
        {"role": "user", "content": "a", "authorName": "Ann", "authorId": 7},
        SimpleNamespace(text="b", from_user=SimpleNamespace(id="u2", full_name="Bob")),
        {"kind": "persona", "text": "c", "speaker": "Iris"},
        {"sender_id": "self", "message_text": "d"},
        {"text": "d2", "from_user": {"id": "self", "full_name": "Sol"}},
        {"role": "user", "text": "d3", "sender_id": "self"},
        {"role": "assistant", "content": [{"type": "text", "text": "e"}, {"type": "image"}, "f"]},
        "g",
    ]
    made = [(i.role, i.content, i.speaker, i.who) for i in read_messages(shapes, "u1", "Zoe") if i is not None]
    assert made == [
        ("user", "a", "Ann", "7"), ("user", "b", "Bob", "u2"), ("model", "c", "Iris", ""), ("model", "d", "", ""),
        ("user", "d2", "Sol", "self"), ("user", "d3", "", "self"), ("model", "e f", "", ""), ("user", "g", "Zoe", "u1"),
    ]  # fmt: skip


def test_m2_the_seeds_own_names_are_read() -> None:
    class Level(Enum):
        FULL = 2

    context = SimpleNamespace(
        simplifiedMessages=said("hi"), userDiscId="1", channel=SimpleNamespace(id="2", name="den"), serverDiscId="3",
        serverName="Home", isDMChannel=False, isStopResponse=True,
        turn={"requestSnapshot": {"triggererPrivacyLevel": Level.FULL}},
    )  # fmt: skip
    turn = read_turn(context, {"personaResponses": [{"text": "yes", "personaLineageId": 5}]}, {})
    assert (turn.stop, turn.user, turn.channel, turn.server) == (True, "1", "2", "3")
    assert (turn.channel_name, turn.server_name, turn.level, turn.is_direct) == ("den", "Home", "full", False)
    assert [each.lineage for each in turn.answers] == ["5"]
    # Arguments of the door go before the context.
    turn = read_turn({"user": "u1", "messages": said("a")}, "old", {"user": "u2", "messages": [], "responses": ["new"]})
    assert (turn.user, turn.messages, [each.item.content for each in turn.answers]) == ("u2", (), ["new"])


def test_m7_keys_in_text_form() -> None:
    keys = {("u1", "c"): "u1:c", ("u1", "c", "0"): "u1:c:0", ("s%1", "c", "a:b"): "s%251:c:a%3Ab",
            ("a:b", "c"): "a%3Ab:c", ("a", "b:c"): "a:b%3Ac"}  # fmt: skip
    assert all(build_key(*parts) == f"shortterm:user:{key}" for parts, key in keys.items())


@pytest.mark.parametrize(("age", "summary_age", "lives", "has_summary"), [
    (12 * HOUR - MINUTE, None, True, False), (12 * HOUR, None, False, False), (13 * HOUR, 13 * HOUR, True, True),
    (24 * HOUR - MINUTE, 24 * HOUR - MINUTE, True, True), (24 * HOUR, 24 * HOUR, False, False),
    (HOUR, 25 * HOUR, True, False),
])  # fmt: skip
def test_m12_ages_of_the_table(age: timedelta, summary_age: timedelta | None, lives: bool, has_summary: bool) -> None:
    written = NOW - summary_age if summary_age is not None else None
    found = Entry(1, "u1", "c", NOW - age, summary="s" if written else "", summary_at=written)
    read = drop_expired([found, Entry(2, "u1", "c", None, summary="a time that cannot be read is too old")], SINCE)
    assert [bool(each.summary) for each in read] == ([has_summary] if lives else [])


@pytest.mark.parametrize(("seconds", "words"), [
    (59.9, "just now"), (90, "1 minute ago"), (120, "2 minutes ago"), (3599, "59 minutes ago"),
    (3600, "1 hour ago"), (23 * 3600, "23 hours ago"), (86400, "1 day ago"),
    (6 * 86400 + 23 * 3600, "6 days ago"), (7 * 86400, "over a week ago"), (-60, "just now"),
])  # fmt: skip
def test_m20_ages_in_words(seconds: float, words: str) -> None:
    assert describe_age(NOW - timedelta(seconds=seconds), NOW) == words


def test_m17_m21_a_channel_appears_once_and_lines_that_stand_in_the_lists_are_not_repeated() -> None:
    hi = (Item("user", "hi"),)
    mine, theirs = entry("c", 5, id=1, items=hi), entry("c", 1, "u2", id=2, items=hi)
    assert choose_entries([mine, theirs], None, 3) == ([theirs], {1: "duplicate"})
    items = tuple(Item("user", text) for text in ("Hi  There", "bye", "hi...", cut_text("x" * 5000)))
    shown = {("c", "hi there"), ("d", "bye"), ("c", "x" * 5000)}
    given = [entry("c", items=items), entry("d", id=2, items=items[1:2])]
    ((kept_entry,), left_out) = choose_entries(given, None, 3, shown)
    assert [item.content for item in kept_entry.items] == ["bye", "hi..."] and left_out == {2: "visible"}
