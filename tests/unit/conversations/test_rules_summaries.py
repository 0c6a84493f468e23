"""Titles and summaries of conversations that ended (C1, C4 to C7, C10)."""

from __future__ import annotations

from typing import Any

import pytest

from core.conversations import rules_summaries as summaries
from core.conversations.rules_summaries import (
    Line,
    Summary,
    build_substitute,
    extract_summary,
    read_messages,
    read_reply,
)

LINES = [
    Line("ok", "Ann", "tg/ann"),
    Line("We fly to Rome on Friday at seven.", "Ann", "tg/ann"),
    Line("Ada brings the tickets.", "Iris", is_persona=True),
]
EXTRACT = extract_summary(LINES).text
PATTERNS = (r"(?i)^\s*error\b",)


@pytest.mark.parametrize(
    ("reply", "title", "summary"),
    [
        ('Sure!\n```json\n{"title": "Trip", "summary": "We fly."}\n```', "Trip", "We fly."),
        ('Here: {"title": "Trip", "summary": "We fly. {at seven}"} done', "Trip", "We fly. {at seven}"),
        ('{"title": 7, "summary": "Ok."}', "Untitled conversation", "Ok."),
        ('{"title": "Trip"}', "Trip", EXTRACT),
        ('{"title": "  ## Trip\\nto Rome ", "summary": "One.\\n\\nTwo."}', "Trip to Rome", "One. Two."),
        ("We spoke of the\ntrip.", "Untitled conversation", "We spoke of the trip."),
        ('{"title": "Trip", "summary": "Error 429: too many requests"}', "Trip", EXTRACT),
    ],
)
def test_c4_replies_are_taken_as_the_table_says(reply: str, title: str, summary: str) -> None:
    assert read_reply(reply, LINES, patterns=PATTERNS) == Summary(title, summary, "model")


@pytest.mark.parametrize("reply", ["", " \n", "Error: overloaded", '{"foo": 1}', '{"title": "", "summary": " "}'])
def test_c4_what_cannot_be_used_leaves_the_extract(reply: str) -> None:
    """G23: no error text of a model is ever stored."""
    assert read_reply(reply, LINES, patterns=PATTERNS) == build_substitute(LINES)
    assert build_substitute(LINES) == Summary("Untitled conversation", EXTRACT, "extract")


def test_c4_titles_and_summaries_are_one_line_and_bounded() -> None:
    made = read_reply(f'{{"title": "{"t" * 300}", "summary": "{"s" * 3000}"}}', [], patterns=())
    assert (len(made.title), len(made.text)) == (200, 2000)
    for breaks in ("\n", "\r\n", "\x85", "\u2028", "\v"):
        assert summaries.read_title(f"a{breaks}## b") == "a ## b" and summaries.read_summary(f"a{breaks}b") == "a b"
    assert summaries.read_title("# # x") == "x" and summaries.read_title("## ") == ""


def test_c1_messages_are_read_in_the_forms_hosts_have() -> None:
    given: list[Any] = [
        "plain",
        "  ",
        {"text": "live", "sender_id": "7", "sender_name": "Ann", "timestamp": "2026-03-10T12:00:00Z"},
        {"text": "mine", "sender_id": "self", "sender_name": "Iris"},
        {"role": "user", "content": "asked"},
        {"role": "assistant", "content": "answered"},
        {"role": "system", "content": "You are Iris."},
        {"role": "tool", "content": "secret of a tool"},
        7,
        None,
    ]
    made = read_messages(given, "tg/42")
    assert [line.text for line in made] == ["plain", "live", "mine", "asked", "answered"]
    assert [line.is_persona for line in made] == [False, False, True, False, True]
    assert [line.participant for line in made] == [None, "tg/7", None, None, None]
    for wrong in ("text", {"text": "x"}):
        with pytest.raises(TypeError, match="messages"):
            read_messages(wrong, None)
