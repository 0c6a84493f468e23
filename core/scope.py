"""The scope of every read and write: who is asking.

A scope names a persona and, if known, a conversation, the participant speaking and the server. No scope spans all
personas. `access.view` decides which rows a scope sees; this module holds values only.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal, get_args

from .base.hints import shown
from .base.wire_ids import find_whole
from .errors import MessageError, ScopeError

Destination = Literal["remote", "local"]
Privacy = Literal["public", "direct", "separate", "restricted"]
"""public: visible in its server. direct: one participant and the persona. separate: as direct, but it shares only saved
memories and standing instructions with the participant's other private conversations. restricted: a closed channel."""
PrivacySource = Literal["host", "ids", "token"]
"""Who says how private a conversation is. host: the host. ids: nobody, but the chat id is the sender's id. token: a
participant's token."""

NO_SERVER = "DM"
"""Server id that a host passes if a conversation is on no server. No real server has this id."""
KEY_BYTES = {"persona": 64, "conversation": 512, "participant": 255, "server": 191}
MESSAGE_ID_BYTES = 191


def key_text(value: object, field: str, limit_bytes: int, *, required: bool = False) -> str:
    """Normalise an id to text: numbers in decimal, texts unchanged, with their spaces and letter case.

    Raises a MessageError for `field` if the id has another type, has more than `limit_bytes`, contains NUL or a lone
    surrogate, or is blank although `required` is set.

    >>> key_text(42, "chat_id", 255), key_text("u1 ", "user_id", 255)
    ('42', 'u1 ')
    """
    if type(value) is str and value.isascii() and len(value) <= limit_bytes and "\x00" not in value and value.strip():
        return value  # the fast path of nearly all ids: a message has a dozen
    if (number := find_whole(value)) is None and not isinstance(value, str):
        raise MessageError.of_type(field, value, "a text or a whole number")
    if number is not None and abs(number) >= 10**limit_bytes:  # Python refuses to write more than 4300 digits
        raise MessageError(
            f"{field} is a number of more than {limit_bytes} digits. At most {limit_bytes} bytes are allowed. "
            "Use a shorter id.",
            fields=(field,),
        )
    text = str(value)
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise MessageError(f"{field} holds a lone surrogate. Send valid Unicode.", fields=(field,)) from None
    if "\x00" in text:
        raise MessageError(f"{field} holds a NUL character, which no id may. Remove it.", fields=(field,))
    if size > limit_bytes:
        what = f"{field} is {size} bytes long. At most {limit_bytes} bytes are allowed. Use a shorter id."
        raise MessageError(what, fields=(field,))
    if required and not text.strip():
        raise MessageError(f"{field} is blank. An id is needed here.", fields=(field,))
    return text


def optional_key(value: object, field: str, limit_bytes: int) -> str | None:
    """Normalise an id as `key_text` does; None and a blank id become None."""
    text = None if value is None else key_text(value, field, limit_bytes)
    return text if text and text.strip() else None


@dataclass(frozen=True, slots=True)
class Scope:
    """Who is asking: a persona and, if known, a conversation, the speaker and a server.

    Raises:
        ScopeError: the persona is blank or None, or the destination or the privacy is unknown.
        MessageError: an id that is longer than its column or contains NUL.

    >>> from prompt_engine import Scope
    >>> Scope("iris", conversation="telegram/42", participant="telegram/7").server
    ''
    """

    persona: str = "default"
    """The persona that remembers; at most 64 bytes."""
    conversation: str | None = None
    """Conversation key `interface/chat[/thread]`, at most 512 bytes."""
    participant: str | None = None
    """Participant key `interface/external id` of the speaker, at most 255 bytes."""
    server: str = ""
    """Server (community) of the conversation, at most 191 bytes; "" for hosts without servers and in direct messages.
    `DM` means no server: it becomes "", and the conversation becomes direct unless `privacy` is given."""
    destination: Destination | None = None
    """Destination of the prompt; None means PROMPT_DESTINATION."""
    privacy: Privacy | None = None
    """Privacy that the host states for the conversation; None if the host states no privacy."""
    no_server: bool = False
    """Whether the host says that the conversation is on no server; the server `DM` sets it."""
    privacy_from: PrivacySource = "host"
    """Who states `privacy`; only a statement of the host changes a stored conversation."""

    def __post_init__(self) -> None:
        if self.persona is None or (isinstance(self.persona, str) and not self.persona.strip()):
            raise ScopeError(f"persona is {self.persona!r}. Every scope needs a persona; there is none for all.")
        object.__setattr__(self, "persona", key_text(self.persona, "persona", KEY_BYTES["persona"]))
        for field in ("conversation", "participant"):
            value = getattr(self, field)
            if value is not None:
                object.__setattr__(self, field, key_text(value, field, KEY_BYTES[field]))
        server = "" if self.server is None else self.server
        object.__setattr__(self, "server", key_text(server, "server", KEY_BYTES["server"]))
        if self.destination not in (None, "remote", "local"):
            raise ScopeError(f"destination is {shown(self.destination)}. It must be 'remote' or 'local'.")
        if self.privacy not in (None, *get_args(Privacy)):
            names = ", ".join(map(repr, get_args(Privacy)))
            raise ScopeError(f"privacy is {shown(self.privacy)}. It must be one of {names}.")
        if self.server:
            object.__setattr__(self, "no_server", self.server == NO_SERVER)
        if self.server == NO_SERVER and self.privacy is None:
            object.__setattr__(self, "privacy", "direct")
        if self.server == NO_SERVER or self.privacy in ("direct", "separate"):
            object.__setattr__(self, "server", "")


_current: ContextVar[Scope | None] = ContextVar("prompt_engine_scope", default=None)


@contextmanager
def use_scope(scope: Scope) -> Iterator[Scope]:
    """Make `scope` the default of all functions, in this thread or task and in tasks it starts.

    >>> from prompt_engine import Scope, use_scope
    >>> with use_scope(Scope("iris", conversation="telegram/42")) as here:
    ...     here.persona
    'iris'
    """
    token = _current.set(None if scope is None else current_scope(scope))
    try:
        yield scope
    finally:
        _current.reset(token)


def has_current_scope() -> bool:
    """Return whether `use_scope` is in effect."""
    return _current.get() is not None


def current_scope(scope: Scope | None = None) -> Scope:
    """Return `scope`, else the scope of `use_scope`, else a scope of the persona `default`."""
    if scope is not None:
        if not isinstance(scope, Scope):
            raise ScopeError(f"scope is of type {type(scope).__name__}. Pass a prompt_engine.scope.Scope.")
        return scope
    return _current.get() or Scope()
