"""R1 to R5: one name in the wheel, the seeds' names where they are wanted, nothing that another package can break."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import core
from core import synth_core_memory
from tests.wheel import ROOT, Environment, build_wheel

pytestmark = [pytest.mark.checkout, pytest.mark.engines("sqlite")]
PACKAGE = Path(core.__path__[0])
TEN_LINES = re.search(
    r"^## Ten lines\n.*?```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
)
WORKS = """
import sys
import prompt_engine
assert "site-packages/prompt_engine/" in prompt_engine.__file__, prompt_engine.__file__
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A distribution of somebody else that installs a package called `core`."""
    folder = tmp_path_factory.mktemp("other")
    path = folder / "othercore-1.0-py3-none-any.whl"
    info = "othercore-1.0.dist-info"
    files = {
        "core/__init__.py": "WHOSE = 'theirs'\n",
        "core/db.py": "",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: othercore\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(path, "w") as made:
        for name, text in files.items():
            made.writestr(name, text)
        made.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD")))
    return path


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return Environment(tmp_path / "env")


def run_ten_lines(environment: Environment, folder: Path) -> str:
    """Return what the ten lines of the README print in a new folder of their own."""
    assert TEN_LINES is not None
    folder.mkdir()
    return environment.run(WORKS + TEN_LINES[1], folder)


def names_in(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name.split("/")[0] for name in archive.namelist()}


def test_r1_the_wheel_holds_one_name(wheel: Path) -> None:
    assert {re.sub(r"-.*\.dist-info$", ".dist-info", name) for name in names_in(wheel)} == {
        "prompt_engine", "prompt_engine.dist-info",
    }  # fmt: skip


def test_r1_the_sdist_gives_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    code = "import sys, hatchling.build; hatchling.build.build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, check=True, capture_output=True)
    [sdist] = tmp_path.glob("*.tar.gz")
    with tarfile.open(sdist) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert set(listed.splitlines()) - names == set()
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "-q", "-w", str(tmp_path / "made"), str(sdist)], check=True, capture_output=True)
    [made] = (tmp_path / "made").glob("*.whl")
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(made) as two:
        assert sorted(one.namelist()) == sorted(two.namelist())


@pytest.mark.slow
def test_r1_beside_a_package_called_core(wheel: Path, other: Path, environment: Environment, tmp_path: Path) -> None:
    said = "\n['Tofu is your cat.', 'My cat is called Tofu.']\n[]\n"
    theirs = "import core; assert core.WHOSE == 'theirs'"
    environment.install(other)
    environment.install(wheel)
    assert run_ten_lines(environment, tmp_path / "before").endswith(said)
    environment.run(theirs, tmp_path)
    environment.pip("uninstall", "-y", "othercore")
    assert run_ten_lines(environment, tmp_path / "removed").endswith(said)
    environment.install(other)
    assert run_ten_lines(environment, tmp_path / "after").endswith(said)
    environment.pip("uninstall", "-y", "prompt-engine")
    environment.run(theirs, tmp_path)


def test_r2_the_names_of_the_package() -> None:
    assert set(core.__all__) <= set(dir(core))
    for name in core.__all__:
        assert getattr(core, name) is not None
    assert core.search_memories is synth_core_memory.search_memories
    with pytest.raises(AttributeError, match="serch"):
        core.serch_memories  # noqa: B018
    code = "import sys; import core; print(sorted(m for m in sys.modules if m.startswith('core.')))"
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT)
    assert ran.stdout == "[]\n"


def test_r2_a_name_follows_what_a_host_put_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def stand_in(**_: object) -> list[str]:
        return ["mine"]

    monkeypatch.setattr(synth_core_memory, "search_memories", stand_in)
    assert core.search_memories is stand_in


SEEDS_CALLS = """
import prompt_engine.as_core
import core, core.prompt_engine, core.synth_core_memory
from core.db import insert_memory, configure
from core.prompt_engine import build_json_prompt
import prompt_engine, prompt_engine.synth_core_memory
assert core is prompt_engine and core.synth_core_memory is prompt_engine.synth_core_memory
import prompt_engine.stories.rules_running as one, core.stories.rules_running as two
assert one is two and one.__spec__.name == "prompt_engine.stories.rules_running"
configure("sqlite://")
insert_memory(content="the cat is called tofu", author="synth", source="chat", tags=["cat"], scope="general")
message = {"message_id": 1, "date": None, "text": "what about the cat?", "chat_id": 5}
print(build_json_prompt(message, {}, "telegram_bot")["context"]["memories"][0]["snippet"])
"""


@pytest.mark.slow
def test_r3_the_calls_of_the_seeds_run(wheel: Path, other: Path, environment: Environment, tmp_path: Path) -> None:
    """One import gives a host of the original its names; another package called core is not taken for ours."""
    environment.install(wheel)
    assert environment.run(SEEDS_CALLS, tmp_path) == "the cat is called tofu\n"
    environment.install(other)
    refused = "import core\ntry:\n    import prompt_engine.as_core\nexcept ImportError as error:\n    print(error)\n"
    told = environment.run(refused, tmp_path)
    assert "Another package called 'core' is loaded" in told and "site-packages/core/__init__.py" in told
    assert environment.run("import prompt_engine.as_core, core; print(core.__name__)", tmp_path) == "prompt_engine\n"


def test_r4_the_suite_runs_against_the_wheel() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"^test:.*\n\t.*pytest.*\n\t.*tests\.wheel", makefile, re.MULTILINE)
    assert re.search(r"^test-wheel:.*\n\t.*tests\.wheel", makefile, re.MULTILINE)


def test_an_editable_install_has_both_names() -> None:
    for first, second in (("core", "prompt_engine"), ("prompt_engine", "core")):
        code = (
            f"import {first}.scope, {second}.scope, {second}.stories; import {first}.stories; "
            f"assert {first} is {second} and {first}.scope is {second}.scope and {first}.stories is {second}.stories; "
            f"import sys; print(sys.modules['{second}.scope'] is sys.modules['{first}.scope'])"
        )
        told = {"PYTHONPATH": f"{ROOT}:{PACKAGE / '_editable'}", "PATH": "/usr/bin:/bin"}
        ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=told)
        assert ran.stdout == "True\n"


def test_r5_what_the_wheel_says_of_itself(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [each for each in archive.namelist() if each.endswith(".dist-info/METADATA")]
        told = archive.read(name).decode()
        assert any(each.endswith("/licenses/LICENSE") for each in archive.namelist())
        assert "prompt_engine/py.typed" in archive.namelist()
    assert "\nLicense-Expression: MIT\n" in told and "\nRequires-Python: >=3.11\n" in told
    assert told.count("\nClassifier: Programming Language :: Python :: 3.") >= 4
    assert "\nProvides-Extra: cli\n" in told
