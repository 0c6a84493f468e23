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

from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import String, case, cast, false, null, or_, select, update

from ..access import table_conversations
from ..database.dialects import has_keyword, like_pattern
from ..database.rows import read_list
from ..database.schema import ai_diary, audiences, chat_history_cache, memories
from ..database.sources import AI_DIARY, MEMORIES, SourceTable
from ..index import indexed
from ..memories.rules import INSTRUCTION, SAVED
from ..short_term import table as short_term_table
from ..text.folding import fold
from ..text.hits import content_digest
from . import table_items, table_quotes, table_stories
from .table_rows import Removal

CHANGED = "changed"
"""Why messages are consolidated anew."""
_MADE = ("model", "extract")
_TAKES_PLACE = (INSTRUCTION, SAVED)
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


def change_followers(removal: Removal, message: Any, text: str | None) -> None:
    """Bring what was made of a stored message in step with its new text; None: the message is about to go.

    The caller rewords short-term entries of a new text and reads its instructions.
    """
    key = message.interface_path
    if text is None:
        table_stories.delete_parts(removal, key, {message.id})
        table_quotes.clean_operations(removal, (), (), {message.id})
        short_term_table.reword_lines(removal.connection, removal.persona, key, message.message_text, None)
    else:
        table_stories.renew_parts(removal, key, message.id)
    table_quotes.change_replies(removal, key, message.message_id, message.message_text, text)
    _change_entries(removal, message, text)
    _change_items(removal, message, text)


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


def _change_items(removal: Removal, message: Any, text: str | None) -> None:
    deleted: list[_Standing] = []
    away: list[_Standing] = []
    for each in _find_items(removal, message):
        if not each.others and each.is_said and text is not None and each.kind != INSTRUCTION:
            _reword(removal, each.id, text)
        elif not each.others or (each.is_made and text is None):
            deleted.append(each)
        elif each.is_made:
            away.append(each)
        elif text is None or each.kind == INSTRUCTION:
            _leave_source(removal, each)
    if deleted:
        withdrawn = {each.id for each in deleted if each.kind in _TAKES_PLACE}
        table_items.remove_items(removal, {each.id for each in deleted}, withdrawn=withdrawn)
    # They are found no more until they are made anew; an operator still sees them among the archived ones.
    now, ids = removal.db.clock(), [each.id for each in away]
    removal.counts[memories.name] += indexed.set_hidden(
        removal.connection, removal.db, MEMORIES, removal.persona, ids, archived_at=now, updated_at=now
    )
    remade = [each for each in (*deleted, *away) if each.is_made]
    rows = {other for each in remade for other in each.others if isinstance(other, int)}
    itself = {message.id} if remade and text is not None else set()
    table_items.consolidate_anew(removal, rows | itself, CHANGED)


def _leave_source(removal: Removal, standing: _Standing) -> None:
    """Let an item that stands on other messages too stand on these alone."""
    change = update(memories).where(_M.persona_id == removal.persona, _M.id == standing.id)
    removal.connection.execute(change.values(source_message_ids=list(standing.others)))


def _reword(removal: Removal, row_id: int, text: str) -> None:
    """Let an item that is what the message says say it as it reads now."""
    old = indexed.lock(removal.connection, MEMORIES, removal.persona, [row_id])
    values = {"content": text, "text_folded": fold(text), "content_hash": content_digest(text)}
    change = update(memories).where(_M.persona_id == removal.persona, _M.id == row_id)
    removal.connection.execute(change.values(**values, updated_at=removal.db.clock()))
    removal.exchange_rows(MEMORIES, old, [replace(each, folded=fold(text)) for each in old])
    removal.counts[memories.name] += len(old)


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
    changed = quoting - {row.id for row, _ in standing}
    table_quotes.change_entries(removal, {row: {"user_message": null() if text is None else text} for row in changed})
