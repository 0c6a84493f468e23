"""Forgetting a participant, a conversation, a memory: the examples of F40 to F45, F47 and F48, with rows counted."""

import contextlib
import re
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from sqlalchemy import select, update

from core import Scope, forget, insert_memory, jobs, lifelong, relationships, short_term, stories
from core.ai_diary import add_diary_entry
from core.chat_history_cache import clear_chat_history, delete_chat_message, load_chat_history, save_chat_message
from core.config import Settings
from core.conversations import add_saved_memory, close_conversation, export_markdown
from core.database import registry, schema
from core.database.engine import Database
from core.database.rows import read_object
from core.database.schema import TABLES
from core.errors import MessageError, TransferError
from core.forgetting import Forgotten
from core.privacy import link_participants
from core.synth_tagging import add_alias, link_tags
from core.transfer.exports import export_chat
from tests.spec.stage import Stage
from tests.store.world import count, index_differences, indexed_words, open_db, rows_of, verify_index

GROUP, OTHER, DIRECT = "tg/g1", "tg/g2", "tg/ann"
ANN = "tg/ann"
ALL = {entry.table for entry in registry.REGISTRY}
DEFAULTS = Settings()
SERVER_TOO = pytest.mark.engines("sqlite", "mariadb")
"""For those that meet other SQL elsewhere; tests/store/test_forgetting.py is about the servers."""


def gone(stage: Stage, **what: Any) -> Forgotten:
    return forget(**what, **stage.asking())


def everything(db: Database) -> dict[str, Counter[tuple[Any, ...]]]:
    read = {name: db.read(select(table), source=name) for name, table in TABLES.items()}
    return {name: Counter(tuple(map(repr, row)) for row in rows) for name, rows in read.items()}


def differences(before: dict[str, Counter[Any]], after: dict[str, Counter[Any]]) -> dict[str, int]:
    return {name: sum((before[name] - after[name]).values()) for name in before}


def test_f43_what_was_saved_before_the_message_it_stands_on_goes_with_it(stage: Stage) -> None:
    """A host may save what a message says before the message itself: then it is known by the platform's id alone."""
    for path in (GROUP, OTHER):
        by = {"db": stage.db, "scope": stage.scope(path, participant="tg/bob")}
        insert_memory("Somebody moved to Oslo", "synth", "chat", ["oslo"], message_id="m1", **by)
        assert add_diary_entry("We spoke of Oslo", message_id="m1", **by).stored
    stage.say("I moved to Oslo", GROUP, message_id="m1")
    stage.say("I like tea", OTHER, who="Bob", message_id="m1")
    counts = gone(stage, participant=ANN)
    assert (counts["memories"], counts["ai_diary"]) == (1, 1)
    assert texts(stage, schema.memories, "conversation_key") == [OTHER]
    assert texts(stage, schema.ai_diary, "chat_id") == ["g2"]


def checked(stage: Stage, **what: Any) -> Forgotten:
    """Forget, and hold the counts against the tables: as told before, as seen after, and nothing the second time."""
    before = everything(stage.db)
    told = gone(stage, **what, dry_run=True)
    assert everything(stage.db) == before, "a dry run changes nothing"
    done = gone(stage, **what)
    after = everything(stage.db)
    assert dict(done) == differences(before, after) and dict(told) == dict(done)
    assert (told.dry_run, told.operations, done.dry_run) == (True, done.operations, False) and set(done) == ALL
    assert gone(stage, **what) == dict.fromkeys(ALL, 0)
    assert {name: n for name, n in differences(after, everything(stage.db)).items() if n} == {}
    assert index_differences(stage.db, stage.persona) == []
    return done


def short(stage: Stage, channel: str, *lines: tuple[str, str], owner: str = "Ann", server: str = "s1") -> None:
    said = [
        {"role": "model", "content": text, "speaker": "Iris"} if who == "self"
        else {"role": "user", "content": text, "speaker": who, "user_id": who.lower()}
        for who, text in lines
    ]  # fmt: skip
    given = stage.asking(channel, f"tg/{owner.lower()}", server=server)
    given |= {"user_name": owner, "interface": "tg"}
    made = short_term.store_short_term_memory(owner.lower(), channel, said, server, **given)
    assert made.stored, made


