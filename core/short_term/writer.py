"""Room of `short_term`: keeping a turn, and giving a channel a summary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..base import logs
from ..calls.defaults import handle, scope_for, settings_for
from ..config import Settings
from ..database import rows
from ..database.engine import Database
from ..errors import MessageError
from ..scope import KEY_BYTES, Scope
from ..shapes import WriteResult
from ..text.folding import clean
from ..text.host_values import as_text
from ..text.times import parse_time
from . import cache as short_term_cache
from . import capture as keeping
from . import rules
from . import table as short_term
from .rules_turn import read_id, read_lineage, read_messages, read_turn
from .shapes import Turn, TurnResult
from .table import NewEntry
from .table_items import NAME_CHARS

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
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> TurnResult:
    """Keep what was said in a turn that has been answered, and say what became of it. It never raises.

    Args:
        context: the turn, a dict or object: who spoke where, the messages built for it, whether it was stopped.
        result: what the personas answered: something with `persona_responses`, a list of answers, or one text.
        user, channel, server: ids; they and all that follow go before what `context` says. What neither says is taken
            from the scope: pass `scope=scope_of(message)`.
        messages: those built for the turn, oldest first; lines of people and personas are kept, nothing else.
        responses: what the personas answered; one without persona id is that of the scope's persona.
        privacy: level of the person as the host knows it; the one set by `set_privacy` holds too.
        interface: surface the ids are of, such as `discord`; else that of the scope.
        parent_channel: the channel a thread belongs to.
        at: when the answer was given; now by default. Of two turns of a channel the later one stays.

    Returns:
        `(entries written, reason)`; reason is blank, or `stop`, `no_messages`, `privacy`, `no_response`, `empty`,
        `unchanged` (a later turn is there already) or `error`.
    """
    given = {
        "user": user, "channel": channel, "server": server, "messages": messages, "responses": responses, "stop": stop,
        "privacy": privacy, "is_direct": is_direct, "is_private": is_private, "interface": interface,
        "server_name": server_name, "channel_name": channel_name, "parent_channel": parent_channel, "at": at,
    }  # fmt: skip
    try:
        # 1. what the host says before anything is asked
        turn = read_turn(context, result, given)
        if turn.stop:
            return TurnResult(0, "stop")
        if not turn.messages:
            return TurnResult(0, "no_messages")
        # 2. what to work with
        db = handle(db)
        known = settings_for(settings, db)
        own = keeping.own_scope(context, scope_for(scope, known), known, db.clock())
        # 3. write it
        return keeping.keep_turn(db, turn, own, known)
    except Exception as error:  # noqa: BLE001 - the turn has been answered: whatever fails here must not undo it
        return _lost(db, error)


def _lost(db: Database | None, error: Exception) -> TurnResult:
    source = getattr(error, "source", "")
    logs.warning("short_term_not_kept", error=type(error).__name__, source=source)
    if isinstance(db, Database):
        short_term_cache.of(db).count(errors=1)
    else:
        short_term_cache.without_handle.count(errors=1)
    return TurnResult(0, "error", error=type(error).__name__)


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
    is_direct: bool = False,
    is_private: bool | None = None,
    interface: str | None = None,
    at: object = None,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Keep messages for one persona: an entry of the user and, but for direct messages, one of the server.

    Args:
        user, channel: ids, or keys `interface/id`; 0 is an id, None and blank are none.
        messages: oldest first, dicts or objects as for `write_turn`; the persona's own have the role `model`.
        server: id of the community; None is the scope's, `DM` is none.
        persona: id; None is the scope's.
        lineage: id shared by personas that are one.

    Returns:
        `(True, id of the user's entry, "")`; else reason `empty`, `privacy`, or `unchanged` where a later turn is there
        already.

    Raises:
        MessageError: an id that cannot be one, a name that is no text.
        StoreWriteError: nothing was written.
    """
    db = handle(db)
    known = settings_for(settings, db)
    own = keeping.in_persona(scope_for(scope, known), persona)
    notes: list[str] = []
    given = {"user_name": user_name, "server_name": server_name, "channel_name": channel_name}
    names = {field: rows.name(value, field, NAME_CHARS, notes) for field, value in given.items()}
    turn = Turn(
        user=user,
        channel=channel,
        server=server,
        interface=interface or "",
        user_name=names["user_name"],
        server_name=names["server_name"],
        channel_name=names["channel_name"],
        parent_channel=parent_channel,
        is_direct=is_direct,
        is_private=is_private,
        messages=read_messages(messages, as_text(user)[0] or "", names["user_name"]),
        at=parse_time(at),
    )
    blank = read_id(user, "user", KEY_BYTES["participant"]) is None or read_id(channel, "channel", 512) is None
    if blank:
        logs.warning("short_term_without_place", user=user is not None, channel=channel is not None)
        return WriteResult(False, None, "empty")
    entry = keeping.entry_for(turn, own, known, now=db.clock(), lineage=read_lineage(lineage))
    if entry is None:
        return WriteResult(False, None, "empty")
    return keeping.result_of(keeping.keep(db, [entry], known)[0], tuple(notes))


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
    is_direct: bool = False,
    is_private: bool | None = None,
    interface: str | None = None,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Give a channel a summary, which other channels show in place of its lines; at most once a turn.

    Args:
        user, channel, server, persona, lineage: as for `store_short_term_memory`.
        summary: what a model wrote; trimmed, at most SHORT_TERM_SUMMARY_CHARS of it are kept.
        said: the person's message. Where it asks to be remembered for good the summary is refused: that is for
            `add_saved_memory`.

    Returns:
        `(True, id of the user's entry, "")`, with `cut 1` in `notes` where one character was cut; else reason `empty`,
        `explicit`, `refused` (an error, or far shorter than the present one), `privacy`, or `limit` (a second one
        since the last turn was kept). The present summary then stays.

    Raises:
        MessageError: an id that cannot be one, a summary that is no text.
        StoreWriteError: nothing was written.
    """
    # 1. what the summary is
    if summary is not None and not isinstance(summary, str):
        raise MessageError(f"summary is of type {type(summary).__name__}. It must be a text.", fields=("summary",))
    db = handle(db)
    known = settings_for(settings, db)
    text, cut = rules.read_summary(clean(summary or ""), known.short_term_summary_chars)
    own = keeping.in_persona(scope_for(scope, known), persona)
    turn = Turn(
        user=user, channel=channel, server=server, interface=interface or "", is_direct=is_direct, is_private=is_private
    )
    where = keeping.where_of(turn, own)
    if not text or not where.place.user or not where.place.channel:
        return WriteResult(False, None, "empty")
    # 2. whether it is one
    if keeping.is_explicit(said, known):
        return WriteResult(False, None, "explicit")
    if not keeping.is_open(text, known):
        return WriteResult(False, None, "refused", notes=("screen flagged the text",))
    notes = [f"cut {cut}"] if cut else []
    entry = NewEntry(replace(where.place, lineage=read_lineage(lineage)), where.scope)
    # 3. write it
    kept = short_term.summarise(
        db,
        entry,
        text,
        judge=keeping.judge_of(text, known, notes),
        life=keeping.life_of(known),
        privacy_default=known.privacy_default,
    )
    return keeping.result_of(kept, tuple(notes))
