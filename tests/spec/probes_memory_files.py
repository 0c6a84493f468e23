"""The probe of the folder of the Markdown files."""

from __future__ import annotations

from typing import Any

from core.config import Settings
from core.conversations import export_markdown
from tests.spec.probes import probe
from tests.spec.stage import HERE, Stage


@probe("memory", "mine")
def _memory_folder_name(stage: Stage, value: Any) -> object:
    folder = stage.folder / value  # type: ignore[attr-defined]
    done = export_markdown(db=stage.db, settings=Settings(memory_folder_name=str(folder)), scope=stage.scope(HERE))
    return done.folder
