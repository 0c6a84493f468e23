"""F55: the server is killed in the middle of writing and started again: what was acknowledged is there, once."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from core.chat_history_cache import load_chat_history
from core.config import Settings
from core.database import schema
from core.database.engine import Database
from core.prompt_engine import explain_json_prompt
from core.scope import Scope
from tests.servers import Server
from tests.store.world import NOW, Clock, count, index_differences, open_db, rows_of, verify_index

PERSONA = "killed"
WRITER = """
import itertools, sys
from core.chat_history_cache import save_chat_message
from core.config import Settings
from core.errors import StoreError
from core.scope import Scope
from core.database.engine import Database
db = Database(sys.argv[1], timeout_seconds=2)
scope, settings = Scope(persona="killed", participant="tg/ann"), Settings()
for n in itertools.count():
    try:
        text = f"line {n} of many words"
        result = save_chat_message(f"tg/{n % 3}", text, "Ann", "ann", db=db, settings=settings, scope=scope)
    except StoreError as error:
        print("failed", n, "unsure" if "answer was lost" in str(error) else "sure", flush=True)
        break
    print("stored", n, result.id, flush=True)
db.close()
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["mariadb", "mysql"])
def test_f55_acknowledged_messages_outlive_the_server(kind: str, make_server: Callable[..., Server]) -> None:
    """Two programs write, the server dies without a word, and starts again on the same data."""
    server = make_server(kind, durable=True)
    url = server.create_database("killed")
    open_db(url).close()
    root = Path(__file__).resolve().parents[2]
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, url], stdout=subprocess.PIPE, text=True, cwd=root)
        for _ in range(2)
    ]
    probe = Database(url)
    deadline = time.monotonic() + 60
    while count(probe, schema.chat_history_cache, PERSONA) < 30 and time.monotonic() < deadline:
        time.sleep(0.05)
    probe.close()
    server.kill()
    said = [writer.communicate(timeout=120)[0].split("\n") for writer in writers]
    server.start()
    db = Database(server.url_for(make_url(url).database or ""), clock=Clock())
    try:
        _check(db, [line.split() for lines in said for line in lines if line])
    finally:
        db.close()


def _check(db: Database, lines: list[list[str]]) -> None:
    acknowledged = [int(line[2]) for line in lines if line[0] == "stored"]
    unsure = sum(line[0] == "failed" and line[2] == "unsure" for line in lines)
    assert sum(line[0] == "failed" for line in lines) == 2, "both writers were told"
    ids = [row.id for row in rows_of(db, schema.chat_history_cache, PERSONA)]
    assert len(acknowledged) >= 20
    assert set(acknowledged) <= set(ids), "an acknowledged message is gone"
    assert len(ids) - len(acknowledged) <= unsure, "a message is there whose writer was told that it is not"
    assert index_differences(db, PERSONA) == [] and verify_index(db) == []
    scope, settings = Scope(persona=PERSONA), Settings()
    assert load_chat_history("tg/0", 5, db=db, settings=settings, scope=scope)
    message = {"message_id": "x", "date": NOW, "text": "line words", "interface_path": "tg/0", "from_user": {"id": "a"}}
    prompt, report = explain_json_prompt(message, db=db, settings=settings, scope=scope)
    assert prompt["context"]["history_current_chat"] and not report["errors"]
