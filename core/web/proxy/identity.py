"""Read persona, conversation and participant of a request from headers, body and token. Pure.

| What a request names | Conversation | Participant |
|---|---|---|
| user `ann` | `proxy/ann` | `proxy/ann` |
| user `ann`, conversation `7` | `proxy/ann/7` | `proxy/ann` |
| room `7` (X-Conversation-Privacy) | `proxy/%room-7` | `proxy/ann`, or nobody |
| conversation `7`, no user | `proxy/%chat-7` | `proxy/%chat-7` |
| nothing | `proxy/%token-1` | `proxy/%token-1` |

In an id `%` and `/` are escaped, so no id can begin with `%room-`. A user called `self` is `%self`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, cast, get_args
from urllib.parse import unquote

from ...scope import Privacy, Scope
from ...shapes import PERSONA_SENDER
from ...tokens.shapes import AccessToken
from ..access import read_header
from ..errors import Refused

INTERFACE = "proxy"
"""Interface of participants and conversations if the request names no interface."""
OPEN_WEBUI = "openwebui"
NAMES = (
    "X-Conversation-Id", "X-User-Id", "X-User-Name", "X-Persona-Id", "X-Interface", "X-Server-Id",
    "X-Conversation-Privacy", "X-OpenWebUI-Chat-Id", "X-OpenWebUI-User-Id", "X-OpenWebUI-User-Name",
)  # fmt: skip
"""Headers that name persona, speaker, conversation, server or privacy."""
NOBODY = "User"
"""Name used for a speaker without a name: the key made from a token means nothing to a model."""


class _Ids(NamedTuple):
    """Ids that one source of a request names; a missing id is blank."""

    interface: str
    user: str
    chat: str
    name: str | None
    user_field: str

    @property
    def participant(self) -> str:
        return f"{self.interface}/{_escape(self.user)}"


def read_identity(
    headers: Mapping[str, str], body: Mapping[str, Any], token: AccessToken, persona_line: str, *, shared_memory: bool
) -> tuple[Scope, str | None]:
    """Build (scope of a request, the speaker's name or None); a missing user is never guessed.

    A user's named conversation has its own memory, unless `shared_memory` is set or the request's privacy is `direct`.
    """
    named = {name.lower(): read_header(headers, name) for name in NAMES}
    persona = _choose_persona(named["x-persona-id"], split_model(body)[1], persona_line, token)
    ids, privacy = _read_ids(named, body), _read_privacy(named["x-conversation-privacy"])
    chat = _escape(ids.chat)
    if privacy in ("public", "restricted") and token.kind != "scope":
        if not chat:
            raise _refuse_value(
                "X-Conversation-Id",
                f"X-Conversation-Privacy is {privacy!r}, and no conversation is named. Name it with X-Conversation-Id.",
            )
        person = ids.participant if ids.user else None
        room = f"{ids.interface}/%room-{chat}"
        return Scope(persona, room, person, named["x-server-id"], privacy=privacy), ids.name
    alone = privacy if privacy in ("direct", "separate") else "direct" if shared_memory or not chat else "separate"
    if token.kind == "scope":
        _check_own(ids, token)
        if not chat or token.conversation is not None:
            return token.scope, ids.name
        return replace(token.scope, conversation=f"{token.participant}/{chat}", privacy=alone), ids.name
    if ids.user:
        here = f"{ids.participant}/{chat}" if chat else ids.participant
        return Scope(persona, here, ids.participant, privacy=alone), ids.name
    here = f"{INTERFACE}/%chat-{chat}" if chat else f"{INTERFACE}/%token-{token.id}"
    return Scope(persona, here, here, privacy="direct"), ids.name or NOBODY


def _choose_persona(header: str, in_model: str, persona_line: str, token: AccessToken) -> str:
    """Return the persona named by header, model name, system message or token, in this order."""
    named = header or in_model or persona_line
    if named and not token.may_speak_as(named):
        source, field = "X-Persona-Id", "X-Persona-Id" if header else "messages"
        if not header and in_model:
            source, field = "The persona of model", "model"
        raise Refused(
            403,
            f"{source} is {named[:40]!r}. The token is not for this persona. Name none, or use a token "
            f"made with `prompt-engine token add --host --personas {named[:40]!r}`.",
            fields=(field,),
        )
    return named or token.persona


def split_model(body: Mapping[str, Any]) -> tuple[str, str]:
    """Split a name `model@persona` into model and persona; the persona is "" in other names.

    Providers' own uses of `@` are not personas: a version (`m@20240620`), a path (`@cf/meta/llama`).
    """
    name = str(body.get("model") or "")
    model, at, persona = name.rpartition("@")
    is_providers = persona.isdecimal() or persona in ("", "default", "latest") or "/" in persona
    return (name, "") if not at or is_providers else (model, persona)


def _read_privacy(text: str) -> Privacy | None:
    if text and text not in get_args(Privacy):
        what = f"X-Conversation-Privacy is {text[:40]!r}. It must be public, direct, separate or restricted."
        raise _refuse_value("X-Conversation-Privacy", what)
    return cast("Privacy | None", text or None)


def _refuse_value(field: str, sentence: str) -> Refused:
    return Refused(400, sentence, word="bad_value", fields=(field,))


def _check_own(ids: _Ids, token: AccessToken) -> None:
    """Raise ScopeError if the request names another user than the participant of its scope token."""
    own = token.participant or ""
    if ids.user and own not in (ids.user, ids.participant) and own.partition("/")[2] != ids.user:
        raise Refused(
            403,
            f"{ids.user_field} is {ids.user[:40]!r}. The token stands for another user. Leave it out, or use a token "
            "of the whole persona: `prompt-engine token add --host`.",
            fields=(ids.user_field,),
        )


def _read_ids(named: Mapping[str, str], body: Mapping[str, Any]) -> _Ids:
    """Return the ids of the first source that has any: this package's headers, Open WebUI's headers, the body."""
    interface = _escape(named["x-interface"] or INTERFACE)
    for prefix, own, chat_header, field in (
        ("x", interface, "x-conversation-id", "X-User-Id"),
        ("x-openwebui", OPEN_WEBUI, "x-openwebui-chat-id", "X-OpenWebUI-User-Id"),
    ):
        user, chat = named[f"{prefix}-user-id"], named[chat_header]
        if user or chat:
            return _Ids(own, user, chat, unquote(named[f"{prefix}-user-name"]) or None, field)
    metadata = body.get("metadata")
    given: Mapping[str, Any] = metadata if isinstance(metadata, dict) else {}
    user, field = _first_text(given, "user_id"), "metadata.user_id"
    if not user:
        user, field = _first_text(body, "user"), "user"
    chat = _first_text(given, "conversation_id", "chat_id", "session_id")
    return _Ids(INTERFACE, user, chat, _first_text(given, "user_name") or None, field)


def _first_text(values: Mapping[str, Any], *names: str) -> str:
    texts = (values.get(name) for name in names)
    return next((text for text in texts if isinstance(text, str) and text.strip()), "")


def _escape(part: str) -> str:
    """Escape an id for use in a key: `%`, `/`, and the whole id `self`, which stands for the persona."""
    if part == PERSONA_SENDER:
        return f"%{part}"
    return part.replace("%", "%25").replace("/", "%2F")
