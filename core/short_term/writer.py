"""Writing what is kept: a turn, a summary, and the functions that remove entries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from ..base import logs
from ..calls import screening
from ..calls.call import Call, GivenSettings, open_call
from ..calls.defaults import check_handle, scope_of
from ..config import Settings
from ..context.incoming import IncomingMessage
from ..database import rows
from ..database.engine import Database
from ..errors import MessageError
from ..scope import Scope
from ..shapes import WriteReason, WriteResult
from ..templates.words import phrases_for, refused_patterns
from ..text.folding import clean
from ..text.hits import name_persona
from ..text.host_values import as_text, has
from ..text.remember_phrases import is_request
from ..text.replies import judge_refusal
from ..text.times import parse_time
from . import rules, table, turns
from .shapes import Answer, NewEntry, Turn, TurnResult
from .table import NAME_CHARS

FULL = "full"

# A turn


def write_turn(
    context: Any = None,
    result: Any = None,
    *,
    user: object = None,
    channel: object = None,
    server: object = None,
    messages: object = None,
    responses: object = None,
    stop: bool | None = None,
    privacy: object = None,
    is_direct: bool | None = None,
    is_private: bool | None = None,
    interface: str | None = None,
    server_name: str | None = None,
    channel_name: str | None = None,
    parent_channel: object = None,
    at: object = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> TurnResult:
    """Store what was said in an answered turn, and return the result. It never raises.

    Args:
        context: the turn, a dict or object: who spoke where, the messages built for it, whether it was stopped.
        result: what the personas answered: something with `persona_responses`, a list of answers, or one text.
        user, channel, server: ids; they and all that follow override `context`. The scope fills in what is missing:
            pass `scope=scope_of(message)`.
        messages: those built for the turn, oldest first; only lines of people and personas are kept.
        responses: what the personas answered; one without persona id is the scope's persona's.
        privacy: the person's level as the host knows it; the one set by `set_privacy` holds too.
        interface: surface of the ids, such as `discord`; by default the scope's.
        parent_channel: the channel of a thread.
        at: when the answer was given; by default now. The later of two turns of a channel is kept.

    Returns:
        `(entries written, reason)`; reason is blank, or `stop`, `no_messages`, `privacy`, `no_response`, `empty`,
        `unchanged` (a later turn is there already) or `error`.

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.short_term import write_turn
    >>> db, turn = open_database("sqlite://"), {"user": "tg/7", "channel": "tg/42", "messages": ["hi"]}
    >>> write_turn(turn, "Hello Ann", db=db, scope=Scope("iris"))
    TurnResult(stored=1, reason='')
    >>> db.close()
    """
    given = {
        "user": user, "channel": channel, "server": server, "messages": messages, "responses": responses, "stop": stop,
        "privacy": privacy, "is_direct": is_direct, "is_private": is_private, "interface": interface,
        "server_name": server_name, "channel_name": channel_name, "parent_channel": parent_channel, "at": at,
    }  # fmt: skip
    try:
        check_handle(db)
        # 1. what the turn itself says
        turn = turns.read_turn(context, result, given)
        if turn.stop:
            return TurnResult(0, "stop")
        if not turn.messages:
            return TurnResult(0, "no_messages")
        # 2. the scope is that of the host's message if the context contains it
        call = open_call(db, settings, scope)
        db = call.db
        message = turns.read_field(context, "message")
        if message is not None and has(message, "message_id") and has(message, "date"):
            own = scope_of(IncomingMessage.read(message, now=db.clock()), call.scope, call.settings)
            call = replace(call, scope=own)
        # 3. write it
        return _write_turn(call, turn)
    except Exception as error:  # noqa: BLE001 - the turn has been answered: whatever fails here must not undo it
        logs.warning("short_term_not_kept", error=type(error).__name__, source=getattr(error, "source", ""))
        table.add_count(db if isinstance(db, Database) else None, "errors")
        return TurnResult(0, "error", error=type(error).__name__)


def _write_turn(call: Call, turn: Turn) -> TurnResult:
    """Write what every persona that answered keeps of a turn, or say why nothing is kept."""
    if turn.level == turns.UNKNOWN:
        logs.warning("short_term_privacy_level_not_known", counted_as=FULL, known="none, partial, full, 0, 1, 2")
    if turn.level in (FULL, turns.UNKNOWN):
        return TurnResult(0, "privacy")
    if not turn.answers:
        user = turns.place_turn(turn, call.scope).scope.participant
        level = table.read_level(call.db, call.persona, user, call.settings.privacy_default)
        return TurnResult(0, "privacy" if level == FULL else "no_response")
    turn = replace(turn, answers=tuple(_name_answer(each, call.persona) for each in turn.answers))
    built = [
        _build_entry(call, turn, replace(call.scope, persona=persona), lineage)
        for persona, lineage in turns.list_personas(turn.answers, call.persona).items()
    ]
    entries = [entry for entry in built if entry is not None]
    if not entries:
        return TurnResult(0, "empty")
    results, due = zip(*_write_entries(call, entries), strict=True)
    stored = sum(each.stored for each in results)
    reason = "" if stored else next(each.reason for each in results)
    return TurnResult(stored, cast("Any", reason), writes=results, summary_due=any(due))


def _name_answer(answer: Answer, default: str) -> Answer:
    name = answer.item.speaker or name_persona(default if answer.persona is None else answer.persona)
    return replace(answer, item=replace(answer.item, speaker=name))


def _build_entry(call: Call, turn: Turn, scope: Scope, lineage: str) -> NewEntry | None:
    """Return what the scope's persona keeps of a turn, None without user, channel or text."""
    entry = turns.find_place(call.db, turn, scope)
    own, at = entry.scope, turn.at or call.db.clock()
    if not own.participant or not own.conversation:
        logs.warning("short_term_without_place", user=bool(own.participant), channel=bool(own.conversation))
        return None
    answers = [each.item if each.item.at else replace(each.item, at=at) for each in turn.answers]
    lines = rules.slice_turn(turn.messages, answers, call.settings.short_term_memory_max_messages_per_channel)
    items = tuple(
        replace(
            item,
            speaker=item.speaker or (name_persona(scope.persona) if item.role == "model" else ""),
            content=rules.cut_text(item.content),
            who=turns.build_person_key(item.who, turn, own, own.participant) if item.role == "user" else "",
            answers=turns.build_person_key(item.answers, turn, own, "") if item.answers else "",
        )
        for item in lines
        if _is_open(item.content)
    )
    return replace(entry, lineage=lineage, items=items, at=at) if items else None


