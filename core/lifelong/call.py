"""The `Call` of a door of `lifelong`: `conf_uid` and `history_uid` name another persona or conversation."""

from __future__ import annotations

from dataclasses import replace

from ..calls.call import Call, GivenSettings, open_call, with_viewer
from ..database.engine import Database
from ..memories.table_reading import Seen
from ..scope import Scope


def open_persona_call(
    db: Database | None,
    settings: GivenSettings,
    scope: Scope | None,
    conf_uid: str | None,
    history_uid: str | None = None,
) -> Call:
    """Return what a door works with; another persona's scope has nothing of the scope's conversation."""
    call = open_call(db, settings, scope)
    own = call.scope
    if conf_uid is not None and str(conf_uid) != own.persona:
        own = Scope(conf_uid, destination=own.destination)
    if history_uid is not None:
        own = replace(own, conversation=history_uid)
    return replace(call, scope=own)


def find_seen(call: Call, operator: bool) -> Seen:
    """Return which items are seen; an operator sees all audiences of the persona."""
    if operator:
        return Seen(call.persona)
    viewer = with_viewer(call).viewer
    assert viewer is not None
    return Seen(call.persona, viewer.audiences, viewer.sees_local_only)
