"""D32: the generated files are those that are committed, and a plain client makes the same database from them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from core.database.engine import Database
from core.upkeep import ddl, inspection, migration
from tests import schema_files

pytestmark = pytest.mark.dialects


@pytest.fixture
def db(fresh_url: str) -> Iterator[Database]:
    handle = Database(fresh_url)
    yield handle
    handle.close()


def test_d32_the_schema_files_are_up_to_date() -> None:
    for path, text in schema_files.build_files().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is out of date"


def test_d32_the_schema_file_makes_the_database(db: Database) -> None:
    for statement in ddl.split_statements(schema_files.build_script(db.family)):
        db.transaction(lambda c, s=statement: c.exec_driver_sql(s), source="test")
    assert inspection.list_differences(inspection.read_facts(db), db.family) == []
    assert migration.list_pending(db) == []
    assert not migration.migrate(db).changed


def test_d32_alembic_and_the_program_know_the_same_revisions() -> None:
    """The program reads them from file names, so that opening a database does not load Alembic."""
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(migration.find_folder()))
    config.set_main_option("path_separator", "os")
    script = ScriptDirectory.from_config(config)
    assert [one.revision for one in script.walk_revisions()][::-1] == migration.list_revisions()
    assert script.get_heads() == migration.list_revisions()[-1:]
