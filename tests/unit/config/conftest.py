"""Every test here starts with no variable, no file and nothing kept."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core import config
from core.config import file as config_file
from core.config import levels as config_levels


@pytest.fixture(autouse=True)
def clean_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable, no file, no kept value of another test."""
    for name in config_levels._VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(config_levels, "_warned", set())
    monkeypatch.setattr(config, "_kept", {})
    monkeypatch.setattr(config_file, "_kept", {})


@pytest.fixture
def warnings(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """The text of every warning logged so far."""

    class Texts(list[str]):
        def __len__(self) -> int:
            return len(caplog.records)

        def __iter__(self) -> Iterator[str]:
            return iter([record.getMessage() for record in caplog.records])

        def __getitem__(self, index: Any) -> Any:
            return [record.getMessage() for record in caplog.records][index]

    caplog.set_level(logging.WARNING, logger="prompt_engine")
    yield Texts()
