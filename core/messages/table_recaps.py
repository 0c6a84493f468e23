"""Recaps of messages and of alternatives (tables message_recaps, message_alternatives), and the queueing of recaps."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, and_, bindparam, case, delete, func, or_, select, update

from ..access import table_conversations
from ..base.hints import shown
from ..database.compiled import FIRST, IDS, CompiledStatement, Reader, Shape, execute_parts
from ..database.dialects import ID, Key, Time, insert_ignore
from ..database.engine import Database
from ..database.rows import insert_rows, read_object
from ..database.schema import chat_history_cache, conversations, message_alternatives, message_recaps
from ..database.sources import CHAT, open_to
from ..jobs import table as jobs_table
from .table_lines import FACTS, LINE, OWN, WITH_RECAP, Line, build_line

_C, _R = chat_history_cache.c, message_recaps.c


@dataclass(frozen=True, slots=True)
class Recap:
    memory: str | None = None
    include: str | None = None
    edited: bool = False
    stale: bool = False
    """Whether the message was changed after the recap was made."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """Values for the keys in `stories.rules_recaps.IN_DATA` that are set."""
    provenance: str = ""
    updated_at: datetime | None = None


RECAP_COLUMNS = (_R.memory, _R.include, _R.edited, _R.stale, _R.data, _R.provenance, _R.updated_at)


def _match_own(persona: str, row_id: int) -> tuple[Any, ...]:
    return _R.persona_id == persona, _R.message_row == row_id, _R.alternative == OWN


def find_recap(read: Reader, persona: str, row_id: int) -> Recap | None:
    return next(map(build_recap, read(select(*RECAP_COLUMNS).where(*_match_own(persona, row_id)), {})), None)


def build_recap(row: Any) -> Recap:
    """Make a recap from a row whose last columns are `RECAP_COLUMNS`."""
    memory, include, edited, stale, data, provenance, updated_at = row[-len(RECAP_COLUMNS) :]
    return Recap(memory, include, bool(edited), bool(stale), read_object(data) or {}, provenance or "", updated_at)


def read_log(db: Database, persona: str, conversation: str, limit: int, before: int | None) -> list[tuple[Line, Recap]]:
    """Return a conversation's last `limit` messages (before the row `before`), each with its recap, oldest first."""
    mine = (_C.persona_id == persona, _C.interface_path == conversation)
    chosen = select(*LINE, *RECAP_COLUMNS).select_from(WITH_RECAP).where(*mine)
    if before is not None:
        rows = db.read(select(_C.timestamp).where(*mine, _C.id == before), source=chat_history_cache.name)
        if not rows:
            return []
        at = rows[0][0]
        chosen = chosen.where(or_(_C.timestamp < at, and_(_C.timestamp == at, _C.id < before)))
    newest = db.read(chosen.order_by(_C.timestamp.desc(), _C.id.desc()).limit(limit), source=chat_history_cache.name)
    return [(build_line(row), build_recap(row)) for row in reversed(newest)]


def read_page(
    read: Reader, persona: str, conversation: str, rows: int, *, before: Line | None = None
) -> list[tuple[Line, int]]:
    """Return, newest first, the next `rows` messages with a recap that is not stale, and the recap's tokens.

    `before` is the last message of the previous page. Without a stored token count, each character counts as a token.
    """
    # An expression instead of `memory IS NOT NULL`, with which SQLite reads the recaps first and sorts them all.
    takes_part = case((_R.memory.is_(None), 0), (_R.stale != 0, 0), else_=1)
    tokens = func.coalesce(_R.token_count, func.char_length(_R.memory)).label("recap_tokens")
    here = (_C.persona_id == persona, _C.interface_path == conversation, takes_part == 1)
    chosen = select(*FACTS, tokens).select_from(WITH_RECAP).prefix_with("STRAIGHT_JOIN", dialect="mysql").where(*here)
    if before is not None:
        at = bindparam("at", before.at, type_=Time())
        chosen = chosen.where(_C.timestamp <= at, or_(_C.timestamp < at, _C.id < before.row_id))
    newest = chosen.order_by(_C.timestamp.desc(), _C.id.desc()).limit(rows)
    return [(build_line(r), int(r.recap_tokens)) for r in read(newest, {})]


def read_included(read: Reader, persona: str, conversation: str) -> dict[int, str]:
    """Return, by message row id, the column `include` of the recaps that prompts include."""
    own = (_R.persona_id == persona, _R.conversation_key == conversation, _R.alternative == OWN)
    rows = read(select(_R.message_row, _R.include).where(*own, _R.include.is_not(None)), {})
    return {r.message_row: r.include for r in rows}


class IncludedRecap(NamedTuple):
    id: int
    """Row id of the recap's message."""
    memory: str
    digest: Any
    at: datetime | None