def texts(stage: Stage, table: Any, column: str) -> list[Any]:
    return [getattr(row, column) for row in rows_of(stage.db, table, stage.persona)]


def test_f40_nobody_nothing_and_one_thing_at_a_time(stage: Stage) -> None:
    """Unknown is no error: who asks to be forgotten need not be known."""
    stage.say("hello", GROUP)
    for what in ({"participant": "tg/nobody"}, {"conversation": "tg/none"}, {"memory": 7}):
        done = checked(stage, **what)
        assert (done.total, done.operations, done.files) == (0, 0, ())
    assert isinstance(gone(stage, participant="nobody"), dict)
    wrong: tuple[dict[str, Any], ...] = ({}, {"participant": "tg/1", "memory": 3}, {"participant": ""}, {"memory": "7"})
    for what in wrong:
        with pytest.raises(MessageError):
            gone(stage, **what)


@SERVER_TOO
def test_f41_a_participant(stage: Stage) -> None:
    stage.say_all((f"line {n} of Ann" for n in range(40)), GROUP, minutes=100)
    for n in range(5):
        for text, who in ((f"secret {n}", "Ann"), (f"answer {n}", "self")):
            stage.say(text, DIRECT, who, participant=ANN, privacy="direct", minutes=30 - n)
    for n in range(3):
        stage.remember(f"Ann likes tea number {n}", ["tea", f"n{n}"], participant=ANN)
    for channel in (GROUP, OTHER):
        short(stage, channel, ("Ann", "hi"), ("self", "hello Ann"), server="")
    relationships.ensure_and_touch(ANN, **stage.asking())
    relationships.adjust(ANN, 5, **stage.asking())
    bob = stage.say("Bob stays", GROUP, "Bob")
    done = checked(stage, participant=ANN)
    told = {"chat_history_cache": 50, "memories": 3, "short_term_memories": 2, "participants": 1, "audiences": 1,
            "user_relationships": 1}  # fmt: skip
    assert {name: done[name] for name in told} == told and texts(stage, schema.chat_history_cache, "id") == [bob]
    assert texts(stage, schema.conversations, "conversation_key") == [GROUP, OTHER]
    assert texts(stage, schema.participants, "participant_key") == ["tg/bob"]
    assert "direct" not in texts(stage, schema.audiences, "kind")
    assert texts(stage, schema.user_relationships, "user_id") == ["tg/bob"]


def test_f41_all_linked_identities_and_answers_elsewhere(stage: Stage) -> None:
    stage.say("one", GROUP)
    stage.say("two", "dc/1", participant="dc/7", who="7")
    answered = stage.say("to Ann", GROUP, "self")
    kept, lines = stage.say("to all", GROUP, "self", minutes=20), schema.chat_history_cache
    with_answer = update(lines).where(lines.c.persona_id == stage.persona, lines.c.id == answered)
    stage.db.transaction(lambda c: c.execute(with_answer.values(triggered_by="dc/7")), source="chat")
    link_participants(ANN, "dc/7", **stage.asking())
    done = checked(stage, participant="dc/7")
    assert (done["chat_history_cache"], done["participants"]) == (3, 2)
    assert texts(stage, schema.chat_history_cache, "id") == [kept]


def test_f42_who_answers_them_loses_the_quote(stage: Stage) -> None:
    stage.say("my secret plan", GROUP, message_id="a1")
    notes = [
        {"from_user": {"id": "ann", "full_name": "Ann"}, "text": "my secret plan"}, {"message_id": "a1", "text": "cut"},
        {"text": "my secret plan"}, {"sender_name": "ANN", "text": "something"},
    ]  # fmt: skip
    replies = [{"a": n, "reply_to": note} for n, note in enumerate(notes)]
    theirs = [stage.say(f"indeed {n}", GROUP, "Bob", metadata=reply) for n, reply in enumerate(replies)]
    carol = {"reply_to": {"from_user": {"id": "carol"}, "text": "my secret plan"}}
    other = stage.say("no", GROUP, "Bob", metadata=carol)
    alone = stage.say("yes", GROUP, "Bob", metadata={"reply_to_message": notes[0]})
    assert checked(stage, participant=ANN)["chat_history_cache"] == 1 + len(notes) + 1
    kept = {row.id: row for row in rows_of(stage.db, schema.chat_history_cache, stage.persona)}
    assert [read_object(kept[row].metadata) for row in theirs] == [{"a": n} for n in range(len(notes))]
    assert read_object(kept[other].metadata) == carol and kept[alone].metadata is None


