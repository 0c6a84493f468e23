"""`MemoryTool` and `AsyncMemoryTool`: Claude's memory tool, with files stored as rows of a scope.

Commands and answers equal those of the SDK's own file tool. A path is a name only, so `..` reaches no folder. Changed
files keep their previous versions. Searches and prompts of the scope find the texts, and forgetting deletes them.
"""

from __future__ import annotations

import asyncio
import posixpath
import re
from collections.abc import Callable, Iterable
from typing import Any

from ..calls.call import GivenSettings
from ..database.engine import Database
from ..scope import Scope
from ..values import Change, NewValue, Path, RefusedError, StoredValue, Values, open_values
from . import missing

try:
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
except ImportError as _error:
    raise missing("anthropic", "anthropic") from _error

__all__ = ["AsyncMemoryTool", "MemoryTool"]

ROOT = "/memories"
MAX_LINES = 999_999
_FOLDER_SIZE = "4K"
"""Size shown for every folder in a listing: the usual size of a folder on disk."""


def _changes(command: Callable[..., str]) -> Callable[..., str]:
    """Decorate a command of the memory tool: it runs in one transaction, which locks the scope's files."""

    def run(self: _Files, *args: Any) -> str:
        try:
            return open_values("file", **self._by).change(lambda change: command(self, change, *args))
        except RefusedError as error:
            what = "Nothing was stored: this person's privacy setting forbids keeping anything of them."
            raise ToolError(what) from error

    return run


class _Files:
    def __init__(
        self,
        *,
        db: Database | None = None,
        settings: GivenSettings = None,
        scope: Scope | None = None,
        cache_control: Any = None,
    ) -> None:
        super().__init__(cache_control=cache_control)  # type: ignore[call-arg]
        self._by: dict[str, Any] = {"db": db, "settings": settings, "scope": scope}

    def view(self, command: Any) -> str:
        path, values = _read_path(command.path), open_values("file", **self._by)
        value = _find_existing(values, command.path, path) if path else None
        if value is None or value.value is None:
            return _view_folder(command.path, path, values.list_below(path))
        lines, first, view_range = value.value.split("\n"), 1, command.view_range
        if len(lines) > MAX_LINES:
            raise ToolError(f"File {command.path} exceeds maximum line limit of 999,999 lines.")
        if view_range and len(view_range) == 2:
            first = max(1, view_range[0])
            lines = lines[first - 1 : len(lines) if view_range[1] == -1 else view_range[1]]
        return f"Here's the content of {command.path} with line numbers:\n" + _number(lines, first)

    @_changes
    def create(self, change: Change, command: Any) -> str:
        path = _read_path(command.path)
        if not path or _find(change, path):
            raise ToolError(f"File {command.path} already exists")
        change.write([*_new_folders(change, path[:-1]), NewValue(path, command.file_text, text=command.file_text)])
        return f"File created successfully at: {command.path}"

    @_changes
    def str_replace(self, change: Change, command: Any) -> str:
        path, old = _read_path(command.path), command.old_str
        text = _find_text(change, command.path, path)
        lines = [text[: match.start()].count("\n") for match in re.finditer(f"(?={re.escape(old)})", text)]
        if not lines:
            raise ToolError(f"No replacement was performed, old_str `{old}` did not appear verbatim in {command.path}.")
        if text.count(old) > 1:
            raise ToolError(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
                f"{', '.join(str(line + 1) for line in lines)}. Please ensure it is unique"
            )
        text = text.replace(old, command.new_str)
        change.write([NewValue(path, text, text=text)], archive=True)
        first = max(0, lines[0] - 2)
        return (
            "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
            + _number(text.split("\n")[first : lines[0] + 3], first + 1)
        )

    @_changes
    def insert(self, change: Change, command: Any) -> str:
        path = _read_path(command.path)
        lines = _find_text(change, command.path, path).split("\n")
        if lines[-1] == "":
            lines.pop()
        if not 0 <= command.insert_line <= len(lines):
            raise ToolError(
                f"Invalid `insert_line` parameter: {command.insert_line}. "
                f"It should be within the range [0, {len(lines)}]."
            )
        lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
        text = "\n".join(lines).removesuffix("\n") + "\n"
        change.write([NewValue(path, text, text=text)], archive=True)
        return f"The file {command.path} has been edited."

    @_changes
    def delete(self, change: Change, command: Any) -> str:
        path = _read_path(command.path)
        if not path:
            raise ToolError(f"Cannot delete the {ROOT} directory itself")
        value = _find(change, path)
        if value is None:
            raise ToolError(f"The path {command.path} does not exist")
        change.delete([value, *change.list_below(path)], archive=True)
        return f"Successfully deleted {command.path}"

    @_changes
    def rename(self, change: Change, command: Any) -> str:
        old, new = _read_path(command.old_path), _read_path(command.new_path)
        if not old:
            raise ToolError(f"Cannot rename the {ROOT} directory itself")
        if not new or _find(change, new):
            raise ToolError(f"The destination {command.new_path} already exists")
        if new[: len(old)] == old:
            raise ToolError(f"Cannot move {command.old_path} into itself")
        value = _find(change, old)
        if value is None:
            raise ToolError(f"The path {command.old_path} does not exist")
        change.write(_new_folders(change, new[:-1]))
        change.rename(value, new)
        for each in change.list_below(old):
            change.rename(each, (*new, *each.path[len(old) :]))
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    @_changes
    def clear_all_memory(self, change: Change) -> str:
        change.delete(change.list_below(), archive=True)
        return "All memory cleared"


