"""The two history lists: what is shown, in which order, which messages are one, and where everything else went."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.config import Settings
from core.context import lines
from core.context.context import Caps
from core.context.history import HistoryBuilder, HistoryLists, echo_check, why_not_shown
from core.context.incoming import IncomingMessage
from core.context.lines import body, sender
from core.context.live import LiveHistory
from core.shapes import HistoryEntry, LeftOut, ReplyNote, Sender
from core.text.folding import collapsed

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
MESSAGE = IncomingMessage("99", NOW, "the question", "tg", "tg/1", Sender("7", "Ann", "ann"))


@pytest.fixture(autouse=True)
def no_age(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "AGE_MARKER_MINUTES", 1_000_000_000)


Entries = Sequence[HistoryEntry]


def row(number: int, text: str = "", chat: str = "tg/1", **fields: Any) -> HistoryEntry:
    at = datetime(2026, 3, 10, 10, tzinfo=UTC) + timedelta(minutes=number)
    default = {"conversation": chat, "text": text or f"m{number}", "time": at, "sender_name": "Bob", "row_id": number}
    return HistoryEntry(**{**default, **fields})


def live(*entries: HistoryEntry, skips_history: bool = False) -> LiveHistory:
    chats: dict[str, list[HistoryEntry]] = {}
    for order, entry in enumerate(entries):
        chats.setdefault(entry.conversation, []).append(dataclasses.replace(entry, row_id=None, order=order))
    return LiveHistory(chats, skips_history)


def build(
    current: Entries = (), recent: Entries = (), host: LiveHistory | None = None, count: int = 10,
    may_see: Callable[[str], str] = lambda key: "", **flags: object,
) -> HistoryLists:  # fmt: skip
    live, settings = host or LiveHistory(), Settings(**flags)
    made = HistoryBuilder(MESSAGE, live, settings, Caps(count, count, count), may_see).build([*current], [*recent])
    check_account(made, current, recent, live, settings)
    return made


def check_account(made: HistoryLists, current: Entries, recent: Entries, host: LiveHistory, on: Settings) -> None:
    own = MESSAGE.interface_path
    given = [entry for entry in current if entry.conversation == own]
    others = [entry for entry in recent if entry.conversation != own and on.unified_history]
    for key, entries in host.chats.items():
        if key == own:
            given += entries
        elif on.unified_history or key.startswith("tg/"):
            others += entries
    left_out = Counter(item.section for item in made.left_out)
    for section, shown, found, is_on in (
        ("history_current_chat", made.current, given, on.enable_history_current_chat),
        ("history_recent", made.recent, others, on.enable_history_recent),
    ):
        count = len(found) if is_on and not host.skips_history else 0
        assert len(shown) + left_out[section] == count, section


def said(lines: list[str]) -> list[str]:
    return [line.rsplit(": ", 1)[1].strip('"') for line in lines]


def test_p24_p30_the_newest_stay_of_stored_and_live_with_the_title_of_their_neighbours() -> None:
    made = build([row(n) for n in range(1, 6)], host=live(row(6), row(7)), count=4)
    assert said(made.current) == ["m4", "m5", "m6", "m7"] and [item.reason for item in made.left_out] == ["limit"] * 3
    made = build(recent=[row(1, chat="tg/2", title="Club")], host=live(row(2, chat="tg/2")))
    assert [line.split("]")[0] for line in made.recent] == ["[from Club", "[from Club"]


def test_p25_a_line_of_another_conversation_never_reads_like_one_of_this() -> None:
    """A sender who calls himself `[from web/2] Bob` must not double a line of that conversation."""
    own = row(1, "x", sender_name="[from web/2] Bob", time=None)
    made = build([own], [row(2, "x", chat="web/2", time=None)])
    assert made.current == ['(from web/2) Bob: "x"'] and made.recent == ['[from web/2] Bob: "x"']


@pytest.mark.parametrize("values", list(product((0, 1), repeat=3)))
def test_p26_a_list_is_empty_exactly_when_its_own_switch_is_off(values: tuple[int, int, int]) -> None:
    flags = dict(zip(("enable_history_current_chat", "enable_history_recent", "unified_history"), values, strict=True))
    made = build([row(1)], [row(2, chat="web/2")], live(row(4), row(5, chat="tg/2")), **flags)
    assert (bool(made.current), bool(made.recent)) == (bool(values[0]), bool(values[1]))


def test_p32_a_hidden_row_keeps_its_live_copy_out_and_no_other_row_of_the_same_words() -> None:
    hidden = row(1, "gone", message_id="m1", hidden=True)
    made = build([hidden], host=live(row(1, "gone", message_id="m1"), row(2)))
    assert said(made.current) == ["m2"] and sorted(item.reason for item in made.left_out) == ["duplicate", "hidden"]
    hidden, shown = row(1, "yes", message_id="1", hidden=True), row(1, "yes", message_id="2", row_id=2)
    assert said(build([hidden, shown]).current) == ["yes"]


TEXTS = st.sampled_from(["yes", "YES ", "no", " ", "the question", "[beat] x", '"\n'])
ROWS = st.builds(row, st.integers(0, 121), TEXTS, chat=st.sampled_from(["tg/1", "tg/2", "tg/-1", "web/1"]),
                 message_id=st.sampled_from([None, "1", "2", "99"]), sender_id=st.sampled_from(["", "self", "7"]),
                 hidden=st.booleans(), excluded=st.booleans())  # fmt: skip
NO_TIME = ROWS.map(lambda entry: dataclasses.replace(entry, time=None))
MESSAGES = st.lists(ROWS | ROWS | NO_TIME, max_size=14)


@given(MESSAGES, MESSAGES, st.integers(0, 5), st.booleans())
@settings(max_examples=100, deadline=None)
def test_p24_p25_p60_for_any_messages_the_lists_are_capped_sorted_apart_and_accounted_for(
    stored: list[HistoryEntry], host: list[HistoryEntry], count: int, unified: bool
) -> None:
    parts = ([entry for entry in stored if (entry.conversation == "tg/1") is is_own] for is_own in (True, False))
    made = build(*parts, live(*host), count, lambda key: "private" if key == "web/1" else "", unified_history=unified)
    assert len(made.recent) <= count and len(made.current) <= count and not set(made.current) & set(made.recent)
    for (line, one), (again, other) in combinations(zip(made.current, made.visible, strict=False), 2):
        assert line != again or (one.message_id and other.message_id and one.message_id != other.message_id)
    assert len(made.visible) == len(made.current) + len(made.recent)
    assert all(len(line.splitlines()) == 1 for line in (*made.current, *made.recent))
    for part in (made.visible[: len(made.current)], made.visible[len(made.current) :]):
        times = [entry.time for entry in part if entry.time is not None]
        assert times == sorted(times)
    asked = ("the question", "tg/1", "7")
    echoes = [entry.time for entry in made.visible if (entry.text, entry.conversation, entry.sender_id) == asked]
    assert all(time is not None and NOW - time > timedelta(seconds=60) for time in echoes)


# When two messages are one: nobody wants to read a line twice, nor lose one that was said twice


def merge(stored: list[HistoryEntry], live: list[HistoryEntry]) -> tuple[list[HistoryEntry], list[LeftOut]]:
    def chat(entries: list[HistoryEntry], key: str) -> list[HistoryEntry]:
        return [entry for entry in entries if entry.conversation == key]

    host = LiveHistory({key: chat(live, key) for key in dict.fromkeys(entry.conversation for entry in live)})
    message = IncomingMessage("99", NOW, "?", "tg", "tg/1")
    builder = HistoryBuilder(message, host, Settings(), Caps(99, 99, 9), lambda _: "")
    lists = builder.build(chat(stored, "tg/1"), chat(stored, "tg/10"))
    return lists.visible, lists.left_out


def at_second(text: str = "yes", seconds: float | None = 0.0, **fields: object) -> HistoryEntry:
    at = None if seconds is None else NOW + timedelta(seconds=seconds)
    return HistoryEntry(**{"conversation": "tg/1", "text": text, "time": at, "sender_name": "Ann", **fields})  # type: ignore[arg-type]


def oracle(a: HistoryEntry, b: HistoryEntry) -> bool:
    """P23 spelt out for a pair."""
    if a.conversation != b.conversation:
        return False
    if a.message_id and a.message_id == b.message_id:
        return True
    if a.message_id and b.message_id:
        return False
    if collapsed(body(a, zone=UTC, now=None)) == collapsed(body(b, zone=UTC, now=None)):
        return True
    both = a.sender_id and b.sender_id
    same_sender = a.sender_id == b.sender_id if both else collapsed(sender(a)) == collapsed(sender(b))
    near = a.time is None or b.time is None or abs(a.time - b.time) < timedelta(seconds=5)
    return bool(same_sender) and collapsed(a.text) == collapsed(b.text) and near


def test_p23_b_the_nearest_of_several_equal_texts_counts() -> None:
    """Two rows of one text in one stretch of 5 s: only the later one is near to a copy in the next stretch."""
    early = at_second(seconds=55, message_id="1", row_id=1)
    late = at_second(seconds=59, message_id="2", row_id=2, reply=ReplyNote("Bob", "?"))
    before = at_second(seconds=50, message_id="3", row_id=3, reply=ReplyNote("Bob", "!"))
    assert merge([early, late], [at_second(seconds=60)])[0] == [early, late]
    assert len(merge([early, late], [at_second(seconds=64)])[0]) == 3
    assert merge([early, late, before], [at_second(seconds=-1)])[0][0].time == at_second(seconds=-1).time
    near = at_second(seconds=60, message_id="4", row_id=4)
    far = at_second(seconds=64, message_id="5", row_id=5, sender_name="ANN", reply=ReplyNote("Bob", "?"))
    assert merge([near, far], [at_second(seconds=58)])[0] == [near, far]


def test_p24_the_order_is_chronological_stored_before_live_and_the_hosts_where_no_time_is() -> None:
    stored = [at_second("c", 3, row_id=3), at_second("a", 1, row_id=1), at_second("unreadable", None, row_id=9)]
    live = [at_second("d", 3, order=0), at_second("b", 2, order=1), at_second("e", 3, order=2)]
    assert [entry.text for entry in merge(stored, live)[0]] == ["unreadable", "a", "b", "c", "d", "e"]
    stored = [at_second("row 1", 1, row_id=1), at_second("row 5", 5, row_id=5)]
    said = (("first", None), ("three", 3), ("after three", None))
    between = [at_second(text, seconds, order=order) for order, (text, seconds) in enumerate(said)]
    assert [entry.text for entry in merge(stored, between)[0]] == ["row 1", "first", "three", "after three", "row 5"]
    assert [entry.text for entry in merge(stored, [at_second("now", None)])[0]] == ["row 1", "row 5", "now"]


ENTRIES = st.lists(st.builds(
    at_second, text=st.sampled_from(["yes", " YES", "no"]), sender_name=st.sampled_from(["Ann", "ann", "Bob"]),
    seconds=st.none() | st.sampled_from([0.0, 2.0, 4.999999, 5.0, 7.5, 10.0, 61.0]),
    sender_id=st.sampled_from(["", "u1", "u2"]), message_id=st.sampled_from([None, None, "1", "2", "3"]),
    conversation=st.sampled_from(["tg/1", "tg/10"]),
), max_size=12)  # fmt: skip


@given(ENTRIES, ENTRIES)
@settings(max_examples=100)
def test_p23_merging_keeps_one_of_each_and_stored_ones_first(stored: Any, live: Any) -> None:
    kept, left_out = merge(stored, live)
    assert len(kept) + len(left_out) == len(stored) + len(live)
    assert not any(oracle(a, b) for i, a in enumerate(kept) for b in kept[:i])
    assert all(any(oracle(entry, other) for other in kept) for entry in (*stored, *live))
    only_stored = merge(stored, [])[0]
    assert [entry for entry in kept if any(entry is row for row in only_stored)] == only_stored


# What is never a line: noise, hidden rows, and the very message that is being answered

YES = IncomingMessage("9", NOW, "Yes", "tg", "tg/1", Sender("7", "Ann B", "ann"))


@pytest.mark.parametrize(("entry", "reason"), [
    (HistoryEntry("webui/-1", "hm", sender_id="self", role="persona"), "noise"),
    (HistoryEntry("webui/-1", "hm", sender_id="ann"), ""),
    (HistoryEntry("webui/-12", "hm", sender_id="self", role="persona"), ""),
    (HistoryEntry("webui/1", "hm", sender_id="self", role="persona"), ""),
    (HistoryEntry("webui/1", "hm", role="thought"), "noise"),
    (HistoryEntry("a", "  "), "blank"), (HistoryEntry("a", "\n\x00"), "blank"), (HistoryEntry("a", "hi"), ""),
    (HistoryEntry("a", "hi", hidden=True), "hidden"), (HistoryEntry("a", "hi", excluded=True), "excluded"),
])  # fmt: skip
def test_p32_blank_hidden_excluded_and_monologue_are_not_rendered(entry: HistoryEntry, reason: str) -> None:
    assert why_not_shown(entry) == reason


def near(seconds: float | None, text: str = "yes ", **fields: str) -> HistoryEntry:
    time = None if seconds is None else NOW + timedelta(seconds=seconds)
    return HistoryEntry(**{"conversation": "tg/1", "text": text, "time": time, **(fields or {"sender_id": "7"})})  # type: ignore[arg-type]


def test_p33_the_message_is_known_by_its_id_or_by_sender_text_and_time() -> None:
    is_echo, same_id = echo_check(YES), near(-9999, "other", message_id="9")
    same_sender = [near(0, sender_id="tg/7"), near(0, username="ANN"), near(0, sender_name="Ann B")]
    assert all(map(is_echo, [same_id, near(-60), near(60), near(None), *same_sender]))
    elsewhere = [near(0, "other", message_id="9", conversation="tg/2"), near(0, conversation="tg/2", sender_id="7")]
    others = [near(0, "other", message_id="90"), near(-60.000001), near(0, "yes!")]
    others += [near(0, sender_id="8", sender_name="Ann B"), HistoryEntry("tg/1", "yes", time=NOW)]
    assert not any(map(is_echo, [*elsewhere, *others]))
    nowhere = IncomingMessage("9", NOW, "yes", "tg", None)
    assert not echo_check(nowhere)(HistoryEntry("tg/1", "yes", message_id="9"))
    assert not echo_check(IncomingMessage(None, NOW, "", "tg", "tg/1"))(HistoryEntry("tg/1", "", time=NOW))
