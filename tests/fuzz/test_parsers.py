"""Every parser answers any input with a value or with an error of its own (rules F60 to F77): FUZZ_EXAMPLES each.

Nothing hangs and nothing fills the memory (F32, F62, F76): limits are far above what is needed, and tell an endless
loop from work, not a slow machine from a fast one. What fuzzing found once stands here as small as it gets.
"""

# ruff: noqa: E501 - the lists of hostile pieces are read better in few lines
import logging
import resource
import subprocess
import sys
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.base.yaml_text import YamlError, read_value
from core.config import load
from core.search.question import tells_time
from core.upkeep.check import product_of
from tests.fuzz import strategies as of
from tests.fuzz.targets import TEXT_TARGETS, VALUE_TARGETS, Target


@pytest.fixture(autouse=True, scope="module")
def quiet() -> Iterator[None]:
    logging.getLogger("prompt_engine").disabled = True
    yield
    logging.getLogger("prompt_engine").disabled = False


def _run(target: Target, values: st.SearchStrategy[object]) -> None:
    count = max(4, of.EXAMPLES // target.slowness)

    @settings(max_examples=count, suppress_health_check=list(HealthCheck), database=None)
    @given(values)
    def tried(value: object) -> None:
        target.survives(value)

    tried()


@pytest.mark.parametrize("target", TEXT_TARGETS, ids=attrgetter("name"))
def test_f60_to_f77_any_text_is_answered(target: Target) -> None:
    _run(target, target.written | of.texts)


@pytest.mark.parametrize("target", VALUE_TARGETS, ids=attrgetter("name"))
def test_f60_to_f77_any_value_is_answered(target: Target) -> None:
    _run(target, of.anything)


@pytest.mark.parametrize("text", ["\ud800", "[en, \udc80]", "{a: \ud800}"])
def test_g18_a_variable_whose_bytes_are_no_utf8_is_a_bad_value(text: str) -> None:
    """An environment may hold any bytes; they arrive as lone surrogates."""
    with pytest.raises(YamlError):
        read_value(text)
    assert load(environ={"LANGUAGES": text}).languages == load(environ={}).languages


def test_f62_a_long_number_is_looked_at_once() -> None:
    """Each place of it was tried to its end, so that 16,000 digits took four seconds."""
    assert isinstance(tells_time("1" * 16_000), bool) and tells_time("12日前") == tells_time("1日前")


def test_d29_a_server_whose_version_is_a_long_number_is_one_of_some_version() -> None:
    """Python makes no number of more than 4,300 digits, and the check of a database ended there."""
    name, version = product_of("9" * 5_000)
    assert name == "MySQL" and version[0] == 999_999_999
    assert product_of("10.11.19-MariaDB") == ("MariaDB", (10, 11, 19))


ROOT = Path(__file__).resolve().parents[2]
CPU_SECONDS = 30
MEMORY_BYTES = 1200 << 20

_PARSERS = """
import logging
logging.getLogger("prompt_engine").disabled = True
from tests.fuzz.targets import TEXT_TARGETS, _secondary
from core.database import rows
sizes = (20_000,)
for target in TEXT_TARGETS:
    for piece in ('[', '{"a":', '{"a":[', "[1,", "- ", "&a [", "? ", "\\\\\\\\", '"', "```", "<think>", "<!-- ", "<tool_call>", "(", "\\n> ",
                  "\\n# ", "1,", "é\\u0301", "猫", "{{", "{%", " \\n", "a.", "not "):
        target.survives(piece * (20_000 // len(piece)))
    target.survives("x" * 200_000 if target.name in ("texts", "replies", "tool calls", "dates", "extracts") else "x" * 50_000)
deep = value = {}
for _ in range(95):
    value["a"] = value = {}
value["a"] = "end"
_secondary('{"title": ' + '{"a": ' * 95 + '1' + '}' * 95 + ', "summary": "x"}')
"""


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


@pytest.mark.slow
def test_f32_f62_g22_hostile_input_is_done_in_bounded_time_and_memory() -> None:
    """A template of forty lines stood for a list of 2**40; a reply of ninety brackets took 2**90 calls."""
    ran = subprocess.run(
        [sys.executable, "-c", _PARSERS], check=False, capture_output=True, text=True, cwd=ROOT, preexec_fn=_limited
    )
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stderr[-2000:]
