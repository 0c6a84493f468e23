"""What README.md shows is run, and what it links to is there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
ABOUT = [ROOT / f"{name}.md" for name in ("CHANGELOG", "CONTRIBUTING", "SECURITY")]
MADE = {ROOT / "docs" / name for name in ("api.md", "config.md", "schema.md")}
"""Pages that `make docs-site` writes from the code."""
PAGES = [README, *ABOUT, *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page not in MADE)]


@pytest.fixture
def own_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run in an empty folder, and leave the process without a default database afterwards."""
    from core.calls import defaults
    from core.db import configure

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DATABASE_URL", raising=False)
    yield
    if defaults._process.db is not None:
        defaults._process.db.close()
    configure(None)


def snippet() -> str:
    """Return the only block of Python in README.md."""
    (found,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    return str(found)


def test_the_ten_lines_run_and_print_what_they_say(own_defaults: None, capsys: pytest.CaptureFixture[str]) -> None:
    """The first thing a developer does with a library is to copy this; only the times of a run are its own."""
    assert len([line for line in snippet().splitlines() if line]) == 10
    names: dict[str, Any] = {}
    exec(compile(snippet(), "README.md", "exec", dont_inherit=True), names)
    (shown,) = re.findall(r"```text\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    time = r"\[\d{4}-\d\d-\d\d \d\d:\d\d\]|It is \w+, [\d :-]+"
    assert re.sub(time, "[]", capsys.readouterr().out) == re.sub(time, "[]", shown)
    assert [each["role"] for each in names["messages"]] == ["system", "user"]
    later = names["build_json_prompt"]({**names["message"], "message_id": "3", "text": "Well?"})
    assert later["context"]["history_current_chat"][0].endswith('Ann: "Who is my cat?"')
    assert Path("persona.db").exists()


def test_the_examples_for_hosts_run(own_defaults: None) -> None:
    """One after the other, as a reader would paste them."""
    from core.hooks import clear_hooks

    text = (ROOT / "docs" / "hosting.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 7
    names: dict[str, Any] = {}
    try:
        for block in blocks:
            exec(compile(block, "docs/hosting.md", "exec", dont_inherit=True), names)
    finally:
        clear_hooks()
    assert [names[f"saved_in_{place}"].stored for place in ("group", "private", "guild")] == [True] * 3
    assert {hit["source"] for hit in names["hits"]} == {"memories", "chat_history"}
    assert names["prompt"]["instructions"].startswith("You are Iris.")
    assert names["prompt"]["context"]["weather"] == "rain"
    assert list(names["prompt"]["actions"]) == ["message_discord"]
    names["db"].close()


def test_the_examples_of_work_in_the_background_run(own_defaults: None) -> None:
    """One after the other, with the order, the states and the counts they claim."""
    from core.jobs import register_handler

    text = (ROOT / "docs" / "jobs.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 4
    names: dict[str, Any] = {}
    try:
        for block in blocks:
            exec(compile(block, "docs/jobs.md", "exec", dont_inherit=True), names)
    finally:
        register_handler("GREET", None)
        register_handler("BROKEN", None)
    assert names["made"] == ["Ada moved to Rome."] * 3
    names["db"].close()


def test_the_examples_about_models_run(own_defaults: None, capsys: pytest.CaptureFixture[str]) -> None:
    """One after the other; each print gives what stands beside it."""
    text = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 5
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "docs/models.md", "exec", dont_inherit=True), names)
        assert capsys.readouterr().out.splitlines() == re.findall(r"print\(.*\)  # (.*)", block)
    names["db"].close()


def test_the_example_of_a_prompt_has_the_keys_of_a_prompt(own_defaults: None) -> None:
    """Key order is part of the contract, so the page that shows it must have it right."""
    from core.context.context import order_context
    from core.prompt_engine import build_json_prompt
    from core.scope import Scope

    text = (ROOT / "docs" / "prompt.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    shown = json.loads(block)
    made = build_json_prompt(
        {
            "message_id": "2",
            "date": None,
            "from_user": {"id": "a", "full_name": "Ann Miller", "username": "ann"},
            "interface_path": "web/42",
        },
        scope=Scope("iris"),
    )
    assert list(shown) == list(made) == ["context", "input", "instructions", "__pre_reduction_size", "actions"]
    assert list(shown["context"]) == list(order_context(shown["context"]))
    assert list(shown["input"]) == list(made["input"])
    assert list(shown["input"]["payload"]) == list(made["input"]["payload"])
    assert list(shown["input"]["payload"]["source"]) == list(made["input"]["payload"]["source"])


def test_the_page_about_importing_names_what_a_row_needs(tmp_path: Path) -> None:
    """The row shown can be imported, and a row without one of the required fields cannot."""
    from core.transfer.imports import import_file

    text = (ROOT / "docs" / "import.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    row = json.loads(block)
    required = re.findall(r"^\| `(\w+)` \| required", text, re.MULTILINE)
    assert required == ["text", "speaker", "timestamp"]
    path = tmp_path / "rows.jsonl"
    rows = [{n: row[n] for n in required}, *({n: row[n] for n in row if n != name} for name in required)]
    path.write_text("\n".join(json.dumps(each) for each in rows))
    looked = import_file(path, dry_run=True)
    assert (looked.could_import, [problem.row for problem in looked.errors]) == (1, [2, 3, 4])


@pytest.mark.parametrize("page", [README, *ABOUT], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """A page that was moved is missed here, not by a reader."""
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not ((target := (page.parent / link).resolve()).exists() or target in MADE)] == []


def test_flags_that_pages_name_exist() -> None:
    """A flag that was renamed must not live on in the documentation."""
    from core.config import FLAGS
    from core.jobs.handlers import list_types

    other = {
        "MOST_KNOWN",
        "MOST_EXACT",
        "DATABASE_URL_FILE",
        "ADMIN_TOKEN_FILE",
        "LLM_API_KEY_FILE",
        "CONFIG_FILE",
        "TEST_DATABASE_URL",
        "TEST_SERVERS",
        "TEST_SERVERS_DIR",
        "MARIADB_SUITE",
        "PAGE_PICTURES",
        "SBOM_EXTRAS",
        "WRITER_TURNS",
        "PROMISE_PROMPTS",
        "HOOK_NAMES",
        "NOT_SAID",
    }
    known = {*FLAGS, *other, "JSON_CONTAINS", "JSON_QUOTE", *list_types()}
    for page in PAGES:
        named = set(re.findall(r"`([A-Z]+(?:_[A-Z]+)+)(?:=[^`]*)?`", page.read_text(encoding="utf-8")))
        assert named <= known, page.name
