"""When two messages are one: nobody wants to read a line twice, nor lose one that was said twice."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from core.config import Settings
from core.context.context import Caps
from core.context.history import HistoryBuilder
from core.context.incoming import IncomingMessage
from core.context.lines import body, sender
from core.context.live import LiveHistory
from core.shapes import HistoryEntry, LeftOut, ReplyNote
from core.text.folding import collapsed

AT = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)


def plain_line(entry: HistoryEntry) -> str:
    return body(entry, zone=UTC, now=None)


def merge(stored: list[HistoryEntry], live: list[HistoryEntry]) -> tuple[list[HistoryEntry], list[LeftOut]]:
    """Return what is shown of the messages, those of the conversation first, and what is left out."""
    chats: dict[str, list[HistoryEntry]] = {}
    for entry in live:
        chats.setdefault(entry.conversation, []).append(entry)
    message = IncomingMessage("99", AT, "?", "tg", "tg/1")
    builder = HistoryBuilder(message, LiveHistory(chats), Settings(), Caps(99, 99, 5, 9), lambda _: "")
    lists = builder.build(
        [entry for entry in stored if entry.conversation == "tg/1"],
        [entry for entry in stored if entry.conversation != "tg/1"],
    )
    return lists.visible, lists.left_out


def said(text: str = "yes", seconds: float | None = 0.0, **fields: object) -> HistoryEntry:
    at = None if seconds is None else AT + timedelta(seconds=seconds)
    return HistoryEntry(**{"conversation": "tg/1", "text": text, "time": at, "sender_name": "Ann", **fields})  # type: ignore[arg-type]


def oracle(a: HistoryEntry, b: HistoryEntry) -> bool:
    """P23 spelt out for a pair."""
    if a.conversation != b.conversation:
        return False
    if a.message_id and a.message_id == b.message_id:
        return True
    if collapsed(plain_line(a)) == collapsed(plain_line(b)):
        return True
    if a.message_id and b.message_id:
        return False
    both = a.sender_id and b.sender_id
    same_sender = a.sender_id == b.sender_id if both else collapsed(sender(a)) == collapsed(sender(b))
    near = a.time is None or b.time is None or abs(a.time - b.time) < timedelta(seconds=5)
    return bool(same_sender) and collapsed(a.text) == collapsed(b.text) and near


def test_p23_b_the_nearest_of_several_equal_texts_counts() -> None:
    """Two rows of one text in one stretch of 5 s: only the later one is near to a copy in the next stretch."""
    early = said(seconds=55, message_id="1", row_id=1)
    late = said(seconds=59, message_id="2", row_id=2, reply=ReplyNote("Bob", "?"))
    before = said(seconds=50, message_id="3", row_id=3, reply=ReplyNote("Bob", "!"))
    assert merge([early, late], [said(seconds=60)])[0] == [early, late]
    assert len(merge([early, late], [said(seconds=64)])[0]) == 3
    assert merge([early, late, before], [said(seconds=-1)])[0][0].time == said(seconds=-1).time
    near, far = (
        said(seconds=60, message_id="4", row_id=4),
        said(seconds=64, message_id="5", row_id=5, sender_name="ANN"),
    )
    far = replace(far, reply=ReplyNote("Bob", "?"))
    assert merge([near, far], [said(seconds=58)])[0] == [near, far]


def test_p24_the_order_is_chronological_and_stored_before_live() -> None:
    stored = [said("c", 3, row_id=3), said("a", 1, row_id=1), said("unreadable", None, row_id=9)]
    live = [said("d", 3, order=0), said("b", 2, order=1), said("e", 3, order=2)]
    assert [entry.text for entry in merge(stored, live)[0]] == ["unreadable", "a", "b", "c", "d", "e"]


def test_p24_a_live_message_without_a_time_stays_where_the_host_put_it() -> None:
    stored = [said("row 1", 1, row_id=1), said("row 5", 5, row_id=5)]
    between = [said("first", None, order=0), said("three", 3, order=1), said("after three", None, order=2)]
    assert [entry.text for entry in merge(stored, between)[0]] == ["row 1", "first", "three", "after three", "row 5"]
    assert [entry.text for entry in merge(stored, [said("now", None)])[0]] == ["row 1", "row 5", "now"]


ENTRIES = st.lists(
    st.builds(
        said,
        text=st.sampled_from(["yes", " YES", "no"]),
        seconds=st.none() | st.sampled_from([0.0, 2.0, 4.999999, 5.0, 7.5, 10.0, 61.0]),
        sender_name=st.sampled_from(["Ann", "ann", "Bob"]),
        sender_id=st.sampled_from(["", "u1", "u2"]),
        message_id=st.sampled_from([None, None, "1", "2", "3"]),
        conversation=st.sampled_from(["tg/1", "tg/10"]),
    ),
    max_size=12,
)


@given(ENTRIES, ENTRIES)
@settings(max_examples=300)
def test_p23_merging_keeps_one_of_each_and_stored_ones_first(
    stored: list[HistoryEntry], live: list[HistoryEntry]
) -> None:
    kept, left_out = merge(stored, live)
    assert len(kept) + len(left_out) == len(stored) + len(live)
    assert not any(oracle(a, b) for i, a in enumerate(kept) for b in kept[:i])
    assert all(any(oracle(entry, other) for other in kept) for entry in (*stored, *live))
    only_stored = merge(stored, [])[0]
    assert [entry for entry in kept if any(entry is row for row in only_stored)] == only_stored
