"""Rows a search brought, as the last round trip gives them: read, and put together where one comes more than once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from ...database import sources
from ...database.dialects import microseconds
from ...database.row_shapes import KEY, NUMBER, PLAIN, TEXT, TEXT_PLACES, Kind, Shape
from ...database.stored_values import from_key, read_time
from ...shapes import PERSONA_SENDER
from ...text.folding import fold
from ...text.hits import known_name, name_persona
from ..ranking.people import NOBODY, PERSONA, Speaker

NO_NAMES = frozenset(
    {"synth", "self", "persona", "assistant", "user", "host", "system", "bot", "ai", "model", "import", "unknown"}
)
"""What stands as the author of a memory and names nobody."""

NEAR_CHARS = 1000
"""Characters of the text of a row that was brought for its neighbour; more where a snippet needs more."""


@lru_cache(maxsize=4096)
def _stored_us(at: Any) -> int:
    """Return a stored time in microseconds; the same rows come again and again."""
    return microseconds(read_time(at))


_MOMENT = Kind(False, _stored_us)


class _Memory(NamedTuple):
    id: int
    content: str | None
    folded: str | None
    author: str | None
    person: str | None
    """Name of whose statement it is."""
    messages: str | None
    """Messages it was made of."""
    tags: str | None
    digest: Any
    conversation: str | None
    participant: str | None
    at_us: int


class _Entry(NamedTuple):
    id: int
    content: str | None
    interaction_summary: str | None
    user_message: str | None
    personal_thought: str | None
    folded: str | None
    tags: str | None
    digest: Any
    at_us: int


class _Message(NamedTuple):
    id: int
    text: str | None
    sender_name: str | None
    chars: int
    of_persona: int
    folded: str | None
    participant: str | None
    digest: Any
    conversation: str | None
    sender: str | None
    message_id: str | None
    at_us: int


class _Neighbour(NamedTuple):
    id: int
    text: str | None
    sender_name: str | None
    chars: int
    of_persona: int
    participant: str | None
    digest: Any
    conversation: str | None
    sender: str | None
    message_id: str | None
    at_us: int


_SAID = {"text": TEXT, "sender_name": TEXT, "chars": NUMBER, "of_persona": NUMBER}
_WHERE = {"participant": KEY, "digest": PLAIN, "conversation": KEY, "sender": KEY, "message_id": KEY, "at_us": _MOMENT}
_PARTS = ("content", "interaction_summary", "user_message", "personal_thought", "folded")

MEMORY = Shape(
    sources.MEMORIES.number, _Memory, content=TEXT, folded=TEXT, author=TEXT, person=TEXT,
    messages=KEY, tags=KEY, digest=PLAIN, conversation=KEY, participant=KEY, at_us=_MOMENT,
)  # fmt: skip
ENTRY = Shape(sources.AI_DIARY.number, _Entry, **dict.fromkeys(_PARTS, TEXT), tags=KEY, digest=PLAIN, at_us=_MOMENT)
MESSAGE = Shape(sources.CHAT.number, _Message, **_SAID, folded=TEXT, **_WHERE)
NEIGHBOUR = Shape(9, _Neighbour, **_SAID, **_WHERE)
SHAPES: tuple[Shape[Any], ...] = (MEMORY, ENTRY, MESSAGE, NEIGHBOUR)


@dataclass(slots=True)
class FoundRow:
    """A row that may become a hit, with its texts."""

    source: int
    id: int
    at_us: int
    texts: tuple[str, ...]
    """The text columns; the diary has four, content first."""
    folded: str
    tags: Any
    """As stored: JSON text, or None for the chat."""
    digest: bytes | None
    conversation: str
    """Conversation key; blank where the row has none."""
    sender: str
    """Sender id of a chat row; blank elsewhere."""
    message_id: str | None
    speaker: Speaker = NOBODY
    """Who said a chat row."""
    said_by: str = ""
    """Who said it, as a hit shows it; blank where nobody knows."""
    said_by_key: str = ""
    """Participant key of who said it, `self` for the persona; blank where nobody knows."""
    chars: int = 0
    """Length of the folded text of a chat row; 0 elsewhere."""
    messages: Any = None
    """Messages a memory was made of, as stored: JSON text; None where nobody knows, and elsewhere."""


Rows = dict[tuple[int, int], FoundRow]
"""Source number and row id to row."""


def readable(row: Any) -> Any:
    """Return a row whose texts are texts: a column of SQLite keeps bytes that somebody put there by hand."""
    texts = row[TEXT_PLACES]
    if bytes not in map(type, texts):
        return row
    return (*row[:2], *(from_key(v) if isinstance(v, bytes) else v for v in texts), *row[TEXT_PLACES.stop :])


def sort_by_kind(found: Iterable[Any], family: str) -> list[list[Any]]:
    """Return the rows of a statement by kind, in the order of SHAPES, as `put_together` takes them."""
    made: dict[int, list[Any]] = {shape.number: [] for shape in SHAPES}
    read = {shape.number: shape.read for shape in SHAPES}
    for row in found:
        made[row[0]].append(read[row[0]](readable(row) if family == "sqlite" else row))
    return list(made.values())


def put_together(
    persona: str,
    memories: Iterable[_Memory],
    entries: Iterable[_Entry],
    said: Iterable[_Message],
    near: Iterable[_Neighbour],
) -> Rows:
    """Return the rows of a search, each once."""
    rows: Rows = {}
    for memory in memories:
        made = _found(sources.MEMORIES.number, memory, (memory.content or "",), memory.folded or "")
        made.tags, made.conversation, made.messages = memory.tags, memory.conversation or "", memory.messages
        made.said_by = name_author(memory.author or "", memory.person or "", memory.participant or "")
        if made.said_by == name_author("", memory.person or "", memory.participant or ""):
            made.said_by_key = memory.participant or ""
        rows[made.source, made.id] = made
    for entry in entries:
        parts = entry.content, entry.interaction_summary, entry.user_message, entry.personal_thought
        made = _found(sources.AI_DIARY.number, entry, tuple(part or "" for part in parts), entry.folded or "")
        made.tags = entry.tags
        made.said_by = _name_writer(entry, persona)
        made.said_by_key = PERSONA_SENDER if made.said_by else ""
        rows[made.source, made.id] = made
    for one in said:
        made = _message(one, one.folded or "", persona)
        rows[made.source, made.id] = made
    for each in near:
        place = sources.CHAT.number, each.id
        if place not in rows:
            rows[place] = _message(each, fold(each.text[:NEAR_CHARS]) if each.text else "", persona)
    return rows


def _found(source: int, row: _Memory | _Entry | _Message | _Neighbour, texts: tuple[str, ...], folded: str) -> FoundRow:
    """Return a row as it is read; of a hash that is none, put there by hand, it has none."""
    digest = bytes(row.digest) if isinstance(row.digest, (bytes, bytearray)) else None
    return FoundRow(source, row.id, row.at_us, texts, folded, None, digest, "", "", None)


def _message(row: _Message | _Neighbour, folded: str, persona: str) -> FoundRow:
    made = _found(sources.CHAT.number, row, (row.text or "",), folded)
    made.conversation, made.sender, made.message_id = row.conversation or "", row.sender or "", row.message_id
    made.chars = row.chars
    made.speaker = _speaker(row.sender_name or "", row.participant or "", bool(row.of_persona))
    made.said_by = _name_sender(made.speaker, made.sender, persona)
    made.said_by_key = PERSONA_SENDER if _is_persona(made.speaker, made.sender) else row.participant or ""
    return made


def _is_persona(speaker: Speaker, sender: str) -> bool:
    return speaker.role == PERSONA or (sender == PERSONA_SENDER and not speaker.key)


@lru_cache(maxsize=4096)
def _name_sender(speaker: Speaker, sender: str, persona: str) -> str:
    """Return who said a message: the name its line of the history shows, the persona's own for its own lines."""
    if _is_persona(speaker, sender):
        own = speaker.name if speaker.name != PERSONA_SENDER else ""
        return known_name(own, name_persona(persona))
    return known_name(speaker.name, sender)


@lru_cache(maxsize=4096)
def name_author(author: str, person: str, participant: str) -> str:
    """Return who made the statement of a memory, blank where nobody knows."""
    own = "" if author.strip().lower() in NO_NAMES else author
    return known_name(own, person, participant.partition("/")[2])


def _name_writer(entry: _Entry, persona: str) -> str:
    """Return who speaks in a diary entry: the persona, unless all there is of it is what somebody said to it."""
    own = (entry.content, entry.interaction_summary, entry.personal_thought)
    return name_persona(persona) if any(part and not part.isspace() for part in own) else ""


@lru_cache(maxsize=4096)
def _speaker(name: str, participant: str, of_persona: bool) -> Speaker:
    return Speaker(name, participant, PERSONA if of_persona else "")


def forget_kept() -> None:
    """Forget the names and keys of those whose rows were read."""
    _speaker.cache_clear()
    _name_sender.cache_clear()
    name_author.cache_clear()
