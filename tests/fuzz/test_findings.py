"""What fuzzing found once, each as small as it gets, so that it stays mended."""

from __future__ import annotations

import pytest

from core.base.yaml_text import YamlError, read_value
from core.config import load
from core.search.question.question import tells_time
from core.upkeep.check import product_of


@pytest.mark.parametrize("text", ["\ud800", "[en, \udc80]", "{a: \ud800}"])
def test_g18_a_variable_whose_bytes_are_no_utf8_is_a_bad_value(text: str) -> None:
    """An environment may hold any bytes; they arrive as lone surrogates."""
    with pytest.raises(YamlError):
        read_value(text)
    assert load(environ={"LANGUAGES": text}).languages == load(environ={}).languages


def test_f62_a_long_number_is_looked_at_once() -> None:
    """Each place of it was tried to its end, so that 16,000 digits took four seconds."""
    assert isinstance(tells_time("1" * 16_000), bool)
    assert tells_time("12日前") == tells_time("1日前")


def test_d29_a_server_whose_version_is_a_long_number_is_one_of_some_version() -> None:
    """Python makes no number of more than 4,300 digits, and the check of a database ended there."""
    name, version = product_of("9" * 5_000)
    assert name == "MySQL" and version[0] == 999_999_999
    assert product_of("10.11.19-MariaDB") == ("MariaDB", (10, 11, 19))
