"""`prompt-engine import` and `export`, of chats and of memory items, and the page about them."""

import json
import re
import shlex
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from core.calls.defaults import configure
from core.db import open_database
from tests.unit.cli.conftest import ROOT, Command

SAMPLE = ROOT / "tests" / "samples" / "tavern_chat.jsonl"
SAMPLES = SAMPLE.parent / "exports"
PAGE = ROOT / "docs" / "import.md"


def test_s48_export_writes_the_file_that_was_imported(run: Command, tmp_path: Path) -> None:
    assert run("import", SAMPLE).json["story"]["alternatives"] == 5
    ran = run("export", "--chat", "import/tavern_chat", "out.jsonl")
    assert (ran.code, ran.json["messages"], ran.json["bytes"]) == (0, 12, SAMPLE.stat().st_size)
    assert Path("out.jsonl").read_bytes() == SAMPLE.read_bytes()
    again = run("export", "--chat", "import/tavern_chat", "out.jsonl")
    assert (again.code, "--force, in Python overwrite=True." in again.err) == (1, True)
    assert "Messages      12" in run("export", "--chat", "import/tavern_chat", "out.jsonl", "--force", "--text").out
    assert run("export", "--chat", "import/tavern_chat", "-").out.encode() == SAMPLE.read_bytes()


