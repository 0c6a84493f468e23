"""Every parser answers any input with a value or with an error of its own (rules F60 to F77): FUZZ_EXAMPLES each."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz import strategies as of
from tests.fuzz.targets import TARGETS, TEXT_TARGETS, VALUE_TARGETS

_WRITTEN: dict[str, st.SearchStrategy[str]] = {
    "replies": of.reply_texts,
    "tool calls": of.reply_texts,
    "scene answers": of.reply_texts,
    "running recaps": of.reply_texts,
    "answers": of.reply_texts,
    "Markdown files": of.markdown_texts,
    "items": of.json_texts | of.yaml_texts | of.json_values | of.duplicate_keys,
    "items in YAML": of.yaml_texts,
    "items in JSON": of.json_texts | of.duplicate_keys,
    "items in lines": of.json_values,
    "chat files": of.tavern | of.json_values,
    "config.yaml": of.yaml_texts,
    "values in YAML": of.yaml_texts,
    "text templates": of.template_texts,
    "JSON templates": of.template_texts,
    "connection strings": of.urls,
    "dates": of.time_texts,
}
_SLOWER = {"flags": 6, "flag texts": 6, "text templates": 2, "JSON templates": 2, "chat files": 2}
"""Targets that call their parser many times, or write a file, get this much less."""
_LIMITS = [
    HealthCheck.too_slow,
    HealthCheck.data_too_large,
    HealthCheck.large_base_example,
    HealthCheck.filter_too_much,
]


@pytest.fixture(autouse=True, scope="module")
def quiet() -> Iterator[None]:
    """Bad values are told in the log, thousands of them here."""
    logging.getLogger("prompt_engine").disabled = True
    yield
    logging.getLogger("prompt_engine").disabled = False


def _run(name: str, values: st.SearchStrategy[object]) -> None:
    target = TARGETS[name]
    count = max(4, of.EXAMPLES // _SLOWER.get(name, 1))

    @settings(max_examples=count, suppress_health_check=_LIMITS, database=None)
    @given(values)
    def tried(value: object) -> None:
        target.survives(value)

    tried()


@pytest.mark.parametrize("name", [target.name for target in TEXT_TARGETS])
def test_f60_to_f77_any_text_is_answered(name: str) -> None:
    """A value, or the project's own error: nothing else, whatever was written."""
    _run(name, _WRITTEN[name] | of.texts if name in _WRITTEN else of.texts)


@pytest.mark.parametrize("name", [target.name for target in VALUE_TARGETS])
def test_f60_to_f77_any_value_is_answered(name: str) -> None:
    """Objects that raise when looked at, values that hold themselves, numbers of thousands of digits."""
    _run(name, of.anything)
