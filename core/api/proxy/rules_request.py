"""What a request in the OpenAI dialect says: its lines, whose chat it is, whether it is a turn. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

from ...errors import MessageError, ScopeError
from ...scope import Privacy
from ...tokens.shapes import AccessToken

INTERFACE = "proxy"
"""What participants and conversations are of where a request does not say it."""
OPEN_WEBUI = "openwebui"
SHORT_TOKENS = 64
"""An answer of at most this many tokens is asked for by programs, not by people."""
PRIVACIES: Mapping[str, Privacy] = {"public": "public", "direct": "direct", "restricted": "restricted"}

TASKS = (
    "### Task:",
    "Create a concise, 3-5 word",
    "Provide a concise, 5-word-or-less title",
    "Write a 5-word-or-less title",
    "Generate a concise title",
    "Ignore previous instructions. Summarize the most important facts",
    "[Pause your roleplay",
    "[Continue",
    "[Write your next reply",
    "What's in this image?",
    "Describe this image",
)
"""How front ends begin what they ask beside the chat: titles, tags, follow-ups, summaries, captions."""


IDENTITY = (
    "x-conversation-id", "x-user-id", "x-user-name", "x-persona", "x-interface", "x-server-id",
    "x-conversation-privacy", "x-openwebui-chat-id", "x-openwebui-user-id", "x-openwebui-user-name",
)  # fmt: skip
"""Headers that say who speaks and where."""

NOBODY = "User"
"""How lines show who spoke where nobody is named: the key of a token says nothing to a model."""

_BEHIND = ("system", "developer")


class Whose(NamedTuple):
    """Whose chat a request is, as it says so; None where it does not."""

    conversation: str | None = None
    participant: str | None = None
    server: str | None = None
    privacy: Privacy | None = None
    name: str | None = None
    """Of who speaks, to be shown."""
    model: str | None = None
    """What stands for the model in place of `persona@conversation`: blank asks for that of LLM_MODEL."""


class WrongIdentityError(ScopeError):
    """A request names somebody, or a place, that its token does not stand for."""

    def __init__(self, text: str, field: str) -> None:
        super().__init__(text)
        self.fields: tuple[str, ...] = (field,)


def read_identity(headers: Mapping[str, str]) -> dict[str, str]:
    """Return what the headers say of who speaks and where, as text: they are UTF-8, whatever the server
    takes them for.
    """
    read: dict[str, str] = {}
    for name in IDENTITY:
        value = headers.get(name)
        if value is None:
            continue
        try:
            read[name] = value.encode("latin-1").decode("utf-8")
        except UnicodeError:
            header = _shown(name)
            raise MessageError(
                f"{header} is not valid UTF-8. Send its bytes as UTF-8, or plain ASCII; names (X-User-Name) may be "
                "percent-encoded too.",
                fields=(header,),
            ) from None
    return read


def _shown(header: str) -> str:
    """Return a header's name as people write it."""
    return header.title().replace("Openwebui", "OpenWebUI")


def read_whose(headers: Mapping[str, str], body: Mapping[str, Any], token: AccessToken) -> Whose:
    """Return whose chat a request is; what stands higher in this list goes before what stands lower."""
    persona = headers.get("x-persona", token.persona)
    if persona != token.persona:
        raise WrongIdentityError(
            f"X-Persona is {persona[:40]!r}. The token does not stand for this persona. Leave the header out, or use "
            "a token of that persona.",
            "X-Persona",
        )
    said = headers.get("x-conversation-privacy")
    if said is not None and said not in PRIVACIES:
        raise MessageError(
            f"X-Conversation-Privacy is {said[:40]!r}. It must be public, direct or restricted. Without it the "
            "conversation is a direct one.",
            fields=("X-Conversation-Privacy",),
        )
    interface, user, chat, name, user_field = _read_ids(headers, body)
    model = None
    wanted = body.get("model")
    if isinstance(wanted, str) and wanted.startswith(f"{token.persona}@"):
        model = ""
        chat = chat or wanted.partition("@")[2] or None
    participant = _choose_participant(interface, user, token, user_field)
    shared = said in ("public", "restricted")
    if token.kind == "scope":
        own = token.scope.conversation
        here = own if chat is None or token.conversation is not None else f"{participant}/{_escape(chat)}"
        return Whose(here, participant, None, None, name, model)
    if shared:
        if chat is None:
            raise MessageError(
                f"X-Conversation-Privacy is {said!r}, and no conversation is named. Name it with X-Conversation-Id.",
                fields=("X-Conversation-Id",),
            )
        here = f"{interface}/{_escape(chat)}"
        return Whose(here, participant, headers.get("x-server-id"), PRIVACIES[str(said)], name, model)
    if participant is None:  # nobody is named: what is said stays where it was said
        participant = f"{INTERFACE}/chat-{_escape(chat)}" if chat else f"{INTERFACE}/token-{token.id}"
        return Whose(participant, participant, None, "direct", name or NOBODY, model)
    here = f"{participant}/{_escape(chat)}" if chat else participant
    return Whose(here, participant, None, "direct", name, model)


