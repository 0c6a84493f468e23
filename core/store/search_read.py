"""The rows of a search by id, with their texts: a part of the third round trip of a prompt (D35).

Called by `core.store.reading`. A row that is gone, expired, hidden or of an audience not seen is not brought.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Integer, Null, bindparam, case, func, literal_column, null, or_, select, type_coerce
from sqlalchemy.sql.elements import Label
from sqlalchemy.types import NullType

from core.rules.relevance_people import NOBODY, PERSONA, Speaker
from core.rules.surroundings import Stretch
from core.rules.text import fold
from core.store import search_near, sources
from core.store.dialects import ID, Key, Time, from_key, microseconds, read_time
from core.store.postings import Limits, as_text
from core.store.statements import Part, aside

NEAR_CHARS = 1000
"""Characters of the text of a row that was brought for its neighbour; more where a snippet needs more."""
PACKED_CHARS = 10_000
"""Texts are asked for at more length than this in columns of their own: a server bounds what it joins to one."""
COLUMNS = 13
"""Columns of every branch of the last round trip."""


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


def _columns_of(number: int, row: Any, *, near: bool = False) -> list[Any]:
    """Return the twelve columns of a row of a source that follow its number."""
    source = sources.BY_NUMBER[number]
    nought, one, two = (literal_column(n, Integer()) for n in "012")
    size = bindparam("near_chars" if near else "chars", type_=Integer())

    def cut(column: Any) -> Any:
        return func.substr(column, one, size) if column is not None else null()

    extra: list[Any] = [null()] * 3
    if source is sources.AI_DIARY:
        extra = [cut(c) for c in (row.interaction_summary, row.user_message, row.personal_thought)]
    elif source is sources.CHAT:
        # One number for two: a text beside the others' texts would have to be of their collation.
        own = case((row.role == literal_column(f"'{PERSONA}'", Key(12)), one), else_=nought)
        extra = [row.sender_name, two * func.coalesce(func.char_length(row.text_folded), nought) + own, null()]
    # Most rows that are near become no hits: their text is brought once and folded here.
    folded = null() if near else func.substr(row.text_folded, one, bindparam("folded_chars", type_=Integer()))
    raw = {
        "tags": row.participant_key if source is sources.CHAT else row[source.tags.name],
        "digest": row.content_hash,
        "conversation": row.interface_path if source is sources.CHAT else row.get("conversation_key"),
        "sender": row.get("sender_id"),
        "message": row.get("message_id"),
        "at": row.timestamp,
    }
    return [
        row.id,
        cut(row[source.text.name]).label("text0"),
        *(c.label(f"text{n}") for n, c in enumerate(extra, 1)),
        folded.label("folded"),
        *((null() if c is None else type_coerce(c, NullType())).label(n) for n, c in raw.items()),
    ]


class Form(NamedTuple):
    """How rows come: PyMySQL spends more on the columns of a row than the server on finding it."""

    packed: bool = False
    """Each row is one text, `_packed`."""
    alone: bool = False
    """Nothing else is read by the statement, so that a packed row needs no further columns."""


def _in_form(first: Any, columns: Sequence[Any], form: Form, family: str) -> list[Any]:
    """Return the columns of a branch: as they are, or packed, where `unpacked` expects them."""
    if not form.packed:
        return [first.label("source"), *columns]
    packed = type_coerce(_packed(first, columns, family), NullType())
    if form.alone:
        return [packed.label("packed")]
    # In place of `tags`, which mixes texts and keys anyway: beside a text the others' texts would come as bytes.
    named = [packed.label("tags") if c.name == "tags" else null().label(c.name) for c in columns[1:]]
    return [first.label("source"), null().label("id"), *named]


def _packed(first: Any, columns: Sequence[Any], family: str) -> Any:
    """Return one text of a row: its numbers, the lengths of its other columns in bytes, and these columns joined.

    Lengths, since ids and texts may hold any character there is.
    """
    row_id, *texts, at = columns
    parts = [p.element if isinstance(p, Label) else p for p in texts]
    parts.append(as_text(at.element, family))
    nothing: Any = literal_column("-1")
    blank: Any = literal_column("''")
    sizes = [nothing if isinstance(p, Null) else func.coalesce(func.length(p), nothing) for p in parts]
    joined = func.concat(*(func.coalesce(p, blank) for p in parts if not isinstance(p, Null)))
    return func.concat_ws(literal_column("' '"), first, row_id, *sizes, joined)


def unpacked(packed: bytes | str) -> list[Any]:
    """Return a row that came packed as `row_branches` brings it otherwise, its texts as texts and its keys as bytes.

    >>> unpacked("2 7 6 -1 -1 -1 -1 3 -1 4 0 -1 5 a bé 1 2a  bwhen!".encode())
    [2, 7, 'a bé ', None, None, None, None, b'1 2', None, b'a  b', b'', None, b'when!']
    """
    data = packed if isinstance(packed, bytes) else packed.encode("utf-8", "surrogateescape")
    *numbers, joined = data.split(b" ", COLUMNS)
    row: list[Any] = [int(numbers[0]), int(numbers[1])]
    at = 0
    for size in numbers[2:]:
        if size == b"-1":
            row.append(None)
        else:
            end = at + int(size)
            row.append(joined[at:end])
            at = end
    row[2:7] = [None if text is None else text.decode("utf-8", "replace") for text in row[2:7]]
    return row


@lru_cache(maxsize=32)
def _rows_of(number: int, form: Form, family: str) -> Part:
    source = sources.BY_NUMBER[number]
    row = source.table.c
    columns = _in_form(literal_column(str(number), Integer()), _columns_of(number, row), form, family)
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


@lru_cache(maxsize=8)
def _near_rows(form: Form, family: str) -> Part:
    c = sources.CHAT.table.c
    columns = _in_form(search_near.NEAR.c.part, _columns_of(sources.CHAT.number, c, near=True), form, family)
    joined = search_near.NEAR.join(sources.CHAT.table, c.id == search_near.NEAR.c.id)
    made = (
        select(*columns)
        .select_from(joined)
        .where(
            aside(c.persona_id, family) == bindparam("persona", type_=Key(64)),
            aside(c.audience_id, family).in_(bindparam("audiences", expanding=True, type_=ID)),
        )
    )
    return Part(made.prefix_with("STRAIGHT_JOIN", dialect="mysql"), family, in_order=True)


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


@dataclass(frozen=True, slots=True)
class RowBranches:
    """What brings the rows."""

    named: str = ""
    """A CTE of the statement; its values come before those of all branches."""
    branches: Sequence[str] = ()


def row_branches(
    wanted: RowsWanted, shared: Mapping[str, Any], family: str, into: list[Any], *, alone: bool
) -> RowBranches:
    """Return the texts of one branch per source that brings rows by id and one for all stretches, values into `into`.

    Args:
        shared: persona, audiences and now.
        alone: nothing else is read by the statement.
    """
    near_chars = max(wanted.chars, NEAR_CHARS)
    form = Form(family == "mysql" and near_chars <= PACKED_CHARS, alone)
    values = {**shared, "chars": wanted.chars, "folded_chars": wanted.folded_chars, "near_chars": near_chars}
    named = ""
    if wanted.stretches and wanted.limits is not None:
        named = search_near.rows_around(wanted.stretches, {**values, **wanted.limits.values()}, family, into)
    made = [_rows_of(n, form, family).text({**values, "ids": wanted.ids[n]}, into) for n in wanted.sources]
    if named:
        made.append(_near_rows(form, family).text(values, into))
    return RowBranches(named, made)


def keep(rows: dict[tuple[int, int], FoundRow], row: Any) -> None:
    """Take a row as `row_branches` brings it; one that comes more than once is in all its stretches.

    Of a row asked for by its id there is more of the text.
    """
    if len(row) < COLUMNS:
        row = unpacked(row[0])
    elif row[1] is None:
        row = unpacked(row[7])
    part = row[0]
    place = (part if part >= 0 else _CHAT, row[1])
    known = rows.get(place)
    if known is None:
        rows[place] = found_row(row)
    elif part < 0:
        known.stretches.append(search_near.FIRST - part)
    else:
        made = rows[place] = found_row(row)
        made.stretches.extend(known.stretches)


_CHAT, _DIARY = sources.CHAT.number, sources.AI_DIARY.number


@lru_cache(maxsize=4096)
def _stored_us(at: Any) -> int:
    """Return a stored time in microseconds; the same rows come again and again."""
    return microseconds(read_time(at))


def found_row(row: Any) -> FoundRow:
    """Return a row as `row_branches` brings it; of a hash that is none, put there by hand, it has none (F58)."""
    part, row_id, text, *more, folded, tags, digest, conversation, sender, message, at = row
    made = FoundRow(
        part,
        row_id,
        _stored_us(at),
        (text or "",),
        folded or "",
        None,
        bytes(digest) if isinstance(digest, (bytes, bytearray)) else None,
        "" if conversation is None else from_key(conversation),
        "" if sender is None else from_key(sender),
        None if message is None else from_key(message),
    )
    if part < 0:
        made.source = _CHAT
        made.stretches.append(search_near.FIRST - part)
        made.folded = fold(text[:NEAR_CHARS]) if text else ""
    if made.source == _CHAT:
        made.chars, own = divmod(int(more[1] or 0), 2)
        made.speaker = Speaker(more[0] or "", "" if tags is None else from_key(tags), PERSONA if own else "")
        return made
    made.tags = None if tags is None else from_key(tags)
    if part == _DIARY:
        made.texts = tuple(t or "" for t in (text, *more))
    return made
