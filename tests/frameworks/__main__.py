"""The frameworks' own tests, run on our adapters, from the source distributions of the newest versions.

    python -m tests.frameworks install          an environment of its own, and their sources, in .venv-frameworks
    python -m tests.frameworks run [NAME]...    their tests, on SQLite; --engine mariadb or mysql for a server

Their files are used as they are. A stand-in (`standins/`) gives their tests our class where they name theirs; tests
that look inside theirs are set aside by name, each with its reason, and counted.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / ".venv-frameworks"
STANDINS = Path(__file__).resolve().parent / "standins"
EXTRAS = "openai-agents,anthropic,langgraph,llama-index,pydantic-ai"
TOOLS = ("pytest", "pytest-asyncio", "pytest-mock", "pytest-xdist", "dirty-equals", "inline-snapshot",
         "sqlalchemy[asyncio]", "aiosqlite")  # fmt: skip
"""What their tests need beside the frameworks."""


class Suite(NamedTuple):
    package: str
    standin: str
    tests: tuple[str, ...]


SESSIONS = (
    *(f"tests/memory/test_session{what}.py" for what in ("", "_limit", "_context_wrapper", "_persistence_sanitize")),
    "tests/extensions/memory/test_sqlalchemy_session.py",
)
STORES = ("tests/test_store.py", "tests/test_async_store.py")
SUITES = {"agents": Suite("openai-agents", "sessions", SESSIONS),
          "anthropic": Suite("anthropic", "files", ("tests/lib/tools/memory_tools/test_filesystem.py",)),
          "memory": Suite("langgraph-checkpoint", "stores", ("tests/test_store.py",)),
          "sqlite": Suite("langgraph-checkpoint-sqlite", "stores", (*STORES, "tests/test_ttl.py")),
          "postgres": Suite("langgraph-checkpoint-postgres", "stores", STORES)}  # fmt: skip
OWN = "tests/adapters/test_llama_index.py"
"""Tests of ours that need what the extra `test` has not: run too where no suite is named."""


def install(place: Path) -> None:
    if not (place / "bin" / "python").exists():
        venv.create(place, with_pip=True, clear=True)
    pip = [str(place / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--quiet", "--editable", f"{ROOT}[{EXTRAS}]", *TOOLS], check=True)
    packages = sorted({suite.package for suite in SUITES.values()})
    folder = place / "sources"
    options = ["--quiet", "--no-deps", "--no-binary", ":all:", "--dest", str(folder)]
    subprocess.run([*pip, "download", *options, *packages], check=True)


def unpack_tests(suite: Suite, sources: Path, folder: Path) -> str:
    """Put the tests of a suite into a folder, and return which version they are of."""
    name = suite.package.replace("-", "_")
    archives = sorted(sources.glob(f"{name}-[0-9]*.tar.gz"), key=lambda file: file.stat().st_mtime)
    if not archives:
        how = "Run: python -m tests.frameworks install"
        raise SystemExit(f"No source distribution of {suite.package} in {sources}. {how}")
    with tarfile.open(archives[-1]) as archive:
        inside = [each for each in archive.getmembers() if re.match(r"[^/]+/tests/", each.name) and each.isfile()]
        archive.extractall(folder, members=inside, filter="data")
    shutil.move(next(folder.glob("*/tests")), folder / "tests")
    # What is above a test file of the SDK starts servers; its own fixtures are enough.
    if suite.standin == "files":
        for conftest in (folder / "tests").rglob("conftest.py"):
            conftest.unlink()
    settings = "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\nmarkers =\n"
    marks = ("flaky", "allow_call_model_methods", "review_optional")
    (folder / "pytest.ini").write_text(settings + "".join(f"    {mark}\n" for mark in marks), encoding="utf-8")
    return archives[-1].name.removeprefix(f"{name}-").removesuffix(".tar.gz")


def run(names: list[str], python: str, sources: Path, url: str, options: list[str]) -> int:
    worst, lines = 0, []
    for name in names or list(SUITES):
        suite = SUITES[name]
        with tempfile.TemporaryDirectory(prefix="frameworks-") as made:
            folder = Path(made)
            version = unpack_tests(suite, sources, folder)
            paths = [str(ROOT / "core" / "_editable"), str(STANDINS), str(ROOT)]
            given = url or f"sqlite:///{folder / 'ours.db'}"
            env = {**os.environ, "FRAMEWORKS_URL": given, "PYTHONPATH": os.pathsep.join(paths)}
            env |= {"OPENAI_AGENTS_DISABLE_TRACING": "1"}
            command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", suite.standin, *options]
            words = [*command, *suite.tests]
            ran = subprocess.run(words, cwd=folder, env=env, check=False, stdout=subprocess.PIPE, text=True)
            print(ran.stdout, flush=True)
            worst = max(worst, ran.returncode)
            lines.append(f"{name}: {suite.package} {version}: {ran.stdout.strip().splitlines()[-1]}")
    if not names:
        plain = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio"]
        ran = subprocess.run([*plain, OWN], cwd=ROOT, check=False, stdout=subprocess.PIPE, text=True)
        print(ran.stdout, flush=True)
        worst = max(worst, ran.returncode)
        lines.append(f"ours: {ran.stdout.strip().splitlines()[-1]}")
    print("\n".join(lines))
    return worst


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.frameworks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("install", help="make .venv-frameworks and obtain their sources")
    one = commands.add_parser("run", help="run their tests")
    one.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(SUITES)}; all when left out")
    one.add_argument("--engine", default="sqlite", help="sqlite, mariadb or mysql")
    one.add_argument("--python", default=str(PLACE / "bin" / "python"), help="another environment")
    one.add_argument("--sources", type=Path, default=PLACE / "sources", help="a folder of source distributions")
    one.add_argument("--options", default="", help="more options of pytest, quoted as in a shell")
    given = parser.parse_args()
    if given.command == "install":
        install(PLACE)
        return 0
    with ExitStack() as stack:
        url = ""
        if given.engine != "sqlite":
            from tests.servers import SERVERS

            server = stack.enter_context(SERVERS[given.engine]())
            url = server.create_database("frameworks")
        return run(given.names, given.python, given.sources, url, shlex.split(given.options))


if __name__ == "__main__":
    sys.exit(main())
