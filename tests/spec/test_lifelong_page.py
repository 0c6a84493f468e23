"""What docs/lifelong.md shows runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from core.memories.rules import KINDS

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


def test_l2_the_page_names_every_kind() -> None:
    said = TEXT[TEXT.index("Kinds are ") :].split(", in any letter case")[0]
    assert re.findall(r"\w+", said)[2:] == [*KINDS[:-1], "and", KINDS[-1]]
