"""F55: the server is killed while stories, memories and operations are written: each write is there whole, or not."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from core import jobs
from core.config import Settings
from core.database import schema
from core.database.engine import Database
from core.database.rows import read_object
from core.scope import Scope
from tests.servers import Server
from tests.store.world import Clock, count, index_differences, open_db, rows_of

PERSONA = "killed"
CONVERSATION = "tg/1"
WRITER = """
import itertools, sys
from core import chat_history_cache, conversations, jobs, short_term, stories
from core.config import Settings
from core.errors import StoreError
from core.scope import Scope
from core.database.engine import Database
db = Database(sys.argv[1], timeout_seconds=2)
given = {"db": db, "scope": Scope("killed", "tg/1", "tg/ann"),
         "settings": Settings(recap_on_message=True, memory_mode="agent")}
me = sys.argv[2]
for n in itertools.count():
    try:
        text = f"Ann walks to house {n} of {me} in Rome."
        row = chat_history_cache.save_chat_message("tg/1", text, "Ann", "ann", **given).id
        print("message", row, flush=True)
        number = stories.add_alternative(row, text + " Again.", **given)
        print("alternative", row, flush=True)
        stories.choose_alternative(row, number, **given)
        print("scene", stories.add_scene_break(row, **given).id, flush=True)
        print("version", stories.add_running_recap_version(text, provenance="manual", **given), flush=True)
        print("saved", conversations.add_saved_memory(text, **given).id, flush=True)
        said = [{"role": "user", "content": text}]
        short_term.write_turn({"messages": said}, [{"text": "oh"}], user="tg/ann", channel="tg/1", **given)
        conversations.add_recent_conversation(**given)
        jobs.run_pending(2, **given)
    except StoreError:
        break
"""


@pytest.mark.slow
@pytest.mark.engines("mariadb")
def test_f55_what_stories_have_written_outlives_the_server(make_server: Callable[..., Server]) -> None:
    server = make_server("mariadb", durable=True)
    url = server.create_database("killed")
    open_db(url).close()
    root = Path(__file__).resolve().parents[2]
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, url, str(n)], stdout=subprocess.PIPE, text=True, cwd=root)
        for n in range(2)
    ]
    probe = Database(url)
    deadline = time.monotonic() + 60
    while count(probe, schema.scenes, PERSONA) < 16 and time.monotonic() < deadline:
        time.sleep(0.02)
    probe.close()
    server.kill()
    said = [line.split() for writer in writers for line in writer.communicate(timeout=120)[0].split("\n") if line]
    server.start()
    db = open_db(server.url_for(make_url(url).database or ""))
    try:
        _check(db, said)
    finally:
        db.close()


def _check(db: Database, said: list[list[str]]) -> None:
    told: dict[str, set[int]] = {}
    for kind, number in said:
        told.setdefault(kind, set()).add(int(number))
    messages = {row.id for row in rows_of(db, schema.chat_history_cache, PERSONA)}
    scenes = {row.id: row.break_row for row in rows_of(db, schema.scenes, PERSONA)}
    versions = {row.version for row in rows_of(db, schema.running_recaps, PERSONA)}
    # 1. what was acknowledged is there
    assert told["message"] <= messages
    assert told["scene"] <= set(scenes)
    assert told["version"] <= versions
    assert told["saved"] <= {row.id for row in rows_of(db, schema.memories, PERSONA)}
    # 2. what belongs together is there together
    alternatives = rows_of(db, schema.message_alternatives, PERSONA)
    assert told["alternative"] <= {row.message_row for row in alternatives}
    assert set(Counter(row.message_row for row in alternatives).values()) == {2}
    assert set(Counter(row.message_row for row in alternatives if row.is_current).values()) == {1}
    assert set(scenes.values()) <= messages
    operations = rows_of(db, schema.memory_jobs, PERSONA)
    # A scene that begins elsewhere once its recap is made is queued again: its message may stand in several.
    queued = {(read_object(row.payload) or {})["message_id"] for row in operations if row.type == "SCENE_RECAP"}
    assert queued == set(scenes.values()), "a break without its operation, or an operation without its break"
    (conversation,) = rows_of(db, schema.conversations, PERSONA)
    assert (conversation.current_recap_version, conversation.next_recap_version) == (max(versions), max(versions) + 1)
    assert index_differences(db, PERSONA) == []
    # 3. the queue goes on, and each effect is there once
    assert isinstance(db.clock, Clock)
    given = {"db": db, "scope": Scope(PERSONA, CONVERSATION), "settings": Settings()}
    for _ in range(3):
        db.clock.now = max(row.updated_at for row in rows_of(db, schema.memory_jobs, PERSONA))
        db.clock.forward(seconds=1200)
        jobs.run_pending(**given)
    ended = Counter(row.status for row in rows_of(db, schema.memory_jobs, PERSONA))
    assert set(ended) == {"completed"}
    recaps = rows_of(db, schema.scene_recaps, PERSONA)
    assert set(Counter(row.scene_id for row in recaps).values()) <= {1}
    listed = rows_of(db, schema.conversation_summaries, PERSONA)
    assert len(listed) == 1
