"""D36: one list names every table, its text columns and how rows of somebody are found in it."""

from __future__ import annotations

import pytest
from sqlalchemy import Table

from core.database import registry
from core.database.dialects import JsonText, Key, StoredText
from core.upkeep import ddl

WORDS = {"tag", "related_tag", "alias", "term", "part"}
"""Key columns that hold words people said."""
TABLES = ddl.list_tables()


def test_d36_every_table_is_registered_once() -> None:
    """A table nobody registered would keep what was to be forgotten."""
    assert sorted(entry.table for entry in registry.REGISTRY) == sorted(TABLES)


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda table: table.name)
def test_d36_every_column_that_can_hold_text_is_named(table: Table) -> None:
    """A canary is looked for in these columns after forgetting."""
    plain = {c.name for c in table.columns if isinstance(c.type, StoredText)}
    lists = {c.name for c in table.columns if isinstance(c.type, JsonText)}
    words = {c.name for c in table.columns if isinstance(c.type, Key)} & WORDS
    assert set(registry.BY_TABLE[table.name].texts) == (plain | lists | words) - {"version_num"}


def test_d36_columns_that_name_somebody_are_registered() -> None:
    """Named alike everywhere, so a new table's columns are noticed."""
    for table in TABLES.values():
        entry = registry.BY_TABLE[table.name]
        people = {
            c.name for c in table.columns if c.name in ("participant_key", "person_key", "direct_person_key", "user_id")
        }
        assert people <= set(entry.participant), table.name
        places = {c.name for c in table.columns if c.name in ("conversation_key", "interface_path")}
        assert places <= set(entry.conversation), table.name
