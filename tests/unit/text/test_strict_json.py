"""P18: whatever a hook hands in, the prompt is strict JSON and the caller's value stays as it was."""

import json
import math
from collections import UserDict
from copy import deepcopy
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text import strict_json
from core.text.strict_json import make_strict


class Word(str, Enum):  # noqa: UP042 - the mixed-in form is the one under test
    ONE = "one"


class Number(IntEnum):
    TWO = 2


class Thing:
    pass


class Angry(UserDict[str, Any]):
    def items(self) -> Any:
        raise RuntimeError("the canary is out")


@pytest.mark.parametrize(("given_value", "made", "noted"), [
    ("a\x00b\ud800", "ab\ufffd", False), ((1, "a"), [1, "a"], False), (float("inf"), None, True),
    (datetime(2026, 3, 10, 12, tzinfo=UTC), "2026-03-10T12:00:00+00:00", True),
    (datetime(2026, 3, 10, 12), "2026-03-10T12:00:00+00:00", True),  # noqa: DTZ001 - naive is UTC
    (date(2026, 3, 10), "2026-03-10", True), ({3, 10, 2}, [2, 3, 10], True),
    ({"b", 2, None, True, (1, 2)}, [None, True, 2, "b", [1, 2]], True),
    (b"secret", "bytes", True), (Thing(), "Thing", True), (Decimal("2.50"), 2.5, True), (Decimal(3), 3, True),
    (Decimal("1e400"), None, True), (10**5000, "int", True), (Word.ONE, "one", False), (Number.TWO, 2, False),
    (Angry(), "Angry", True),
], ids=lambda value: type(value).__name__)  # fmt: skip
def test_p18_each_kind_of_value(given_value: Any, made: Any, noted: bool) -> None:
    value, notes = make_strict({"k": [given_value]})
    assert value == {"k": [made]} and make_strict({"k": given_value})[0] == {"k": made}
    assert type(value["k"][0]) is type(made) and bool(notes) is noted
    json.loads(json.dumps(value, allow_nan=False))


def test_p18_keys_become_text() -> None:
    value, notes = make_strict({1: "a", None: "b", 2.5: "c", date(2026, 3, 10): "d", ("x",): "e", "f\x00": "f"})
    assert value == {"1": "a", "null": "b", "2.5": "c", "2026-03-10": "d", "tuple": "e", "f": "f"}
    assert len(notes) == 5 and make_strict({True: 1, False: 2})[0] == {"true": 1, "false": 2}
    value, notes = make_strict({1: "a", "1": "the later wins"})
    assert value == {"1": "the later wins"} and any("two keys" in note for note in notes)


def test_p18_nesting_beyond_100_and_what_holds_itself_become_names_of_types(monkeypatch: pytest.MonkeyPatch) -> None:
    deep: Any = "end"
    for _ in range(100):
        deep = [deep]
    assert make_strict(deep) == (deep, [])
    value, notes = make_strict([deep])
    for _ in range(100):
        value = value[0]
    assert (value, len(notes)) == ("list", 1)
    loop: dict[str, Any] = {"a": 1}
    loop["self"] = [loop, loop]
    value, notes = make_strict(loop)
    assert (value, len(notes)) == ({"a": 1, "self": ["dict", "dict"]}, 2)
    # a structure that unfolds without end is bounded
    monkeypatch.setattr(strict_json, "MAX_NODES", 10_000)
    bomb: Any = ["x"]
    for _ in range(60):
        bomb = [bomb] * 10
    value, notes = make_strict(bomb)
    assert len(json.dumps(value)) < 500_000 and notes


def test_p18_notes_hold_no_text_and_are_bounded() -> None:
    said = "the canary sang"
    _, notes = make_strict({said: float("nan"), "ok": {said: {b"x"}, "raw": said.encode()}, "many": [b""] * 500})
    assert "canary" not in " ".join(notes)
    assert len(notes) == strict_json.MAX_NOTES + 1 and notes[-1] == "454 more values were changed"


def test_g12_the_argument_stays_and_shares_no_container() -> None:
    given_value = {"a": [1, {"b": {2}}], "d": (date(2026, 1, 1),)}
    before = deepcopy(given_value)
    value, _ = make_strict(given_value)
    value["a"][1]["b"].append(3)
    value["a"].append(4)
    assert given_value == before


anything = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(st.characters()), st.binary(), st.dates(),
        st.datetimes(), st.decimals(),
    ),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text() | st.integers() | st.none() | st.booleans(), inner)
        | st.tuples(inner, inner)
        | st.frozensets(st.integers() | st.text())
    ),
    max_leaves=20,
)  # fmt: skip


@given(anything)
def test_p18_anything_becomes_strict_json_that_stays_as_it_is(value: Any) -> None:
    made, _ = make_strict(value)
    text = json.dumps(made, ensure_ascii=False, allow_nan=False)
    text.encode("utf-8")
    assert json.loads(text) == made and make_strict(made) == (made, [])


def test_g13_sets_come_in_one_order() -> None:
    words = [f"w{n}" for n in range(50)]
    assert make_strict(set(words))[0] == make_strict(dict.fromkeys(reversed(words)).keys())[0] == sorted(words)
    assert not math.isnan(make_strict({1.5, 2})[0][0])
