"""Reading what is kept, of people, servers and for a prompt: what a scope sees, and the form it is handed out in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from ..access.rules import plain_key
from ..access.view import Viewer
from ..base import logs
from ..calls.call import Call, GivenSettings, load_access, open_call
from ..calls.defaults import clock
from ..config import Settings
from ..database.engine import Database
from ..errors import MessageError, StoreError
from ..scope import KEY_BYTES, Scope, has_current_scope
from ..text.times import parse_time, zone
from . import counts, places, rules, table, table_reading
from .rules_turn import read_id, read_lineage
from .shapes import Chosen, Entry, ShortTermEntry, ShortTermSection, Turn, newest_first
from .table_reading import Lookup

SPARE = 6
"""Entries a prompt reads beyond the channels shown, for those whose lines stand in its history lists."""

# The doors


def get_for_user(
    user: object,
    exclude_channel: object = None,
    persona: object = None,
    lineage: object = None,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> list[ShortTermEntry]:
    """Return what is kept of a person over all channels, newest first, ties by channel.

    Seen is what the scope sees; one that names no conversation sees what a prompt in `exclude_channel` would. Without a
    scope, or with one that names a persona alone, it is the host that asks: all entries of the person.

    Args:
        user: id, or key `interface/id`.
        exclude_channel: the channel left out, usually the present one.
        persona: id; None is the scope's.
        lineage: only entries of this lineage.

    Returns:
        One entry a channel; [] where there is none, or the id is blank.

    Raises:
        MessageError: an id that cannot be one.
        StoreReadError: nothing could be read.

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.short_term import get_for_user, store_short_term_memory
    >>> db, scope = open_database("sqlite://"), Scope("iris", "tg/42", "tg/7")
    >>> _ = store_short_term_memory("tg/7", "tg/42", [{"text": "we fly on Friday"}], db=db, scope=scope)
    >>> [line["content"] for entry in get_for_user("tg/7", db=db, scope=scope) for line in entry["messages"]]
    ['we fly on Friday']
    >>> db.close()
    """
    call = places.enter_persona(open_call(db, settings, scope), persona)
    own = call.scope
    who, channel = places.build_user_key(user, own), places.find_channel(call, exclude_channel)
    if who is None:
        return []
    asking = replace(own, conversation=own.conversation or channel, participant=own.participant or who)
    lookups = plan_user_lookups(who, channel or "")
    persona_alone = own == Scope(own.persona, destination=own.destination) and channel is None
    if _is_without_scope(scope) or persona_alone:
        lookups = [replace(each, trusted=True) for each in lookups]
    return _list_entries(replace(call, scope=asking), lookups, lineage)


def get_for_server(
    server: object,
    exclude_channel: object = None,
    persona: object = None,
    lineage: object = None,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> list[ShortTermEntry]:
    """Return what is kept of a server over all channels, newest first, ties by channel; as `get_for_user` otherwise.

    A scope that names neither server nor conversation sees what is public in this server; without a scope it is the
    host that asks: all entries of the server.

    Args:
        server: id of the community.
        exclude_channel, persona, lineage: as for `get_for_user`.

    Returns:
        One entry a channel; [] where there is none, or the id is blank.

    Raises:
        MessageError: an id that cannot be one.
        StoreReadError: nothing could be read.

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.short_term import get_for_server, store_short_term_memory
    >>> db, scope = open_database("sqlite://"), Scope("iris", "tg/42", "tg/7", "s1")
    >>> _ = store_short_term_memory("tg/7", "tg/42", [{"text": "hi"}], "s1", db=db, scope=scope)
    >>> [(entry["server"], entry["channel"]) for entry in get_for_server("s1", db=db, scope=scope)]
    [('s1', 'tg/42')]
    >>> db.close()
    """
    call = places.enter_persona(open_call(db, settings, scope), persona)
    own = call.scope
    name = read_id(server, "server", KEY_BYTES["server"])
    channel = places.find_channel(call, exclude_channel, server=name)
    if name is None:
        return []
    server_id = own.server or (name if own.conversation is None else "")
    asking = replace(own, conversation=own.conversation or channel, server=server_id)
    lookup = Lookup("server", name, channel or "", trusted=_is_without_scope(scope))
    return _list_entries(replace(call, scope=asking), [lookup], lineage, newest=True)


def _is_without_scope(scope: Scope | None) -> bool:
    """Return whether nobody said who asks: it is the host itself then, which is trusted."""
    return scope is None and not has_current_scope()


def _list_entries(
    call: Call, lookups: Sequence[Lookup], lineage: object, *, newest: bool = False
) -> list[ShortTermEntry]:
    """Return the entries looked up as they are handed out, of the lineage where one is named; the newest a channel."""
    entries = _keep_lineage(_read_seen(call, lookups), lineage)
    if newest:
        entries = tuple({entry.channel: entry for entry in reversed(entries)}.values())
    return [_build_listed(entry, call.db.clock()) for entry in newest_first(entries)]


def build_short_term_context(
    user: object,
    channel: object,
    server: object = None,
    *,
    persona: object = None,
    lineage: object = None,
    is_direct: bool | None = None,
    interface: str | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
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

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.short_term import build_short_term_context, store_short_term_memory
    >>> db, scope, said = open_database("sqlite://"), Scope("iris"), [{"text": "hi", "speaker": "Ann"}]
    >>> _ = store_short_term_memory("tg/7", "tg/42", said, "s1", db=db, scope=scope)
    >>> build_short_term_context("tg/7", "tg/43", "s1", db=db, scope=scope)
    [{'channel': 'tg/42', 'age': 'just now', 'lines': ['Ann: "hi"']}]
    >>> db.close()
    """
    call = places.enter_persona(open_call(db, settings, scope), persona)
    turn = Turn(user=user, channel=channel, server=server, interface=interface or "", is_direct=is_direct)
    place, own = places.find_place(call.db, turn, call.scope)
    lookups = plan_lookups(place.user, place.server, place.channel, call.settings)
    if not lookups:
        return []
    entries = _keep_lineage(_read_seen(replace(call, scope=own), lookups), lineage)
    chosen = choose_entries(entries, place.channel, call.settings.short_term_max_channels)
    return [section for _, section in build_sections(chosen, call.settings, call.db.clock())]


