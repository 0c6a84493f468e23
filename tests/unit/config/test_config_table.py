"""Values set in the table config, and how long they are kept."""

from __future__ import annotations

import gc
import weakref
from types import SimpleNamespace
from typing import Any

import pytest

from core import config
from core.config import DatabaseValues, load, set_value
from core.errors import ConfigError


class Handle:
    """What stands for a database handle: anything that can be hashed and referred to weakly."""


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> dict[Any, dict[str, str]]:
    """The rows of each handle, behind the two functions of the table's module."""
    import core.database

    rows: dict[Any, dict[str, str]] = {}

    def write_value(db: object, name: str, text: str, also: object = None) -> None:
        rows.setdefault(db, {})[name] = text

    module = SimpleNamespace(read_values=lambda db: dict(rows.get(db, {})), write_value=write_value)
    monkeypatch.setattr(core.database, "config_table", module, raising=False)
    return rows


def test_g17_a_value_that_was_set_acts_on_the_next_call(table: dict[Any, dict[str, str]]) -> None:
    db = Handle()
    values = config.database_values_of(db)
    values.fill({"DIARY_HISTORY_DAYS": "1"})
    assert set_value("CONTEXT_VERBOSITY", 4, db) == (True, None, "")
    assert table[db] == {"CONTEXT_VERBOSITY": "4"}
    assert load(database_values=values.values).context_verbosity == 4
    assert set_value("contextVerbosity", "4", db) == (False, None, "unchanged")
    assert set_value("LANGUAGES", ["en", "de"], db).stored
    assert set_value("PROMPT_LITE_MODE", True, db).stored
    assert table[db] == {"CONTEXT_VERBOSITY": "4", "LANGUAGES": '["en", "de"]', "PROMPT_LITE_MODE": "1"}
    assert load(database_values=values.values).differing() == {
        "CONTEXT_VERBOSITY": 4, "PROMPT_LITE_MODE": True, "LANGUAGES": ["en", "de"],
    }  # fmt: skip


def test_g19_what_the_environment_fixes_cannot_be_set(monkeypatch: pytest.MonkeyPatch, table: dict[Any, Any]) -> None:
    monkeypatch.setenv("CONTEXT_VERBOSITY", "2")
    with pytest.raises(ConfigError, match="fixed by the environment variable CONTEXT_VERBOSITY"):
        set_value("CONTEXT_VERBOSITY", 5, Handle())
    monkeypatch.setenv("DATABASE_URL_FILE", "x")
    with pytest.raises(ConfigError, match="variable DATABASE_URL_FILE"):
        set_value("DATABASE_URL", "x", Handle())
    assert table == {}


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("CONTEXT_VERBOSTY", 4, "nearest known one is CONTEXT_VERBOSITY"),
        ("COLOUR", 4, "'COLOUR' is no flag"),
        ("CONFIG_FILE", "x", "is no flag"),
        (4, 4, "4 is no flag"),
        ("DATABASE_URL", "mysql://canary7391", "is a secret"),
        ("CONTEXT_VERBOSITY", 51, "0 to 50"),
        ("CONTEXT_VERBOSITY", "ten", "0 to 50"),
        ("CONTEXT_VERBOSITY", True, "0 to 50"),
        ("CONTEXT_VERBOSITY", None, "0 to 50"),
    ],
)
def test_g19_unknown_flags_secrets_and_bad_values_are_refused(
    name: Any, value: Any, says: str, table: dict[Any, Any]
) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        set_value(name, value, Handle())
    assert "canary" not in str(caught.value) and table == {}


def test_g17_rows_are_read_again_after_five_seconds() -> None:
    now = 100.0
    values = DatabaseValues(clock=lambda: now)
    assert values.is_stale() and values.values == {}
    values.fill({"CHAT_HISTORY": "20"})
    first = values.values
    assert not values.is_stale()
    now = 104.999
    assert not values.is_stale()
    now = 105.0
    assert values.is_stale()
    values.fill({"CHAT_HISTORY": "20"})
    assert values.values is first and not values.is_stale()
    values.fill({})
    assert values.values == {}


def test_g17_a_written_value_stands_against_a_reading_that_began_before_it() -> None:
    now = 0.0
    values = DatabaseValues(clock=lambda: now)
    values.fill({"CHAT_HISTORY": "20"})
    values.put("CHAT_HISTORY", "30")
    values.fill({"CHAT_HISTORY": "20"})
    assert values.values == {"CHAT_HISTORY": "30"}
    now = 5.0
    values.fill({"CHAT_HISTORY": "40"})
    assert values.values == {"CHAT_HISTORY": "40"}


def test_values_belong_to_their_handle_and_go_with_it() -> None:
    one, two = Handle(), Handle()
    held = config.database_values_of(one)
    assert config.database_values_of(one) is held and config.database_values_of(two) is not held
    gone = weakref.ref(held)
    del one, held
    gc.collect()
    assert gone() is None
