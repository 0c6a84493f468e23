"""`prompt-engine config` and files and databases that are somebody's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from core.config import docs as config_docs
from core.config import set_value
from core.db import open_database
from tests.unit.cli.conftest import ROOT, Command


def _stored(url: str, name: str, value: object) -> None:
    db = open_database(url)
    set_value(name, value, db)
    db.close()


def test_config_write_never_replaces_what_somebody_wrote(run: Command, tmp_path: Path) -> None:
    """A config.yaml is made once and edited for years."""
    file = tmp_path / "config.yaml"
    assert run("config", "write").json == ["config.yaml"]
    assert file.read_text() == config_docs.config_yaml()
    assert run("config", "write").code == 0
    for theirs in (b"CONTEXT_VERBOSITY: 4\n", b"\xff", b"", config_docs.config_yaml().encode() + b"# mine\n"):
        file.write_bytes(theirs)
        ran = run("config", "write")
        assert (ran.code, ran.out, "--force" in ran.err) == (1, "", True)
        assert file.read_bytes() == theirs
    assert run("config", "write", "--force").code == 0
    assert file.read_text() == config_docs.config_yaml()
    assert [path.name for path in tmp_path.iterdir()] == ["config.yaml"]


def test_config_write_writes_docs_where_it_is_told_alone(run: Command, tmp_path: Path) -> None:
    """One refusal, and then nothing at all is written."""
    pages = tmp_path / "pages"
    written = run("config", "write", tmp_path / "made", "--docs", pages).json
    assert {Path(path).name for path in written} == {"config.yaml", "config.md", "config.schema.json"}
    assert sorted(path.name for path in pages.iterdir()) == ["config.md", "config.schema.json"]
    (pages / "config.md").write_text("mine")
    (tmp_path / "made" / "config.yaml").unlink()
    assert run("config", "write", tmp_path / "made", "--docs", pages).code == 1
    assert not (tmp_path / "made" / "config.yaml").exists()
    assert run("config", "write", pages / "config.md" / "below").code == 1


def test_the_docs_of_a_checkout_leave_a_config_that_sets_anything(tmp_path: Path) -> None:
    """Who tries the library in its checkout edits the file that lies there."""
    (tmp_path / "config.yaml").write_text("CONTEXT_VERBOSITY: 4\n")
    made = subprocess.run(
        [sys.executable, "-m", "core.config.docs", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (made.returncode, "sets flags" in made.stderr) == (1, True)
    assert (tmp_path / "config.yaml").read_text() == "CONTEXT_VERBOSITY: 4\n"


@pytest.mark.parametrize("named", ["--database", "DATABASE_URL", "config.yaml", "embedded"])
def test_g17_config_show_reads_the_database(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    """Whoever wonders why a prompt is small must see the value that holds."""
    url = f"sqlite:///{tmp_path / 'prompt-engine.sqlite3' if named == 'embedded' else tmp_path / 'theirs.db'}"
    _stored(url, "DIARY_HISTORY_DAYS", 1)
    monkeypatch.delenv("DATABASE_URL")
    if named == "DATABASE_URL":
        monkeypatch.setenv("DATABASE_URL", url)
    elif named == "config.yaml":
        (tmp_path / "config.yaml").write_text(f"DATABASE_URL: {url}\n")
    ran = run("config", "list", "DIARY_HISTORY_DAYS", *(["--database", url] if named == "--database" else []))
    assert [(row["value"], row["source"]) for row in ran.json] == [("1", "database")]
    assert ran.err == ""


def test_g17_config_check_reads_the_database(run: Command, tmp_path: Path) -> None:
    """A bad value there is as bad as one in the file, and told once."""
    url = f"sqlite:///{tmp_path / 'own.db'}"
    _stored(url, "DIARY_HISTORY_DAYS", 1)
    assert run("config", "check").json == []
    (tmp_path / "config.yaml").write_text("THOUGHTS_LIMT: 3\n")
    ran = run("config", "check", "--database", "oracle://h/x", "--text")
    assert (ran.code, len(ran.out.splitlines()), ran.err) == (1, 2, "")


def test_l34_config_check_refuses_a_token_that_serve_refuses(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told before the start, and never quoted; without one there is no admin server, and nothing wrong."""
    assert run("config", "check").json == []
    for token, problems in (("sixteen-letters!", 0), ("secret-of-15-ch", 1)):
        monkeypatch.setenv("ADMIN_TOKEN", token)
        ran = run("config", "check")
        assert (ran.code, len(ran.json)) == (problems, problems)
        assert token not in ran.out + ran.err
    (said,) = run("config", "check").json
    assert (said["flag"], said["source"]) == ("ADMIN_TOKEN", "environment")
    assert said["text"].startswith("ADMIN_TOKEN has 15 characters. It must have at least 16.")


@pytest.mark.parametrize("there", [True, False])
def test_config_show_makes_no_database(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    """Looking must leave nothing behind."""
    if not there:
        monkeypatch.delenv("DATABASE_URL")
    assert run("config", "list").code == 0
    assert list(tmp_path.iterdir()) == []


def test_config_show_goes_on_without_the_database(run: Command, tmp_path: Path) -> None:
    """What cannot be read is said beside the answer, not in its place."""
    (tmp_path / "own.db").write_text("not a database, but longer than its first page's mark")
    ran = run("config", "list", "DIARY_HISTORY_DAYS")
    assert (ran.code, ran.json[0]["value"], ran.json[0]["source"]) == (0, "2", "default")
    assert "do not count here" in ran.err
    ran = run("config", "list", "DIARY_HISTORY_DAYS", "--database", "mysql://ann:s3cret@127.0.0.1:1/x")
    assert (ran.code, "could not be reached" in ran.err, "s3cret" in ran.err) == (0, True, False)


def test_config_check_names_an_embedder_that_cannot_be_asked(run: Command, tmp_path: Path) -> None:
    """Each mistake once, with the line that made it and what to do."""
    for lines, flag, said in (
        ("EMBEDDER: http://", "EMBEDDER", "EMBEDDER is 'http://'"),
        ("EMBEDDER: model2vec:nowhere", "EMBEDDER", "there is no such folder"),
        ("EMBEDDER: minilm", "EMBEDDER", "It must be an address"),
    ):
        (tmp_path / "config.yaml").write_text(lines + "\n")
        ran = run("config", "check")
        assert (ran.code, [one["flag"] for one in ran.json]) == (1, [flag]), lines
        assert said in ran.json[0]["text"]
    (tmp_path / "config.yaml").write_text("EMBEDDER: http://127.0.0.1:9/v1\n")
    assert run("config", "check").json == []
