"""Whose entries of which channel a host means by the ids it gives."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from ..access.rules import plain_key, said_privacy
from ..access.table_rooms import resolve_key, resolve_scope
from ..calls.call import Call
from ..config import Settings
from ..database.engine import Database
from ..database.readers import reader_for
from ..errors import MessageError
from ..scope import KEY_BYTES, NO_SERVER, Privacy, Scope
from .rules_turn import qualify_id, read_id
from .shapes import Life, Turn
from .table import NewEntry


def read_life(settings: Settings) -> Life:
    """Return how long entries and summaries are read."""
    hours = settings.short_term_memory_ttl_hours, settings.short_term_memory_summary_ttl_hours
    return Life(*(timedelta(hours=each) for each in hours))


def _read_interface(given: object, scope: Scope) -> str:
    """Return the surface that bare ids are of: as given, else that of the scope; blank when neither says."""
    if isinstance(given, str) and given:
        return given
    key = next((key for key in (scope.conversation, scope.participant) if key and "/" in key), "")
    return key.partition("/")[0]


def build_user_key(user: object, scope: Scope, interface: object = None) -> str | None:
    """Return the participant key of a user id, None for none."""
    return qualify_id(user, _read_interface(interface, scope), "user", KEY_BYTES["participant"])


def _build_channel_key(channel: object, scope: Scope, interface: object = None) -> str | None:
    return qualify_id(channel, _read_interface(interface, scope), "channel", KEY_BYTES["conversation"])


def find_channel(call: Call, channel: object, interface: object = None, *, server: str | None = None) -> str | None:
    """Return the key that a channel's entries are stored under, None for none."""
    key = _build_channel_key(channel, call.scope, interface)
    scope = call.scope if server is None else replace(call.scope, server=server)
    return None if key is None else resolve_key(reader_for(call.db, "conversations"), scope, key)


def enter_persona(call: Call, persona: object) -> Call:
    """Return the call in the persona named; None and blank leave it as it is."""
    name = read_id(persona, "persona", KEY_BYTES["persona"])
    return call if name is None else replace(call, scope=replace(call.scope, persona=name))


def build_person_key(who: str, turn: Turn, scope: Scope, otherwise: str) -> str:
    """Return the participant key of a line's id, `otherwise` for an id that fits no column."""
    try:
        return build_user_key(who or None, scope, turn.interface) or otherwise
    except MessageError:
        return otherwise


def find_place(db: Database, turn: Turn, scope: Scope) -> NewEntry:
    """Return the entry of a turn, without items, under the key that its channel is stored under."""
    entry = place_turn(turn, scope)
    own = resolve_scope(db, entry.scope)
    parent = entry.parent_channel
    parent = None if parent is None else resolve_key(reader_for(db, "conversations"), own, parent)
    return replace(entry, scope=own, parent_channel=parent)


def place_turn(turn: Turn, scope: Scope) -> NewEntry:
    """Return the entry of a turn, without items; what the host leaves out is taken from the scope."""
    interface = turn.interface
    user = build_user_key(turn.user, scope, interface) or scope.participant
    own_channel = plain_key(scope.conversation) if scope.conversation else None
    channel = _build_channel_key(turn.channel, scope, interface) or own_channel
    server_id = read_id(turn.server, "server", KEY_BYTES["server"])
    server = scope.server if server_id is None else server_id
    same = channel is not None and own_channel in (None, channel)
    # DM as a server means a direct message unless something else says that the channel is shared.
    shared = False in (turn.is_private, turn.is_direct) or (same and scope.privacy in ("public", "restricted"))
    direct = turn.is_direct is True or (server_id == NO_SERVER and not shared) or (same and scope.privacy == "direct")
    server = "" if direct or server == NO_SERVER else server
    privacy: Privacy | None = "direct" if direct else scope.privacy if same else None
    if not direct and turn.is_private is not None:
        privacy = said_privacy(turn.is_private, None, None, None, server)
    speakers = [item for item in turn.messages if item is not None and item.role == "user"]
    keyed = [(build_person_key(item.who, turn, scope, ""), item.speaker) for item in speakers]
    names = {key: speaker for key, speaker in keyed if key and speaker}
    return NewEntry(
        replace(
            scope,
            conversation=channel,
            participant=user,
            server=server,
            privacy=privacy,
            no_server=server_id == NO_SERVER or scope.no_server,
        ),
        server_name=turn.server_name,
        channel_name=turn.channel_name,
        parent_channel=_build_channel_key(turn.parent_channel, scope, interface),
        names=names | ({user: turn.user_name} if user and turn.user_name else {}),
    )
