"""The interface of a section module: its input, its result, and the three names that it must define."""

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
"""Rows by kind number of a section; `Shape.rows_in` gives the rows of one kind."""


@dataclass(frozen=True, slots=True)
class Asked:
    settings: Settings
    viewer: Viewer
    message: IncomingMessage
    now: datetime
    skips_history: bool = False
    words: tuple[str, ...] = ()
    """Words of the message, in the form the search uses, and its tags."""


@dataclass(frozen=True, slots=True)
class Built:
    value: Any = None
    """Content of the section; without content, a key marked `filled` in CONTEXT_KEYS is left out."""
    left_out: tuple[LeftOut, ...] = ()
    ids: tuple[str, ...] = ()
    """Ids of the section's items, in order, for the report on items that were cut."""
    notes: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    """Texts of the section's items without day and name; memories with such a text are left out."""


class Section(Protocol):
    KEY: str
    """Key of the section in `context.context.CONTEXT_KEYS`."""

    def wanted(self, asked: Asked) -> Sequence[Branch]:
        """Return the SELECTs that the section needs; none if the section is switched off."""

    def build(self, asked: Asked, rows: StoredRows, lists: HistoryLists) -> Built:
        """Build the section from the rows of its SELECTs; a failed SELECT gives no rows."""
