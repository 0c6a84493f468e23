"""D2: at 30,000 rows each read takes the index that the data model names for it, and none reads a table through.

The reads are the doors' own: what they send is caught on its way and explained.
"""

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any, NamedTuple

import pytest

from core import ai_diary, chat_history_cache, conversations, privacy, prompt_engine, synth_tagging
from core.access.load import load_snapshot
from core.access.view import Request
from core.config import Settings
from core.database.engine import Database
from core.database.schema import TABLES
from core.scope import Scope
from core.synth_core_memory import search_memories, silently_record_memory
from tests.databases import watched
from tests.store import many_rows
from tests.store.world import NOW, open_db

pytestmark = [pytest.mark.slow, pytest.mark.engines("sqlite", "mariadb", "mysql")]

PERSONA = "p1"
SMALL = {"counters", "schema_version", "audiences", "tags", "tag_aliases",
         "message_alternatives", "short_term_memories", "search_gone", "privacy_levels"}  # fmt: skip
"""Tables of few rows here, or of which the whole vocabulary of a persona is read."""


@pytest.fixture(scope="module")
def db(migrated_url: str) -> Iterator[Database]:
    """A database of 30,000 messages and items, and enough of all else for a scan to be dear."""
    with closing(open_db(migrated_url)) as made:
        with closing(Database(migrated_url, timeout_seconds=600)) as patient:
            many_rows.fill(patient)
        yield made


class Access(NamedTuple):
    table: str
    index: str
    how: str

    @property
    def is_scan(self) -> bool:
        return self.how in ("ALL", "index", "SCAN")


_SQLITE = re.compile(r"(SEARCH|SCAN) (\w+)(?: USING (?:COVERING )?(?:INDEX (\w+)|(?:INTEGER )?(PRIMARY KEY)))?")


def explain(db: Database, statement: str, values: Sequence[Any]) -> list[Access]:
    """Return how the tables of a statement are read, indexes named as in the schema."""
    with db.engines()[0].connect() as connection:
        if db.family == "sqlite":
            rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", tuple(values)).all()
            found = [_SQLITE.match(row[3]) for row in rows]
            return [_sqlite_access(*each.groups()) for each in found if each]
        plain = "MariaDB" in connection.exec_driver_sql("SELECT VERSION()").scalar_one()
        word = "EXPLAIN" if plain else "EXPLAIN FORMAT=TRADITIONAL"
        rows = connection.exec_driver_sql(f"{word} {statement}", tuple(values)).mappings().all()
        named = [row for row in rows if row["table"] and not row["table"].startswith("<")]
        return [Access(row["table"], row["key"] or "", row["type"] or "") for row in named]


def _sqlite_access(how: str, table: str, index: str | None, primary: str | None) -> Access:
    name = index or ("PRIMARY" if primary else "")
    if name.startswith("sqlite_autoindex"):
        name = "PRIMARY"
    return Access(table, name, how)


class Caught(NamedTuple):
    statement: str
    values: Sequence[Any]


@contextlib.contextmanager
def catching(db: Database) -> Iterator[list[Caught]]:
    caught: list[Caught] = []

    def note(statement: str, values: Any, *_: Any) -> None:
        if values is not None and re.match(r"\(?\s*(SELECT|WITH|UPDATE|DELETE)\b", statement):
            caught.append(Caught(statement, values))

    db.watchers.append(note)  # of reads that are compiled as they are sent it brings no values, the event does
    try:
        with watched(db, note):
            yield caught
    finally:
        db.watchers.remove(note)


def check(db: Database, call: Callable[[], Any], wanted: dict[str, set[str]]) -> None:
    """Fail where a statement of a call reads a large table through, or a table without the index wanted."""
    with catching(db) as caught:
        call()
    assert caught, "nothing was sent"
    used: dict[str, set[str]] = {}
    for statement, values in caught:
        for access in explain(db, statement, values):
            table = _name_of(access.table, statement)
            if table in TABLES:
                used.setdefault(table, set()).update(access.index.split(","))
                assert table in SMALL or not access.is_scan, (access, statement[:2000])
    for table, indexes in wanted.items():
        assert indexes <= used.get(table, set()), (table, used.get(table), [c.statement[:1500] for c in caught])


