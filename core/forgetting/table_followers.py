"""Edits or deletes a message, and updates everything made from it, in one transaction.

| made from the message | the message is deleted | the message is edited |
|---|---|---|
| items that repeat its text, with no other source | deleted | edited too |
| instructions, other memories, diary entries with no other source | deleted | deleted; instructions are read again |
| instructions that it ended | valid again | valid again, unless the new text ends them |
| diary entries with more sources | deleted | kept |
| items that an operation made from this and other messages | deleted, made again | deleted, made again |
| items with more sources | kept, without this source | kept |
| scene recaps, running recap | deleted, made again | deleted, made again; kept if a person wrote them |
| summaries of the conversation and of its short-term entries | deleted, made again | deleted, made again |
| quotes of it in replies | deleted | edited too |
| the next answer, unless imported, and answers made with it, if they repeat a rare word of it | hidden | kept |
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, String, case, cast, false, null, or_, select, update

from ..access import table_conversations, tombstones
from ..access.view import Viewer
from ..calls.call import Call
from ..conversations import memory_files
from ..database import rows
from ..database.dialects import EPOCH, has_keyword, like_pattern
from ..database.rows import read_list
from ..database.schema import ai_diary, audiences, chat_history_cache, memories
from ..database.sources import AI_DIARY, CHAT, MEMORIES, WITHDRAWN, SourceTable
from ..index import entries as index_entries
from ..index import indexed
from ..memories import shown_texts, table_instructions
from ..memories.rules import INSTRUCTION, SAVED
from ..messages import new_message, table_hidden, table_lines, table_recaps
from ..messages import table as messages_table
from ..messages.table_lines import Line
from ..scope import Scope
from ..shapes import WriteResult
from ..short_term import table as short_term_table
from ..stories.calls import NO_MESSAGE, StoryCall
from ..stories.refresh import refresh_within
from ..text.folding import fold
from ..text.hits import content_digest
from ..text.search_words import salient_words
from . import table, table_items, table_quotes, table_stories
from .table_rows import MADE, Removal

_M, _D, _C = memories.c, ai_diary.c, chat_history_cache.c


def delete_message(call: Call, viewer: Viewer, conversation: str, row_id: int) -> WriteResult:
    """Delete a visible message and everything made from it; reason `not_found` if the viewer sees no such message."""

    def work(removal: Removal, line: Line) -> WriteResult:
        removal.keeps_names = True
        _change_followers(removal, line, None)
        _hide_answers(removal, line, call.settings.languages)
        removal.delete_rows(CHAT, [row_id])
        tombstones.keep(removal.connection, call.db, call.persona, conversations=[conversation])
        _drop_summaries(removal, line)
        if removal.counts["scenes"]:  # messages of a scene may be hidden
            refresh_within(removal.connection, StoryCall(call.db, call.settings, Scope(call.persona, conversation)))
        return WriteResult(True, row_id)

    done = _change(call, viewer, conversation, row_id, work)
    return WriteResult(True, row_id, notes=call.db.empty_journal()) if done.stored else done


def _hide_answers(removal: Removal, line: Line, languages: Sequence[str]) -> None:
    """Hide the next answer, and answers whose prompts showed the message, if they repeat a rare word of the message."""
    here = (_C.persona_id == removal.persona, _C.interface_path == line.conversation, _C.id > line.row_id)
    columns = (*table_quotes.ANSWER, _C.metadata)
    answers = select(*columns).where(*here, _C.role == "persona", _C.timestamp >= (line.at or EPOCH))
    first = removal.read_rows(answers.order_by(_C.timestamp, _C.id).limit(1))
    following = [row for row in first if table_lines.IMPORTED.isdisjoint(rows.read_object(row.metadata) or {})]
    removal.shown.add(f"{CHAT.number}/{line.row_id}")
    found = [*following, *table_quotes.find_answers(removal, removal.shown, line.row_id)]
    telling = set(salient_words(line.text, languages)) - _find_usual_words(removal, line, languages)
    table.hide_answers(removal, (r for r in found if not telling.isdisjoint(salient_words(r.message_text, languages))))


def _find_usual_words(removal: Removal, line: Line, languages: Sequence[str]) -> set[str]:
    """Return the words in at least 5, and a tenth, of the 100 messages before `line`; later messages may quote it."""
    here = (_C.persona_id == removal.persona, _C.interface_path == line.conversation, _C.id != line.row_id)
    earlier = select(_C.message_text).where(*here, _C.hidden < WITHDRAWN, _C.timestamp <= (line.at or EPOCH))
    texts = removal.read_rows(earlier.order_by(_C.timestamp.desc(), _C.id.desc()).limit(100))
    counts = Counter(word for (text,) in texts for word in set(salient_words(text, languages)))
    least = max(5, len(texts) / 10)
    return {word for word, count in counts.items() if count >= least and not any(map(str.isdigit, word))}


def edit_message(call: Call, viewer: Viewer, conversation: str, row_id: int, text: str) -> WriteResult:
    rows.check_size(fold(text), "message_text in its folded form")

    def work(removal: Removal, line: Line) -> WriteResult:
        if not table_lines.is_open(removal.connection, call.persona, line, call.settings.privacy_default):
            return WriteResult(False, row_id, "privacy")
        if line.text == text:
            return WriteResult(False, row_id, "unchanged")
        _rewrite(removal, call, line, text)
        queues = call.settings.recap_on_message
        table_recaps.mark_changed(removal.connection, removal.db, call.persona, line, text, queues=queues)
        return WriteResult(True, row_id)

    return _change(call, viewer, conversation, row_id, work)


def set_excluded(call: Call, viewer: Viewer, conversation: str, row_id: int, excluded: bool) -> WriteResult:
    """Set or clear the flag `excluded` of a visible message, and queue new recaps of its scene."""

    def work(removal: Removal, _line: Line) -> WriteResult:
        if not table_hidden.set_excluded(removal.connection, call.persona, row_id, excluded=excluded):
            return WriteResult(False, row_id, "unchanged")
        table_stories.delete_parts(removal, conversation, {row_id}, edited=True)
        return WriteResult(True, row_id)

    return _change(call, viewer, conversation, row_id, work)


def choose_alternative(call: Call, viewer: Viewer, conversation: str, row_id: int, number: int) -> WriteResult:
    """Give a visible message the text and recap of one of its alternatives, and update everything made from it."""

    def work(removal: Removal, line: Line) -> WriteResult:
        connection, persona = removal.connection, call.persona
        chosen = table_recaps.find_alternative(connection.execute, persona, row_id, number)
        if chosen.is_current:
            return WriteResult(False, row_id, "unchanged")
        table_recaps.set_current_alternative(connection, persona, row_id, number)
        if line.text != chosen.text:
            _rewrite(removal, call, line, chosen.text)
        recap = table_recaps.find_recap(connection.execute, persona, row_id)
        is_wanted = call.settings.recap_on_message and line.role in table_recaps.SAID
        if is_wanted and (recap is None or recap.memory is None):
            table_recaps.queue_recap(connection, call.db, persona, conversation, row_id)
        return WriteResult(True, row_id)

    return _change(call, viewer, conversation, row_id, work)


def _rewrite(removal: Removal, call: Call, line: Line, text: str) -> None:
    """Replace the text of a locked message, and update everything made from it except its own recap."""
    connection, db, persona = removal.connection, removal.db, removal.persona
    _change_followers(removal, line, text)
    messages_table.rewrite_message(connection, db, persona, line, text)
    _drop_summaries(removal, line)
    # instructions in the new text count from the time of the message
    stated = new_message.read_instructions(call, replace(line, text=text))
    facts = table_conversations.find(connection, persona, line.conversation)
    place = table_conversations.AudienceRow(line.audience_id, facts is not None and facts.local_only, facts)
    whose = replace(call.scope, conversation=line.conversation, participant=line.participant)
    table_instructions.record_instructions(
        connection, db, whose, place, stated,
        at=line.at or db.clock(), sources=[line.row_id], privacy_default=call.settings.privacy_default,
    )  # fmt: skip
    removal.counts[CHAT.table.name] += 1


def _change(
    call: Call, viewer: Viewer, conversation: str, row_id: int, work: Callable[[Removal, Line], WriteResult]
) -> WriteResult:
    """Run `work` on a message in a transaction that locks it, then update shared rows, caches and files."""
    db, persona = call.db, call.persona

    def run(connection: Connection) -> tuple[WriteResult, Removal]:
        removal = Removal(connection, db, persona)
        table.lock_conversations(removal, [conversation])
        line = table_lines.hold_line(connection, persona, row_id)
        if line is None or not _is_seen(connection, viewer, persona, conversation, line.audience_id):
            return NO_MESSAGE, removal
        result = work(removal, line)
        if result.stored:
            table.finish(removal)
        return result, removal

    result, removal = db.idempotent_transaction(run, source="chat_history_cache")
    if result.stored:
        shown_texts.forget_turns(db, persona, removal.shown)
        if removal.counts["memories"] or removal.counts["conversation_summaries"]:
            memory_files.rewrite_files(call)
    return result


def _is_seen(connection: Connection, viewer: Viewer, persona: str, conversation: str, audience_id: int) -> bool:
    """Return whether a viewer may see this audience and, if the conversation is local_only, this conversation."""
    if audience_id not in viewer.audiences:
        return False
    if viewer.sees_local_only or viewer.scope.conversation == conversation:
        return True
    facts = table_conversations.find(connection, persona, conversation)
    return facts is None or not facts.local_only


def clear_conversation(call: Call, viewer: Viewer, conversation: str) -> int:
    """Delete a conversation's visible messages, stories and short-term entries; return the number of messages."""

    def work(connection: Connection) -> int:
        removal = Removal(connection, call.db, call.persona)
        table.lock_conversations(removal, [conversation])
        seen = sorted(viewer.audiences)
        messages = removal.find_values(_C.id, _C.interface_path == conversation, _C.audience_id.in_(seen))
        table_stories.delete_parts(removal, conversation, messages)
        deleted = removal.delete_rows(CHAT, messages)
        if deleted:
            tombstones.keep(connection, call.db, call.persona, conversations=[conversation])
        short_term_table.remove_channel(connection, call.persona, conversation, seen)
        table.finish(removal)
        return deleted

    deleted = call.db.idempotent_transaction(work, source="chat_history_cache")
    call.db.empty_journal()
    return deleted


