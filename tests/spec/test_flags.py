"""Every flag changes something a host can see: one probe for each whose effect no other test of its noun shows."""

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from core import jobs, llm, short_term, stories
from core.calls import defaults
from core.config import FLAGS, Settings
from core.jobs import Worker
from core.llm import embedder
from core.synth_core_memory import should_remember
from tests.spec.lifelong_world import Life
from tests.spec.stage import HERE, NOW, Stage
from tests.spec.story import Story
from tests.unit.llm.model_server import running

TESTS = Path(__file__).resolve().parents[1]

Probe = Callable[[Stage, Any], object]
PROBES: dict[str, tuple[Probe, Any, Any]] = {}


def probe(before: Any, after: Any) -> Callable[[Probe], Probe]:
    """Register what must differ between two values of the flag the function is named after."""

    def keep(function: Probe) -> Probe:
        PROBES[function.__name__.removeprefix("_").upper()] = (function, before, after)
        return function

    return keep


for _name, _key in (("ENABLE_TAGS_PLACEHOLDER", "tags_placeholder"), ("ENABLE_AI_DIARY", "ai_diary")):
    PROBES[_name] = (lambda stage, value, n=_name, k=_key: stage.context("tofu", **{n: value}).get(k, "absent"), 1, 0)


@probe({}, {"explicit": ["mark my words"]})
def _remember_phrases(stage: Stage, value: Any) -> object:
    return should_remember("Mark my words, it rains", None, settings=Settings(remember_phrases=value))


@probe(10, 3)
def _db_timeout_seconds(stage: Stage, value: Any) -> object:
    return defaults.open_bare("sqlite://", settings=Settings(db_timeout_seconds=value)).timeout_seconds


@probe("", "k")
def _embedder_api_key(stage: Stage, value: Any) -> object:
    with running() as server:
        embedder.resolve(None, Settings(embedder=server.base(), embedder_api_key=value)).embed(["a"])
        llm.close()
        return server.asked[0].headers.get("authorization")


@probe(1800, 60)
def _memory_consolidation_interval_sec(stage: Stage, value: Any) -> object:
    stage = Stage(stage.db)
    stage.say("said", minutes=0.1)
    settings = Settings(memory_consolidation_interval_sec=value, consolidate_every_n_messages=0)
    clock, runs = stage.db.clock, 0
    for seconds in (0, 120):
        clock.now = NOW + timedelta(seconds=seconds)
        runs += Worker(stage.db, personas=[stage.persona], settings=settings).run(once=True)
    return runs


@probe(0.25, 0.4)
def _prune_max_importance(stage: Stage, value: Any) -> object:
    life = Life(Stage(stage.db))
    life.item("old and dull", days=366, importance=0.2)
    life.item("dull a little", days=366, importance=0.3)
    return int(life.prune_ltm(dry_run=True, PRUNE_MAX_IMPORTANCE=value))


def _turn(stage: Stage, channel: str, hours: float = 0, lines: int = 1, **flags: Any) -> Any:
    messages = [{"content": str(n), "sender_id": "ann"} for n in range(lines)]
    at = {"user": "tg/ann", "channel": channel, "server": "s1", "at": NOW - timedelta(hours=hours)}
    return short_term.write_turn({**at, "messages": messages}, [{"text": "re"}], **stage.asking(**flags))


def _read(stage: Stage, **flags: Any) -> list[Any]:
    return list(short_term.get_for_user("tg/ann", **stage.asking(server="s1", **flags)))


@probe(1, 0)
def _enable_short_term(stage: Stage, value: Any) -> object:
    _turn(stage, "tg/short")
    return "short_term" in stage.context("hi", ENABLE_SHORT_TERM=value, server_id="s1", is_private=False, path="tg/new")


@probe(12, 0.5)
def _short_term_memory_ttl_hours(stage: Stage, value: Any) -> object:
    _turn(stage, "tg/ttl", hours=1)
    return len(_read(stage, SHORT_TERM_MEMORY_TTL_HOURS=value))


@probe(10, 3)
def _short_term_memory_max_messages_per_channel(stage: Stage, value: Any) -> object:
    _turn(stage, "tg/most", lines=9, SHORT_TERM_MEMORY_MAX_MESSAGES_PER_CHANNEL=value)
    return len(_read(stage)[0]["messages"])


@probe(3, 1)
def _short_term_max_channels(stage: Stage, value: Any) -> object:
    for n in range(4):
        _turn(stage, f"tg/room{n}")
    by = stage.asking(SHORT_TERM_MAX_CHANNELS=value)
    return len(short_term.build_short_term_context("tg/ann", "tg/new", "s1", **by))


@probe("percent", "absolute")
def _message_recap_context_type(stage: Stage, value: Any) -> object:
    story = Story(stage.db, f"{stage.persona}-{value}")
    story.recap(*(f"so it went {n}" for n in range(3)))
    return story.included(MESSAGE_RECAP_CONTEXT_TYPE=value, MESSAGE_RECAP_CONTEXT_LIMIT=10, CONTEXT_TOKENS=256)


@probe(10, 20)
def _scene_min_length(stage: Stage, value: Any) -> object:
    story = Story(stage.db, f"{stage.persona}-{value}")
    for count, hours in ((15, 90), (15, 60), (10, 30)):
        story.tell(count, start=timedelta(hours=hours))
    jobs.enqueue_operation("SCENE_DETECTION", conversation=HERE, **story.given)
    story.run(SCENE_MIN_LENGTH=value)
    return [each["last_index"] for each in stories.list_scenes(HERE, **story.given)]


@pytest.mark.parametrize("name", sorted(PROBES))
def test_a_flag_changes_something(stage: Stage, name: str) -> None:
    stage.diary("tofu day", personal_thought="tofu thought")
    function, before, after = PROBES[name]
    assert function(stage, before) != function(stage, after)


def test_every_flag_has_a_probe_or_is_set_where_its_noun_is_tested() -> None:
    assert set(PROBES) <= set(FLAGS)
    folders = ("spec", "store", "unit", "isolation")
    texts = [path.read_text(encoding="utf-8") for name in folders for path in (TESTS / name).rglob("test_*.py")]
    named = {word.upper() for text in texts for word in re.findall(r"\b[A-Za-z]+(?:_[A-Za-z]+)*\b", text)}
    assert set(FLAGS) - named == set(), "nobody can tell what they do"
