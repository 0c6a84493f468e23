"""The lowest versions pyproject.toml allows, tried out: `make test-floors`, or `python -m tests.floors [TEST]...`.

Makes `.venv-floors` with exactly the lowest version of every dependency and of those of every extra but `test`, and
runs the quick part of the suite in it, on SQLite. What a dependency itself needs is taken as new as that allows.
A floor that fails here is too low, whatever the newest versions do.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".venv-floors"
TOOLS = ("pytest", "hypothesis", "jsonschema", "schemathesis")
"""What the tests need beside the package; as new as there is."""
QUICK = (
    "tests/unit",
    "tests/golden",
    "tests/store/test_memories.py",
    "tests/store/test_search.py",
    "tests/adapters",
    "core/text",
    "core/context",
)
OF_THE_NEWEST = "tests/unit/test_supply.py::test_the_page_of_dependencies_names_each_with_its_floor_and_licence"
"""The page names the licences of the newest versions."""
_LEAST = re.compile(r"^([\w.-]+)(?:\[[\w,-]+\])?\s*>=\s*([\w.]+)")
_NOT_TRIED = ("test", "docs")


def floors() -> dict[str, str]:
    """Return package to the lowest version of it that is allowed, over the dependencies and extras of run time."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = list(project["dependencies"])
    for extra, more in project["optional-dependencies"].items():
        listed += [] if extra in _NOT_TRIED else more
    found = {}
    for line in listed:
        match = _LEAST.match(line)
        if match is None:
            raise SystemExit(f"{line!r} in pyproject.toml names no lowest version. Write NAME>=VERSION.")
        found[match[1]] = match[2]
    return found


def extras() -> list[str]:
    """Return the extras whose packages are tried."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [extra for extra in project["optional-dependencies"] if extra not in _NOT_TRIED]


def main(tests: list[str]) -> int:
    """Make the environment, run the tests in it, and return their exit code."""
    if not (FOLDER / "bin" / "python").exists():
        venv.create(FOLDER, with_pip=True, clear=True)
    python = str(FOLDER / "bin" / "python")
    constraints = FOLDER / "constraints.txt"
    constraints.write_text("".join(f"{name}=={version}\n" for name, version in floors().items()), encoding="utf-8")
    wanted = [f"{ROOT}[{','.join(extras())}]", *TOOLS]
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, "--constraint", str(constraints), "--editable", *wanted], check=True, cwd=ROOT)
    shown = subprocess.run([python, "-m", "pip", "freeze"], check=True, capture_output=True, text=True).stdout
    print(shown, flush=True)
    run = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--deselect", OF_THE_NEWEST, *(tests or QUICK)]
    return subprocess.run(run, check=False, cwd=ROOT, env={**os.environ, "TEST_SERVERS": "sqlite"}).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
