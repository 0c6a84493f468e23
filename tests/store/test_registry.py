"""D36: one list names every table, its text columns and how rows of somebody are found in it."""

from __future__ import annotations

import pytest
from sqlalchemy import Table
from sqlalchemy.types import Integer

from core.database import registry
from core.database.dialects import JsonText, Key, StoredText
from core.upkeep import ddl

WORDS = {"tag", "related_tag", "alias", "term", "part"}
"""Key columns that hold words people said."""
TABLES = ddl.list_tables()


def test_d36_every_table_is_registered_once() -> None:
    """A table nobody registered would keep what was to be forgotten."""
    assert [entry.table for entry in registry.REGISTRY] == list(TABLES)
    assert registry.of("memories") is registry.BY_TABLE["memories"]


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda table: table.name)
def test_d36_every_column_that_can_hold_text_is_named(table: Table) -> None:
    """A canary is looked for in these columns after forgetting."""
    plain = {c.name for c in table.columns if isinstance(c.type, StoredText)}
    lists = {c.name for c in table.columns if isinstance(c.type, JsonText)}
    words = {c.name for c in table.columns if isinstance(c.type, Key)} & WORDS
    assert set(registry.of(table.name).texts) == (plain | lists | words) - {"version_num"}


@pytest.mark.parametrize("entry", registry.REGISTRY, ids=lambda entry: entry.table)
def test_d36_every_named_column_is_there(entry: registry.Registered) -> None:
    """The list is read by programs, so a misspelt column would fail at the worst moment."""
    columns = TABLES[entry.table].c
    named = {*entry.texts, *entry.participant, *entry.participant_lists, *entry.conversation, *entry.row_of}
    assert named <= set(columns.keys())
    assert len(entry.conversation) in (0, 1, 3)
    assert bool(entry.row_of) == bool(entry.row_table)
    for name in (*entry.participant, *entry.conversation):
        assert isinstance(columns[name].type, Key)
    for name in entry.row_of:
        assert isinstance(columns[name].type, Integer)
    assert entry.row_table in ("", "*") or entry.row_table in TABLES


@pytest.mark.parametrize("entry", registry.REGISTRY, ids=lambda entry: entry.table)
def test_d36_the_scope_of_a_table_is_what_its_columns_say(entry: registry.Registered) -> None:
    """D1: persona_id, or for the search tables audience_id, or nobody's."""
    columns = TABLES[entry.table].c
    scoped = "persona" if "persona_id" in columns else "audience" if "audience_id" in columns else "none"
    assert entry.scoped == scoped
    assert entry.persona == {"persona": "persona_id", "audience": "audience_id", "none": ""}[scoped]


def test_d36_columns_that_name_somebody_are_registered() -> None:
    """Named alike everywhere, so a new table's columns are noticed."""
    for table in TABLES.values():
        entry = registry.of(table.name)
        people = {
            c.name for c in table.columns if c.name in ("participant_key", "person_key", "direct_person_key", "user_id")
        }
        assert people <= set(entry.participant), table.name
        places = {c.name for c in table.columns if c.name in ("conversation_key", "interface_path")}
        assert places <= set(entry.conversation), table.name