def _change_followers(removal: Removal, message: Line, text: str | None) -> None:
    """Update the rows made from a message to its new `text`; if the message was deleted (None), delete these rows."""
    key = message.conversation
    if text is None:
        table_stories.delete_parts(removal, key, {message.row_id})
        table_quotes.clean_operations(removal, (), (), {message.row_id})
        short_term_table.reword_lines(removal.connection, removal.persona, key, message.participant, message.text, None)
    else:
        table_stories.delete_parts(removal, key, {message.row_id}, edited=True)
    table_quotes.change_replies(removal, key, message.message_id, message.text, text)
    _change_entries(removal, message, text)
    _change_items(removal, message, text)


def _drop_summaries(removal: Removal, message: Line) -> None:
    key = message.conversation
    short_term_table.drop_summaries(removal.connection, removal.persona, key, message.at or EPOCH)
    table_items.remove_summaries(removal, key, [message.row_id])


def _find_standing(
    removal: Removal, source: SourceTable, message: Line, here: Any, *columns: Any
) -> list[tuple[Any, tuple[int | str, ...]]]:
    """Return the rows made from a message, each with the ids of its other source messages."""
    c = source.table.c
    names = {message.row_id, message.message_id or message.row_id}
    listed = cast(c.source_message_ids, String)
    named = or_(*(has_keyword(listed, like_pattern(str(name))) for name in sorted(names, key=str)))
    chosen = select(c.id, c.source_message_ids, case((here, 1), else_=0).label("here"), *columns)
    # audience ids lead the index: without them the server would read the rows of all personas
    every = removal.find_values(audiences.c.audience_id)
    standing = []
    for row in removal.read_in(chosen.where(c.source_message_ids.is_not(None), named), c.audience_id, every):
        held = [each for each in read_list(row.source_message_ids) if isinstance(each, (int, str))]
        own = names if row.here else {message.row_id}  # a platform's id is unique only within its conversation
        if not own.isdisjoint(held):
            standing.append((row, tuple(each for each in held if each not in own)))
    return standing


