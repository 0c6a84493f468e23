"""SQL for short-term entries: one row per person, channel and persona, with the server of the channel."""

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, String, bindparam, cast, delete, func, or_, select, update

from ..access import table_conversations, table_participants, tombstones
from ..access.rules import mark_participant, parent_key
from ..access.table_participants import MINE, select_identities
from ..calls.call import Call
from ..database.compiled import IDS, execute_parts, read_parts
from ..database.dialects import has_keyword, like_pattern
from ..database.engine import Database
from ..database.ids import retry_duplicates
from ..database.schema import privacy_levels, short_term_memories
from ..database.stored_values import read_list, read_time
from ..scope import Scope
from ..shapes import WriteResult
from ..templates.words import refused_patterns
from ..text.replies import judge_refusal
from .rules import Since, build_message, cut_text, is_alive, is_summary_due
from .shapes import Item, NewEntry
from .turns import read_since

SOURCE = "short_term_memories"
NAME_CHARS = 200

_counting = threading.Lock()
_S = short_term_memories.c


def count_error(db: Database) -> None:
    with _counting:
        db.caches[SOURCE] = read_errors(db) + 1


def read_errors(db: Database) -> int:
    return int(db.caches.get(SOURCE, 0))


def read_items(stored: Any) -> tuple[Item, ...]:
    """Parse the lines of a row; unreadable lines are skipped."""
    return tuple(
        Item(
            role="model" if each.get("role") == "model" else "user",
            content=each["content"],
            speaker=read_name(each.get("speaker")),
            at=read_time(each.get("timestamp")),
            who=read_name(each.get("who")),
            answers=read_name(each.get("for")),
        )
        for each in read_list(stored)
        if isinstance(each, dict) and isinstance(each.get("content"), str)
    )


def read_name(value: Any) -> str:
    return value if isinstance(value, str) else ""


@retry_duplicates
def write_entries(call: Call, entries: Sequence[NewEntry]) -> list[tuple[WriteResult, bool]]:
    """Write each persona's entry of a turn, and delete expired entries; return (result, is a summary due) for each."""
    in_order = sorted(entries, key=lambda entry: entry.scope.persona)  # so that two turns lock in one order
    begun, since = call.db.ids.one(), read_since(call.settings, call.db.clock())
    return call.db.idempotent_transaction(
        lambda connection: [_write(connection, call, new, since, begun) for new in in_order], source=SOURCE
    )


def _write(connection: Connection, call: Call, new: NewEntry, since: Since, begun: int) -> tuple[WriteResult, bool]:
    db = call.db
    people = {name for item in new.items for name in (item.who, item.answers, new.scope.participant) if name}
    scope, home, silent = hold_place(connection, call, new, people)
    silent |= {key for key in people if tombstones.is_late(db, scope.persona, begun, people=(key,))}
    if tombstones.is_late(db, scope.persona, begun, conversation=scope.conversation):
        silent |= people
    items = tuple(item for item in new.items if not {item.who, item.answers} & silent)
    if scope.participant in silent or not items:
        return WriteResult(False, None, "privacy" if silent else "empty"), False
    own = _hold_entry(connection, scope, since)
    now = db.clock()
    at = new.at or now
    turns = 1 if own is None else own.turns_since_summary + 1
    lines = [
        {**build_message(item), "who": mark_participant(item.who), "for": mark_participant(item.answers)}
        for item in items
    ]
    values = _build_row(new, scope, home, at) | {"messages": lines, "turns_since_summary": turns}
    if own is None:
        return _insert(connection, db, scope, values), is_summary_due(len(items), turns)
    last = own.last_updated
    if not own.turns_since_summary:  # that time is the summary's
        last = max((item.at for item in read_items(own.messages) if item.at is not None), default=None)
    if last is not None and at < last <= now + timedelta(minutes=5):  # a later time came from a wrong clock
        return WriteResult(False, own.id, "unchanged"), False
    if not is_alive(own.summary_updated_at, since.summary):
        values |= {"summary": None, "summary_updated_at": None}
    _update(connection, scope.persona, own.id, values)
    return WriteResult(True, own.id), is_summary_due(len(items), turns)


_HOLD_PEOPLE = (
    select(MINE.c.participant_key, MINE.c.persona_id, table_participants.LEVEL_RANK.label("rank"))
    .select_from(table_participants.IDENTITIES.outerjoin(privacy_levels, table_participants.IS_LEVEL))
    .where(MINE.c.participant_key.in_(bindparam("people", expanding=True)))
    .with_for_update()
)


