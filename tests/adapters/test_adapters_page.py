"""R28: each adapter by name, with its framework alone; the code of docs/adapters.md runs."""

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core import open_database, search_memories
from core.calls.defaults import configure

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "adapters.md").read_text(encoding="utf-8") if (ROOT / "docs").exists() else ""
BLOCKS = [
    (section.split("\n", 1)[0], code)
    for section in PAGE.split("\n## ")[1:]
    for code in re.findall(r"^```python\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
]
ADAPTERS = {"openai": ("openai", "openai"), "openai_agents": ("agents", "openai-agents"),
            "anthropic": ("anthropic", "anthropic"), "langgraph": ("langgraph", "langgraph"),
            "llama_index": ("llama_index", "llama-index"), "pydantic_ai": ("pydantic_ai", "pydantic-ai"),
            "discord": ("discord", "discord"), "telegram": ("telegram", "telegram")}  # fmt: skip

pytestmark = pytest.mark.checkout


@pytest.fixture(autouse=True)
def database() -> Iterator[None]:
    db = open_database("sqlite://")
    configure(db)
    yield
    configure(None)
    db.close()


@pytest.fixture
def loop() -> Iterator[None]:
    """Close the loop that the Agents SDK takes for the one of the thread, and leaves open."""
    made = asyncio.new_event_loop()
    asyncio.set_event_loop(made)
    yield
    asyncio.set_event_loop(None)
    made.close()


def _given(code: str) -> dict[str, Any]:
    if "Runner" in code:
        pytest.importorskip("agents")
        from agents.testing import ScriptedModel

        from tests.adapters.test_openai_agents import _message

        return {"model": ScriptedModel([[_message("Noted.")]])}
    if "update" in code:
        from tests.adapters.test_bots import telegram

        return {"update": telegram("I like green tea")}
    return {}


@pytest.mark.usefixtures("loop")
@pytest.mark.parametrize(("title", "code"), BLOCKS, ids=[title for title, _ in BLOCKS])
def test_r28_the_code_of_the_page_runs(title: str, code: str) -> None:
    from core.scope import Scope

    name = next(name for name in ADAPTERS if f"adapters.{name}" in code)
    pytest.importorskip(ADAPTERS[name][0], reason=f"the extra {ADAPTERS[name][1]} is not installed")
    exec(compile(code, "docs/adapters.md", "exec", dont_inherit=True), _given(code))
    own = "telegram/7" if name == "telegram" else "web/ann"
    scope = Scope("iris", own, own, privacy="direct")
    assert any("green tea" in hit["snippet"] for hit in search_memories(query="green tea", scope=scope)), title


def test_r28_a_missing_framework_is_one_sentence_that_names_its_extra() -> None:
    """And each adapter imports its own framework alone: with every framework missing, it asks for that one."""
    code = f"""
import importlib, sys
for module, _ in {list(ADAPTERS.values())!r}: sys.modules[module] = None
for name in {list(ADAPTERS)!r}:
    try:
        importlib.import_module("prompt_engine.adapters." + name)
    except ImportError as error:
        print(error)
"""
    env = {"PYTHONPATH": f"{ROOT}:{ROOT / 'core' / '_editable'}", "PATH": "/usr/bin"}
    ran = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=120, check=True)
    for (_, extra), line in zip(ADAPTERS.values(), ran.stdout.splitlines(), strict=True):
        assert line.endswith(f"Run: pip install 'prompt-engine[{extra}]'"), line
