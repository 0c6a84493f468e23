"""All vectors of the audiences seen are compared, however many, as they are stored now (docs/embeddings.md)."""

import math
import random
import statistics
from array import array
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import func, select

from core import forgetting, semantic, synth_core_memory
from core import search as searching
from core.base.vectors import pack_vector
from core.calls.call import load_access, open_call
from core.chat_history_cache import delete_chat_message, edit_chat_message, save_chat_message
from core.config import Settings
from core.database.engine import Database
from core.database.schema import audiences, search_vector, search_vector_gone, search_vector_version
from core.index import embeddings, held_vectors, lru_cache
from core.scope import Scope
from core.search import match, read
from core.search.question import Question
from core.search.rank import Ranked, Round
from tests.store.embedder import Grams
from tests.store.world import open_db, own_scope

SETTINGS = Settings()
DIMENSIONS = 48


@pytest.fixture(scope="module")
def other(migrated_url: str) -> Iterator[Database]:
    with closing(open_db(migrated_url)) as handle:
        yield handle


@pytest.fixture(autouse=True)
def _small_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read, compare and hold a few vectors at a time, so that a small table is many parts."""
    monkeypatch.setattr(held_vectors, "CHUNK", 7)
    monkeypatch.setattr(held_vectors, "COMPARED", 3)


class Directions:
    """Vectors that depend on the text alone: at random, but near each other for texts of one first word."""

    name = "directions"
    is_local = False

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._one(text.rpartition(": ")[2]) for text in texts]

    def _one(self, text: str) -> list[float]:
        kind, own = random.Random(text.split(maxsplit=1)[0]), random.Random(text)
        near = [kind.gauss(0, 1) for _ in range(DIMENSIONS)]
        return [a + own.gauss(0, 0.4) for a in near]


def say(db: Database, scope: Scope, path: str, number: int, text: str) -> int:
    return save_chat_message(path, text, "Ann", "7", message_id=f"m{number}", db=db, scope=scope).id or 0


def stored(db: Database, scope: Scope) -> dict[tuple[int, int], list[tuple[int, bytes]]]:
    mine = select(audiences.c.audience_id).where(audiences.c.persona_id == scope.persona)
    v = search_vector.c
    chosen = select(v.source, v.row_id, v.audience_id, v.vector).where(v.audience_id.in_(mine))
    found: dict[tuple[int, int], list[tuple[int, bytes]]] = {}
    for row in db.read(chosen, source="search_vector"):
        found.setdefault((row[0], row[1]), []).append((row[2], bytes(row[3])))
    return found


def cosine(asked: Sequence[float], vector: bytes) -> float:
    numbers = array("b", vector)
    dot = sum(a * b for a, b in zip(asked, numbers, strict=True))
    return dot / math.sqrt(sum(a * a for a in asked)) / math.sqrt(sum(b * b for b in numbers))


def plain_worth(likes: dict[tuple[int, int], float]) -> dict[tuple[int, int], float]:
    """Return what rows are worth, one after the other: the reference."""
    rows = sorted(likes.values())[:-1]
    mean, spread = 0.0, 0.1
    if rows:
        mean, spread = statistics.fmean(rows), statistics.pstdev(rows)
        half = rows[: (len(rows) + 1) // 2]
        low_mean, low_spread = statistics.fmean(half), statistics.pstdev(half)
        spread = max(min(spread, 2.2 * low_spread), spread / 4, 1e-6)
        if len(rows) < 30:
            spread = max(spread, 0.1)
        mean = min(mean, low_mean + 1.6 * max(low_spread, spread / 2.2))
    return {place: max(0.0, (like - mean) / spread / 5) for place, like in likes.items()}


def compared(db: Database, scope: Scope, text: str) -> tuple[dict[Any, float], list[tuple[int, int]]]:
    """Return what every row is worth by a search, and the rows that become candidates by it."""
    settings = SETTINGS
    call = open_call(db, settings, scope)
    query = searching.prepare(searching.SearchRequest(query=text), settings)
    search = searching.build_search(query, load_access(call).viewer, settings, db, Directions())
    ranked = Ranked(Round(search, Question()), matches=match.match(search, (), every=True))
    compared_rows, added = read.compare_rows(ranked, db)
    assert compared_rows is not None
    places = list(stored(db, scope))
    found = compared_rows.with_rows(places)
    assert found.worth.keys() <= set(places)
    near = found.find_near(places)
    assert near is None or near.vectors.keys() == found.worth.keys()
    return dict(found.worth), [(c.source, c.id) for c in added]


def test_t66_a_search_compares_as_if_one_vector_after_the_other(db: Database, other: Database) -> None:
    chance, scope = random.Random(0), own_scope()
    asking = Scope(scope.persona, "tg/1", "tg/7")
    rows: dict[int, str] = {}
    words = ["alpha", "beta", "gamma", "delta"]
    for step in range(5):
        doer = chance.choice([db, other])
        for _ in range(chance.randint(1, 15)):
            number, path = len(rows) + 1, chance.choice(["tg/1", "tg/2"])
            text = " ".join([chance.choice(words), *(str(chance.random()) for _ in range(chance.choice([2, 2, 150])))])
            say(doer, scope, path, number, text)
            rows[number] = path
        semantic.embed_rows(chance.choice([None, 5]), embedder=Directions(), db=doer, scope=scope)
        for number in chance.sample(sorted(rows), min(len(rows), 3)):
            where: Any = {"interface_path": rows[number], "db": doer, "scope": scope}
            if chance.random() < 0.5:
                edit_chat_message(f"m{number}", f"{chance.choice(words)} edited {step}", **where)
            else:
                delete_chat_message(f"m{number}", **where)
        if chance.random() < 0.5:
            semantic.embed_rows(embedder=Directions(), db=doer, scope=scope)
        text = f"{chance.choice(words)} asked {step}?"
        (asked,) = Directions().embed([text])
        likes = {place: max(cosine(asked, one) for _, one in each) for place, each in stored(db, scope).items()}
        expected = plain_worth(likes)
        nearest = sorted((place for place in expected if expected[place] >= 0.45), key=lambda p: -expected[p])
        for handle in (db, other):
            worth, added = compared(handle, asking, text)
            assert worth == pytest.approx(expected, abs=2e-4)
            ranked = pytest.approx([expected[place] for place in nearest[:10]], abs=2e-4)
            assert added[:10] == nearest[:10] or [expected[place] for place in added[:10]] == ranked
            assert len(added) == min(len(nearest), read.MOST_ADDED)


def snippets(db: Database, scope: Scope, query: str, embedder: Any, **more: Any) -> list[str]:
    hits, _ = synth_core_memory.explain_search(query=query, embedder=embedder, db=db, scope=scope, **more)
    return [hit["snippet"] for hit in hits]


@pytest.mark.parametrize("rows", [29, 30, 90])
def test_t66_what_a_fifth_of_all_rows_mean_is_found_whatever_their_number(db: Database, rows: int) -> None:
    scope, near = own_scope(), max(1, rows // 5)
    for n in range(rows):
        say(db, scope, "tg/1", n, f"dogs {n}" if n < near else f"other{n} {n}")
    semantic.embed_rows(embedder=Directions(), db=db, scope=scope)
    asking = Scope(scope.persona, "tg/1", "tg/7")
    _, added = compared(db, asking, "dogs everywhere")
    assert len(added) >= min(near, read.MOST_ADDED)
    found = snippets(db, asking, "dogs everywhere", Directions(), limit=5)
    assert len(found) >= min(near, 5) and all(text.startswith("dogs") for text in found)


def test_t66_what_was_written_while_it_was_read_counts_once(db: Database, scope: Scope) -> None:
    asking = Scope(scope.persona, "tg/1", "tg/7")
    for n in range(10):
        say(db, scope, "tg/1", n, f"other{n} {n}")
    semantic.embed_rows(embedder=Directions(), db=db, scope=scope)
    for n in range(10, 15):
        say(db, scope, "tg/1", n, f"dogs {n}")
    semantic.embed_rows(embedder=Directions(), db=db, scope=scope)
    db.caches.pop(held_vectors.HELD, None)
    worth, added = compared(db, asking, "dogs here")
    cache = db.caches[held_vectors.HELD]
    for key, one in list(cache.held.items()):
        cache.held[key] = replace(one, version=one.version - 1)
    assert compared(db, asking, "dogs here") == (worth, added)
    assert sum(len(part) for one in cache.held.values() for part in one.parts) == 15


def test_t66_the_nearest_that_may_not_be_found_hide_no_others(db: Database, scope: Scope) -> None:
    for n in range(40):
        say(db, scope, "tg/2", n, f"dogs {n}")
    for n in range(80):
        say(db, scope, "tg/1", 100 + n, f"other{n} {n}")
    asked, *texts = ["dogs anywhere", *(f"dogs at last {n}" for n in range(30))]
    vectors = dict(zip(texts, Directions().embed(texts), strict=True))
    (wanted,) = Directions().embed([asked])
    last = min(texts, key=lambda text: cosine(wanted, pack_vector(vectors[text]) or b""))
    say(db, scope, "tg/1", 200, last)
    semantic.embed_rows(embedder=Directions(), db=db, scope=scope)
    assert snippets(db, Scope(scope.persona, "tg/1", "tg/7"), asked, Directions(), exclude=["tg/2"]) == [last]


def test_t66_vectors_in_use_are_held_whatever_they_take(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    scopes = [own_scope(), own_scope()]
    for scope in scopes:
        for n in range(60):
            say(db, scope, "tg/1", n, f"other{n} {n}")
        say(db, scope, "tg/1", 100, "dogs here")
        semantic.embed_rows(embedder=Directions(), db=db, scope=scope)
    for most, kept in ((0, 61), (64 * 2**20, 122)):
        monkeypatch.setattr(lru_cache, "MOST_BYTES", most)
        for scope in scopes:
            asking = Scope(scope.persona, "tg/1", "tg/7")
            assert snippets(db, asking, "dogs anywhere", Directions()) == ["dogs here"]
        assert sum(len(part) for one in db.caches[held_vectors.HELD].held.values() for part in one.parts) == kept


def test_t66_of_removals_the_last_are_noted_and_who_is_further_behind_reads_all(
    db: Database, other: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embeddings, "KEPT", 3)
    monkeypatch.setattr(held_vectors, "KEPT", 3)
    monkeypatch.setattr(embeddings, "CLEANED", 2)
    scope, grams = own_scope(), Grams()
    asking = Scope(scope.persona, "tg/1", "tg/7")
    for n in range(12):
        say(db, scope, "tg/1", n, f"A dog named {n}" if n == 0 else f"Line {n}")
    semantic.embed_rows(embedder=grams, db=db, scope=scope)
    assert snippets(db, asking, "hound?", grams) == ["A dog named 0"]
    where: Any = {"interface_path": "tg/1", "db": other, "scope": scope}
    for n in range(10):
        delete_chat_message(f"m{n}", **where)
    mine = select(audiences.c.audience_id).where(audiences.c.persona_id == scope.persona)
    noted = select(func.count()).where(search_vector_gone.c.audience_id.in_(mine))
    assert 0 < db.read(noted, source="search_vector_gone")[0][0] <= 5 and snippets(db, asking, "hound?", grams) == []
    _, added = compared(db, asking, "hound?")
    assert added == []


def test_f46_forgetting_reaches_every_copy_of_a_vector(db: Database, other: Database) -> None:
    scope, grams = own_scope(), Grams()
    closed = Scope(scope.persona, "tg/9", "tg/7", privacy="restricted")
    for n, text in enumerate(["A dog in a closed room", "Rain there", "Soup there"]):
        say(db, closed, "tg/9", n, text)
    say(db, scope, "tg/1", 10, "Nothing else")
    semantic.embed_rows(embedder=grams, db=db, scope=scope)
    for handle in (db, other):
        handle.caches.pop(held_vectors.HELD, None)
        assert snippets(handle, closed, "hound?", grams) == ["A dog in a closed room"]
        assert sum(one.size for one in handle.caches[held_vectors.HELD].held.values()) > 0
    ids = {one for each in stored(db, scope).values() for one, _ in each}
    forgetting.forget(conversation="tg/9", db=db, scope=scope)
    assert len(stored(db, scope)) == 1
    (left,) = {one for each in stored(db, scope).values() for one, _ in each}
    for table in (search_vector, search_vector_gone, search_vector_version):
        rows = db.read(select(func.count()).where(table.c.audience_id.in_(ids - {left})), source=table.name)
        assert rows[0][0] == 0, table.name
    for handle in (db, other):
        assert snippets(handle, Scope(scope.persona, "tg/1", "tg/7"), "hound?", grams) == []
        assert {key[2] for key in handle.caches[held_vectors.HELD].held} <= {left}
