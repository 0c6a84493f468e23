"""What a person said in public channels of servers, known in their own direct messages (SERVER_IN_DIRECT)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Integer, and_, bindparam, literal, literal_column, null, or_, select

from ..database import sources
from ..database.dialects import Key, Time, has_keyword, like_pattern
from ..database.row_shapes import FIRST, KEY, NUMBER, PLAIN, TEXT, TIME, Branch, Shape
from ..database.schema import audiences, participants
from ..database.statements import Part
from .view import Viewer

MOST_WORDS = 16
"""Words looked for; each costs a look at every row of the person."""
MOST_ROWS = 40
"""Newest matching rows of each source."""


def values_of(viewer: Viewer, server_in_direct: bool) -> dict[str, str] | None:
    """Return what `said_by_person` binds beside `persona`; None where a scope knows nothing of servers."""
    if not server_in_direct or viewer.privacy != "direct" or not viewer.person:
        return None
    return {"own_person": viewer.person}


@lru_cache(maxsize=8)
def said_by_person(table: Any) -> Any:
    """Return the condition of rows of a person, under whichever of their linked identities, in public channels."""
    a, p, row = audiences.c, participants.c, table.c
    persona, person = bindparam("persona", type_=Key(64)), bindparam("own_person", type_=Key(255))
    public = select(a.audience_id).where(a.persona_id == persona, a.kind == literal("server", Key(12)))
    linked = select(p.participant_key).where(p.persona_id == persona, p.person_key == person)
    return and_(row.audience_id.in_(public), or_(row.participant_key == person, row.participant_key.in_(linked)))


class OwnRow(NamedTuple):
    """A row that may become a hit."""

    id: int
    text: str | None
    name: str | None
    folded: str | None
    source: int
    tags: str | None
    conversation: str | None
    digest: Any
    participant: str | None
    at: datetime | None


SHOWN = Shape(
    FIRST + 50, OwnRow, text=TEXT, name=TEXT, folded=TEXT, source=NUMBER,
    tags=KEY, conversation=KEY, digest=PLAIN, participant=KEY, at=TIME,
)  # fmt: skip


@lru_cache(maxsize=2 * MOST_WORDS)
def _part(number: int, words: int, family: str) -> Part:
    source = sources.BY_NUMBER[number]
    row = source.table.c
    is_chat = source is sources.CHAT
    columns = SHOWN.columns(
        id=row.id,
        text=source.text,
        name=row.sender_name if is_chat else row.author,
        folded=row.text_folded,
        source=literal_column(str(number), Integer()),
        tags=null() if source.tags is None else source.tags,
        conversation=row.interface_path if is_chat else row.conversation_key,
        digest=row.content_hash,
        participant=row.participant_key,
        at=row.timestamp,
    )
    where = [
        row.persona_id == bindparam("persona", type_=Key(64)),
        said_by_person(source.table),
        source.findable,
        sources.open_to(source),
        or_(*(has_keyword(row.text_folded, bindparam(f"own_word{n}")) for n in range(words))),
    ]
    if "expires_at" in row:
        where.append(or_(row.expires_at.is_(None), row.expires_at > bindparam("now", type_=Time())))
    chosen = select(*columns).where(*where).order_by(row.timestamp.desc(), row.id.desc())
    return Part(chosen.limit(MOST_ROWS), family)


def branches(viewer: Viewer, words: Sequence[str], *, server_in_direct: bool) -> list[Branch]:
    """Return what brings the rows; none where the scope knows nothing of servers, or no word is looked for."""
    values = values_of(viewer, server_in_direct)
    wanted = list(dict.fromkeys(words))[:MOST_WORDS]
    if values is None or not wanted:
        return []
    bound = values | {f"own_word{n}": like_pattern(word) for n, word in enumerate(wanted)}
    return [_branch(number, len(wanted), bound) for number in (sources.MEMORIES.number, sources.CHAT.number)]


def _branch(number: int, words: int, values: Mapping[str, Any]) -> Branch:
    table = sources.BY_NUMBER[number].table.name
    return Branch(SHOWN, lambda family: _part(number, words, family), values, table, of_persona=True)
