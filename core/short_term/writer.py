"""Public functions that store a turn or a summary, and that remove entries."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack, cast

from ..base import logs
from ..calls.call import Call, CallOptions, GivenSettings, open_call
from ..calls.defaults import check_handle, scope_of
from ..context.incoming import IncomingMessage
from ..database import rows
from ..database.engine import Database
from ..errors import MessageError
from ..memories import shown_texts
from ..scope import Scope
from ..shapes import WriteResult
from ..templates.words import phrases_for
from ..text.folding import clean
from ..text.hits import name_persona
from ..text.host_values import has
from ..text.remember_phrases import is_request
from . import rules, table, turns
from .shapes import NewEntry, Turn, TurnResult
from .table import NAME_CHARS


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
    """Store an answered turn, and return `(entries written, reason)`. It never raises.

    Args:
        context: the turn, a dict or object: speaker, channel, messages, whether it was stopped.
        result: the personas' answers: an object with `persona_responses`, a list of answers, or one text.
        user, channel, server: ids; these and all arguments below override `context`. The scope supplies what is
            missing: pass `scope=scope_of(message)`.
        messages: the messages of the turn, oldest first; only lines of people and personas are stored.
        responses: the personas' answers; an answer without persona id belongs to the scope's persona.
        privacy: the person's level as the host knows it; the level set by `set_privacy` applies too.
        interface: platform of the ids, such as `discord`; by default the scope's interface.
        parent_channel: the channel of a thread.
        at: time of the answer; by default now. If a later turn of the channel is stored already, nothing is stored.

    >>> from prompt_engine import Scope, open_database, short_term
    >>> db, turn = open_database("sqlite://"), {"user": "tg/7", "channel": "tg/42", "messages": ["hi"]}
    >>> short_term.write_turn(turn, "Hello Ann", db=db, scope=Scope("iris"))
    TurnResult(stored=1, reason='')
    """
    given = {
        "user": user, "channel": channel, "server": server, "messages": messages, "responses": responses, "stop": stop,
        "privacy": privacy, "is_direct": is_direct, "is_private": is_private, "interface": interface,
        "server_name": server_name, "channel_name": channel_name, "parent_channel": parent_channel, "at": at,
    }  # fmt: skip
    try:
        check_handle(db)
        # 1. read the turn
        turn = turns.read_turn(context, result, given)
        if turn.stop:
            return TurnResult(0, "stop")
        if not turn.messages:
            return TurnResult(0, "no_messages")
        # 2. a message in the context supplies the scope
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
        if isinstance(db, Database):
            table.count_error(db)
        return TurnResult(0, "error", error=type(error).__name__)


def _write_turn(call: Call, turn: Turn) -> TurnResult:
    """Write every answering persona's entry of a turn, or return the reason why nothing is stored."""
    if turn.level == turns.UNKNOWN:
        logs.warning("short_term_privacy_level_not_known", counted_as="full", known="none, partial, full, 0, 1, 2")
    if turn.level in ("full", turns.UNKNOWN):
        return TurnResult(0, "privacy")
    if not turn.answers:
        return TurnResult(0, "no_response")
    answers = []
    for each in turn.answers:
        name = each.item.speaker or name_persona(call.persona if each.persona is None else each.persona)
        answers.append(each._replace(item=replace(each.item, speaker=name)))
    turn = replace(turn, answers=tuple(answers))
    built = [
        _build_entry(call, turn, replace(call.scope, persona=persona), lineage)
        for persona, lineage in turns.list_personas(turn.answers, call.persona).items()
    ]
    entries = [entry for entry in built if entry is not None]
    if not entries:
        return TurnResult(0, "empty")
    results, due = zip(*table.write_entries(call, entries), strict=True)
    stored = sum(each.stored for each in results)
    reason = "" if stored else next(each.reason for each in results)
    return TurnResult(stored, cast("Any", reason), summary_due=any(due))


