"""Reads a turn from a host's objects or dicts, in snake or camel case, and finds the entry to which it belongs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from ..access.rules import named_participant, plain_key, said_privacy
from ..access.table_conversations import resolve_key, resolve_scope
from ..access.table_participants import LEVELS
from ..calls.call import Call
from ..config import Settings
from ..context.incoming import read_part, read_role, read_sender, read_text, spell
from ..database.engine import Database
from ..errors import MessageError
from ..memories.rules import find_mark
from ..scope import KEY_BYTES, NO_SERVER, Privacy, Scope, key_text, optional_key
from ..shapes import Sender
from ..text.folding import clean, one_line
from ..text.host_values import as_text, get, is_plain, newest_items, text_at
from ..text.times import parse_time
from .rules import Since
from .shapes import Answer, Item, NewEntry, Turn

_FIELDS: Mapping[str, tuple[str, ...]] = {
    "user": ("user", "user_disc_id", "user_id", "from_user"),
    "channel": ("channel",),
    "server": ("server", "server_disc_id", "server_id", "guild_id", "guild"),
    "interface": ("interface", "interface_name", "platform"),
    "stop": ("is_stop_response", "stop_response", "stop"),
    "messages": ("simplified_messages", "messages"),
    "is_direct": ("is_dm_channel", "is_dm", "is_direct"),
    "is_private": ("is_private",),
    "parent_channel": ("parent_channel_id", "parent_channel"),
    "privacy": ("privacy", "privacy_level", "triggerer_privacy_level"),
    "at": ("at", "timestamp", "turn_time"),
}
"""Field names in the `context` of `write_turn` for each of its arguments."""


def read_field(value: Any, *names: str) -> Any:
    """Return the first of the named fields that is not None, in snake or camel case."""
    return get(value, *spell(names))


def read_turn(context: Any, result: Any, given: Mapping[str, Any]) -> Turn:
    def read(name: str) -> Any:
        argument = given.get(name)
        return argument if argument is not None else read_field(context, *_FIELDS[name])

    def read_name(name: str, place: Any) -> str:
        texts = (text_at(given, name), text_at(context, *spell((name,))), text_at(place, "name"))
        return next((text.strip() for text in texts if text.strip()), "")

    user, channel, server, interface = read("user"), read("channel"), read("server"), read("interface")
    parent, level = read("parent_channel"), read("privacy")
    if level in (None, ""):
        snapshot = read_field(read_field(context, "turn"), "request_snapshot")
        level = read_field(snapshot, "triggerer_privacy_level")
    user_id, user_name = _read_id_of(user), _name(read_sender(user)) or read_name("user_name", None)
    person, answers = as_text(user_id)[0] or "", given.get("responses")
    if answers is None:
        answers = result if is_plain(result) else read_field(result, "persona_responses", "responses")
        answers = [result] if answers is None and read_text(result) else answers
    return Turn(
        stop=read("stop") is True,
        user=user_id,
        user_name=user_name,
        channel=read_field(context, "channel_id", "interface_path") if channel is None else _read_id_of(channel),
        server=_read_id_of(server),
        interface=clean(interface) if isinstance(interface, str) else "",
        server_name=read_name("server_name", server),
        channel_name=read_name("channel_name", channel),
        parent_channel=_read_id_of(read_field(channel, "parent_id", "parent") if parent is None else parent),
        is_direct=_read_bool(read("is_direct")),
        is_private=_read_bool(read("is_private")),
        level="" if level is None else read_level(level),
        messages=read_messages(read("messages"), person, user_name),
        answers=read_answers(answers, person),
        at=parse_time(read("at")),
    )


def _read_id_of(value: Any) -> Any:
    """Return an id, given alone or as a field of an object."""
    return value if value is None or is_plain(value) else read_field(value, "id", "key", "interface_path")


def _read_bool(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


UNKNOWN = "unknown"


def read_level(value: object) -> str:
    """Return a privacy level from a word, an enumeration, or 0 to 2; `unknown` for anything else."""
    if isinstance(value, Enum):
        words = [read_level(each) for each in (value.value, value.name)]
        return next((word for word in words if word != UNKNOWN), UNKNOWN)
    if isinstance(value, str):
        word = clean(value).strip().lower()
        return word if word in LEVELS or not word else UNKNOWN
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(LEVELS):
        return LEVELS[value]
    return UNKNOWN


def _list_items(value: Any, name: str) -> list[Any]:
    if value is None:
        return []
    is_one = isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable)
    return [value] if is_one else newest_items(value, name)


def read_messages(messages: Any, user: str = "", user_name: str = "") -> tuple[Item | None, ...]:
    """Return the messages of a turn as lines; None for a message that is not a line."""
    return tuple(_read_item(each, user, user_name) for each in _list_items(messages, "messages"))


def _read_item(message: Any, user: str, user_name: str) -> Item | None:
    content, role = read_text(message), read_role(message)
    if not role or find_mark(message) or not content.strip():
        return None
    sender, at = read_sender(message), parse_time(read_part(message, "time"))
    if role == "persona":
        return Item("model", content, _name(sender), at, answers=as_text(read_field(message, "triggered_by"))[0] or "")
    who = text_at(message, "participant").strip() or sender.id
    named = _name(sender) or (user_name if who in ("", user) else "")
    return Item("user", content, named, at, who=who or user or one_line(_name(sender)).strip())


def _name(sender: Sender) -> str:
    return (sender.name or sender.username).strip()


def read_answers(answers: Any, user: str = "") -> tuple[Answer, ...]:
    """Return the personas' answers in order, without blank answers."""
    read = []
    for each in _list_items(answers, "responses"):
        content = read_text(each)
        if not content.strip():
            continue
        persona = read_field(each, "persona_id", "persona")
        lineage = read_field(each, "persona_lineage_id", "lineage_id", "lineage")
        lineage = read_field(persona, "lineage_id", "lineage") if lineage is None else lineage
        speaker = _name(read_sender(each)) or _name(read_sender(persona))
        item = Item("model", content, speaker, parse_time(read_part(each, "time")), answers=user)
        read.append(Answer(read_id(_read_id_of(persona), "persona"), read_id(lineage, "lineage") or "", item))
    return tuple(read)


