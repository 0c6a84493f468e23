"""What routes work with: `WebContext` for the application, `AdminCall` for one request of an operator."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ..calls import defaults
from ..calls.call import Call, GivenSettings
from ..config import Settings
from ..database.engine import Database
from ..scope import Scope
from .access import Sessions

ADMIN = "/admin"
"""Path of the operator's routes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebContext:
    """What every route works with. Settings are read at each request, so a changed flag acts at once."""

    db: Database | None = None
    """None for the database of the process."""
    settings: GivenSettings = None
    model: Any = None
    """What consolidation asks; None for that of the process."""
    allowed_hosts: frozenset[str] = frozenset()
    """Names in the Host header that are answered, in lower case, beside loopback and ADMIN_HOST; `*` for all."""
    admin_token: str = field(default="", repr=False)
    """ADMIN_TOKEN when the application was made; blank without the operator's routes."""
    has_proxy: bool = False
    has_mcp: bool = False
    sessions: Sessions = field(default_factory=Sessions)
    oauth: Any = None
    """The `mcp.oauth.Provider` by which the operator connects remote programs; None without a public address."""

    def database(self) -> Database:
        db: Database = defaults.handle(self.db)
        return db

    def values(self) -> Settings:
        return defaults.settings_for(self.settings)

    def now(self) -> datetime:
        return (self.db.clock if self.db is not None else defaults.clock())()


@dataclass(frozen=True, slots=True)
class AdminCall:
    context: WebContext
    call: Call

    @property
    def asking(self) -> dict[str, Any]:
        """Return the keyword arguments of a public function; one about items also gets `operator=True`."""
        return {"db": self.call.db, "settings": self.call.settings, "scope": self.call.scope}


def open_admin_call(context: WebContext, persona: str) -> AdminCall:
    return AdminCall(context, Call(context.database(), context.values(), Scope(persona)))
