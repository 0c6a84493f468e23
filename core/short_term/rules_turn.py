"""Reads one turn as a host passes it: objects, dicts, any nesting of the two, names in snake or camel case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any

from ..memories.rules import NOT_SAID
from ..scope import KEY_BYTES, key_text
from ..shapes import PERSONA_SENDER
from ..text.folding import clean
from ..text.host_values import PERSON_WORDS, PERSONA_WORDS, as_text, get, is_plain, newest_items, text_at, word_at
from ..text.times import parse_time
from .shapes import Answer, Item, ItemRole, Turn

PLAIN_KINDS = frozenset({"", "text", "message", "chat", "default", "reply"})
"""Kinds that say nothing of who said it; a kind that is in none of these sets means that nobody did."""

_KINDS = ("kind", "role", "type")

_CONTENT = ("content", "text", "message_text")
_SPEAKER = ("speaker", "sender_name", "author_name", "persona_name", "full_name", "name", "username")
_TIME = ("timestamp", "date", "created_at", "time", "at")
_WHO = ("participant", "sender_id", "author_id", "user_id", "user_disc_id")
_PEOPLE = ("from_user", "sender", "author", "user", "from")


def read_field(value: Any, *names: str) -> Any:
    """Return the first of the named fields that is there and not None, in snake or camel case."""
    return get(value, *_spell(names))


@lru_cache(maxsize=256)
def _spell(names: tuple[str, ...]) -> tuple[str, ...]:
    spellings: list[str] = []
    for name in names:
        first, *rest = name.split("_")
        camel = first + "".join(part.capitalize() for part in rest)
        spellings += (name, camel, camel.replace("Dm", "DM"))
    return tuple(dict.fromkeys(spellings))


def _read_words(value: Any, *names: str) -> str:
    """Return the first named field that is a text with something in it, trimmed."""
    return text_at(value, *_spell(names)).strip()


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
    name = _read_words(user, "name", *_SPEAKER) or _read_words(context, "user_name")
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
    return [result] if responses is None and _content(result) else responses


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
    content = _content(message)
    role = _role(message)
    if role is None or not content.strip():
        return None
    who = _sender(message)
    speaker = _speaker(message)
    at = parse_time(read_field(message, *_TIME))
    if role == "model":
        return Item("model", content, speaker, at, answers=as_text(read_field(message, "triggered_by"))[0] or "")
    own = not who or who == user
    return Item("user", content, speaker or (user_name if own else ""), at, who=who or user)


def _role(message: Any) -> ItemRole | None:
    """Return whose line a message is, None for what nobody said; a person's where the host does not say."""
    kinds = [word_at(message, name) for name in _KINDS]
    if not NOT_SAID.isdisjoint((*kinds, word_at(message, "source"))):
        return None
    kind = next((kind for kind in kinds if kind not in PLAIN_KINDS), "")
    if not kind:
        return "model" if as_text(read_field(message, "sender_id"))[0] == PERSONA_SENDER else "user"
    return "user" if kind in PERSON_WORDS else "model" if kind in PERSONA_WORDS else None


def _sender(message: Any) -> str:
    sender = read_field(message, *_WHO)
    if sender is None:
        ids = (read_field(read_field(message, name), "id") for name in _PEOPLE)
        sender = next((each for each in ids if each is not None), None)
    return as_text(sender)[0] or ""


def _speaker(message: Any) -> str:
    own = _read_words(message, *_SPEAKER)
    return own or next((name for one in _PEOPLE if (name := _read_words(read_field(message, one), *_SPEAKER))), "")


def _content(message: Any) -> str:
    """Return the text of a message: a field, the message itself, or the texts among its parts."""
    if isinstance(message, (str, bytes)):
        return as_text(message)[0] or ""
    content = read_field(message, *_CONTENT)
    if isinstance(content, (list, tuple)):
        parts = [as_text(part if is_plain(part) else read_field(part, "text"))[0] for part in content]
        return " ".join(part for part in parts if part)
    return as_text(content)[0] or ""


def read_answers(answers: Any, user: str = "") -> tuple[Answer, ...]:
    """Return what the personas said, in order, blank answers left out."""
    read = []
    for each in newest_items(_listed(answers), "responses"):
        content = _content(each)
        if not content.strip():
            continue
        persona = read_field(each, "persona_id", "persona")
        lineage = read_field(each, "persona_lineage_id", "lineage_id", "lineage")
        if lineage is None:
            lineage = read_field(persona, "lineage_id", "lineage")
        speaker = _read_words(each, *_SPEAKER) or _read_words(persona, *_SPEAKER)
        item = Item("model", content, speaker, parse_time(read_field(each, *_TIME)), answers=user)
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
