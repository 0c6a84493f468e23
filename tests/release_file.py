"""Writes the databases of a release, which every later release has to open: `python -m tests.release_file 0.1.0`.

They are committed with the release as `tests/releases/VERSION.sqlite3.gz` and `VERSION.mysql.sql`, and never changed
afterwards; until then they are written anew where tables change. `tests/store/test_releases.py` opens each.
"""

import gzip
import sys
import tempfile
from contextlib import closing
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest import mock

from pymysql.converters import escape_string

from core import ai_diary, conversations, jobs, lifelong, privacy, relationships, short_term, stories, tokens, values
from core.base import resources
from core.chat_history_cache import save_chat_message
from core.database.engine import Database
from core.database.schema import TABLES
from core.db import insert_memory, open_database, reindex
from core.scope import Scope
from core.semantic import embed_rows
from core.synth_tagging import add_alias, link_tags
from core.upkeep import ddl
from tests.servers import SERVERS

FOLDER = Path(__file__).parent / "releases"
NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
ANN, BOB, CARL = "discord/ann", "discord/bob", "discord/carl"
GROUP = Scope("iris", "discord/plaza", ANN, server="s1", privacy="public")
OTHER = Scope("iris", "discord/hall", BOB, server="s2", privacy="public")
DIRECT = Scope("iris", "discord/dm-ann", ANN, privacy="direct")
JUNO = Scope("juno", "web/1", ANN)
SECRET = "a-sample-and-nobodys-token-" + 16 * "0"
RECAP = "Ann looks forward to the harbour festival."


class Letters:
    """An embedder that counts vowels."""

    name, is_local = "letters", True

    def embed(self, texts: list[str]) -> list[list[float]]:
        return [[float(text.count(letter)) for letter in "aeiou"] for text in texts]


def write_samples(db: Database) -> None:
    """Store something of every kind, seen by several audiences of two personas."""
    by: dict[str, Any] = {"db": db, "scope": GROUP}
    insert_memory("Ann's cat is called Mio.", "Ann", "chat", ["cat"], **by)
    insert_memory("Juno keeps bees.", "Juno", "chat", ["bees"], scope=JUNO, db=db)
    chat: dict[str, Any] = {"sender_id": "ann", "sender_name": "Ann", "timestamp": NOW - timedelta(minutes=9), **by}
    said = save_chat_message(GROUP.conversation, "The harbour festival begins on Friday.", message_id="1", **chat)
    answer = {"timestamp": NOW - timedelta(minutes=8), "role": "persona", "triggered_by": ANN, "message_id": "2"}
    answered = save_chat_message(GROUP.conversation, "Take an umbrella, Ann.", **answer, **by)
    for scope, who, text in (
        (DIRECT, "ann", "My new job is at the lighthouse."),
        (OTHER, "bob", "Bob repairs gliders — 日本, İzmir, \U0001f6e9."),
    ):
        save_chat_message(scope.conversation, text, sender_id=who, sender_name=who.title(), scope=scope, db=db)
    facts = [{"text": "Ann plays the clarinet.", "tags": ["music"]}, "Ann sold her kayak."]
    kept = lifelong.add_facts_with_meta(facts, db=db, scope=DIRECT)
    conversations.add_saved_memory("Ann is allergic to hazelnuts.", db=db, scope=DIRECT)
    conversations.add_recent_conversation(wait=True, **by)
    ai_diary.add_diary_entry("Ann was proud of her concert.", context_tags=["music"], involved_users=["Ann"], **by)
    relationships.adjust(ANN, affinity_delta=7, trust_delta=3, username="Ann", **by)
    lines = [{"role": "user", "content": "The ferry is late."}, {"role": "model", "content": "It comes at six."}]
    short_term.store_short_term_memory(ANN, "discord/harbour", lines, "s1", at=NOW, **by)
    stories.set_data(said.id, "memory", RECAP, **by)
    stories.add_alternative(answered.id, "Take a raincoat, Ann.", **by)
    stories.add_scene_break(answered.id, "The harbour", **by)
    stories.set_scene_recap(answered.id, "They spoke about the festival.", **by)
    stories.add_running_recap_version("A festival is near.", 1, **by)
    add_alias("kitty", "cat", **by)
    link_tags("cat", "music", **by)
    privacy.link_participants(ANN, "telegram_bot/7", **by)
    privacy.set_privacy(CARL, "full", **by)
    entry = values.NewValue(("notes", "boat"), '{"boat": "Seagull"}', "Ann's boat is the Seagull.")
    values.open_values(**by).change(lambda change: change.write([entry]))
    jobs.enqueue_operation("CONVERSATION_SUMMARY", conversation=OTHER.conversation, db=db, scope=OTHER)
    with mock.patch("secrets.token_urlsafe", lambda _: SECRET):
        tokens.add_token(label="phone", db=db, scope=DIRECT)
    embed_rows(embedder=Letters(), **by)
    reindex(db)
    lifelong.consolidate_history(**by)
    lifelong.edit_item(kept.ids[0], "Ann plays the oboe.", db=db, scope=DIRECT)
    lifelong.purge_items(kept.ids[1:], db=db, scope=DIRECT)


def open_at(url: str) -> Database:
    """Open a database at the moment of the samples: what is kept for hours is still there."""
    return open_database(url, clock=lambda: NOW)


def write_file(target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "release.sqlite3"
        with closing(open_at(f"sqlite:///{file}")) as db:
            write_samples(db)
        target.write_bytes(gzip.compress(file.read_bytes(), mtime=0))


def write_dump(target: Path, url: str) -> None:
    """Write the statements that make the database of a server anew, each ended by a semicolon and a line break."""
    with closing(open_at(url)) as db:
        write_samples(db)
        lines = [resources.find("sql/schema/mysql.sql").read_text(encoding="utf-8")]
        for table in TABLES.values():
            if table.name != "schema_version":  # the script of the tables has its row
                keys = ", ".join(ddl.quote(name, "mysql") for name in table.columns.keys())  # noqa: SIM118
                rows = db.read(f"SELECT {keys} FROM {table.name}", ())
                lines += [f"INSERT INTO {table.name} ({keys}) VALUES ({', '.join(map(write_value, r))});" for r in rows]
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_value(value: Any) -> str:
    """Return a value as SQL; bytes that are not plain letters as hexadecimal digits."""
    if value is None or isinstance(value, int | float | Decimal):
        return "NULL" if value is None else str(value)
    if isinstance(value, bytes) and not (value.isascii() and value.decode("ascii").isprintable()):
        return f"X'{value.hex()}'"
    text = value.decode("ascii") if isinstance(value, bytes) else str(value)
    return f"'{escape_string(text)}'"


def main(version: str) -> None:
    FOLDER.mkdir(exist_ok=True)
    write_file(FOLDER / f"{version}.sqlite3.gz")
    server = SERVERS["mariadb"]().start()
    try:
        write_dump(FOLDER / f"{version}.mysql.sql", server.create_database("release"))
    finally:
        server.stop()


if __name__ == "__main__":
    main(sys.argv[1])
