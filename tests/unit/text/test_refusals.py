"""S33: a good text is never replaced by nothing, an error or a stump, and an ordinary text is taken for none."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.templates.words import refused_patterns
from core.text.replies import beginning, judge_refusal

SAMPLES = Path(__file__).parents[2] / "samples" / "refusals"
PATTERNS = refused_patterns()


def why(new: str, current: str = "") -> str:
    return judge_refusal(new, current, patterns=PATTERNS)


def test_s33_errors_and_refusals_are_told_from_ordinary_texts() -> None:
    refused, recaps = ((SAMPLES / f"{name}.txt").read_text("utf-8").splitlines() for name in ("refused", "recaps"))
    assert len(refused) >= 100 and len(recaps) >= 90
    assert [text for text in refused if why(text.replace("\\n", "\n")) != "error_like"] == []
    assert [text for text in recaps if why(text)] == []


@pytest.mark.parametrize("blank", ["", " ", "\n\t ", "\u200b\ufeff", "\u3000", "\x00"])
def test_s33_a_blank_text_is_refused_whatever_is_there(blank: str) -> None:
    assert why(blank) == why(blank, "x") == why(blank, "x" * 1000) == "empty"


def test_s33_the_shortest_share_is_exact() -> None:
    for had in range(200, 3000, 7):
        fewest = -(-3 * had // 10)
        assert why("x" * fewest, "y" * had) == ""
        assert why("x" * (fewest - 1), "y" * had) == "shorter"
    assert why("x", "y" * 200) == "shorter"
    assert why(f"  {'x' * 59}  ", f"{'y' * 200}   ") == "shorter", "outer white space is no length"


@pytest.mark.parametrize("before", ["", "  \n", "**", "> ", "# ", '"', "“", "⚠️ ", "- "])
def test_s33_marks_in_front_do_not_hide_an_error(before: str) -> None:
    assert why(f"{before}Error 429: too many requests") == "error_like"
    assert judge_refusal(f"{before}Error 429: too many requests", "", patterns=()) == "", "by hand it may be written"


def test_s33_only_the_beginning_says_what_a_text_is() -> None:
    assert why("Ann came home. Error 429: too many requests") == ""
    assert beginning("x" * 10_000) == "x" * 2000