def _name_of(alias: str, statement: str) -> str:
    found = re.search(rf"\b(\w+)`? AS `?{re.escape(alias)}\b", statement)
    return found[1] if found and alias not in TABLES else alias


SERVER = Scope(persona=PERSONA, conversation="tg/7", server="s1")
DIRECT = Scope(persona=PERSONA, conversation="tg/u7", participant="tg/u7", privacy="direct")
PERSON = Scope(persona=PERSONA, conversation="tg/7", participant="tg/u7", server="s1")


def reads(db: Database) -> dict[str, tuple[Callable[[], Any], dict[str, set[str]]]]:
    own: dict[str, Any] = {"db": db, "scope": SERVER}
    person: dict[str, Any] = {"db": db, "scope": PERSON}
    chat, memories, diary = "chat_history_cache", "memories", "ai_diary"
    message = {"message_id": "x", "date": NOW, "text": "w1723 w1234 and t5", "interface_path": "tg/7",
               "from_user": {"id": "u7", "full_name": "U"}}  # fmt: skip
    load, edit, search = chat_history_cache.load_chat_history, chat_history_cache.edit_chat_message, search_memories
    save, by_conversation = chat_history_cache.save_chat_message, {"conversations": {"uq_conversations_key"}}
    saving = {chat: {"uq_chat_message", "ix_chat_content"}, "participants": {"PRIMARY", "ix_participants_person"}}
    prompt = {"conversations": {"uq_conversations_key", "ix_conversations_audience"}, chat: {"ix_chat_conversation"}}
    prompt |= {diary: {"ix_diary_audience"}, "search_block": {"PRIMARY"}}
    spoken = {"settings": Settings(server_in_direct=True), "destination": "remote"}
    by_person = {chat: {"ix_chat_participant"}, memories: {"ix_memories_participant"}}
    moving = {memories: {"ix_memories_conversation"}, **by_conversation}
    tags = {"tags": {"PRIMARY"}, "tag_links": {"PRIMARY"}}
    by_time, by_key = {diary: {"ix_diary_audience"}}, {chat: {"uq_chat_message", "PRIMARY"}}
    words = {"search_block": {"PRIMARY"}}
    return {
        "newest of a conversation": (lambda: load("tg/7", 20, **own), {chat: {"ix_chat_conversation"}}),
        "newest of a level": (lambda: load("tg/7", 20, level=True, **own), {}),
        "newest of all": (lambda: chat_history_cache.load_global_chat_history(20, **own), {chat: {"ix_chat_audience"}}),
        "how much is visible": (lambda: chat_history_cache.get_cache_stats(**own), {}),
        "saving": (
            lambda: [save("tg/7", f"id {n}", "U", "u7", NOW, message_id=n, **person) for n in ("new", None)],
            saving | by_conversation,
        ),
        "by the host's id": (lambda: edit("m7", "new text", interface_path="tg/7", **own), by_key),
        "clearing a conversation": (lambda: chat_history_cache.clear_chat_history("tg/697", **own), {}),
        "duplicates": (lambda: silently_record_memory("I like w17", **own), {memories: {"ix_memories_content"}}),
        "words": (lambda: search(keywords=["w1723", "w1234"], ranking="relevance", **own), words),
        "words, newest first": (lambda: search(keywords=["w1234", "234"], ranking="recency", **own), {}),
        "search by tags": (lambda: search(tags=["t5", "t101"], **own), words),
        "a prompt": (lambda: prompt_engine.build_json_prompt(message, **person), prompt),
        "a direct message: the servers where the person has spoken": (
            lambda: load_snapshot(db, DIRECT, Request(is_prompt=True), **spoken),
            {chat: {"ix_chat_participant"}, **by_conversation},
        ),
        "recent diary": (lambda: ai_diary.get_recent_entries(700, 3000, **own), by_time),
        "diary by tags": (lambda: ai_diary.get_entries_by_tags(["t5"], **own), by_time),
        "diary by person": (lambda: ai_diary.get_entries_with_person("Ann", **own), by_time),
        "old diary entries": (lambda: ai_diary.cleanup_old_entries(798, **own), by_time),
        "tags of a persona": (lambda: synth_tagging.list_tags(**own), tags),
        "lines and items of a person": (lambda: privacy.set_privacy("tg/u11", "full", **own), by_person),
        "moving a conversation": (lambda: privacy.set_conversation_privacy("tg/13", "restricted", **own), moving),
    }