def test_f42_f48_the_diary_and_short_term_entries_of_others(stage: Stage) -> None:
    stage.say("hello", GROUP)
    alone = stage.diary("about Ann", involved_users=["Ann"], interaction_summary="a talk")
    both = stage.diary(
        "A walk.", involved_users=["tg/ann", "Bob"], user_message="xylofant", personal_thought="Ann is kind",
        interaction_summary="Annual report",
    )  # fmt: skip
    by_id = stage.diary("Tea.", path=GROUP, involved_users=["ann", "bob"], personal_thought="nice")
    other = stage.diary("Bob's day", involved_users=["Bob"], user_message="hi")
    nobody = stage.diary("Rain", user_message="Ann says hi")
    short(stage, GROUP, ("Bob", "mine"), ("Ann", "hers"), ("self", "to all"), owner="Bob")
    done = checked(stage, participant=ANN)
    assert (done["ai_diary"], done["short_term_memories"]) == (3, 1)
    assert "hers" not in str(texts(stage, schema.short_term_memories, "messages"))
    kept = {row.id: row for row in rows_of(stage.db, schema.ai_diary, stage.persona)}
    assert sorted(kept) == sorted([both, by_id, other, nobody]) and alone not in kept
    row = kept[both]
    assert (row.involved_users, row.user_message, row.personal_thought) == ('["Bob"]', None, None)
    assert row.interaction_summary == "Annual report" and "xylofant" not in row.text_folded
    assert (kept[by_id].involved_users, kept[by_id].personal_thought) == ('["bob"]', "nice")
    assert kept[other].user_message == "hi" and kept[nobody].user_message == "Ann says hi"


def story(stage: Stage, path: str = GROUP) -> tuple[list[int], list[int]]:
    """Tell four scenes of three messages, the third with two of Ann's; return their rows and the scenes' ids."""
    given, rows = stage.asking(path), []
    for n in range(12):
        who = "Ann" if n in (7, 8) else ("Bob" if n % 2 else "self")
        rows.append(stage.say(f"message {n}", path, who, minutes=200 - n))
    for n in range(4):
        last = rows[3 * n + 2]
        assert stories.add_scene_break(last, f"scene {n + 1}", recap=False, **given).stored
        assert stories.set_scene_recap(last, f"recap of scene {n + 1}", **given).stored
    found = [row.id for row in rows_of(stage.db, schema.scenes, stage.persona) if row.conversation_key == path]
    for n in range(4):
        stories.add_running_recap_version(f"recap to scene {n + 1}", n + 1, 0, 0, 3 * n + 2, conversation=path, **given)
    drop = schema.memory_jobs.delete().where(schema.memory_jobs.c.persona_id == stage.persona)
    stage.db.transaction(lambda c: c.execute(drop), source="memory_jobs")
    return rows, found


@SERVER_TOO
def test_f43_what_was_made_of_their_lines(stage: Stage) -> None:
    rows, found = story(stage)
    done = checked(stage, participant=ANN)
    assert (done["scene_recaps"], done["running_recaps"], done["scenes"], done["conversations"]) == (1, 2, 1, 1)
    assert done.operations == 2
    left = {row.id: row for row in rows_of(stage.db, schema.scenes, stage.persona)}
    assert sorted(left) == sorted(found)
    third = left[found[2]]
    # Her message ended the scene: the break lies on the last one that stays.
    assert (third.break_row, third.current_recap_index, third.name) == (rows[6], None, "")
    assert sorted(texts(stage, schema.scene_recaps, "scene_id")) == sorted(found[:2] + found[3:])
    assert sorted(texts(stage, schema.running_recaps, "version")) == [0, 1]
    (home,) = rows_of(stage.db, schema.conversations, stage.persona)
    assert (home.current_recap_version, home.next_recap_version) == (1, 4)
    queued = [(row.type, read_object(row.payload)) for row in rows_of(stage.db, schema.memory_jobs, stage.persona)]
    assert queued == [("SCENE_RECAP", {"message_id": rows[6]}), ("RUNNING_SCENE_RECAP", {})]


