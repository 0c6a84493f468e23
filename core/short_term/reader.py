"""Room of `short_term`: reading what is kept, of people, servers and for a prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..calls.defaults import clock, handle, scope_for, settings_for
from ..config import Settings
from ..database.engine import Database
from ..errors import MessageError
from ..scope import KEY_BYTES, Scope
from ..text.times import parse_time
from . import capture as keeping
from . import rules
from . import view as showing
from .rules_turn import read_id, read_lineage
from .shapes import ShortTermEntry, ShortTermSection, Turn
from .table_reading import Lookup


def get_for_user(
    user: object,
    exclude_channel: object = None,
    persona: object = None,
    lineage: object = None,
    *,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> list[ShortTermEntry]:
    """Return what is kept of a person over all channels, newest first, ties by channel.

    Seen is what the scope sees; one that names no conversation sees what a prompt in `exclude_channel` would.

    Args:
        user: id, or key `interface/id`.
        exclude_channel: the channel left out, usually the present one.
        persona: id; None is the scope's.
        lineage: only entries of this lineage.

    Raises:
        MessageError: an id that cannot be one.
        StoreReadError: nothing could be read.
    """
    db = handle(db)
    known = settings_for(settings, db)
    own = keeping.in_persona(scope_for(scope, known), persona)
    who, channel = keeping.user_key(user, own), keeping.channel_key(exclude_channel, own)
    if who is None:
        return []
    asking = replace(own, conversation=own.conversation or channel, participant=own.participant or who)
    return _listed(db, asking, showing.lookups_of_user(who, channel or "", known), known, lineage)


def get_for_server(
    server: object,
    exclude_channel: object = None,
    persona: object = None,
    lineage: object = None,
    *,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> list[ShortTermEntry]:
    """Return what is kept of a server over all channels, newest first, ties by channel; as `get_for_user` otherwise.

    A scope that names neither server nor conversation sees what is public in this server.

    Raises:
        MessageError: an id that cannot be one.
        StoreReadError: nothing could be read.
    """
    db = handle(db)
    known = settings_for(settings, db)
    own = keeping.in_persona(scope_for(scope, known), persona)
    name = read_id(server, "server", KEY_BYTES["server"])
    channel = keeping.channel_key(exclude_channel, own)
    if name is None:
        return []
    server_id = own.server or (name if own.conversation is None else "")
    asking = replace(own, conversation=own.conversation or channel, server=server_id)
    return _listed(db, asking, [Lookup("owner", "server", name, channel or "")], known, lineage)


def _listed(
    db: Database, scope: Scope, lookups: Sequence[Lookup], known: Settings, lineage: object
) -> list[ShortTermEntry]:
    entries = showing.seen_by(db, scope, lookups, known, showing.of_lineage(read_lineage(lineage)))
    return [showing.shown(entry, known, db.clock()) for entry in entries]


def build_short_term_context(
    user: object,
    channel: object,
    server: object = None,
    *,
    persona: object = None,
    lineage: object = None,
    is_direct: bool = False,
    interface: str | None = None,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> list[ShortTermSection]:
    """Return what a prompt in this channel shows of a moment ago, newest first.

    Of the channel itself its summary alone; of at most SHORT_TERM_MAX_CHANNELS others the summary, else the lines.
    `build_json_prompt` puts the same into `context.short_term` by itself.

    Args:
        user, channel, server, persona, lineage: as for `store_short_term_memory`.

    Returns:
        `{channel, age, summary}` or `{channel, age, lines}`; [] where there is nothing.

    Raises:
        MessageError: an id that cannot be one.
        StoreReadError: nothing could be read.
    """
    db = handle(db)
    known = settings_for(settings, db)
    own = keeping.in_persona(scope_for(scope, known), persona)
    turn = Turn(user=user, channel=channel, server=server, interface=interface or "", is_direct=is_direct)
    where = keeping.where_of(turn, own)
    lookups = showing.lookups_of_context(where.place.user, where.place.server, where.place.channel, known)
    if not lookups:
        return []
    of_lineage, most = showing.of_lineage(read_lineage(lineage)), known.short_term_max_channels
    entries = showing.seen_by(
        db,
        where.scope,
        lookups,
        known,
        lambda found: showing.choose(of_lineage(found), where.place.channel, most).all,
    )
    chosen = showing.choose(entries, where.place.channel, most)
    return [section for _, section in showing.sections_of(chosen, known, db.clock())]


def relative_age(
    moment: object,
    now: object = None,
    *,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,  # noqa: ARG001 - every door takes it
    scope: Scope | None = None,  # noqa: ARG001 - every door takes it
) -> str:
    """Return how long ago something was, in words, such as `2 minutes ago`.

    Args:
        moment: datetime, ISO 8601 text or seconds since 1970; naive is UTC.
        now: the same; the clock's time by default.

    Raises:
        MessageError: a time that cannot be read.

    >>> relative_age("2026-03-10T11:58:00Z", "2026-03-10T12:00:00Z")
    '2 minutes ago'
    """
    read = parse_time(moment)
    present = (db.clock if db is not None else clock())() if now is None else parse_time(now)
    for name, value, found in (("moment", moment, read), ("now", now, present)):
        if found is None:
            raise MessageError(
                f"{name} is of type {type(value).__name__} and cannot be read. It must be a datetime, ISO 8601 text or "
                "seconds since 1970.",
                fields=(name,),
            )
    assert read is not None and present is not None
    return rules.relative_age(read, present)