def test_the_examples_of_the_page_run(run: Command, tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    shutil.copy(SAMPLE, tmp_path / "Iris - 2025.jsonl")
    shutil.make_archive(str(tmp_path / "export"), "zip", SAMPLE.parent / "exports" / "chatgpt")
    commands = re.findall(r"^    prompt-engine (.*?)(?:  +#.*)?$", text, re.MULTILINE)
    assert len(commands) == 6
    card = {"name": "Mira", "description": "Mira keeps bees.", "first_mes": "Hello."}
    (tmp_path / "mira.png").write_text(json.dumps(card))
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    wanted = [line.strip() for line in re.findall(r"^print\(.*?\) +# (.*)$", block, re.MULTILINE)]
    printed: list[str] = []
    code = compile(block, "docs/import.md", "exec", dont_inherit=True)
    with closing(open_database()) as handle:
        configure(handle)
        exec(code, {"print": lambda value: printed.append(str(value))})
        configure()
    assert printed == wanted
    Path("out.jsonl").unlink()
    for command in commands:
        assert run(*shlex.split(command)).code == 0, command
    assert Path("out.jsonl").read_bytes() == SAMPLE.read_bytes()


def _file(name: str, *items: object) -> str:
    Path(name).write_text(json.dumps({"items": items}))
    return name


def test_l37_export_and_import_by_the_command(run: Command) -> None:
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
    one = run("export", "--items", "one.json", "--limit", "1").json
    assert one == {"items": 1, "files": ["one.json"], "more": True}


def test_c34_the_markdown_files_by_the_command(run: Command) -> None:
    run("import", _file("in.json", {"text": "I like tea", "kind": "saved"}))
    saved = run("export", "--markdown", "memory")
    assert saved.json["saved"] == 1 and not saved.err
    assert "--conversation KEY --person KEY" in run("export", "--markdown", "other", "--persona-id", "b").err
    path = Path("memory", "Saved Memories.md")
    path.write_text(path.read_text() + "- Call me Jo\n")
    assert run("import", "memory").json["added"] == 1 and run("import", "memory").json["added"] == 0
    assert "Left out" not in run("export", "--markdown", "empty", "--persona-id", "b", "--text").out


@pytest.mark.parametrize(("content", "looks"), [
    ('{"rows": [{"said": "hello"}], "version": 2}', "JSON with the keys rows, said, version"),
    ("<!doctype html><p>hello", "HTML"), ("", "empty"), ('{"items": []}', "keys items"),
])  # fmt: skip
def test_f76_an_import_that_takes_nothing_fails_and_says_why(run: Command, content: str, looks: str) -> None:
    for name in ("some.json", "some.jsonl"):
        Path(name).write_text(content)
        ran = run("import", name)
        assert ran.code == 1 and "hello" not in ran.out + ran.err and looks in ran.err, ran.err


def test_r27_an_import_says_what_is_remembered(run: Command) -> None:
    ran = run("import", SAMPLES / "chatgpt", "--text")
    assert ran.code == 0
    shown = " ".join(ran.out.split())
    for part in (
        "Format chatgpt Could import 6 Imported 6 Story alternatives 6 Instructions 1 ",
        "Speakers User 3, ChatGPT 3 Participants chatgpt/user User Persona ChatGPT First 2024-05-01T17:37:11",
        "Conversations chatgpt/conv-1, chatgpt/conv-2 Private count 2 Days ",
        "conversations marked not to be remembered 1",
        "conversations.json: conversation 4",
        "--consolidate",
    ):
        assert part in shown, part
    Path("one.csv").write_text("speaker,text,timestamp\nAnn,Tea?,2026-03-10T12:00:00Z\n")
    shown = " ".join(run("import", "one.csv", "--text").out.split())
    assert "Imported 1 " in shown and "Days 1 " in shown


def test_r27_consolidate_queues_summaries_and_memories(run: Command) -> None:
    done = run("import", SAMPLES / "claude", "--consolidate").json
    assert (done["imported"], done["memories"], done["queued"]) == (4, 3, 2)
    counts = run("jobs", "list").json["counts"]
    assert set(counts) == {"CONVERSATION_SUMMARY", "CONSOLIDATION"}
    assert run("worker", "--once").code == 0
    assert not any("pending" in states for states in run("jobs", "list").json["counts"].values())
    assert run("import", SAMPLES / "claude", "--consolidate").json["imported"] == 0


@pytest.mark.parametrize(("option", "month"), [("--day-first", "04"), ("--month-first", "03")])
def test_r26_the_order_of_day_and_month_is_an_option(run: Command, tmp_path: Path, option: str, month: str) -> None:
    path = tmp_path / "chat.txt"  # a wrong guess would move years of talk; so there is none
    path.write_text("03/04/21, 10:00 - Ann: a\n05/06/21, 10:00 - Ann: b\n", encoding="utf-8")
    asked = run("import", path)
    assert (asked.code, "Say --day-first or --month-first" in asked.err) == (1, True)
    assert run("import", path, option).json["first"].startswith(f"2021-{month}")


def test_l38_the_memories_of_one_person_move_to_another_database_and_stay_theirs(run: Command) -> None:
    for who, text in (("ann", "My safe code is 7321."), ("bob", "My locker is 12.")):
        run("remember", text, "--user", f"web/{who}", "--conversation", f"web/{who}")
    assert run("export", "--items", "--person", "web/ann", "ann.json").json["items"] == 1
    new = ("--database", "sqlite:///new.db")
    for bare in ((), ("--user", "web/ann")):  # would show them to everybody
        refused = run("import", "ann.json", *bare, *new)
        assert (refused.code, "--public for everybody" in " ".join(refused.err.split())) == (2, True), refused.err
    assert run("import", "ann.json", "--public", "--database", "sqlite:///open.db").json["imported"] == 1
    mem0 = [{"id": "1", "memory": "Bob has debts", "user_id": "bob"}]
    Path("mem0.json").write_text(json.dumps({"results": mem0}), "utf-8")
    assert run("import", "mem0.json").code == 2
    assert run("import", "ann.json", "--conversation", "web/ann", "--user", "ann", *new).json["imported"] == 1

    def found(who: str) -> list[str]:
        asked = run("search", "safe code", "--user", f"web/{who}", "--conversation", f"web/{who}", *new)
        return [hit["snippet"] for hit in asked.json["hits"]]

    assert (found("ann"), found("bob")) == (["My safe code is 7321."], [])
