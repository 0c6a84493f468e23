"""Reads one turn as a host passes it: objects, dicts, any nesting of the two, names in snake or camel case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any

from ..context.incoming import read_part, read_role, read_sender, read_text, spell
from ..memories.rules import is_marked
from ..scope import KEY_BYTES, key_text
from ..shapes import Sender
from ..text.folding import clean
from ..text.host_values import as_text, get, is_plain, newest_items, text_at
from ..text.times import parse_time
from .shapes import Answer, Item, Turn


def read_field(value: Any, *names: str) -> Any:
    """Return the first of the named fields that is there and not None, in snake or camel case."""
    return get(value, *spell(names))


def _read_words(value: Any, *names: str) -> str:
    """Return the first named field that is a text with something in it, trimmed."""
    return text_at(value, *spell(names)).strip()


def qualify_id(value: Any, interface: str, field: str, limit_bytes: int) -> str | None:
    """Return an id as the key `interface/id`; as it is where it has the interface already or none is known."""
    text = read_id(value, field, limit_bytes)
    if text is None or not interface or text.startswith(f"{interface}/"):
        return text
    return key_text(f"{interface}/{text}", field, limit_bytes)


def read_turn(context: Any, result: Any, given: Mapping[str, Any]) -> Turn:
    """Return the turn in normal form."""

    def read(name: str, *fields: str) -> Any:
        argument = given.get(name)
        return argument if argument is not None else read_field(context, *fields)

    user, channel = read("user", "user", "user_disc_id", "user_id", "from_user"), read("channel", "channel")
    server = read("server", "server", "server_disc_id", "server_id", "guild_id", "guild")
    interface = read("interface", "interface", "interface_name", "platform")
    user_id = _read_id_of(user)
    name = _name(read_sender(user)) or _read_words(context, "user_name")
    channel_id = _read_id_of(channel) if channel is not None else read_field(context, "channel_id", "interface_path")
    who = as_text(user_id)[0] or ""
    return Turn(
        stop=read("stop", "is_stop_response", "stop_response", "stop") is True,
        user=user_id,
        user_name=name,
        channel=channel_id,
        server=_read_id_of(server),
        interface=clean(interface) if isinstance(interface, str) else "",
        server_name=_read_words(given, "server_name")
        or _read_words(context, "server_name")
        or _read_words(server, "name"),
        channel_name=_read_words(given, "channel_name")
        or _read_words(context, "channel_name")
        or _read_words(channel, "name"),
        parent_channel=_parent(given, context, channel),
        is_direct=_read_bool(read("is_direct", "is_dm_channel", "is_dm", "is_direct")),
        is_private=_read_bool(read("is_private", "is_private")),
        level=_level(given, context),
        messages=read_messages(read("messages", "simplified_messages", "messages"), who, name),
        answers=read_answers(_answers_of(given, result), who),
        at=parse_time(read("at", "at", "timestamp", "turn_time")),
    )


def _read_name(given: Any, context: Any, field: str, place: Any) -> str:
    return _read_words(given, field) or _read_words(context, field) or _read_words(place, "name")


def _read_id_of(value: Any) -> Any:
    """Return an id, given alone or as a field of an object."""
    return value if value is None or is_plain(value) else read_field(value, "id", "key", "interface_path")


def _parent(given: Mapping[str, Any], context: Any, channel: Any) -> Any:
    parent = read_field(given, "parent_channel")
    if parent is None:
        parent = read_field(context, "parent_channel_id", "parent_channel")
    return _read_id_of(read_field(channel, "parent_id", "parent") if parent is None else parent)


def _read_bool(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _level(given: Mapping[str, Any], context: Any) -> str:
    snapshot = read_field(read_field(context, "turn"), "request_snapshot")
    for holder, name in (
        (given, "privacy"),
        (context, "privacy"),
        (context, "privacy_level"),
        (context, "triggerer_privacy_level"),
        (snapshot, "triggerer_privacy_level"),
    ):
        level = read_field(holder, name)
        if level is not None and level != "":
            return read_level(level)
    return ""


LEVELS = ("none", "partial", "full")
UNKNOWN = "unknown"


def read_level(value: object) -> str:
    """Return a privacy level from its word, an enumeration, or 0 to 2; `unknown` for anything else."""
    if isinstance(value, Enum):
        words = [read_level(each) for each in (value.value, value.name)]
        return next((word for word in words if word != UNKNOWN), UNKNOWN)
    if isinstance(value, str):
        word = clean(value).strip().lower()
        return word if word in LEVELS or not word else UNKNOWN
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(LEVELS):
        return LEVELS[value]
    return UNKNOWN


def _answers_of(given: Mapping[str, Any], result: Any) -> Any:
    if given.get("responses") is not None:
        return given["responses"]
    if is_plain(result):
        return result
    responses = read_field(result, "persona_responses", "responses")
    return [result] if responses is None and read_text(result) else responses


def _listed(value: Any) -> Iterable[Any]:
    if value is None:
        return ()
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable) or isinstance(value, Mapping):
        return (value,)
    return value


def read_messages(messages: Any, user: str = "", user_name: str = "") -> tuple[Item | None, ...]:
    """Return the messages of a turn as items, None in the place of what is no line."""
    return tuple(_item(each, user, user_name) for each in newest_items(_listed(messages), "messages"))


def _item(message: Any, user: str, user_name: str) -> Item | None:
    content, role = read_text(message), read_role(message)
    if not role or is_marked(message) or not content.strip():
        return None
    sender, at = read_sender(message), parse_time(read_part(message, "time"))
    if role == "persona":
        return Item("model", content, _name(sender), at, answers=as_text(read_field(message, "triggered_by"))[0] or "")
    who = _read_words(message, "participant") or sender.id
    return Item("user", content, _name(sender) or (user_name if who in ("", user) else ""), at, who=who or user)


def _name(sender: Sender) -> str:
    return (sender.name or sender.username).strip()


def read_answers(answers: Any, user: str = "") -> tuple[Answer, ...]:
    """Return what the personas said, in order, blank answers left out."""
    read = []
    for each in newest_items(_listed(answers), "responses"):
        content = read_text(each)
        if not content.strip():
            continue
        persona = read_field(each, "persona_id", "persona")
        lineage = read_field(each, "persona_lineage_id", "lineage_id", "lineage")
        if lineage is None:
            lineage = read_field(persona, "lineage_id", "lineage")
        speaker = _name(read_sender(each)) or _name(read_sender(persona))
        item = Item("model", content, speaker, parse_time(read_part(each, "time")), answers=user)
        read.append(Answer(read_id(_read_id_of(persona), "persona", KEY_BYTES["persona"]), read_lineage(lineage), item))
    return tuple(read)


def read_id(value: Any, field: str, limit_bytes: int) -> str | None:
    """Return an id as text; None and blank are none, 0 is one."""
    if value is None:
        return None
    text = key_text(value, field, limit_bytes)
    return text if text.strip() else None


def read_lineage(value: Any) -> str:
    """Return the id of a persona's lineage, blank for none; at most 64 bytes."""
    return read_id(value, "lineage", 64) or ""


def list_personas(answers: Sequence[Answer], default: str) -> dict[str, str]:
    """Return each persona that answered with its lineage, in order of its first answer."""
    lineages: dict[str, str] = {}
    for answer in answers:
        name = default if answer.persona is None else answer.persona
        lineages[name] = lineages.get(name) or answer.lineage
    return lineages
