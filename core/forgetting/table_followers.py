"""What was made of a message follows it when it is changed or deleted, in the same transaction.

| made of it | the message is deleted | it says something else |
|---|---|---|
| what was captured as said | goes | says it too |
| instructions, what was saved, items, diary entries that stand on it alone | go | go; instructions are read anew |
| items that an operation made of others too | go, made anew | are put away, made anew |
| others that stand on others too | stay, without it | stay |
| scene recaps, running recap | go, made anew | made anew |
| summaries of the conversation and of its short-term entries | go, made anew | go, made anew |
| quotes of it in replies | go | say it too |

Called by `forgetting.followers`, the only one who may change a message for good.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import String, and_, case, cast, null, or_, select, update

from ..access.rules import split_key
from ..database.bulk import chunks
from ..database.dialects import has_keyword, like_pattern
from ..database.rows import read_list, short_interface
from ..database.schema import ai_diary, audiences, chat_history_cache, memories
from ..database.sources import AI_DIARY, MEMORIES
from ..index import indexed
from ..short_term import table as short_term_table
from ..text.folding import fold
from ..text.hits import content_digest
from . import table_items, table_quotes, table_stories
from .table_rows import AT_ONCE, Removal

CHANGED = "changed"
"""Why messages are consolidated anew."""
_MADE = ("model", "extract")
_TAKES_PLACE = ("instruction", "saved")
"""Kinds of items that take the place of others: without them the others hold again."""
_M, _D, _C = memories.c, ai_diary.c, chat_history_cache.c


@dataclass(frozen=True, slots=True)
class Message:
    """The message that is changed or deleted, as it was."""

    row_id: int
    conversation: str
    audience_id: int
    message_id: str | None
    participant: str | None
    text: str
    at: datetime

    @property
    def names(self) -> frozenset[int | str]:
        """The ids by which a row may say that it stands on the message."""
        return frozenset({self.row_id} if self.message_id is None else {self.row_id, self.message_id})


@dataclass(frozen=True, slots=True)
class _Standing:
    """A row that stands on the message."""

    id: int
    others: tuple[int | str, ...]
    """What else it stands on."""
    is_made: bool = False
    """By an operation, which can make it anew."""
    kind: str = ""
    is_said: bool = False
    """It is the message's own text."""


def remove_followers(removal: Removal, message: Message) -> None:
    """Take out what was made of a message that goes, while it is still there."""
    key, row = message.conversation, message.row_id
    if table_stories.has_story(removal, key):
        table_stories.delete_parts(removal, key, {row})
    table_quotes.clean_operations(removal, (), (), {row})
    table_quotes.change_replies(removal, key, message.message_id, message.text, None)
    _drop_from_short_term(removal, message, None)
    _drop_entries(removal, message)
    standing = _find_items(removal, message)
    gone = [each for each in standing if each.is_made or not each.others]
    _leave_source(removal, [each for each in standing if each not in gone])
    _remove(removal, gone)
    _make_anew(removal, gone)


def change_followers(removal: Removal, message: Message, text: str) -> None:
    """Bring what was made of a message in step with what it says now; the caller reads the instructions anew."""
    key = message.conversation
    if table_stories.has_story(removal, key):
        table_stories.renew_parts(removal, key, message.row_id)
    table_quotes.change_replies(removal, key, message.message_id, message.text, text)
    _drop_from_short_term(removal, message, text)
    _change_entries(removal, message, text)
    standing = _find_items(removal, message)
    said = [each for each in standing if each.is_said and each.kind != "instruction" and not each.others]
    gone = [each for each in standing if each not in said and not each.others]
    away = [each for each in standing if each.others and each.is_made]
    _leave_source(
        removal, [each for each in standing if each.others and not each.is_made and each.kind == "instruction"]
    )
    _reword(removal, [each.id for each in said], text)
    _remove(removal, gone)
    _put_away(removal, away)
    _make_anew(removal, [*gone, *away], itself=message.row_id)


