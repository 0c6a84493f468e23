"""Whole prompts, compared word for word with what was agreed on.

A case is a folder: `message.json` (message, context_memory, arguments, what the hooks give), `rows.yaml` (what is
stored), `flags.yaml`, `expected.json` (the prompt, and what was left out). `pytest tests/golden --update-golden` writes
`expected.json` anew; the difference is to be read like code. Ids are written as the place of the row in `rows.yaml`.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from core import hooks
from core.config import Settings
from core.database.engine import Database
from core.prompt_engine import explain_json_prompt, set_hook
from core.scope import Scope
from tests.spec.stage import Stage

HERE = Path(__file__).parent
CASES = sorted(path.parent.name for path in HERE.glob("*/message.json"))


@pytest.fixture(autouse=True)
def no_hooks() -> Iterator[None]:
    yield
    hooks.clear_hooks()


def store(stage: Stage, rows: list[dict[str, Any]]) -> dict[int, str]:
    places: dict[int, str] = {}
    for place, row in enumerate(rows, 1):
        ((kind, fields),) = row.items()
        made = {"say": stage.say, "remember": stage.remember, "diary": stage.diary}[kind](**fields)
        places[made] = f"row {place}"
    return places


def named(value: Any, places: dict[int, str]) -> Any:
    if isinstance(value, dict):
        return {key: named(each, places) for key, each in value.items()}
    if isinstance(value, list):
        return [named(each, places) for each in value]
    if isinstance(value, int) and value in places:
        return places[value]
    if isinstance(value, str):
        source, _, number = value.rpartition("/")
        if number.isdigit() and int(number) in places:
            return f"{source}/{places[int(number)]}" if source else places[int(number)]
    return value


def built(case: str, db: Database) -> dict[str, Any]:
    folder = HERE / case
    asked = json.loads((folder / "message.json").read_text("utf-8"))
    rows = yaml.safe_load((folder / "rows.yaml").read_text("utf-8")) or []
    flags = yaml.safe_load((folder / "flags.yaml").read_text("utf-8")) or {}
    stage = Stage(db, f"golden-{case}")
    places = store(stage, rows)
    for name, given in asked.get("hooks", {}).items():
        set_hook(name, lambda given=given: given)
    settings = Settings(**{name.lower(): value for name, value in flags.items()})
    arguments = {"db": db, "settings": settings, "scope": Scope(persona=stage.persona), **asked.get("arguments", {})}
    prompt, report = explain_json_prompt(asked["message"], asked.get("context_memory"), **arguments)
    lost = [[item["section"], item["reason"], item["id"]] for item in report["left_out"]]
    made = {"prompt": prompt, "left_out": lost, "notes": report["notes"], "size": report["size"]}
    return named(json.loads(json.dumps(made)), places)  # type: ignore[no-any-return]


@pytest.mark.parametrize("case", CASES)
def test_golden(case: str, db: Database, request: pytest.FixtureRequest) -> None:
    made = built(case, db)
    file = HERE / case / "expected.json"
    if request.config.getoption("--update-golden"):
        file.write_text(json.dumps(made, ensure_ascii=False, indent=1) + "\n", "utf-8")
    expected = json.loads(file.read_text("utf-8"))
    assert made == expected
    assert json.dumps(made) == json.dumps(expected), "the order of keys is part of the contract"
