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
from typing import Any

from sqlalchemy import String, case, cast, false, null, or_, select, update

from ..access import table_conversations
from ..database.bulk import chunks
from ..database.dialects import has_keyword, like_pattern
from ..database.rows import read_list
from ..database.schema import ai_diary, audiences, chat_history_cache, memories
from ..database.sources import AI_DIARY, MEMORIES, SourceTable
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


def remove_followers(removal: Removal, message: Any) -> None:
    """Take out what was made of a message that goes, while it is still there."""
    key = message.interface_path
    table_stories.delete_parts(removal, key, {message.id})
    table_quotes.clean_operations(removal, (), (), {message.id})
    table_quotes.change_replies(removal, key, message.message_id, message.message_text, None)
    short_term_table.reword_lines(removal.connection, removal.persona, key, message.message_text, None)
    _change_entries(removal, message, None)
    standing = _find_items(removal, message)
    gone = [each for each in standing if each.is_made or not each.others]
    _leave_source(removal, [each for each in standing if each not in gone])
    _remove(removal, gone)
    _make_anew(removal, gone)


def change_followers(removal: Removal, message: Any, text: str) -> None:
    """Bring what was made of a message in step with what it says now; the caller rewords short-term entries and reads
    the instructions anew.
    """
    key = message.interface_path
    table_stories.renew_parts(removal, key, message.id)
    table_quotes.change_replies(removal, key, message.message_id, message.message_text, text)
    _change_entries(removal, message, text)
    standing = _find_items(removal, message)
    said = [each for each in standing if each.is_said and each.kind != "instruction" and not each.others]
    gone = [each for each in standing if each not in said and not each.others]
    away = [each for each in standing if each.others and each.is_made]
    left = [each for each in standing if each.others and not each.is_made and each.kind == "instruction"]
    _leave_source(removal, left)
    _reword(removal, [each.id for each in said], text)
    _remove(removal, gone)
    _put_away(removal, away)
    _make_anew(removal, [*gone, *away], itself=message.id)


def drop_summaries(removal: Removal, message: Any) -> None:
    """Delete the summaries made of the conversation since the message; called when it is changed or gone."""
    key = message.interface_path
    short_term_table.drop_summaries(removal.connection, removal.persona, key, message.timestamp)
    table_items.remove_summaries(removal, key, [message.id])


def _find_standing(
    removal: Removal, source: SourceTable, message: Any, here: Any, *columns: Any
) -> list[tuple[Any, tuple[int | str, ...]]]:
    """Return the rows that name a message as what they stand on, each with what else it names."""
    c = source.table.c
    names = {message.id, message.message_id or message.id}
    listed = cast(c.source_message_ids, String)
    named = or_(*(has_keyword(listed, like_pattern(str(name))) for name in sorted(names, key=str)))
    chosen = select(c.id, c.source_message_ids, case((here, 1), else_=0).label("here"), *columns)
    # Named besides the persona: by its audiences the rows are found without those of others being read.
    seen = c.audience_id.in_(sorted(removal.find_values(audiences.c.audience_id)))
    standing = []
    for row in removal.read_rows(
        chosen.where(c.persona_id == removal.persona, seen, c.source_message_ids.is_not(None), named)
    ):
        held = [each for each in read_list(row.source_message_ids) if isinstance(each, (int, str))]
        own = names if row.here else {message.id}  # a platform's id is one of its conversation alone
        if not own.isdisjoint(held):
            standing.append((row, tuple(each for each in held if each not in own)))
    return standing


# Memory items


def _find_items(removal: Removal, message: Any) -> list[_Standing]:
    """Return the items that stand on a message, by their ids or because they are what it says and stand on nothing."""
    digest = content_digest(message.message_text)
    here = _M.conversation_key == message.interface_path
    standing = _find_standing(removal, MEMORIES, message, here, _M.provenance, _M.kind, _M.content_hash)
    return [
        _Standing(row.id, others, row.provenance in _MADE, row.kind or "", bytes(row.content_hash or b"") == digest)
        for row, others in standing
    ] + _find_said(removal, message, digest)


def _find_said(removal: Removal, message: Any, digest: bytes) -> list[_Standing]:
    """Return the items that are what the message says and name no message, unless another says it too."""

    def said(c: Any, conversation: Any) -> tuple[Any, ...]:
        who = c.participant_key == message.participant_key if message.participant_key else c.participant_key.is_(None)
        return c.persona_id == removal.persona, conversation == message.interface_path, c.content_hash == digest, who

    items = select(_M.id, _M.kind, _M.source_message_ids).where(*said(_M, _M.conversation_key))
    unnamed = [row for row in removal.read_rows(items) if not read_list(row.source_message_ids)]
    again = select(_C.id).where(*said(_C, _C.interface_path), _C.id != message.id).limit(1)
    if not unnamed or removal.read_rows(again):
        return []
    return [_Standing(row.id, (), False, row.kind or "", True) for row in unnamed]


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


# The diary


def _change_entries(removal: Removal, message: Any, text: str | None) -> None:
    """Delete the entries that stand on the message alone, or at all where it goes; one that holds its text as what
    somebody said to the persona holds it as it reads now.
    """
    facts = table_conversations.find(removal.connection, removal.persona, message.interface_path)
    here = false() if facts is None else table_conversations.said_in(AI_DIARY, facts)
    standing = _find_standing(removal, AI_DIARY, message, here)
    quoting = removal.find_values(_D.id, here, _D.user_message == message.message_text)
    removal.delete_rows(AI_DIARY, [row.id for row, others in standing if text is None or not others])
    for part in chunks(sorted(quoting - {row.id for row, _ in standing}), indexed.AT_ONCE):
        table_quotes.change_entries(removal, {row: {"user_message": null() if text is None else text} for row in part})
