"""What docs/models.md shows is run, and prints what it says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.calls import defaults
from core.db import configure
from tests.unit.test_readme import ROOT

TEXT = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")


@pytest.fixture
def own_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run in an empty folder, and leave the process without a default database afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DATABASE_URL", raising=False)
    yield
    if defaults._process.db is not None:
        defaults._process.db.close()
    configure(None)


def test_the_examples_about_models_run(own_defaults: None, capsys: pytest.CaptureFixture[str]) -> None:
    """One after the other; each print gives what stands beside it."""
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 5
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "docs/models.md", "exec", dont_inherit=True), names)
        said = re.findall(r"print\(.*\)  # (.*)", block)
        assert capsys.readouterr().out.splitlines() == said
    names["db"].close()
