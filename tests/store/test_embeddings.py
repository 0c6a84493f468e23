"""Embeddings (docs/embeddings.md): what an embedder finds, whom it shows nothing, and that nothing hangs on it."""

import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from core import jobs, llm
from core.calls import defaults
from core.chat_history_cache import delete_chat_message, edit_chat_message, save_chat_message
from core.config import Settings
from core.database.engine import Database
from core.database.schema import audiences, search_vector
from core.db import insert_memory
from core.errors import ConfigError
from core.index import held_vectors
from core.prompt_engine import explain_json_prompt
from core.scope import Scope
from core.search import profile
from core.search import read as search_reading
from core.search.ranking.weights import WEIGHTS
from core.semantic import EmbedderError, count_vectors, drop_vectors, embed_rows
from core.synth_core_memory import explain_search, search_memories
from tests.store.embedder import Grams
from tests.store.world import NOW, own_scope
from tests.unit.llm.model_server import ModelServer, running

HERE = "tg/1"
TALK = (
    "We had soup for lunch today", "The rain never stops here", "My dog sleeps all day long",
    "I read a book about ships", "She paints the kitchen yellow", "They sold the old piano",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _no_embedder(db: Database) -> Iterator[None]:
    db.caches.pop(held_vectors.HELD, None)
    yield
    defaults.process.embedder = None


def talk(db: Database, scope: Scope, *texts: str, path: str = HERE) -> list[int]:
    made = []
    for n, text in enumerate(texts):
        moment = NOW - timedelta(days=40) + timedelta(minutes=n)
        made.append(save_chat_message(path, text, "Ann", "7", moment, message_id=f"m{n}", db=db, scope=scope).id or 0)
    return made


def asking(scope: Scope, path: str = HERE) -> Scope:
    return Scope(scope.persona, path, "tg/7")


def vectors(db: Database, scope: Scope) -> list[tuple[int, int, str]]:
    mine = select(audiences.c.audience_id).where(audiences.c.persona_id == scope.persona)
    v = search_vector.c
    chosen = select(v.source, v.row_id, v.model).where(v.audience_id.in_(mine)).order_by(v.source, v.row_id, v.part)
    return [(row[0], row[1], row[2]) for row in db.read(chosen, source="search_vector")]


def found(db: Database, scope: Scope, query: str, embedder: Any, **more: Any) -> list[str]:
    return [hit["snippet"] for hit in search_memories(query=query, embedder=embedder, db=db, scope=scope, **more)]


def test_t66_a_row_without_a_word_in_common_is_found_by_its_meaning(db: Database) -> None:
    scope, grams = own_scope(), Grams()
    rows, made = talk(db, scope, *TALK), embed_rows(embedder=grams, db=db, scope=scope)
    assert (made.rows, made.done, made.model) == (len(TALK), True, "grams")
    assert "Ann: My dog sleeps all day long" in grams.asked
    asked = asking(scope)
    assert found(db, asked, "hound?", None) == [] and found(db, asked, "hound?", grams) == [TALK[2]]
    hits, report = explain_search(query="hound?", embedder=grams, db=db, scope=asked)
    assert [hit["id"] for hit in hits] == [rows[2]] and report["hits"][0]["meaning"] is True
    assert report["hits"][0]["reasons"]["meaning"] > 0
    # Nothing is invented: what is like nothing finds nothing.
    assert found(db, asked, "xylophone?", grams) == []
    assert search_memories(query="hound?", ranking="recency", embedder=grams, db=db, scope=asked) == []


def test_t66_statements_of_a_person_stay_statements_with_an_embedder(db: Database) -> None:
    scope, grams = own_scope(), Grams()
    talk(db, scope, "I love sailing on the lake", *TALK, "I work as a nurse")
    embed_rows(embedder=grams, db=db, scope=scope)
    for embedder in (None, grams):
        report = explain_search(query="What do you know about Ann?", embedder=embedder, db=db, scope=asking(scope))[1]
        worth = [hit["reasons"].get("statement", 0) for hit in report["hits"]]
        assert sum(each >= profile.LINE * WEIGHTS["statement"].short for each in worth) == 3, embedder


def test_t66_a_second_run_embeds_what_is_new_and_what_was_edited(db: Database) -> None:
    scope, grams = own_scope(), Grams()
    rows = talk(db, scope, *TALK)
    embed_rows(embedder=grams, db=db, scope=scope)
    db.clock.forward(minutes=5)  # type: ignore[attr-defined]
    assert embed_rows(embedder=grams, db=db, scope=scope).rows == 0
    edit_chat_message("m2", "My car stands outside", interface_path=HERE, db=db, scope=scope)
    assert rows[2] not in {row for _, row, _ in vectors(db, scope)}
    memory = insert_memory("A canine barked", "synth", "chat", [], db=db, label="general", scope=scope)
    grams.asked.clear()
    assert embed_rows(embedder=grams, db=db, scope=scope).rows == 2
    assert sorted(grams.asked) == ["A canine barked", "Ann: My car stands outside"]
    db.caches.pop(held_vectors.HELD, None)
    assert found(db, asking(scope), "jalopy?", grams) == ["My car stands outside"]
    assert (0, memory, "grams") in vectors(db, scope)


HOUND, ANSWER = "A hound is a hound", "No, but since about last monday or thereabouts, so they say"


def near(db: Database, scope: Scope, grams: Grams) -> tuple[float, float]:
    db.caches.pop(held_vectors.HELD, None)
    embed_rows(embedder=grams, db=db, scope=scope)
    hits, report = explain_search(query="canine monday?", embedder=grams, db=db, scope=asking(scope))
    ids = [hit["id"] for hit in hits if "monday" in hit["snippet"]]
    (reasons,) = [hit["reasons"] for hit in report["hits"] if [hit["id"]] == ids]
    own, around = (reasons.get(name, 0.0) / WEIGHTS[name].short for name in ("meaning", "meaning_near"))
    return own, around


def test_t66_the_turns_around_a_row_tell_what_it_means_as_long_as_they_say_it(db: Database) -> None:
    scope, grams = own_scope(), Grams()
    talk(db, scope, "We had soup", "Rain all over", HOUND, ANSWER, "Fine", "Good night", *TALK[3:])
    edit = {"interface_path": HERE, "db": db, "scope": scope}
    own, around = near(db, scope, grams)
    assert around > own > 0
    # In step: what is said no more, and what is gone, tells nothing about the others, and neither does what is hidden.
    db.clock.forward(minutes=5)  # type: ignore[attr-defined]
    edit_chat_message("m2", "The ship is a ship", **edit)  # type: ignore[arg-type]
    assert near(db, scope, grams)[1] < 0.75 * around
    edit_chat_message("m2", HOUND, **edit)  # type: ignore[arg-type]
    assert near(db, scope, grams)[1] == pytest.approx(around, rel=0.01)
    delete_chat_message("m2", **edit)  # type: ignore[arg-type]
    assert near(db, scope, grams)[1] < 0.75 * around and count_vectors(db=db, scope=scope) == {"grams": 8}


def test_t26_what_an_asker_may_not_see_tells_them_nothing_about_the_rows_they_may(db: Database) -> None:
    found = []
    for elsewhere in (False, True):
        scope, grams = own_scope(), Grams()
        talk(db, scope, "We had soup", "Rain all over", "They left", ANSWER, "Fine", "Good night")
        if elsewhere:
            talk(db, Scope(scope.persona, "tg/2", "tg/8", privacy="restricted"), *[HOUND] * 6, path="tg/2")
        found.append(near(db, scope, grams))
    assert found[0] == found[1]


def test_t66_no_vector_outlives_its_row(db: Database) -> None:
    scope, grams = own_scope(), Grams()
    rows = talk(db, scope, *TALK)
    embed_rows(embedder=grams, db=db, scope=scope)
    delete_chat_message("m1", interface_path=HERE, db=db, scope=scope)
    assert {row for _, row, _ in vectors(db, scope)} == set(rows) - {rows[1]}

    class Slow(Grams):
        def embed(self, texts: Any) -> Any:
            made = super().embed(texts)
            if any("soup" in text for text in texts):
                delete_chat_message("m0", interface_path=HERE, db=db, scope=scope)
            return made

    slow = Slow("slow")
    embed_rows(embedder=slow, db=db, scope=scope)
    assert rows[0] not in {row for _, row, _ in vectors(db, scope)}


def test_t66_vectors_of_two_models_never_mix_and_both_serve(db: Database) -> None:
    scope, old, new = own_scope(), Grams("old"), Grams("new", 64)
    talk(db, scope, *TALK)
    embed_rows(embedder=old, db=db, scope=scope)
    asked = asking(scope)
    assert found(db, asked, "hound?", new) == [] and found(db, asked, "dog?", new) == [TALK[2]]
    assert found(db, asked, "hound?", old) == [TALK[2]]
    embed_rows(embedder=new, db=db, scope=scope)
    db.caches.pop(held_vectors.HELD, None)
    assert found(db, asked, "hound?", new) == [TALK[2]] == found(db, asked, "hound?", old)
    assert count_vectors(db=db, scope=scope) == {"new": 6, "old": 6}
    assert drop_vectors("old", db=db, scope=scope) == 6 and count_vectors(db=db, scope=scope) == {"new": 6}
    assert embed_rows(embedder=old, db=db, scope=scope).rows == 6


def test_f57_a_model_that_changes_its_dimensions_and_not_its_name_is_no_error(db: Database, scope: Scope) -> None:
    """What it made before cannot be compared: words decide, also while the former vectors are held in memory."""
    talk(db, scope, *TALK)
    embed_rows(embedder=Grams("same"), db=db, scope=scope)
    asked = asking(scope)
    assert found(db, asked, "hound?", Grams("same")) == [TALK[2]]
    assert found(db, asked, "dog?", Grams("same", 64)) == [TALK[2]]
    assert found(db, asked, "hound?", Grams("same", 64)) == []
    assert found(db, asked, "hound?", Grams("same")) == [TALK[2]]


@pytest.mark.parametrize("failure", ["error", "slow", "count", "nan"])
def test_f57_a_failing_embedder_adds_a_note(db: Database, failure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search goes on by words within its time, the report says what is wrong, and no text is told (G26)."""
    scope, grams = own_scope(), Grams()
    talk(db, scope, *TALK)
    embed_rows(embedder=grams, db=db, scope=scope)
    hang = threading.Event()

    class Bad(Grams):
        def embed(self, texts: Any) -> Any:
            if failure == "error":
                raise RuntimeError(f"canary {texts}")
            if failure == "slow":
                hang.wait(20)
            return [] if failure == "count" else [[float("nan")] * 256 for _ in texts]

    monkeypatch.setattr(search_reading, "SEARCH_SECONDS", 0.2)
    hits, report = explain_search(query="dog?", embedder=Bad(), db=db, scope=asking(scope))
    hang.set()
    assert [hit["snippet"] for hit in hits] == [TALK[2]] and "embedder" in report["notes"][-1]
    assert "canary" not in str(report)
    if failure != "slow":
        with pytest.raises(EmbedderError) as caught:
            embed_rows(embedder=Bad("other"), db=db, scope=scope)
        assert "canary" not in repr(caught.value) and caught.value.__context__ is None


def test_t26_a_vector_shows_nothing_that_words_would_not(db: Database) -> None:
    scope, grams = own_scope(), Grams()
    talk(db, Scope(scope.persona, "tg/2", "tg/7", privacy="restricted"), "a dog in a closed room", path="tg/2")
    talk(db, scope, *TALK)
    embed_rows(embedder=grams, db=db, scope=scope)
    asked = asking(scope)
    assert found(db, asked, "hound?", grams) == [TALK[2]]
    assert found(db, asked, "hound?", grams, include_chat=False) == []
    assert found(db, asked, "hound?", grams, since=NOW) == []
    assert found(db, asked, "hound?", grams, exclude=[HERE]) == []
    assert found(db, Scope(own_scope().persona, HERE, "tg/7"), "hound?", grams) == []


def test_f18_rows_that_stay_on_the_machine_are_shown_to_no_remote_embedder(db: Database) -> None:
    """An embedder may be a service; and what a local one read is still not for a remote prompt."""
    scope, grams = own_scope(), Grams()
    local = Scope(scope.persona, HERE, "tg/7", destination="local")
    kept: dict[str, Any] = {"local_only": True, "db": db}
    insert_memory("A dog for nobody else", "synth", "chat", [], scope=scope, **kept)
    talk(db, scope, *TALK[:2])
    embed_rows(embedder=grams, db=db, scope=scope)
    assert not any("nobody" in text for text in grams.asked)
    grams.is_local, grams.name = True, "at home"
    embed_rows(embedder=grams, db=db, scope=scope)
    assert any("nobody" in text for text in grams.asked) and found(db, asking(scope), "hound?", grams) == []
    assert found(db, local, "hound?", grams) == ["A dog for nobody else"]


def test_t66_a_worker_embeds_what_was_saved_and_no_save_waits(db: Database) -> None:
    scope, grams = own_scope(), Grams()
    defaults.configure(db, embedder=grams)
    try:
        talk(db, scope, *TALK)
        assert grams.asked == []
        assert [(one.type, one.state) for one in jobs.run_pending(db=db, scope=scope)] == [("EMBED", "completed")]
        assert len(vectors(db, scope)) == len(TALK) and jobs.run_pending(db=db, scope=scope) == []
        grams.fail = RuntimeError("down")
        save_chat_message(HERE, "One more line", "Ann", "7", db=db, scope=scope)
        assert [one.state for one in jobs.run_pending(db=db, scope=scope)] == ["retrying"]
    finally:
        defaults.configure()


def test_t66_long_texts_are_embedded_in_pieces_and_found_by_the_best(db: Database) -> None:
    scope, grams = own_scope(), Grams()
    page = " ".join(["plain words go on"] * 60 + ["then a dog barked"] + ["plain words go on"] * 60)
    (row, *_) = talk(db, scope, page, *TALK[:2])
    embed_rows(embedder=grams, db=db, scope=scope)
    assert [one for one in vectors(db, scope) if one[1] == row] == [(2, row, "grams")] * 5


def test_t66_what_is_no_embedder_is_refused_with_a_sentence() -> None:
    with pytest.raises(TypeError, match="Pass an object with embed"):
        defaults.check_embedder(object())
    for name in (" ", "a\ud800", "a\0", "x" * 101):
        with pytest.raises(TypeError, match="a name of 1 to 100 bytes"):
            defaults.check_embedder(Grams(name))
    with pytest.raises(ConfigError, match="no embedder"):
        embed_rows()
    with pytest.raises(ValueError, match="limit is 0"):
        embed_rows(0, embedder=Grams())


SHORT = ("We had soup", "The rain", "My dog sleeps", "The car")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with running() as made:
        yield made
    llm.close()


def test_t66_rows_are_embedded_and_found_by_flags_alone(db: Database, scope: Scope, server: ModelServer) -> None:
    settings = Settings(embedder=server.base(), embedder_model="small", enable_history_recent=False)
    talk(db, scope, *SHORT)
    done = jobs.run_pending(db=db, settings=settings, scope=scope)
    assert [(one.type, one.state) for one in done] == [("EMBED", "completed")]
    assert list(count_vectors(db=db, scope=scope).values()) == [len(SHORT)]
    asked: dict[str, Any] = {"db": db, "settings": settings, "scope": asking(scope)}
    assert [hit["snippet"] for hit in search_memories(query="hound", **asked)] == [SHORT[2]]
    hits, report = explain_search(query="hound", **asked)
    assert [hit["snippet"] for hit in hits] == [SHORT[2]]
    assert report["hits"][0]["meaning"] is True and report["notes"] == []
    message = {"message_id": "x", "date": NOW.isoformat(), "text": "hound?", "interface_path": "tg/2"}
    prompt, told = explain_json_prompt(message, db=db, settings=settings, scope=Scope(scope.persona, "tg/2", "tg/7"))
    assert [hit["snippet"] for hit in prompt["context"]["memories"]] == [SHORT[2]]
    assert "embedder" not in str(told.get("failed", ""))
    # Without the flag the same rows are found by words alone, and nobody embeds.
    assert search_memories(query="hound", db=db, settings=settings.replace(embedder=""), scope=asking(scope)) == []


@pytest.mark.parametrize("wrong", ["500", "nowhere", "no address"])
def test_f57_a_failing_embedder_is_named_and_fails_no_prompt(db: Database, server: ModelServer, wrong: str) -> None:
    scope = own_scope()
    talk(db, scope, *SHORT)
    addresses = {"500": server.base("500"), "nowhere": "http://127.0.0.1:9/v1", "no address": "http://"}
    settings = Settings(embedder=addresses[wrong])
    hits, report = explain_search(query="dog?", db=db, settings=settings, scope=asking(scope))
    assert [hit["snippet"] for hit in hits] == [SHORT[2]]
    said = {"no address": "EMBEDDER is 'http://'"}.get(wrong, "The embedder")
    assert any(said in note for note in report["notes"])
    message = {"message_id": "x", "date": NOW.isoformat(), "text": "dog?", "interface_path": "tg/2"}
    elsewhere = Scope(scope.persona, "tg/2", "tg/7")
    quiet = settings.replace(enable_history_recent=False)
    prompt, told = explain_json_prompt(message, db=db, settings=quiet, scope=elsewhere)
    assert [hit["snippet"] for hit in prompt["context"]["memories"]] == [SHORT[2]]
    assert "embedder" in str(told) and said in str(told)
    if wrong.startswith("no "):
        with pytest.raises(ConfigError):
            embed_rows(db=db, settings=settings, scope=scope)
        assert jobs.run_pending(db=db, settings=settings, scope=scope) == []