def test_f43_a_scene_of_their_lines_alone_goes_and_the_others_stay(stage: Stage) -> None:
    speakers = ("Ann", "Ann", "Bob", "Bob")
    rows = [stage.say(f"message {n}", GROUP, who, minutes=60 - n) for n, who in enumerate(speakers)]
    for row in rows[1::2]:
        assert stories.add_scene_break(row, recap=False, **stage.asking(GROUP)).stored
    checked(stage, participant=ANN)
    assert [scene.break_row for scene in rows_of(stage.db, schema.scenes, stage.persona)] == [rows[3]]


def test_f43_what_was_queued_about_their_messages_goes_and_nothing_else(stage: Stage) -> None:
    rows = [stage.say("I moved to Rome", GROUP), stage.say("So did I", GROUP, "Bob")]
    for row in (*rows, None):
        jobs.enqueue_operation("RECAP", metadata={"message_id": row}, conversation=GROUP, **stage.asking())
    assert checked(stage, participant=ANN)["memory_jobs"] == 1
    queued = [read_object(row.payload) for row in rows_of(stage.db, schema.memory_jobs, stage.persona)]
    assert queued == [{"message_id": rows[1]}, {"message_id": None}]


@SERVER_TOO
def test_f43_items_made_of_their_messages(stage: Stage) -> None:
    given = stage.asking()
    ann, bob = stage.say("I moved to Rome", GROUP), stage.say("So did I", GROUP, "Bob")
    mixed = stage.remember("both moved", ["move"], path=GROUP, source_message_ids=[ann, bob], provenance="model")
    kept = stage.remember("it rains", ["rain"], path=GROUP, source_message_ids=[bob])
    lifelong.edit_item(mixed, "both of them moved", operator=True, **given)
    done = checked(stage, participant=ANN)
    assert (done["memories"], done["item_history"], texts(stage, schema.memories, "id")) == (1, 1, [kept])
    (queued,) = rows_of(stage.db, schema.memory_jobs, stage.persona)
    assert (queued.type, read_object(queued.payload)) == ("CONSOLIDATION", {"reason": "forgotten", "rows": [bob]})
    assert verify_index(stage.db) == []


def test_f43_summaries_of_conversations_they_wrote_in(stage: Stage) -> None:
    rows = []
    for n, who in enumerate(("Bob", "Ann", "Bob", "Ann")):
        rows.append(stage.say(f"{who} talks of boat {n} and the sea.", GROUP, who, minutes=60 - n))
        if n in (0, 3):
            assert close_conversation(GROUP, wait=True, model=lambda _: "{}", **stage.asking(GROUP)).stored
    done = checked(stage, participant=ANN)
    assert done["conversation_summaries"] >= 1 and done.operations == 1
    assert not count(stage.db, schema.conversation_summaries, stage.persona)
    waiting = [row for row in rows_of(stage.db, schema.memory_jobs, stage.persona) if row.status == "pending"]
    (queued,) = [(row.type, (read_object(row.payload) or {}).get("last")) for row in waiting]
    assert queued == ("CONVERSATION_SUMMARY", rows[2])


def test_f40_l7_a_memory_goes_with_its_former_versions_also_when_it_is_purged(stage: Stage) -> None:
    given = stage.asking()
    item, purged = stage.remember("the code is 7391", ["code"]), stage.remember("the zqcode", ["zqtag"])
    other = stage.remember("it rains", ["rain"])
    lifelong.edit_item(purged, "changed", operator=True, **given)
    assert lifelong.purge_items([purged], operator=True, **given).count == 1
    lifelong.edit_item(item, "the code is 8402", operator=True, **given)
    done = checked(stage, memory=item)
    assert (done["memories"], done["item_history"], done["tags"]) == (1, 1, 1)
    assert texts(stage, schema.memories, "id") == [other] and not count(stage.db, schema.item_history, stage.persona)
    known = indexed_words(stage.db)
    assert not {"7391", "8402", "zqcode", "zqtag"} & known and "rains" in known


