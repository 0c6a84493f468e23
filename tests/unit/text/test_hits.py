"""Matches, snippets, order and deduplication of hits (rules T20, T21, T32 to T36, F58)."""

from __future__ import annotations

import sys
import unicodedata
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.shapes import Hit, Source
from core.text.folding import clean, collapsed, fold
from core.text.hits import (
    _BREAK,
    content_digest,
    dedupe,
    diary_snippet_text,
    find_match,
    hit,
    matches_keyword,
    matches_tag,
    newest_first,
    snippet,
    snippet_around,
    snippet_of_match,
    sort_key,
)

texts = st.text(st.sampled_from("aé\u0301ßﬁ\u1100\u1161\u11a8각ｶﾞ猫😀 İ…") | st.characters(codec="utf-8"), max_size=60)


@pytest.mark.parametrize(
    ("stored", "tag", "expected"),
    [
        ('["cat","pet"]', "cat", True),
        ('["category"]', "cat", False),
        ('["cat"]', "[]", False),
        ('["cat"]', "{}", False),
        ('["cat"]', '["cat"]', False),
        (["cat"], "cat", True),
        ('{"cat": 1}', "cat", False),
        ("cat", "cat", False),
        ("[broken", "cat", False),
        (None, "cat", False),
    ],
)
def test_t20_a_tag_matches_as_a_whole_element(stored: object, tag: str, expected: bool) -> None:
    assert matches_tag(stored, tag) is expected


@pytest.mark.parametrize(
    ("text", "keyword", "expected"),
    [
        ("100% sure", "100%", True),
        ("1000 people", "100%", False),
        ("axb", "a_b", False),
        ("a_b", "a_b", True),
        ("Tofu", "TOFU", True),
        ("Straße", "strasse", True),
        ("café", "cafe", True),
        ("数学の宿題は", "宿題", True),
        ("Mr O'Brien", "O'B", True),
        ("a \\ b", "\\", True),
        ("no", "\\", False),
        ("wow!", "!", True),
        ("wow", "!", False),
    ],
)
def test_t21_a_keyword_matches_as_a_part_without_wildcards(text: str, keyword: str, expected: bool) -> None:
    assert matches_keyword(fold(text), keyword) is expected
    assert (find_match(text, [keyword]) is not None) is expected


def made(source: Source, number: int, time: object) -> Hit:
    return hit(source, number, time, "text", [])


def test_t32_newest_first_then_source_then_the_greater_id() -> None:
    ten, eleven = "2026-03-10T10:00:00+00:00", "2026-03-10T11:00:00+00:00"
    hits = [
        made("chat_history", 7, ten),
        made("memories", 3, ten),
        made("ai_diary", 5, "never"),
        made("memories", 9, ten),
        made("ai_diary", 1, eleven),
    ]
    assert [(found["source"], found["id"]) for found in newest_first(hits)] == [
        ("ai_diary", 1),
        ("memories", 9),
        ("memories", 3),
        ("chat_history", 7),
        ("ai_diary", 5),
    ]
    assert newest_first(reversed(hits)) == newest_first(hits)


def test_t32_one_microsecond_decides() -> None:
    """Times near the limits of floating point must still come in order."""
    moment = datetime(2026, 3, 10, 12, tzinfo=UTC)
    hits = [made("memories", n, moment + timedelta(microseconds=n)) for n in range(20)]
    assert [found["id"] for found in newest_first(hits)] == list(range(19, -1, -1))
    assert sort_key(hits[1]) < sort_key(hits[0])


def test_t33_a_hit_has_exactly_its_keys_in_order() -> None:
    found = hit("memories", 7, datetime(2026, 3, 10, 13, tzinfo=timezone(timedelta(hours=1))), "tea", '["food"]')
    assert list(found) == ["source", "id", "timestamp", "snippet", "tags"]
    assert found == {
        "source": "memories",
        "id": 7,
        "timestamp": "2026-03-10T12:00:00+00:00",
        "snippet": "tea",
        "tags": ["food"],
    }


def test_t33_f58_a_broken_row_is_put_right() -> None:
    for tags in ('{"a": 1}', '"food"', '["a", 7]', "[broken", None, 7, "[" * 100_000):
        assert hit("ai_diary", 1, "2026-03-10", "", tags)["tags"] == []
    assert hit("chat_history", 1, "2026-03-10", "", '["food"]')["tags"] == []
    for time in (None, "", "0000-00-00 00:00:00", "soon", float("nan"), object()):
        assert hit("memories", 1, time, "", [])["timestamp"] == ""


@pytest.mark.parametrize(("length", "expected"), [(399, 399), (400, 400), (401, 403)])
def test_t34_a_snippet_is_400_characters_and_three_dots(length: int, expected: int) -> None:
    assert len(snippet("a" * length, 400)) == expected
    assert len(snippet("😀" * length, 400)) == expected


def test_t34_the_diary_shows_the_first_text_that_is_not_blank() -> None:
    assert diary_snippet_text("a", "b", "c", "d") == "a"
    assert diary_snippet_text(" \n", "b", "c", "d") == "b"
    assert diary_snippet_text(None, "", "c", "d") == "c"
    assert diary_snippet_text(None, None, None, "d") == "d"
    assert diary_snippet_text(None, "", " ", None) == ""


