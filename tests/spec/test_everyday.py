"""Everyday questions (T57 to T59): the sentence that answers is found, and stands in the prompt."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from core.chat_history_cache import save_message
from core.database.engine import Database
from core.db import open_database
from core.privacy import scope_of
from core.prompt_engine import build_json_prompt
from core.synth_core_memory import search_memories

NOW = datetime(2026, 1, 25, 12, tzinfo=UTC)
DAYS = {"yesterday": 24, "a week ago today": 18, "the 6th": 6, "am 6.": 6, "on Monday": 19}
BESIDE = (
    "The soup needs salt.",
    "天气变暖和了。",
    "Der Verkehr war schlimm.",
    "Le film était long.",
    "В супе мало соли.",
)


class Pair(NamedTuple):
    language: str
    kind: str
    speaker: str
    text: str
    asker: str
    question: str
    wanted: str


def _pairs() -> list[Pair]:
    lines = (Path(__file__).parent.parent / "samples" / "everyday.tsv").read_text(encoding="utf-8").splitlines()
    return [Pair(*line.split("\t")) for line in lines]


PAIRS = _pairs()


def message(text: str, who: str, at: datetime, number: str, place: str, **more: Any) -> dict[str, Any]:
    person = {"id": who, "full_name": who.title(), "username": who}
    return {"text": text, "interface_path": place, "message_id": number, "date": at.isoformat(), "from_user": person,
            **more}  # fmt: skip


@pytest.fixture(scope="module")
def chats() -> Iterator[Database]:
    """Give a database with one chat for each language: the sentences, and ordinary talk between and after them."""
    with closing(open_database("sqlite://", clock=lambda: NOW)) as db:
        for n, pair in enumerate(PAIRS):
            day = next((d for words, d in DAYS.items() if words in pair.question), 7 + n % 5)
            at, place = NOW.replace(day=day) + timedelta(minutes=n), f"web/{pair.language}"
            if pair.kind != "nothing":
                save_message(message(pair.text, pair.speaker, at, f"m{n}", place), db=db)
        for language in dict.fromkeys(pair.language for pair in PAIRS):
            for n in range(40):
                at, who = NOW.replace(day=20) + timedelta(minutes=n), ("ann", "bob")[n % 2]
                said = f"{BESIDE[n % len(BESIDE)]} {chr(0x61 + n % 26) * 4}"
                save_message(message(said, who, at, f"t{n}", f"web/{language}"), db=db)
        yield db


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair.language}-{pair.question}")
def test_t57_an_everyday_question_finds_what_answers_it(chats: Database, pair: Pair) -> None:
    """Most questions people ask consist of common words, of another form, or of a day."""
    asked = message(pair.question, pair.asker, NOW, "q", f"web/{pair.language}")
    hits = search_memories(query=pair.question, limit=10, db=chats, scope=scope_of(asked))
    context = build_json_prompt(asked, db=chats)["context"]
    if pair.kind == "nothing":
        assert len(hits) <= 3 and len(context.get("memories", [])) <= 3
    else:
        assert any(pair.text in hit["snippet"] for hit in hits)
        assert pair.wanted in json.dumps(context, ensure_ascii=False)


@pytest.mark.parametrize(("zone", "found"), [("Pacific/Auckland", False), ("America/Los_Angeles", True), (None, True)])
def test_t57_yesterday_is_a_day_of_the_asker(zone: str | None, found: bool) -> None:
    """At noon UTC the 25th has ended in no zone, and what was said at 10 UTC on the 24th is today's in none but one."""
    with closing(open_database("sqlite://", clock=lambda: NOW)) as db:
        place, at = "web/zone", NOW - timedelta(hours=26)
        save_message(message("Planted garlic.", "ann", at, "m1", place), db=db)
        for n in range(40):
            save_message(message(f"Talk {n}.", "bob", NOW - timedelta(hours=2, minutes=n), f"t{n}", place), db=db)
        asked = message("What did I do yesterday?", "ann", NOW, "q", place, time_zone=zone)
        memories = build_json_prompt(asked, db=db)["context"].get("memories", [])
        assert any("garlic" in hit["snippet"] for hit in memories) is found


def test_t57_who_is_asked_about_is_offered_by_their_own_words() -> None:
    """Where no word leads anywhere, what somebody last said of themselves may be right; of strangers nothing is."""
    with closing(open_database("sqlite://", clock=lambda: NOW)) as db:
        place = "web/who"
        for n, (who, said) in enumerate(
            [("zoe", "I repair violins."), ("zoe", "Rain again."), ("bob", "I sell boats.")]
        ):
            save_message(message(said, who, NOW - timedelta(days=9, minutes=-n), f"m{n}", place), db=db)
        scope = scope_of(message("", "bob", NOW, "q", place))
        found = search_memories(query="Who is Zoe?", db=db, scope=scope)
        assert [hit["snippet"] for hit in found] == ["I repair violins."]
        assert search_memories(query="Who is Quentin?", db=db, scope=scope) == []
