"""Read whose chat a request is, from its headers, its body and its token. Pure.

| What a request names | Conversation | Participant |
|---|---|---|
| user `ann` | `proxy/ann` | `proxy/ann` |
| user `ann`, conversation `7` | `proxy/ann/7` | `proxy/ann` |
| room `7` (X-Conversation-Privacy) | `proxy/%room-7` | `proxy/ann`, or nobody |
| conversation `7`, no user | `proxy/%chat-7` | `proxy/%chat-7` |
| nothing | `proxy/%token-1` | `proxy/%token-1` |

In an id `%` and `/` are escaped, so no id can begin with `%room-`. A user called `self` is `%self`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast, get_args
from urllib.parse import unquote

from ...scope import Privacy
from ...shapes import PERSONA_SENDER
from ...tokens.shapes import AccessToken
from ..access import read_header
from ..errors import Refused
from .messages import find_persona

INTERFACE = "proxy"
"""Interface of participants and conversations where a request does not name one."""
OPEN_WEBUI = "openwebui"
NAMES = (
    "X-Conversation-Id", "X-User-Id", "X-User-Name", "X-Persona-Id", "X-Interface", "X-Server-Id",
    "X-Conversation-Privacy", "X-OpenWebUI-Chat-Id", "X-OpenWebUI-User-Id", "X-OpenWebUI-User-Name",
)  # fmt: skip
"""Headers that say who speaks and where."""
NOBODY = "User"
"""Name of a speaker whom nobody names: the key of a token says nothing to a model."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose chat a request is."""

    conversation: str | None
    participant: str | None
    persona: str = ""
    server: str | None = None
    privacy: Privacy | None = None
    name: str | None = None
    """Name of the speaker, to be shown."""
    is_named: bool = False
    """Whether the request names a user or a conversation."""


class _Ids(NamedTuple):
    """What one source of ids says, blank where it says nothing."""

    interface: str
    user: str
    chat: str
    name: str
    user_field: str


def read_identity(
    headers: Mapping[str, str], body: Mapping[str, Any], token: AccessToken, *, shared_memory: bool = False
) -> Identity:
    """Return whose chat a request is. Users are never guessed.

    A conversation of a user that is named is a separate one, unless `shared_memory` or the request says `direct`.
    """
    named = {name.lower(): read_header(headers, name) for name in NAMES}
    persona = _choose_persona(named.get("x-persona-id", ""), body, token)
    return replace(_read_place(named, body, token, shared_memory), persona=persona)


def _choose_persona(header: str, body: Mapping[str, Any], token: AccessToken) -> str:
    """Return the persona a request is for: by its header, its model name, a line of its system message, its token."""
    named, field = header, "X-Persona-Id"
    if not named:
        named, field = split_model(body)[1], "model"
    if not named:
        named, field = find_persona(body.get("messages")), "messages"
    if named and not token.may_speak_as(named):
        source = "The persona of model" if field == "model" else "X-Persona-Id"
        raise Refused(
            403,
            f"{source} is {named[:40]!r}. The token is not for this persona. Name none, or use a token "
            f"made with `prompt-engine token add --host --personas {named[:40]!r}`.",
            fields=(field,),
        )
    return named or token.persona


def _read_place(named: Mapping[str, str], body: Mapping[str, Any], token: AccessToken, shared_memory: bool) -> Identity:
    said = named["x-conversation-privacy"]
    if said and said not in get_args(Privacy):
        raise Refused(
            400,
            f"X-Conversation-Privacy is {said[:40]!r}. It must be public, direct, separate or restricted.",
            word="bad_value",
            fields=("X-Conversation-Privacy",),
        )
    privacy = cast("Privacy | None", said or None)
    ids = _read_ids(named, body)
    chat = ids.chat
    if privacy in ("public", "restricted") and token.kind != "scope":
        return _of_room(ids, chat, privacy, named["x-server-id"] or None)
    alone = privacy if privacy in ("direct", "separate") else "direct" if shared_memory or not chat else "separate"
    if token.kind == "scope":
        return _of_scope_token(ids, chat, token, alone)
    return _of_direct_chat(ids, chat, token, alone)


