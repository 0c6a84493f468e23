"""How private a conversation is, and the audiences a prompt in it sees (F12, F17, F81)."""

from typing import Any

import pytest

from core.access import rules
from core.access.rules import AudienceKey
from core.errors import MessageError

ROOM, ANN = "discord/c1", "discord/ann"
PERSONA, SERVER, HOME = AudienceKey("persona"), AudienceKey("server", "s1"), AudienceKey("server")
DIRECT, SAVED = AudienceKey("direct", "", ANN), AudienceKey("saved", "", ANN)
CLOSED, APART = AudienceKey("conversation", "s1", ROOM), AudienceKey("conversation", "", ROOM)


@pytest.mark.parametrize(("said", "privacy"), [
    ((False, "private", "7", "7", ""), "public"), ((True, None, "8", "7", ""), "direct"),
    ((True, "dm", None, None, ""), "direct"), ((True, "dm", None, None, "s1"), "restricted"),
    ((True, "Group_DM", None, None, ""), "restricted"), ((True, "supergroup", None, None, ""), "restricted"),
    ((None, "private", None, None, ""), "direct"), ((None, "private", None, None, "s1"), "restricted"),
    ((None, "group_dm", None, None, ""), "restricted"), ((None, "group_dm", None, None, "s1"), "restricted"),
    ((None, "Group", "7", "7", ""), "public"), ((True, "dm", "7", "7", "s1"), "direct"),
    ((None, "private", "7", "7", "s1"), "direct"), ((None, None, "7", "7", ""), None),
    ((None, None, "7", "7", "s1"), None), ((None, None, "8", "7", ""), None), ((None, None, "", "", ""), None),
])  # fmt: skip
def test_f17_the_host_says_how_private_a_conversation_is(said: Any, privacy: str | None) -> None:
    assert rules.said_privacy(*said) == privacy


@pytest.mark.parametrize(("privacy", "person", "own", "seen"), [
    ("public", ANN, SERVER, [PERSONA, SERVER]), ("restricted", ANN, CLOSED, [PERSONA, SERVER, CLOSED]),
    ("direct", ANN, DIRECT, [PERSONA, HOME, DIRECT, SAVED]), ("direct", None, CLOSED, [PERSONA, SERVER, CLOSED]),
    ("separate", ANN, APART, [PERSONA, HOME, APART, SAVED]), ("separate", None, APART, [PERSONA, SERVER, APART]),
])  # fmt: skip
def test_f12_a_prompt_sees_the_audiences_of_its_place(privacy: Any, person: str | None, own: Any, seen: Any) -> None:
    assert rules.own_audience(privacy, "s1", ROOM, person) == own
    assert rules.seen_audiences(privacy, "s1", ROOM, person) == seen
    assert rules.seen_audiences(privacy, "s1", None, person) == [PERSONA, SERVER]


def test_f17_the_threads_of_a_restricted_channel_are_those_below_it_on_its_server() -> None:
    thread = AudienceKey("conversation", "s1", f"{ROOM}/t1")
    others = [
        CLOSED, AudienceKey("conversation", "s2", f"{ROOM}/t1"), AudienceKey("conversation", "s1", "discord/c2/t1"),
        AudienceKey("direct", "s1", f"{ROOM}/t2"),
    ]  # fmt: skip
    assert rules.choose_threads([*others, thread], "s1", ROOM) == [thread]


def test_f81_the_mark_of_a_server_is_no_part_of_what_is_read_of_a_key() -> None:
    one, other = (rules.mark_server(f"{ROOM}/t1", server) for server in ("s1", "s2"))
    assert one != other and rules.split_key(one) == ("discord", "c1", "t1")
    assert rules.plain_key(one) == rules.plain_key(other) == f"{ROOM}/t1"
    assert rules.parent_key(one) == rules.mark_server(ROOM, "s1") and rules.parent_key(ROOM) is None


def test_f70_f88_each_part_of_a_key_and_a_name_that_is_an_id_fit_their_columns() -> None:
    for key, limit in (("{}/c", 64), ("tg/{}", 255), ("tg/c/{}", 255)):
        assert rules.check_key(key.format("x" * limit)) == key.format("x" * limit)
        with pytest.raises(MessageError, match="of interface_path"):
            rules.check_key(key.format("x" * (limit + 1)))
    for blank in ("", " ", None):
        with pytest.raises(MessageError, match=r"^interface_path"):
            rules.check_key(blank)
    assert rules.named_participant("tg", " Ann\nLee ") == "tg/Ann Lee" and rules.named_participant("", "Ann") == "Ann"
    assert rules.named_participant("tg", " \n") is rules.named_participant("i" * 300, "Ann") is None
    long = rules.named_participant("tg", "é" * 300)
    assert long is not None and rules.KEY_BYTES["participant"] - len(long.encode()) in (0, 1)
