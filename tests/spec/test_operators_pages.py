"""What pages of the docs show runs as it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.calls import defaults
from core.db import configure
from core.privacy import set_screen
from tests.store.embedder import Grams

SILENT = {"which", "was", "again", "all", "had", "the", "ann"}
ROOT = Path(__file__).resolve().parents[2]


class Model:
    """Stands in for a model of sentences: words that tell something, by what they mean."""

    def encode(self, texts: list[str]) -> list[list[float]]:
        """Return one vector for each text."""
        telling = [[word for word in re.findall(r"\w{3,}", text.lower()) if word not in SILENT] for text in texts]
        return Grams().embed([" ".join(words) for words in telling])


@pytest.fixture
def own_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run in an empty folder, and leave the process without database, embedder and screen afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DATABASE_URL", raising=False)
    yield
    if defaults._process.db is not None:
        defaults._process.db.close()
    configure(None)
    set_screen(None)


@pytest.mark.parametrize(
    ("page", "count"),
    [
        ("privacy", 3),
        ("embeddings", 2),
        ("check", 1),
        ("lifelong", 6),
        ("conversations", 1),
        ("forgetting", 1),
        ("relationships", 4),
        ("short-term", 4),
    ],
)
def test_the_examples_of_a_page_run_in_their_order(own_defaults: None, page: str, count: int) -> None:
    """As a reader would paste them."""
    file = ROOT / "docs" / f"{page}.md"
    blocks = re.findall(r"```python\n(.*?)```", file.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= count
    names: dict[str, Any] = {"model": Model()}
    try:
        for block in blocks:
            exec(compile(block, str(file), "exec", dont_inherit=True), names)
    finally:
        if "call" in names:
            names["call"]["db"].close()
