"""P51: the size of a prompt is what is sent, less the base64 text of media."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.sizes import size, to_json

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5),
    max_leaves=25,
)


@given(values)
def test_p51_size_is_the_length_of_the_json(value: Any) -> None:
    assert size(value) == len(to_json(value)) == len(json.dumps(value, ensure_ascii=False))


@pytest.mark.parametrize("media", ["attachments", "images", "image", "audio", "documents", "videos", "video"])
@pytest.mark.parametrize("key", ["data", "base64"])
def test_p51_base64_of_media_is_left_out(media: str, key: str) -> None:
    for holder in ({key: "A" * 1025}, [{"name": "x", "deep": {key: "A" * 1_000_000}}]):
        prompt = {"input": {"payload": {"text": "hi", media: holder}}}
        empty = json.loads(json.dumps(prompt).replace("A" * 1025, "").replace("A", ""))
        assert size(prompt) == len(to_json(empty))
        assert size(prompt) < 120


def test_p51_other_texts_count_in_full() -> None:
    long = "A" * 2000
    assert size({"image": {"data": "A" * 1024}}) > 1024
    assert size({"image": {"url": long}}) > 2000
    assert size({"data": long}) > 2000
    assert size({"memories": [{"data": long}]}) > 2000
    assert size({"image": long}) > 2000
    assert size({"image": {"data": [long]}}) > 2000


@pytest.mark.parametrize("bad", [{"x": float("nan")}, {"x": {1}}, {("a",): 1}, {"x": b""}], ids=repr)
def test_p18_what_is_no_json_is_made_so_when_it_is_written(bad: Any) -> None:
    json.loads(to_json(bad))
    assert size(bad) == len(to_json(bad))