def _build_entry(call: Call, turn: Turn, scope: Scope, lineage: str) -> NewEntry | None:
    """Return the entry of the scope's persona for a turn; None without user, channel or text."""
    entry = turns.find_place(call.db, turn, scope)
    own, at = entry.scope, turn.at or call.db.clock()
    if not own.participant or not own.conversation:
        logs.warning("short_term_without_place", user=bool(own.participant), channel=bool(own.conversation))
        return None
    shown = shown_texts.find_turn(call.db, scope.persona, own.conversation, at)
    given = () if shown is not None and shown.is_withdrawn else turn.answers
    answers = [each.item if each.item.at else replace(each.item, at=at) for each in given]
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
    )
    return replace(entry, lineage=lineage, items=items, at=at) if items else None


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
    **options: Unpack[CallOptions],
) -> WriteResult:
    """Store messages as one persona's entry for a user in a channel, and return the entry's id.

    Args:
        user, channel: ids, or keys `interface/id`; 0 is an id, None and blank are not.
        messages: oldest first, as for `write_turn`; the persona's own have the role `model`.
        server: id of the community; None for the scope's. `DM` means a direct message unless another argument says that
            the channel is shared.
        is_direct, is_private: privacy of the channel; None if the host does not know.
        persona: id; None for the scope's persona.
        lineage: id shared by personas that are versions of one persona.

    Returns:
        `(True, id, "")`; reason `empty`, `privacy`, or `unchanged` if a later turn is stored already.
    """
    call = turns.enter_persona(open_call(**options), persona)
    notes: list[str] = []
    named = {"user_name": user_name, "server_name": server_name, "channel_name": channel_name}
    given = {
        "user": user, "channel": channel, "server": server, "messages": messages, "interface": interface,
        "parent_channel": parent_channel, "is_direct": is_direct, "is_private": is_private, "at": at,
        **{field: rows.name(value, field, NAME_CHARS, notes) for field, value in named.items()},
    }  # fmt: skip
    turn = turns.read_turn(None, None, given)
    if turns.read_id(user, "user") is None or turns.read_id(channel, "channel") is None:
        logs.warning("short_term_without_place", user=user is not None, channel=channel is not None)
        return WriteResult(False, None, "empty")
    entry = _build_entry(call, turn, call.scope, turns.read_id(lineage, "lineage") or "")
    if entry is None:
        return WriteResult(False, None, "empty")
    ((result, _),) = table.write_entries(call, [entry])
    return WriteResult(*result, notes=tuple(notes))


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
    **options: Unpack[CallOptions],
) -> WriteResult:
    """Store a summary of a channel, at most once per turn. Prompts in other channels show it instead of the lines.

    Args:
        user, channel, server, persona, lineage, is_direct, is_private, interface: as for `store_short_term_memory`.
        summary: a model's text; trimmed and cut to 1,500 characters.
        said: the person's message. If it asks to remember something permanently, the summary is refused: use
        `add_saved_memory` for that.

    Returns:
        `(True, id of the entry, "")`, with `cut N` in `notes` if N characters were cut. Otherwise the current summary
        stays, and the reason is `empty`, `explicit`, `refused` (an error, or far shorter than the current one),
        `privacy`, or `limit` (a second summary since the last turn).
    """
    # 1. read the summary
    if summary is not None and not isinstance(summary, str):
        raise MessageError.of_type("summary", summary, "a text")
    call = turns.enter_persona(open_call(**options), persona)
    trimmed = clean(summary or "").strip()
    text, cut = trimmed[: rules.SUMMARY_CHARS], len(trimmed) - rules.SUMMARY_CHARS
    turn = Turn(
        user=user, channel=channel, server=server, interface=interface or "", is_direct=is_direct, is_private=is_private
    )
    entry = turns.find_place(call.db, turn, call.scope)
    if not text or not entry.scope.participant or not entry.scope.conversation:
        return WriteResult(False, None, "empty")
    # 2. refuse it if the person asked for a saved memory
    if said is not None and not isinstance(said, str):
        raise MessageError.of_type("said", said, "a text or None")
    if said is not None and is_request(said, phrases_for(said, call.settings)):
        return WriteResult(False, None, "explicit")
    # 3. write it
    entry = replace(entry, lineage=turns.read_id(lineage, "lineage") or "")
    result = table.write_summary(call, entry, text)
    return WriteResult(*result, notes=(*result.notes, f"cut {cut}")) if cut > 0 else result


def clear_by_channel(channel: object, *, interface: str | None = None, **options: Unpack[CallOptions]) -> int:
    """Remove the persona's entries of a channel, and return how many.

    Args:
        channel: id, or key `interface/id`; a blank id has no entries.
        interface: platform of the id; None for the scope's interface.
    """
    call = open_call(**options)
    return table.delete_entries(call.db, call.persona, channel=turns.find_channel(call, channel, interface))


def clear_by_user(user: object, *, interface: str | None = None, **options: Unpack[CallOptions]) -> int:
    """Remove the persona's entries of a person, with all linked identities, in all channels, and return how many.

    The person's lines in other people's entries stay; `set_privacy(..., "full")` removes those too.

    Args:
        user: id, or key `interface/id`; a blank id has no entries.
        interface: platform of the id; None for the scope's interface.
    """
    call = open_call(**options)
    return table.delete_entries(call.db, call.persona, user=turns.build_key(user, "user", call.scope, interface))


def clear_by_server(
    server: object, channel: object = None, *, interface: str | None = None, **options: Unpack[CallOptions]
) -> int:
    """Remove the persona's entries of a server, or of one of its channels, and return how many.

    Args:
        server: id of the community; a blank id has no entries.
        channel: remove only entries of this channel; None for all channels.
        interface: platform of the channel's id; None for the scope's interface.
    """
    call = open_call(**options)
    name = turns.read_id(server, "server")
    if name is None:
        return 0
    key = turns.find_channel(call, channel, interface, server=name)
    return table.delete_entries(call.db, call.persona, server=name, channel=key)


def clear_expired(**options: Unpack[CallOptions]) -> int:
    """Remove every expired entry of the scope's persona, and return how many.

    Each stored turn does this too; a host may also call the function from a timer.
    """
    call = open_call(**options)
    since = turns.read_since(call.settings, call.db.clock())
    return call.db.idempotent_transaction(lambda c: table.delete_expired(c, call.persona, since), source=table.SOURCE)