def hold_place(
    connection: Connection, call: Call, new: NewEntry, people: Collection[str]
) -> tuple[Scope, table_conversations.AudienceRow, set[str]]:
    """Lock a conversation and people until the transaction ends; return scope, audience, and people at level full."""
    db, default = call.db, call.settings.privacy_default
    scope = _inherit_privacy(connection, new)
    home = table_conversations.ensure(
        connection, db, scope, sender=scope.participant, title=new.channel_name, server_name=new.server_name
    )
    if home.facts is not None and home.facts.direct_person is not None:
        scope = replace(scope, server="")
    others = table_participants.find_on_interfaces(connection, people)
    held = {"people": sorted({*people, *(key for keys in others.values() for key in keys)})}

    def find_silent() -> tuple[set[str], set[str]]:
        """Lock the people's rows; return the people that have no row, and the people at privacy level full."""
        rows = connection.execute(_HOLD_PEOPLE, held).all()
        ranks: dict[str, int] = {}
        for row in rows:
            ranks[row.participant_key] = max(ranks.get(row.participant_key, 0), int(row.rank))
        strictest = {key: max(ranks.get(each, 0) for each in {key, *others.get(key, ())}) for key in people}
        missing = set(people) - {row.participant_key for row in rows if row.persona_id == scope.persona}
        return missing, {key for key in people if table_participants.level_of(strictest[key], default) == "full"}

    missing, silent = find_silent()
    if missing - silent:
        # Stored rows can be locked: a simultaneous change of a privacy level then waits for this turn.
        names = {key: new.names.get(key, "") for key in missing - silent}
        table_participants.note_names(connection, db, scope.persona, names, {})
        silent = find_silent()[1]
    return scope, home, silent


def _inherit_privacy(connection: Connection, new: NewEntry) -> Scope:
    """Return the entry's scope; a thread whose key does not contain its parent channel gets the channel's privacy."""
    parent, scope = new.parent_channel, new.scope
    if not parent or parent == parent_key(scope.conversation or "") or scope.privacy in ("direct", "separate"):
        return scope
    above = table_conversations.find(connection, scope.persona, parent)
    if above is None or not above.is_private:
        return scope
    person = table_participants.person_of(connection, scope.persona, scope.participant)
    same = above.direct_person is not None and above.direct_person == person
    return replace(scope, privacy="direct" if same else "restricted")


def _hold_entry(connection: Connection, scope: Scope, since: Since) -> Any:
    """Delete expired entries, then lock and return the scope's entry; None without an entry."""
    delete_expired(connection, scope.persona, since)
    own = (_S.persona_id == scope.persona, _S.participant_key == scope.participant, _S.channel_id == scope.conversation)
    columns = (_S.id, _S.last_updated, _S.summary, _S.summary_updated_at, _S.turns_since_summary, _S.messages)
    return connection.execute(select(*columns).where(*own).with_for_update()).first()


def _build_row(new: NewEntry, scope: Scope, home: table_conversations.AudienceRow, at: datetime) -> dict[str, Any]:
    return {
        "audience_id": home.audience_id,
        "lineage_id": new.lineage,
        "server_id": scope.server,
        "server_name": new.server_name[:NAME_CHARS],
        "channel_name": new.channel_name[:NAME_CHARS],
        "parent_channel_id": new.parent_channel,
        "local_only": int(home.local_only),
        "last_updated": at,
    }


def _insert(connection: Connection, db: Database, scope: Scope, values: dict[str, Any]) -> WriteResult:
    key = {"persona_id": scope.persona, "participant_key": scope.participant, "channel_id": scope.conversation}
    row_id = db.ids.one()
    connection.execute(short_term_memories.insert(), {"id": row_id, **key, **values})
    return WriteResult(True, row_id)


def _update(connection: Connection, persona: str, row_id: int, values: dict[str, Any]) -> None:
    connection.execute(update(short_term_memories).where(_S.persona_id == persona, _S.id == row_id).values(values))


def write_summary(call: Call, new: NewEntry, summary: str) -> WriteResult:
    """Write the summary of a person's entry in a channel; create the entry if it is missing."""
    db, since = call.db, read_since(call.settings, call.db.clock())
    patterns = refused_patterns(call.settings.templates_dir)

    def work(connection: Connection) -> WriteResult:
        scope, home, silent = hold_place(connection, call, new, [new.scope.participant or ""])
        if silent:
            return WriteResult(False, None, "privacy")
        own = _hold_entry(connection, scope, since)
        is_current = own is not None and is_alive(own.summary_updated_at, since.summary)
        why = judge_refusal(summary, (own.summary or "") if is_current else "", patterns=patterns)
        if why:
            return WriteResult(False, None, "refused", notes=(f"the summary is {why.replace('_', ' ')}",))
        if is_current and own.turns_since_summary == 0:
            return WriteResult(False, None, "limit")
        now = db.clock()
        values: dict[str, Any] = {"summary": summary, "summary_updated_at": now, "turns_since_summary": 0}
        if own is None:
            values = _build_row(new, scope, home, now) | {"messages": []} | values
            return _insert(connection, db, scope, values)
        values["last_updated"] = max(own.last_updated or now, now)
        _update(connection, scope.persona, own.id, values)
        return WriteResult(True, own.id)

    return db.idempotent_transaction(work, source=SOURCE)


