"""R19: what a model is given beside its own request: each thing once, and everything that belongs to it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.prompt.context_text import write_context

SAID = ["My cat is called Tofu.", "My dog is called Rex.", "I like tea."]


def hits() -> list[dict[str, Any]]:
    """Hits of one source, person and tag, as most are."""
    beside = {"source": "chat_history", "timestamp": "2026-11-23T08:00:00+00:00", "tags": ["notes for later"]}
    return [{**beside, "id": n, "snippet": said, "speaker": "Alexandra"} for n, said in enumerate(SAID)]


def shown(held: list[str], **more: Any) -> list[str]:
    """Return which of the sentences stand in the text, in order."""
    text = write_context({"memories": hits(), **more}, 8000, held).text
    return [said for said in SAID if text.count(said) == 1]


def test_r19_hits_of_one_source_and_person_all_stand() -> None:
    assert shown([]) == SAID


def test_r19_a_name_or_a_word_that_is_asked_with_takes_nothing_away() -> None:
    assert shown(["Alexandra"]) == shown(["memories"]) == shown(["chat_history"]) == SAID
    lines = ['[23/11/26:0800] Alexandra: "Good morning to you"']
    assert '"Good morning' in write_context({"history_recent": lines}, 8000, ["Alexandra"]).text.replace("\\", "")


def test_r19_what_is_held_or_stands_in_another_section_is_left_out() -> None:
    assert shown(["Well. My dog is called Rex. And yours?"]) == [SAID[0], SAID[2]]
    assert shown([], history_recent=[f'[23/11/26:0800] Alexandra: "{SAID[0]}"']) == SAID


def put_in(held: list[str], **context: Any) -> str:
    return write_context(context, 8000, held).text


def test_r19_what_a_request_names_does_not_take_away_what_is_asked_about_it() -> None:
    """A question holds a part of its answer: the memory asked for stands all the same."""
    said = "My sister Eva lives in Rome with two dogs."
    for held in ("My sister Eva?", "lives in Rome", "two dogs", "Where does my sister Eva live?"):
        assert said in put_in([held], memories=[{"id": 1, "snippet": said}]), held
    wish = "Call me Captain Ahab from now on."
    assert wish in put_in(["Captain Ahab"], standing_wishes=[{"text": wish}])
    answer = '[1m] Iris: "Answer 1: you said My cat is called Tofu."'
    assert "you said My cat is called Tofu." in put_in([SAID[0]], history_recent=[answer])


def test_r19_of_what_says_more_only_the_sentence_that_is_held_is_cut() -> None:
    text = "Thank you! My flight leaves on Friday at nine."
    shown = put_in(
        ["Thank you so much", "Thank you", "When does my flight leave?"], memories=[{"id": 1, "snippet": text}]
    )
    assert '"… My flight leaves on Friday at nine."' in shown and "Thank you" not in shown
    lines = [
        f'[1m] Ann [replied to Bob: "How is she?"]: "{SAID[0]} She is grey, says \\"Bob\\"."',
        f'[2m] Bob: "{SAID[0]}"',
    ]
    kept = json.loads(put_in([], memories=[{"id": 1, "snippet": SAID[0]}], history_recent=lines).partition("\n")[2])
    assert kept["history_recent"] == ['[1m] Ann [replied to Bob: "How is she?"]: "… She is grey, says \\"Bob\\"."']


def test_r19_what_is_kept_of_a_text_stays_as_it_is() -> None:
    """Numbers, addresses and code have points in them that end no sentence."""
    kept = "It reads 3.14 volts, see https://example.com/a.b?x=1 for v1.2.3\n\n    a = b.c.d(1.5)  # so"
    assert snippet_of("My sensor is broken again. " + kept, "My sensor is broken again.") == f"… {kept}"


@pytest.mark.parametrize(
    ("asked", "said", "shown"),
    [
        ("What is my cat called?", "What is my cat called? Tofu.", "… Tofu."),
        ("Do you know whether Ann likes tea?", "Ann likes tea", "Ann likes tea"),
        ("我的猫叫什么名字呢？", "我的猫叫什么名字呢？豆腐。", "… 豆腐。"),
        ("Hello my friend.", '[x] "Hello my friend." The code is 4711.', '[x] "Hello my friend." The code is 4711.'),
        ("My bicycle is red and has a lock", "My bicycle is red and…", None),
        ("One line\nMy bicycle is red", "My bicycle is red", None),
    ],
)
def test_r19_an_answer_stays_however_short_it_is(asked: str, said: str, shown: str | None) -> None:
    assert snippet_of(said, asked) == shown


def snippet_of(said: str, held: str) -> str | None:
    text = put_in([held], memories=[{"id": 1, "snippet": said}])
    return json.loads(text.partition("\n")[2])["memories"][0]["snippet"] if text else None


def test_r19_hostile_texts_are_compared_in_bounded_time() -> None:
    """Such as those of a host's hook, which nothing has cut."""
    for odd in ("[" + '"\\' * 40_000, '[a: "' * 20_000, ". " * 50_000, "\\n" * 50_000, "a" * 200_000):
        write_context({"memories": [{"id": 1, "snippet": odd}]}, 10**6, ["Hello dear"])


def test_r19_lines_within_an_item_are_items_of_their_own() -> None:
    """Such as those of another channel: its name and its age stand in many, and say nothing."""
    asked, answer = '[1m] Ann: "Who can bring a cake?"', '[1m] Iris: "I would, if I had hands."'
    kitchen = {"channel": "discord/kitchen", "age": "just now", "lines": [asked, answer]}
    garden = {"channel": "discord/garden", "age": "just now", "lines": ['[2m] Bob: "Two sunny hours."']}

    def kept(held: str) -> list[Any]:
        text = put_in([held], short_term=[kitchen, garden])
        return json.loads(text.partition("\n")[2])["short_term"]  # type: ignore[no-any-return]

    assert kept("Hello") == [kitchen, garden]
    assert kept("Who can bring a cake?") == [{**kitchen, "lines": [answer]}, garden]
    assert kept("Two sunny hours.") == [kitchen]
