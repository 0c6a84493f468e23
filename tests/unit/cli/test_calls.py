"""How the command is called: exit codes 0, 1 and 2, and what stands on stderr."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import core.cli
from tests.unit.cli.conftest import Command


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Missing command"),
        (["serch"], "Did you mean 'search', 'serve'?"),
        (["build"], "Missing argument"),
        (["explain", "x", "--user", "7"], "'7' does not say on which interface"),
        (["build", "hi", "--max-chars", "0"], "Invalid value for '--max-chars'"),
        (["search"], "say what to look for"),
        (["search", "x", "--since", "soon"], "since"),
        (["import", "x", "--timezone", "Mars"], "time_zone is 'Mars'"),
        (["config", "list", "CONTEXT_VERBOSTY"], "CONTEXT_VERBOSITY"),
        (["demo", "--database", "sqlite:///x.db"], "--database"),
    ],
)
def test_f78_a_wrong_call_is_one_sentence_and_exit_code_2(made: Command, arguments: list[str], said: str) -> None:
    """Scripts tell a mistake in the call from a failure, and nothing was done."""
    ran = made(*arguments)
    assert ran.code == 2
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1
    assert ran.err.rstrip().endswith("--help`.")
    assert ran.out == ""
    assert "Traceback" not in ran.err


_READING = (
    "build hi", "explain hi", "search tea", "export --items -", "export --person tg/ann -", "tags list",
    "db check", "db reindex", "db pack",
    "db backup copy.db", "memory consolidate", "memory prune",
    "forget --participant tg/ann --yes", "jobs list", "jobs cancel 1", "jobs cancel --all", "jobs retry 1",
    "token list", "token revoke 1",
)  # fmt: skip


@pytest.mark.parametrize("command", _READING)
def test_a_mistyped_file_is_refused_by_what_makes_none(run: Command, tmp_path: Path, command: str) -> None:
    """A new empty database in its place would be said to be in order, and to hold nothing."""
    ran = run(*command.split(), "--database", f"sqlite:///{tmp_path / 'nope.db'}")
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (1, "", 1), ran.err
    assert f"There is no database sqlite:///{tmp_path / 'nope.db'}. Correct --database" in ran.err
    assert ran.err.endswith("a new one is made by: prompt-engine db init\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "command",
    ["db init", "db migrate", "remember tea",      "token add --host", "worker --once"],
)  # fmt: skip
def test_what_a_new_installation_begins_with_makes_the_file(run: Command, tmp_path: Path, command: str) -> None:
    ran = run(*command.split())
    assert (ran.code, (tmp_path / "own.db").exists()) == (0, True), ran.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["search", "x", "--database", "sqlite:////nowhere/at/all.db"], "does not exist"),
        (["build", "x", "--max-chars", "10"], "protected parts take"),
        (["remember", " "], "blank"),
        (["import", "missing.jsonl"], "'missing.jsonl' does not exist"),
    ],
)
def test_f78_a_failure_is_told_and_exits_1(made: Command, arguments: list[str], said: str) -> None:
    """One line on stderr, nothing on stdout, no trace."""
    ran = made(*arguments)
    assert ran.code == 1
    assert said in ran.err
    assert ran.out == ""
    assert "Traceback" not in ran.err


def test_debug_shows_where_an_error_came_from(run: Command) -> None:
    """For whoever mends it."""
    with pytest.raises(Exception, match="does not exist"):
        run("import", "missing.jsonl", "--debug")


def test_without_the_extra_one_sentence_names_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The library is installed without the command line more often than with it."""
    monkeypatch.setitem(sys.modules, "typer", None)
    assert core.cli.main(["build", "hi"]) == 1
    told = capsys.readouterr()
    assert told.err == core.cli.MISSING + "\n"
    assert "pip install 'prompt-engine[cli]'" in told.err
