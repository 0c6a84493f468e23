"""The rows of a search by id, with their texts: a part of the third round trip of a prompt (D35).

Called by `core.store.reading`. A row that is gone, expired, hidden or of an audience not seen is not brought.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from sqlalchemy import Integer, bindparam, case, func, literal, literal_column, null, or_, select, type_coerce
from sqlalchemy.types import NullType

from core.rules.relevance_people import NOBODY, PERSONA, Speaker
from core.rules.surroundings import Stretch
from core.rules.text import fold
from core.store import search_near, sources
from core.store.dialects import ID, Key, Time, from_key, microseconds, read_time
from core.store.postings import Limits
from core.store.statements import Part, aside

NEAR_CHARS = 1000
"""Characters of the text of a row that was brought for its neighbour; more where a snippet needs more."""


@dataclass(slots=True)
class FoundRow:
    """A row that may become a hit, with its texts.

    Not frozen: a search makes hundreds, and a frozen one takes three times as long.
    """

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
    chars: int = 0
    """Length of the folded text of a chat row; 0 elsewhere."""
    stretches: list[int] = field(default_factory=list)
    """Numbers of the stretches it was read in (`core.rules.surroundings`)."""


def _columns_of(number: int, row: Any, first: Any, *, folded: bool = True) -> list[Any]:
    """Return the thirteen columns of a row of a source, `first` before them."""
    source = sources.BY_NUMBER[number]
    nought, one, two = (literal_column(n, Integer()) for n in "012")
    size = bindparam("chars", type_=Integer())

    def cut(column: Any) -> Any:
        return func.substr(column, one, size) if column is not None else null()

    extra: list[Any] = [null()] * 3
    if source is sources.AI_DIARY:
        extra = [cut(c) for c in (row.interaction_summary, row.user_message, row.personal_thought)]
    elif source is sources.CHAT:
        # One number for two: a text beside the others' texts would have to be of their collation.
        own = case((row.role == literal(PERSONA, Key(12)), one), else_=nought)
        extra = [row.sender_name, two * func.coalesce(func.char_length(row.text_folded), nought) + own, null()]
    raw = {
        "tags": row.participant_key if source is sources.CHAT else row[source.tags.name],
        "digest": row.content_hash,
        "conversation": row.interface_path if source is sources.CHAT else row.get("conversation_key"),
        "sender": row.get("sender_id"),
        "message": row.get("message_id"),
        "at": row.timestamp,
    }
    return [
        first.label("source"),
        row.id,
        cut(row[source.text.name]).label("text0"),
        *(c.label(f"text{n}") for n, c in enumerate(extra, 1)),
        (func.substr(row.text_folded, 1, bindparam("folded_chars", type_=Integer())) if folded else null()).label(
            "folded"
        ),
        *((null() if c is None else type_coerce(c, NullType())).label(n) for n, c in raw.items()),
    ]


def _near_columns(row: Any) -> list[Any]:
    # Most of these become no hits: their text is brought once and folded here.
    return _columns_of(sources.CHAT.number, row, bindparam("part", type_=Integer()), folded=False)


@lru_cache(maxsize=8)
def _rows_of(number: int, family: str) -> Part:
    source = sources.BY_NUMBER[number]
    row = source.table.c
    columns = _columns_of(number, row, literal_column(str(number), Integer()))
    where = [
        aside(row.persona_id, family) == bindparam("persona", type_=Key(64)),
        row.id.in_(bindparam("ids", expanding=True, type_=ID)),
        aside(row.audience_id, family).in_(bindparam("audiences", expanding=True, type_=ID)),
        source.findable,
    ]
    if "expires_at" in row:
        kept = or_(row.expires_at.is_(None), row.expires_at > bindparam("now", type_=Time()))
        where.append(or_(kept, row.conversation_key == bindparam("here", type_=Key(512))))
    return Part(select(*columns).where(*where), family)


@dataclass(frozen=True, slots=True)
class RowsWanted:
    """Rows to bring by id."""

    ids: Mapping[int, Sequence[int]]
    """Source number to row ids."""
    chars: int
    """Most characters of each text."""
    folded_chars: int
    """Most characters of the folded text, 0 for none."""
    stretches: Sequence[Stretch] = ()
    """Stretches of conversations to bring beside them."""
    limits: Limits | None = None
    """What holds for the rows of the stretches, as it does for the look-ups."""

    @property
    def sources(self) -> tuple[int, ...]:
        """Return the numbers of the sources with ids."""
        return tuple(sorted(number for number, numbers in self.ids.items() if numbers))


def row_branches(wanted: RowsWanted, shared: Mapping[str, Any], family: str, into: list[Any]) -> list[str]:
    """Return the text of one branch per source that brings rows by id, and append its values to `into`.

    Args:
        shared: persona, audiences and now.
    """
    values = {**shared, "chars": wanted.chars, "folded_chars": wanted.folded_chars}
    made = [_rows_of(n, family).text({**values, "ids": wanted.ids[n]}, into) for n in wanted.sources]
    if wanted.stretches and wanted.limits is not None:
        values = {**values, **wanted.limits.values(), "chars": max(wanted.chars, NEAR_CHARS)}
        made += search_near.branches(wanted.stretches, _near_columns, values, family, into)
    return made


def keep(rows: dict[tuple[int, int], FoundRow], row: Any) -> None:
    """Take a row as `row_branches` brings it; one that comes more than once is in all its stretches.

    Of a row asked for by its id there is more of the text.
    """
    number = row[0] if row[0] >= 0 else sources.CHAT.number
    known = rows.get((number, row[1]))
    if known is not None and row[0] < 0:
        known.stretches.append(search_near.FIRST - row[0])
        return
    made = rows[number, row[1]] = found_row(row)
    if known is not None:
        made.stretches.extend(known.stretches)


def found_row(row: Any) -> FoundRow:
    """Return a row as `row_branches` brings it."""
    tags, digest, conversation, sender, message, at = row[7:13]
    number = row[0] if row[0] >= 0 else sources.CHAT.number
    is_chat = number == sources.CHAT.number
    speaker, size = NOBODY, 0
    if is_chat:
        size, own = divmod(int(row[4] or 0), 2)
        speaker = Speaker(row[3] or "", from_key(tags) if tags is not None else "", PERSONA if own else "")
        tags = None
    return FoundRow(
        source=number,
        id=row[1],
        at_us=microseconds(read_time(at)),
        texts=tuple(t or "" for t in row[2:6]) if number == sources.AI_DIARY.number else (row[2] or "",),
        folded=row[6] or (fold(row[2][:NEAR_CHARS]) if row[0] < 0 and row[2] else ""),
        tags=from_key(tags) if tags is not None else None,
        digest=bytes(digest) if digest is not None else None,
        conversation=from_key(conversation) if conversation is not None else "",
        sender=from_key(sender) if sender is not None else "",
        message_id=from_key(message) if message is not None else None,
        speaker=speaker,
        chars=size,
        stretches=[] if row[0] >= 0 else [search_near.FIRST - row[0]],
    )
