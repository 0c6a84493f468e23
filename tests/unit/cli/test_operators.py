"""What an operator does by hand: searches, backups, forgetting (F40, F78), memory, tokens."""

import json
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from core import jobs, lifelong, privacy, stories, tokens
from core.chat_history_cache import load_chat_history, save_chat_message
from core.database.schema import TABLES
from core.db import insert_memory, open_database
from core.prompt_engine import build_messages
from core.scope import Scope
from core.synth_core_memory import search_memories
from core.upkeep import inspection
from tests.unit.cli.conftest import Command


@pytest.fixture
def call(tmp_path: Path) -> Iterator[dict[str, Any]]:
    with closing(open_database(f"sqlite:///{tmp_path / 'own.db'}")) as db:
        yield {"db": db}


def _say(call: dict[str, Any], path: str, text: str, who: str = "u1", server: str = "") -> None:
    scope = Scope("default", path, f"discord/{who}", server)
    save_chat_message(path, text, "Ann", who, scope=scope, **call)


def test_a_search_in_a_wrong_place_says_where_something_stands(run: Command, call: dict[str, Any]) -> None:
    """An empty answer looked like an empty memory: 664 rows stood in a server that was not named."""
    for number in range(3):
        _say(call, "discord/c1", f"the cat is called Tofu {number}", server="5001")
    ran = run("search", "cat")
    assert (ran.code, ran.json["hits"]) == (0, []) and "3 rows in server 5001: --server 5001" in ran.err
    assert "3 rows in server 5001: --server 5001" in run("explain", "cat").err
    assert run("explain", "cat", "--server", "5001").err == ""
    found = run("search", "cat", "--server", "5001")
    assert len(found.json["hits"]) == 3 and "rows in server" not in found.err
    assert run("search", "dog", "--server", "5001").err == ""
    _say(call, "telegram/7", "a canary sings")
    assert "1 row in no server: leave out --server" in run("search", "dog", "--server", "5001").err
    for named in ("search", "explain"):
        other = run(named, "cat", "--persona-id", "iris")
        assert "Nothing is stored of the persona 'iris', but of default: --persona-id KEY" in other.err


def test_a_search_counts_private_conversations_once(run: Command, call: dict[str, Any]) -> None:
    private = Scope("default", "discord/u1", "discord/u1", privacy="direct")
    insert_memory("the cat is called Tofu", "ann", "chat", ["cat"], private, db=call["db"])
    room = Scope("default", "discord/g", "discord/u1", privacy="restricted")
    insert_memory("the cat likes tea", "ann", "chat", ["cat"], room, db=call["db"])
    ran = run("search", "cat")
    assert ran.err.count("in private conversations") == 1 and "2 rows in private" in ran.err
    assert "`prompt-engine conversations`" in ran.err


def test_the_conversations_are_listed_with_what_names_them(run: Command, call: dict[str, Any]) -> None:
    save_chat_message("tg/ann", "hi", "Ann", "ann", scope=Scope("default", "tg/ann", privacy="direct"), **call)
    for server in ("s1", "s2"):
        _say(call, "discord/c1", "hello", server=server)
    _say(call, "discord/c1", "and again", server="s2")
    save_chat_message("tg/-7", "hi", "Ann", "ann", title="Staff", scope=Scope("default", privacy="restricted"), **call)
    save_chat_message("tg/ann/story", "hi", "Ann", "ann", scope=Scope("default", privacy="separate"), **call)
    rows = run("conversations").json
    names = ("conversation", "server", "privacy", "user", "messages", "title")
    assert [[row[name] for name in names] for row in rows] == [
        ["tg/ann/story", "", "separate", "tg/ann", 1, ""], ["tg/-7", "", "restricted", "", 1, "Staff"],
        ["discord/c1", "s2", "public", "", 2, ""], ["discord/c1", "s1", "public", "", 1, ""],
        ["tg/ann", "", "direct", "tg/ann", 1, ""],
    ]  # fmt: skip
    assert [row["conversation"] for row in run("conversations", "staff").json] == ["tg/-7"]
    few = run("conversations", "--limit", 1, "--text")
    assert "tg/ann/story" in few.out and few.err == "4 more: --limit N, or part of a key or title.\n"
    assert "Nothing is stored" in run("conversations", "--persona-id", "iris", "--text").err


