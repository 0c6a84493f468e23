"""Static vectors of a folder on disk as an embedder: EMBEDDER `model2vec:PATH` (docs/embeddings.md)."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..errors import ConfigError

FILES = ("config.json", "tokenizer.json", "model.safetensors")
"""What such a folder holds."""
_READ_BYTES = 1 << 20


class StaticEmbedder:
    """An embedder from a folder, read at the first text. Its name tells the folder and what the files hold."""

    is_local = True

    def __init__(self, path: str) -> None:
        self.path: Path = Path(path).expanduser()
        self._reading = threading.Lock()
        self._name = ""
        self._model: Any = None

    def __repr__(self) -> str:
        return f"StaticEmbedder({str(self.path)!r})"

    @property
    def name(self) -> str:
        """Return the name of the folder with a digest of its files: other files are another model."""
        with self._reading:
            if not self._name:
                self.check()
                folder = self.path.resolve().name.encode()[:60].decode(errors="ignore")
                self._name = f"model2vec:{folder}:{_digest(self.path)}"
            return self._name

    def check(self) -> None:
        """Look at the folder."""
        if not self.path.is_dir():
            raise self._unusable("there is no such folder")
        missing = [name for name in FILES if not (self.path / name).is_file()]
        if missing:
            raise self._unusable(f"the folder holds no {' and no '.join(missing)}")
        try:
            facts = json.loads((self.path / FILES[0]).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            facts = None
        if not isinstance(facts, dict):
            raise self._unusable("its config.json cannot be read")
        if find_spec("model2vec") is None:
            raise ConfigError(
                f"EMBEDDER is 'model2vec:{self.path}', and the package model2vec that reads it is not installed. "
                "Run `pip install 'prompt-engine[static]'`, or remove EMBEDDER to work by words alone.",
                flag="EMBEDDER",
            )

    def embed(self, texts: Sequence[str]) -> Any:
        """Return one vector for each text."""
        return self._load().encode(list(texts), use_multiprocessing=False)

    def _load(self) -> Any:
        with self._reading:
            if self._model is None:
                self.check()
                from model2vec import StaticModel  # noqa: PLC0415 - heavy, and needed where a folder is named

                try:
                    self._model = StaticModel.from_pretrained(self.path, force_download=False)
                except Exception as error:  # noqa: BLE001 - what the files hold decides what is raised
                    failed = self._unusable(f"its files hold no static model [{type(error).__name__}]")
                else:
                    return self._model
                raise failed
            return self._model

    def _unusable(self, why: str) -> ConfigError:
        return ConfigError(
            f"EMBEDDER is 'model2vec:{self.path}': {why}. It must be a folder with {', '.join(FILES)}, as "
            "StaticModel.save_pretrained of the package model2vec writes it; nothing is downloaded. Correct the path, "
            "or remove EMBEDDER to work by words alone.",
            flag="EMBEDDER",
        )


def _digest(folder: Path) -> str:
    made = hashlib.sha256()
    for name in FILES:
        with (folder / name).open("rb") as file:
            while part := file.read(_READ_BYTES):
                made.update(part)
    return made.hexdigest()[:12]
