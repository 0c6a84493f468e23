"""A handle that nobody closes: its connections go with it."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest
from sqlalchemy import text

from core.database.engine import Database

pytestmark = pytest.mark.engines("sqlite")


@pytest.mark.parametrize("name", ["", "/own.sqlite3"])
def test_a_handle_that_is_given_up_closes_its_file(name: str, tmp_path: Path) -> None:
    """Python warns of files that are left open from 3.13 on, wherever it happens to collect them."""
    db = Database(f"sqlite:///{tmp_path}{name}" if name else "sqlite://")
    db.read(text("SELECT 1"), source="test")
    engines = db.engines()
    pools = [engine.pool for engine in engines]
    handle = weakref.ref(db)
    del db
    gc.collect()
    assert handle() is None, "nothing holds it by way of its connections"
    assert all(engine.pool is not pool for engine, pool in zip(engines, pools, strict=True)), "disposed of"
