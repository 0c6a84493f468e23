"""Misspelt words and names find what was meant, and a word that stands somewhere is never taken for another."""

from __future__ import annotations

from typing import Any

import pytest

from core.config import Settings
from core.database.engine import Database
from core.search import terms
from core.synth_core_memory import explain_search
from tests.spec.stage import HERE, Stage

pytestmark = pytest.mark.engines("sqlite")

SAID = (
    "The recipe needs two eggs",
    "My aunt Caroline moved to Lisbon",
    "The hedgehogs sleep all winter",
    "Unser Leuchtturm ist gestrichen",
    "Бабушка потеряла ожерелье",
    "We signed the apprenticeship contract",
)


@pytest.fixture(scope="module")
def house(db: Database) -> Stage:
    """A persona with small talk, and six facts whose words stand nowhere else."""
    stage = Stage(db, persona="spelling")
    for n in range(40):
        stage.say(f"we talked about the weather and the bus number {n}", minutes=900 - n)
    for n, fact in enumerate(SAID):
        stage.say(fact, "tg/4" + str(n), minutes=800 - n)
    return stage


def best(stage: Stage, question: str, **flags: Any) -> str:
    """Return what matches best by a word, "" where nothing does."""
    settings = Settings(**flags)
    hits, report = explain_search(query=question, limit=5, db=stage.db, settings=settings, scope=stage.scope(HERE))
    shown = {hit["id"]: hit["snippet"] for hit in hits}
    ranked = sorted(report["hits"], key=lambda hit: hit["rank"])
    return next((shown[hit["id"]] for hit in ranked if hit["words"]), "")


@pytest.mark.parametrize(
    ("question", "fact"),
    [("what about the recipie?", 0), ("recpie", 0), ("where does Carolien live", 1), ("Lisbom", 1), ("hegdehogs", 2),
     ("hedgehgo", 2), ("Wo ist der Leuchtrum?", 3), ("Leuchtrurm", 3), ("где ажерелье", None), ("где ожирелье", 4),
     ("apprentiecshp", 5)],
)  # fmt: skip
def test_a_misspelt_word_finds_what_is_meant(house: Stage, question: str, fact: int | None) -> None:
    """The first letter is hardly ever wrong, and where it is, too much else would be right."""
    assert best(house, question) == ("" if fact is None else SAID[fact])


@pytest.mark.parametrize("question", ["zebra", "unicycles", "receipts", "Lisa", "caramels", "eggy", "weird"])
def test_a_word_that_is_only_somewhat_like_a_known_one_finds_nothing(house: Stage, question: str) -> None:
    """Where nothing matches, nothing is invented."""
    assert best(house, question) == ""


def test_the_score_decides_and_recency_takes_words_as_they_are(house: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terms, "FUZZY_SCORE", 92)
    assert best(house, "recipie") == SAID[0]
    monkeypatch.setattr(terms, "FUZZY_SCORE", 95)
    assert best(house, "recipie") == ""
    monkeypatch.setattr(terms, "FUZZY_SCORE", 82)
    assert best(house, "recipie", memory_ranking="recency") == ""


def test_t30_a_rare_word_is_not_taken_for_a_common_one_like_it(stage: Stage) -> None:
    """`alonza` stands in one row: rows with `alonzo` do not push it out, whichever of the two was meant."""
    rare = stage.say("alonza is here", minutes=900)
    for n in range(30):
        stage.say(f"alonzo was there {n}", minutes=800 - n)
    settings = Settings()
    hits, report = explain_search(query="alonza?", limit=3, db=stage.db, settings=settings, scope=stage.scope(HERE))
    ranked = sorted(report["hits"], key=lambda hit: hit["rank"])
    assert ranked[0]["id"] == rare
    assert len(hits) == 3


def test_a_slip_that_the_host_has_stored_with_the_message_still_finds_it(house: Stage) -> None:
    """Hosts store the message first and ask for the prompt then: its slip stands in one row, that of the message."""
    house.say("do you have that recpie?", message_id="m-now", minutes=0)
    found = house.context("do you have that recpie?", message_id="m-now", ENABLE_HISTORY_RECENT=0)["memories"]
    assert SAID[0] in [hit["snippet"] for hit in found]


def test_words_of_others_are_nobodys_spelling(db: Database, house: Stage) -> None:
    """What may not be seen is not what is meant."""
    assert house.persona == "spelling"
    other = Stage(db)
    other.say("nothing of the kind")
    assert best(other, "recipie") == ""
