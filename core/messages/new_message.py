"""A message that is to be stored, made of the host's values after checking them."""

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from ..access.rules import check_key, named_participant, split_key
from ..access.table_participants import is_name_of_person, read_persons
from ..calls.call import Call
from ..context.incoming import read_reply
from ..database import rows
from ..memories import instructions as standing
from ..memories.rules import check_choice
from ..memories.rules_instructions import Instruction
from ..scope import KEY_BYTES, MESSAGE_ID_BYTES, Scope, key_text, optional_key
from ..shapes import PERSONA_SENDER, Line, Role
from ..text.folding import fold
from ..text.hits import digest_folded
from ..text.host_values import get
from ..text.remember_phrases import MEDICAL
from ..text.times import read_time_or_now

NAME_CHARS = 255
SENDER_ID_BYTES = 255
SAME_WITHIN = timedelta(seconds=5)
"""Two equal texts of one sender are one message if they are less than this apart and at least one has no id."""

PERSONA_ROLES = ("persona", "thought")
NOBODY_ROLES = ("system", "narrator")
"""Roles of lines without a speaker, unless they name a sender."""


@dataclass(frozen=True, slots=True)
class NewMessage:
    conversation: str
    text: str
    at: datetime
    sender_id: str = ""
    sender_name: str = ""
    message_id: str | None = None
    role: Role = "user"
    participant: str | None = None
    """Speaker's key; None for the persona, the system and unknown speakers."""
    triggered_by: str | None = None
    """Key of the participant whom a persona's line answers."""
    metadata: Any = None
    hidden: bool = False
    excluded: bool = False
    title: str = ""
    server_name: str = ""
    instructions: tuple[Instruction, ...] = ()
    """Standing instructions in the text, which are stored with the message."""
    beside: Any = None
    """Further data of the message from an imported file; only the function that stores the data knows its type."""
    folded: str = field(init=False, repr=False)
    digest: bytes = field(init=False, repr=False)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "folded", fold(self.text))
        object.__setattr__(self, "digest", digest_folded(self.folded))
        rows.check_size(self.folded, "message_text in its folded form")

    @property
    def is_persona(self) -> bool:
        return self.role in PERSONA_ROLES or (self.sender_id == PERSONA_SENDER and self.participant is None)

    @property
    def is_of_somebody(self) -> bool:
        """Return whether the speaker is a person, known or unknown, rather than the persona, system or narrator."""
        return not self.is_persona and (self.role not in NOBODY_ROLES or self.participant is not None)

    @property
    def sender(self) -> tuple[str, str]:
        """Return the key that tells senders apart: the id, or the name if there is no id."""
        return self.sender_id, "" if self.sender_id else self.sender_name

    @property
    def quoted(self) -> str | None:
        """Key of the person whom this message quotes; "" for an unknown person, None if the message quotes nobody."""
        reply, interface = read_reply(self.metadata), split_key(self.conversation)[0]
        if reply is None or reply.is_persona or not (reply.name or reply.text):
            return None
        return f"{interface}/{reply.sender.id}" if reply.sender.id else named_participant(interface, reply.name) or ""


def read_message(
    scope: Scope, conversation: object, text: object, *, now: datetime,
    sender_name: object = None, sender_id: object = None, timestamp: object = None, metadata: object = None,
    message_id: object = None, role: object = None, triggered_by: object = None, title: object = None,
    server_name: object = None, hidden: object = False, excluded: object = False,
) -> NewMessage | None:  # fmt: skip
    """Return the message to store, None if conversation or text is blank."""
    if conversation is None or text is None or (isinstance(conversation, str) and not conversation.strip()):
        return None
    key = check_key(conversation)
    said = rows.text(text, "message_text")
    if not said.strip():
        return None
    notes: list[str] = []
    sender = "" if sender_id is None else key_text(sender_id, "sender_id", SENDER_ID_BYTES)
    known_role = _role(role, sender)
    participant = None
    name = rows.name(sender_name, "sender_name", NAME_CHARS, notes)
    own = known_role in PERSONA_ROLES or (sender == PERSONA_SENDER and known_role != "user")
    if not own:
        participant, sender = _participant(scope, key, sender, known_role, name)
    elif triggered_by is None:
        triggered_by = scope.participant
    return NewMessage(
        conversation=key,
        text=said,
        at=read_time_or_now(timestamp, "timestamp", now, notes),
        sender_id=sender,
        sender_name=name,
        message_id=optional_key(message_id, "message_id", MESSAGE_ID_BYTES),
        role=known_role,
        participant=participant,
        triggered_by=optional_key(triggered_by, "triggered_by", KEY_BYTES["participant"]),
        metadata=None if metadata is None else rows.json_value(metadata, "metadata", notes),
        hidden=bool(rows.yes_no(hidden, "hidden")),
        excluded=bool(rows.yes_no(excluded, "excluded")),
        title=rows.name(title, "title", 200, notes),
        server_name=rows.name(server_name, "server_name", 200, notes),
        notes=tuple(notes),
    )


def _role(role: object, sender: str) -> Role:
    if role is None:
        return "persona" if sender == PERSONA_SENDER else "user"
    check_choice(role, "role", Role)
    return role  # type: ignore[return-value]


def _participant(scope: Scope, conversation: str, sender: str, role: Role, name: str) -> tuple[str | None, str]:
    """Return (participant key, sender id), made from the sender's id, else the scope's participant, else the name."""
    interface = split_key(conversation)[0]
    if sender:
        key = f"{interface}/{sender}"
        return key_text(key, "sender_id with its interface", KEY_BYTES["participant"]), sender
    speaker = None if role in NOBODY_ROLES else scope.participant or named_participant(interface, name)
    return speaker, "" if speaker is None else speaker.partition("/")[2] or speaker


def read_instructions(call: Call, message: NewMessage | Line) -> tuple[Instruction, ...]:
    """Return the standing instructions in a message; if it addresses another person, only those on health and diet."""
    stated = standing.read_instructions(message.text, call.settings, role=message.role, excluded=message.excluded)
    is_for_other = bool(stated) and _is_for_other(call, message)
    return tuple(each for each in stated if not is_for_other or each.topics & {"diet", "pregnancy", MEDICAL})


def _is_for_other(call: Call, message: NewMessage | Line) -> bool:
    reply, is_addressed = read_reply(message.metadata), get(message.metadata, "is_addressed")
    mark, name = re.findall(r"^\s*(<@!?|@|)(\w*)", fold(message.text))[0]
    is_own_name = name.endswith("bot") or name.startswith(re.split(r"[\W_]", fold(call.persona))[0])
    if is_addressed or is_own_name or call.scope.privacy in ("direct", "separate"):
        return False
    if mark.startswith("<"):
        return bool(read_persons(call.db, call.persona, [f"{split_key(message.conversation)[0]}/{name}"]))
    if mark:
        return is_addressed is False or is_name_of_person(call.db, call.persona, name)
    own = ("", message.sender_id, message.sender_name)
    return reply is not None and not reply.is_persona and reply.sender.identity not in own