def test_f44_a_conversation(stage: Stage) -> None:
    story(stage)
    story(stage, OTHER)
    thread = stage.say("a thread is a conversation of its own", f"{GROUP}/7")
    for path in (GROUP, OTHER):
        stage.remember(f"said in {path}", ["place"], path=path)
        stage.diary("a day", path=path, interface="tg")
        short(stage, path, ("Ann", "hi"))
    before = everything(stage.db)
    done = checked(stage, conversation=GROUP)
    assert (done["chat_history_cache"], done["scenes"], done["running_recaps"]) == (12, 4, 4)
    assert (done["conversations"], done["memories"], done["ai_diary"], done["short_term_memories"]) == (1, 1, 1, 1)
    assert done["participants"] == done["user_relationships"] == 0
    after = everything(stage.db)
    lost = {name: [row for row in (before[name] - after[name]) if OTHER in str(row)] for name in before}
    assert {name: rows for name, rows in lost.items() if rows} == {}
    assert texts(stage, schema.conversations, "conversation_key") == [OTHER, f"{GROUP}/7"]
    assert thread in texts(stage, schema.chat_history_cache, "id")


def test_f44_a_server_and_no_other(stage: Stage) -> None:
    for server in ("s1", "s2"):
        stage.say("hello", GROUP, server=server)
        stage.remember(f"said in {server}", ["place"], path=GROUP, server=server)
        given = stage.asking(GROUP, participant=ANN, server=server)
        add_diary_entry(f"a day in {server}", **given)
        short(stage, GROUP, ("Ann", "hi"), server=server)
    done = checked(stage, server="s1")
    tables = ("conversations", "chat_history_cache", "memories", "ai_diary", "short_term_memories")
    assert [done[name] for name in tables] == [1] * 5
    forget(conversation=GROUP, **stage.asking(server="s1"))
    assert texts(stage, schema.ai_diary, "content") == ["a day in s2"]


def test_f46_d17_words_and_tags_nobody_holds(stage: Stage) -> None:
    given = stage.asking()
    stage.remember("her xylofant sings", ["xylofant", "cat"], participant=ANN)
    stage.remember("his cat sleeps", ["cat", "sleep"])
    add_alias("xylo", "xylofant", **given)
    add_alias("kitty", "cat", **given)
    link_tags("xylofant", "cat", **given)
    link_tags("cat", "sleep", **given)
    link_tags("xylofant", "zebra", **given)
    add_alias("stripes", "zebra", **given)
    done = checked(stage, participant=ANN)
    assert (done["tags"], done["tag_aliases"], done["tag_links"]) == (2, 1, 2)
    assert set(texts(stage, TABLES["tags"], "tag")) == {"cat", "sleep", "zebra"}
    known = indexed_words(stage.db)
    assert "xylofant" not in known and {"cat", "sleeps"} <= known


def test_f45_a_path_that_no_file_can_have_stops_no_forgetting(stage: Stage) -> None:
    """An export that failed and a wrong MEMORY_FOLDER_NAME are met only after the rows are deleted."""
    stage.say("zqsecret", GROUP)
    with pytest.raises(TransferError, match="File name too long"):
        export_chat("x" * 300, conversation=GROUP, db=stage.db, scope=stage.scope())
    done = forget(conversation=GROUP, db=stage.db, settings={"MEMORY_FOLDER_NAME": "x" * 300}, scope=stage.scope())
    assert done["chat_history_cache"] == 1 and done.out_of_reach == ()


def test_f45_the_markdown_files_are_written_anew(stage: Stage, tmp_path: Path) -> None:
    for whose, text in ((ANN, "zqsecret tea"), ("tg/bob", "plain coffee")):
        assert add_saved_memory(f"I like {text}", **stage.asking(participant=whose)).stored
    everybody, hers, unknown, other = (tmp_path / name for name in ("everybody", "hers", "unknown", "other"))
    for folder, by in (
        (everybody, stage.asking()), (hers, stage.asking(participant=ANN)), (unknown, stage.asking()),
        (other, Stage(stage.db).asking()),
    ):  # fmt: skip
        export_markdown(folder, **by)
    (unknown / ".memory.json").unlink()
    saved = "Saved Memories.md"
    stage.say("hello", GROUP)
    done = gone(stage, participant=ANN)
    assert (everybody / saved).read_text() == "- I like plain coffee\n"
    assert "zqsecret" not in (hers / saved).read_text()
    assert not any(ANN in path.read_text() for path in hers.iterdir())
    assert {str(everybody / saved), str(hers / saved)} <= set(done.files)
    told = [each.partition(": ") for each in done.out_of_reach]
    assert (str(unknown / saved), "it is unknown whose rows it contains") in [(path, why) for path, _, why in told]
    assert not any(str(other) in each for each in (*done.files, *done.out_of_reach))


