"""Free search and the memory_search action on every engine (T41 to T45)."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from core import ai_diary, chat_history_cache
from core.config import Settings
from core.database.engine import Database
from core.db import insert_memory
from core.errors import StoreReadError
from core.scope import Scope
from core.search import free_search
from core.synth_core_memory import free_memory_search, memory_search_action
from core.upkeep import migration as migrating

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
_personas = itertools.count(1)


class Clock:
    """The time the library sees."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture(scope="module")
def handle(migrated_url: str) -> Iterator[Database]:
    """One migrated database for the module."""
    made = Database(migrated_url, clock=Clock())
    migrating.ensure_present(made)
    yield made
    made.close()


class World:
    """A persona of the test's own, and short ways to write its rows."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.scope = Scope(f"p{next(_personas)}")
        self.settings: Settings | None = Settings()

    def memory(self, text: str, minutes: float = 0, tags: tuple[str, ...] = ()) -> int:
        """Store a memory of so many minutes after noon."""
        return insert_memory(
            content=text,
            author="synth",
            source="chat",
            tags=list(tags),
            timestamp=NOON + timedelta(minutes=minutes),
            scope=self.scope,
            db=self.db,
        )

    def diary(self, text: str, minutes: float = 0, **parts: Any) -> int:
        """Store a diary entry of so many minutes after noon."""
        clock = self.db.clock
        assert isinstance(clock, Clock)
        clock.now = NOON + timedelta(minutes=minutes)
        try:
            stored = ai_diary.add_diary_entry(content=text, **parts, scope=self.scope, db=self.db)
        finally:
            clock.now = NOON
        assert stored.id is not None
        return stored.id

    def free(self, query: object, limit: object = 5, **more: Any) -> list[str]:
        """Search freely."""
        return free_memory_search(query, limit, db=self.db, scope=self.scope, **{"settings": self.settings, **more})

    def act(self, _payload: object = None, /, **payload: Any) -> dict[str, Any]:
        """Run the action."""
        more = {"db": self.db, "scope": self.scope, "settings": self.settings}
        return dict(memory_search_action(payload if _payload is None else _payload, **more))  # type: ignore[arg-type]


@pytest.fixture
def world(handle: Database) -> World:
    """A persona without rows."""
    return World(handle)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make attempts, pauses and the whole a hundred times shorter."""
    for name in ("ATTEMPT_SECONDS", "PAUSE_SECONDS", "ACTION_SECONDS"):
        monkeypatch.setattr(free_search, name, getattr(free_search, name) / 100)


def texts(answer: dict[str, Any]) -> list[str]:
    """Return the snippets of an action's results."""
    return [hit["snippet"] for hit in answer["results"]]


# T41


def test_t41_fifteen_matching_rows_give_the_ten_newest(world: World) -> None:
    """Who asks in words wants what was said last."""
    for n in range(15):
        world.memory(f"tea number {n}", n)
    world.memory("coffee", 99)
    assert world.free("tea", 10) == [f"tea number {n}" for n in range(14, 4, -1)]


def test_t41_shuffle_mixes_the_whole_pool_before_the_cut(world: World) -> None:
    """A host that wants variety gets rows beyond the newest."""
    for n in range(15):
        world.memory(f"tea number {n}", n)
    mixed = Settings(free_search_shuffle=True)
    assert world.free("tea", 10, settings=mixed, shuffle=lambda pool: pool.reverse())[0] == "tea number 0"
    assert world.free("tea", 10, settings=Settings(), shuffle=lambda pool: pool.reverse())[0] == "tea number 14"
    random.seed(7)
    assert sorted(world.free("tea", 15, settings=mixed)) == sorted(f"tea number {n}" for n in range(15))


def test_t41_the_pool_holds_the_newest_hundred(world: World) -> None:
    """What is mixed must not grow with the table."""
    for n in range(103):
        world.memory(f"tea {n}", n)
    seen: list[list[str]] = []
    mixed = Settings(free_search_shuffle=True)
    world.free("tea", 1, settings=mixed, shuffle=lambda pool: seen.append(list(pool)))
    assert seen == [[f"tea {n}" for n in range(102, 2, -1)]]
    assert len(world.free("tea", 5000)) == 100


