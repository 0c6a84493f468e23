"""The Anthropic SDK's tests of its file memory tool with ours in the place of theirs.

What a test writes on the disk itself is created through the tool before it is read, and written back after a change.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anthropic.lib.tools._beta_builtin_memory_tool as theirs
from anyio import Path as AsyncPath
from ours import SetAside, database, scope_of
from prompt_engine.adapters.anthropic import AsyncMemoryTool, MemoryTool
from prompt_engine.values import open_values


def _texts(base: Any) -> dict[str, str]:
    """Return path to text of what the tool holds of a folder of theirs."""
    values = open_values("file", db=database(), scope=scope_of(base)).list_below()
    return {"/".join(("memories", *each.path)): each.value for each in values if each.value is not None}


class _Disk:
    base_path: Path

    def _open(self, base_path: Any) -> Path:
        self.base_path = Path(base_path)
        root = self.base_path / "memories"
        root.mkdir(parents=True)
        return root

    def _read_disk(self) -> None:
        for file in (self.base_path / "memories").glob("*.txt"):
            if not file.is_symlink() and f"memories/{file.name}" not in _texts(self.base_path):
                given = SimpleNamespace(path=f"/memories/{file.name}", file_text=file.read_bytes().decode())
                MemoryTool(db=database(), scope=scope_of(self.base_path)).create(given)

    def _write_disk(self) -> None:
        for name, text in _texts(self.base_path).items():
            file = self.base_path / name
            if file.exists() and not file.is_symlink():
                file.write_bytes(text.encode())


class Ours(_Disk, MemoryTool):
    def __init__(self, base_path: Any) -> None:
        super().__init__(db=database(), scope=scope_of(base_path))
        self.memory_root = self._open(base_path)

    def view(self, command: Any) -> Any:
        self._read_disk()
        return super().view(command)

    def str_replace(self, command: Any) -> Any:
        self._read_disk()
        done = super().str_replace(command)
        self._write_disk()
        return done

    def insert(self, command: Any) -> Any:
        self._read_disk()
        done = super().insert(command)
        self._write_disk()
        return done


class OursAwaited(_Disk, AsyncMemoryTool):
    def __init__(self, base_path: Any) -> None:
        super().__init__(db=database(), scope=scope_of(base_path))
        self.memory_root = AsyncPath(self._open(base_path))

    async def view(self, command: Any) -> Any:
        self._read_disk()
        return await super().view(command)

    async def str_replace(self, command: Any) -> Any:
        self._read_disk()
        done = await super().str_replace(command)
        self._write_disk()
        return done

    async def insert(self, command: Any) -> Any:
        self._read_disk()
        done = await super().insert(command)
        self._write_disk()
        return done


theirs.BetaLocalFilesystemMemoryTool = Ours  # type: ignore[misc, assignment]
theirs.BetaAsyncLocalFilesystemMemoryTool = OursAwaited  # type: ignore[misc, assignment]

ASIDE = {
    "links and rights of a disk, which files here have none of": (
        "test_mkdir_parents_not_world_writable_under_permissive_umask",
        "test_validate_path_returns_resolved_path_not_symlink_target",
        "test_read_rejects_symlink_created_after_validation",
        "test_read_rejects_file_replaced_with_symlink_before_open",
        "test_view_rejects_directory_symlink_created_after_validation",
        "test_symlink_validation_reject_symlink_pointing_outside_memories",
        "test_view_lists_symlinks_only_when_they_stay_inside_memories",
        "test_symlink_validation_reject_creating_files_through_symlink_pointing_outside",
        "test_symlink_validation_reject_parent_directory_that_is_symlink_pointing_outside",
    )
}


def pytest_collection_modifyitems(items: list[Any]) -> None:
    for item in items:
        item.module.get_directory_snapshot = _texts


def pytest_configure(config: Any) -> None:
    config.pluginmanager.register(SetAside(ASIDE), "set_aside")
