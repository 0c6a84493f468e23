"""`prompt-engine config` and files and databases that are somebody's."""

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Command


def test_l34_config_check_refuses_a_short_token(run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told before the start, and never quoted; without one there is no admin server, and nothing wrong."""
    assert run("config", "check").json == []
    assert run("config", "list").code == 0 and list(tmp_path.iterdir()) == [], "no database is made"
    for token, problems in (("sixteen-letters!", 0), ("secret-of-15-ch", 1)):
        monkeypatch.setenv("ADMIN_TOKEN", token)
        ran = run("config", "check")
        assert (ran.code, len(ran.json)) == (problems, problems) and token not in ran.out + ran.err
    (said,) = run("config", "check").json
    assert (said["flag"], said["source"]) == ("ADMIN_TOKEN", "environment")
    assert said["text"].startswith("ADMIN_TOKEN has 15 characters. It must have at least 16.")
    assert " ".join(run("config", "check", "--text").out.split()) == f"- {said['text']}"


@pytest.mark.parametrize(("flag", "value", "said"), [
    ("EMBEDDER", "http://", "EMBEDDER is 'http://'"), ("EMBEDDER", "minilm", "It must be an address"),
    ("EMBEDDER", "http://127.0.0.1:9/v1", None), ("LLM_BASE_URL", "127.0.0.1:11434", "LLM_BASE_URL"),
    ("LLM_BASE_URL", "http://", "LLM_BASE_URL"),
    ("LLM_BASE_URL", "http://ann:canary-pw@127.0.0.1/v1", "LLM_BASE_URL"),
    ("DATABASE_URL", "postgres://a:canary-pw@h/x", "scheme"),
    ("DATABASE_URL", "mysql://x:canary-pw@h:abc/d", "connection string"),
    ("DATABASE_URL", "mysql://x:canary-pw@", "names no database"),
    ("DATABASE_URL", "mysql://x:canary-pw@h/d?tls=maybe", "off, on or verify"),
])  # fmt: skip
def test_f73_config_check_names_a_server_that_cannot_be_asked(
    run: Command, monkeypatch: pytest.MonkeyPatch, flag: str, value: str, said: str | None
) -> None:
    checks = [run("config", "check", "--database", value)] if flag == "DATABASE_URL" else []
    monkeypatch.setenv(flag, value)
    checks += [run("config", "check")]
    for ran in checks:
        assert (ran.code, [one["flag"] for one in ran.json]) == ((1, [flag]) if said else (0, []))
        assert all(said in one["text"] for one in ran.json) and "canary-pw" not in ran.out + ran.err
    if flag == "DATABASE_URL":
        assert checks[-1].json[0]["source"] == "environment"
        assert checks[-1].json[0]["text"] in run("db", "check").err


def test_g17_set_edits_the_line_in_the_file(run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "config.yaml"
    assert run("config", "set", "contextVerbosity", "4").json["changed"]
    assert file.read_text() == "CONTEXT_VERBOSITY: 4\n"
    file.write_text("# mine\n#TIMEZONE: UTC\nCONTEXT_VERBOSITY: 4  # few\nLANGUAGES:\n  - en\n")
    ran = run("config", "set", "CONTEXT_VERBOSITY", "7").json
    assert (ran["value"], ran["source"]) == ("7", "file")
    assert run("config", "set", "TIMEZONE", "Europe/Rome").code == 0
    assert file.read_text() == '# mine\nTIMEZONE: "Europe/Rome"\nCONTEXT_VERBOSITY: 7  # few\nLANGUAGES:\n  - en\n'
    for name, value, said in (
        ("LANGUAGES", "de", "line 4: it is not written as `LANGUAGES: value` on one line"),
        ("CONTEXT_VERBOSITY", "ten", "0 to 50"),
        ("ADMIN_TOKEN", "x", "secret"),
    ):  # fmt: skip
        ran = run("config", "set", name, value)
        assert (ran.code, said in ran.err) == (1, True), (name, ran.err)
    assert "CONTEXT_VERBOSITY: 7" in file.read_text() and [path.name for path in tmp_path.iterdir()] == ["config.yaml"]
    monkeypatch.setenv("CONTEXT_VERBOSITY", "2")
    assert run("config", "set", "CONTEXT_VERBOSITY", "9").json["source"] == "environment"
    file.write_bytes(b"\xef\xbb\xbfDECAY_DAYS: 2\n")  # with the mark that editors on Windows write
    assert run("config", "set", "DECAY_DAYS", "3").code == 0 and file.read_text() == "DECAY_DAYS: 3\n"


def test_g17_config_set_names_the_line_that_is_broken(run: Command, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    for broken in ("CONTEXT_VERBOSITY: 3\nTIMEZONE: [\n", "TIMEZONE: UTC\nTIMEZONE: UTC\n"):
        file.write_text(broken)
        ran = run("config", "set", "LLM_DAILY_CALLS", "5")
        assert (ran.code, "line " in ran.err, "LLM_DAILY_CALLS" in ran.err) == (1, True, False), ran.err
        assert file.read_text() == broken


@pytest.mark.parametrize(("old", "new"), [
    ("TIMEZONE: UTC  # keep", 'TIMEZONE: "Europe/Rome"  # keep'),
    ("#TIMEZONE: UTC # keep", 'TIMEZONE: "Europe/Rome" # keep'),
    ('TIMEZONE: "a # b"\t# keep # all', 'TIMEZONE: "Europe/Rome"\t# keep # all'),
    ("TIMEZONE: a#b", 'TIMEZONE: "Europe/Rome"'),
    ("TIMEZONE: # keep", 'TIMEZONE: "Europe/Rome" # keep'),
    ("DECAY_DAYS: 2 # keep", 'DECAY_DAYS: 2 # keep\nTIMEZONE: "Europe/Rome"'),
])  # fmt: skip
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_g17_set_keeps_comments_and_line_ends(run: Command, tmp_path: Path, old: str, new: str, end: str) -> None:
    file = tmp_path / "config.yaml"
    file.write_bytes(f"# mine\n{old}\n".replace("\n", end).encode())
    assert run("config", "set", "TIMEZONE", "Europe/Rome").code == 0
    assert file.read_bytes().decode() == f"# mine\n{new}\n".replace("\n", end)