def test_t41_words_are_joined_by_or_over_memories_and_diary(world: World) -> None:
    """Any of the words will do, in any column of either table; the chat is not searched."""
    world.memory("Green TEA", 1)
    world.diary("rain", 2, user_message="I bought 100% juice")
    world.memory("teapot a_b", 3)
    world.memory("nothing", 4)
    chat_history_cache.save_chat_message("web/1", "tea in the chat", "Ann", "ann", scope=world.scope, db=world.db)
    assert world.free("  tea \t 100% ") == ["teapot a_b", "rain", "Green TEA"]
    assert world.free("a_b axb") == ["teapot a_b"]
    assert world.free("%") == ["rain"]


def test_t41_equal_texts_are_given_once(world: World) -> None:
    """A memory kept twice must not take two of five places."""
    world.memory("Jay  likes tea", 1)
    world.memory("jay likes TEA", 2)
    world.diary("Jay likes tea", 3)
    world.memory("Ann likes tea", 0)
    assert world.free("tea") == ["Jay likes tea", "Ann likes tea"]


@pytest.mark.parametrize("query", ["", "  \n\t ", None, "\x00"])
def test_t41_a_blank_query_asks_no_database(query: object) -> None:
    """Nothing to look for is nothing found."""
    assert free_memory_search(query, db=None, settings={"DATABASE_URL": "mysql://nobody@203.0.113.1/none"}) == []


@pytest.mark.parametrize("query", ["'; drop table memories; --", '" or 1=1', "\\ ! _", "\ud800", "😀", "tea" * 500])
def test_t41_hostile_queries_are_words_like_others(world: World, query: str) -> None:
    """Values only ever travel as bound parameters (T25)."""
    world.memory("harmless")
    assert world.free(query) == []
    assert world.free("harmless") == ["harmless"]


def test_t41_many_words_are_searched_as_far_as_a_search_goes(world: World) -> None:
    """A pasted page is no reason to fail."""
    world.memory("zebra w3")
    assert world.free(" ".join(f"w{n}" for n in range(5000))) == ["zebra w3"]


def test_t41_only_rows_of_the_scope_are_found(world: World, handle: Database) -> None:
    """Another persona's memories are not there (F1)."""
    World(handle).memory("tea of another persona")
    assert world.free("tea") == []


