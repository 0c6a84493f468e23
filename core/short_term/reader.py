"""Public functions that read short-term entries: of a person, of a server, and for a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Unpack

from ..access.rules import plain_key
from ..calls.call import Call, CallOptions, load_viewer, open_call
from ..calls.defaults import clock
from ..config import Settings
from ..errors import MessageError, StoreError
from ..scope import Scope, has_current_scope
from ..text.times import iso_text, parse_time, zone
from . import rules, table, table_reading, turns
from .shapes import Entry, ShortTermEntry, ShortTermSection, ShortTermStats, Turn
from .table_reading import Lookup


def get_for_user(
    user: object,
    exclude_channel: object = None,
    persona: object = None,
    lineage: object = None,
    **options: Unpack[CallOptions],
) -> list[ShortTermEntry]:
    """Return a person's newest entry of each channel, newest first, ties by channel.

    With a scope, only entries that the scope sees are returned; a scope without conversation sees the same as a prompt
    in `exclude_channel`. Without a scope, or if the scope names only a persona and `exclude_channel` is missing, all
    entries of the person are returned.

    Args:
        user: id, or key `interface/id`; a blank id has no entries.
        exclude_channel: a channel to leave out, usually the current one.
        persona: id; None for the scope's persona.
        lineage: only entries of personas with this lineage id.
    """
    call = turns.enter_persona(open_call(**options), persona)
    own = call.scope
    who, channel = turns.build_key(user, "user", own), turns.find_channel(call, exclude_channel)
    if who is None:
        return []
    asking = replace(own, conversation=own.conversation or channel, participant=own.participant or who)
    persona_alone = own == Scope(own.persona, destination=own.destination) and channel is None
    lookup = Lookup("person", who, channel or "", trusted=_is_without_scope(options.get("scope")) or persona_alone)
    return _list_entries(replace(call, scope=asking), lookup, lineage)


def get_for_server(
    server: object,
    exclude_channel: object = None,
    persona: object = None,
    lineage: object = None,
    **options: Unpack[CallOptions],
) -> list[ShortTermEntry]:
    """Return the newest entry of each channel of a server, newest first, ties by channel; otherwise as `get_for_user`.

    A scope without server and conversation sees the public entries of this server. Without a scope, all entries of the
    server are returned.

    Args:
        server: id of the community; a blank id has no entries.
        exclude_channel, persona, lineage: as for `get_for_user`.
    """
    call = turns.enter_persona(open_call(**options), persona)
    own = call.scope
    name = turns.read_id(server, "server")
    channel = turns.find_channel(call, exclude_channel, server=name)
    if name is None:
        return []
    server_id = own.server or (name if own.conversation is None else "")
    asking = replace(own, conversation=own.conversation or channel, server=server_id)
    lookup = Lookup("server", name, channel or "", trusted=_is_without_scope(options.get("scope")))
    return _list_entries(replace(call, scope=asking), lookup, lineage)


def _is_without_scope(scope: Scope | None) -> bool:
    """Return whether no scope is passed or set by `use_scope`: then the host itself asks, and may see everything."""
    return scope is None and not has_current_scope()


def _list_entries(call: Call, lookup: Lookup, lineage: object) -> list[ShortTermEntry]:
    """Return the newest entry of each channel found; with a lineage, only entries of this lineage."""
    newest: dict[str, Entry] = {}
    for entry in _read_visible(call, [lookup], lineage):
        newest.setdefault(entry.channel, entry)
    return [_build_listed(entry, call.persona, call.db.clock()) for entry in newest.values()]


def build_short_term_context(
    user: object,
    channel: object,
    server: object = None,
    *,
    persona: object = None,
    lineage: object = None,
    is_direct: bool | None = None,
    interface: str | None = None,
    **options: Unpack[CallOptions],
) -> list[ShortTermSection]:
    """Return the section `context.short_term` of a prompt in this channel, newest first.

    It has this channel's summary, and the summaries or lines of up to SHORT_TERM_MAX_CHANNELS other channels.

    Args:
        user, channel, server, persona, lineage, is_direct, interface: as for `store_short_term_memory`.

    >>> from prompt_engine import Scope, open_database, short_term
    >>> db, scope, said = open_database("sqlite://"), Scope("iris"), [{"text": "hi", "speaker": "Ann"}]
    >>> _ = short_term.store_short_term_memory("tg/7", "tg/42", said, "s1", db=db, scope=scope)
    >>> short_term.build_short_term_context("tg/7", "tg/43", "s1", db=db, scope=scope)
    [{'channel': 'tg/42', 'age': 'just now', 'lines': ['Ann: "hi"']}]
    """
    call = turns.enter_persona(open_call(**options), persona)
    turn = Turn(user=user, channel=channel, server=server, interface=interface or "", is_direct=is_direct)
    own = turns.find_place(call.db, turn, call.scope).scope
    lookups = plan_lookups(own.participant, own.server, own.conversation, call.settings)
    entries = _read_visible(replace(call, scope=own), lookups, lineage) if lookups else []
    chosen, _ = rules.choose_entries(entries, own.conversation, call.settings.short_term_max_channels)
    return build_sections(chosen, call.settings, call.db.clock())


def relative_age(moment: object, now: object = None, **options: Unpack[CallOptions]) -> str:
    """Return how long ago a moment was, in words; after a week `over a week ago`.

    Args:
        moment: datetime, ISO 8601 text or seconds since 1970; naive means UTC.
        now: the time to compare with, in the same forms; by default the clock's time.

    >>> relative_age("2026-03-10T11:58:00Z", "2026-03-10T12:00:00Z")
    '2 minutes ago'
    """
    times = []
    for name, value in (("moment", moment), ("now", clock(options.get("db"))() if now is None else now)):
        time = parse_time(value)
        if time is None:
            raise MessageError.of_type(name, value, "a datetime, ISO 8601 text or seconds since 1970")
        times.append(time)
    return rules.describe_age(*times)


def get_stats(**options: Unpack[CallOptions]) -> ShortTermStats:
    """Return how many entries the persona has, and how many turns this process failed to store.

    >>> from prompt_engine import Scope, open_database, short_term
    >>> short_term.get_stats(db=open_database("sqlite://"), scope=Scope("iris"))
    {'entries': 0, 'errors': 0}
    """
    call = open_call(**options)
    try:
        entries: int | None = table.count_entries(call.db, call.persona)
    except StoreError:
        entries = None
    return {"entries": entries, "errors": table.read_errors(call.db)}


def _read_visible(call: Call, lookups: Sequence[Lookup], lineage: object) -> list[Entry]:
    """Return the entries found that the call's scope sees, newest first."""
    lookups = [replace(each, lineage=turns.read_id(lineage, "lineage") or "") for each in lookups]
    since = turns.read_since(call.settings, call.db.clock())
    with call.db.request_connection():
        entries = table_reading.read_entries(call.db, load_viewer(call), lookups, since)
    return rules.newest_first(rules.drop_expired(entries, since))


