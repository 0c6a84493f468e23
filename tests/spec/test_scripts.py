"""Every script is served: facts planted among small talk are found as often as in English (tags-and-search, G)."""

from __future__ import annotations

from datetime import timedelta
from functools import lru_cache

import pytest

from core.config import Settings
from core.database.engine import Database
from core.messages import new_message as messages
from core.messages import table_batches as chat_batches
from core.synth_core_memory import search_memories
from tests.spec.script_facts import HELD_OUT, TALKS, Talk
from tests.spec.stage import NOW, Stage

pytestmark = pytest.mark.engines("sqlite")

LIMIT = 10
ROWS = 300
CLOSE = 0.05
"""How far below English a language may be."""


def plant(db: Database, language: str, talk: Talk) -> Stage:
    """Return a persona of one conversation in a language: small talk with the facts in between, oldest first."""
    stage = Stage(db, persona=f"script-{language}")
    said = talk.chatter
    step = len(said) // len(talk.facts)
    for at, (fact, _) in enumerate(talk.facts):
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
    more = HELD_OUT.get(language, ())
    talk = TALKS[language]._replace(facts=(*TALKS[language].facts, *more))
    stage = plant(db, language, talk)
    found = []
    for fact, question in talk.facts:
        hits = search_memories(query=question, limit=LIMIT, db=db, settings=Settings(), scope=stage.scope("tg/42"))
        if fact not in [hit["snippet"] for hit in hits]:
            found.append(question)
    return tuple(found)


@pytest.mark.slow
def test_every_script_has_the_hit_rate_of_english(db: Database) -> None:
    """A persona that speaks one language well and forgets in all others is of no use to most people."""
    rates = {}
    for language, talk in TALKS.items():
        assert len(talk.chatter) >= ROWS, language
        rates[language] = 1 - len(missed(db, language)) / (len(talk.facts) + len(HELD_OUT.get(language, ())))
    assert rates["en"] >= 0.9, missed(db, "en")
    worse = {language: missed(db, language) for language, rate in rates.items() if rate < rates["en"] - CLOSE}
    assert not worse