class MemoryTool(_Files, BetaAbstractMemoryTool):
    """The memory tool on the files of a scope. Its commands raise ToolError as the SDK's own tool does.

    Args:
        db, settings: None uses those of the process.
        scope: owner of the files. None uses the scope of `use_scope` at each call.
        cache_control: as in the SDK's tools.
    """


def _awaitable(command: Callable[..., str]) -> Callable[..., Any]:
    async def run(self: _Files, *args: Any) -> str:
        return await asyncio.to_thread(command, self, *args)

    return run


class AsyncMemoryTool(_Files, BetaAsyncAbstractMemoryTool):
    """`MemoryTool` with awaitable commands, which run in a thread."""

    view = _awaitable(_Files.view)
    create = _awaitable(_Files.create)
    str_replace = _awaitable(_Files.str_replace)
    insert = _awaitable(_Files.insert)
    delete = _awaitable(_Files.delete)
    rename = _awaitable(_Files.rename)
    clear_all_memory = _awaitable(_Files.clear_all_memory)


def _read_path(path: str) -> Path:
    """Split a path below `/memories` into parts, () for `/memories` itself; raise ToolError for another path."""
    if not path.startswith(ROOT):
        raise ToolError(f"Path must start with {ROOT}, got: {path}")
    parts = posixpath.normpath(path[len(ROOT) :].lstrip("/")).split("/")
    if parts[0] == "..":
        raise ToolError(f"Path {path} would escape {ROOT} directory")
    return () if parts == ["."] else tuple(parts)


def _new_folders(change: Change, path: Path) -> list[NewValue]:
    """Return the missing folders of a path; raise ToolError if a part of the path is a file."""
    above = [path[: depth + 1] for depth in range(len(path))]
    values = change.find(above)
    for each in values.values():
        if each.value is not None:
            raise ToolError(f"The path {ROOT}/{'/'.join(each.path)} is not a directory")
    return [NewValue(each, None) for each in above if each not in values]


def _find(values: Values, path: Path) -> StoredValue | None:
    return values.find([path]).get(path)


def _find_existing(values: Values, shown: str, path: Path) -> StoredValue:
    value = _find(values, path)
    if value is None:
        raise ToolError(f"The path {shown} does not exist. Please provide a valid path.")
    return value


def _find_text(change: Change, shown: str, path: Path) -> str:
    text = _find_existing(change, shown, path).value if path else None
    if text is None:
        raise ToolError(f"The path {shown} is not a file.")
    return text


def _view_folder(shown: str, path: Path, values: Iterable[StoredValue]) -> str:
    lines = [f"{_FOLDER_SIZE}\t{shown}"]
    for value in sorted(values, key=lambda each: each.path):
        below = value.path[len(path) :]
        if len(below) <= 2 and not any(part.startswith(".") for part in below):
            size = _FOLDER_SIZE if value.value is None else _format_size(len(value.value.encode("utf-8")))
            lines.append(f"{size}\t{shown}/{'/'.join(below)}{'/' if value.value is None else ''}")
    header = f"Here're the files and directories up to 2 levels deep in {shown}, excluding hidden items:"
    return header + "\n" + "\n".join(lines)


def _number(lines: Iterable[str], first: int) -> str:
    return "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(lines, first))


def _format_size(size: int) -> str:
    if size == 0:
        return "0B"
    step = min((size.bit_length() - 1) // 10, 3)
    number = size / 1024**step
    return f"{int(number) if number == int(number) else format(number, '.1f')}{'BKMG'[step]}"
