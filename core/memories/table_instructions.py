"""Standing instructions (table memories, kind `instruction`), stored in the transaction of their message."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, Integer, Select, bindparam, func, or_, select, update

from ..access import table as audience_table
from ..access import table_conversations
from ..access.table_participants import select_identities
from ..access.view import Viewer
from ..calls.call import Call
from ..database import rows
from ..database.compiled import FIRST, CompiledStatement, Kind, Shape, hide_from_index
from ..database.dialects import ID, Key
from ..database.engine import Database
from ..database.schema import audiences, chat_history_cache, memories, participants
from ..database.sources import MEMORIES
from ..index import indexed
from ..scope import Scope
from ..shapes import WriteResult
from ..text.hits import content_digest
from ..text.remember_phrases import MEDICAL
from . import new_item
from . import table as memories_table
from .new_item import NewMemory
from .rules import INSTRUCTION
from .rules_instructions import Instruction, is_narrower, is_other_name, replaces, takes_back
from .table_sources import Sources

SAID, BY_HAND = "chat", "host"
"""Values of source: recognised in a message, and passed in by the host."""
ENDINGS = "endings"
"""Metadata key of an ended instruction: later messages that would end it too, each with the time of reading it."""
MOST_READ = 400
"""Maximum number of a person's instructions that are read for a prompt; the newest are read."""
MOST_ENDED = 20
"""Number of newest ended instructions in which another message that ends them is noted: each takes about 2 ms."""
_C, _M = memories.c, chat_history_cache.c


class KeptItem(NamedTuple):
    """A standing instruction or a saved memory."""

    id: int
    text: str
    topics: tuple[str, ...]
    at: datetime | None
    source: str = ""
    local_only: int = 0


Holding = dict[tuple[int, tuple[str, ...]], list[KeptItem]]
"""Valid instructions that a transaction has read and locked, by (audience, identities of the person)."""


def record_instructions(
    connection: Connection,
    db: Database,
    scope: Scope,
    place: table_conversations.AudienceRow,
    instructions: Iterable[Instruction],
    *,
    at: datetime,
    sources: Sequence[int | str] | None,
    privacy_default: str,
    source: str = SAID,
    holding: Holding | None = None,
) -> list[WriteResult]:
    """Store instructions in the caller's transaction, which has locked the conversation; return one result for each."""
    new = []
    for instruction in instructions:
        memory = new_item.read(
            instruction.text, now=at, author="user", source=source, tags=[], kind=INSTRUCTION,
            pinned=True,  # so that it is never pruned
            source_message_ids=list(sources) if sources else None,
            metadata={"topics": sorted(instruction.held_topics)},
        )  # fmt: skip
        assert memory is not None
        new.append((instruction, memory))
    if not new:
        return []
    if memories_table.is_private(connection, scope, "long_term", privacy_default, True):
        return [WriteResult(False, None, "privacy") for _ in new]
    place = table_conversations.choose_place(connection, db, scope, place, INSTRUCTION)
    audience_table.lock(connection, scope.persona, place.audience_id)
    known = {} if holding is None else holding
    return [_record(connection, db, scope, place, instruction, memory, known) for instruction, memory in new]


def _record(
    connection: Connection,
    db: Database,
    scope: Scope,
    place: table_conversations.AudienceRow,
    instruction: Instruction,
    memory: NewMemory,
    holding: Holding,
) -> WriteResult:
    people, places = _list_identities(connection, scope.persona, scope.participant), {place.audience_id}
    if instruction.ends:  # it may cancel instructions of every audience that this conversation sees
        places.update(table_conversations.list_seen(connection, scope.persona, place.facts))
    for key in sorted((each, people) for each in places):
        if key not in holding:
            holding[key] = _read_in_force(connection, scope.persona, [key[0]], key[1])
    items = holding[place.audience_id, people]
    if not instruction.topics and any(is_other_name(instruction, one.text, one.topics) for one in items):
        instruction = replace(instruction, topics=frozenset({"name"}))
        memory = replace(memory, metadata={"topics": ["name"]})
    if instruction.ends:
        is_ended, is_beside = _end(connection, db, scope, people, places, instruction, memory, holding)
        if _ends_in_server(connection, scope.persona, place, people, places, instruction, memory):
            instruction = replace(instruction, ends=False)  # kept here, as the server's prompts must not change
            memory = replace(memory, metadata={"topics": sorted(instruction.topics)})
        elif is_ended or not (instruction.begins or is_beside):
            notes = ("it took an earlier instruction back",) if is_ended else ()
            return WriteResult(False, None, "unchanged", notes=notes)
    seen = (item for item in items if item.local_only <= place.local_only)
    same = next((item for item in seen if content_digest(item.text) == memory.digest), None)
    if same is not None:
        at = max(memory.at, same.at or memory.at)
        memories_table.renew(connection, db, scope.persona, same.id, at, memory.source_message_ids)
        items[:] = [item._replace(at=at) if item is same else item for item in items]
        return WriteResult(False, same.id, "duplicate")
    if any(replaces(item.topics, instruction.held_topics) and not _is_older(item, memory) for item in items):
        return WriteResult(False, None, "unchanged", notes=("a newer instruction says otherwise",))
    row_id = db.ids.one()
    memories_table.write(connection, db, scope, [(row_id, memory)], place)
    replaced = [item for item in items if replaces(instruction.held_topics, item.topics)]
    if "name" in instruction.held_topics:
        replaced += [one for one in items if takes_back(instruction, one.text, one.topics) and _is_older(one, memory)]
    _hide(connection, db, scope.persona, replaced, superseded_by=row_id)
    items[:] = [item for item in items if item not in replaced]
    topics = tuple(sorted(instruction.held_topics))
    items.append(KeptItem(row_id, instruction.text, topics, memory.at, local_only=int(place.local_only)))
    return WriteResult(True, row_id, notes=memory.notes)


