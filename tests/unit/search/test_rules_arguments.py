"""Reading a search's arguments (T17, T18, T37, T38, F66 to F68)."""

from collections import defaultdict
from datetime import UTC, date, datetime

import pytest

from core.database.compiled import Shape
from core.search.rules_arguments import Exclude, read_exclude, read_keywords, read_limit, read_tags, read_time
from core.text.time import read_moment
from tests import package_modules


def test_t18_f68_limits_are_read_without_a_word_and_no_number_gives_the_default_and_a_note() -> None:
    limits = ((None, 5), (0, 5), (-3, 1), ("4", 4), (2.7, 2), (200, 200), (201, 200), (float("inf"), 200))
    for value, expected in (*limits, (-(10**400), 1)):
        assert read_limit(value) == (expected, None)
    for value in ("abc", True, float("nan"), "9" * 5000):
        limit, note = read_limit(value)
        assert limit == 5 and note is not None and "1 to 200" in note and len(note) < 250


def test_t17_blank_tags_and_keywords_are_dropped_and_those_above_48_named() -> None:
    assert read_tags([" ", None]) == read_keywords([""]) == read_tags(None) == read_keywords(None) == ([], [])
    assert read_tags([" Food", "FOOD", "Ｐizza  night"]) == (["food", "pizza night"], [])
    assert read_keywords([" Tofu ", "tofu", "a  b", 7]) == (["Tofu", "a  b", "7"], [])
    many = [f"w{n}" for n in range(50)]
    for read in (read_tags, read_keywords):
        found, (note,) = read(many)
        assert found == many[:48]
        assert "'w48'" in note and "'w49'" in note
    assert len(read_keywords([f"w{n}" for n in range(100_000)])[1][0]) < 1000


def test_f66_one_value_counts_as_a_list_of_one_and_a_nested_one_is_refused_by_name() -> None:
    assert read_tags("pizza night") == read_keywords("pizza night") == (["pizza night"], [])
    assert (read_tags(7), read_tags('["cat"]')) == ((["7"], []), (['["cat"]'], []))
    assert read_tags(("a", "b")) == read_tags({"b", "a"}) == (["a", "b"], [])
    assert read_tags({"b": 1, "a": 2}.keys()) == read_tags(tag for tag in "ba") == (["b", "a"], [])
    for read, wrong, place in ((read_tags, ["a", ["b"]], r"tags\[1\]"), (read_keywords, [("b",)], r"keywords\[0\]")):
        with pytest.raises(TypeError, match=place):
            read(wrong)


def test_f67_tags_and_keywords_too_long_or_with_nul() -> None:
    tags, (note,) = read_tags(["", "a" * 300, "c\x00at"])
    assert tags == ["cat"] and "300 bytes" in note
    keywords, (note,) = read_keywords(["k" * 401, "k" * 400, "c\x00at", "\x00"])
    assert keywords == ["k" * 400, "cat"] and "401" in note and "400" in note


def no_words(said: str) -> None:
    """Read no words of time."""


def test_t38_f68_times_in_every_accepted_form() -> None:
    noon = datetime(2026, 3, 10, 12, tzinfo=UTC)
    for value in (noon.replace(tzinfo=None), "2026-03-10T13:00:00+01:00", noon.timestamp()):
        assert read_time(value, "since", no_words) == noon
    assert read_time(None, "since", no_words) is None
    for value in ("soon", "", float("nan"), "x" * 1_000_000):  # others are refused naming the accepted forms
        with pytest.raises(ValueError, match=r"^until is .*ISO 8601.*seconds since 1970") as raised:
            read_time(value, "until", no_words)
        assert len(str(raised.value)) < 400


@pytest.mark.parametrize(
    ("value", "end"),
    [
        ("2026-03-10", "2026-03-11"), ("20260310", "2026-03-11"), (date(2026, 3, 10), "2026-03-11"),
        ("yesterday", "2026-03-10"), ("last week", "2026-03-09"), ("before last week", "2026-03-02"),
        ("2026-03-10T00:00", "2026-03-10"), (datetime(2026, 3, 10, tzinfo=UTC), "2026-03-10"),
        (20260310, "1970-08-23T11:51:50"), ("5 pm", "2026-03-10T17:00"), ("2 hours ago", "2026-03-10T18:00"),
    ],
)  # fmt: skip
def test_t38_until_includes_a_day_and_ends_before_a_time(value: object, end: str) -> None:
    now = datetime(2026, 3, 10, 20, tzinfo=UTC)
    last = read_time(value, "until", lambda said: read_moment(said, now, UTC, ("en",)))
    assert last == datetime.fromisoformat(end).replace(tzinfo=UTC)


def test_t37_pairs_and_conversation_keys_are_read_and_other_items_refused_with_their_place() -> None:
    both = read_exclude([("memories", 7), ["chat_history", "9"], "discord/42", {"source": "ai_diary", "id": 1}])
    assert both.rows == {("memories", 7), ("chat_history", 9), ("ai_diary", 1)}
    assert both.conversations == {"discord/42"}
    assert read_exclude(None) == read_exclude(()) == Exclude()
    assert read_exclude("discord/42") == Exclude(conversations=frozenset({"discord/42"}))
    assert read_exclude(("memories", 7)) == Exclude(frozenset({("memories", 7)}))
    assert read_exclude(("a/1", "b/2")).conversations == {"a/1", "b/2"} and read_exclude(both) is both
    assert read_exclude([" u1 "]).conversations == {" u1 "}
    for item in (("diary", 7), ("memories", "x"), ("memories", 2**63), ("memories", -1)):
        with pytest.raises(ValueError, match=r"exclude\[0\]"):
            read_exclude([item])


def test_no_two_kinds_of_rows_have_one_number() -> None:
    """Rows of the one would be read as the other: two changes made at a time once chose the same."""
    kinds: dict[int, set[object]] = defaultdict(set)
    for module in package_modules.load_all():
        for value in vars(module).values():
            for each in value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else (value,):
                if isinstance(each, Shape):
                    kinds[each.number].add(each.row)
    assert len(kinds) > 10 and {number: rows for number, rows in kinds.items() if len(rows) > 1} == {}
