"""Standard output and error as the command needs them, whatever they are connected to."""

from __future__ import annotations

import os
import sys
from typing import TextIO


def prepare() -> None:
    """Let both streams take every character, and give a stream that is closed a stand-in.

    The stand-in for output refuses what is written, as a full disk does, so that nothing is lost silently. It also
    keeps the descriptor: the next file that is opened, a database perhaps, would otherwise get it.
    """
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def abandon(stream: TextIO) -> None:
    """Drop what a stream holds and cannot write; the interpreter would complain of it when it ends."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
    except (OSError, ValueError):  # no descriptor of its own: nothing is written at the end
        pass