def _is_open(text: str) -> bool:
    return not screening.is_flagged(text, "short_term")[0]


def _write_entries(call: Call, entries: Sequence[NewEntry]) -> list[tuple[WriteResult, bool]]:
    """Write entries in one transaction and count them."""
    life, default = turns.read_life(call.settings), call.settings.privacy_default
    written = table.write_entries(call.db, entries, life=life, privacy_default=default)
    table.add_count(call.db, "stores", sum(result.stored for result, _ in written))
    return written


def store_short_term_memory(
    user: object,
    channel: object,
    messages: object,
    server: object = None,
    *,
    persona: object = None,
    lineage: object = None,
    user_name: str = "",
    server_name: str = "",
    channel_name: str = "",
    parent_channel: object = None,
    is_direct: bool | None = None,
    is_private: bool | None = None,
    interface: str | None = None,
    at: object = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Store messages as one persona's entry of a user in a channel.

    Args:
        user, channel: ids, or keys `interface/id`; 0 is an id, None and blank are none.
        messages: oldest first, as for `write_turn`; the persona's own have the role `model`.
        server: id of the community; None is the scope's; `DM` means a direct message unless another argument says
            that the channel is shared.
        is_direct, is_private: how private the channel is; None if the host does not know.
        persona: id; None is the scope's.
        lineage: id shared by personas that are one.

    Returns:
        `(True, id of the entry, "")`; else reason `empty`, `privacy`, or `unchanged` if a later turn is there
        already.

    Raises:
        MessageError: an id that cannot be one, a name that is no text.
        StoreWriteError: nothing was written.

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.short_term import store_short_term_memory
    >>> db, lines = open_database("sqlite://"), [{"text": "hi"}, {"text": "Hello", "role": "model"}]
    >>> store_short_term_memory("tg/7", "tg/42", lines, db=db, scope=Scope("iris")).stored
    True
    >>> store_short_term_memory("tg/7", "tg/42", [], db=db, scope=Scope("iris")).reason
    'empty'
    >>> db.close()
    """
    call = turns.enter_persona(open_call(db, settings, scope), persona)
    notes: list[str] = []
    given = {"user_name": user_name, "server_name": server_name, "channel_name": channel_name}
    names = {field: rows.name(value, field, NAME_CHARS, notes) for field, value in given.items()}
    turn = Turn(
        user=user,
        channel=channel,
        server=server,
        interface=interface or "",
        parent_channel=parent_channel,
        is_direct=is_direct,
        is_private=is_private,
        messages=turns.read_messages(messages, as_text(user)[0] or "", names["user_name"]),
        at=parse_time(at),
        user_name=names["user_name"],
        server_name=names["server_name"],
        channel_name=names["channel_name"],
    )
    if turns.read_id(user, "user") is None or turns.read_id(channel, "channel") is None:
        logs.warning("short_term_without_place", user=user is not None, channel=channel is not None)
        return WriteResult(False, None, "empty")
    entry = _build_entry(call, turn, call.scope, turns.read_id(lineage, "lineage") or "")
    if entry is None:
        return WriteResult(False, None, "empty")
    ((result, _),) = _write_entries(call, [entry])
    return WriteResult(*result, notes=tuple(notes))


# The summary


def update_short_term_memory(
    user: object,
    channel: object,
    summary: object,
    server: object = None,
    *,
    said: str | None = None,
    persona: object = None,
    lineage: object = None,
    is_direct: bool | None = None,
    is_private: bool | None = None,
    interface: str | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Store a summary of a channel, which other channels show instead of its lines; at most once a turn.

    Args:
        user, channel, server, persona, lineage: as for `store_short_term_memory`.
        summary: what a model wrote; trimmed and cut to 1,500 characters.
        said: the person's message. If it asks to remember something for good, the summary is refused: that is for
            `add_saved_memory`.

    Returns:
        `(True, id of the entry, "")`, with `cut 1` in `notes` if one character was cut; else reason `empty`,
        `explicit`, `refused` (an error, or far shorter than the current one), `privacy`, or `limit` (a second one
        since the last turn). The current summary then stays.

    Raises:
        MessageError: an id that cannot be one, a summary that is no text.
        StoreWriteError: nothing was written.

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.short_term import store_short_term_memory, update_short_term_memory
    >>> db, scope = open_database("sqlite://"), Scope("iris")
    >>> _ = store_short_term_memory("tg/7", "tg/42", [{"text": "we fly on Friday"}], db=db, scope=scope)
    >>> update_short_term_memory("tg/7", "tg/42", "They plan a trip.", db=db, scope=scope).stored
    True
    >>> db.close()
    """
    # 1. what the summary is
    if summary is not None and not isinstance(summary, str):
        raise MessageError.of_type("summary", summary, "a text")
    call = open_call(db, settings, scope)
    known = call.settings
    text, cut = rules.read_summary(clean(summary or ""))
    turn = Turn(
        user=user, channel=channel, server=server, interface=interface or "", is_direct=is_direct, is_private=is_private
    )
    entry = turns.find_place(call.db, turn, turns.enter_persona(call, persona).scope)
    if not text or not entry.scope.participant or not entry.scope.conversation:
        return WriteResult(False, None, "empty")
    # 2. whether it is one
    if _is_explicit(said, known):
        return WriteResult(False, None, "explicit")
    if not _is_open(text):
        return WriteResult(False, None, "refused", notes=("screen flagged the text",))
    notes = [f"cut {cut}"] if cut else []
    patterns = refused_patterns(known.templates_dir)

    def judge(current: str, since: int, alive: bool) -> WriteReason:
        why = judge_refusal(text, current, patterns=patterns)
        if why:
            notes.append(f"the summary is {why.replace('_', ' ')}")
            return "refused"
        return "limit" if rules.is_second(since, alive) else ""

    # 3. write it
    entry = replace(entry, lineage=turns.read_id(lineage, "lineage") or "")
    life, default = turns.read_life(known), known.privacy_default
    result = table.write_summary(call.db, entry, text, judge=judge, life=life, privacy_default=default)
    return WriteResult(*result, notes=tuple(notes))


def _is_explicit(said: object, settings: Settings) -> bool:
    """Return whether a person's message asks for lasting memory, which is not what a summary is for."""
    if said is None:
        return False
    if not isinstance(said, str):
        raise MessageError.of_type("said", said, "a text or None")
    return is_request(said, phrases_for(said, settings))


# Removing


def clear_by_channel(
    channel: object,
    *,
    interface: str | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> int:
    """Remove the entries of a channel within the persona; return how many there were.

    Args:
        channel: id, or key `interface/id`.
        interface: surface the id is of; None is the scope's.

    Returns:
        How many were removed; 0 for a blank id.

    Raises:
        MessageError: an id that cannot be one.
        StoreWriteError: nothing was removed.

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.short_term import clear_by_channel, store_short_term_memory
    >>> db, scope = open_database("sqlite://"), Scope("iris")
    >>> _ = store_short_term_memory("tg/7", "tg/42", [{"text": "hi"}], db=db, scope=scope)
    >>> clear_by_channel("tg/42", db=db, scope=scope)
    1
    >>> db.close()
    """
    call = open_call(db, settings, scope)
    return _clear_entries(call, channel=turns.find_channel(call, channel, interface))


def clear_by_user(
    user: object,
    *,
    interface: str | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> int:
    """Remove the entries of a person over all channels, within the persona; return how many there were.

    The person's lines in other people's entries stay; `set_privacy(..., "full")` removes those too.

    Args:
        user: id, or key `interface/id`.
        interface: surface the id is of; None is the scope's.

    Returns:
        How many were removed; 0 for a blank id.

    Raises:
        MessageError: an id that cannot be one.
        StoreWriteError: nothing was removed.

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.short_term import clear_by_user, store_short_term_memory
    >>> db, scope = open_database("sqlite://"), Scope("iris")
    >>> _ = store_short_term_memory("tg/7", "tg/42", [{"text": "hi"}], db=db, scope=scope)
    >>> clear_by_user("tg/7", db=db, scope=scope)
    1
    >>> db.close()
    """
    call = open_call(db, settings, scope)
    key = turns.build_key(user, "user", call.scope, interface)
    return _clear_entries(call, user=key) if key is not None else 0


def clear_by_server(
    server: object,
    channel: object = None,
    *,
    interface: str | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> int:
    """Remove the entries of a server, or of one channel of it, within the persona; return how many there were.

    Args:
        server: id of the community.
        channel: only this one; None for all.
        interface: surface the channel's id is of; None is the scope's.

    Returns:
        How many were removed; 0 for a blank id.

    Raises:
        MessageError: an id that cannot be one.
        StoreWriteError: nothing was removed.

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.short_term import clear_by_server, store_short_term_memory
    >>> db, scope = open_database("sqlite://"), Scope("iris")
    >>> _ = store_short_term_memory("tg/7", "tg/42", [{"text": "hi"}], "s1", db=db, scope=scope)
    >>> clear_by_server("s1", db=db, scope=scope)
    1
    >>> db.close()
    """
    call = open_call(db, settings, scope)
    name = turns.read_id(server, "server")
    key = turns.find_channel(call, channel, interface, server=name)
    return _clear_entries(call, server=name, channel=key) if name is not None else 0


def _clear_entries(
    call: Call, *, user: str | None = None, server: str | None = None, channel: str | None = None
) -> int:
    count = table.delete_entries(call.db, call.persona, user=user, server=server, channel=channel)
    table.add_count(call.db, "invalidations", count)
    return count


def clear_expired(*, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None) -> int:
    """Remove every expired entry of the scope's persona and return how many there were; for a timer of the host.

    Returns:
        How many were removed by this call.

    Raises:
        StoreError: not all of them could be removed.

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.short_term import clear_expired
    >>> db = open_database("sqlite://")
    >>> clear_expired(db=db, scope=Scope("iris"))
    0
    >>> db.close()
    """
    call = open_call(db, settings, scope)
    count = table.delete_expired(call.db, call.persona, life=turns.read_life(call.settings))
    table.add_count(call.db, "expirations", count)
    return count