def _ends_in_server(
    connection: Connection,
    persona: str,
    place: table_conversations.AudienceRow,
    people: Sequence[str],
    places: Collection[int],
    instruction: Instruction,
    memory: NewMemory,
) -> bool:
    """Return whether a sentence in a direct chat cancels an instruction that was given on a server and applies here."""
    if not instruction.sees_servers or place.facts is None or place.facts.direct_person is None:
        return False
    a = audiences.c
    servers = select(a.audience_id).where(a.persona_id == persona, a.kind == "server", a.audience_id.not_in(places))
    items = _read_in_force(connection, persona, servers, people)
    return any(
        _is_older(item, memory)
        and takes_back(instruction, item.text, item.topics)
        and not is_narrower(instruction, item.text, item.topics)
        for item in items
    )


def _end(
    connection: Connection,
    db: Database,
    scope: Scope,
    people: tuple[str, ...],
    places: Collection[int],
    instruction: Instruction,
    memory: NewMemory,
    holding: Holding,
) -> tuple[bool, bool]:
    """End the instructions that a sentence cancels; return (whether any ended, whether a wider ban stays beside it)."""
    held = [item for each in places for item in holding[each, people]]
    held = [item for item in held if _is_older(item, memory)]
    ended = [item for item in held if takes_back(instruction, item.text, item.topics)]
    allowed = [item for item in ended if not is_narrower(instruction, item.text, item.topics)]
    is_beside, ended = ended != allowed, allowed
    ended = ended or _list_meant(connection, scope, people, instruction, memory, held)
    by = next((each for each in memory.source_message_ids or () if isinstance(each, int)), None)
    if by is not None:
        mine = (_C.persona_id == scope.persona, _C.audience_id.in_(places), _whose(_C, people))
        _note_ending(connection, db, instruction, by, (*mine, _C.kind == INSTRUCTION, _C.timestamp <= memory.at))
    _hide(connection, db, scope.persona, ended, archived_at=db.clock(), superseded_by=by)
    for each in places:
        holding[each, people][:] = [item for item in holding[each, people] if item not in ended]
    return bool(ended), is_beside


def _note_ending(connection: Connection, db: Database, instruction: Instruction, by: int, here: Sequence[Any]) -> None:
    """Record message `by` in instructions that an earlier message ended; they stay ended if that message is deleted."""
    ended = select(*KEPT_ITEM).where(*here, _C.archived_at.is_not(None), _C.superseded_by.is_not(None))
    for row in connection.execute(ended.order_by(_C.id.desc()).limit(MOST_ENDED)):
        item, values = read_item(row), rows.read_object(row.metadata) or {}
        if takes_back(instruction, item.text, item.topics):
            values[ENDINGS] = {**values.get(ENDINGS, {}), str(by): db.clock().isoformat()}
            connection.execute(update(memories).where(*here, _C.id == item.id).values(metadata=values))


def _list_meant(
    connection: Connection,
    scope: Scope,
    people: Sequence[str],
    instruction: Instruction,
    memory: NewMemory,
    held: Sequence[KeptItem],
) -> list[KeptItem]:
    """Return those of `held` that a sentence cancels without naming them, such as `scrap that`, `forget that rule`."""
    held = [item for item in held if MEDICAL not in item.topics]
    if instruction.means_newest:
        return sorted(held, key=lambda item: (item.at or memory.at, item.id))[-1:]
    if not instruction.means_last_wish:
        return []
    said = (_M.persona_id == scope.persona, _M.interface_path == scope.conversation, _whose(_M, people))
    before = (_M.timestamp <= memory.at, _M.id.not_in(memory.source_message_ids or ()))
    last = connection.execute(select(func.max(_M.timestamp)).where(*said, *before)).scalar()
    return [item for item in held if item.at == last]


def _whose(columns: Any, people: Sequence[str]) -> Any:
    key = columns.participant_key
    return key.in_(people) if people else key.is_(None)


