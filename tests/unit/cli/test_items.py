"""`prompt-engine export --items` and `prompt-engine import` of memories, and what the page says of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Command


def _file(name: str, *items: object) -> str:
    Path(name).write_text(json.dumps({"items": items}))
    return name


def test_l37_export_and_import_by_the_command(run: Command) -> None:
    """JSON and lines; into another database and back."""
    path = _file("in.json", "Ann likes tea", {"text": "moved", "kind": "past_events", "timestamp": "2020-01-01"}, "")
    ran = run("import", path)
    assert (ran.code, ran.json["imported"], ran.json["skipped"], ran.json["format"]) == (0, 2, 1, "items")
    for name in ("out.json", "out.jsonl"):
        assert run("export", "--items", name).json == {"items": 2, "files": [name], "more": False}
        assert run("import", name, "--database", f"sqlite:///{name}.db").json["imported"] == 2
        assert run("import", name).json["imported"] == 0
    lines = run("export", "--items", "-", "--format", "jsonl").out.splitlines()
    assert [json.loads(line)["text"] for line in lines] == ["moved", "Ann likes tea"]
    assert run("export", "--items", "some.json", "--kind", "PastEvents,chat").json["items"] == 1
    assert run("export", "--items", "one.json", "--limit", "1").json == {
        "items": 1,
        "files": ["one.json"],
        "more": True,
    }


def test_c34_the_markdown_files_by_the_command(run: Command) -> None:
    """Written by `export --markdown`, and taken by `import` of the folder."""
    run("import", _file("in.json", {"text": "I like tea", "kind": "saved"}))
    assert run("export", "--markdown", "memory").json["saved"] == 1
    path = Path("memory", "Saved Memories.md")
    path.write_text(path.read_text() + "- Call me Jo\n")
    assert run("import", "memory").json["added"] == 1
    assert run("import", "memory").json["added"] == 0


@pytest.mark.parametrize(
    ("content", "looks"),
    [
        ('{"rows": [{"said": "hello"}], "version": 2}', "JSON with the keys rows, said, version"),
        ("<!doctype html><p>hello", "HTML"),
        ("", "empty"),
        ('{"items": []}', "keys items"),
    ],
)
def test_f76_an_import_that_takes_nothing_fails_and_says_why(run: Command, content: str, looks: str) -> None:
    """A script that goes on after it would lose everything without a word."""
    for name in ("some.json", "some.jsonl"):
        Path(name).write_text(content)
        ran = run("import", name)
        assert ran.code == 1
        assert "hello" not in ran.out + ran.err
        assert looks in ran.err, ran.err


def test_l38_rows_not_taken_are_shown(run: Command) -> None:
    """For people as a table."""
    path = _file("in.json", "a", {"text": "b", "kind": "Nope"})
    dry = run("import", path, "--dry-run", "--text")
    assert "Could import  1\n" in dry.out and "kind is 'Nope'" in dry.out
    book = {"entries": [{"id": 7, "keys": ["Rome"], "content": " "}, {"id": 8, "keys": [], "content": "A city."}]}
    Path("book.json").write_text(json.dumps(book))
    assert re.search(r"1\s+7\s+empty", run("import", "book.json", "--text").out)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("export", "out.json"), 2, "a conversation with --chat, a person with --person, or --items"),
        (("export", "--items", "--chat", "a/b", "out.json"), 2, "--items"),
        (("export", "--items", "out.json", "--format", "xml"), 2, "fmt is 'xml'. It must be json or jsonl"),
        (("export", "--items", "-", "--limit", "50001"), 2, "1 to 50000"),
        (("export", "--items", "in.json"), 1, "is there already"),
        (("import", "in.json", "--private"), 2, "belong to conversations"),
        (("import", "shape.json"), 1, "It must hold {items: [...]}"),
    ],
)
def test_f78_what_cannot_be_done_is_one_sentence(
    made: Command, arguments: tuple[str, ...], code: int, said: str
) -> None:
    """And nothing is done."""
    _file("in.json", "a")
    Path("shape.json").write_text("[]")
    ran = made(*arguments)
    assert (ran.code, said in ran.err, len(ran.err.splitlines())) == (code, True, 1), ran.err
    assert not Path("out.json").exists()
