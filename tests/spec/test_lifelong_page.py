"""What docs/lifelong.md shows runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "lifelong.md").read_text(encoding="utf-8")


def test_the_examples_about_lasting_memory_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 6
    try:
        for block in blocks:
            exec(compile(block, "docs/lifelong.md", "exec", dont_inherit=True), names)
    finally:
        if "call" in names:
            names["call"]["db"].close()