def delete_entries(
    db: Database, persona: str, *, user: str | None = None, server: str | None = None, channel: str | None = None
) -> int:
    """Delete entries that match every given key, a user with all identities; return how many, 0 without a key."""
    where = [column == key for column, key in ((_S.server_id, server), (_S.channel_id, channel)) if key is not None]
    if user is not None:
        where.append(or_(_S.participant_key == user, _S.participant_key.in_(select_identities(persona, user))))
    if not where:
        return 0
    statement = delete(short_term_memories).where(_S.persona_id == persona, *where)
    return db.idempotent_transaction(lambda connection: int(connection.execute(statement).rowcount), source=SOURCE)


def delete_expired(connection: Connection, persona: str, since: Since) -> int:
    has_no_summary = or_(_S.summary_updated_at.is_(None), _S.summary_updated_at <= since.summary)
    expired = (_S.persona_id == persona, _S.last_updated <= since.entry, has_no_summary)
    return int(connection.execute(delete(short_term_memories).where(*expired)).rowcount)


def count_entries(db: Database, persona: str) -> int:
    return int(db.read(select(func.count()).select_from(short_term_memories).where(_S.persona_id == persona))[0][0])


def remove_person(connection: Connection, persona: str, keys: Collection[str]) -> tuple[int, int]:
    """Remove a person's entries and lines; return (entries deleted, entries edited)."""
    if not keys:
        return 0, 0
    own = (_S.persona_id == persona, _S.participant_key.in_(sorted(keys)))
    channels = set(connection.execute(select(_S.channel_id).where(*own)).scalars())
    deleted = int(connection.execute(delete(short_term_memories).where(*own)).rowcount)
    marks = {mark_participant(key) for key in keys}
    with_lines = or_(*(has_keyword(cast(_S.messages, String), like_pattern(each)) for each in sorted(marks)))
    ids = set(connection.execute(select(_S.id).where(_S.persona_id == persona, with_lines)).scalars())
    spoke = select(_S.id).where(_S.persona_id == persona, _S.channel_id.in_(IDS))  # a summary may repeat their lines
    ids |= {row.id for row in read_parts(connection.execute, spoke, {}, channels)}

    def drop_theirs(items: list[Any]) -> list[Any]:
        named = ("who", "for")
        return [i for i in items if not (isinstance(i, dict) and any(read_name(i.get(key)) in marks for key in named))]

    emptied, edited = _change_lines(connection, persona, ids, drop_theirs, keep_summary=False)
    return deleted + emptied, edited


def reword_lines(
    connection: Connection, persona: str, channel: str, participant: str | None, old: str, new: str | None
) -> None:
    """Replace `old` by `new` in lines of a participant with the text `old`; if `new` is None, remove these lines.

    Then equal lines without a speaker go too. In an entry whose equal lines never name the participant, all count.
    """
    ids = connection.execute(select(_S.id).where(_S.persona_id == persona, _S.channel_id == channel)).scalars().all()
    text, mark = cut_text(new or ""), mark_participant(participant or "")
    marks = {mark, ""} if new is None else {mark}

    def reword(items: list[Any]) -> list[Any]:
        equal = [item for item in items if isinstance(item, dict) and item.get("content") == cut_text(old)]
        named = [read_name(item.get("who")) for item in equal]
        own = [item for item, who in zip(equal, named, strict=True) if who in marks or mark not in named]
        if not text.strip():
            return [item for item in items if item not in own]
        return [{**item, "content": text} if item in own else item for item in items]

    _change_lines(connection, persona, ids, reword, keep_summary=True)


def drop_summaries(connection: Connection, persona: str, channel: str, since: datetime) -> None:
    where = (_S.persona_id == persona, _S.channel_id == channel, _S.summary.is_not(None))
    later = or_(_S.summary_updated_at.is_(None), _S.summary_updated_at >= since)
    ids = connection.execute(select(_S.id).where(*where, later)).scalars().all()
    _change_lines(connection, persona, ids, list, keep_summary=False)


def remove_channel(connection: Connection, persona: str, channel: str, audiences: Collection[int]) -> None:
    here = (_S.persona_id == persona, _S.channel_id == channel, _S.audience_id.in_(sorted(audiences)))
    connection.execute(delete(short_term_memories).where(*here))


def _change_lines(
    connection: Connection, persona: str, ids: Collection[int], change: Callable[..., list[Any]], *, keep_summary: bool
) -> tuple[int, int]:
    """Change the lines of these entries; return (entries deleted as empty, entries edited)."""
    empty: list[int] = []
    edited = 0
    these = (_S.persona_id == persona, _S.id.in_(IDS))
    held = select(_S.id, _S.messages, _S.summary, _S.summary_updated_at).where(*these).order_by(_S.id)
    for row in read_parts(connection.execute, held.with_for_update(), {}, ids):
        items = read_list(row.messages)
        left = change(items)
        if not left and not (keep_summary and row.summary):
            empty.append(row.id)
        elif left != items or (not keep_summary and (row.summary or row.summary_updated_at)):
            edited += 1
            no_summary = {} if keep_summary else {"summary": None, "summary_updated_at": None}
            _update(connection, persona, row.id, {"messages": left, **no_summary})
    execute_parts(connection, delete(short_term_memories).where(*these), empty)
    return len(empty), edited