@pytest.mark.parametrize(("at", "length"), [(5000, 406), (0, 403), (9994, 403)])
def test_t35_the_snippet_stands_around_the_match(at: int, length: int) -> None:
    text = "x" * at + "needle" + "x" * (9994 - at)
    place = find_match(text, ["NEEDLE"])
    assert place == (at, 6)
    shown = snippet_around(text, *place, 400)
    assert len(shown) == length
    assert "needle" in shown
    assert snippet_of_match([None, "nothing", text], ["needle"], 400) == shown
    assert snippet_of_match([None, "nothing"], ["needle"], 400) is None


def test_t35_a_short_text_comes_whole_and_a_long_match_from_its_beginning() -> None:
    assert snippet_around("a cat", 2, 3, 400) == "a cat"
    assert snippet_around("ab" + "c" * 500 + "d", 2, 500, 400) == "..." + "c" * 400 + "..."


def test_t35_the_first_match_counts_and_folding_does_not_move_it() -> None:
    for keywords in (["tea", "fine"], ["fine", "tea"], ["fi", "fine", "tea"]):
        assert find_match("ß ß ﬁne tea", keywords) == (4, 3)
    assert find_match("ﬁﬁﬁ" * 1000 + "tea", ["tea"]) == (3000, 3)
    assert find_match("e\u0301" * 3000 + "tea", ["tea"]) == (6000, 3)
    assert find_match("😀" * 3000 + "tea", ["😀tea"]) == (2999, 4)
    assert find_match("Cafe\u0301", ["café"]) == (0, 5)
    assert find_match("a", [""]) is None


@given(texts, st.data())
def test_t35_the_place_found_holds_the_keyword(text: str, data: st.DataObject) -> None:
    """The window must show what matched, whatever folding does to the lengths."""
    folded = fold(text)
    start = data.draw(st.integers(0, len(folded)))
    keyword = folded[start : data.draw(st.integers(start, len(folded)))]
    place = find_match(text, [keyword])
    if fold(clean(keyword)) and fold(clean(keyword)) in folded:
        assert place is not None
        at, length = place
        assert 0 <= at < at + length <= len(text)
        assert fold(clean(keyword)) in fold(text[at : at + length])


def test_t35_texts_may_be_cut_where_the_break_says() -> None:
    """Each character before which a text is cut must fold alike with and without any character in front."""
    seconds = set()
    for code in range(sys.maxunicode + 1):
        parts = unicodedata.decomposition(chr(code)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            seconds.add(chr(int(parts[1], 16)))
    joining = seconds | {chr(code) for code in (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))}
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        first = unicodedata.normalize("NFKD", char)[0]
        if unicodedata.combining(first) or (unicodedata.normalize("NFKC", char)[0] in joining and not char.isascii()):
            starts_composing = unicodedata.combining(first) or unicodedata.category(first)[0] == "M"
            if starts_composing or 0x1100 <= ord(first) <= 0x11FF:
                assert not _BREAK.match(char), hex(code)


def test_t36_the_first_of_equal_rows_stays() -> None:
    rows = [
        ("memories", 1691, "jay likes tea"),
        ("memories", 1690, "Jay  likes tea"),
        ("memories", 7, "one"),
        ("memories", 7, "one"),
        ("ai_diary", 7, "another text"),
        ("memories", 20, "a" * 400 + "b" * 100),
        ("memories", 21, "a" * 400 + "c" * 100),
    ]
    kept = dedupe(rows, identity=lambda row: (row[0], row[1], row[2][:400]), content=lambda row: row[2])
    assert [row[:2] for row in kept] == [
        ("memories", 1691),
        ("memories", 7),
        ("ai_diary", 7),
        ("memories", 20),
        ("memories", 21),
    ]
    by_digest = dedupe(rows, identity=lambda row: (row[0], row[1], row[2]), content=lambda row: content_digest(row[2]))
    assert by_digest == kept
    windows = [("memories", 7, "x" * 80 + "y"), ("memories", 7, "x" * 80 + "z"), ("memories", 7, "x" * 79)]
    assert dedupe(windows, identity=lambda row: row, content=lambda row: None) == [windows[0], windows[2]]
    assert dedupe(rows[2:4], identity=lambda row: row, content=lambda row: None) == rows[2:3]


@given(st.lists(st.tuples(st.sampled_from(["memories", "ai_diary"]), st.integers(0, 4), st.sampled_from("abA "))))
def test_t36_deduplication_is_idempotent_and_keeps_the_first(rows: list[tuple[str, int, str]]) -> None:
    def once(given_rows: list[tuple[str, int, str]]) -> list[tuple[str, int, str]]:
        return dedupe(given_rows, identity=lambda row: row, content=lambda row: row[2])

    kept = once(rows)
    assert once(kept) == kept
    assert kept[:1] == rows[:1]
    assert {collapsed(row[2]) for row in kept} == {collapsed(row[2]) for row in rows}


def test_t36_the_digest_follows_the_collapsed_text() -> None:
    assert content_digest("Jay  likes\ntea") == content_digest("jay likes TEA ")
    assert content_digest("tea") != content_digest("teas")
    assert len(content_digest("\ud800\x00")) == 32
