"""The folder of MEMORY_FOLDER_NAME keeps step by itself: written after a change, read before a prompt."""

from __future__ import annotations

from pathlib import Path

from ..base import logs
from ..calls.call import Call
from ..config import Settings
from ..database.engine import Database
from ..errors import CoreError
from ..jobs.tools import Tools, operation_call
from ..scope import Scope
from ..shapes import Operation
from . import memory_files
from .memory_files import NAMES, MarkdownResult

_SEEN = "memory_files_seen"
"""Name of the cache of what the files were when they last agreed with the rows."""
ROUNDS = 5
"""How often the files are written again because somebody saved them meanwhile."""

Stamp = tuple[tuple[int, int, int] | None, ...]


def write_files(call: Call) -> None:
    """Write the files after a change, where the folder is set and the persona's; a failure is logged, never raised."""
    folder = find_folder(call.settings)
    if folder is None:
        return
    owner = memory_files.find_owner(folder) or call.scope
    if owner.persona != call.persona:
        return
    try:
        for _ in range(ROUNDS):
            stamp = _read_stamp(folder)
            done = memory_files.export_markdown(folder, db=call.db, settings=call.settings, scope=owner)
            if not done.written:  # as they were when they were looked at, the files say what the rows say
                call.db.caches.setdefault(_SEEN, {})[folder] = stamp
                return
    except CoreError as error:
        logs.warning("memory_files_not_written", folder=str(folder), error=type(error).__name__)


def read_files(db: Database, settings: Settings, scope: Scope) -> MarkdownResult | None:
    """Take over what somebody changed in the files; None, after a look at the files' times, where nothing changed."""
    folder = find_folder(settings)
    if folder is None:
        return None
    stamp = _read_stamp(folder)
    seen = db.caches.setdefault(_SEEN, {})
    if seen.get(folder, (None,) * len(stamp)) == stamp:
        return None
    owner = memory_files.find_owner(folder) or scope
    if owner.persona != scope.persona:
        return None
    done = memory_files.import_markdown(folder, db=db, settings=settings, scope=owner)
    seen[folder] = stamp
    return done


def follow_summary(operation: Operation, tools: Tools) -> None:
    """Write the files after a summary that a worker has stored."""
    write_files(operation_call(operation, tools))


def find_folder(settings: Settings) -> Path | None:
    """Return the folder somebody has set, None where it is the default one or no path."""
    name = settings.memory_folder_name
    if settings.sources["MEMORY_FOLDER_NAME"] == "default" or not name.strip() or "\0" in name:
        return None
    return Path(name).absolute()


def _read_stamp(folder: Path) -> Stamp:
    """Return time, size and number of each file, None for one that is not there."""
    found: list[tuple[int, int, int] | None] = []
    for name in NAMES:
        try:
            stat = (folder / name).stat()
        except OSError:
            found.append(None)
        else:
            found.append((stat.st_mtime_ns, stat.st_size, stat.st_ino))
    return tuple(found)
