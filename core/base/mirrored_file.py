"""One text file that people and the program both write: read whole, replaced only when it is still what was read."""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..errors import TransferError

MAX_BYTES = 10_000_000
_EXCHANGE, _HERE = 2, -100
"""RENAME_EXCHANGE and AT_FDCWD of Linux."""


def read_file(path: Path) -> str | None:
    """Return the file's text, line ends as they are; None where there is no file."""
    try:
        if path.stat().st_size > MAX_BYTES:
            size = path.stat().st_size
            told = f"{str(path)!r} has {size:,} bytes. It may have {MAX_BYTES:,}. Move part of it elsewhere."
            raise TransferError(told, path=str(path))
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise TransferError(
            f"{str(path)!r} is no UTF-8 at byte {error.start}. Save it as UTF-8; nothing was changed.",
            path=str(path),
        ) from None
    except OSError as error:
        raise TransferError(f"{str(path)!r} cannot be read ({type(error).__name__}).", path=str(path)) from error


def replace_file(path: Path, text: str, *, seen: str | None) -> bool:
    """Put a text into the place of the file, unless the file is no longer what was seen."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(beside, text)
        with lock_file(path.parent):
            return _swap(beside, path, seen)
    except OSError as error:
        raise TransferError(f"{str(path)!r} cannot be written ({type(error).__name__}).", path=str(path)) from error
    finally:
        with contextlib.suppress(OSError):
            beside.unlink()


@contextlib.contextmanager
def lock_file(path: Path) -> Iterator[None]:
    """Keep other programs of this package from the same work meanwhile; people are not kept from anything."""
    try:
        import fcntl  # noqa: PLC0415 - not on every system
    except ImportError:
        yield
        return
    held = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def _write(path: Path, text: str) -> None:
    with path.open("xb") as file:
        file.write(text.encode("utf-8"))
        file.flush()
        os.fsync(file.fileno())


def _swap(beside: Path, path: Path, seen: str | None) -> bool:
    if seen is None:
        try:
            os.link(beside, path)  # fails where a file is: somebody has just made one
        except FileExistsError:
            return False
        except OSError:  # a file system without hard links
            if path.exists():
                return False
            beside.rename(path)
        return True
    was = seen.encode("utf-8")
    if not _is(path, was):
        return False
    with contextlib.suppress(OSError):
        beside.chmod(path.stat().st_mode & 0o777)
    if not _exchange(beside, path):
        if not _is(path, was):
            return False
        beside.replace(path)
        return True
    if _is(beside, was):
        return True
    _exchange(beside, path)
    return False


def _is(path: Path, content: bytes) -> bool:
    try:
        return path.read_bytes() == content
    except FileNotFoundError:
        return False


@lru_cache(maxsize=1)
def _renameat2() -> Any:
    if not sys.platform.startswith("linux"):
        return None
    return getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)


def _exchange(one: Path, other: Path) -> bool:
    """Let two files change places in one step; False where the system or the file system cannot."""
    call = _renameat2()
    return call is not None and call(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0
