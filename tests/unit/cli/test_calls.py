"""How the command is called, on what it works, and the demo: exit codes 0, 1 and 2, and what stands on stderr."""

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pymysql
import pytest

import core.cli
from core.cli.demo import FILE as DEMO_FILE
from core.database.engine import Database
from core.messages import table_batches
from tests.unit.cli.conftest import ROOT, Command


@pytest.mark.parametrize(("command", "code", "said"), [
    ("serch", 2, "Did you mean 'search', 'serve'?"), ("init", 2, "Did you mean 'db init'?"),
    ("build", 2, "Missing argument"), ("explain x --user 7", 2, "'7' does not say on which interface"),
    ("build hi --max-chars 0", 2, "Invalid value for '--max-chars'"), ("search", 2, "say what to look for"),
    ("search x --since soon", 2, "since"), ("import x --timezone Mars", 2, "time_zone is 'Mars'"),
    ("config set CONTEXT_VERBOSTY 4", 2, "CONTEXT_VERBOSITY"), ("db maintenance helth", 2, "known are"),
    ("db maintenance health --set x", 2, "NAME=VALUE"), ("db maintenance health --apply", 2, "nothing to apply"),
    ("db maintenance prune --set expired_before=soon", 2, "is a time such as"),
    ("demo --database sqlite:///x.db", 2, "--database"),
    ("export out.json", 2, "a conversation with --conversation, a person with --person, or --items"),
    ("export --chat x out.json --format xml", 2, "It must be sillytavern"),
    ("export --items --chat a/b out.json", 2, "--items"),
    ("export --items out.json --format xml", 2, "fmt is 'xml'. It must be json, jsonl, yaml"),
    ("import in.json --private", 2, "needs --conversation"),
    ("mcp --participant ann", 2, "interface/id, such as web/ann"),
    ("mcp --conversation 42", 2, "interface/chat, such as web/42"), ("mcp --privacy public", 2, "Add --conversation"),
    ("token add --participant ann", 2, "'ann' does not say on which interface"),
    ("token add --participant web/ann --conversation 42", 2, "'42' does not say on which interface"),
    ("token add --participant web/ann --personas mira", 2, "--personas goes with --host"),
    ("token add --admin --personas mira", 2, "--personas goes with --host"), ("token add", 2, "name exactly one"),
    ("token add --participant web/ann --host", 2, "name exactly one"),
    ("token add --participant ''", 2, "participant is missing"), ("forget --yes", 2, "exactly one"),
    ("forget --message 1 --memory 3 --yes", 2, "exactly one"),
    ("forget --participant tg/1 --memory 3 --yes", 2, "exactly one"), ("forget --memory x --yes", 2, "'--memory'"),
    ("search x --database sqlite:////nowhere/at/all.db", 1, "does not exist"),
    ("build x --max-chars 10", 1, "protected parts take"), ("remember ' '", 1, "blank"),
    ("import missing.jsonl", 1, "'missing.jsonl' does not exist"),
    ("import shape.json", 1, "It must hold {items: [...]}"), ("export --items in.json", 1, "is there already"),
    ("export --chat import/nothing out.json", 1, "no conversation 'import/nothing'"),
    ("export --conversation ' ' out.json", 1, "conversation"),
])  # fmt: skip
def test_f78_r12_what_cannot_be_done_is_one_sentence(made: Command, command: str, code: int, said: str) -> None:
    Path("in.json").write_text('{"items": ["a"]}')
    Path("shape.json").write_text("[]")
    ran = made(*shlex.split(command))
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (code, "", 1), ran.err
    assert said in ran.err and "Traceback" not in ran.err
    assert ran.err.rstrip().endswith("--help`.") == (code == 2)
    assert not Path("out.json").exists()


