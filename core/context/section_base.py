"""What a section of `context` is made of: what it may know, what it gives, the three names its module has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from ..audience.view import Viewer
from ..config import Settings
from ..database.section_parts import SectionPart, SectionRow
from ..shapes import IncomingMessage, LeftOut
from .history import HistoryLists


@dataclass(frozen=True, slots=True)
class Asked:
    """What a section may know when it says what it needs."""

    settings: Settings
    viewer: Viewer
    """Who is asking; `viewer.scope` is the scope."""
    message: IncomingMessage
    now: datetime
    """Time of the call."""


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


class Section(Protocol):
    """What a section's module has."""

    KEY: str
    """Its key in `context.context.CONTEXT_KEYS`."""

    def wanted(self, asked: Asked) -> Sequence[SectionPart]:
        """Return the parts to read; none where the section is switched off."""

    def build(self, asked: Asked, rows: Mapping[int, Sequence[SectionRow]], lists: HistoryLists) -> Built:
        """Return the section from the rows of its parts, by part number; a part that failed has none."""
