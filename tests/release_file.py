"""Writes the database file of a release, which every later release has to open: `python -m tests.release_file 0.1.0`.

It is committed with the release as `tests/releases/VERSION.sqlite3.gz`, and never changed afterwards.
`tests/store/test_migrations.py` opens each.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from pathlib import Path

from core.chat_history_cache import save_chat_message
from core.db import insert_memory, open_database
from core.scope import Scope

FOLDER = Path(__file__).parent / "releases"
ENDING = ".sqlite3.gz"
CHAT = "discord/42"
MEMORY = "Ann's cat is called Mio."
MESSAGE = "The harbour festival begins on Friday."


def write_file(target: Path) -> None:
    """Write a database of the present with a message and a memory, compressed."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "release.sqlite3"
        db = open_database(f"sqlite:///{file}")
        scope = Scope(conversation=CHAT, participant="discord/7")
        insert_memory(MEMORY, "Ann", "chat", ["cat"], scope=scope, db=db)
        save_chat_message(CHAT, MESSAGE, sender_id="7", sender_name="Ann", message_id="1", scope=scope, db=db)
        db.close()
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(gzip.compress(file.read_bytes(), mtime=0))


if __name__ == "__main__":
    write_file(FOLDER / f"{sys.argv[1]}{ENDING}")
