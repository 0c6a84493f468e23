"""What the two Markdown files of memories stand for: the rows of each, and what a change in it does to them.

Called by `conversations.memory_files` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Protocol

from ..audience.view import Viewer
from ..calls import screening
from ..config import Settings
from ..database.engine import Database
from ..scope import Scope
from ..text.times import zone
from . import rules_markdown as files
from . import (
    table_saved as saved,
)
from . import (
    table_summaries as summaries,
)
from . import (
    table_summary_edits as summary_edits,
)
from .recent import viewer_of
from .rules_markdown import File, Item
from .rules_summaries import UNTITLED, shown_time

TITLE_CHARS = 200
BY = "file"
"""Who changed a text, in its history."""


@dataclass(slots=True)
class Access:
    """Whose rows a call works with."""

    db: Database
    settings: Settings
    scope: Scope
    viewer: Viewer = field(init=False)

    def __post_init__(self) -> None:
        self.look()

    def look(self) -> None:
        """Work out again what the scope sees: its first row makes its audience."""
        self.viewer = viewer_of(self.db, self.settings, self.scope)


class Kind(Protocol):
    """One of the two files."""

    name: str

    @property
    def read(self) -> Callable[[str], File]:
        """Return what takes the file apart."""

    @property
    def write(self) -> Callable[[File, Sequence[tuple[Item, int | None]]], str]:
        """Return what puts rows into it."""

    def rows(self) -> dict[int, Item]:
        """Return the rows the scope sees, oldest first, and what each says as the file shows it."""

    def change(self, row: int, item: Item) -> bool:
        """Let a row say what its section says now."""

    def archive(self, row: int) -> bool:
        """Take a row off the list."""

    def add(self, item: Item, at: datetime) -> int | str:
        """Store a new one, said at `at` where it names no time; return its row id, or why it is not taken."""


class RecentFile:
    """Recent conversations, a section each."""

    name = "Recent Conversations.md"
    read = staticmethod(files.read_sections)
    write = staticmethod(files.write_sections)

    def __init__(self, access: Access) -> None:
        self._a = access

    def rows(self) -> dict[int, Item]:
        a = self._a
        found = summaries.listed(
            a.db,
            a.scope.persona,
            a.viewer.audiences,
            most=a.settings.max_recent_conversations,
            local=a.viewer.sees_local_only,
        )
        zone_name = a.settings.timezone
        return files.known((one.id, Item(one.title, shown_time(one.at, zone_name), one.summary)) for one in found)

    def change(self, row: int, item: Item) -> bool:
        a, title = self._a, item.title[:TITLE_CHARS] or UNTITLED
        at = self._time(item.time)
        return summary_edits.change(a.db, a.scope.persona, row, title=title, summary=item.text, at=at, by=BY)

    def archive(self, row: int) -> bool:
        return summary_edits.archive(self._a.db, self._a.scope.persona, row)

    def add(self, item: Item, at: datetime) -> int | str:
        a = self._a
        made = summary_edits.insert(
            a.db,
            a.scope,
            title=item.title[:TITLE_CHARS] or UNTITLED,
            summary=item.text,
            at=self._time(item.time) or at,
            most=a.settings.max_recent_conversations,
        )
        a.look()
        return made.id if made.id is not None else made.reason

    def _time(self, shown: str) -> datetime | None:
        """Return a time as a person wrote it, None where it cannot be read."""
        try:
            local = datetime.strptime(shown, "%Y-%m-%d %H:%M")  # noqa: DTZ007 - the zone is put in below
        except ValueError:
            return None
        return local.replace(tzinfo=zone(self._a.settings.timezone) or UTC).astimezone(UTC)


class SavedFile:
    """Saved memories, a bullet each."""

    name = "Saved Memories.md"
    read = staticmethod(files.read_bullets)
    write = staticmethod(files.write_bullets)

    def __init__(self, access: Access) -> None:
        self._a = access

    def rows(self) -> dict[int, Item]:
        a = self._a
        found = saved.listed(a.db, a.scope.persona, a.viewer.audiences, local=a.viewer.sees_local_only)
        return files.known((one.id, Item(text=one.text)) for one in found)

    def change(self, row: int, item: Item) -> bool:  # noqa: ARG002 - as the other file has it
        """Do nothing: a bullet that says something else is another memory."""
        return False

    def archive(self, row: int) -> bool:
        a = self._a
        return saved.archive(a.db, a.scope, row, seen=a.viewer.audiences, local=a.viewer.sees_local_only).stored

    def add(self, item: Item, at: datetime) -> int | str:
        a, most = self._a, self._a.settings.saved_memory_chars
        if len(item.text) > most:
            return f"too_long, it has {len(item.text)} of at most {most} characters"
        flagged, notes = screening.is_flagged(item.text, "memory", settings=a.settings, screen=None)
        new = saved.new(item.text, now=at, source=saved.BY_FILE, provenance="import")
        new = replace(new, quarantined=int(flagged), notes=(*new.notes, *notes))
        made = saved.add(a.db, a.scope, new, privacy_default=a.settings.privacy_default)
        a.look()
        return made.id if made.id is not None else made.reason
