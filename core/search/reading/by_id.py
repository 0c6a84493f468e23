"""The rows of a search by id, with their texts: a part of the third round trip of a prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Integer, bindparam, case, func, literal, literal_column, or_, select

from ...database import sources
from ...database.dialects import ID, Key, Time
from ...database.schema import participants
from ...database.statements import Part, aside
from ..ranking.people import PERSONA
from . import found_rows
from .found_rows import NEAR_CHARS


def list_columns(number: int, row: Any) -> list[Any]:
    """Return the columns of a row of a source that becomes a hit, cut at `chars` and `folded_chars`."""

    def cut(column: Any) -> Any:
        return _cut(column, "chars")

    folded = _cut(row.text_folded, "folded_chars")
    if number == sources.CHAT.number:
        return found_rows.MESSAGE.columns(**_said(row, "chars"), folded=folded)
    common = {"id": row.id, "folded": folded, "digest": row.content_hash, "at_us": row.timestamp}
    if number == sources.MEMORIES.number:
        return found_rows.MEMORY.columns(
            **common,
            content=cut(row.content),
            author=row.author,
            person=_person(row),
            messages=row.source_message_ids,
            tags=row.tags,
            conversation=row.conversation_key,
            participant=row.participant_key,
        )
    return found_rows.ENTRY.columns(
        **common,
        content=cut(row.content),
        interaction_summary=cut(row.interaction_summary),
        user_message=cut(row.user_message),
        personal_thought=cut(row.personal_thought),
        tags=row.context_tags,
    )


def _person(row: Any) -> Any:
    """Return the name of the person whose statement a memory is: one look-up by key for each row."""
    p = participants.c
    shown = select(p.display_name).where(
        p.persona_id == row.persona_id, p.participant_key == func.coalesce(row.participant_key, literal("", Key(255)))
    )
    return shown.scalar_subquery()


def _said(row: Any, size: str) -> dict[str, Any]:
    """Return the columns of a message that both ways of asking for it bring."""
    nought, one = (literal_column(n, Integer()) for n in "01")
    return {
        "id": row.id,
        "text": _cut(row.message_text, size),
        "sender_name": row.sender_name,
        "chars": func.coalesce(func.char_length(row.text_folded), nought),
        "of_persona": case((row.role == literal_column(f"'{PERSONA}'", Key(12)), one), else_=nought),
        "participant": row.participant_key,
        "digest": row.content_hash,
        "conversation": row.interface_path,
        "sender": row.sender_id,
        "message_id": row.message_id,
        "at_us": row.timestamp,
    }


def _cut(column: Any, size: str) -> Any:
    return func.substr(column, literal_column("1", Integer()), bindparam(size, type_=Integer()))


@lru_cache(maxsize=8)
def _rows_of(number: int, family: str) -> Part:
    source = sources.BY_NUMBER[number]
    row = source.table.c
    where = [
        aside(row.persona_id, family) == bindparam("persona", type_=Key(64)),
        row.id.in_(bindparam("ids", expanding=True, type_=ID)),
        aside(row.audience_id, family).in_(bindparam("audiences", expanding=True, type_=ID)),
        source.findable,
    ]
    if "expires_at" in row:
        kept = or_(row.expires_at.is_(None), row.expires_at > bindparam("now", type_=Time()))
        where.append(or_(kept, row.conversation_key == bindparam("here", type_=Key(512))))
    return Part(select(*list_columns(number, row)).where(*where), family)


@lru_cache(maxsize=2)
def _near_rows(family: str) -> Part:
    c = sources.CHAT.table.c
    # Most rows that are near become no hits: their text is brought once and folded here.
    where = [
        aside(c.persona_id, family) == bindparam("persona", type_=Key(64)),
        c.id.in_(bindparam("around", expanding=True, type_=ID)),
        aside(c.audience_id, family).in_(bindparam("audiences", expanding=True, type_=ID)),
    ]
    return Part(select(*found_rows.NEIGHBOUR.columns(**_said(c, "near_chars"))).where(*where), family)


@dataclass(frozen=True, slots=True)
class RowsWanted:
    """Rows to bring by id."""

    ids: Mapping[int, Sequence[int]]
    """Source number to row ids."""
    chars: int
    """Most characters of each text."""
    folded_chars: int
    """Most characters of the folded text, 0 for none."""
    around: Sequence[int] = ()
    """Ids of messages that stand around them."""
    is_all: bool = True
    """Every candidate of the search is among them."""
    are_there: bool = False
    """The search has brought the rows themselves."""

    @property
    def sources(self) -> tuple[int, ...]:
        """Return the numbers of the sources with ids."""
        return tuple(sorted(number for number, numbers in self.ids.items() if numbers))


def row_branches(wanted: RowsWanted, shared: Mapping[str, Any], family: str, into: list[Any]) -> list[str]:
    """Return the texts of one branch per source that brings rows by id, and one for those around, values
    into `into`.
    """
    near_chars = max(wanted.chars, NEAR_CHARS)
    values = {**shared, "chars": wanted.chars, "folded_chars": wanted.folded_chars, "near_chars": near_chars}
    missing = () if wanted.are_there else wanted.sources
    made = [_rows_of(n, family).text({**values, "ids": wanted.ids[n]}, into) for n in missing]
    if wanted.around:
        made.append(_near_rows(family).text({**values, "around": wanted.around}, into))
    return made