NAMED = tuple(reads(None))  # type: ignore[arg-type] - the names alone


@pytest.mark.parametrize("name", NAMED)
def test_d2_a_named_read_takes_its_index(db: Database, name: str) -> None:
    check(db, *reads(db)[name])


def test_d2_a_word_of_a_segment_is_looked_up_by_its_whole_key(db: Database) -> None:
    with catching(db) as caught:
        search_memories(keywords=["w1723", "w1234"], tags=["t5"], scope=SERVER, db=db)
    sent = [each for each in caught if "search_block" in each.statement]
    assert sent
    accesses = [one for each in sent for one in explain(db, *each) if one.table == "search_block"]
    assert len(accesses) >= len(sent)
    assert {one.how for one in accesses} == {"SEARCH" if db.family == "sqlite" else "eq_ref"}


@pytest.mark.engines("mariadb", "mysql")
def test_d2_the_newest_other_conversations_are_read_without_sorting(db: Database) -> None:
    message = {"message_id": "x", "date": NOW, "text": "hello", "interface_path": "tg/7"}
    with catching(db) as caught:
        prompt_engine.build_json_prompt(message, scope=SERVER, db=db)
    with db.engines()[0].connect() as connection:
        word = "EXPLAIN" if connection.dialect.is_mariadb else "EXPLAIN FORMAT=TRADITIONAL"
        sent = [(f"{word} {each.statement}", tuple(each.values)) for each in caught]
        rows = [row for each in sent for row in connection.exec_driver_sql(*each).mappings()]
    walked = [row["Extra"] or "" for row in rows if row["key"] == "ix_conversations_audience"]
    assert walked and not [extra for extra in walked if "filesort" in extra]


@pytest.mark.engines("sqlite")
def test_d2_the_diary_of_a_prompt_is_read_by_time_without_statistics(fresh_migrated_url: str) -> None:
    """SQLite has none before the first ANALYZE, and then prefers an index that all rows of a persona have in common."""
    message = {"message_id": "x", "date": NOW, "text": "hello", "interface_path": "tg/7"}
    empty = open_db(fresh_migrated_url)
    for scope in (PERSON, Scope(PERSONA)):  # two audiences, of which an index has no order by time
        ai_diary.add_diary_entry("tea", timestamp=NOW, db=empty, scope=scope)
    with catching(empty) as caught:
        prompt_engine.build_json_prompt(message, scope=PERSON, db=empty)
    (read,) = [each for each in caught if "ai_diary.personal_thought" in each.statement]
    accesses = [access for access in explain(empty, *read) if access.table == "ai_diary"]
    assert accesses == [Access("ai_diary", "ix_diary_audience", "SEARCH")]
    empty.close()


@pytest.mark.engines("sqlite")
def test_d2_equal_memories_are_looked_up_by_their_digest_without_statistics(fresh_migrated_url: str) -> None:
    """Ordered by time, each save read all memories of its audience."""
    empty = open_db(fresh_migrated_url)
    with catching(empty) as caught:
        silently_record_memory("I like tea", db=empty, scope=DIRECT)
        conversations.add_saved_memory("I like tea", db=empty, scope=DIRECT)
    sent = [each for each in caught if re.search(r"WHERE .*content_hash\b", each.statement, re.DOTALL)]
    accesses = [access for each in sent for access in explain(empty, *each)]
    assert accesses == [Access("memories", "ix_memories_content", "SEARCH")] * 2
    empty.close()
