"""What routes work with: `AdminContext`, made once by `admin.app.create_app`; `AdminCall`, made for each request."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ..calls import defaults
from ..calls.call import Call, GivenSettings
from ..config import Settings
from ..database.engine import Database
from ..scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminContext:
    """What every route works with."""

    db: Database | None = None
    """None for the database of the process."""
    settings: GivenSettings = None
    """As doors take them; None for those of the process."""
    model: Any = None
    """What consolidation asks; None for that of the process."""
    prefix: str = "/admin"
    """What every path begins with; neither blank nor ending in a slash."""
    token: str = field(default="", repr=False)
    """ADMIN_TOKEN as it was when the application was made."""
    allowed_hosts: frozenset[str] = frozenset()
    """Names in the Host header that are answered, in lower case, beside loopback and ADMIN_HOST; `*` for all."""

    def values(self) -> Settings:
        """Return the settings as they are now."""
        return defaults.settings_for(self.settings)

    def now(self) -> datetime:
        """Return the time, without opening a database."""
        return (self.db.clock if self.db is not None else defaults.clock())()

    def open_call(self, persona: str) -> Call:
        """Return what doors are passed for a persona: an equality, never a pattern."""
        db = defaults.handle(self.db)
        return Call(db, defaults.settings_for(self.settings), Scope(persona))


@dataclass(frozen=True, slots=True)
class AdminCall:
    """What one request works with."""

    context: AdminContext
    call: Call

    @property
    def asking(self) -> dict[str, Any]:
        """Return the keyword arguments of a door; a door of items is passed `operator=True` beside them."""
        return {"db": self.call.db, "settings": self.call.settings, "scope": self.call.scope}
