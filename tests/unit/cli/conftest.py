"""What the tests of the command share: a run of it in an empty folder, on a database of its own."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import core.cli
from core.db import open_database

ROOT = Path(__file__).resolve().parents[3]
SAMPLE = Path(core.cli.__path__[0]) / "sample"
KITCHEN = "demo/kitchen"


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Ran]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run the command in an empty folder, on a database of its own, with stdout that is no terminal."""
    for name in ("PERSONA_ID", "CONFIG_FILE", "DATABASE_URL_FILE", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{tmp_path / 'own.db'}")
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> Ran:
        capsys.readouterr()
        code = core.cli.main([str(each) for each in arguments])
        return Ran(code, *capsys.readouterr())

    return call


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("empty") / "own.db"
    open_database(f"sqlite:///{file}").close()
    return file


@pytest.fixture
def made(run: Command, empty: Path, tmp_path: Path) -> Command:
    shutil.copy(empty, tmp_path / "own.db")
    return run


@pytest.fixture
def kitchen(run: Command) -> Command:
    ran = run("import", SAMPLE / "kitchen.jsonl", "--persona-speaker", "Iris", "--interface", "demo")
    assert (ran.code, ran.json["imported"], ran.json["persona"]) == (0, 91, ["Iris"])
    return run