_ITEM = (_M.provenance, _M.kind, _M.content_hash)


def _find_said(removal: Removal, message: Line) -> list[Any]:
    """Return memory items with the message's text and no source message; [] if another message has the same text."""

    def said(c: Any, conversation: Any) -> tuple[Any, ...]:
        who = c.participant_key == message.participant if message.participant else c.participant_key.is_(None)
        here = conversation == message.conversation
        return c.persona_id == removal.persona, here, c.content_hash == content_digest(message.text), who

    items = select(_M.id, _M.source_message_ids, *_ITEM).where(*said(_M, _M.conversation_key))
    unnamed = [row for row in removal.read_rows(items) if not read_list(row.source_message_ids)]
    again = select(_C.id).where(*said(_C, _C.interface_path), _C.id != message.row_id).limit(1)
    return unnamed if unnamed and not removal.read_rows(again) else []


def _change_items(removal: Removal, message: Line, text: str | None) -> None:
    standing = _find_standing(removal, MEMORIES, message, _M.conversation_key == message.conversation, *_ITEM)
    standing += [(row, ()) for row in _find_said(removal, message)]
    deleted: list[Any] = []
    sources: set[int] = set()
    """Row ids of the messages to consolidate again."""
    for row, others in standing:
        is_made, is_instruction = row.provenance in MADE, row.kind == INSTRUCTION
        is_said = bytes(row.content_hash or b"") == content_digest(message.text)
        if is_said and not others and text is not None and not is_instruction:
            _reword(removal, row.id, text)
        elif not others or is_made:
            deleted.append(row)
            if is_made:
                sources.update(other for other in others if isinstance(other, int))
                sources.update(() if text is None else {message.row_id})
        elif text is None or is_instruction:
            change = update(memories).where(_M.persona_id == removal.persona, _M.id == row.id)
            removal.connection.execute(change.values(source_message_ids=list(others)))
    # what instructions and saved memories replaced becomes valid again
    withdrawn = {message.row_id, *(row.id for row in deleted if row.kind in (INSTRUCTION, SAVED))}
    table_items.remove_items(removal, {row.id for row in deleted}, withdrawn=withdrawn)
    table_items.consolidate_anew(removal, sources, "changed")