def drop_summaries(removal: Removal, message: Message) -> None:
    """Delete the summaries made of the conversation since the message; called when it is changed or gone."""
    table_items.remove_summaries(removal, message.conversation, [message.row_id])


# Memory items


def _find_items(removal: Removal, message: Message) -> list[_Standing]:
    """Return the items that stand on a message, by their ids or because they are what it says and stand on nothing."""
    columns = (_M.id, _M.source_message_ids, _M.provenance, _M.kind, _M.content_hash, _M.conversation_key)
    listed = cast(_M.source_message_ids, String)
    named = [has_keyword(listed, like_pattern(str(name))) for name in sorted(message.names, key=str)]
    chosen = select(*columns).where(
        _M.persona_id == removal.persona,
        _M.audience_id.in_(_find_audiences(removal)),
        _M.source_message_ids.is_not(None),
        or_(*named),
    )
    digest = content_digest(message.text)
    found = []
    for row in removal.read_rows(chosen):
        held = [each for each in read_list(row.source_message_ids) if isinstance(each, (int, str))]
        # A platform's id is one of its conversation alone.
        own = message.names if row.conversation_key == message.conversation else frozenset({message.row_id})
        if own.isdisjoint(held):
            continue
        others = tuple(each for each in held if each not in own)
        is_said = bytes(row.content_hash or b"") == digest
        found.append(_Standing(row.id, others, row.provenance in _MADE, row.kind or "", is_said))
    return found + _find_said(removal, message, digest)


def _find_audiences(removal: Removal) -> list[int]:
    """Return the audiences of the persona, by which its rows are found without those of others being read."""
    return sorted(removal.find_values(audiences.c.audience_id))


def _find_said(removal: Removal, message: Message, digest: bytes) -> list[_Standing]:
    """Return the items that are what the message says and name no message, unless another says it too."""
    whose = _M.participant_key == message.participant if message.participant else _M.participant_key.is_(None)
    same = select(_M.id, _M.kind, _M.source_message_ids).where(
        _M.persona_id == removal.persona,
        _M.audience_id.in_(_find_audiences(removal)),
        _M.content_hash == digest,
        _M.conversation_key == message.conversation,
        whose,
    )
    there = [row for row in removal.read_rows(same) if not read_list(row.source_message_ids)]
    if not there:
        return []
    again = select(_C.id).where(
        _C.persona_id == removal.persona,
        _C.interface_path == message.conversation,
        _C.content_hash == digest,
        _C.id != message.row_id,
    )
    who = _C.participant_key == message.participant if message.participant else _C.participant_key.is_(None)
    if removal.read_rows(again.where(who).limit(1)):
        return []
    return [_Standing(row.id, (), False, row.kind or "", True) for row in there]


def _remove(removal: Removal, gone: Sequence[_Standing]) -> None:
    if not gone:
        return
    ids = {each.id for each in gone}
    # What a model wrote in the place of one that goes may say it too.
    ids |= _find_rewritten(removal, ids)
    table_items.remove_items(removal, ids, withdrawn={each.id for each in gone if each.kind in _TAKES_PLACE})


def _find_rewritten(removal: Removal, ids: Collection[int]) -> set[int]:
    found, new = set[int](), set(ids)
    while new:
        later: set[int] = set()
        for part in chunks(sorted(new), AT_ONCE):
            by = select(_M.superseded_by).where(_M.persona_id == removal.persona, _M.id.in_(part))
            later |= {row.superseded_by for row in removal.read_rows(by) if row.superseded_by is not None}
        made = removal.find_values(_M.id, _M.id.in_(sorted(later)), _M.provenance == "model") if later else set[int]()
        new = made - found - set(ids)
        found |= new
    return found


def _leave_source(removal: Removal, standing: Sequence[_Standing]) -> None:
    """Let items that stand on other messages too stand on these alone."""
    for each in standing:
        change = update(memories).where(_M.persona_id == removal.persona, _M.id == each.id)
        removal.connection.execute(change.values(source_message_ids=list(each.others)))


