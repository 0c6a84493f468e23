"""What holds for every row of a search: persona, times, conversations that are left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, or_

from ..database.dialects import Time, from_microseconds

AT_LEAST, AT_MOST = -(2**63) + 1, 2**63 - 1
"""Times in microseconds that bound nothing."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What holds for every row of a search."""

    persona: str
    since_us: int = AT_LEAST
    """Earliest time. Rows whose time cannot be read count as oldest: they are in where there is no earliest time."""
    until_us: int = AT_MOST
    local_only: bool = False
    """Take rows marked local_only too."""
    without_conversations: tuple[str, ...] = ()
    """Conversation keys whose chat rows are left out."""
    here: str = ""
    """The active conversation, whose session items do not expire."""

    @property
    def bounds(self) -> tuple[bool, bool]:
        """Return whether there is an earliest and a latest time."""
        return self.since_us != AT_LEAST, self.until_us != AT_MOST

    def values(self) -> dict[str, Any]:
        """Return the parameters of statements that read rows."""
        since, until = self.bounds
        return {
            "persona": self.persona,
            "since": from_microseconds(self.since_us) if since else None,
            "until": from_microseconds(self.until_us) if until else None,
            "local_only": int(self.local_only),
            "without": list(self.without_conversations),
            "here": self.here,
        }


def window_conditions(column: Any, bounds: tuple[bool, bool]) -> list[Any]:
    """Return the conditions of a time window over rows. A row whose time is missing counts as oldest."""
    since, until = bounds
    made = [column >= bindparam("since", type_=Time())] if since else []
    if until:
        before = column < bindparam("until", type_=Time())
        made.append(before if since else or_(before, column.is_(None)))
    return made
