"""DOOR: what people wish once and for all, to be seen and changed: list, add, change, delete, restore.

Wishes are recognised when `chat_history_cache.save_chat_message` stores a person's message, and shown in every
prompt that answers this person where it was said. They belong to who is asking; a scope that names nobody has the
wishes of nobody in particular.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..audience.view import Request, Viewer
from ..audience.view_statement import look
from ..calls import screening
from ..calls.defaults import handle, scope_for, settings_for
from ..config import Settings
from ..database.engine import Database
from ..errors import MessageError
from ..scope import Scope
from ..shapes import WishItem, WriteResult
from ..text.folding import one_line
from . import rules
from . import table as store
from .phrases import load_wish_words
from .rules import Wish

__all__ = ["add_wish", "change_wish", "delete_wish", "list_wishes", "restore_wish"]

_NO_SUCH = WriteResult(False, None, "unchanged", notes=(store.NO_SUCH,))
BY_HAND = "by hand"


def list_wishes(
    *,
    everyone: bool = False,
    former: bool = False,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> list[WishItem]:
    """Return the wishes of who is asking that the scope sees, oldest first, ties by id.

    Args:
        everyone: of all people whose wishes the scope sees.
        former: with those that were deleted, or that a newer one has taken the place of.

    Raises:
        StoreReadError: nothing could be read.
    """
    db = handle(db)
    settings = settings_for(settings, db)
    return [_shown(item) for item in store.listed(db, _viewer(db, settings, scope), everyone=everyone, former=former)]


def add_wish(
    text: object,
    *,
    topic: object = None,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Store a wish of who is asking, whether or not the patterns recognise it; it takes the place of an older one.

    Args:
        text: what is wished, at most 300 characters; line breaks become spaces.
        topic: what it is about, at most 80 characters; left out: what the patterns say, else the words of the text.

    Returns:
        `(True, id, "")`; else reason `empty`, `too_long`, `privacy`, or `duplicate` with the id of the wish that says
        the same. RECORD_WISHES is about what is recognised, not about this.

    Raises:
        MessageError: a value of a wrong type, a topic that is blank or too long.
        StoreWriteError: nothing was stored.
    """
    db = handle(db)
    settings = settings_for(settings, db)
    made = _read(text, topic, settings)
    if isinstance(made, WriteResult):
        return made
    flagged, notes = screening.is_flagged(made.text, "memory", settings=settings)
    ready = store.new(made, at=db.clock(), source=store.BY_HAND, quarantined=flagged)
    done = store.add(db, scope_for(scope, settings), ready, privacy_default=settings.privacy_default)
    return WriteResult(done.stored, done.id, done.reason, notes=(*done.notes, *notes))


def change_wish(
    id: object,  # noqa: A002 - the item's key
    text: object,
    *,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Put another text in a wish's place; its topic, person and audience stay, the old text can be restored.

    Returns:
        `(True, id of the new item, "")`; else `empty`, `too_long`, or `unchanged` where there is no such wish, whoever
        has it.

    Raises:
        MessageError: a value of a wrong type.
        StoreWriteError: nothing was changed.
    """
    db = handle(db)
    settings = settings_for(settings, db)
    viewer = _viewer(db, settings, scope)
    here = {item.id: item for item in store.listed(db, viewer, everyone=True)}
    old = here.get(_number(id))
    made = _read(text, old.topic if old is not None else None, settings)
    if isinstance(made, WriteResult):
        return made
    if old is None:
        return _NO_SUCH
    flagged, notes = screening.is_flagged(made.text, "memory", settings=settings)
    ready = store.new(replace(made, kind=old.kind), at=db.clock(), source=store.BY_HAND, quarantined=flagged)
    done = store.change(db, viewer.scope, old.id, ready, seen=viewer.audiences, local=viewer.sees_local_only)
    return WriteResult(done.stored, done.id, done.reason, notes=(*done.notes, *notes))


def delete_wish(
    id: object,  # noqa: A002 - the item's key
    *,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Let a wish hold no more; `restore_wish` brings it back.

    Returns:
        `(True, id, "")`, or `unchanged` where there is no such wish, whoever's it may be.

    Raises:
        MessageError: an id that is no whole number.
        StoreWriteError: nothing was changed.
    """
    db = handle(db)
    viewer = _viewer(db, settings_for(settings, db), scope)
    number = _number(id)
    return store.archive(db, viewer.scope, number, seen=viewer.audiences, local=viewer.sees_local_only)


def restore_wish(
    id: object,  # noqa: A002 - the item's key
    *,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Bring a former wish back; what holds now about its topic is a former one from then on.

    Returns:
        `(True, id, "")`, or `unchanged` where there is no such wish, or it holds already.

    Raises:
        MessageError: an id that is no whole number.
        StoreWriteError: nothing was changed.
    """
    db = handle(db)
    viewer = _viewer(db, settings_for(settings, db), scope)
    number = _number(id)
    return store.restore(db, viewer.scope, number, seen=viewer.audiences, local=viewer.sees_local_only)


def _read(text: object, topic: object, settings: Settings) -> Wish | WriteResult:
    """Return the wish a host hands in, or why it is none."""
    if not isinstance(text, str):
        raise MessageError(f"text is of type {type(text).__name__}. It must be a text.", fields=("text",))
    said = one_line(text).strip()
    if not said:
        return WriteResult(False, None, "empty")
    if len(said) > rules.SENTENCE_CHARS:
        note = f"it has {len(said)} characters; a wish may have {rules.SENTENCE_CHARS}"
        return WriteResult(False, None, "too_long", notes=(note,))
    found = rules.find_wishes(said, load_wish_words(said, settings.languages))
    known = found[0] if found else Wish(said, rules.topic_of(said), BY_HAND)
    return Wish(said, _topic(topic) if topic is not None else known.topic, known.kind)


def _topic(topic: object) -> str:
    if not isinstance(topic, str) or not topic.strip() or len(topic) > rules.TOPIC_CHARS:
        shown = f"{len(topic)} characters long" if isinstance(topic, str) else f"of type {type(topic).__name__}"
        raise MessageError(
            f"topic is {shown}. It must be a text of 1 to {rules.TOPIC_CHARS} characters.", fields=("topic",)
        )
    return topic.strip()


def _number(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise MessageError(f"id is of type {type(value).__name__}. It must be a whole number.", fields=("id",))
    return value if 0 < value < 2**63 else 0


def _viewer(db: Database, settings: Settings, scope: Scope | None) -> Viewer:
    asking = scope_for(scope, settings)
    destination = asking.destination or settings.prompt_destination
    return look(
        db, asking, Request(), destination=destination, private_stays_private=settings.private_stays_private
    ).viewer


def _shown(item: store.Item) -> WishItem:
    return {
        "id": item.id,
        "text": item.text,
        "topic": item.topic,
        "kind": item.kind,
        "said_at": item.at.isoformat() if item.at else "",
        "participant": item.participant,
        "former": item.is_former,
    }
