"""What a handle holds: its connections go with it where nobody closes it, and keep few plans."""

import copy
import gc
import os
import pickle
import weakref
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from core.database.connections import KEPT_PLANS
from core.database.engine import Database
from core.db import open_database

pytestmark = pytest.mark.engines("sqlite")


@pytest.mark.parametrize("name", ["", "/own.sqlite3"])
def test_a_handle_that_is_given_up_closes_its_file(name: str, tmp_path: Path) -> None:
    """Python warns of files that are left open from 3.13 on, wherever it happens to collect them."""
    db = Database(f"sqlite:///{tmp_path}{name}" if name else "sqlite://")
    db.read(text("SELECT 1"), source="test")
    engines = db.engines()
    pools, handle = [engine.pool for engine in engines], weakref.ref(db)
    del db
    gc.collect()
    assert handle() is None, "nothing holds it by way of its connections"
    assert all(engine.pool is not pool for engine, pool in zip(engines, pools, strict=True)), "disposed of"


def test_a_reading_connection_keeps_a_bounded_number_of_plans(tmp_path: Path) -> None:
    """The driver keeps 128, each of a prompt 170 kB: a server would grow by 20 MB with every connection."""
    with closing(Database(f"sqlite:///{tmp_path}/own.sqlite3")) as db:
        for number in range(3 * KEPT_PLANS):
            db.read(f"SELECT {number}", (), source="test")
        with db.engines()[0].connect() as connection:
            line = connection.connection.dbapi_connection
            kept = [each.cache_info().currsize for each in gc.get_referents(line) if hasattr(each, "cache_info")]
    assert kept == [KEPT_PLANS]


def test_f52_a_handle_is_not_sent_to_another_process(tmp_path: Path) -> None:
    with closing(Database(f"sqlite:///{tmp_path}/own.sqlite3")) as db:
        for send in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match=r"open_database\(url\)"):
                send(db)


@pytest.mark.posix
def test_f52_a_forked_process_opens_connections_of_its_own(tmp_path: Path) -> None:
    """Two processes on one connection read each other's answers."""
    with closing(open_database(f"sqlite:///{tmp_path}/own.sqlite3")) as db, db.request_connection():
        mine = db.engines()
        db.read(text("SELECT 1"), source="test")
        child = os.fork()
        if child == 0:
            answer = db.read(text("SELECT 2"), source="test")[0][0]
            others = all(engine.pool is not own.pool for engine, own in zip(db.engines(), mine, strict=True))
            os._exit(0 if others and answer == 2 else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert db.engines() is mine and db.read(text("SELECT 3"), source="test")[0][0] == 3