def test_the_privacy_that_was_set_is_listed(run: Command, call: dict[str, Any]) -> None:
    assert run("privacy", "--text").out == "No level is set, and every conversation is public.\n"
    privacy.set_privacy("tg/eve", "full", **call)
    save_chat_message("tg/ann", "hi", "Ann", "ann", scope=Scope("default", "tg/ann", privacy="direct"), **call)
    eve, ann = run("privacy").json
    assert (eve["user"], eve["privacy"], ann["conversation"], ann["privacy"]) == ("tg/eve", "full", "tg/ann", "direct")
    assert "tg/eve" in run("privacy", "--text").out
    privacy.set_privacy("tg/eve ", "partial", **call)
    assert "\n'tg/eve ' " in run("privacy", "--text").out, "another key, which looks like the first"


def test_forget_of_nobody_exits_1_and_names_who_is_near(run: Command, call: dict[str, Any]) -> None:
    _say(call, "discord/c1", "hello", who="jonas")
    ran = run("forget", "--participant", "discord/jonax", "--yes")
    assert ran.code == 1 and ran.json["total"] == 0 and "Near it: discord/jonas." in ran.err
    assert "Near it: discord/jonas" in run("forget", "--participant", "telegram/jonas", "--yes").err
    insert_memory("Ann likes tea", "synth", "chat", [], Scope("default", participant="web/ann"), db=call["db"])
    assert "Near it: web/ann" in run("forget", "--participant", "web/anne", "--yes").err
    assert "Near it: discord/c1" in run("forget", "--conversation", "discord/c11", "--dry-run").err
    bare = run("forget", "--participant", "jonas", "--yes")
    assert bare.code == 1 and "such as 'web/jonas'" in bare.err
    assert run("forget", "--participant", "discord/jonas", "--yes").code == 0
    _say(call, "discord/c2", "hello", server="s1")
    assert [run("forget", "--server", server, "--yes").code for server in ("s2", "s1", "s1")] == [1, 0, 1]