def relative_age(
    moment: object,
    now: object = None,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,  # noqa: ARG001 - every door takes it
    scope: Scope | None = None,  # noqa: ARG001 - every door takes it
) -> str:
    """Return how long ago something was, in words, such as `2 minutes ago`.

    Args:
        moment: datetime, ISO 8601 text or seconds since 1970; naive is UTC.
        now: the same; the clock's time by default.

    Returns:
        `just now`, minutes, hours or days, `over a week ago`.

    Raises:
        MessageError: a time that cannot be read.

    >>> relative_age("2026-03-10T11:58:00Z", "2026-03-10T12:00:00Z")
    '2 minutes ago'
    """
    read = parse_time(moment)
    present = clock(db)() if now is None else parse_time(now)
    for name, value, time in (("moment", moment, read), ("now", now, present)):
        if time is None:
            raise MessageError(
                f"{name} is of type {type(value).__name__} and cannot be read. It must be a datetime, ISO 8601 text or "
                "seconds since 1970.",
                fields=(name,),
            )
    assert read is not None and present is not None
    return rules.describe_age(read, present)


# What is read, and of it what a scope sees


def _read_seen(call: Call, lookups: Sequence[Lookup]) -> tuple[Entry, ...]:
    """Return the entries looked up that the call's scope sees, newest first; expired ones are removed."""
    db, life = call.db, places.read_life(call.settings)
    with db.one_call():
        viewer = load_access(call).viewer
        met = table_reading.read_entries(db, viewer, keep_visible_lookups(viewer, lookups), life=life)
    now = db.clock()
    live = [entry for each in met if (entry := rules.drop_expired(each, now, life)) is not None]
    counted = counts.counts_for(db)
    counted.add("hits" if live else "misses")
    expired = sorted({entry.id for entry in met} - {entry.id for entry in live})
    if expired:
        try:
            counted.add("expirations", table.delete_expired(db, call.persona, expired, life=life))
        except StoreError as error:  # a database that takes no writes does not disturb the read
            logs.warning("short_term_not_expired", source=error.source, number=error.number)
    return newest_first(tuple(live))


def _keep_lineage(entries: tuple[Entry, ...], given: object) -> tuple[Entry, ...]:
    """Return the entries of a lineage, all of them where none is named."""
    lineage = read_lineage(given)
    return tuple(each for each in entries if not lineage or each.lineage == lineage)


def plan_user_lookups(user: str, channel: str, most: int | None = None) -> list[Lookup]:
    """Return what is read of a person: the entries under their key, and those of identities linked to it."""
    return [Lookup("user", user, channel, most), Lookup("linked", user, channel, most)]


def plan_lookups(
    user: str | None, server: str, channel: str | None, settings: Settings, spare: int = 0
) -> list[Lookup]:
    """Return what a context reads: the newest other channels of person and server, and the channel's summaries."""
    most = settings.short_term_max_channels + spare if settings.short_term_max_channels else 0
    lookups: list[Lookup] = []
    if user and most:
        lookups += plan_user_lookups(user, channel or "", most)
    if server and most:
        lookups.append(Lookup("server", server, channel or "", most))
    if channel and (user or server):
        lookups.append(Lookup("channel", user or "", channel, 1, server=server))
    return lookups


def keep_visible_lookups(viewer: Viewer, lookups: Sequence[Lookup]) -> list[Lookup]:
    """Return the lookups that can bring something: other identities of a person meet in direct messages."""
    return [each for each in lookups if each.which != "linked" or each.trusted or viewer.privacy == "direct"]


# The form it is handed out in


def choose_entries(entries: Sequence[Entry], channel: str | None, most: int) -> Chosen:
    """Return the entries a context in a channel shows."""
    # Beside the key the channel's id alone, for hosts that name no interface when they store a turn.
    names = {channel, plain_key(channel).partition("/")[2]} - {""} if channel else set()
    return rules.choose_entries(entries, names, most)


def build_sections(chosen: Chosen, settings: Settings, now: datetime) -> list[tuple[Entry, ShortTermSection]]:
    """Return what a context shows of each entry chosen, newest first, entries with nothing to show left out."""
    tz = zone(settings.timezone)
    assert tz is not None
    sections = []
    for entry in chosen.all:
        section = rules.build_section(entry, now, tz, own=entry is chosen.own)
        if section is not None:
            sections.append((entry, section))
    return sections


def _build_listed(entry: Entry, now: datetime) -> ShortTermEntry:
    channel = plain_key(entry.channel)
    return {
        "key": rules.build_key(entry.user, channel, entry.persona),
        "channel": channel,
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
        "age": rules.describe_age(entry.updated or now, now),
        "turns_since_summary": entry.turns,
        "summary_due": rules.is_summary_due(len(entry.items), entry.turns),
    }
