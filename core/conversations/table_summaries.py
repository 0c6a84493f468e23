"""SQL for summaries of ended conversations, listed by audience, and for the messages to summarise."""

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, Integer, Select, and_, bindparam, delete, or_, select, update

from ..access import table as audience_table
from ..access import table_conversations
from ..access.rules import AudienceKey
from ..access.table_conversations import AudienceRow
from ..access.view import Viewer
from ..base.groups import group
from ..calls.call import Call
from ..database.compiled import FIRST, IDS, CompiledStatement, Shape, execute_parts
from ..database.dialects import ID, Key, Time
from ..database.engine import Database
from ..database.ids import retry_duplicates
from ..database.schema import chat_history_cache, conversation_summaries, conversations
from ..messages import new_message
from ..messages.table_batches import Seen
from ..messages.table_lines import LINE, build_line
from ..scope import Scope
from ..shapes import Line, WriteResult
from .rules_summaries import MOST_MESSAGES

_C = conversation_summaries.c


class NewSummary(NamedTuple):
    """A summary to store, with fields named like the columns."""

    id: int
    conversation_key: str
    """Key of the conversation; "" for a summary without a conversation."""
    title: str
    summary: str
    occurred_at: datetime
    last_message_row: int
    """Number that identifies the conversation's end, from `rules_summaries.number_end`."""
    provenance: str


class StoredSummary(NamedTuple):
    id: int
    title: str
    summary: str
    at: datetime | None
    conversation: str = ""
    """Key of the conversation; prompts do not read this field and the following fields."""
    provenance: str = ""


def find_place(connection: Connection, call: Call) -> AudienceRow | None:
    """Return the audience of a conversation's summary and lock it; None if the conversation was deleted."""
    if not call.scope.conversation:
        own = audience_table.find_or_make(connection, call.db, call.persona, AudienceKey("persona"))
        return AudienceRow(own)
    facts = table_conversations.find(connection, call.persona, call.scope.conversation, lock=True)
    return None if facts is None else AudienceRow(facts.audience_id, facts.local_only, facts)


def enlist_summary(connection: Connection, call: Call, place: AudienceRow, new: NewSummary) -> WriteResult:
    """Store a summary in place of the locked conversation's earlier one; keep only the newest in the list."""
    persona, most = call.persona, call.settings.max_recent_conversations
    audience_table.lock(connection, persona, place.audience_id)
    key, at = new.conversation_key, bindparam("at", new.occurred_at, type_=Time())
    same_id = find_end(connection, persona, key, new.last_message_row)
    if same_id is not None:
        return WriteResult(True, same_id) if same_id == new.id else WriteResult(False, same_id, "duplicate")
    if key:
        mine = (_C.persona_id == persona, _C.conversation_key == key)
        is_later = or_(_C.occurred_at > at, and_(_C.occurred_at == at, _C.id > new.id))
        later = connection.execute(select(_C.id).where(*mine, is_later)).scalar()
        if later is not None:
            note = "the conversation has a summary of a later end"
            return WriteResult(False, later, "duplicate", notes=(note,))
        connection.execute(delete(conversation_summaries).where(*mine))
    where = {"persona_id": persona, "audience_id": place.audience_id, "local_only": int(place.local_only)}
    connection.execute(conversation_summaries.insert().values(**new._asdict(), **where, created_at=call.db.clock()))
    listed = select(_C.id).where(_C.persona_id == persona, _C.audience_id == place.audience_id)
    beyond = listed.order_by(*_NEWEST).limit(2**31 - 1).offset(most)
    leaving = connection.execute(beyond).scalars().all()
    execute_parts(connection, delete(conversation_summaries).where(_C.persona_id == persona, _C.id.in_(IDS)), leaving)
    return WriteResult(True, new.id)


def find_end(connection: Connection, persona: str, conversation: str, last: int) -> int | None:
    here = (_C.persona_id == persona, _C.conversation_key == conversation)
    return connection.execute(select(_C.id).where(*here, _C.last_message_row == last)).scalar()


@retry_duplicates
def insert_summary(call: Call, *, title: str, summary: str, at: datetime) -> WriteResult:
    """Add a summary written by a person to the list of the scope's audience."""
    row_id = call.db.ids.one()

    def work(connection: Connection) -> WriteResult:
        place = table_conversations.ensure(connection, call.db, call.scope, sender=call.scope.participant)
        # without a conversation, the row's id is the number of the end, so no two ends are equal
        return enlist_summary(connection, call, place, NewSummary(row_id, "", title, summary, at, row_id, "import"))

    return call.db.idempotent_transaction(work, source="conversation_summaries")  # a repeated run finds its own row