INCLUDED = Shape(FIRST + 10, IncludedRecap, _C.id, memory=_R.memory, digest=_C.content_hash, at=_C.timestamp)
_MOST_LINES = 2000


@lru_cache(maxsize=2)
def select_included(family: str) -> CompiledStatement:
    persona, conversation = bindparam("persona", type_=Key(64)), bindparam("conversation", type_=Key(512))
    k = conversations.c
    off = select(k.stories_off).where(k.persona_id == persona, k.conversation_key == conversation).scalar_subquery()
    joined = message_recaps.join(chat_history_cache, and_(_C.persona_id == _R.persona_id, _C.id == _R.message_row))
    own = (_R.persona_id == persona, _R.conversation_key == conversation, _R.alternative == OWN)
    told = (_R.include.is_not(None), _R.memory.is_not(None), func.coalesce(off, 0) == 0)
    seen = (_C.audience_id.in_(bindparam("audiences", expanding=True, type_=ID)), open_to(CHAT))
    included = select(*INCLUDED.columns).select_from(joined).where(*own, *told, *seen)
    newest = included.order_by(_C.timestamp.desc(), _C.id.desc()).limit(_MOST_LINES)
    return CompiledStatement(newest.prefix_with("STRAIGHT_JOIN", dialect="mysql"), family, in_order=True)


def update_recap(
    connection: Connection,
    db: Database,
    persona: str,
    conversation: str,
    row_id: int,
    columns: Mapping[str, Any],
    data: Mapping[str, Any] | None,
) -> bool:
    """Set columns and `data` values of a message's current recap; None removes a value. Return whether it changed."""
    key, own = {"persona_id": persona, "message_row": row_id, "alternative": OWN}, _match_own(persona, row_id)
    # Locked before it is read: two writers that set different keys of one message must not lose one.
    connection.execute(insert_ignore(message_recaps, db.family), {**key, "conversation_key": conversation})
    recap = build_recap(connection.execute(select(*RECAP_COLUMNS).where(*own).with_for_update()).one())
    merged = {name: value for name, value in {**recap.data, **(data or {})}.items() if value is not None}
    compared = columns.keys() - {"token_count", "provenance"}
    if merged == recap.data and all(getattr(recap, name) == columns[name] for name in compared):
        return False
    values = {**columns, "data": merged or None, "updated_at": db.clock()}
    connection.execute(update(message_recaps).where(*own).values(values))
    return True


def move_recap(connection: Connection, persona: str, row_id: int, source: int, target: int) -> None:
    """Move a recap from the alternative `source` to `target`; prompts include the recap only after a refresh."""
    here = (_R.persona_id == persona, _R.message_row == row_id)
    connection.execute(delete(message_recaps).where(*here, _R.alternative == target))
    move = update(message_recaps).where(*here, _R.alternative == source)
    connection.execute(move.values(alternative=target, include=None))


def set_include(connection: Connection, persona: str, rows: Collection[int], include: str | None) -> int:
    """Set `include` of these messages' current recaps (of stale recaps only to None); return how many changed."""
    wanted = _R.include.is_not(None) if include is None else (_R.include.is_(None) | (_R.include != include))
    where = [_R.persona_id == persona, _R.alternative == OWN, wanted]
    if include is not None:
        where += [_R.memory.is_not(None), _R.stale == 0]
    stmt = update(message_recaps).where(*where, _R.message_row.in_(IDS)).values(include=include)
    return execute_parts(connection, stmt, rows)


def clear_conversation(connection: Connection, persona: str, conversation: str) -> dict[str, int]:
    """Delete all recaps of a conversation; return how many messages had each value, such as `memory` or `include`."""
    here = (_R.persona_id == persona, _R.conversation_key == conversation)
    columns = (_R.memory.is_not(None).label("memory"), _R.include.is_not(None).label("include"), _R.edited, _R.data)
    counts: Counter[str] = Counter()
    for row in connection.execute(select(*columns).where(*here, _R.alternative == OWN)):
        counts.update(name for name in ("memory", "include", "edited") if getattr(row, name))
        counts.update(list(read_object(row.data) or ()))
    connection.execute(delete(message_recaps).where(*here))
    return dict(counts)


CHECKED = "auto_scene_break_checked"
"""Key that marks a message as checked for scene breaks, together with all earlier messages."""


def read_checked(read: Reader, persona: str, conversation: str) -> set[int]:
    own = (_R.alternative == OWN, _R.data.is_not(None))
    stored = select(_R.message_row, _R.data).where(_R.persona_id == persona, _R.conversation_key == conversation, *own)
    return {r.message_row for r in read(stored, {}) if (read_object(r.data) or {}).get(CHECKED)}


