"""The state of one call of `build_json_prompt`, handed from stage to stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import search as searching
from ..audience.view import Viewer
from ..config import Settings
from ..database.engine import Database
from ..scope import Scope
from ..search.reading.found_rows import FoundRow
from ..shapes import IncomingMessage
from .guard import Guard
from .report import Report


@dataclass(slots=True)
class Run:
    """The state of one call."""

    raw: Any
    message: IncomingMessage
    context_memory: Any
    interface_name: str | None
    history_scope: str | None
    settings: Settings
    scope: Scope
    destination: str
    report: Report
    guard: Guard
    db: Database | None = None
    tags: list[str] = field(default_factory=list)
    keywords: list[str] = field(default_factory=list)
    viewer: Viewer | None = None
    search: searching.Search | None = None
    found: dict[tuple[int, int], FoundRow] = field(default_factory=dict)
    chosen: list[searching.Chosen] = field(default_factory=list)

    @property
    def down(self) -> bool:
        """Return whether the database did not answer; nothing stored is asked for again in this call."""
        return self.guard.down

    def stand_in(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        """Return what a host's stand-in for one of our functions gives.

        Raises:
            Exception: whatever it raises.
        """
        common = {"db": self.db, "settings": self.settings, "scope": self.scope}
        return self.guard.call(function, {**arguments, **common})

    @property
    def arguments(self) -> dict[str, Any]:
        """Return what hooks get."""
        return {
            "message": self.raw,
            "context_memory": self.context_memory,
            "interface_name": self.interface_name,
            "text": self.message.text,
        }