def _reword(removal: Removal, row_id: int, text: str) -> None:
    """Replace the text of a memory item that repeats a message by the message's new text."""
    old = indexed.lock(removal.connection, MEMORIES, removal.persona, [row_id])
    derived = index_entries.derive_columns([text])
    change = update(memories).where(_M.persona_id == removal.persona, _M.id == row_id)
    removal.connection.execute(change.values(content=text, **derived, updated_at=removal.db.clock()))
    removal.exchange_rows(MEMORIES, old, [replace(each, folded=derived["text_folded"]) for each in old])
    removal.counts[memories.name] += len(old)


def _change_entries(removal: Removal, message: Line, text: str | None) -> None:
    """Delete diary entries made from the message (after an edit: only from it); update diary entries that quote it."""
    facts = table_conversations.find(removal.connection, removal.persona, message.conversation)
    here = false() if facts is None else table_conversations.said_in(AI_DIARY, facts)
    standing = _find_standing(removal, AI_DIARY, message, here)
    quoting = removal.find_values(_D.id, here, _D.user_message == message.text)
    removal.delete_rows(AI_DIARY, [row.id for row, others in standing if text is None or not others])
    changed = quoting - {row.id for row, _ in standing}
    table_quotes.change_entries(removal, {row: {"user_message": null() if text is None else text} for row in changed})
