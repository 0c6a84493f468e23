"""What every route of the admin application works with, made once by `admin.app.create_app`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ..calls import defaults
from ..config import Settings
from ..database.engine import Database
from ..scope import Scope

Given = Settings | Mapping[str, object] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminContext:
    """What every route works with. Values are resolved at each call, so that a changed flag acts at once.

    >>> context = AdminContext(token="0123456789abcdef")
    >>> context.asking("ada")["scope"].persona, "0123" in repr(context)
    ('ada', False)
    """

    db: Database | None = None
    """None for the database of the process."""
    settings: Given = None
    """As doors take them; None for those of the process."""
    model: Any = None
    """What consolidation and compaction ask; None for that of the process."""
    prefix: str = "/admin"
    """What every path begins with; neither blank nor ending in a slash."""
    token: str = field(default="", repr=False)
    """ADMIN_TOKEN as it was when the application was made."""
    allowed_hosts: frozenset[str] = frozenset()
    """Names in the Host header that are answered, in lower case, beside loopback and ADMIN_HOST; `*` for all."""

    def database(self) -> Database:
        """Return the database, opened at first use.

        Raises:
            StoreError: it cannot be reached.
        """
        known: Database = defaults.handle(self.db)
        return known

    def values(self) -> Settings:
        """Return the settings as they are now, those of the table `config` too."""
        return defaults.settings_for(self.settings, self.database())

    def now(self) -> datetime:
        """Return the time, without opening a database."""
        return (self.db.clock if self.db is not None else defaults.clock())()

    def scope(self, conf_uid: str = "default") -> Scope:
        """Return the scope of a persona: an equality, never a pattern.

        Raises:
            ScopeError: it is blank.
            MessageError: it is too long, or holds what no key may.
        """
        return Scope(persona=conf_uid)

    def asking(self, conf_uid: str = "default") -> dict[str, Any]:
        """Return the keyword arguments of a door: database, settings, scope.

        An operator's call of a door of `lifelong` adds `operator=True`.
        """
        return {"db": self.database(), "settings": self.settings, "scope": self.scope(conf_uid)}
