"""`Call`: database, settings and scope of one call of a public function."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from types import FrameType
from typing import TypedDict

from ..access.load import load_snapshot
from ..access.rules import plain_key
from ..access.table_conversations import resolve_key, resolve_scope
from ..access.view import AccessSnapshot, Request, Viewer
from ..config import GivenSettings as GivenSettings
from ..config import Settings
from ..database.engine import Database
from ..errors import ConfigError
from ..index.entries import CALENDAR, Calendar
from ..scope import KEY_BYTES, Destination, Scope, key_text
from . import defaults


@dataclass(frozen=True, slots=True)
class Call:
    db: Database
    settings: Settings
    scope: Scope
    viewer: Viewer | None = None
    """The audiences that the scope sees; None until they are read."""

    @property
    def persona(self) -> str:
        return self.scope.persona

    @property
    def destination(self) -> Destination:
        """Return the scope's destination, else PROMPT_DESTINATION."""
        return self.scope.destination or self.settings.prompt_destination


class CallOptions(TypedDict, total=False):
    """Keyword arguments of every public function; for missing arguments, the defaults of the process apply."""

    db: Database | None
    settings: GivenSettings
    scope: Scope | None


def open_call(
    db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None, **unknown: object
) -> Call:
    _refuse(unknown)
    known_db = defaults.handle(db)
    known = defaults.settings_for(settings)
    try:  # the index has one zone, that of the process; `settings` may have the zone of an asker
        shared = known if settings is None else defaults.settings_for()
    except ConfigError:  # a call with settings of its own needs no file
        shared = known
    known_db.caches[CALENDAR] = Calendar(shared.timezone or "UTC", known.languages)
    return Call(known_db, known, resolve_scope(known_db, defaults.scope_for(scope, known)))


def settings_of(options: CallOptions) -> Settings:
    """Return the settings of a call that needs neither database nor scope."""
    _refuse([name for name in options if name not in CallOptions.__annotations__])
    return defaults.settings_for(options.get("settings"))


def _refuse(unknown: Iterable[str]) -> None:
    """Raise TypeError for an unknown argument, with the name of the function that the host called."""
    for name in unknown:
        package, called = __name__.partition(".")[0], ""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None:
            module = frame.f_globals["__name__"]
            if module.partition(".")[0] != package or module.endswith(".aio"):
                break
            called, frame = frame.f_code.co_name, frame.f_back
        raise TypeError(f"{called}() got an unexpected keyword argument {name!r}")


def find_key(call: Call, conversation: object, field: str = "interface_path") -> str:
    """Return the stored key of the named conversation, on the server of the call's scope."""
    key = key_text(conversation, field, KEY_BYTES["conversation"], required=True)
    own = call.scope.conversation  # `open_call` has resolved it
    if own is not None and key == plain_key(own):
        return own
    return resolve_key(call.db.read, call.scope, key)


def load_access(call: Call, request: Request = Request()) -> AccessSnapshot:  # noqa: B008 - it is frozen
    return load_snapshot(call.db, call.scope, request, destination=call.destination, settings=call.settings)


def load_viewer(call: Call, conversation: str | None = None) -> Viewer:
    """Return the viewer of the call's scope; a scope without a conversation sees what `conversation` sees."""
    if conversation is not None and call.scope.conversation is None:
        call = replace(call, scope=replace(call.scope, conversation=conversation))
    return load_access(call).viewer