_VISIBLE = (
    _C.persona_id == bindparam("persona", type_=Key(64)),
    _C.audience_id.in_(bindparam("audiences", expanding=True, type_=ID)),
    _C.local_only <= bindparam("local_only", type_=Integer()),
)
_NEWEST = (_C.occurred_at.desc(), _C.id.desc())


def read_summaries(call: Call, viewer: Viewer) -> list[StoredSummary]:
    """Return the newest MAX_RECENT_CONVERSATIONS summaries of each visible audience, oldest first."""
    columns = (_C.id, _C.title, _C.summary, _C.occurred_at, _C.conversation_key, _C.provenance, _C.audience_id)
    rows = call.db.read(select(*columns).where(*_VISIBLE).order_by(*_NEWEST), viewer.bound)
    newest = group((row.audience_id, StoredSummary(*row[:-1])) for row in rows)
    most = call.settings.max_recent_conversations
    summaries = [one for of_audience in newest.values() for one in of_audience[:most]]
    return sorted(summaries, key=lambda one: (one.at is not None, one.at, one.id))


SHOWN = Shape(FIRST + 20, StoredSummary, _C.id, title=_C.title, summary=_C.summary, at=_C.occurred_at)


@lru_cache(maxsize=2)
def select_shown(family: str) -> CompiledStatement:
    newest = select(*SHOWN.columns).where(*_VISIBLE).order_by(*_NEWEST)
    return CompiledStatement(newest.limit(bindparam("most", type_=Integer())), family)


OPERATION = "CONVERSATION_SUMMARY"
_M, _K = chat_history_cache.c, conversations.c


def close_conversation(connection: Connection, persona: str, conversation: str, now: datetime) -> bool:
    """Mark a locked conversation as closed; return False if the conversation is unknown or already closed."""
    is_open = or_(_K.status != "closed", _K.closed_at == bindparam("now", now, type_=Time()))
    change = update(conversations).where(_K.persona_id == persona, _K.conversation_key == conversation, is_open)
    return bool(connection.execute(change.values(status="closed", closed_at=now)).rowcount)


def _select_lines(persona: str, conversation: str) -> Select[Any]:
    """Return the SELECT of a conversation's spoken messages, newest first."""
    here = (_M.persona_id == persona, _M.interface_path == conversation)
    said = (_M.excluded == 0, _M.role.not_in(("system", "narrator", "thought")))
    return select(*LINE).where(*here, *said).order_by(_M.timestamp.desc(), _M.id.desc())


def find_last_line(connection: Connection, persona: str, conversation: str) -> Line | None:
    row = connection.execute(_select_lines(persona, conversation).limit(1)).first()
    return None if row is None else build_line(row)


def read_lines_up_to(db: Database, persona: str, conversation: str, last: int, at: datetime) -> list[Line]:
    """Return the last MOST_MESSAGES messages up to (`at`, row id `last`), oldest first; `last` may be deleted."""
    up_to = or_(_M.timestamp < at, and_(_M.timestamp == at, _M.id <= last))
    rows = db.read(_select_lines(persona, conversation).where(up_to).limit(MOST_MESSAGES))
    return [build_line(row) for row in reversed(rows)]


def find_stored_rows(connection: Connection, scope: Scope, lines: Sequence[Line], now: datetime) -> list[int | None]:
    """Return the row id of each message in `lines`; None for a message that is not stored."""
    messages = []
    for line in lines:
        who = ("self", "persona") if line.is_persona else (line.sender_id, "user")
        name = line.sender_name[: new_message.NAME_CHARS]
        message = new_message.read_message(
            scope, scope.conversation, line.text, now=now, sender_name=name, sender_id=who[0], timestamp=line.at,
            message_id=line.message_id, role=who[1],
        )  # fmt: skip
        messages.append(message)
    readable = [message for message in messages if message is not None]
    if not readable:
        return [None for _ in lines]
    seen = Seen(connection, scope.persona, scope.conversation or "", readable)
    return [None if message is None else seen.double_of(message) for message in messages]
