"""S14, S30: how an answer is joined to a running recap, and what of it fits."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.stories.running.parts import Story, combine, extend, fit, read_story, split_sentences


def test_s30_a_resolved_point_leaves_open() -> None:
    former = Story(open=("find key",))
    assert combine(former, {"recap": {"resolved": ["find key"]}}).open == ()
    assert combine(former, {"recap": {"open": []}, "resolved": ["Find  key."]}).open == ()


@pytest.mark.parametrize(
    "recap",
    [
        {"resolved": "find key"},
        {"open": ["find key (resolved)"]},
        {"open": ["Resolved: find key"]},
        {"open": ["[x] find key"]},
        {"open": [{"point": "find key", "status": "resolved"}]},
        {"open": [{"text": "find key", "resolved": True}]},
        {"resolved": [{"point": "find key"}]},
        {"open": ["find key"], "resolved": ["find key"]},
        {"resolved": "- find key\n- other"},
    ],
)
def test_s30_the_ways_a_point_is_named_resolved(recap: dict[str, Any]) -> None:
    assert combine(Story(open=("find key", "pay rent")), {"recap": recap}).open == ("pay rent",)


def test_s30_developments_are_appended_and_the_state_is_replaced() -> None:
    former = Story(("a", "b"), ("q",), "old", (("Ada", "a friend"), ("Tofu", "a cat")))
    reply = {
        "recap": {"developments": ["b", "c"], "open": ["q", "r"], "state": "new"},
        "entities": {"Ada": "moved to Rome", "Rome": ""},
    }
    assert combine(former, reply) == Story(
        ("a", "b", "c"), ("q", "r"), "new", (("Ada", "moved to Rome"), ("Tofu", "a cat"), ("Rome", ""))
    )
    assert combine(former, {"recap": {}}) == former
    assert combine(former, {"recap": {"state": " "}}).state == "old"


def test_s30_a_point_that_only_speaks_of_resolving_stays() -> None:
    assert combine(Story(), {"recap": {"open": ["resolve the quarrel", "resolved issues come up again"]}}).open == (
        "resolve the quarrel",
        "resolved issues come up again",
    )


@pytest.mark.parametrize(
    "reply",
    [
        {"developments": ["c"]},
        {"recap": {"developments": "- c\n"}},
        {"recap": "c"},
        {"recap": ["c"]},
        {"recap": {"developments": [{"text": "c"}, None, ["", "  "], True]}},
    ],
)
def test_s30_looser_forms_are_read_too(reply: dict[str, Any]) -> None:
    assert combine(Story(("a",)), reply).developments == ("a", "c")


@pytest.mark.parametrize(
    "entities",
    [
        {"Ada": "a friend"},
        ["Ada: a friend"],
        [{"name": "Ada", "description": "a friend"}],
        [{"name": "Ada", "type": "person", "content": "a friend"}],
    ],
)
def test_s30_entities_in_several_forms(entities: Any) -> None:
    assert combine(Story(), {"recap": {}, "entities": entities}).entities == (("Ada", "a friend"),)


_texts = st.lists(st.text("abc .\n", max_size=6).map(str.strip).filter(bool), max_size=4)
_any = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["open", "state", "text"]), inner),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["recap", "open", "developments", "state", "entities", "resolved"]), _any))
def test_s30_no_answer_breaks_it_or_loses_a_development(reply: dict[str, Any]) -> None:
    former = Story(("a", "b"), ("q",), "s")
    made = combine(former, reply)
    assert made.developments[:2] == ("a", "b")
    assert read_story(made.as_data()) == made


def test_s30_read_gives_back_what_was_stored() -> None:
    story = Story(("a",), ("o",), "s", (("E", "x"), ("F", "")))
    assert read_story(story.as_data()) == story
    assert read_story({"recap": 7}, "text ") == Story(("text",))
    assert read_story(None, "  ") == Story()


def test_extend_has_no_state_of_before() -> None:
    assert extend(Story(("a",), ("o",), "s"), ["b", "a", " "]) == Story(("a", "b"), ("o",))


def _show(story: Story) -> str:
    return "\n".join([*story.developments, *(n for n, _ in story.entities), *story.open, story.state]).strip()


def test_s14_the_oldest_developments_go_first() -> None:
    story = Story(("d1", "d2", "d3"), ("o1", "o2"), "now", (("e1", ""), ("e2", "")))
    sizes = [fit(story, _show, lambda text, n=n: len(text) <= n) for n in range(24, -1, -1)]  # type: ignore[misc]
    texts = list(dict.fromkeys(made.text.replace("\n", " ") for made in sizes))
    assert texts == [
        "d1 d2 d3 e1 e2 o1 o2 now",
        "d2 d3 e1 e2 o1 o2 now",
        "d3 e1 e2 o1 o2 now",
        "e1 e2 o1 o2 now",
        "e2 o1 o2 now",
        "o1 o2 now",
        "o2 now",
        "now",
        "",
    ]
    assert [made.dropped for made in sizes][::3][:3] == [0, 1, 2]
    assert sizes[-1].dropped == 8


def test_s14_a_long_development_loses_sentences_at_its_beginning() -> None:
    made = fit(Story(("old", "One. Two. Three.")), _show, lambda text: len(text) <= 12)
    assert (made.text, made.dropped) == ("Two. Three.", 1)
    assert fit(Story(("x" * 50,)), _show, lambda text: len(text) <= 12).text == ""


@given(_texts, _texts, st.text("ab", max_size=5), st.integers(0, 40))
def test_s14_what_fits_is_within_the_limit_and_stays_at_every_higher_one(
    told: list[str], points: list[str], state: str, limit: int
) -> None:
    story = Story(tuple(told), tuple(points), state)
    made = fit(story, _show, lambda text: len(text) <= limit)
    more = fit(story, _show, lambda text: len(text) <= limit + 3)
    assert len(made.text) <= limit
    assert more.text.endswith(made.text)
    assert more.dropped <= made.dropped


@given(st.text(max_size=60))
def test_sentences_make_up_the_text_again(text: str) -> None:
    assert "".join(split_sentences(text)) == text
