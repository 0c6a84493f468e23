"""Writes a file completely or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replace_file(path: Path, *, mode: int = 0o666) -> Iterator[Path]:
    """Yield a new file next to `path` for writing; it replaces `path` at the end of the block.

    If the block fails, `path` stays unchanged. A link stays, and the file that it names is replaced.
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "It is not a regular file", str(path))  # a device would be gone for everybody
    part = path.with_name(f".{path.name[:50]}.{os.getpid()}.part")
    try:
        handle = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
        try:
            yield part
            os.fsync(handle)  # Windows cannot sync a file opened for reading only
        finally:
            os.close(handle)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
