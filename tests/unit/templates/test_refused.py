"""S33, P65: which texts count as errors can be said anew by an operator, whose mistakes never take the guard away."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from core.templates.words import refused_patterns

SHIPPED = refused_patterns()


def test_s33_a_file_of_ones_own_takes_the_place_of_the_shipped_one(tmp_path: Path) -> None:
    assert refused_patterns(tmp_path) == refused_patterns(None) == SHIPPED
    own = tmp_path / "refused.yaml"
    own.write_text("mine:\n  - 'quack'\n  - \"a\\\\d\"\nothers: []\n", encoding="utf-8")
    assert refused_patterns(tmp_path) == refused_patterns(str(tmp_path)) == ("quack", r"a\d")
    own.write_text("- moo\n", encoding="utf-8")
    os.utime(own, ns=(1, 1))
    assert refused_patterns(tmp_path) == ("moo",), "an edited file is read anew"


@pytest.mark.parametrize("text", ["mine: quack", "quack", "a: [", "7", "- \xff", ""])
def test_p65_a_file_that_is_no_list_of_patterns_leaves_the_shipped_one(
    tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "refused.yaml").write_text(text, encoding="latin-1")
    with caplog.at_level(logging.WARNING):
        assert refused_patterns(tmp_path) == SHIPPED
    assert [record.getMessage().split()[0] for record in caplog.records] == ["word_file_replaced"]


def test_p65_a_pattern_that_is_none_is_passed_over_and_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "refused.yaml").write_text("mine: ['a(', 'b', 7, '']\n", encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        assert refused_patterns(tmp_path) == ("b",)
    assert [record.getMessage().split("group=")[1] for record in caplog.records] == [
        f"'mine' entry={at}" for at in (1, 3, 4)
    ]
