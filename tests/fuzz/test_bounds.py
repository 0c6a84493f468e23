"""Nothing hangs and nothing fills the memory: hostile input in a process with limits of both (rules F32, F62, F76).

The limits are far above what is needed: they tell an endless loop from work, not a slow machine from a fast one.
"""

# ruff: noqa: E501 - the lists of hostile pieces are read better in few lines
from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

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

_EXPORTS = """
from core.text.replies import strip_thoughts as _words
from core.transfer.formats.whatsapp import ATTACHED, EDITED
for piece in ("<think>", "<details ", '<details type="reasoning">'):
    for end in ("", "</think>", "</reasoning></details>"):
        _words(piece * (200_000 // len(piece)) + end)
for piece in ("[", "a.", "a ("):
    ATTACHED.sub("", piece * 100_000)
EDITED.sub("", " " * 200_000 + "x")
from core.transfer.fields import said_without_thoughts
from core.transfer.formats import declared
for piece in ("<tool_call></tool_call>", "<tool_call>", "[TOOL_CALLS]"):
    said_without_thoughts(piece * 40_000 + "x")
from core.transfer import cards, original
cards._build_card({"name": "Mira", "mes_example": "x" + "  \\n" * 70_000 + "x"}), original._read_words("  \\n" * 70_000 + "x")
declared._LABEL.match("prompt" * 40_000)
"""


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


@pytest.mark.slow
@pytest.mark.parametrize("code", [_PARSERS, _EXPORTS], ids=["parsers", "exports"])
def test_f32_f62_g22_hostile_input_is_done_in_bounded_time_and_memory(code: str) -> None:
    """A template of forty lines stood for a list of 2**40; a reply of ninety brackets took 2**90 calls."""
    ran = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, cwd=ROOT, preexec_fn=_limited
    )
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stderr[-2000:]