def _is_older(item: KeptItem, memory: NewMemory) -> bool:
    return item.at is None or item.at <= memory.at


def _list_identities(connection: Connection, persona: str, participant: str | None) -> tuple[str, ...]:
    """Return the participant keys of a person, sorted; () without a participant."""
    if participant is None:
        return ()
    linked = connection.execute(select_identities(persona, participant)).scalars()
    return tuple(sorted({participant, *linked}))


def _read_in_force(
    connection: Connection, persona: str, places: Sequence[int] | Select[tuple[int]], people: Sequence[str]
) -> list[KeptItem]:
    mine = (_C.persona_id == persona, _C.audience_id.in_(places), _whose(_C, people), *match_in_force(INSTRUCTION))
    return [read_item(row) for row in connection.execute(select(*KEPT_ITEM).where(*mine).order_by(_C.timestamp, _C.id))]


def _hide(connection: Connection, db: Database, persona: str, items: Iterable[Any], **columns: Any) -> None:
    ids = [item.id for item in items]
    indexed.set_columns(connection, db, MEMORIES, persona, ids, **columns, updated_at=db.clock())


def insert_instruction(call: Call, instruction: Instruction, sources: Sources) -> WriteResult:
    """Store an instruction that a host passes in; the result is that of `record_instructions`."""
    db, scope, default = call.db, call.scope, call.settings.privacy_default

    def work(connection: Connection) -> WriteResult:
        place = table_conversations.ensure(connection, db, scope, sender=scope.participant)
        (result,) = record_instructions(
            connection, db, scope, place, [instruction],
            at=sources.at or db.clock(), sources=sources.ids, privacy_default=default, source=BY_HAND,
        )  # fmt: skip
        return result

    return db.idempotent_transaction(work, source="memories")


def restore_instruction(connection: Connection, db: Database, persona: str, row: Any) -> None:
    """Restore an archived instruction, whose row the caller has locked; it replaces instructions on the same topics."""
    topics = _read_topics(row.metadata)
    people = _list_identities(connection, persona, row.participant_key)
    there = _read_in_force(connection, persona, [row.audience_id], people)
    replaced = [each for each in there if replaces(topics, each.topics)]
    _hide(connection, db, persona, replaced, superseded_by=row.id)
    _hide(connection, db, persona, [row], archived_at=None, superseded_by=None)
    # From now on it is the newest instruction on its topics.
    memories_table.renew(connection, db, persona, row.id, db.clock())


KEPT_ITEM = (_C.id, _C.content, _C.metadata, _C.timestamp, _C.source, _C.local_only)


def match_in_force(kind: str) -> tuple[Any, ...]:
    return _C.kind == kind, MEMORIES.visible


def read_item(row: Any) -> KeptItem:
    return KeptItem(row[0], row[1], _read_topics(row[2]), *row[3:])


def _read_topics(metadata: Any) -> tuple[str, ...]:
    topics = (rows.read_object(metadata) or {}).get("topics")
    return tuple(each for each in topics if isinstance(each, str)) if isinstance(topics, list) else ()


def match_seen(family: str) -> tuple[Any, ...]:
    """Return the SQL conditions of rows that a viewer sees, in a form that lets SQLite use the index on `kind`."""
    return (
        _C.persona_id == bindparam("persona", type_=Key(64)),
        hide_from_index(_C.audience_id, family).in_(bindparam("audiences", expanding=True, type_=ID)),
        _C.local_only <= bindparam("local_only", type_=Integer()),
    )


def match_person(known: bool) -> Any:
    """Return the SQL condition of rows of the person asking, under any of their linked identities."""
    p, key = participants.c, _C.participant_key
    if not known:
        return key.is_(None)
    mine = (p.persona_id == bindparam("persona", type_=Key(64)), p.person_key == bindparam("person", type_=Key(255)))
    return or_(key == bindparam("participant", type_=Key(255)), key.in_(select(p.participant_key).where(*mine)))


def describe_person(viewer: Viewer) -> tuple[bool, dict[str, Any]]:
    """Return (whether the person asking is known, values of the parameters in `match_person`)."""
    who = viewer.scope.participant or viewer.person
    return who is not None, {"participant": who, "person": viewer.person or who} if who is not None else {}


_TOPICS = Kind(False, _read_topics)
SHOWN = Shape(FIRST + 24, KeptItem, _C.id, text=_C.content, topics=(_TOPICS, _C.metadata), at=_C.timestamp)


@lru_cache(maxsize=4)
def select_shown(known: bool, family: str) -> CompiledStatement:
    chosen = select(*SHOWN.columns).where(*match_seen(family), match_person(known), *match_in_force(INSTRUCTION))
    return CompiledStatement(chosen.order_by(_C.timestamp.desc(), _C.id.desc()).limit(MOST_READ), family)
