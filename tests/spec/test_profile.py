"""Who somebody is: what a person told of themselves, found when it is asked for (P75)."""

from __future__ import annotations

from typing import Any

import pytest

from core.config import Settings
from core.conversations import add_saved_memory
from core.errors import MessageError
from core.lifelong import profile
from core.synth_core_memory import search_memories
from core.text.question_words import asked_words, asks_about_person
from tests.spec.admin_world import Operator, client_of, made
from tests.spec.api_world import World
from tests.spec.stage import HERE, Stage

ANN, BOB = "tg/ann", "tg/bob"
SMALL_TALK = ("I am on my way.", "I think it will rain.", "I'll tell you tomorrow.", "Nice hat!", "I see.")
ASKED = [
    ("en", "What do you know about me?", (), True),
    ("en", "Who am I to you?", (), True),
    ("en", "What should I cook for Ute?", ("Ute",), True),
    ("en", "Suggest a present", (), True),
    ("en", "Tell me about Tom Baker", ("Tom Baker",), True),
    ("en", "Can you do that for me please?", (), False),
    ("en", "Tell me about my trip", (), False),
    ("en", "What did Ute say about Tom?", ("Ute", "Tom"), False),
    ("en", "What is Ute's job?", ("Ute",), False),
    ("en", "Call me tomorrow", (), False),
    ("de", "Was weißt du noch über mich?", (), True),
    ("de", "Kannst du das für mich machen?", (), False),
    ("es", "¿Qué sabes de Luis?", ("Luis",), True),
    ("es", "¿Cuál es el coche de Luis?", ("Luis",), False),
    ("fr", "Que sais-tu de Paul ?", ("Paul",), True),
    ("fr", "Tu peux faire ça pour moi ?", (), False),
    ("it", "Che cosa sai di me?", (), True),
    ("pt", "O que você sabe sobre mim?", (), True),
    ("nl", "Wat weet je over mij?", (), True),
    ("ru", "Расскажи обо мне", (), True),
    ("ja", "私について何を知っていますか?", (), True),
    ("ja", "私の車はどこ?", (), False),
    ("zh", "关于我你知道什么?", (), True),
]


@pytest.mark.parametrize(("language", "text", "people", "expected"), ASKED)
def test_p75_a_question_is_about_a_person_or_about_something_else(
    language: str, text: str, people: tuple[str, ...], expected: bool
) -> None:
    """A request to do something asks for nobody's life."""
    assert asks_about_person(asked_words(text), people, [language]) is expected


def tell(stage: Stage) -> None:
    for text in ("I play the cello in a quartet.", "I can't stand lilies.", *SMALL_TALK):
        stage.say(text, minutes=90)
    stage.say("I am a plumber.", who="Bob", minutes=80)
    stage.say("I was born in Oslo.", path=f"{ANN}", privacy="direct", minutes=70)
    saved = add_saved_memory("Ann keeps bees", **stage.asking(HERE, participant=ANN))
    assert saved.stored
    for n in range(12):
        stage.say(f"Line {n} of the evening.", minutes=30 - n)


def texts(stage: Stage, who: str | None = None, path: str = HERE, **more: Any) -> list[str]:
    scope = stage.scope(path, participant=more.pop("participant", ANN), privacy=more.pop("privacy", None))
    return [one["text"] for one in profile(who, db=stage.db, settings=Settings(), scope=scope, **more)]


def test_p75_a_profile_holds_what_a_person_stated_with_row_day_and_who_sees_it(stage: Stage) -> None:
    tell(stage)
    assert texts(stage) == ["Ann keeps bees", "I can't stand lilies.", "I play the cello in a quartet."]
    statements = profile(**stage.asking(HERE, participant=ANN))
    assert [one["about"] for one in statements] == [[], ["taste"], ["fact"]]
    assert {one["seen_by"] for one in statements} == {"server"} and all(one["timestamp"] for one in statements)
    (hit,) = search_memories(query="cello", db=stage.db, scope=stage.scope(HERE, participant=ANN))
    assert (statements[2]["id"], statements[2]["source"]) == (hit["id"], hit["source"])
    assert texts(stage, limit=1) == ["Ann keeps bees"]


def test_p75_a_profile_shows_nothing_that_the_scope_may_not_see(stage: Stage) -> None:
    """What was said in private stays out of a room, whoever asks and whomever they ask about."""
    tell(stage)
    born = "I was born in Oslo."
    assert born in texts(stage, path=ANN, privacy="direct")
    assert born not in texts(stage) and born not in texts(stage, ANN, participant=BOB)
    assert texts(stage, BOB) == ["I am a plumber."] and texts(stage, "tg/nobody") == []
    assert born in texts(stage, ANN, participant=BOB, operator=True)
    with pytest.raises(MessageError, match="participant is missing"):
        texts(stage, participant=None)
    with pytest.raises(MessageError, match="limit is 0"):
        texts(stage, limit=0)


@pytest.mark.parametrize("question", ["What do you know about me?", "Who am I to you?", "Suggest a present for me."])
def test_p75_a_question_about_the_asker_is_answered_by_what_they_stated(stage: Stage, question: str) -> None:
    tell(stage)
    scope = stage.scope(HERE, participant=ANN)
    hits = [hit["snippet"] for hit in search_memories(query=question, limit=3, db=stage.db, scope=scope)]
    assert {"Ann keeps bees", "I can't stand lilies.", "I play the cello in a quartet."} == set(hits)
    memories = [hit["snippet"] for hit in stage.context(question)["memories"]]
    assert "I play the cello in a quartet." in memories


def test_p75_a_question_about_somebody_named_is_answered_by_what_they_stated(stage: Stage) -> None:
    tell(stage)
    scope = stage.scope(HERE, participant=ANN)
    hits = search_memories(query="What should I cook for Bob?", limit=1, db=stage.db, scope=scope)
    assert [hit["snippet"] for hit in hits] == ["I am a plumber."]


@pytest.mark.engines("sqlite")
def test_p75_the_faces_show_the_same_profile(db: Any, stage: Stage, operator: Operator) -> None:
    tell(stage)
    with client_of(made(db)) as client:
        world = World(db, client, stage.persona)
        host = world.visitor().ask("GET", f"/v1/profile?about={ANN}&conversation={HERE}&participant={BOB}")
        assert [one["text"] for one in host["statements"]] == texts(stage)
        own = world.visitor("scope", BOB).ask("GET", f"/v1/profile?about={ANN}")["statements"]
        assert "I was born in Oslo." not in [one["text"] for one in own]
        world.visitor().ask("GET", "/v1/profile", 422)
    page = operator.ask("GET", "/page/people/one", params={"key": ANN}).text
    assert "What they told of themselves" in page and "I can&#39;t stand lilies." in page