def _reword(removal: Removal, ids: Sequence[int], text: str) -> None:
    """Let items that are what the message says say it as it reads now."""
    for part in chunks(sorted(ids), AT_ONCE):
        old = indexed.lock(removal.connection, MEMORIES, removal.persona, part)
        values = {"content": text, "text_folded": fold(text), "content_hash": content_digest(text)}
        change = update(memories).where(_M.persona_id == removal.persona, _M.id.in_(part))
        removal.connection.execute(change.values(**values, updated_at=removal.db.clock()))
        removal.exchange_rows(MEMORIES, old, [replace(each, folded=fold(text)) for each in old])
        removal.counts[memories.name] += len(old)


def _put_away(removal: Removal, standing: Sequence[_Standing]) -> None:
    """Let items be found no more until they are made anew; an operator still sees them among the former ones."""
    now = removal.db.clock()
    for part in chunks(sorted(each.id for each in standing), AT_ONCE):
        indexed.set_hidden(
            removal.connection, removal.db, MEMORIES, removal.persona, part, archived_at=now, updated_at=now
        )
        removal.counts[memories.name] += len(part)


def _make_anew(removal: Removal, standing: Sequence[_Standing], itself: int | None = None) -> None:
    """Queue the consolidation of the messages that items were made of."""
    made = [each for each in standing if each.is_made]
    rows = {other for each in made for other in each.others if isinstance(other, int)}
    if made and itself is not None:
        rows.add(itself)
    table_items.consolidate_anew(removal, rows, CHANGED)


# What was said a moment ago


def _drop_from_short_term(removal: Removal, message: Message, text: str | None) -> None:
    connection, persona, key = removal.connection, removal.persona, message.conversation
    if text is None:  # what says something else is reworded with the message itself
        short_term_table.reword_lines(connection, persona, key, message.text, None)
    short_term_table.drop_summaries(connection, persona, key, message.at)


# The diary


def _find_entries(removal: Removal, message: Message) -> tuple[list[_Standing], list[int]]:
    """Return the entries that stand on a message, and those that hold its text as what somebody said to the persona."""
    listed = cast(_D.source_message_ids, String)
    named = [has_keyword(listed, like_pattern(str(name))) for name in sorted(message.names, key=str)]
    interface, chat, thread = split_key(message.conversation)
    here = and_(
        _D.interface.in_(sorted({interface, short_interface(interface)})), _D.chat_id == chat, _D.thread_id == thread
    )
    chosen = select(_D.id, _D.source_message_ids, case((here, 1), else_=0).label("here")).where(
        _D.persona_id == removal.persona,
        _D.audience_id.in_(_find_audiences(removal)),
        _D.source_message_ids.is_not(None),
        or_(*named),
    )
    standing = []
    for row in removal.read_rows(chosen):
        held = [each for each in read_list(row.source_message_ids) if isinstance(each, (int, str))]
        # A platform's id is one of its conversation alone.
        own = message.names if row.here else frozenset({message.row_id})
        if not own.isdisjoint(held):
            standing.append(_Standing(row.id, tuple(each for each in held if each not in own)))
    quoting = removal.find_values(_D.id, here, _D.user_message == message.text)
    return standing, sorted(quoting - {each.id for each in standing})


def _drop_entries(removal: Removal, message: Message) -> None:
    standing, quoting = _find_entries(removal, message)
    removal.delete_rows(AI_DIARY, [each.id for each in standing])
    for part in chunks(quoting, indexed.AT_ONCE):
        table_quotes.change_entries(removal, {row: {"user_message": null()} for row in part})


def _change_entries(removal: Removal, message: Message, text: str) -> None:
    """Delete the entries that stand on the message alone; one that only holds its text holds it as it reads now."""
    standing, quoting = _find_entries(removal, message)
    removal.delete_rows(AI_DIARY, [each.id for each in standing if not each.others])
    for part in chunks(quoting, indexed.AT_ONCE):
        table_quotes.change_entries(removal, {row: {"user_message": text} for row in part})
