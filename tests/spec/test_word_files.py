"""TEMPLATES_DIR holds files of words too, in place of the shipped ones (P64, P65)."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from core.config import Settings
from core.memories.instructions import read_instructions
from core.templates.words import load_phrases, refused_patterns


def test_p64_phrases_and_refusals_are_overlaid_file_by_file(tmp_path: Path) -> None:
    for name, text in (
        ("remember/en.yaml", "explicit: [mark my words]\n"),
        ("remember/eo.yaml", "explicit: [memoru]\n"),
        ("refused.yaml", "- quagga refuses\n"),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert load_phrases(["en"], templates_dir=tmp_path)["explicit"] == ("mark my words",)
    assert load_phrases(["en", "eo"], templates_dir=tmp_path)["explicit"] == ("mark my words", "memoru")
    assert load_phrases(["de"], templates_dir=tmp_path) == load_phrases(["de"])
    assert load_phrases(["../remember/en"], templates_dir=tmp_path)["explicit"] == ()
    assert refused_patterns(tmp_path) == ("quagga refuses",)
    assert read_instructions("I am vegan.", Settings())
    assert not read_instructions("I am vegan.", Settings(templates_dir=tmp_path))


def test_p65_a_broken_file_leaves_the_shipped_one_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "remember").mkdir()
    (tmp_path / "remember/en.yaml").write_text("- no groups: [", encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert load_phrases(["en"], templates_dir=tmp_path) == load_phrases(["en"])
    assert len([one for one in caplog.records if "word_file_replaced" in one.getMessage()]) == 1