def test_t41_the_second_of_two_attempts_answers(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A short failure goes unnoticed; a lasting one is told."""
    monkeypatch.setattr(free_search, "PAUSE_SECONDS", 0.01)
    world.memory("tea")
    calls: list[int] = []
    real = world.db.read_driver

    def failing(times: int) -> Callable[..., Any]:
        calls.clear()

        def read(*arguments: Any, **more: Any) -> Any:
            calls.append(1)
            if len(calls) <= times:
                raise StoreReadError("memories could not be read", source="memories")
            return real(*arguments, **more)

        return read

    monkeypatch.setattr(world.db, "read_driver", failing(1))
    assert world.free("tea") == ["tea"]
    monkeypatch.setattr(world.db, "read_driver", failing(10_000))
    with pytest.raises(StoreReadError):
        world.free("tea")


def test_t41_an_attempt_that_hangs_is_given_up(world: World, monkeypatch: pytest.MonkeyPatch, impatient: None) -> None:
    """A database that does not answer must not hold up the conversation."""
    go_on = threading.Event()
    monkeypatch.setattr(world.db, "read_driver", lambda *_, **__: go_on.wait(20))
    try:
        with pytest.raises(StoreReadError, match=r"no answer within 0\.1 seconds, 2 times"):
            world.free("tea")
        answer = world.act(mode="free", query="tea")
    finally:
        go_on.set()
    assert answer["status"] == "error"
    assert answer["reason"] == "timeout"


# T42


def test_t42_a_bad_payload_names_every_error_at_once(world: World) -> None:
    """A model corrects everything in one turn."""
    assert len(world.act(mode="x", max_results=0)["errors"]) == 2
    assert world.act(mode="x", max_results=0)["status"] == "error"
    assert len(world.act(mode="tags")["errors"]) == 1
    for payload in ("text", None.__class__, 7, ["a"]):
        assert world.act(payload)["status"] == "error"


def test_t42_free_mode_with_only_a_window_lists_it(world: World) -> None:
    """What happened yesterday is asked without words."""
    world.memory("long ago", -60 * 24 * 9)
    world.memory("the day before", -60 * 30)
    world.diary("an hour ago", -60)
    world.memory("from the future", 60)
    assert texts(world.act(mode="free", time_window="yesterday")) == ["an hour ago", "the day before"]
    assert texts(world.act(mode="free", time_window="yesterday", max_results=1)) == ["an hour ago"]


def test_t42_free_mode_gives_the_newest_of_memories_and_diary(world: World) -> None:
    """It is free search: neither what fits best comes first, nor is the chat searched."""
    world.memory("pizza and tea", 1)
    world.diary("tea", 2)
    chat_history_cache.save_chat_message("web/1", "more tea", "Ann", "ann", scope=world.scope, db=world.db)
    assert texts(world.act(query="pizza tea", max_results=1)) == ["tea"]
    assert texts(world.act(query="pizza tea")) == ["tea", "pizza and tea"]


def test_t42_tags_mode_finds_tags_and_words_everywhere(world: World) -> None:
    """It is the unified search: tags as wholes, words inside texts, the chat too."""
    tagged = world.memory("pizza night", 1, ("food",))
    world.memory("foodstuff", 2, ("foods",))
    said = chat_history_cache.save_chat_message(
        "web/1", "good Food here", "Ann", "ann", timestamp=NOON, scope=world.scope, db=world.db
    )
    answer = world.act(mode="tags", tags=["Food"])
    assert [(hit["source"], hit["id"]) for hit in answer["results"]] == [
        ("memories", tagged),
        ("chat_history", said.id),
    ]
    assert list(answer["results"][0]) == ["source", "id", "timestamp", "snippet", "tags"]
    assert texts(world.act(keywords=["stuff"])) == ["foodstuff"]


def test_t42_max_results_cuts_and_defaults_to_ten(world: World) -> None:
    """An action's answer stays readable."""
    for n in range(20):
        world.memory(f"tea {n}", n, ("drink",))
    assert world.act(tags=["drink"])["count"] == 10
    assert world.act(tags=["drink"], max_results=3)["count"] == 3
    assert texts(world.act(mode="free", query="tea", max_results=2)) == ["tea 19", "tea 18"]


def test_t42_random_chooses_among_the_pool(world: World) -> None:
    """Random recall brings up what the newest hide."""
    for n in range(15):
        world.memory(f"tea {n}", n)
    payload = {"mode": "free", "query": "tea", "random": True, "max_results": 2}
    more: dict[str, Any] = {"db": world.db, "scope": world.scope, "settings": Settings()}
    answer = memory_search_action(payload, shuffle=lambda pool: pool.reverse(), **more)
    assert texts(dict(answer)) == ["tea 0", "tea 1"]


# T43


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ("yesterday", ["now", "day", "two days"]),
        ("last week", ["now", "day", "two days", "a week"]),
        ("5h", ["now"]),
        ("2026-03-03/2026-03-09", ["day", "two days", "a week"]),
        ({"start": "2026-03-08T12:00:00Z"}, ["now", "day", "two days"]),
        ({"duration": "1 day"}, ["now", "day"]),
    ],
)
def test_t43_windows_bound_what_is_found(world: World, window: object, expected: list[str]) -> None:
    """`since` is included, `until` is not."""
    for text, hours in (("now", -1), ("day", -24), ("two days", -48), ("a week", -24 * 7), ("ages", -24 * 99)):
        world.memory(text, hours * 60, ("t",))
    assert texts(world.act(mode="free", time_window=window)) == expected
    assert texts(world.act(mode="tags", tags=["t"], time_window=window)) == expected


@pytest.mark.parametrize("window", ["0 days", "-1d", "soon", "2026-03-05/2026-03-01"])
def test_t43_windows_that_are_none_are_errors(world: World, window: str) -> None:
    """The sentence names the forms that are understood."""
    answer = world.act(mode="free", time_window=window)
    assert answer["status"] == "error"
    assert len(answer["errors"]) == 1


