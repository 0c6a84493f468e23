"""The installed wheel under test: `make test-wheel` runs a choice of tests against it, without the checkout.

    python -m tests.wheel [arguments of pytest]
    python -m tests.wheel --types    every public name has a type that pyright knows

The wheel is built and installed into an environment of its own (`.venv-wheel`), which borrows its dependencies from the
one that runs this. There `core`, the name the tests use, is an alias by `prompt_engine.as_core`. The tests run from a
copy that holds neither `core/` nor the folders the wheel brings.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / ".venv-wheel"
BROUGHT = ("core", "sql", "prompts")
"""What the wheel brings; the copy is without it."""
CHOICE = (
    "tests/golden", "tests/spec/test_personas.py", "tests/spec/test_public_names.py", "tests/store/test_maintenance.py",
    "tests/store/test_migrations.py::test_d32_migrations_from_nothing_give_what_the_schema_gives",
    "tests/store/test_releases.py", "tests/unit/cli/test_calls.py::test_demo_tells_a_story_on_one_screen",
    "tests/unit/cli/test_calls.py::test_r35_the_command_alone_prints_its_help_and_shells_complete_it",
    "tests/unit/templates/test_render.py::test_p64_every_shipped_template_is_sound_and_says_what_it_is_given",
    "tests/unit/test_pages.py",
)  # fmt: skip
"""What differs between checkout and wheel: imports, every file that must be in it, the command, and one walk through
each noun (a release's database and the examples of the pages). `tests/spec/test_package.py` asks an installed one."""


def build_wheel(folder: Path, source: Path = ROOT) -> Path:
    code = "import sys, hatchling.build; print(hatchling.build.build_wheel(sys.argv[1]))"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / subprocess.check_output([sys.executable, "-c", code, folder], cwd=source, text=True).split()[-1]


class Environment:
    """A virtual environment without pip, which borrows the dependencies of the one this runs in."""

    def __init__(self, place: Path) -> None:
        venv.create(place, clear=True, with_pip=False)
        self.python = place / "bin" / "python"
        self.packages = Path(sysconfig.get_path("purelib", vars={"base": str(place), "platbase": str(place)}))
        self._borrowed = self.packages / "borrowed.pth"
        self.borrow()

    def borrow(self) -> None:
        """Let everything be imported that can be here, but for what an editable install adds to the path."""
        self._borrowed.write_text(sysconfig.get_path("purelib") + "\n")

    def pip(self, *arguments: str) -> None:
        """Run pip on this environment alone; what is borrowed does not count as installed."""
        self._borrowed.unlink()
        pip = [sys.executable, "-m", "pip", "--python", str(self.python), "--disable-pip-version-check"]
        try:
            subprocess.run([*pip, *arguments], check=True, capture_output=True, text=True)
        finally:
            self.borrow()

    def install(self, *wheels: Path, compiled: bool = True) -> None:
        """Install wheels and nothing else; without `compiled`, Python compiles the modules that a program imports."""
        self.pip("install", "--no-deps", "--no-index", *([] if compiled else ["--no-compile"]), *map(str, wheels))

    def run(self, code: str, cwd: Path) -> str:
        """Return what a program prints, run in a folder without any package.

        Raises:
            AssertionError: it failed; the text is what it said.
        """
        told = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "DATABASE_"))}
        ran = subprocess.run([self.python, "-c", code], cwd=cwd, env=told, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr[-2000:]
        return ran.stdout


def copy_tests(to: Path) -> None:
    listed = subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, text=True)
    for name in listed.splitlines():
        if name.split("/")[0] not in BROUGHT and (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)


def main(arguments: list[str]) -> int:
    shutil.rmtree(PLACE, ignore_errors=True)
    environment, wheel = Environment(PLACE), build_wheel(PLACE / "dist")
    environment.install(wheel)
    (environment.packages / "as_core.pth").write_text("import prompt_engine.as_core\n")
    if arguments == ["--types"]:
        environment.pip("install", f"{wheel}[llama-index]")  # the one framework that no test needs
        told = {**os.environ, "VIRTUAL_ENV": str(PLACE), "PATH": f"{PLACE / 'bin'}:{os.environ['PATH']}"}
        command = [sys.executable, "-m", "pyright", "--verifytypes", "prompt_engine", "--ignoreexternal"]
        return subprocess.run(command, cwd=PLACE, env=told, check=False).returncode
    copy = PLACE / "tests"
    copy_tests(copy)
    options = ["-m", "pytest", "-q", "-m", "not checkout"]
    more = arguments or ["-n", os.environ.get("PYTEST_WORKERS", "2"), *CHOICE]
    variables = {**os.environ, "TEST_SERVERS": os.environ.get("TEST_SERVERS", "sqlite")}
    ran = subprocess.run([environment.python, *options, *more], cwd=copy, env=variables, check=False)
    return ran.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
