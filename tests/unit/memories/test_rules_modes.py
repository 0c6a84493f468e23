"""Modes and the memory tool before generation (C24, C25, C29)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest

from core.config.flags import MemoryMode
from core.conversations.memory_tool import NAME
from core.memories.rules_modes import MODES, ModeName, asked_before, is_tool_offered
from core.templates.words import load_phrases

DOCS = Path(__file__).resolve().parents[3] / "docs" / "conversations.md"


def test_c24_the_table_in_code_is_the_flag_and_the_documentation() -> None:
    """Who reads and saves is decided in one place; the page people read is that place."""
    assert tuple(MODES) == get_args(MemoryMode) == get_args(ModeName)
    assert {name: (mode.reads, mode.saves, mode.how) for name, mode in MODES.items()} == {
        "agent": (True, True, "tool"),
        "plus": (True, True, "before"),
        "basic": (True, False, "-"),
        "project": (False, False, "-"),
    }
    page = DOCS.read_text(encoding="utf-8")
    for name, mode in MODES.items():
        assert f"| {name} | {'yes' if mode.reads else 'no'} | {'yes' if mode.saves else 'no'} |" in page


@pytest.mark.parametrize("mode", get_args(MemoryMode))
def test_c25_the_tool_is_offered_in_agent_and_plus_while_it_is_on_and_named(mode: Any) -> None:
    open_to = mode in ("agent", "plus")
    assert is_tool_offered(mode, True, NAME, ()) is open_to
    assert is_tool_offered(mode, True, NAME, ("other", NAME)) is open_to
    assert not is_tool_offered(mode, True, NAME, ("other",))
    assert not is_tool_offered(mode, False, NAME, ())


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("@memory likes tea", ("likes tea", "@memory")),
        ("hey @Memory: likes tea", ("likes tea", "@memory")),
        ("I like tea @memory", ("I like tea", "@memory")),
        ("(@memory likes tea)", ("likes tea)", "@memory")),
        ("@memory", ("", "@memory")),
        ("mail@memory.org", None),
        ("@memory.org is down", None),
        ("@memoryless", None),
        ("@memory@host", None),
        ("I bought a notebook", None),
        ("please remember that I like tea", ("please remember that I like tea", "phrase")),
        ("don't remember that I like tea", None),
    ],
)
def test_c29_what_is_saved_before_the_model_answers(said: str, expected: Any) -> None:
    assert asked_before(said, [load_phrases(["en"])]) == expected
