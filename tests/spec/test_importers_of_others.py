"""Exports that others wrote for their own tests, with what these expect (R21); left out where they are not beside us.

The folder is that of `EXPORTS_DATA`, else `../shared/data/exports` beside the checkout.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from core.config import Settings
from core.database.engine import Database
from core.database.schema import chat_history_cache
from core.transfer.imports import import_file
from tests.store.world import own_scope, rows_of

DATA = Path(os.environ.get("EXPORTS_DATA") or Path(__file__).parents[2].parent / "shared" / "data" / "exports")
FILES = sorted(path for name in ("telegram", "whatsapp") for path in DATA.glob(f"{name}/test_*"))

pytestmark = [
    pytest.mark.checkout,
    pytest.mark.skipif(not FILES, reason="the exports of others are not here; EXPORTS_DATA names their folder"),
]


@pytest.mark.parametrize("path", FILES or [Path("none")], ids=lambda path: path.stem)
def test_r21_counts_and_texts_are_those_their_authors_state(db: Database, path: Path) -> None:
    """Who, when and what; white space as they join lines."""
    wanted = json.loads((path.parent / "target.json").read_text(encoding="utf-8"))
    scope = own_scope()
    done = import_file(path, db=db, scope=scope, settings=Settings())
    rows = [row for row in rows_of(db, chat_history_cache, scope.persona) if row.role != "system"]
    found = sorted(
        (row.timestamp.isoformat()[:19], row.sender_name, " ".join(row.message_text.split())) for row in rows
    )
    assert found == sorted((each["timestamp"], each["author"], each["message"]) for each in wanted)
    assert (done.imported, done.error_count) == (len(wanted), 0)


def test_r21_a_workspace_of_slack(db: Database) -> None:
    """158 lines of two channels, 11 of them of the program itself."""
    scope = own_scope()
    done = import_file(DATA / "slack" / "testarchive.zip", db=db, scope=scope, settings=Settings())
    assert (done.imported, done.service, done.error_count, len(done.conversations)) == (147, 11, 0, 2)
    texts = [row.message_text for row in rows_of(db, chat_history_cache, scope.persona)]
    assert not [text for text in texts if "<@U" in text or "&amp;" in text]