def _choose_participant(interface: str, user: str | None, token: AccessToken, field: str) -> str | None:
    """Return who speaks; of a scope token its own participant."""
    if token.kind != "scope":
        return f"{interface}/{_escape(user)}" if user else None
    own = token.participant or ""
    if user is not None and user not in (own, own.partition("/")[2]) and f"{interface}/{_escape(user)}" != own:
        raise WrongIdentityError(
            f"{field} is {user[:40]!r}. The token stands for another user. Leave it out, or use a token of the whole "
            "persona: `prompt-engine token add --host`.",
            field,
        )
    return own


def _read_ids(
    headers: Mapping[str, str], body: Mapping[str, Any]
) -> tuple[str, str | None, str | None, str | None, str]:
    """Return interface, user, conversation, name, and what names the user: all from the first place that says any."""
    user, chat = headers.get("x-user-id") or None, headers.get("x-conversation-id") or None
    interface = headers.get("x-interface") or INTERFACE
    name = headers.get("x-user-name")
    if user or chat:
        return _escape(interface), user, chat, unquote(name) if name else None, "X-User-Id"
    user, chat = headers.get("x-openwebui-user-id") or None, headers.get("x-openwebui-chat-id") or None
    if user or chat:
        name = headers.get("x-openwebui-user-name")
        return OPEN_WEBUI, user, chat, unquote(name) if name else None, "X-OpenWebUI-User-Id"
    metadata = body.get("metadata")
    told: Mapping[str, Any] = metadata if isinstance(metadata, dict) else {}
    user, field = _first_text(told, "user_id"), "metadata.user_id"
    if user is None:
        user, field = _first_text(body, "user"), "user"
    chat = _first_text(told, "conversation_id", "chat_id", "session_id")
    return INTERFACE, user, chat, _first_text(told, "user_name"), field


def _first_text(values: Mapping[str, Any], *names: str) -> str | None:
    for name in names:
        value = values.get(name)
        if isinstance(value, str) and value.strip():
            return value
    return None


def _escape(part: str) -> str:
    """Return an id as a part of a key, in which a slash divides parts."""
    return part.replace("%", "%25").replace("/", "%2F")


def read_text(content: Any) -> str:
    """Return the text of a message's content, of parts the texts in lines of their own."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        return "\n".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def read_lines(messages: Sequence[Any]) -> list[dict[str, Any]]:
    """Return what people and persona said, as a transcript takes it: texts alone."""
    return [
        {"role": message["role"], "content": read_text(message.get("content")), "name": message.get("name")}
        for message in messages
        if isinstance(message, dict) and message.get("role") in ("user", "assistant")
    ]


def find_last_user(messages: Sequence[Any]) -> int | None:
    """Return the index of the last line where a user wrote it, None where somebody else did."""
    for index in range(len(messages) - 1, -1, -1):
        role = messages[index].get("role") if isinstance(messages[index], dict) else None
        if role not in _BEHIND:
            return index if role == "user" else None
    return None


def name_background(headers: Mapping[str, str], body: Mapping[str, Any]) -> str:
    """Return why a request is no turn, blank for one that is: `asked`, `short`, `no_user_line`, `no_text`, `task`."""
    if headers.get("x-store", "").strip().lower() in ("no", "false", "0"):
        return "asked"
    for name in ("max_tokens", "max_completion_tokens"):
        limit = body.get(name)
        if isinstance(limit, int) and not isinstance(limit, bool) and 0 < limit <= SHORT_TOKENS:
            return "short"
    messages = body.get("messages")
    last = find_last_user(messages) if isinstance(messages, list) else None
    if last is None or not isinstance(messages, list):
        return "no_user_line"
    texts = [read_text(each.get("content")).strip() for each in messages[last:]]
    if not texts[0]:
        return "no_text"
    return "task" if any(text.startswith(TASKS) for text in texts) else ""
