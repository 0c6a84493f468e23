"""What each subcommand prints, for programs and for people."""

import io
import json
import os
import shlex
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

import core.cli
from tests.unit.cli.conftest import KITCHEN, ROOT, Command


def test_build_prints_the_prompt(kitchen: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = kitchen("build", "Who repairs the oven?", "--conversation", KITCHEN, "--user", "Mara")
    assert list(ran.json) == ["context", "input", "instructions", "__pre_reduction_size", "actions"]
    assert any("Mrs. Adeyemi" in hit["snippet"] for hit in ran.json["context"]["memories"])
    assert ran.json["input"]["payload"]["source"]["name"] == "Mara"
    monkeypatch.setattr(sys, "stdin", io.StringIO("Who repairs the oven?"))
    assert kitchen("build", "-", "--conversation", KITCHEN).json["input"]["payload"]["text"] == "Who repairs the oven?"


def test_build_keeps_to_its_options(kitchen: Command) -> None:
    whole = kitchen("build", "Lena and the curry?", "--conversation", KITCHEN)
    small = kitchen("build", "Lena and the curry?", "--conversation", KITCHEN, "--max-chars", 2500)
    assert len(json.dumps(small.json, ensure_ascii=False)) <= 2500 < len(json.dumps(whole.json, ensure_ascii=False))
    messages = kitchen("build", "Lena?", "--conversation", KITCHEN, "--messages", "openai").json
    assert "system" in json.dumps(messages)


def test_explain_is_a_report_for_programs_and_for_people(kitchen: Command) -> None:
    arguments = ("explain", "Who repairs the oven?", "--conversation", KITCHEN, "--user", "Mara")
    report = kitchen(*arguments).json
    shown = kitchen(*arguments, "--text").out
    memories = report["sections"]["memories"]
    line = next(line for line in shown.splitlines() if line.startswith("memories"))
    assert line.split()[1:3] == [str(memories["found"]), str(memories["kept"])]
    assert {"Words", "Sections", "Size"} <= set(shown.split()) and "Failed" not in shown
    kept = shown.partition("Memories kept")[2]
    assert "Mrs. Adeyemi" in kept and kept.count("chat_history/") == memories["kept"]


def test_explain_explains_chat_messages_and_lists_the_memories_left_out(kitchen: Command) -> None:
    asked = ("Who repairs the oven?", "--conversation", KITCHEN, "--messages", "openai", "--max-chars", 3000)
    messages, report = kitchen("build", *asked).json, kitchen("explain", *asked).json
    assert report["size"] == len("\n\n".join(each["content"] for each in messages))
    shown = kitchen("explain", *asked, "--text").out
    cut = [item["id"] for item in report["left_out"] if (item["section"], item["reason"]) == ("memories", "cut")]
    hits = sorted(report["search"]["hits"], key=lambda hit: hit["rank"])
    best = next(f"chat_history/{hit['id']}" for hit in hits if f"chat_history/{hit['id']}" in cut)
    assert shown.partition("Memories left out")[2].splitlines()[2].split()[:2] == ["cut", best]


def test_search_shows_hits_with_their_reasons(kitchen: Command) -> None:
    found = kitchen("search", "spare key").json
    assert len(found["hits"]) == len(found["report"]["hits"]) > 0
    shown = kitchen("search", "spare key", "--text").out
    assert "matched key, spare; score" in shown
    assert f" {found['hits'][0]['source']} {found['hits'][0]['id']}\n" in shown
    assert [line for line in shown.splitlines() if line != line.rstrip()] == [] and "Mr. Petersen" in shown
    assert kitchen("search", "xylofant").json["hits"] == []
    assert kitchen("search", "xylofant", "--text").out == "Nothing was found.\n"
    early = kitchen("search", "--word", "spare key", "--until", "2025-07-19T09:16:00Z").json["hits"]
    assert early[0]["timestamp"] < "2025-07-20"


def test_hostile_texts_cannot_touch_the_terminal(run: Command) -> None:
    assert run("remember", "tea \x1b[31m\u202eevil [bold]x[/bold]\nsecond").code == 0
    shown = run("search", "tea evil", "--text").out
    assert "\x1b" not in shown and "\u202e" not in shown and "[bold]x[/bold] second" in shown


def test_a_remembered_text_is_found_by_its_tags_and_names_a_similar_one(run: Command) -> None:
    assert run("remember", "Lena must not eat cashews", "--tag", "Lena", "--tag", "allergy").json["stored"]
    run("remember", "Lena likes trains")
    assert run("remember", "Lena likes fast trains").json["similar"]["text"] == "Lena likes trains"
    assert [hit["tags"] for hit in run("search", "--tag", "allergy").json["hits"]] == [["lena", "allergy"]]


def test_f76_import_reports_and_is_idempotent(run: Command, tmp_path: Path) -> None:
    row = {"conversation": "c", "id": "1", "timestamp": "2026-03-10T12:00:00Z", "speaker": "Ann", "text": "hi"}
    file = tmp_path / "chat.jsonl"
    file.write_text(json.dumps(row) + "\n[1]\n" + json.dumps({**row, "id": "2", "text": ""}) + "\n")
    look = run("import", file, "--dry-run")
    assert (look.json["could_import"], look.json["imported"], look.json["dry_run"]) == (1, 0, True)
    assert not (tmp_path / "own.db").exists()
    shown = run("import", file, "--dry-run", "--text").out
    assert "Could import   1\n" in shown and "Skipped        1\n" in shown
    assert "Nothing was stored." in shown
    assert shown.count("Note: nobody was named as the persona") == shown.count("Note: without --private") == 1
    first = run("import", file)
    assert (first.code, first.json["imported"]) == (0, 1)
    assert first.err == "Not taken: 1 row; the answer gives the reasons.\n"
    again = run("import", file).json
    assert (again["imported"], again["duplicates"], again["skipped"]) == (0, 1, 1)
    assert again["errors"] == [{"row": 2, "reason": "the row is of type list. It must be an object"}]
    shown = run("import", file, "--text").out
    assert "Rows not taken: 1" in shown and "the row is of type list" in shown
    assert "without --private" not in shown + run("import", file, "--dry-run").out, "none is new"
    whole = ("--conversation", "discord/11", "--private", "--dry-run")
    assert run("import", file, *whole).json["participants"] == {"discord/Ann": "Ann"}


def test_db_subcommands_on_a_new_database(run: Command, tmp_path: Path) -> None:
    (tmp_path / "own.db").touch(0o600)
    empty = run("db", "check", "--text")
    assert (empty.code, empty.out) == (0, "empty: run prompt-engine db init\n")
    assert run("db", "init").json["changed"] is True and run("db", "init").json["changed"] is False
    assert run("db", "migrate").json["changed"] is False and run("db", "check").json == []
    run("remember", "tea")
    assert run("db", "reindex").json == {"done": 1}
    assert run("db", "check", "--text").out == "The database is in order.\n"


def test_d33_maintenance_scripts_run_by_name(run: Command) -> None:
    run("remember", "tea", "--persona-id", "other")
    assert {each["name"] for each in run("db", "maintenance", "list").json} >= {"health", "duplicates", "prune"}
    mistyped = run("db", "maintenance", "health", "--persona-id", "othr")
    assert mistyped.json["counted"]["memories"] == 0 and "othr', but of other:" in mistyped.err
    assert "othr', but of other:" in run("jobs", "list", "--persona-id", "othr").err
    assert run("db", "maintenance", "health", "--persona-id", "other").json["counted"]["memories"] == 1
    shown = run("db", "maintenance", "prune", "--set", "expired_before=2026-01-01 00:00:00", "--text").out
    assert "Nothing was changed. --apply does it." in shown
    assert "Changed" in run("db", "maintenance", "prune", "--apply", "--text").out
    assert run("db", "maintenance", "prune", "--set", "apply=1").code == 2


def test_without_a_conversation_a_person_is_named_with_the_interface(run: Command) -> None:
    """All that ask as somebody ask as the same one: `--user 7` alone was a person of no interface."""
    run("remember", "The cat is called Tofu.", "--user", "discord/7")
    room = ["--conversation", "discord/1"]
    for words in (["--user", "discord/7"], ["--user", "7", *room], ["--user", "discord/7", *room]):
        assert run("explain", "Where is the cat?", *words).json["sections"]["memories"]["kept"] == 1
        assert run("build", "Where is the cat?", *words).json["input"]["payload"]["source"]["name"] == "7"
        assert len(run("search", "cat", *words).json["hits"]) == 1
    built = run("build", "Where is the cat?", "--user", "discord/7").json
    assert len(built["context"]["memories"]) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
@pytest.mark.parametrize(("to", "said"), [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")])
def test_output_that_cannot_be_written_is_told(made: Command, tmp_path: Path, to: str, said: str) -> None:
    """Issue 39: a full disk or a closed stream gave a traceback; a script needs the exit code and the reason."""
    assert made("remember", "Ann likes ąčę \U0001f375").code == 0
    done = shell(f"search ann {to}", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"The output could not be written: {said}.\n")


def test_output_of_another_encoding_keeps_every_text(made: Command, tmp_path: Path) -> None:
    assert made("remember", "Ann likes ąčę \U0001f375").code == 0
    done = shell("search ann --text", tmp_path, PYTHONIOENCODING="cp1252")
    assert (done.returncode, done.stderr) == (0, "") and "Ann likes" in done.stdout and "\\u0105" in done.stdout
    done = shell("search ann --text | true; echo ${PIPESTATUS[0]}", tmp_path)
    assert done.stderr == "" and done.stdout.strip() in ("0", "1")


def shell(words: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "DATABASE_URL": f"sqlite:///{folder / 'own.db'}", **more}
    line = ["bash", "-c", f"{shlex.quote(sys.executable)} -m {core.cli.__name__} {words}"]
    return subprocess.run(line, cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False)


ANSWERS = (
    ("db init", "Made * tables, version *."), ("config set CONTEXT_VERBOSITY 9", "CONTEXT_VERBOSITY is 9 now."),
    ("config set TIMEZONE UTC", "Written, but TIMEZONE is Europe/Rome here: the environment goes before the file."),
    ("config check", "The configuration is in order."),
    ("config list", "flag value source CONTEXT_VERBOSITY 9 file HISTORY_LINES - default *"),
    ("remember 'I like tea' --conversation web/1", "Stored as *."),
    ("remember 'I like tea' --conversation web/1", "Stored as *. An older one is about the same, * of *: I like tea"),
    ("db reindex", "Indexed: 2 rows."), ("db pack", "There was nothing to pack."),
    ("explain tea", "Tags - Words tea Size * characters (no limit) *"),
    ("explain tea --max-chars 5000", "* Size * characters (limit 5000) *"),
    ("memory prune --dry-run", "0 items would be archived."), ("memory prune", "0 items archived."),
    ("memory consolidate", "0 items stored from 0 conversations, 0 archived, 0 said before. One part gave nothing: *."),
    ("jobs cancel 7", "Nothing was changed: no operation of this persona has the id, or it has ended."),
    ("jobs cancel --all", "0 cancelled."),
    ("jobs retry 7", "Nothing was changed: no failed operation of this persona has the id."),
    ("jobs retry --all", "0 in the queue again."),
    ("forget --conversation web/1 --dry-run", "table *Nothing was changed."),
    ("forget --conversation web/1 --yes", "table *Deleted or changed: * rows."),
)  # fmt: skip


def test_a_person_reads_in_a_sentence_what_was_done(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIMEZONE", "Europe/Rome")
    shown = [" ".join(run(*shlex.split(command), "--text").out.split()) for command, _ in ANSWERS]
    wrong = [(answer, said) for answer, (_, said) in zip(shown, ANSWERS, strict=True) if not fnmatchcase(answer, said)]
    assert wrong == []