def split_model(body: Mapping[str, Any]) -> tuple[str, str]:
    """Return the model and the persona in a model name `model@persona`; the name itself where it names no persona.

    What providers write behind an `@` is no persona: a version (`m@20240620`), a path (`@cf/meta/llama`).
    """
    name = str(body.get("model") or "")
    model, at, persona = name.rpartition("@")
    is_providers = persona.isdecimal() or persona in ("", "default", "latest") or "/" in persona
    return (name, "") if not at or is_providers else (model, persona)


def unnamed_conversation(token: AccessToken) -> str:
    """Return the conversation of requests that name nobody."""
    return f"{INTERFACE}/%token-{token.id}"


def _of_direct_chat(ids: _Ids, chat: str, token: AccessToken, privacy: Privacy) -> Identity:
    if ids.user:
        participant = f"{ids.interface}/{_escape(ids.user)}"
        here = f"{participant}/{_escape(chat)}" if chat else participant
        return Identity(here, participant, privacy=privacy, name=ids.name or None, is_named=True)
    here = f"{INTERFACE}/%chat-{_escape(chat)}" if chat else unnamed_conversation(token)
    return Identity(here, here, privacy="direct", name=ids.name or NOBODY, is_named=bool(chat))


def _of_room(ids: _Ids, chat: str, privacy: Privacy, server: str | None) -> Identity:
    if not chat:
        raise Refused(
            400,
            f"X-Conversation-Privacy is {privacy!r}, and no conversation is named. Name it with X-Conversation-Id.",
            word="bad_value",
            fields=("X-Conversation-Id",),
        )
    participant = f"{ids.interface}/{_escape(ids.user)}" if ids.user else None
    here = f"{ids.interface}/%room-{_escape(chat)}"
    return Identity(here, participant, server=server, privacy=privacy, name=ids.name or None, is_named=True)


def _of_scope_token(ids: _Ids, chat: str, token: AccessToken, privacy: Privacy) -> Identity:
    """Return the token's own participant; it may name a conversation of its own, unless the token is for one."""
    own = token.participant or ""
    if ids.user and ids.user not in (own, own.partition("/")[2]) and f"{ids.interface}/{_escape(ids.user)}" != own:
        raise Refused(
            403,
            f"{ids.user_field} is {ids.user[:40]!r}. The token stands for another user. Leave it out, or use a token "
            "of the whole persona: `prompt-engine token add --host`.",
            fields=(ids.user_field,),
        )
    if not chat or token.conversation is not None:
        return Identity(token.scope.conversation, own, name=ids.name or None, is_named=True)
    return Identity(f"{own}/{_escape(chat)}", own, privacy=privacy, name=ids.name or None, is_named=True)


def _read_ids(named: Mapping[str, str], body: Mapping[str, Any]) -> _Ids:
    """Return the ids of the first source that names anybody: our headers, those of Open WebUI, the body."""
    interface = _escape(named.get("x-interface") or INTERFACE)
    for prefix, own, chat_header, field in (
        ("x", interface, "x-conversation-id", "X-User-Id"),
        ("x-openwebui", OPEN_WEBUI, "x-openwebui-chat-id", "X-OpenWebUI-User-Id"),
    ):
        user, chat = named.get(f"{prefix}-user-id", ""), named.get(chat_header, "")
        if user or chat:
            return _Ids(own, user, chat, unquote(named.get(f"{prefix}-user-name", "")), field)
    metadata = body.get("metadata")
    given: Mapping[str, Any] = metadata if isinstance(metadata, dict) else {}
    user, field = _first_text(given, "user_id"), "metadata.user_id"
    if not user:
        user, field = _first_text(body, "user"), "user"
    chat = _first_text(given, "conversation_id", "chat_id", "session_id")
    return _Ids(INTERFACE, user, chat, _first_text(given, "user_name"), field)


def _first_text(values: Mapping[str, Any], *names: str) -> str:
    texts = (values.get(name) for name in names)
    return next((text for text in texts if isinstance(text, str) and text.strip()), "")


def _escape(part: str) -> str:
    """Return an id as a part of a key, in which a slash divides parts and `self` is the persona."""
    if part == PERSONA_SENDER:
        return f"%{part}"
    return part.replace("%", "%25").replace("/", "%2F")
