"""The rows of a search by id, with their texts: a part of the third round trip of a prompt (D35).

Called by `core.store.reading`. A row that is gone, expired, hidden or of an audience not seen is not brought.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Integer, bindparam, func, literal_column, null, or_, select, type_coerce
from sqlalchemy.types import NullType

from core.store import sources
from core.store.dialects import ID, Key, Time, from_key, microseconds, read_time
from core.store.statements import Part, aside


@dataclass(frozen=True, slots=True)
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


@lru_cache(maxsize=8)
def _rows_of(number: int, family: str) -> Part:
    source = sources.BY_NUMBER[number]
    row = source.table.c
    size = bindparam("chars", type_=Integer())

    def cut(column: Any) -> Any:
        return func.substr(column, 1, size) if column is not None else null()

    extra = (
        [row.interaction_summary, row.user_message, row.personal_thought] if source is sources.AI_DIARY else [None] * 3
    )
    raw = {
        "tags": source.tags,
        "digest": row.content_hash,
        "conversation": row.interface_path if source is sources.CHAT else row.get("conversation_key"),
        "sender": row.get("sender_id"),
        "message": row.get("message_id"),
        "at": row.timestamp,
    }
    columns = [
        literal_column(str(source.number), Integer()).label("source"),
        row.id,
        cut(source.text).label("text0"),
        *(cut(c).label(f"text{n}") for n, c in enumerate(extra, 1)),
        func.substr(row.text_folded, 1, bindparam("folded_chars", type_=Integer())).label("folded"),
        *((null() if c is None else type_coerce(c, NullType())).label(n) for n, c in raw.items()),
    ]
    where = [
        aside(row.persona_id, family) == bindparam("persona", type_=Key(64)),
        row.id.in_(bindparam("ids", expanding=True, type_=ID)),
        aside(row.audience_id, family).in_(bindparam("audiences", expanding=True, type_=ID)),
        source.findable,
    ]
    if "expires_at" in row:
        where.append(or_(row.expires_at.is_(None), row.expires_at > bindparam("now", type_=Time())))
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
    return [_rows_of(n, family).text({**values, "ids": wanted.ids[n]}, into) for n in wanted.sources]


def found_row(row: Any) -> FoundRow:
    """Return a row as `row_branches` brings it."""
    tags, digest, conversation, sender, message, at = row[7:13]
    return FoundRow(
        source=row[0],
        id=row[1],
        at_us=microseconds(read_time(at)),
        texts=tuple(t or "" for t in row[2:6]) if row[0] == sources.AI_DIARY.number else (row[2] or "",),
        folded=row[6] or "",
        tags=from_key(tags) if tags is not None else None,
        digest=bytes(digest) if digest is not None else None,
        conversation=from_key(conversation) if conversation is not None else "",
        sender=from_key(sender) if sender is not None else "",
        message_id=from_key(message) if message is not None else None,
    )
