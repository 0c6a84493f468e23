"""The persona's diary: adding, reading, editing and archiving entries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Unpack

from ..base import logs
from ..base.hints import shown
from ..base.wire_ids import find_whole
from ..calls.call import CallOptions, load_viewer, open_call
from ..database import rows
from ..memories import table_sources
from ..memories.rules import read_id
from ..scope import optional_key
from ..search.rules_arguments import read_limit, read_tags
from ..shapes import DiaryEntry, WriteResult
from ..tags import rules as tag_rules
from ..text.host_values import all_items
from ..text.times import read_time_or_now
from . import table

__all__ = ["add_diary_entry", "archive_diary_entry", "cleanup_old_entries", "edit_diary_entry", "get_entries_by_tags",
           "get_entries_with_person", "get_recent_entries", "unarchive_entries"]  # fmt: skip


def add_diary_entry(
    content: object,
    personal_thought: object = None,
    emotions: object = None,
    interaction_summary: object = None,
    user_message: object = None,
    context_tags: object = None,
    involved_users: object = None,
    interface: object = None,
    chat_id: object = None,
    thread_id: object = None,
    *,
    timestamp: object = None,
    local_only: bool = False,
    message_id: object = None,
    **options: Unpack[CallOptions],
) -> WriteResult:
    """Store an entry in the scope's conversation, else in that of `interface`, `chat_id` and `thread_id`, else in none.

    Args:
        content, personal_thought, interaction_summary, user_message: texts of at most 16 MB.
        emotions: a list of JSON values.
        involved_users: names or participant keys. People at level partial or full are left out, then user_message too.
        interface: stored in short form: `telegram_bot` as `telegram`, blank as `unknown`.
        timestamp: now if it is missing or unreadable.
        local_only: show the entry only in prompts for destination `local`.
        message_id: the source message, by the platform's id or the row id; deleting it deletes the entry.

    Returns:
        `(True, id, "")`, `notes` on what was left out, and the number of `dropped_tags`; reason `empty` for blank
        content, `privacy` in a direct message of a person at level full, or of somebody who was forgotten meanwhile.

    Raises:
        MessageError: a value of a wrong type; a text or id that is too long.

    >>> from prompt_engine import Scope, ai_diary, open_database
    >>> db, scope = open_database("sqlite://"), Scope("iris", "tg/42", "tg/7")
    >>> ai_diary.add_diary_entry("Ann told me of Rome.", "She is happy.", db=db, scope=scope).stored
    True
    """
    # 1. open the call
    call = open_call(**options)
    said = rows.text(content, "content")
    if not said.strip():
        return WriteResult(False, None, "empty")
    row_id = call.db.ids.one()  # before the time is taken: the id tells whether `forget` came later
    # 2. read the entry
    kept, dropped = tag_rules.stored_form(context_tags)
    notes = [f"a tag of {size} bytes was left out; at most {tag_rules.TAG_BYTES} are stored" for size in dropped]
    names = (rows.text(name, "involved_users") for name in tag_rules.tag_items(involved_users, "involved_users"))
    felt = emotions if isinstance(emotions, (list, tuple)) else [] if emotions is None else [emotions]
    entry = table.NewEntry(
        id=row_id,
        content=said,
        personal_thought=rows.text(personal_thought, "personal_thought"),
        interaction_summary=rows.text(interaction_summary, "interaction_summary"),
        user_message=rows.text(user_message, "user_message"),
        emotions=tuple(rows.json_value(list(felt), "emotions", notes)),
        context_tags=tuple(kept),
        involved_users=tuple(dict.fromkeys(filter(None, names))),
        timestamp=read_time_or_now(timestamp, "timestamp", call.db.clock(), notes),
        interface=optional_key(interface, "interface", 50) or "",
        chat_id=optional_key(chat_id, "chat_id", 255) or "",
        thread_id=optional_key(thread_id, "thread_id", 255) or "",
        local_only=bool(rows.yes_no(local_only, "local_only")),
        source_message_ids=tuple(table_sources.find_sources(call.db, call.scope, message_id)[0] or ()),
    )
    # 3. store it
    stored = table.insert_entry(call, entry, row_id=row_id)
    if stored is None:
        return WriteResult(False, None, "privacy", notes=tuple(notes))
    return WriteResult(True, stored[0], dropped_tags=len(dropped), notes=(*notes, *stored[1]))


def get_recent_entries(
    days: float = 2, max_chars: int | None = None, **options: Unpack[CallOptions]
) -> list[DiaryEntry]:
    """Return the entries of the last `days` days, newest first, up to the first entry that no longer fits `max_chars`.

    Args:
        days: an entry exactly this old is too old; ValueError for a negative number or another type.
        max_chars: maximum number of characters of all texts together; None for no limit.

    >>> from prompt_engine import Scope, ai_diary, open_database
    >>> db, scope = open_database("sqlite://"), Scope("iris", "tg/42", "tg/7")
    >>> _ = ai_diary.add_diary_entry("Ann told me of Rome.", db=db, scope=scope)
    >>> [entry.content for entry in ai_diary.get_recent_entries(2, db=db, scope=scope)]
    ['Ann told me of Rome.']
    """
    days = _read_number(days, "days")
    most = None if max_chars is None else int(_read_number(max_chars, "max_chars"))
    call = open_call(**options)
    return table.read_recent(call.db, load_viewer(call), days=days, max_chars=most)


def get_entries_by_tags(tags: object, limit: object = 10, **options: Unpack[CallOptions]) -> list[DiaryEntry]:
    """Return the newest entries with one of the tags, newest first; [] without tags.

    Args:
        tags: one text or a list of texts; letter case and extra spaces do not matter.
        limit: maximum number of entries, 1 to 1000; 0 and values that are no numbers mean 10.

    >>> from prompt_engine import Scope, ai_diary, open_database
    >>> db, scope = open_database("sqlite://"), Scope("iris", "tg/42", "tg/7")
    >>> _ = ai_diary.add_diary_entry("Ann told me of Rome.", context_tags=["rome"], db=db, scope=scope)
    >>> [entry.content for entry in ai_diary.get_entries_by_tags(["rome", "paris"], db=db, scope=scope)]
    ['Ann told me of Rome.']
    """
    call = open_call(**options)
    wanted, _ = read_tags(tags)
    if not wanted:
        return []
    return table.read_newest(call.db, load_viewer(call), most=_read_most(limit), tags=wanted)


def get_entries_with_person(person: str, limit: object = 10, **options: Unpack[CallOptions]) -> list[DiaryEntry]:
    """Return the newest entries that list exactly this person among the involved users, newest first.

    Args:
        person: name or participant key, as it was stored; blank gives [].
        limit: as for `get_entries_by_tags`.

    >>> from prompt_engine import Scope, ai_diary, open_database
    >>> db, scope = open_database("sqlite://"), Scope("iris", "tg/42", "tg/7")
    >>> _ = ai_diary.add_diary_entry("Ann told me of Rome.", involved_users=["Ann"], db=db, scope=scope)
    >>> [entry.content for entry in ai_diary.get_entries_with_person("Ann", db=db, scope=scope)]
    ['Ann told me of Rome.']
    """
    call = open_call(**options)
    name = rows.text(person, "person")
    if not name:
        return []
    return table.read_newest(call.db, load_viewer(call), most=_read_most(limit), person=name)


def cleanup_old_entries(days: float = 30, **options: Unpack[CallOptions]) -> int:
    """Archive the persona's entries at least `days` old, which hides them, and return how many were archived.

    Args:
        days: an entry exactly this old is archived; 0 to 1,000,000,000, ValueError otherwise.

    >>> from prompt_engine import Scope, ai_diary, open_database
    >>> db, scope = open_database("sqlite://"), Scope("iris", "tg/42", "tg/7")
    >>> _ = ai_diary.add_diary_entry("Ann told me of Rome.", timestamp="2020-01-01", db=db, scope=scope)
    >>> ai_diary.cleanup_old_entries(30, db=db, scope=scope)
    1
    """
    days = _read_number(days, "days")
    call = open_call(**options)
    return table.archive_entries(call.db, call.persona, days)


def unarchive_entries(ids: Iterable[int] | None = None, **options: Unpack[CallOptions]) -> int:
    """Restore the archived entries with these `ids`, or all archived entries, and return the number restored.

    >>> from prompt_engine import Scope, ai_diary, open_database
    >>> db, scope = open_database("sqlite://"), Scope("iris", "tg/42", "tg/7")
    >>> _ = ai_diary.add_diary_entry("Ann told me of Rome.", timestamp="2020-01-01", db=db, scope=scope)
    >>> ai_diary.cleanup_old_entries(30, db=db, scope=scope), ai_diary.unarchive_entries(db=db, scope=scope)
    (1, 1)
    """
    wanted = None if ids is None else [read_id(each) for each in all_items(ids, "ids")]
    call = open_call(**options)
    return table.unarchive_entries(call.db, call.persona, wanted)


def edit_diary_entry(
    id: int,  # noqa: A002 - the name of the specification
    content: str,
    **options: Unpack[CallOptions],
) -> WriteResult:
    """Replace the text of an entry; its thought, summary and message are removed with the old text.

    Returns:
        `(True, id, "")`; reason `empty`, or `unchanged` without an id if the scope sees no such entry.

    >>> from prompt_engine import Scope, ai_diary, open_database
    >>> db, scope = open_database("sqlite://"), Scope("iris", "tg/42", "tg/7")
    >>> entry = ai_diary.add_diary_entry("Ann told me of Rome.", db=db, scope=scope)
    >>> ai_diary.edit_diary_entry(entry.id, "Ann told me of Paris.", db=db, scope=scope).stored
    True
    """
    call = open_call(**options)
    text = rows.text(content, "content")
    if not text.strip():
        return WriteResult(False, None, "empty")
    return table.edit_entry(call.db, load_viewer(call), read_id(id), text)


def archive_diary_entry(
    id: int,  # noqa: A002 - as above,
    **options: Unpack[CallOptions],
) -> bool:
    """Archive an entry and return True, or False if the scope sees no such entry; `unarchive_entries` restores it.

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.ai_diary import add_diary_entry, archive_diary_entry
    >>> db, scope = open_database("sqlite://"), Scope("iris", "tg/42", "tg/7")
    >>> entry = add_diary_entry("Ann told me of Rome.", db=db, scope=scope)
    >>> archive_diary_entry(entry.id, db=db, scope=scope), archive_diary_entry(entry.id, db=db, scope=scope)
    (True, False)
    """
    call = open_call(**options)
    return table.archive_entry(call.db, load_viewer(call), read_id(id))


def _read_number(value: object, name: str) -> float:
    number = value if isinstance(value, float) else find_whole(value)
    if number is None or not 0 <= number <= 1e9:  # false for nan, too
        raise ValueError(f"{name} is {shown(value)}. It must be a number, 0 to 1000000000.")
    return min(float(number), 500_000.0) if name == "days" else float(number)


def _read_most(limit: object) -> int:
    most, note = read_limit(limit, 10, 1, 1000)
    if note:
        logs.warning("ai_diary_limit", note=note)
    return most
