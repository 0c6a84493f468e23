"""Writes a file completely or not at all."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replace_file(path: Path, *, mode: int | None = None, new_mode: int = 0o666) -> Iterator[Path]:
    """Yield the path of a new file next to `path`; after the block, the new file replaces `path`.

    The new file has the permissions `mode`, else those of `path`, else, if `path` is missing, `new_mode`. If the block
    fails, `path` stays unchanged. If `path` is a symbolic link, the file that the link points to is replaced.
    """
    path = Path(os.path.realpath(path))
    if path.exists():
        if not path.is_file():
            raise OSError(errno.EINVAL, "It is not a regular file", str(path))  # a device would be gone for everybody
        mode = path.stat().st_mode & 0o777 if mode is None else mode
    part = path.with_name(f".{path.name[:50]}.{os.getpid()}.part")
    try:
        handle = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, new_mode if mode is None else mode)
        try:
            yield part
            os.fsync(handle)  # Windows cannot sync a file opened for reading only
        finally:
            os.close(handle)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
