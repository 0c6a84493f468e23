"""Every flag changes something a host can see: one probe each (design: a flag without a probe does not exist)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from core import chat_history_cache, synth_tagging
from core.calls import defaults
from core.config import FLAGS, Settings
from core.database.engine import Database
from core.memories.capture import should_remember
from core.personas import set_persona_text
from tests.spec import (  # noqa: F401 - they register
    probes_admin,
    probes_api,
    probes_conversations,
    probes_lifelong,
    probes_models,
    probes_recall,
    probes_short_term,
    probes_stories,
)
from tests.spec.probes import PROBES, Probe, probe, register
from tests.spec.stage import ELSEWHERE, HERE, Stage, snippets


def _lines(stage: Stage) -> None:
    for n in range(6):
        stage.say(f"tofu here {n}", minutes=60 - n)
        stage.say(f"tofu there {n}", ELSEWHERE, "Bob", minutes=70 - n)


def _context(name: str, key: str, text: str = "tofu", **more: Any) -> Probe:
    def shown(stage: Stage, value: Any) -> object:
        return stage.context(text, **{name: value}, **more).get(key, "absent")

    return shown


for _name, _before, _after, _key in (
    ("CONTEXT_VERBOSITY", 3, 5, "history_current_chat"),
    ("HISTORY_LINES", None, 4, "history_current_chat"),
    ("MEMORY_ITEMS", None, 1, "memories"),
    ("PROMPT_LITE_MODE", 0, 1, "history_current_chat"),
    ("TIMEZONE", "UTC", "Europe/Rome", "history_current_chat"),
    ("ENABLE_TAGS_PLACEHOLDER", 1, 0, "tags_placeholder"),
    ("ENABLE_HISTORY_CURRENT_CHAT", 1, 0, "history_current_chat"),
    ("ENABLE_HISTORY_RECENT", 1, 0, "history_recent"),
    ("UNIFIED_HISTORY", 1, 0, "history_recent"),
    ("ENABLE_AI_DIARY", 1, 0, "ai_diary"),
    ("AI_DIARY_FULL", 1, 0, "ai_diary"),
    ("DIARY_HISTORY_DAYS", 2, 4, "ai_diary"),
    ("DIARY_CHARS", 8000, 5, "ai_diary"),
    ("ENABLE_MEMORIES", 1, 0, "memories"),
    ("SNIPPET_CHARS", 400, 80, "memories"),
    ("SNIPPET_WINDOW", "start", "match", "memories"),
):
    register(_name, _before, _after, _context(_name, _key))
register("ENABLE_THOUGHTS", 1, 0, _context("ENABLE_THOUGHTS", "thoughts", AI_DIARY_FULL=0))


@probe(0, 2600)
def _max_prompt_chars(stage: Stage, value: Any) -> object:
    return stage.explain("tofu", MAX_PROMPT_CHARS=value)[1]["size"] > 2600


@probe("auto", "actions")
def _answer_format(stage: Stage, value: Any) -> object:
    return stage.prompt("tofu", ANSWER_FORMAT=value)["instructions"]


@probe(1, 0)
def _include_local_time_in_prompts(stage: Stage, value: Any) -> object:
    return "local_time" in stage.prompt("hi", INCLUDE_LOCAL_TIME_IN_PROMPTS=value)["input"]["payload"]


@probe(10, 2)
def _chat_history(stage: Stage, value: Any) -> object:
    settings = Settings(chat_history=value)
    return len(chat_history_cache.load_chat_history(HERE, db=stage.db, settings=settings, scope=stage.scope()))


@probe("relevance", "recency")
def _memory_ranking(stage: Stage, value: Any) -> object:
    return snippets(stage.context("rare tofu", MEMORY_RANKING=value, CONTEXT_VERBOSITY=1, UNIFIED_HISTORY=0))


@probe(["en"], ["de"])
def _languages(stage: Stage, value: Any) -> object:
    return stage.explain("und the running", LANGUAGES=value)[1]["search"]["words"]


@probe({}, {"explicit": ["mark my words"]})
def _remember_phrases(stage: Stage, value: Any) -> object:
    return should_remember("Mark my words, it rains", None, settings=Settings(remember_phrases=value))


@probe("default", "somebody")
def _persona_id(stage: Stage, value: Any) -> object:
    with_flag = Settings(persona_id=value)
    return defaults.scope_for(None, with_flag).persona


@probe(1, 0)
def _private_stays_private(stage: Stage, value: Any) -> object:
    if value:
        stage.say("a secret zebra", "tg/direct", "Bob", minutes=9, privacy="direct")
    return snippets(
        stage.context("secret zebra", PRIVATE_STAYS_PRIVATE=value, is_private=False, path="tg/x", UNIFIED_HISTORY=0)
    )


@probe(0, 1)
def _server_in_direct(stage: Stage, value: Any) -> object:
    if not value:
        stage.say("my zebra is striped", "tg/77", "Ann", minutes=900, server="s1")
    return snippets(stage.context("zebra", SERVER_IN_DIRECT=value, is_private=True, path="tg/ann"))


@probe("none", "full")
def _privacy_default(stage: Stage, value: Any) -> object:
    return chat_history_cache.save_chat_message(
        "tg/70",
        f"new {value}",
        "Zed",
        f"zed{value}",
        db=stage.db,
        settings=Settings(privacy_default=value),
        scope=stage.scope("tg/70"),
    ).stored


@probe("remote", "local")
def _prompt_destination(stage: Stage, value: Any) -> object:
    if value == "remote":
        stage.remember("quagga kept local", ["quagga"], local_only=True)
    return snippets(stage.context("quagga", PROMPT_DESTINATION=value))


@probe("sqlite:///a.db", "sqlite:///b.db")
def _database_url(stage: Stage, value: Any) -> object:
    return defaults.open_bare(settings=Settings(database_url=value)).target.shown


@probe(10, 3)
def _db_timeout_seconds(stage: Stage, value: Any) -> object:
    return defaults.open_bare("sqlite://", settings=Settings(db_timeout_seconds=value)).timeout_seconds


@probe(None, "templates")
def _templates_dir(stage: Stage, value: Any) -> object:
    folder: Any = None
    if value:
        folder = stage.folder  # type: ignore[attr-defined]
        (folder / "instructions.txt.j2").write_text("Answer in JSON with type, payload, thread_id, actions.")
    return stage.prompt("hi", TEMPLATES_DIR=folder, ANSWER_FORMAT="actions")["instructions"]


@probe("nowhere", "personas")
def _persona_folder(stage: Stage, value: Any) -> object:
    folder = stage.folder / value  # type: ignore[attr-defined]
    if value == "personas":
        set_persona_text("I am who I am.", settings={"PERSONA_FOLDER": str(folder)}, scope=stage.scope())
    return stage.prompt("hi", PERSONA_FOLDER=str(folder))["instructions"]


@pytest.fixture
def full(db: Database, tmp_path: Path) -> Stage:
    """A persona with something for every probe."""
    made = Stage(db)
    made.folder = tmp_path  # type: ignore[attr-defined]
    _lines(made)
    made.say("yes", who="self", minutes=50)
    for n in range(3):
        made.diary(f"tofu day {n}", minutes=80 - n, personal_thought=f"tofu thought {n}")
    made.diary("tofu long ago", minutes=60 * 24 * 3)
    made.remember("x " * 300 + "rare tofu", ["pizza", "recipe"], 60 * 24 * 9)
    made.remember("tofu again", ["tofu", "round"], 30)
    made.remember("tofu at last", ["tofu"], 20)
    synth_tagging.link_tags("pizza", "round", db=db, scope=made.scope())
    return made


@pytest.mark.engines("sqlite")  # a flag is read before any server is asked
@pytest.mark.parametrize("name", sorted(FLAGS))
def test_every_flag_changes_something(full: Stage, name: str) -> None:
    assert name in PROBES, f"{name} has no probe: nobody can tell what it does"
    function, before, after = PROBES[name]
    first, second = function(full, before), function(full, after)
    assert first != second


def test_no_probe_is_left_over_from_a_flag_that_is_gone() -> None:
    assert set(PROBES) <= set(FLAGS)