_LIMITS = {"user": KEY_BYTES["participant"], "channel": KEY_BYTES["conversation"], "lineage": 64} | KEY_BYTES


def read_id(value: Any, field: str) -> str | None:
    return optional_key(value, field, _LIMITS[field])


def list_personas(answers: Sequence[Answer], default: str) -> dict[str, str]:
    """Return the lineage of each persona that answered, in the order of the first answers."""
    lineages: dict[str, str] = {}
    for answer in answers:
        name = default if answer.persona is None else answer.persona
        lineages[name] = lineages.get(name) or answer.lineage
    return lineages


def read_since(settings: Settings, now: datetime) -> Since:
    hours = settings.short_term_memory_ttl_hours, settings.short_term_memory_summary_ttl_hours
    return Since(*(now - timedelta(hours=each) for each in hours))


def enter_persona(call: Call, persona: object) -> Call:
    name = read_id(persona, "persona")
    return call if name is None else replace(call, scope=replace(call.scope, persona=name))


def build_key(value: object, field: str, scope: Scope, interface: object = None) -> str | None:
    """Return the key `interface/id`, by default with the scope's interface, of an id; None without an id."""
    text, interface = read_id(value, field), _find_interface(scope, interface)
    if text is None or not interface or text.startswith(f"{interface}/"):
        return text
    return key_text(f"{interface}/{text}", field, _LIMITS[field])


def _find_interface(scope: Scope, interface: object) -> str:
    named = next((key for key in (scope.conversation, scope.participant) if key and "/" in key), "")
    return interface if isinstance(interface, str) and interface else named.partition("/")[0]


def build_person_key(who: str, turn: Turn, scope: Scope, otherwise: str) -> str:
    """Return the participant key of a line's speaker; `otherwise` for an id that is too long or invalid."""
    try:
        return build_key(who or None, "user", scope, turn.interface) or otherwise
    except MessageError:
        return otherwise


def find_channel(call: Call, channel: object, interface: object = None, *, server: str | None = None) -> str | None:
    key = build_key(channel, "channel", call.scope, interface)
    scope = call.scope if server is None else replace(call.scope, server=server)
    return None if key is None else resolve_key(call.db.read, scope, key)


def find_place(db: Database, turn: Turn, scope: Scope) -> NewEntry:
    """Return a turn's entry, still without lines; the scope supplies what the host leaves out."""
    user = build_key(turn.user, "user", scope, turn.interface) or scope.participant
    user = user or named_participant(_find_interface(scope, turn.interface), turn.user_name)
    own_channel = plain_key(scope.conversation) if scope.conversation else None
    channel = build_key(turn.channel, "channel", scope, turn.interface) or own_channel
    server_id = read_id(turn.server, "server")
    server = scope.server if server_id is None else server_id
    same = channel is not None and own_channel in (None, channel)
    # The server `DM` means a direct message unless another value says that the channel is shared.
    shared = False in (turn.is_private, turn.is_direct) or (same and scope.privacy in ("public", "restricted"))
    direct = turn.is_direct is True or (server_id == NO_SERVER and not shared) or (same and scope.privacy == "direct")
    server = "" if direct or server == NO_SERVER else server
    privacy: Privacy | None = "direct" if direct else scope.privacy if same else None
    if not direct and turn.is_private is not None:
        privacy = said_privacy(turn.is_private, None, None, None, server)
    no_server = server_id == NO_SERVER or scope.no_server
    given = replace(scope, conversation=channel, participant=user, server=server, privacy=privacy, no_server=no_server)
    if turn.is_direct is not None or turn.is_private is not None:
        given = replace(given, privacy_from="host")
    own = resolve_scope(db, given)
    parent = build_key(turn.parent_channel, "channel", scope, turn.interface)
    if parent is not None:
        parent = resolve_key(db.read, own, parent)
    speakers = [item for item in turn.messages if item is not None and item.role == "user"]
    keyed = [(build_person_key(item.who, turn, scope, ""), item.speaker) for item in speakers]
    names = {key: speaker for key, speaker in keyed if key and speaker}
    if user and turn.user_name:
        names[user] = turn.user_name
    return NewEntry(own, turn.server_name, turn.channel_name, parent, names=names)