# T44


def test_t44_identical_texts_are_one_with_the_smallest_id_and_the_newest_time(world: World) -> None:
    """One fact kept twice is one result that stays where it was first."""
    first = world.memory("Jay likes tea", 7, ("jay",))
    second = world.memory("jay  likes TEA", 9, ("jay",))
    assert first < second
    for payload in ({"mode": "free", "query": "tea"}, {"mode": "tags", "tags": ["jay"]}):
        answer = world.act(payload)
        assert answer["count"] == 1
        assert answer["results"][0]["id"] == first
        assert answer["results"][0]["timestamp"] == "2026-03-10T12:09:00+00:00"


def test_t44_the_smallest_id_may_have_the_newest_time(world: World) -> None:
    """Id and time are found apart; the id's source goes with it."""
    first = world.diary("tea at four", 9)
    world.memory("tea at four", 1)
    answer = world.act(mode="free", query="tea")
    assert [(hit["source"], hit["id"]) for hit in answer["results"]] == [("ai_diary", first)]
    assert answer["results"][0]["timestamp"] == "2026-03-10T12:09:00+00:00"


def test_t44_copies_do_not_take_the_places_of_others(world: World) -> None:
    """Results are counted after copies became one."""
    first = min(world.memory("tea again", 100 + n, ("tea",)) for n in range(30))
    others = [f"tea {n}" for n in range(6)]
    for n, text in enumerate(others):
        world.memory(text, n, ("tea",))
    for payload in ({"mode": "free", "query": "tea"}, {"tags": ["tea"]}):
        answer = world.act({**payload, "max_results": 5})
        assert texts(answer)[0] == "tea again"
        assert answer["results"][0]["id"] == first
        assert answer["count"] == 5


def test_t44_nothing_found_is_an_empty_list(world: World) -> None:
    """A key that is missing breaks the caller."""
    assert world.act(tags=["cat"]) == {"status": "ok", "count": 0, "results": []}
    assert world.act(mode="free", query="cat") == {"status": "ok", "count": 0, "results": []}


def test_t44_results_are_newest_first(world: World) -> None:
    """Also in order of relevance, as every search hands out its hits (T32)."""
    world.memory("tea cup", 1)
    world.memory("tea tea tea cup", 3)
    world.memory("cup", 2)
    assert texts(world.act(keywords=["tea", "cup"])) == ["tea tea tea cup", "cup", "tea cup"]


def test_t44_what_was_left_out_of_the_payload_is_told(world: World) -> None:
    """Nothing is dropped unsaid."""
    answer = world.act(tags=[f"t{n}" for n in range(60)])
    assert answer["status"] == "ok"
    assert len(answer["notes"]) == 1
    assert "12 over the limit of 48" in answer["notes"][0]


# T45


@pytest.mark.parametrize("key", ["persona_id", "persona", "participant", "audience", "scope", "server", "conversation"])
def test_t45_a_payload_cannot_name_whose_rows_it_reads(world: World, handle: Database, key: str) -> None:
    """A model must not be talked into another persona's or person's rows."""
    other = World(handle)
    other.memory("secret tea", 0, ("tea",))
    answer = world.act({"tags": ["tea"], key: other.scope.persona})
    assert answer["status"] == "error"
    assert len(answer["errors"]) == 1
    assert repr(key) in answer["errors"][0]


def test_t45_the_action_runs_in_the_scope_of_the_conversation(world: World) -> None:
    """What was said in a direct message is found there and nowhere else."""
    ann = Scope(world.scope.persona, conversation="web/ann", participant="web/ann", privacy="direct")
    bob = Scope(world.scope.persona, conversation="web/bob", participant="web/bob", privacy="direct")
    chat_history_cache.save_chat_message("web/ann", "my tea secret", "Ann", "ann", scope=ann, db=world.db)
    more: dict[str, Any] = {"db": world.db, "settings": Settings()}
    assert memory_search_action({"tags": ["tea"]}, scope=ann, **more)["count"] == 1
    assert memory_search_action({"tags": ["tea"]}, scope=bob, **more)["count"] == 0
    assert memory_search_action({"tags": ["tea"]}, scope=world.scope, **more)["count"] == 0
