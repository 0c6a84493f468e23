"""D1, F12: no statement reads or changes a table of somebody's rows without saying whose.

Every statement that a whole story, a world of scopes and all readers of the registry send is read, part by part and
table by table.
"""

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

import core
from core import forgetting, jobs
from core.database.engine import Database
from tests.databases import watched
from tests.isolation.readers import READERS, walked
from tests.isolation.statements import parts_for_all
from tests.isolation.world import World
from tests.store import scenario
from tests.store.world import open_db

WHOLE_DATABASE = {
    "index.entries": "reads the rows of an audience",
    "index.packing": "packs the rows of one audience after another, of any persona",
    "upkeep.migration": "brings the tables of everybody to the present schema",
    "upkeep.check": "counts rows that are broken, for the operator of the database",
    "upkeep.inspection": "reads which tables there are",
    "upkeep.maintenance": "scripts an operator runs by hand",
    "jobs.table_claiming": "a worker takes the next operation of any persona, and then acts in its scope",
    "tokens.table": "whoever shows a token says by it whose they are",
}
"""Modules whose statements are about the whole database, with the reason."""

ALLOWED = {
    "SELECT l.interface_path FROM chat_history_cache AS l WHERE l.id = ?": "of a hit found within the audiences seen; "
    "the part around it is held to the persona, and what it finds is read by audience",
    "SELECT DISTINCT conversations.persona_id FROM conversations": "a scheduler asks whom there is anything to do for",
    "SELECT DISTINCT audiences.persona_id FROM audiences ORDER BY audiences.persona_id": "a worker asks likewise",
    "SELECT participants.persona_id FROM participants WHERE participants.participant_key = ?": "a privacy level holds "
    "for all personas",
    "SELECT participants.participant_key FROM participants WHERE participants.participant_key = "
    "privacy_levels.participant_key": "a level is kept as long as any persona knows whose it is",
    **{f"SELECT {table}.persona_id FROM {table} WHERE {table}.id = ?": "finds whose row it is"
       for table in ("memories", "ai_diary", "chat_history_cache")},
}  # fmt: skip
"""Parts of statements that go by something else than persona or audience, each with the reason."""

TESTS = {"world", "stage", "conftest"}
PACKAGE = Path(core.__path__[0])
SENDERS = ("database.engine", "database.compiled")
"""What only sends a statement that another module has made."""


def module_of_caller() -> str:
    """Return the module that sends the statement at hand; blank for a test's own."""
    frame: Any = sys._getframe(2)
    first = ""
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(PACKAGE):
            name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
            if name in WHOLE_DATABASE:
                return name
            first = first or ("" if name in SENDERS else name)
        if not first and path.stem in TESTS and "tests" in path.parts:
            return ""
        frame = frame.f_back
    return first


@contextmanager
def unscoped_parts(db: Database, most_seen: int) -> Iterator[dict[tuple[str, str], str]]:
    """Yield the parts without scope that are sent meanwhile, of more than `most_seen` different statements."""
    found: dict[tuple[str, str], str] = {}
    seen: set[str] = set()

    def note(statement: str, *_: Any) -> None:
        if statement in seen:
            return
        parts = [part for _, part in parts_for_all(statement) if part not in ALLOWED]
        if not parts:
            seen.add(statement)
            return
        module = module_of_caller()
        if module and module not in WHOLE_DATABASE:
            found.update({(module, part): statement for part in parts})

    db.watchers.append(note)
    with watched(db, note):
        yield found
    assert len(seen) > most_seen


@pytest.mark.slow
def test_d1_every_part_of_every_statement_sent_names_its_persona() -> None:
    with closing(open_db("sqlite://")) as db, unscoped_parts(db, 250) as found:
        scenario.play(db)
    assert found == {}


@pytest.mark.slow
def test_d1_every_reader_and_forgetting_name_their_persona(tmp_path: Path) -> None:
    with closing(open_db(f"sqlite:///{tmp_path / 'own.db'}")) as db, unscoped_parts(db, 300) as found:
        world = World(db, 19)
        for asking in world.askings[::5]:
            for name in READERS:
                walked(world, asking, name, world.places[0])
        asking = world.askings[0]
        by: dict[str, Any] = {"db": db, "settings": world.settings, "scope": asking.scope}
        forgetting.forget(participant=world.places[0].participant, **by)
        forgetting.forget(conversation=world.places[1].conversation, **by)
        jobs.run_pending(**by)
    assert found == {}
