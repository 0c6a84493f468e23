"""Every test here starts with no variable, no file and nothing kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from core import config
from core.config import levels as config_levels


@pytest.fixture(autouse=True)
def clean_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable, no file, no kept value of another test."""
    for name in config_levels._VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(config_levels, "_warned", set())
    monkeypatch.setattr(config, "_kept", {})
