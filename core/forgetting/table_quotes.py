"""Removes names and quotes of a forgotten person from other people's rows."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import String, cast, func, null, or_, select, update

from ..access import table_conversations
from ..access.rules import mark_participant, split_key
from ..base.groups import group
from ..database.compiled import AT_ONCE, chunks
from ..database.rows import read_list, read_object, short_interface
from ..database.schema import ai_diary, audiences, chat_history_cache, conversations, memory_jobs
from ..database.sources import AI_DIARY, WITHDRAWN
from ..index import entries as index_entries
from ..index import indexed
from ..shapes import OPEN_STATES
from . import rules
from .rules import Person
from .table_rows import Removal

_D, _C, _J = ai_diary.c, chat_history_cache.c, memory_jobs.c
ANSWER = (_C.id, _C.interface_path, _C.timestamp, _C.message_text)


def _pages(removal: Removal, statement: Any, column: Any) -> Iterator[Any]:
    """Yield the rows of a SELECT in the order of their ids, loading some hundred rows per query."""
    above = -1
    page = statement.order_by(column).limit(2 * AT_ONCE)
    while rows := removal.connection.execute(page.where(column > above)).all():
        yield from rows
        above = rows[-1].id


def clean_diary(removal: Removal, person: Person) -> set[int]:
    """Delete diary entries that involve only the person, and remove the person from others; return the ids of both."""
    deleted: set[int] = set()
    changed: dict[int, dict[str, Any]] = {}
    for row, left, keys, _ in find_entries(removal, person):
        if not left:
            deleted.add(row.id)
            continue
        names = [name for name in ("personal_thought", "interaction_summary") if person.is_in(getattr(row, name))]
        dropped = dict.fromkeys((*names, "user_message"), null())
        changed[row.id] = {"involved_users": left, "participant_keys": keys or null(), **dropped}
    removal.delete_rows(AI_DIARY, deleted)
    change_entries(removal, changed)
    return deleted | changed.keys()


def find_entries(removal: Removal, person: Person) -> Iterator[tuple[Any, list[Any], list[str], bool]]:
    """Yield diary entries that list the person: (row, people left, keys left, whether it is in another person's chat).

    In another person's direct chat, a name may mean somebody else: there, only a key in `involved_users` counts.
    """
    direct, ref, theirs = conversations.c.direct_person_key, audiences.c.ref, sorted(person.keys)
    rooms = removal.find_values(audiences.c.audience_id, audiences.c.kind.in_(("direct", "saved")), ref.not_in(theirs))
    rooms |= removal.find_values(conversations.c.audience_id, direct.is_not(None), direct.not_in(theirs))
    interfaces = {split_key(key)[0] for key in person.keys}
    own = {*person.keys, *map(mark_participant, person.keys)}
    by_short = group((short_interface(name), name) for name in interfaces)
    texts = (_D.personal_thought, _D.interaction_summary)
    chosen = select(_D.id, _D.audience_id, _D.interface, _D.involved_users, _D.participant_keys, *texts).where(
        _D.persona_id == removal.persona, or_(_D.involved_users.is_not(None), _D.participant_keys.is_not(None))
    )
    for row in _pages(removal, chosen, _D.id):
        involved, of_other = read_list(row.involved_users), row.audience_id in rooms
        here = {row.interface, *by_short.get(row.interface, ())}
        left = rules.left_involved(involved, here, person, by_name=person.is_known and not of_other)
        stored = read_list(row.participant_keys)
        keys = [key for key in stored if of_other or key not in own]
        if len(left) < len(involved) or len(keys) < len(stored):
            yield row, left, keys, of_other


def find_entries_on(removal: Removal, messages: Collection[int], names: Mapping[str, Collection[str]]) -> set[int]:
    """Return the ids of diary entries made from `messages` (row ids) or from `names` (platform ids by conversation)."""
    mine = (_D.persona_id == removal.persona, _D.source_message_ids.is_not(None))
    chosen = select(_D.id, _D.source_message_ids).where(*mine)
    standing = ((row.id, read_list(row.source_message_ids)) for row in _pages(removal, chosen, _D.id))
    entries = {row for row, sources in standing if any(each in messages for each in sources)}
    for conversation, platform_ids in names.items():
        facts = table_conversations.find(removal.connection, removal.persona, conversation)
        here = [] if facts is None else removal.read_rows(chosen.where(table_conversations.said_in(AI_DIARY, facts)))
        listed = ((row.id, map(str, read_list(row.source_message_ids))) for row in here)
        entries |= {row for row, sources in listed if not set(platform_ids).isdisjoint(sources)}
    return entries


def find_answers(removal: Removal, names: set[str], first: int) -> list[Any]:
    """Return answers after row `first` whose prompts showed a row in `names` (`source number/id`), unless withdrawn."""
    made = (_C.persona_id == removal.persona, _C.made_with.is_not(None), _C.hidden < WITHDRAWN)
    later = _pages(removal, select(*ANSWER, _C.made_with).where(*made, _C.id > first), _C.id)
    return [row for row in later if not names.isdisjoint(read_list(row.made_with))]


def change_entries(removal: Removal, changed: Mapping[int, Mapping[str, Any]]) -> None:
    """Give diary entries new values and update their index entries; NULL removes a text."""
    connection, persona = removal.connection, removal.persona
    for part in chunks(sorted(changed)):
        old = indexed.lock(connection, AI_DIARY, persona, part)
        texts = select(_D.id, *(_D[name] for name in index_entries.DIARY_TEXTS))
        stored = {row.id: row._mapping for row in removal.read_in(texts, _D.id, part)}
        new = []
        for row in old:
            values = {name: value if isinstance(value, str) else "" for name, value in changed[row.id].items()}
            now = {**stored[row.id], **values}
            folded = index_entries.fold_texts([now[name] or "" for name in index_entries.DIARY_TEXTS])
            mine = (_D.persona_id == persona, _D.id == row.id)
            connection.execute(update(ai_diary).where(*mine).values(**changed[row.id], text_folded=folded))
            new.append(replace(row, folded=folded))
        removal.exchange_rows(AI_DIARY, old, new)
        removal.counts[ai_diary.name] += len(old)


def clean_replies(removal: Removal, person: Person, deleted: Collection[int]) -> None:
    """Remove reply notes about the person from other people's messages."""
    chosen = select(_C.interface_path, _C.message_id, func.substr(_C.message_text, 1, 1000).label("said"))
    rows = removal.read_in(chosen, _C.id, deleted)
    ids = group((row.interface_path, row.message_id) for row in rows if row.message_id)
    texts = group((row.interface_path, row.said) for row in rows if (row.said or "").strip())
    for row, metadata in _read_replies(removal):
        if row.id not in deleted:
            here = row.interface_path
            left = rules.without_reply(metadata, here, person, {*ids.get(here, ())}, {*texts.get(here, ())})
            _update_metadata(removal, row.id, left)


def change_replies(removal: Removal, conversation: str, message_id: str | None, old: str, new: str | None) -> None:
    """In replies to a message, replace the quote of its text `old` by `new`; if `new` is None, remove the quote."""
    for row, metadata in _read_replies(removal, _C.interface_path == conversation):
        _update_metadata(removal, row.id, rules.change_quote(metadata, message_id, old, new))


def _read_replies(removal: Removal, *where: Any) -> list[tuple[Any, dict[str, Any]]]:
    noted = or_(*(cast(_C.metadata, String).like(f"%{name}%") for name in rules.REPLIES))
    chosen = select(_C.id, _C.interface_path, _C.metadata).where(_C.persona_id == removal.persona, noted, *where)
    return [(row, read_object(row.metadata) or {}) for row in _pages(removal, chosen, _C.id)]


def _update_metadata(removal: Removal, row_id: int, metadata: dict[str, Any] | None) -> None:
    """Store a message's new metadata; None leaves it unchanged."""
    if metadata is not None:
        mine = (_C.persona_id == removal.persona, _C.id == row_id)
        written = update(chat_history_cache).where(*mine).values(metadata=metadata or null())
        removal.counts[chat_history_cache.name] += int(removal.connection.execute(written).rowcount)


def clean_operations(
    removal: Removal, keys: Collection[str], conversations: Collection[str], deleted: Collection[int]
) -> None:
    """Delete operations about deleted messages; remove the person's lines from others, and restart running ones."""
    is_about = or_(_J.status.in_(OPEN_STATES), cast(_J.payload, String).like("%message_id%"))
    columns = (_J.id, _J.payload, _J.status, _J.conversation_key)
    chosen = select(*columns).where(_J.persona_id == removal.persona, is_about)
    for row in list(_pages(removal, chosen.with_for_update(), _J.id)):
        payload = read_object(row.payload) or {}
        left = rules.without_lines(payload, keys, deleted) if row.status in OPEN_STATES else None
        mine = (_J.persona_id == removal.persona, _J.id == row.id)
        about = payload.get("message_id")
        is_about_gone = isinstance(about, int) and about in deleted
        if is_about_gone or (left is not None and not (left.get("rows") or left.get("texts"))):
            removal.delete(memory_jobs, _J.id == row.id)
        elif left is not None or (row.status == "in_progress" and row.conversation_key in conversations):
            # the worker of a running operation finds its claim gone, and stores nothing
            again: dict[str, Any] = {"status": "pending", "claimed_by": None, "lease_until": None}
            values = (again if row.status == "in_progress" else {}) | ({} if left is None else {"payload": left})
            change = update(memory_jobs).where(*mine).values(values)
            removal.counts[memory_jobs.name] += int(removal.connection.execute(change).rowcount)