def test_a_worker_with_a_dead_model_says_what_waits(
    run: Command, call: dict[str, Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("LLM_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("LLM_MODEL", "m")
    for number in range(4):
        _say(call, "discord/c1", f"Line number {number} has some words in it.")
    assert stories.queue_recaps("discord/c1", scope=Scope("default", "discord/c1", "discord/u1"), **call) == 4
    ran = run("worker", "--once", "--text")
    assert ", once. The model is m at 127.0.0.1:9.\n" in ran.err
    assert "Operations that wait: 4, the last try failed:" in ran.err and "operation id=" not in caplog.text
    assert ran.code == 1 and "0 of 4 operations done.\n" in ran.err
    failed = re.findall(r"RECAP of discord/c1 failed after \d+\.\d s, next try in 10 s: ModelError", ran.out)
    assert len(failed) == 4
    assert sum(each["retrying"] for each in jobs.count_operations(**call, scope=Scope("default")).values()) == 4


@pytest.mark.parametrize("name", ["bot", "role-play", "companion", "vtuber", "notes"])
def test_config_preset_writes_a_file_that_is_in_order(run: Command, tmp_path: Path, name: str) -> None:
    made = run("config", "preset", name).json
    assert made["file"] == "config.yaml" and made["about"][1].startswith("Needed beside: ")
    assert run("config", "check").json == []
    helps = {row["flag"]: row["help"] for row in run("config", "list").json if row["source"] == "file"}
    lines = re.findall(r"^# (.+)\n([A-Z_]+): ", (tmp_path / "config.yaml").read_text(), re.MULTILINE)
    assert helps == {flag: comment for comment, flag in lines} != {}
    (tmp_path / "config.yaml").write_text("CONTEXT_VERBOSITY: 4\n")
    assert run("config", "preset", name).code == 1 and run("config", "preset", name, "--force").code == 0
    assert run("config", "preset", "nothing").code == 2


@pytest.fixture
def role_play(run: Command) -> Command:
    assert run("config", "preset", "role-play").code == 0
    return run


def _ask(call: dict[str, Any], text: str, path: str) -> list[dict[str, Any]]:
    asked = {"message_id": None, "date": None, "text": text, "interface_path": path, "from_user": {"id": "u1"}}
    return build_messages(asked, max_chars=12_000, **call)


@pytest.mark.usefixtures("role_play")
def test_the_preset_of_role_play_finds_the_ends_of_scenes_and_what_matches_in_a_line(call: dict[str, Any]) -> None:
    """It names a worker for recaps of scenes; without a scene that ends there is none."""
    _say(call, "discord/c1", "They walked on to the next hut. " * 40 + "Oswin poisoned the Queen.")
    assert "SCENE_DETECTION" in jobs.count_operations(scope=Scope("default"), **call)
    (hit,) = search_memories(query="Who poisoned the Queen?", scope=Scope("default"), **call)
    assert "Oswin" in hit["snippet"]


def test_the_preset_of_role_play_shows_forty_lines_and_recaps_before(role_play: Command, call: dict[str, Any]) -> None:
    """It asks a model for a recap of nearly every line: prompts show them, beside the long scene of the present."""
    for number in range(60):
        _say(call, "discord/c1", f"They walked on to hut {number} in the snow.")
    assert role_play("worker", "--once").code == 0
    made = _ask(call, "And then?", "discord/c1")
    assert sum("hut" in each["content"] for each in made[1:-1]) == 40
    assert "hut 19 " in made[-1]["content"].partition("Recaps")[2]


@pytest.mark.usefixtures("role_play")
def test_the_preset_of_role_play_takes_no_day_of_a_story_for_one_of_the_calendar(call: dict[str, Any]) -> None:
    for days, text in ((3, "The lock was oiled yesterday."), (2, "In three days the duke visits the lock.")):
        at = datetime.now(UTC) - timedelta(days=days)
        save_chat_message("discord/c1", text, "Ann", "u1", at, scope=Scope("default"), **call)
    last = _ask(call, "What about the lock?", "discord/c2")[-1]["content"]
    assert "yesterday.\n" in last and "the lock.\n" in last and "It is " not in last and "Coming up" not in last


@pytest.mark.posix
def test_db_backup_is_a_whole_private_database(run: Command, call: dict[str, Any], tmp_path: Path) -> None:
    """It holds all that everybody said; a copy that every account can read gives it away. It says where it is."""
    _say(call, "discord/c1", "hello")
    before = os.umask(0)
    try:
        file = Path(run("db", "backup").json["file"])
    finally:
        os.umask(before)
    assert file.parent == tmp_path and file.name.startswith("prompt-engine-") and file.suffix == ".sqlite3"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_bytes()[18:20] == b"\1\1"  # no WAL, so that it can be restored from a read-only folder
    copy = {**call, "db": open_database(f"sqlite:///{file}")}
    scope = Scope("default", "discord/c1", "discord/u1")
    assert [line["text"] for line in load_chat_history("discord/c1", scope=scope, **copy)] == ["hello"]
    assert str(tmp_path / "copy.db") in run("db", "backup", "copy.db", "--text").out
    assert run("db", "backup", "copy.db").code == 1 and run("db", "backup", "copy.db", "--force").code == 0
    assert run("db", "backup", "missing/copy.db").code == 1


@pytest.mark.posix
def test_what_is_no_file_is_not_replaced_and_a_link_stays(run: Command, call: dict[str, Any], tmp_path: Path) -> None:
    """`export ... /dev/null --force`, run by root, made a file of the device."""
    os.mkfifo(tmp_path / "pipe")
    _say(call, "discord/c1", "hello")
    for command in (("db", "backup", "pipe"), ("export", "--chat", "discord/c1", "pipe")):
        refused = run(*command, "--force")
        assert refused.code == 1 and "not a regular file" in refused.err
    assert (tmp_path / "pipe").is_fifo()
    (tmp_path / "config.yaml").symlink_to(tmp_path / "mine.yaml")
    assert run("config", "set", "CONTEXT_VERBOSITY", "4").code == 0
    assert (tmp_path / "config.yaml").is_symlink() and "CONTEXT_VERBOSITY: 4" in (tmp_path / "mine.yaml").read_text()


def test_db_backup_of_a_damaged_file_is_none(run: Command, tmp_path: Path) -> None:
    assert run("remember", "tea", "--database", "sqlite:///damaged.db").code == 0
    assert run("db", "backup", "good", "--database", "sqlite:///damaged.db").code == 0
    for name in ("damaged.db", "good"):
        with (tmp_path / name).open("r+b") as file:
            file.seek(20 * 4096)
            file.write(b"\xff" * 30 * 4096)
    (tmp_path / "cut.db").write_bytes((tmp_path / "damaged.db").read_bytes()[:9000])
    assert "cut.db' is damaged" in run("db", "backup", "bad", "--database", "sqlite:///cut.db").err
    backup = run("db", "backup", "bad", "--database", "sqlite:///damaged.db")
    restored = run("db", "restore", "good", "sqlite:///restored.db")
    assert (backup.code, restored.code) == (1, 1) and "is damaged" in backup.err and "is damaged" in restored.err
    assert not (tmp_path / "bad").exists() and not (tmp_path / "restored.db").exists()


DUMP = """#!/bin/sh
PATH=/usr/bin:/bin
cat "${1#--defaults-file=}" > login.txt
echo "$@" > arguments.txt
[ -f fail ] && echo "mysqldump: Got error: 1045" >&2 && exit 2
echo "-- a dump"
"""


@pytest.mark.posix
def test_db_backup_of_a_server_runs_its_tool(run: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DATABASE_URL", "mysql://eva:ge%22heim@db.example:3310/chats")
    monkeypatch.setattr(inspection, "read_facts", lambda db: {(name, "engine", ""): "" for name in TABLES})
    tool = tmp_path / "bin" / "mysqldump"
    tool.parent.mkdir()
    monkeypatch.setenv("PATH", str(tool.parent))
    missing = run("db", "backup", "today.sql")
    assert missing.code == 1 and "Neither mariadb-dump nor mysqldump is installed here" in missing.err
    assert "--host=db.example --port=3310 --user=eva -p chats" in missing.err and "heim" not in missing.err
    tool.write_text(DUMP)
    tool.chmod(0o700)
    ran = run("db", "backup", "today.sql")
    assert ran.json == {"file": str(tmp_path / "today.sql"), "bytes": 10}
    assert stat.S_IMODE((tmp_path / "today.sql").stat().st_mode) == 0o600
    login = (tmp_path / "login.txt").read_text()
    assert 'host="db.example"' in login and 'password="ge\\"heim"' in login and "VERIFY_IDENTITY" in login
    # without rights on the whole server, and of a server that is not MySQL
    assert 'loose-set-gtid-purged="OFF"' in login and 'loose-column-statistics="0"' in login
    arguments = (tmp_path / "arguments.txt").read_text().split()
    assert "heim" not in str(arguments) and not Path(arguments[0].removeprefix("--defaults-file=")).exists()
    (tmp_path / "fail").touch()
    failed = run("db", "backup", "other.sql")
    assert (failed.code, "1045" in failed.err) == (1, True) and not list(tmp_path.glob("*other*"))


def test_export_of_a_person_holds_all_that_names_them_and_nobody_else(run: Command, call: dict[str, Any]) -> None:
    _say(call, "discord/c1", "I am Ann", who="ann")
    _say(call, "discord/c1", "I am Bob", who="bob")
    insert_memory("Ann likes tea", "a", "b", [], Scope("default", participant="discord/ann"), db=call["db"])
    tables = run("export", "-", "--person", "discord/ann").json["tables"]
    said = json.dumps(tables)
    assert "I am Ann" in said and "Ann likes tea" in said and "I am Bob" not in said and "discord/bob" not in said
    item = tables["memories"][0]["id"]
    lifelong.edit_item(item, "Ann likes coffee", db=call["db"], scope=Scope("default", participant="discord/ann"))
    tables = run("export", "-", "--person", "discord/ann").json["tables"]
    assert [(row["item_id"], row["old_text"]) for row in tables["item_history"]] == [(item, "Ann likes tea")]
    assert run("export", "ann.json", "--person", "discord/ann").json["rows"]["memories"] == 1
    unknown = run("export", "-", "--person", "discord/anne")
    assert unknown.code == 1 and "Near it: discord/ann, " in unknown.err


@pytest.fixture
def said(run: Command, call: dict[str, Any]) -> Command:
    for who, text in (("ann", "hello"), ("ann", "I like tea"), ("bob", "me too")):
        scope = Scope("default", "tg/1", f"tg/{who}")
        assert save_chat_message("tg/1", text, who.title(), who, scope=scope, **call).stored
    return run


def test_f40_counted_then_deleted(said: Command) -> None:
    told = said("forget", "--participant", "tg/ann", "--dry-run").json
    assert (told["dry_run"], told["tables"]["chat_history_cache"], told["tables"]["participants"]) == (True, 2, 1)
    done = said("forget", "--participant", "tg/ann", "--yes").json
    assert (done["tables"], done["dry_run"]) == (told["tables"], False)
    again = said("forget", "--participant", "tg/ann", "--yes", "--text")
    assert (again.code, again.out, "'tg/ann'" in again.err) == (1, "", True)
    shown = said("forget", "--conversation", "tg/1", "--dry-run", "--text").out
    assert "chat_history_cache" in shown and "Nothing was changed." in shown


def test_f40_other_personas_that_know_the_person_or_a_linked_identity_are_named(
    said: Command, call: dict[str, Any]
) -> None:
    save_chat_message("tg/1", "hello Rex", "Ann", "ann", scope=Scope("rex", "tg/1", "tg/ann"), **call)
    for how in ("--dry-run", "--yes", "--yes"):
        told = said("forget", "--participant", "tg/ann", how).err
        assert "Still known to: rex; repeat with --persona-id rex\n" in told
    assert "Still" not in said("forget", "--participant", "tg/ann", "--persona-id", "rex", "--yes").err
    assert "Still" not in said("forget", "--participant", "tg/bob", "--yes").err
    privacy.link_participants("tg/ann", "discord/7", scope=Scope("default", "tg/1", "tg/ann"), **call)
    save_chat_message("discord/1", "hello Rex", "Ann", "7", scope=Scope("rex", "discord/1", "discord/7"), **call)
    known = ["rex as discord/7"]
    for how in ("--dry-run", "--dry-run", "--yes"):
        told = said("forget", "--participant", "tg/ann", how).err
        assert f"Still known to: {known[-1]}; repeat with --persona-id rex\n" in told
        known.append("rex as discord/7 and tg/ann")
        save_chat_message("tg/1", "hello Rex", "Ann", "ann", scope=Scope("rex", "tg/1", "tg/ann"), **call)


def test_f40_one_message_by_its_number_or_its_id(said: Command, call: dict[str, Any]) -> None:
    ann = Scope("default", "tg/ann", "tg/ann", privacy="direct")
    saved = [save_chat_message("tg/ann", text, scope=ann, message_id=text, **call) for text in ("tea", "rum")]
    for given in (("--message", str(saved[0].id)), ("--message", "rum", "--conversation", "tg/ann")):
        trial = said("forget", *given, "--dry-run", "--text")
        assert (trial.code, "Nothing was changed" in trial.out) == (0, True)
        assert said("forget", *given).code == 2 and said("forget", *given, "--yes").code == 0
        assert said("forget", *given, "--yes").code == 1
    assert load_chat_history("tg/ann", scope=ann, **call) == []
    assert len(load_chat_history("tg/1", scope=Scope("default", "tg/1"), **call)) == 3


def test_f40_a_key_of_two_servers_needs_the_server(run: Command, call: dict[str, Any]) -> None:
    """Without it the room stored first went away, whichever was meant."""

    def texts(server: str) -> list[str]:
        return [line["text"] for line in load_chat_history("tg/1", scope=Scope("default", "tg/1", "", server), **call)]

    for server in ("s1", "s2"):
        for name in ("m1", "m2"):
            scope = Scope("default", "tg/1", "tg/ann", server, privacy="public")
            save_chat_message("tg/1", f"{name} of {server}", "Ann", "ann", message_id=name, scope=scope, **call)
    for more in ((), ("--message", "m1"), ("--server", "s3")):
        refused = run("forget", "--conversation", "tg/1", *more, "--yes")
        assert refused.code == 1 and "'tg/1' is on s1, s2. Name one of these as its server." in refused.err
    assert run("forget", "--message", "m1", "--conversation", "tg/1", "--server", "s2", "--yes").code == 0
    assert (texts("s1"), texts("s2")) == (["m1 of s1", "m2 of s1"], ["m2 of s2"])
    assert run("forget", "--conversation", "tg/1", "--server", "s1", "--yes").code == 0
    assert (texts("s1"), texts("s2")) == ([], ["m2 of s2"])
    assert run("forget", "--conversation", "tg/1", "--yes").code == 0, "the only one that is left"
    assert texts("s2") == [] and run("forget", "--conversation", "tg/1", "--yes").code == 1
    ann = Scope("default", "tg/ann", "tg/ann", privacy="direct")
    save_chat_message("tg/ann", "in private", scope=ann, **call)
    assert run("forget", "--conversation", "tg/ann", "--server", "s1", "--yes").code == 1
    assert run("forget", "--conversation", "tg/ann", "--server", "DM", "--yes").code == 0


def test_f78_nothing_is_deleted_unasked(said: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = said("forget", "--participant", "tg/ann")
    assert (ran.code, "--yes" in ran.err) == (2, True)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", lambda *_, **__: False)
    assert said("forget", "--participant", "tg/ann").code == 1
    assert said("forget", "--participant", "tg/ann", "--dry-run").json["total"] > 0


def test_r12_a_token_is_made_and_revoked(run: Command, call: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    made = run("token", "add", "--persona-id", "iris", "--participant", "web/ann", "--label", "phone").json
    assert run("token", "list", "--persona-id", "iris").json == [{k: v for k, v in made.items() if k != "token"}]
    assert made["token"] not in run("token", "list", "--persona-id", "iris", "--text").out
    assert run("token", "list").json == []
    nothing = "There are no tokens of the persona 'default'; --persona-id names another one."
    assert " ".join(run("token", "list", "--text").out.split()) == nothing
    again = run("token", "add", "--persona-id", "iris", "--host", "--text")
    assert again.out.startswith("pe_") and "this once" in again.err
    assert run("token", "revoke", made["id"]).code == 1
    assert run("token", "revoke", made["id"], "--persona-id", "iris").json == {"id": made["id"], "revoked": True}
    assert tokens.find_token(made["token"], **call) is None
    assert tokens.find_token(again.out.strip(), **call) is not None
    monkeypatch.setenv("COLUMNS", "160")
    for personas in ("mira,noa", "*"):
        assert run("token", "add", "--persona-id", "iris", "--personas", personas).code == 0
    table = run("token", "list", "--persona-id", "iris", "--text").out
    assert all(word in table for word in ("phone", "host", "personas", "mira,noa", " * "))
    admin = run("token", "add", "--admin").json
    assert (admin["kind"], admin["persona"]) == ("admin", "")
    assert [each["id"] for each in run("token", "list", "--admin").json] == [admin["id"]]
    assert run("token", "revoke", admin["id"], "--admin").code == 0


def items(call: dict[str, Any], **more: Any) -> list[str]:
    found = lifelong.search_items(operator=True, scope=Scope("default"), **more, **call)["items"]
    return sorted(item["text"] for item in found)


def test_l13_consolidation_by_hand(run: Command, call: dict[str, Any]) -> None:
    _say(call, "tg/1", "My name is Jonas. What time is it?", "jonas")
    ran = run("memory", "consolidate", "--text")
    assert ran.code == 0 and "1 item stored from 1 conversation," in ran.out
    assert items(call, kinds="FactsAboutUser") == ["My name is Jonas."]
    again = json.loads(run("memory", "consolidate").out)
    assert (again["stored"], again["deep"]) == (0, False)


def test_l23_pruning_shows_then_archives(run: Command, call: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    old = call["db"].clock() - timedelta(days=366)
    entries = [{"text": "old", "timestamp": old, "importance": 0.6}, {"text": "small", "importance": 0.2}, "kept"]
    lifelong.add_facts_with_meta(entries, scope=Scope("default"), **call)
    assert json.loads(run("memory", "prune").out)["count"] == 0
    monkeypatch.setenv("PRUNE_MODE", "any")
    shown = json.loads(run("memory", "prune", "--dry-run").out)
    assert (shown["count"], sorted(each["why"] for each in shown["items"])) == (2, [["age"], ["importance"]])
    assert items(call) == ["kept", "old", "small"]
    monkeypatch.setenv("PRUNE_MAX_AGE_DAYS", "400")
    ran = run("memory", "prune", "--text")
    assert "1 item archived" in ran.out and items(call) == ["kept", "old"]
