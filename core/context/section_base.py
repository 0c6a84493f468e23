"""The interface of a section module: its input, its result, and the three names it defines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from ..access.view import Viewer
from ..config import Settings
from ..database.compiled import Branch
from ..shapes import LeftOut
from .history import HistoryLists
from .incoming import IncomingMessage

StoredRows = Mapping[int, Sequence[Any]]
"""Rows of all sections by number of their kind; `Shape.rows_in` gives those of one kind."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Input of a section."""

    settings: Settings
    viewer: Viewer
    """Who is asking; `viewer.scope` is the scope."""
    message: IncomingMessage
    now: datetime
    """Time of the call."""
    skips_history: bool = False
    """The host asked for a prompt without history lists and thoughts."""
    words: tuple[str, ...] = ()
    """What the message asks for: its words as the search looks for them, and its tags."""


@dataclass(frozen=True, slots=True)
class Built:
    """A section as it enters `context`."""

    value: Any = None
    """None or empty: the key is absent."""
    left_out: tuple[LeftOut, ...] = ()
    ids: tuple[str, ...] = ()
    """Ids of the items of a list, in its order, for the account of what reduction cuts."""
    notes: tuple[str, ...] = ()
    """Sentences for the report."""
    said: tuple[str, ...] = ()
    """Texts of its items without day and name: a memory that says one of them is left out."""


class Section(Protocol):
    """What every section module defines."""

    KEY: str
    """Its key in `context.context.CONTEXT_KEYS`."""

    def wanted(self, asked: Asked) -> Sequence[Branch]:
        """Return the branches to read; none where the section is switched off."""

    def build(self, asked: Asked, rows: StoredRows, lists: HistoryLists) -> Built:
        """Return the section from the rows of its branches; one that failed has none."""
