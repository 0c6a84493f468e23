"""From what a host hands in to what is written for each persona.

Called by the rooms of `short_term`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast

from ..audience.rules import said_privacy
from ..base import logs
from ..calls import screening
from ..calls.defaults import scope_of as scope_of_message
from ..config import Settings
from ..context.incoming import read_message
from ..database.engine import Database
from ..errors import MessageError
from ..scope import KEY_BYTES, Privacy, Scope
from ..shapes import WriteReason, WriteResult
from ..templates.phrases import load_phrases
from ..templates.refused import refused_patterns
from ..text.host_values import has
from ..text.refusals import judge_refusal
from ..text.remember_phrases import is_explicit_wish
from . import cache as short_term_cache
from . import rules
from . import table as short_term
from . import table_held as short_term_held
from .rules_turn import NO_SERVER, named, personas_of, qualified, read_id
from .shapes import Item, Life, Place, Turn, TurnResult
from .table import Kept, NewEntry

FULL = "full"


def life_of(settings: Settings) -> Life:
    """Return how long entries and summaries are read."""
    return rules.life_of(settings.short_term_memory_ttl_hours, settings.short_term_memory_summary_ttl_hours)


# Whose entries of which channel


@dataclass(frozen=True, slots=True)
class Where:
    """Place and scope of what is written or read."""

    place: Place
    scope: Scope


def interface_of(given: object, scope: Scope) -> str:
    """Return the surface that ids without one are of: as given, else that of the scope; blank when neither says."""
    if isinstance(given, str) and given:
        return given
    key = next((key for key in (scope.conversation, scope.participant) if key and "/" in key), "")
    return key.partition("/")[0]


def user_key(user: object, scope: Scope, interface: object = None) -> str | None:
    """Return the participant key of a user id, None for none."""
    return qualified(user, interface_of(interface, scope), "user", KEY_BYTES["participant"])


def channel_key(channel: object, scope: Scope, interface: object = None) -> str | None:
    """Return the conversation key of a channel id, None for none."""
    return qualified(channel, interface_of(interface, scope), "channel", KEY_BYTES["conversation"])


def in_persona(scope: Scope, persona: object) -> Scope:
    """Return the scope in the persona named; None and blank leave it as it is."""
    name = read_id(persona, "persona", KEY_BYTES["persona"])
    return scope if name is None else replace(scope, persona=name)


def where_of(turn: Turn, scope: Scope) -> Where:
    """Return place and scope of a turn in the scope's persona; what the host leaves out is taken from the scope."""
    interface = turn.interface
    user = user_key(turn.user, scope, interface) or scope.participant
    channel = channel_key(turn.channel, scope, interface) or scope.conversation
    told = read_id(turn.server, "server", KEY_BYTES["server"])
    server = scope.server if told is None else told
    same = channel == scope.conversation
    direct = turn.is_direct or told == NO_SERVER or (same and scope.privacy == "direct")
    server = "" if direct or server == NO_SERVER else server
    privacy: Privacy | None = "direct" if direct else scope.privacy if same else None
    if not direct and turn.is_private is not None:
        privacy = said_privacy(turn.is_private, None, None, None, server)
    place = Place(
        persona=scope.persona,
        user=user,
        channel=channel,
        server=server,
        server_name=turn.server_name,
        channel_name=turn.channel_name,
        parent_channel=channel_key(turn.parent_channel, scope, interface),
        names=_names(turn, user, scope),
    )
    own = replace(scope, conversation=channel, participant=user, server=server, privacy=privacy)
    return Where(place, own)


def _names(turn: Turn, user: str | None, scope: Scope) -> dict[str, str]:
    """Return participant key to name of everybody whose lines the turn holds."""
    items = [item for item in turn.messages if item is not None and item.role == "user"]
    names = {key: item.speaker for item in items if (key := _person(item.who, turn, scope, "")) and item.speaker}
    return names | ({user: turn.user_name} if user and turn.user_name else {})


def _person(value: str, turn: Turn, scope: Scope, otherwise: str) -> str:
    """Return the participant key of a line's id; an id no column takes counts as that of who is speaking."""
    try:
        return user_key(value or None, scope, turn.interface) or otherwise
    except MessageError:
        return otherwise


def _keyed(item: Item, turn: Turn, where: Where, settings: Settings) -> Item:
    user = where.place.user or ""
    return replace(
        item,
        content=rules.cut(item.content, settings.short_term_message_chars),
        who=_person(item.who, turn, where.scope, user) if item.role == "user" else "",
        answers=_person(item.answers, turn, where.scope, "") if item.answers else "",
    )