_A = message_alternatives.c


@dataclass(frozen=True, slots=True)
class Alternative:
    number: int
    text: str
    is_current: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)
    recap: Recap | None = None
    """Recap of the alternative; None if there is no recap, or if the recap was not loaded."""


def read_alternatives(reader: Reader, persona: str, row_id: int) -> list[Alternative]:
    """Return the alternatives of a message, in order; [] for a message with a single version."""
    mine = (_A.persona_id == persona, _A.message_row == row_id)
    stored = select(_A.alternative, _A.text, _A.is_current, _A.metadata).where(*mine).order_by(_A.alternative)
    rows = reader(stored, {})
    return [Alternative(r.alternative, r.text, bool(r.is_current), read_object(r.metadata) or {}) for r in rows]


def find_alternative(reader: Reader, persona: str, row_id: int, number: int) -> Alternative:
    """Return a message's alternative `number`; raise ValueError, with the existing numbers, if it does not exist."""
    by_number = {each.number: each for each in read_alternatives(reader, persona, row_id)}
    if number not in by_number:
        numbers = f"0 to {max(by_number)}" if by_number else "none but the message itself"
        raise ValueError(f"There is no alternative {shown(number)}. The message has {numbers}.")
    return by_number[number]


def insert_alternatives(connection: Connection, persona: str, new: Iterable[tuple[int, Alternative]]) -> None:
    """Store alternatives, each with its message's row id; their numbers must be unused."""
    ready = [
        {"persona_id": persona, "message_row": row_id, "alternative": each.number, "text": each.text}
        | {"is_current": int(each.is_current), "metadata": dict(each.metadata) or None}
        for row_id, each in new
    ]
    insert_rows(connection, message_alternatives, ready)


def set_current_alternative(connection: Connection, persona: str, row_id: int, number: int) -> None:
    """Make an alternative the current one of its message, and its recap the current recap of the message."""
    here = (_A.persona_id == persona, _A.message_row == row_id)
    current = connection.execute(select(_A.alternative).where(*here, _A.is_current == 1)).scalar()
    if current == number:
        return
    chosen = case((_A.alternative == number, 1), else_=0)
    connection.execute(update(message_alternatives).where(*here, _A.is_current != chosen).values(is_current=chosen))
    if current is not None:
        move_recap(connection, persona, row_id, OWN, current)
    move_recap(connection, persona, row_id, number, OWN)


RECAP, DETECTION = "RECAP", "SCENE_DETECTION"
SAID = ("user", "persona")
"""Roles whose messages get a recap automatically: people and the persona."""
_MADE = ("model", "extract")
"""Provenances of recaps that an operation made."""


def queue_operations(connection: Connection, db: Database, persona: str, conversation: str, row_id: int) -> None:
    """Queue the recap of a new message, and a search for scene breaks unless the conversation has a queued search."""
    place = table_conversations.find(connection, persona, conversation)
    if place is not None and not place.stories_off:
        queue_recap(connection, db, persona, conversation, row_id)
        jobs_table.enqueue(connection, db, persona, DETECTION, conversation=conversation, once=True)


def queue_recap(connection: Connection, db: Database, persona: str, conversation: str, row_id: int) -> None:
    jobs_table.enqueue(connection, db, persona, RECAP, conversation=conversation, payload={"message_id": row_id})


def read_without_recap(read: Reader, persona: str, conversation: str) -> list[int]:
    """Return, oldest first, the messages of people and persona whose recap is missing or stale and not queued."""
    waiting = jobs_table.read_open(read, persona, RECAP, conversation).values()
    queued = {payload.get("message_id") for payload in waiting}
    here = (_C.persona_id == persona, _C.interface_path == conversation, _C.excluded == 0, _C.role.in_(SAID))
    without = select(_C.id).select_from(WITH_RECAP).where(*here, or_(_R.memory.is_(None), _R.stale != 0))
    return [r.id for r in read(without.order_by(_C.timestamp, _C.id), {}) if r.id not in queued]


def mark_changed(connection: Connection, db: Database, persona: str, line: Line, text: str, *, queues: bool) -> None:
    """Mark an edited message's recap as stale; queue a new recap if an operation made the old or `queues` is set."""
    current = (_A.persona_id == persona, _A.message_row == line.row_id, _A.is_current == 1, _A.text != text)
    connection.execute(update(message_alternatives).where(*current).values(text=text))
    own = (*_match_own(persona, line.row_id), _R.memory.is_not(None))
    connection.execute(update(message_recaps).where(*own).values(stale=1, include=None))
    provenance = connection.execute(select(_R.provenance).where(*own)).scalar()
    if provenance in _MADE or (queues and line.role in SAID):
        queue_recap(connection, db, persona, line.conversation, line.row_id)
