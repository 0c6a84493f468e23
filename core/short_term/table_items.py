"""How the lines of a short-term entry stand in its JSON column, and how lines there are taken out or changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, String, bindparam, cast, delete, or_, select, update

from ..database.bulk import chunks
from ..database.dialects import Time, has_keyword, like_pattern
from ..database.schema import short_term_memories
from ..database.stored_values import read_list, read_time
from .rules import CUT_MARK, cut_text, mark_participant
from .shapes import Item

NAME_CHARS = 200
AT_ONCE = 500
_S = short_term_memories.c


def build_stored(items: Iterable[Item]) -> list[dict[str, str]]:
    """Return items as they are stored; people stand in them by their mark alone."""
    return [
        {
            "role": item.role,
            "content": item.content,
            "speaker": item.speaker,
            "timestamp": item.at.isoformat() if item.at else "",
            "who": mark_participant(item.who),
            "for": mark_participant(item.answers),
        }
        for item in items
    ]


def read_items(stored: Any) -> tuple[Item, ...]:
    """Return the items of a row; what cannot be read is passed over."""
    return tuple(
        Item(
            role="model" if each.get("role") == "model" else "user",
            content=each["content"],
            speaker=_text(each.get("speaker")),
            at=read_time(each.get("timestamp")),
            who=_text(each.get("who")),
            answers=_text(each.get("for")),
        )
        for each in read_list(stored)
        if isinstance(each, dict) and isinstance(each.get("content"), str)
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def remove_person(connection: Connection, persona: str, keys: Collection[str]) -> tuple[int, int]:
    """Take everything of a person out of the entries; return how many entries are gone and how many changed."""
    if not keys:
        return 0, 0
    own = (_S.persona_id == persona, _S.participant_key.in_(sorted(keys)))
    channels = set(connection.execute(select(_S.channel_id).where(*own)).scalars())
    gone = int(connection.execute(delete(short_term_memories).where(*own)).rowcount)
    marks = {mark_participant(key) for key in keys}
    with_lines = or_(*(has_keyword(cast(_S.messages, String), like_pattern(each)) for each in sorted(marks)))
    ids = set(connection.execute(select(_S.id).where(_S.persona_id == persona, with_lines)).scalars())
    for part in chunks(sorted(channels), AT_ONCE):
        spoke = select(_S.id).where(_S.persona_id == persona, _S.channel_id.in_(part))
        ids |= set(connection.execute(spoke).scalars())
    changed = 0
    for some in chunks(sorted(ids), AT_ONCE):
        removed, others = _change_lines(
            connection, persona, some, lambda each: None if _is_of(each, marks) else each, summary=False
        )
        gone, changed = gone + removed, changed + others
    return gone, changed


def _is_of(item: Any, marks: Collection[str]) -> bool:
    return isinstance(item, dict) and not {item.get("who"), item.get("for")}.isdisjoint(marks)


def reword_lines(connection: Connection, persona: str, channel: str, old: str, new: str | None) -> None:
    """Give the lines that repeat a message of a channel its new text; None takes them out."""
    held = select(_S.id).where(_S.persona_id == persona, _S.channel_id == channel)
    ids = connection.execute(held).scalars().all()

    def changed(item: Any) -> Any:
        if not isinstance(item, dict) or not _repeats(item.get("content"), old):
            return item
        return None if not (new or "").strip() else {**item, "content": cut_text(new or "")}

    for some in chunks(sorted(ids), AT_ONCE):
        _change_lines(connection, persona, some, changed, summary=True)


def drop_summaries(connection: Connection, persona: str, channel: str, since: datetime) -> int:
    """Take the summaries out of a channel's entries that were written since a moment; return how many."""
    told = (_S.persona_id == persona, _S.channel_id == channel, _S.summary.is_not(None))
    later = or_(_S.summary_updated_at.is_(None), _S.summary_updated_at >= bindparam("since", since, type_=Time()))
    ids = connection.execute(select(_S.id).where(*told, later)).scalars().all()
    for some in chunks(sorted(ids), AT_ONCE):
        _change_lines(connection, persona, some, lambda each: each, summary=False)
    return len(ids)


def remove_channel(connection: Connection, persona: str, channel: str, audiences: Collection[int]) -> int:
    """Delete the entries of a channel whose messages are cleared, those of these audiences; return how many."""
    here = (_S.persona_id == persona, _S.channel_id == channel, _S.audience_id.in_(sorted(audiences)))
    return int(connection.execute(delete(short_term_memories).where(*here)).rowcount)


def _repeats(content: Any, text: str) -> bool:
    return content == text or (
        isinstance(content, str) and content.endswith(CUT_MARK) and text.startswith(content[: -len(CUT_MARK)])
    )


def _change_lines(
    connection: Connection, persona: str, ids: Sequence[int], each: Callable[[Any], Any], *, summary: bool
) -> tuple[int, int]:
    """Change the lines of entries; return how many had nothing left and are gone, and how many say something else."""
    held = (
        select(_S.id, _S.messages, _S.summary, _S.summary_updated_at)
        .where(_S.persona_id == persona, _S.id.in_(ids))
        .order_by(_S.id)
        .with_for_update()
    )
    empty, others = [], 0
    for row in connection.execute(held).all():
        items = read_list(row.messages)
        left = [made for item in items if (made := each(item)) is not None]
        if not left and not (summary and row.summary):
            empty.append(row.id)
        elif left != items or (not summary and (row.summary or row.summary_updated_at)):
            others += 1
            values: dict[str, Any] = {"messages": left}
            values |= {} if summary else {"summary": None, "summary_updated_at": None}
            change = update(short_term_memories).where(_S.persona_id == persona, _S.id == row.id)
            connection.execute(change.values(values))
    if empty:
        connection.execute(delete(short_term_memories).where(_S.persona_id == persona, _S.id.in_(empty)))
    return len(empty), others