def entry_for(turn: Turn, scope: Scope, settings: Settings, *, now: datetime, lineage: str = "") -> NewEntry | None:
    """Return what the scope's persona keeps of a turn, None without user, channel or text."""
    where = where_of(turn, scope)
    if not where.place.user or not where.place.channel:
        logs.warning("short_term_without_place", user=bool(where.place.user), channel=bool(where.place.channel))
        return None
    at = turn.at or now
    answers = [each.item if each.item.at else replace(each.item, at=at) for each in turn.answers]
    kept = rules.slice_turn(turn.messages, answers, settings.short_term_memory_max_messages_per_channel)
    items = tuple(_keyed(item, turn, where, settings) for item in kept if is_open(item.content, settings))
    return NewEntry(replace(where.place, lineage=lineage), where.scope, items, at) if items else None


def is_open(text: str, settings: Settings) -> bool:
    """Return whether a text may be kept: what the host's screen flags is left out, since nothing here waits."""
    return not screening.is_flagged(text, "short_term", settings=settings)[0]


# A turn


def own_scope(context: Any, scope: Scope, settings: Settings, now: datetime) -> Scope:
    """Return the scope of a turn: that of the host's message where the context brings it, else the one given."""
    message = named(context, "message")
    if message is None or not has(message, "message_id") or not has(message, "date"):
        return scope
    return scope_of_message(read_message(message, now=now), scope, settings)


def keep_turn(db: Database, turn: Turn, scope: Scope, settings: Settings) -> TurnResult:
    """Write what every persona that answered keeps of a turn, or say why nothing is kept.

    Raises:
        MessageError: an id that cannot be one.
        StoreError: nothing was written.
    """
    where = where_of(turn, scope)
    if turn.level == FULL:
        return TurnResult(0, "privacy")
    if not turn.answers:
        level = short_term_held.level(db, scope.persona, where.place.user, settings.privacy_default)
        return TurnResult(0, "privacy" if level == FULL else "no_response")
    now = db.clock()
    made = [
        entry_for(turn, replace(scope, persona=persona), settings, now=now, lineage=lineage)
        for persona, lineage in personas_of(turn.answers, scope.persona).items()
    ]
    entries = [entry for entry in made if entry is not None]
    if not entries:
        return TurnResult(0, "empty")
    kept = keep(db, entries, settings)
    every = settings.short_term_summary_every
    stored = sum(each.stored for each in kept)
    reasons = [each.reason for each in kept if each.reason]
    return TurnResult(
        stored,
        "" if stored else cast("Any", reasons[0]),
        writes=tuple(map(result_of, kept)),
        summary_due=any(each.stored and rules.is_summary_due(each.items, each.turns, every) for each in kept),
    )


def keep(db: Database, entries: list[NewEntry], settings: Settings) -> list[Kept]:
    """Write entries in one transaction and count them."""
    kept = short_term.keep(db, entries, life=life_of(settings), privacy_default=settings.privacy_default)
    short_term_cache.of(db).count(stores=sum(each.stored for each in kept))
    return kept


def result_of(kept: Kept, notes: tuple[str, ...] = ()) -> WriteResult:
    """Return what a write did in the form of G15."""
    return WriteResult(bool(kept.stored), kept.id, cast("WriteReason", kept.reason), notes=notes)


# A summary


def is_explicit(said: object, settings: Settings) -> bool:
    """Return whether a person's message asks for lasting memory, which is not what a summary is for.

    Raises:
        MessageError: `said` is neither a text nor None.
    """
    if said is None:
        return False
    if not isinstance(said, str):
        raise MessageError(f"said is of type {type(said).__name__}. It must be a text or None.", fields=("said",))
    return is_explicit_wish(said, load_phrases(settings.languages, settings.remember_phrases))


def judge_of(summary: str, settings: Settings, notes: list[str]) -> short_term.Judge:
    """Return what tells why a summary is refused: the guard of S33, and one summary a turn."""
    patterns = refused_patterns(settings.templates_dir)

    def judge(current: str, turns: int, alive: bool) -> str:
        why = judge_refusal(summary, current, patterns=patterns, min_ratio=settings.recap_min_ratio)
        if why:
            notes.append(f"the summary is {why.replace('_', ' ')}")
            return "refused"
        return "limit" if rules.is_second(turns, alive) else ""

    return judge
