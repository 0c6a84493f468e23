"""Recognises what is worth storing, and stores it without telling the person."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .. import hooks
from ..calls.call import Call, GivenSettings, open_call
from ..calls.defaults import handle, settings_for
from ..database.engine import Database
from ..errors import MessageError
from ..scope import Scope
from ..shapes import WriteResult
from ..templates.words import phrases_for
from ..text import remember_phrases as remember
from ..text.hits import content_digest
from ..text.host_values import newest_items
from . import new_item, shown_texts, table, table_sources
from .new_item import NewMemory
from .rules import NOT_SAID

AUTHOR = "synth"
DEFAULT_TAGS = ("auto", "interazione")


def should_remember(
    user_text: str | None,
    response_text: str | None,
    *,
    db: Database | None = None,  # noqa: ARG001 - every door takes it
    settings: GivenSettings = None,
    scope: Scope | None = None,  # noqa: ARG001 - every door takes it
) -> bool:
    """Return whether an exchange is worth storing. It reads no table.

    A request to remember is worth storing, and what people state about themselves. A question, quotation, reported
    speech, condition, fiction or pasted text is not.

    Args:
        user_text: what the person said; None counts as blank.
        response_text: what the persona answered; None counts as blank.

    Returns:
        False if both texts are blank.

    Raises:
        MessageError: a text of another type.

    >>> from prompt_engine.synth_core_memory import should_remember
    >>> should_remember("Please remember that I like green tea", "I will."), should_remember("What time is it?", "")
    (True, False)
    """
    for name, value in (("user_text", user_text), ("response_text", response_text)):
        if value is not None and not isinstance(value, str):
            raise MessageError.of_type(name, value, "a text or None")
    settings = settings_for(settings)
    known = [each for text in (user_text, response_text) if text for each in phrases_for(text, settings)]
    return remember.should_remember(user_text, response_text, known)


def silently_record_memory(
    user_text: object,
    response_text: object = None,
    tags: object = None,
    scope: str | Scope | None = "general",
    source: str = "chat",
    *,
    label: str | None = None,
    message_id: object = None,
    recalled: Iterable[str] = (),
    db: Database | None = None,
    settings: GivenSettings = None,
) -> WriteResult:
    """Store what a person said as a memory item, once.

    Args:
        user_text: the content; stored as said.
        response_text: what the persona answered.
        tags: None gives `auto` and `interazione`; the voice path passes `voice` and `auto`.
        scope: a text is the label of the item; a `Scope` says who is asking.
        source: origin of the text; `tool`, `recap` and the other words of `NOT_SAID` mark a text that nobody said.
        label: the label if `scope` is a Scope; `general` by default.
        message_id: the source message, by the platform's id in the scope's conversation or by its row id; editing or
        deleting that message removes the item.
        recalled: memories shown for this turn; an equal text is not stored again. The memories of the conversation's
            last
        prompt count too.

    Returns:
        `(True, id, "")`; reason `empty`, `refused` or `privacy`; or `duplicate` with the id of the existing item, which
        gets the new time.

    Raises:
        MessageError: a value of a wrong type, a text over 16 MB.
        StoreWriteError: nothing was stored.

    >>> from prompt_engine import open_database, synth_core_memory
    >>> db = open_database("sqlite://")
    >>> [synth_core_memory.silently_record_memory("I like green tea", db=db).reason for _ in range(2)]
    ['', 'duplicate']
    """
    if isinstance(recalled, (str, bytes)) or not isinstance(recalled, Iterable):
        raise MessageError(
            f"recalled is of type {type(recalled).__name__}. Pass a list of texts.", fields=("recalled",)
        )
    db = handle(db)
    row_id = db.ids.one()  # before the time is taken: the id tells whether `forget` came later
    own, named = _read_scope(scope)
    call = open_call(db, settings, own)
    memory = new_item.read(
        user_text,
        now=call.db.clock(),
        author=AUTHOR,
        source=source,
        tags=list(DEFAULT_TAGS) if tags is None else tags,
        label=label or named or "general",
        response_text=response_text,
        source_message_ids=table_sources.find_sources(call.db, call.scope, message_id),
    )
    if memory is None:
        return WriteResult(False, None, "empty")
    if memory.source.strip().lower() in NOT_SAID:
        return WriteResult(False, None, "refused", notes=("the host marked the text as not said",))
    function = hooks.get_hook("save")
    if function is not None:
        return _ask_hook(function, call, memory, message_id)
    return table.insert(
        call.db,
        call.scope,
        memory,
        privacy_default=call.settings.privacy_default,
        refused={content_digest(text) for text in newest_items(recalled, "recalled")}
        | shown_texts.read_turn(call.db, call.scope),
        row_id=row_id,
        once=True,
    )


def _ask_hook(function: Callable[..., Any], call: Call, memory: NewMemory, message_id: object) -> WriteResult:
    taken = ("content", "author", "source", "emotion", "intensity", "emotion_state", "response_text", "label")
    arguments = {name: getattr(memory, name) for name in taken}
    arguments |= {"tags": list(memory.tags), "scope": memory.label, "timestamp": memory.at, "message_id": message_id}
    given = hooks.call(function, {**arguments, "db": call.db, "settings": call.settings})
    row_id = given if isinstance(given, int) and not isinstance(given, bool) else None
    return WriteResult(True, row_id, notes=memory.notes)


def _read_scope(scope: str | Scope | None) -> tuple[Scope | None, str]:
    """Return the scope and the label: a text under the name `scope` is a label."""
    if scope is None or isinstance(scope, Scope):
        return scope, ""
    if not isinstance(scope, str):
        raise MessageError(
            f"scope is of type {type(scope).__name__}. Pass a prompt_engine.scope.Scope, or a text as the label.",
            fields=("scope",),
        )
    return None, scope
