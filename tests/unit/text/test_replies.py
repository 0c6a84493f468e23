"""G22: what a model answered is read in one order, mended where it is nearly right, and never makes anything hang."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.replies import MAX_CHARS, MAX_KEY_CHARS, read_object
from core.text.strict_json import make_strict

TRIP = {"title": "Trip", "summary": "Ok."}
KEYS = ("title", "summary")
PLAIN = '{"title": "Trip", "summary": "Ok."}'

READ = {
    "fenced with json": f"Here it is:\n```json\n{PLAIN}\n```\nAnything else?",
    "fenced bare": f"```\n{PLAIN}\n```",
    "fenced on one line": f"```json {PLAIN} ```",
    "fenced, not closed": f"```json\n{PLAIN}",
    "words around an object": f"Sure! {PLAIN} Have fun.",
    "plain object": PLAIN,
    "line breaks in it": '{\n  "title": "Trip",\n  "summary": "Ok."\n}',
    "two objects": '{"note": 1} ' + PLAIN,
    "the fitting one first": PLAIN + ' {"note": 1}',
    "a smile before": "{smiles} {} { " + PLAIN,
    "inside another": '{"answer": ' + PLAIN + "}",
    "trailing comma": '{"title": "Trip", "summary": "Ok.",}',
    "missing comma between lines": '{"title": "Trip"\n"summary": "Ok."}',
    "missing comma": '{"title": "Trip" "summary": "Ok."}',
    "single quotes": "{'title': 'Trip', 'summary': 'Ok.'}",
    "no quotes around keys": '{title: "Trip", summary: "Ok."}',
    "no quotes at all": "{title: Trip, summary: Ok.}",
    "curly quotes": "{“title”: “Trip”, “summary”: “Ok.”}",
    "wide punctuation": '{"title"："Trip"，"summary"："Ok."}',
    "comments": '{"title": /* why */ "Trip", // a line\n /* two\nlines */ "summary": "Ok." # the end\n}',
    "cut off behind a text": '{"title": "Trip", "summary": "Ok."',
    "cut off in a text": '{"title": "Trip", "summary": "Ok.',
    "a fence inside a think-block": '<think>```json\n{"title": "no"}\n```</think>\n' + PLAIN,
}


@pytest.mark.parametrize("reply", READ.values(), ids=READ.keys())
def test_g22_an_object_is_found_wherever_and_however_it_stands(reply: str) -> None:
    """Small models wrap their answer in words, fences and thoughts, and write JSON by ear."""
    assert read_object(reply, KEYS) == TRIP


NOTHING = {
    "no JSON": "We talked about the trip to Rome.",
    "empty": "",
    "another object": '{"note": 1}',
    "a list": '["title", "summary"]',
    "prose with braces": "Use { to open and } to close, {like this}.",
    "only thoughts": f"<think>{PLAIN}</think>",
    "thoughts not closed": f"<think>{PLAIN}",
}


@pytest.mark.parametrize("reply", NOTHING.values(), ids=NOTHING.keys())
def test_g22_a_reply_without_such_an_object_gives_none(reply: str) -> None:
    assert read_object(reply, KEYS) is None


def test_g22_the_first_fence_wins_over_an_object_before_it() -> None:
    """The order of the rule: fence, then the first object of the text."""
    assert read_object('{"title": "before"} ```json\n{"title": "fenced"}\n```', KEYS) == {"title": "fenced"}
    assert read_object('```\n{"note": 1}\n``` {"title": "after"}', KEYS) == {"title": "after"}


def test_g22_quotes_inside_of_a_text_belong_to_it() -> None:
    assert read_object("{'title': 'it's Bob's', 'summary': 'Ok.'}", KEYS) == {"title": "it's Bob's", "summary": "Ok."}
    said = read_object('{"title": "He said "hi", then left", "summary": "a\\"b\\n\\u00e9"}', KEYS)
    assert said == {"title": 'He said "hi", then left', "summary": 'a"b\né'}
    assert read_object("{'title': 'it\\', x: y',}", KEYS) == {"title": "it', x: y"}
    assert read_object('{"title": ["a "b", c", "d",]}', KEYS) == {"title": ['a "b", c', "d"]}


def test_g22_a_quoted_key_is_bounded_and_may_hold_its_quote() -> None:
    for chars, is_key in ((MAX_KEY_CHARS, True), (MAX_KEY_CHARS + 1, False)):
        for key in ("k" * chars, "\\'" + "k" * (chars - 2)):
            assert (read_object("{'" + key + "': 7,}", ()) is not None) == is_key
    assert read_object("{'it\\'s\\'': 7, '\\\\': 8}", ()) == {"it's'": 7, "\\": 8}


def test_g22_a_member_whose_value_is_missing_is_left_out() -> None:
    assert read_object('{"title": "Trip", "summary":', KEYS) == {"title": "Trip"}
    assert read_object('{"title": "Trip", "sum', KEYS) == {"title": "Trip"}
    assert read_object('{"title": , "summary": "Ok."}', KEYS) == {"summary": "Ok."}


def test_g22_what_fits_is_up_to_the_caller() -> None:
    reply = '{"title": 7} {"title": "Trip"}'
    assert read_object(reply, KEYS) == {"title": 7}
    assert read_object(reply, KEYS, fits=lambda found: isinstance(found["title"], str)) == {"title": "Trip"}
    assert read_object("{'title': 7,}", KEYS, fits=lambda found: False) is None
    assert read_object('{"note": 1}', ()) == {"note": 1}
    assert read_object('{"t": 1}', "title") is None, "one name is a name, not its letters"


def test_g22_too_long_or_too_deep_is_no_answer() -> None:
    """A failure, never a hang; the caller tries again."""
    fill = " " * (MAX_CHARS - len(PLAIN))
    assert read_object(fill + PLAIN, KEYS) == TRIP
    assert read_object(fill + " " + PLAIN, KEYS) is None
    for opening, closing, levels in (('{"title": ', "}", 100), ("{title: ", "}", 100), ('{"title": [', "]}", 50)):
        assert read_object(opening * levels + "1" + closing * levels, KEYS) is not None
        assert read_object(opening * (levels + 1) + "1" + closing * (levels + 1), KEYS) is None
    assert read_object('{"title": 1, "deep": ' + "[" * 101 + "]" * 101 + "}", KEYS) is None


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["title", "x"]), values, min_size=1), st.booleans())
def test_g22_every_json_object_comes_back_as_written(value: dict[str, Any], escaped: bool) -> None:
    value = {**value, "title": value.get("title")}
    written = json.dumps(value, ensure_ascii=escaped)
    if "<" not in written and "`" not in written:
        assert read_object(f"So:\n{written}\nOk.", ("title",)) == make_strict(value)[0]


@given(st.dictionaries(st.sampled_from(["title", "summary", "x"]), values, min_size=1), st.integers(0, 200))
def test_g22_a_reply_cut_off_anywhere_gives_none_or_keys_that_were_there(value: dict[str, Any], cut: int) -> None:
    found = read_object(json.dumps(value)[:cut], ()) or {}
    assert found.keys() <= value.keys()
    whole = make_strict(value)[0]
    assert all(found[key] == whole[key] for key in [*found][:-1]), "only the last one may be cut"