@pytest.mark.parametrize("command", (
    "build hi", "explain hi", "search tea", "export --items -", "export --person tg/ann -",
    "db check", "db reindex", "db pack", "db maintenance health",
    "db backup copy.db", "memory consolidate", "memory prune",
    "forget --participant tg/ann --yes", "jobs list", "jobs cancel 1", "jobs cancel --all", "jobs retry 1",
    "token list", "token revoke 1",
))  # fmt: skip
def test_a_mistyped_file_is_refused_by_what_makes_none(run: Command, tmp_path: Path, command: str) -> None:
    ran = run(*command.split(), "--database", f"sqlite:///{tmp_path / 'nope.db'}")
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (1, "", 1), ran.err
    assert f"There is no database sqlite:///{tmp_path / 'nope.db'}. Correct --database" in ran.err
    assert ran.err.endswith("a new one is made by: prompt-engine db init\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["db init", "db migrate", "remember tea", "token add --host", "worker --once"])
def test_what_a_new_installation_begins_with_makes_the_file(run: Command, tmp_path: Path, command: str) -> None:
    ran = run(*command.split())
    assert (ran.code, (tmp_path / "own.db").exists()) == (0, True), ran.err


def test_debug_shows_where_an_error_came_from_and_a_missing_extra_is_named(
    run: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Exception, match="does not exist"):
        run("import", "missing.jsonl", "--debug")
    monkeypatch.setitem(sys.modules, "typer", None)
    assert core.cli.main(["build", "hi"]) == 1 and "pip install 'prompt-engine[cli]'" in core.cli.MISSING
    assert capsys.readouterr().err == core.cli.MISSING + "\n"


def _checked(run: Command, *arguments: object) -> str:
    ran = run("db", "check", *arguments)
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (1, "", 1) and "db check" not in ran.err
    return ran.err


def test_f74_what_is_no_database_or_cannot_be_reached_is_told_and_stops_build(run: Command, tmp_path: Path) -> None:
    """At a terminal a prompt without memory would look like an empty memory; a host must answer somehow."""
    (tmp_path / "own.db").write_text("a shopping list, and a long one: " + "milk " * 200)
    assert "The file is no SQLite database" in _checked(run)
    assert (tmp_path / "own.db").read_text().startswith("a shopping list")
    said = _checked(run, "--database", "mysql://ann:canary-pw@127.0.0.1:1/x")
    assert "The server could not be reached" in said and "The server is 127.0.0.1, port 1." in said
    assert "canary-pw" not in said
    ran = run("build", "Hi", "--database", "mysql://ann@127.0.0.1:1/x")
    assert (ran.code, ran.out) == (1, "") and "127.0.0.1, port 1" in ran.err


def test_f74_a_server_without_tls_is_told_with_the_way_out(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Verified encryption is the default on a network, and many servers at home have none."""

    def refuse(*_: object, **__: object) -> None:
        raise pymysql.err.OperationalError(2026, "SSL is required but the server doesn't support it")

    monkeypatch.setattr(pymysql, "connect", refuse)
    said = _checked(run, "--database", "mysql://ann@127.0.0.1:1/x?tls=verify")
    assert "offers no encryption (TLS): add ?tls=off" in said


def test_db_check_gives_no_advice_to_run_itself(made: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    _checked(made, "--database", f"sqlite:///{tmp_path / 'folder'}")
    read = Database.read
    monkeypatch.setattr(Database, "read", lambda db, *_, **__: read(db, "SELECT no such thing", source="x"))
    assert "own log may say more" in _checked(made)


SECRETS = ("coffee pot", "midwife", "cactus", "she must not find out")


def test_demo_finds_what_was_said_long_ago_and_keeps_secrets(run: Command, tmp_path: Path) -> None:
    ran = run("demo", "--json")
    assert (ran.code, ran.err) == (0, "")
    memories = ran.json["context"]["memories"]
    assert any("Cashews" in hit["snippet"] and hit["timestamp"] < "2025-06-09" for hit in memories)
    assert "Altona" not in ran.out and [secret for secret in SECRETS if secret in ran.out.lower()] == []
    assert [path.name for path in tmp_path.iterdir()] == [DEMO_FILE]
    again = run("demo", "--json").json["context"]
    assert again["history_current_chat"] == ran.json["context"]["history_current_chat"]


def test_demo_tells_a_story_on_one_screen(run: Command) -> None:
    ran = run("demo")
    assert (ran.code, ran.err) == (0, "")
    assert "117 messages, 6 memories, 2 diary entries" in ran.out and DEMO_FILE in ran.out
    starts = ("Asked by Mara", "Found: ", "Who may see it", "Sent to the model: ", "Next")
    titles = [line for line in ran.out.splitlines() if line and not line.startswith(" ")][1:]
    assert len(titles) == len(starts) and all(map(str.startswith, titles, starts))
    assert "  [2025-06-08 19:20] Lena is Jonas's sister. Cashews are dangerous for her, peanuts are fine.\n" in ran.out
    assert titles[3].endswith(" ms")
    assert "  prompt-engine explain" in ran.out.splitlines()[-1]
    assert [secret for secret in SECRETS if secret in ran.out.lower()] == []
    assert len(ran.out.splitlines()) <= 38 and "\x1b" not in ran.out


def test_demo_keeps_what_others_stored_in_its_file(run: Command, tmp_path: Path) -> None:
    file = tmp_path / DEMO_FILE
    file.write_text("mine")
    ran = run("demo")
    assert (ran.code, ran.out, "no SQLite database" in ran.err) == (1, "", True)
    assert file.read_text() == "mine"
    file.unlink()
    assert run("demo").code == 0
    assert run("remember", "tea", "--database", f"sqlite:///{DEMO_FILE}").code == 0
    assert "stored by an earlier run" in run("demo").out
    assert run("search", "tea", "--database", f"sqlite:///{DEMO_FILE}").json["hits"]


def test_f79_a_closed_stdout_ends_quietly(tmp_path: Path) -> None:
    """`prompt-engine config list | head -1` is how people look."""
    reading, writing = os.pipe()
    os.close(reading)
    command, environment = [sys.executable, "-m", "core.cli", "config", "list"], {**os.environ, "PYTHONPATH": str(ROOT)}
    with os.fdopen(writing, "wb") as closed:
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, stdout=closed, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.posix
def test_f79_an_interrupted_import_can_go_on(run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"conversation": "c", "timestamp": "2026-03-10T12:00:00Z", "speaker": "Ann"}
    file = tmp_path / "chat.jsonl"
    file.write_text("".join(json.dumps({**row, "id": str(n), "text": f"line {n}"}) + "\n" for n in range(700)))
    insert = table_batches.insert_messages
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that starts in the background ignores it

    def interrupt(*arguments: Any, **more: Any) -> Any:
        done = insert(*arguments, **more)
        os.kill(os.getpid(), signal.SIGINT)
        return done

    with monkeypatch.context() as patched:
        patched.setattr(table_batches, "insert_messages", interrupt)
        ran = run("import", file)
    assert (ran.code, ran.out) == (1, "")
    last = ran.err.splitlines()[-1]  # on a busy machine lines of progress come before it
    assert last == "Interrupted: what was stored is whole. Run the same command again to go on."
    assert run("import", file).json["imported"] == 200


def test_r35_the_command_alone_prints_its_help_and_shells_complete_it(
    run: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    alone, asked = run(), run("--help")
    assert alone.code == 0 and alone.out.strip() == asked.out.strip() and "--install-completion" in alone.out
    words = {"bash": {"COMP_WORDS": "prompt-engine db c", "COMP_CWORD": "2"}}
    words |= {shell: {"_TYPER_COMPLETE_ARGS": "prompt-engine db c"} for shell in ("zsh", "fish")}
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    for shell, given in words.items():
        for name, value in given.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("_PROMPT_ENGINE_COMPLETE", f"complete_{shell}")
        with pytest.raises(SystemExit):
            run()
        assert "copy" in capsys.readouterr().out, shell
