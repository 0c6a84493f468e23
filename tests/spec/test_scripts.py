"""Every script is served: facts planted among small talk are found as often as in English (tags-and-search, G)."""

from __future__ import annotations

from datetime import timedelta
from functools import lru_cache
from itertools import product
from pathlib import Path

import pytest
import yaml

from core.config import Settings
from core.database.engine import Database
from core.messages import new_message as messages
from core.messages import table_batches as chat_batches
from core.synth_core_memory import search_memories
from tests.spec.stage import NOW, Stage

pytestmark = pytest.mark.engines("sqlite")

LIMIT = 10
ROWS = 300
CLOSE = 0.05
"""How far below English a language may be."""


TALKS = yaml.safe_load((Path(__file__).parents[1] / "samples" / "scripts.yaml").read_text(encoding="utf-8"))


def facts_of(language: str) -> list[list[str]]:
    """Return what is said and what is asked about it."""
    talk = TALKS[language]
    return [fact.split(" | ") for fact in (*talk["facts"], *talk.get("held_out", ()))]


def plant(db: Database, language: str) -> Stage:
    """Return a persona of one conversation in a language: small talk with the facts in between, oldest first."""
    stage = Stage(db, persona=f"script-{language}")
    talk, facts = TALKS[language], facts_of(language)
    said = [talk["joint"].join(parts) for parts in product(talk["openings"], talk["middles"], talk["ends"])]
    assert len(said) >= ROWS, language
    step = len(said) // len(facts)
    for at, (fact, _) in enumerate(facts):
        said.insert(at * (step + 1), fact)
    scope = stage.scope("tg/42", participant="tg/ann")
    made = [
        messages.read_message(
            scope, "tg/42", text, now=NOW, sender_id="ann", timestamp=NOW - timedelta(hours=len(said) - at)
        )
        for at, text in enumerate(said)
    ]
    chat_batches.insert_messages(
        db, scope, [message for message in made if message is not None], privacy_default="none"
    )
    return stage


@lru_cache(maxsize=32)
def missed(db: Database, language: str) -> tuple[str, ...]:
    """Return the questions of a language whose fact is not among the first hits; LANGUAGES is its default."""
    scope = plant(db, language).scope("tg/42")
    found = []
    for fact, question in facts_of(language):
        hits = search_memories(query=question, limit=LIMIT, db=db, settings=Settings(), scope=scope)
        if fact not in [hit["snippet"] for hit in hits]:
            found.append(question)
    return tuple(found)


@pytest.mark.slow
def test_every_script_has_the_hit_rate_of_english(db: Database) -> None:
    """A persona that speaks one language well and forgets in all others is of no use to most people."""
    rates = {language: 1 - len(missed(db, language)) / len(facts_of(language)) for language in TALKS}
    assert rates["en"] >= 0.9, missed(db, "en")
    worse = {language: missed(db, language) for language, rate in rates.items() if rate < rates["en"] - CLOSE}
    assert not worse
