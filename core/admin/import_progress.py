"""How far the imports at hand are: what `POST /memory/import` tells, and whoever asks meanwhile reads."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Literal

from .answers import ImportAnswer, ImportProgress

MOST_KEPT = 100


@dataclass(slots=True)
class Import:
    """One import that was given an id."""

    progress: ImportProgress
    stopping: bool = False

    def tell(self, stage: str, rows_done: int, rows: int) -> None:
        """Note how far it is; `transfer.items.Progress`."""
        known: Literal["looking", "storing"] = "looking" if stage == "looking" else "storing"
        self.progress = ImportProgress(import_id=self.progress.import_id, stage=known, rows_done=rows_done, rows=rows)

    def end(self, answer: ImportAnswer | None) -> None:
        """Note what it came to; None where it failed."""
        changes = {"stage": "failed" if answer is None else "done", "answer": answer}
        self.progress = self.progress.model_copy(update=changes)

    def should_stop(self) -> bool:
        """Return whether somebody asked it to end between two transactions."""
        return self.stopping


@dataclass(slots=True)
class Imports:
    """The last imports of one application, by persona and id.

    >>> imports = Imports()
    >>> imports.begin("ada", "i1").tell("storing", 1000, 5000)
    >>> found = imports.find("ada", "i1")
    >>> found.progress.rows_done if found else None, imports.find("bob", "i1")
    (1000, None)
    """

    _held: OrderedDict[tuple[str, str], Import] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, persona: str, import_id: str) -> Import:
        """Return a new import; without an id nobody can ask for it."""
        made = Import(ImportProgress(import_id=import_id, stage="looking", rows_done=0, rows=0))
        if import_id:
            with self._lock:
                self._held[persona, import_id] = made
                while len(self._held) > MOST_KEPT:
                    self._held.popitem(last=False)
        return made

    def find(self, persona: str, import_id: str) -> Import | None:
        """Return an import of the persona, None where it is not known, or no more."""
        return self._held.get((persona, import_id))