def plan_lookups(
    user: str | None, server: str, channel: str | None, settings: Settings, spare: int = 0
) -> list[Lookup]:
    """Return the section's queries: the newest other channels of person and server, and this channel's summaries."""
    most = settings.short_term_max_channels + spare if settings.short_term_max_channels else 0
    lookups: list[Lookup] = []
    if user and most:
        lookups.append(Lookup("person", user, channel or "", most))
    if server and most:
        lookups.append(Lookup("server", server, channel or "", most))
    if channel and (user or server):
        lookups.append(Lookup("channel", user or "", channel, 1, server=server))
    return lookups


def build_sections(entries: Sequence[Entry], settings: Settings, now: datetime) -> list[ShortTermSection]:
    return [rules.build_section(entry, now, zone(settings.timezone) or UTC) for entry in entries]


def _build_listed(entry: Entry, persona: str, now: datetime) -> ShortTermEntry:
    channel = plain_key(entry.channel)
    return {
        "key": rules.build_key(entry.user, channel, persona),
        "channel": channel,
        "channel_name": entry.channel_name,
        "server": entry.server,
        "server_name": entry.server_name,
        "persona": persona,
        "lineage": entry.lineage,
        "messages": [rules.build_message(item) for item in entry.items],
        "summary": entry.summary or None,
        "summary_updated": entry.summary_at.isoformat() if entry.summary_at else None,
        "last_updated": iso_text(entry.updated),
        "age": rules.describe_age(entry.updated or now, now),
        "turns_since_summary": entry.turns,
        "summary_due": rules.is_summary_due(len(entry.items), entry.turns),
    }
