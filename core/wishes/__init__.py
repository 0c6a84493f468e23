"""DOOR: what people wish once and for all, to be seen and changed: list, add, change, delete, restore.

Wishes are recognised when `chat_history_cache.save_chat_message` stores a person's message, and shown in every
prompt that answers this person where it was said. They belong to who is asking; a scope that names nobody has the
wishes of nobody in particular.
"""

from __future__ import annotations

from dataclasses import replace

from ..calls import screening
from ..calls.call import Call, GivenSettings, look_around, open_call
from ..config import Settings
from ..database import rows
from ..database.engine import Database
from ..errors import MessageError
from ..memories import table_sources
from ..scope import Scope
from ..shapes import WishItem, WriteResult
from ..text.folding import one_line
from . import rules, table
from .recognition import is_kept, load_wish_words
from .rules import Wish

__all__ = ["add_wish", "change_wish", "delete_wish", "list_wishes", "restore_wish"]

_NO_SUCH = WriteResult(False, None, "unchanged", notes=(table.NO_SUCH,))
BY_HAND = "by hand"
Sources = list[int | str] | None


def list_wishes(
    *,
    everyone: bool = False,
    former: bool = False,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> list[WishItem]:
    """Return the wishes of who is asking that the scope sees, oldest first, ties by id.

    Args:
        everyone: of all people whose wishes the scope sees.
        former: with those that were deleted, or that a newer one has taken the place of.

    Returns:
        One entry a wish; [] without any.

    Raises:
        StoreReadError: nothing could be read.

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.wishes import add_wish, list_wishes
    >>> db, scope = open_database("sqlite://"), Scope("iris", "tg/42", "tg/7")
    >>> _ = add_wish("Call me Jo", db=db, scope=scope)
    >>> [(wish["text"], wish["topic"]) for wish in list_wishes(db=db, scope=scope)]
    [('Call me Jo', 'name')]
    >>> db.close()
    """
    call = open_call(db, settings, scope)
    items = table.read_items(call.db, look_around(call).viewer, everyone=everyone, former=former)
    return [
        {
            "id": item.id,
            "text": item.text,
            "topic": item.topic,
            "kind": item.kind,
            "said_at": item.at.isoformat() if item.at else "",
            "participant": item.participant,
            "former": item.is_former,
        }
        for item in items
    ]


def add_wish(
    text: object,
    *,
    topic: object = None,
    message_id: object = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Store a wish of who is asking, whether or not the patterns recognise it; it takes the place of an older one.

    Args:
        text: what is wished, at most 300 characters; line breaks become spaces.
        topic: what it is about, at most 80 characters; left out: what the patterns say, else the words of the text.
        message_id: the message it stands on, by the platform's id in the scope's conversation or by the row id that
            saving it returned; changed or deleted, it takes this along.

    Returns:
        `(True, id, "")`; else reason `empty`, `too_long`, `privacy`, `disabled` where RECORD_WISHES or
        ENABLE_SAVED_MEMORY is off, or `duplicate` with the id of the wish that says the same.

    Raises:
        MessageError: a value of a wrong type, a topic that is blank or too long.
        StoreWriteError: nothing was stored.

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.wishes import add_wish, list_wishes
    >>> db, scope = open_database("sqlite://"), Scope("iris", "tg/42", "tg/7")
    >>> [add_wish(text, db=db, scope=scope).stored for text in ("Call me Jo", "Call me Kim")]
    [True, True]
    >>> [wish["text"] for wish in list_wishes(db=db, scope=scope)]
    ['Call me Kim']
    >>> db.close()
    """
    call = open_call(db, settings, scope)
    wish = _read_wish(text, topic, call.settings)
    if isinstance(wish, WriteResult):
        return wish
    if not is_kept(call.settings):
        return WriteResult(False, None, "disabled")
    new, notes = _build_wish(call, wish, table_sources.find_sources(call.db, call.scope, message_id))
    stored = table.insert_wish(call.db, call.scope, new, privacy_default=call.settings.privacy_default)
    return WriteResult(stored.stored, stored.id, stored.reason, notes=(*stored.notes, *notes))


def change_wish(
    id: object,  # noqa: A002 - the item's key
    text: object,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Put another text in a wish's place; its topic, person and audience stay, the old text can be restored.

    Args:
        id: as `list_wishes` gives it.
        text: what is wished instead, at most 300 characters.

    Returns:
        `(True, id of the new item, "")`; else `empty`, `too_long`, or `unchanged` where there is no such wish, whoever
        has it.

    Raises:
        MessageError: a value of a wrong type.
        StoreWriteError: nothing was changed.

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.wishes import add_wish, change_wish, list_wishes
    >>> db, scope = open_database("sqlite://"), Scope("iris", "tg/42", "tg/7")
    >>> wish = add_wish("Call me Jo", db=db, scope=scope)
    >>> change_wish(wish.id, "Call me Joanna", db=db, scope=scope).stored
    True
    >>> [wish["text"] for wish in list_wishes(db=db, scope=scope)]
    ['Call me Joanna']
    >>> db.close()
    """
    call = open_call(db, settings, scope)
    viewer = look_around(call).viewer
    by_id = {item.id: item for item in table.read_items(call.db, viewer, everyone=True)}
    old = by_id.get(rows.row_id(id))
    wish = _read_wish(text, old.topic if old is not None else None, call.settings)
    if isinstance(wish, WriteResult):
        return wish
    if old is None:
        return _NO_SUCH
    new, notes = _build_wish(call, replace(wish, kind=old.kind))
    stored = table.replace_wish(call.db, viewer, old.id, new)
    return WriteResult(stored.stored, stored.id, stored.reason, notes=(*stored.notes, *notes))


def delete_wish(
    id: object,  # noqa: A002 - the item's key
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Let a wish hold no more; `restore_wish` brings it back.

    Args:
        id: as `list_wishes` gives it.

    Returns:
        `(True, id, "")`, or `unchanged` where there is no such wish, whoever's it may be.

    Raises:
        MessageError: an id that is no whole number.
        StoreWriteError: nothing was changed.

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.wishes import add_wish, delete_wish, list_wishes
    >>> db, scope = open_database("sqlite://"), Scope("iris", "tg/42", "tg/7")
    >>> wish = add_wish("Call me Jo", db=db, scope=scope)
    >>> delete_wish(wish.id, db=db, scope=scope).stored, list_wishes(db=db, scope=scope)
    (True, [])
    >>> db.close()
    """
    call = open_call(db, settings, scope)
    viewer = look_around(call).viewer
    return table.archive_wish(call.db, viewer, rows.row_id(id))


def restore_wish(
    id: object,  # noqa: A002 - the item's key
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Bring a former wish back; what holds now about its topic is a former one from then on.

    Args:
        id: as `list_wishes` gives it with `former`.

    Returns:
        `(True, id, "")`, or `unchanged` where there is no such wish, or it holds already.

    Raises:
        MessageError: an id that is no whole number.
        StoreWriteError: nothing was changed.

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.wishes import add_wish, delete_wish, restore_wish
    >>> db, scope = open_database("sqlite://"), Scope("iris", "tg/42", "tg/7")
    >>> wish = add_wish("Call me Jo", db=db, scope=scope)
    >>> _ = delete_wish(wish.id, db=db, scope=scope)
    >>> [restore_wish(wish.id, db=db, scope=scope).reason for _ in range(2)]
    ['', 'unchanged']
    >>> db.close()
    """
    call = open_call(db, settings, scope)
    viewer = look_around(call).viewer
    return table.restore_wish(call.db, viewer, rows.row_id(id))


def _build_wish(call: Call, wish: Wish, sources: Sources = None) -> tuple[table.NewWish, tuple[str, ...]]:
    """Return a wish handed in by the host, ready to be stored, and notes where the screening hook flags it."""
    flagged, notes = screening.is_flagged(wish.text, "memory")
    return table.build_wish(wish, at=call.db.clock(), source=table.BY_HAND, quarantined=flagged, sources=sources), notes


def _read_wish(text: object, topic: object, settings: Settings) -> Wish | WriteResult:
    """Return the wish a host hands in, or why it is none."""
    if not isinstance(text, str):
        raise MessageError.of_type("text", text, "a text")
    said = one_line(text).strip()
    if not said:
        return WriteResult(False, None, "empty")
    if len(said) > rules.SENTENCE_CHARS:
        note = f"it has {len(said)} characters; a wish may have {rules.SENTENCE_CHARS}"
        return WriteResult(False, None, "too_long", notes=(note,))
    wishes = rules.find_wishes(said, load_wish_words(said, settings.languages, settings.templates_dir))
    wish = wishes[0] if wishes else Wish(said, rules.build_topic(said), BY_HAND)
    return Wish(said, _read_topic(topic) if topic is not None else wish.topic, wish.kind)


def _read_topic(topic: object) -> str:
    if not isinstance(topic, str) or not topic.strip() or len(topic) > rules.TOPIC_CHARS:
        shown = f"{len(topic)} characters long" if isinstance(topic, str) else f"of type {type(topic).__name__}"
        raise MessageError(
            f"topic is {shown}. It must be a text of 1 to {rules.TOPIC_CHARS} characters.", fields=("topic",)
        )
    return topic.strip()