def test_f40_a_failure_leaves_everything(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    story(stage)
    stage.remember("Ann likes tea", ["tea"], participant=ANN)
    before = everything(stage.db)
    monkeypatch.setattr("core.forgetting.table_rows.Removal.purge_index", Mock(side_effect=RuntimeError))
    with pytest.raises(RuntimeError):
        gone(stage, participant=ANN)
    assert everything(stage.db) == before


@pytest.mark.parametrize("kept_open", [False, True])
def test_f46_no_forgotten_text_is_in_the_file(tmp_path: Path, kept_open: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The journal keeps pages of before while a handle is open, and free pages keep texts where nothing wipes them."""
    connect = sqlite3.dbapi2.connect

    def connect_unwiped(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        """As SQLite is where it was built without secure deletion: Debian's has it on by itself."""
        made: sqlite3.Connection = connect(*args, **kwargs)
        made.execute("PRAGMA secure_delete = OFF").close()
        return made

    monkeypatch.setattr(sqlite3.dbapi2, "connect", connect_unwiped)
    file = tmp_path / "own.db"
    db = open_db(f"sqlite:///{file}")
    other = open_db(f"sqlite:///{file}") if kept_open else None
    call: dict[str, Any] = {"db": db, "settings": DEFAULTS}
    ann = Scope("iris", "tg/c1", ANN)
    for number in range(60):
        save_chat_message("tg/c1", f"canary{number:04} " * 8, "Ann", "ann", scope=ann, **call)
    assert other is None or load_chat_history("tg/c1", db=other, settings=DEFAULTS, scope=ann)
    done = forget(participant=ANN, scope=Scope("iris"), **call)
    held = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert done["chat_history_cache"] == 60 and done.out_of_reach == () and re.findall(rb"canary[0-9]{4}", held) == []
    for each in filter(None, (db, other)):
        each.close()


@pytest.mark.parametrize("way", ["message", "items", "conversation", "person"])
def test_f46_what_is_deleted_is_in_no_file_of_sqlite_or_its_journal_is_named(tmp_path: Path, way: str) -> None:
    file = tmp_path / "own.db"
    db, other = open_db(f"sqlite:///{file}"), open_db(f"sqlite:///{file}")
    given: dict[str, Any] = {"db": db, "settings": DEFAULTS, "scope": Scope("iris", "tg/c1", ANN)}

    def delete(text: str) -> tuple[str, ...] | None:
        """Store a text and delete it; return what is said to be left, None where the result has no place for it."""
        if way == "items":
            return lifelong.purge_items(lifelong.add_facts_with_meta([text], **given).ids, **given).out_of_reach
        row = save_chat_message("tg/c1", text, "Ann", "ann", **given).id
        if way == "message":
            return delete_chat_message(row, **given).notes
        if way == "person":
            return forget(participant=ANN, **given).out_of_reach
        assert clear_chat_history("tg/c1", **given) == 1
        return None

    def read_files() -> bytes:
        return b"".join(path.read_bytes() for path in tmp_path.iterdir())

    assert load_chat_history("tg/c1", **{**given, "db": other}) == [] and not delete("canary")
    assert b"canary" not in read_files()
    with contextlib.closing(sqlite3.connect(file)) as reading:
        reading.execute("BEGIN")
        reading.execute("SELECT count(*) FROM chat_history_cache").fetchone()
        left = delete("gannet")
    assert left is None or [path.partition(": ")[0] for path in left] == [f"{file}-wal"]
    assert not delete("last") and b"gannet" not in read_files()
    for each in (db, other):
        each.close()
