"""R19: what a model is given beside its own request: each thing once, and everything that belongs to it."""

from __future__ import annotations

from typing import Any

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
