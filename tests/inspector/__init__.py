"""The inspector of the Model Context Protocol: a client in JavaScript that is nobody's of ours (npm, node needed).

`python -m tests.inspector install` obtains it; tests never do, and are skipped with that sentence where it is missing.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

PACKAGE = "@modelcontextprotocol/inspector@1.0.3"
"""The last one that runs with node 20."""
PLACE = Path(__file__).resolve().parents[2] / ".servers" / "inspector"
MISSING = "the inspector is not there; `python -m tests.inspector install` obtains it where node and npm are found"


def find() -> list[str] | None:
    """Return the command, None where it or node is missing."""
    node, program = shutil.which("node"), PLACE / "node_modules" / ".bin" / "mcp-inspector"
    return [node, str(program)] if node and program.exists() else None


def install() -> bool:
    """Obtain it; False where there is no npm.

    Raises:
        CalledProcessError: npm failed.
    """
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        return False
    PLACE.mkdir(parents=True, exist_ok=True)
    quiet = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel", "error"]
    subprocess.run([npm, "install", *quiet, "--prefix", str(PLACE), PACKAGE], check=True, timeout=600)
    return True


def ask(command: list[str], target: list[str], *words: str, env: dict[str, str] | None = None) -> dict[str, Any]:
    """Return what a server answers to one request.

    Args:
        command: of `find`.
        target: command line of a server, or `--transport http URL` and headers.
        words: `--method` and what belongs to it.
        env: of the server, which gets no other.
    """
    given = [word for name, value in (env or {}).items() for word in ("-e", f"{name}={value}")]
    ran = subprocess.run(
        [*command, "--cli", *given, *target, *words],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    answer: dict[str, Any] = json.loads(ran.stdout[ran.stdout.index("{") : ran.stdout.rindex("}") + 1])
    return answer
