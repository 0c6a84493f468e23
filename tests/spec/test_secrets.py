"""G19, G26, F73: passwords, keys and tokens are printed nowhere, and what was said stays out of logs above debug."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import core.cli
from core import chat_history_cache, db, jobs, lifelong, llm, privacy, short_term, stories, synth_core_memory
from core.cli import app as command
from core.config import load, show
from core.config.levels import SECRET_FILES
from core.database.engine import Database
from core.db import open_database
from core.errors import CoreError
from core.prompt_engine import explain_json_prompt
from core.scope import Scope
from tests.store import scenario
from tests.store.world import open_db

PASSWORD, KEY, TOKEN = "canary-pw-7f3a", "canary-key-7f3a", "canary-token-7f3a"
CANARIES = (PASSWORD, KEY, TOKEN)
AWAY = f"mysql://user:{PASSWORD}@127.0.0.1:1/none"
MESSAGE = {"message_id": "1", "date": "2026-03-10T12:00:00Z", "text": "hi", "interface_path": "tg/1"}


@pytest.fixture
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    values = dict.fromkeys(SECRET_FILES.values(), TOKEN) | {"DATABASE_URL": AWAY, "LLM_API_KEY": KEY}
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LLM_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("LLM_TIMEOUT_SECONDS", "1")
    monkeypatch.setenv("DB_TIMEOUT_SECONDS", "0.5")
    yield tmp_path
    db.configure()


def _leaves(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, each in sorted(group.commands.items()):
        if hasattr(each, "commands"):
            yield from _leaves(each, (*path, name))
        else:
            yield (*path, name)


def _subcommands() -> list[tuple[str, ...]]:
    return list(_leaves(typer.main.get_command(command.app)))


_WAITING = {("serve",), ("worker",), ("demo",), ("mcp",)}
"""Subcommands that go on for good, or bring their own database."""
_NEEDED = {
    ("build",): ["hi"], ("explain",): ["hi"], ("search",): ["hi"], ("remember",): ["hi"], ("import",): ["none.jsonl"],
    ("export",): ["out.jsonl", "--conversation", "tg/1"], ("tag",): ["hi"],
}  # fmt: skip


@pytest.mark.slow
def test_g19_no_subcommand_prints_a_secret(surroundings: Path, capsys: pytest.CaptureFixture[str], caplog: Any) -> None:
    caplog.set_level(logging.DEBUG)
    ran = 0
    for path in _subcommands():
        needed = _NEEDED.get(path, [])
        calls = [[*path, "--help"]]
        if path not in _WAITING:
            calls += [[*path, *needed, "--debug"]]
            calls += [[*path, *needed, "--database", f"nope://u:{PASSWORD}@h/n"]]
        for arguments in calls:
            try:
                core.cli.main(arguments)
            except CoreError as error:  # --debug shows where it came from
                print("".join(traceback.format_exception(error)))
            ran += 1
    said = "".join(capsys.readouterr()) + caplog.text
    assert [each for each in CANARIES if each in said] == []
    assert ran > 60
    assert "could not be" in said


DOORS: dict[str, Callable[[], Any]] = {
    "open_database": open_database,
    "check_server": db.check_server,
    "migrate": db.migrate,
    "search": lambda: synth_core_memory.search_memories(tags=["a"]),
    "save": lambda: chat_history_cache.save_chat_message("tg/1", "hi", sender_id="u"),
    "privacy": lambda: privacy.set_privacy("tg/1", "full"),
    "jobs": lambda: jobs.run_pending(limit=1),
    "lifelong": lambda: lifelong.search_items("a"),
    "stories": lambda: stories.auto_hide_plan("tg/1"),
    "short_term": short_term.get_stats,
    "wrong scheme": lambda: open_database(f"oracle://u:{PASSWORD}@h/n"),
    "no name": lambda: open_database(f"mysql://u:{PASSWORD}@h"),
    "wrong parameter": lambda: open_database(f"mysql://u:{PASSWORD}@h/n?password={PASSWORD}"),
    "wrong port": lambda: open_database(f"mysql://u:{PASSWORD}@h:{PASSWORD}/n"),
    "wrong tls": lambda: open_database(f"mysql://u:{PASSWORD}@h/n?tls={PASSWORD}"),
    "missing folder": lambda: open_database(f"sqlite:////none/{PASSWORD[:3]}/x.db"),
    "model": lambda: llm.ask(llm.resolve(None, load()), [{"role": "user", "content": "x"}], load()),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", list(DOORS))
def test_f73_no_error_of_a_door_holds_a_secret(name: str, surroundings: Path, caplog: Any) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises((CoreError, TypeError)) as raised:
        DOORS[name]()
    error = raised.value
    facts = [str(each) for each in vars(error).values()] if hasattr(error, "__dict__") else []
    said = " ".join([str(error), repr(error), *facts, *traceback.format_exception(error), caplog.text])
    assert [each for each in CANARIES if each in said] == []


def test_g19_what_shows_itself_shows_no_secret(surroundings: Path, tmp_path: Path) -> None:
    known = load()
    handle = Database(AWAY, timeout_seconds=0.2)
    shown = [repr(known), str(known), *map(repr, show(known)), repr(handle), str(handle), repr(handle.target)]
    shown += [repr(engine) for engine in handle.engines()] + [repr(llm.resolve(None, known)), repr(known.differing())]
    shown += [repr(db.check_server(db.open_database("sqlite://")))]
    prompt, report = explain_json_prompt(MESSAGE, {}, db=handle)
    shown += [repr(prompt), repr(report)]
    assert [each for each in CANARIES if each in " ".join(shown)] == []
    assert KEY in str(known.llm_api_key)  # it is there, and not shown
    handle.close()


def test_g19_a_secret_from_a_file_is_as_secret(surroundings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = surroundings / "key"
    file.write_text(KEY, encoding="utf-8")
    monkeypatch.delenv("LLM_API_KEY")
    monkeypatch.setenv("LLM_API_KEY_FILE", str(file))
    known = load()
    assert known.llm_api_key == KEY
    assert KEY not in repr(known) + repr(show(known))


@pytest.mark.slow
def test_g26_what_was_said_is_in_no_log_above_debug(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A whole story over every door, and then the same with the tables gone: not one text, name or tag of it."""
    caplog.set_level(logging.INFO)
    made = open_db(f"sqlite:///{tmp_path / 'story.db'}")
    scenario.play(made)
    for table in ("search_fresh", "search_segment", "memories", "chat_history_cache", "ai_diary", "memory_jobs"):
        made.transaction(lambda c, t=table: c.exec_driver_sql(f"ALTER TABLE {t} RENAME TO gone_{t}"), source="test")
    errors = []
    more: dict[str, Any] = {"db": made, "scope": Scope(scenario.PERSONA, conversation="tg/1")}
    for call in (
        lambda: chat_history_cache.save_chat_message("tg/1", "zebrafish said this", sender_id="zebrafish", **more),
        lambda: db.insert_memory("zebrafish memory", "zebrafish", "zebrafish", ["zebrafish"], **more),
        lambda: synth_core_memory.search_memories(tags=["zebrafish"], keywords=["zebrafish"], **more),
        lambda: explain_json_prompt({**MESSAGE, "text": "zebrafish"}, {}, **more),
        lambda: lifelong.search_items("zebrafish", **more),
    ):
        try:
            call()  # type: ignore[no-untyped-call]
        except CoreError as error:
            errors.append("".join(traceback.format_exception(error)).split("Traceback")[-1].rpartition("\n  ")[-1])
    said = caplog.text + " ".join(errors)
    assert len(errors) >= 3
    assert "zebrafish" not in said
    assert [text for text in scenario.TEXTS if text[:12] in said] == []
    made.close()
