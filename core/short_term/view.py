"""What a scope may see of the entries, and the form they are handed out in.

Called by the rooms of `short_term` and by its section of the prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from ..audience.view import Request, Viewer
from ..audience.view_statement import look
from ..base import logs
from ..config import Settings
from ..database.engine import Database
from ..errors import StoreError
from ..scope import Scope
from ..text.times import zone
from . import cache as short_term_cache
from . import rules
from . import table as short_term
from . import table_reading as store
from .capture import life_of
from .shapes import Chosen, Entry, ShortTermEntry, ShortTermSection, newest_first
from .table_reading import Lookup

SPARE = 6
"""Entries a prompt reads beyond the channels shown, for those whose lines stand in its history lists."""


def seen_by(
    db: Database, scope: Scope, lookups: Sequence[Lookup], settings: Settings, narrow: store.Narrow = tuple
) -> tuple[Entry, ...]:
    """Return the entries looked up that a scope sees, newest first.

    Entries that turn out to have expired are removed.

    Args:
        narrow: says which of them are wanted, before their texts are read.

    Raises:
        StoreReadError: nothing could be read.
    """
    destination = scope.destination or settings.prompt_destination
    private = bool(settings.private_stays_private)
    with db.one_call():
        viewer = look(db, scope, Request(bare=True), destination=destination, private_stays_private=private).viewer
        wanted = seen_from(viewer, lookups)
        found = store.read(
            db, viewer, wanted, life=life_of(settings), cached=settings.short_term_cache_entries, narrow=narrow
        )
    if found.expired:
        remove_expired(db, viewer.scope.persona, found.expired, settings)
    return newest_first(tuple(found.entries))


def remove_expired(db: Database, persona: str, ids: Sequence[int], settings: Settings) -> None:
    """Remove expired entries that a read has met; a database that takes no writes does not disturb the read."""
    try:
        gone = short_term.expire(db, persona, ids, life=life_of(settings))
    except StoreError as error:
        logs.warning("short_term_not_expired", source=error.source, number=error.number)
        return
    short_term_cache.of(db).count(expirations=gone)


def lookups_of_user(user: str, channel: str, settings: Settings, most: int | None = None) -> list[Lookup]:
    """Return what is read of a person: the entries under their key, and those of identities linked to it."""
    wide = bool(settings.short_term_cross_server)
    return [
        Lookup("owner", "user", user, channel, most, wide),
        Lookup("linked", "user", user, channel, most, wide),
    ]


def seen_from(viewer: Viewer, lookups: Sequence[Lookup]) -> list[Lookup]:
    """Return the lookups that can bring something: other identities of a person meet in direct messages.

    Elsewhere they are of another server, which is shown by its flag alone, and to the same person alone.
    """
    me = {viewer.scope.participant, viewer.person} - {None}
    wanted = [each if each.owner in me or not me else replace(each, elsewhere=False) for each in lookups]
    return [each for each in wanted if each.which != "linked" or each.elsewhere or viewer.privacy == "direct"]


def of_lineage(lineage: str) -> store.Narrow:
    """Return what leaves the entries of a lineage, all of them where it is blank."""
    return lambda entries: [each for each in entries if not lineage or each.lineage == lineage]


def lookups_of_context(
    user: str | None, server: str, channel: str | None, settings: Settings, spare: int = 0
) -> list[Lookup]:
    """Return what a context reads: the newest other channels of person and server, and the channel's own entries.

    Args:
        spare: entries read of each beyond the channels shown.
    """
    most = settings.short_term_max_channels + spare if settings.short_term_max_channels else 0
    made: list[Lookup] = []
    if user:
        made += lookups_of_user(user, channel or "", settings, most) if most else []
    if server and most:
        made.append(Lookup("owner", "server", server, channel or "", most))
    if channel and (user or server):
        made.append(Lookup("channel", "user", user or "", channel, 2, server=server))
    return made


def choose(entries: Sequence[Entry], channel: str | None, most: int) -> Chosen:
    """Return the entries a context in a channel shows."""
    # Beside the key the channel's id alone, for hosts that name no interface when they store a turn.
    names = {channel, channel.partition("/")[2]} - {""} if channel else set()
    return rules.choose(entries, names, most)


def sections_of(chosen: Chosen, settings: Settings, now: datetime) -> list[tuple[Entry, ShortTermSection]]:
    """Return what a context shows of each entry chosen, newest first, entries with nothing to show left out."""
    life, tz = life_of(settings), zone(settings.timezone)
    assert tz is not None
    made = []
    for entry in chosen.all:
        read = rules.as_read(entry, now, life)
        shown = rules.section(read, now, tz, own=entry is chosen.own) if read is not None else None
        if shown is not None:
            made.append((entry, shown))
    return made


def shown(entry: Entry, settings: Settings, now: datetime) -> ShortTermEntry:
    """Return an entry as it is handed out; of another server nobody is told where it is."""
    if entry.elsewhere:
        entry = replace(entry, channel="", channel_name=rules.ELSEWHERE, server="", server_name="")
    every = settings.short_term_summary_every
    return {
        "key": "" if entry.elsewhere else rules.entry_key(entry.owner_kind, entry.owner, entry.channel, entry.persona),
        "channel": entry.channel,
        "channel_name": entry.channel_name,
        "server": entry.server,
        "server_name": entry.server_name,
        "persona": entry.persona,
        "lineage": entry.lineage,
        "messages": [
            {
                "role": item.role,
                "content": item.content,
                "speaker": item.speaker,
                "timestamp": item.at.isoformat() if item.at else "",
            }
            for item in entry.items
        ],
        "summary": entry.summary or None,
        "summary_updated": entry.summary_at.isoformat() if entry.summary_at else None,
        "last_updated": entry.updated.isoformat() if entry.updated else "",
        "age": rules.relative_age(entry.updated or now, now),
        "turns_since_summary": entry.turns,
        "summary_due": rules.is_summary_due(len(entry.items), entry.turns, every),
    }
