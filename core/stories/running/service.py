"""The running recap of a conversation in versions."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, TypedDict

from ...base import logs
from ...calls.call import GivenSettings, open_call
from ...database import rows
from ...database.engine import Connection, Database
from ...database.readers import reader_in
from ...errors import MessageError
from ...messages import table_lines
from ...scope import Scope
from ...shapes import WriteResult
from ...templates.words import refused_patterns
from ...text.replies import judge_refusal
from ..calls import NO_CONVERSATION, StoryCall, open_conversation
from ..recaps.rules import check_provenance
from . import table as running_table
from .rules import Version


class RunningRecapVersion(TypedDict):
    """One version of a running recap. Keys stand in this order."""

    version: int
    timestamp: int
    """Milliseconds since 1970; 0 when it cannot be read."""
    content: str
    scene_count: int
    excluded_count: int
    prev_scene_index: int
    """Index of the newest scene in the version it was made from."""
    new_scene_index: int
    """Index of the newest scene in it."""
    provenance: str
    """model, extract, manual or import."""


class RunningRecapStorage(TypedDict):
    """The running recap of a conversation. Keys stand in this order."""

    chat_id: str
    """Key of the conversation."""
    current_version: int
    """0 without any version."""
    versions: list[RunningRecapVersion]


def add_running_recap_version(
    content: object,
    scene_count: int = 0,
    excluded_count: int = 0,
    prev_scene_index: int = 0,
    new_scene_index: int = 0,
    *,
    conversation: object = None,
    storage: Mapping[str, Any] | None = None,
    provenance: str = "model",
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> int | None:
    """Store a new version of the running recap, make it current and return its number.

    The first number is 0, each further one is one more than any before, deleted ones included.

    Args:
        content: the text; at most 16 MB.
        scene_count, excluded_count: how many scenes it covers, how many newest ones were left out.
        prev_scene_index, new_scene_index: index of the newest scene in the version it was made from, and in it.
        conversation: its key; None is the scope's, else that of `storage`.
        storage: what `get_running_recap_storage` returned.
        provenance: model, extract, manual or import. What a person wrote (`manual`) may be shorter than before.

    Returns:
        None if the text was refused because it is blank, looks like an error, or is far shorter than the current one;
        the log has the reason.

    Raises:
        MessageError: a value of a wrong type; the scope does not see the conversation.
        ValueError: another provenance.
        StoreWriteError: nothing was stored.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.chat_history_cache import save_chat_message
    >>> from prompt_engine.stories import add_running_recap_version, get_running_recap
    >>> db = open_database("sqlite://")
    >>> message = save_chat_message("web/42", "Ann left the house.", sender_id="ann", db=db).id
    >>> add_running_recap_version("The story so far.", conversation="web/42", db=db)
    0
    >>> get_running_recap(conversation="web/42", db=db)["content"]
    'The story so far.'
    """
    # 1. what is to be stored
    check_provenance(provenance)
    new = Version(
        rows.text(content, "content"),
        rows.number(scene_count, "scene_count") or 0,
        rows.number(excluded_count, "excluded_count") or 0,
        rows.number(prev_scene_index, "prev_scene_index") or 0,
        rows.number(new_scene_index, "new_scene_index") or 0,
        provenance=provenance,
    )
    # 2. where
    call = _open(conversation, storage, db, settings, scope)
    _is_own(call, storage)
    if call.place is None and _is_stored(call):
        call = _open(conversation, storage, db, settings, scope)  # made by somebody else since it was looked up
        if call.place is None:
            raise MessageError("There is no such conversation in this scope.", fields=("conversation",))
    # 3. unless it is refused
    return call.db.transaction(lambda connection: _add(connection, call, new), source="running_recaps")


def _add(connection: Connection, call: StoryCall, new: Version) -> int | None:
    """Store a version within a transaction; return None if its text is refused."""
    read = reader_in(connection)
    running_table.hold_conversation(connection, call.persona, call.conversation)
    current = running_table.find_current(read, call.persona, call.conversation)
    by_hand = new.provenance == "manual"
    reason = judge_refusal(
        new.content,
        current.content if current and not by_hand else "",
        patterns=() if by_hand else refused_patterns(call.settings.templates_dir),
    )
    if reason:
        logs.warning("running_recap_refused", reason=reason)
        return None
    return running_table.insert_version(connection, call.db, call.scope, new)


def _is_stored(call: StoryCall) -> bool:
    """Return whether the conversation is stored, seen by the caller or not."""
    return table_lines.find_place(call.reader("conversations"), call.persona, call.conversation) is not None


def get_running_recap_storage(
    conversation: object = None,
    storage: Mapping[str, Any] | None = None,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> RunningRecapStorage:
    """Return the running recap of a conversation with all its versions; an empty one where there is none.

    Args:
        conversation: its key; None is the scope's, else that of `storage`.
        storage: what this function returned before. One of another conversation is logged as an error and gives an
            empty result; nothing stored is changed.

    Returns:
        `{chat_id, current_version, versions}`, which a host may keep and pass in again.

    Raises:
        StoreReadError: nothing could be read.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.stories import add_running_recap_version, get_running_recap_storage
    >>> db = open_database("sqlite://")
    >>> add_running_recap_version("Ann left.", conversation="web/42", db=db)
    0
    >>> storage = get_running_recap_storage("web/42", db=db)
    >>> storage["chat_id"], storage["current_version"], len(storage["versions"])
    ('web/42', 0, 1)
    """
    call = _open(conversation, storage, db, settings, scope).redacted()
    empty: RunningRecapStorage = {"chat_id": call.conversation, "current_version": 0, "versions": []}
    if not _is_own(call, storage) or call.place is None:
        return empty
    read = call.reader("running_recaps")
    versions = running_table.read_versions(read, call.persona, call.conversation)
    current = running_table.read_state(read, call.persona, call.conversation).current
    return {
        "chat_id": call.conversation,
        "current_version": current or 0,
        "versions": [_build_version(version) for version in versions],
    }


def get_running_recap_versions(
    conversation: object = None,
    storage: Mapping[str, Any] | None = None,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> list[RunningRecapVersion]:
    """Return the versions of a running recap that were not deleted, lowest number first.

    Args and Raises: as for `get_running_recap_storage`.

    Returns:
        As `versions` of `get_running_recap_storage`; [] without any.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.stories import add_running_recap_version, get_running_recap_versions
    >>> db = open_database("sqlite://")
    >>> add_running_recap_version("Ann left.", conversation="web/42", db=db)
    0
    >>> [each["content"] for each in get_running_recap_versions("web/42", db=db)]
    ['Ann left.']
    """
    return get_running_recap_storage(conversation, storage, db=db, settings=settings, scope=scope)["versions"]


def get_running_recap(
    version: int | None = None,
    *,
    conversation: object = None,
    storage: Mapping[str, Any] | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> RunningRecapVersion | None:
    """Return a version of the running recap, None if there is none.

    Args:
        version: its number; None is the current one.
        conversation, storage: as for `get_running_recap_storage`.

    Returns:
        Its number, text, counts of scenes, and where it is from.

    Raises:
        MessageError: the number is none.
        StoreReadError: nothing could be read.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.stories import add_running_recap_version, get_running_recap
    >>> db = open_database("sqlite://")
    >>> add_running_recap_version("Ann left.", conversation="web/42", db=db)
    0
    >>> get_running_recap(0, conversation="web/42", db=db)["content"]
    'Ann left.'
    """
    number = rows.number(version, "version")
    call = _open(conversation, storage, db, settings, scope).redacted()
    if not _is_own(call, storage) or call.place is None:
        return None
    read = call.reader("running_recaps")
    if number is None:
        stored = running_table.find_current(read, call.persona, call.conversation)
    else:
        stored = running_table.find_version(read, call.persona, call.conversation, number)
    return None if stored is None else _build_version(stored)


def set_current_running_recap(
    version: int,
    *,
    conversation: object = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Make a version of the running recap current.

    Args:
        version: its number.
        conversation: its key; None is the scope's.

    Returns:
        `(True, number, "")`; `refused` if there is no such version.

    Raises:
        MessageError: the number is none.
        StoreWriteError: nothing was changed.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.stories import add_running_recap_version, get_running_recap, set_current_running_recap
    >>> db = open_database("sqlite://")
    >>> [add_running_recap_version(text, conversation="web/42", db=db) for text in ("Ann left.", "Ann left for Rome.")]
    [0, 1]
    >>> set_current_running_recap(0, conversation="web/42", db=db).stored
    True
    >>> get_running_recap(conversation="web/42", db=db)["content"]
    'Ann left.'
    """
    number = _read_number(version)
    call = open_conversation(open_call(db, settings, scope), conversation)
    if call.place is None:
        return NO_CONVERSATION
    is_set = call.db.idempotent_transaction(
        lambda connection: running_table.set_current(connection, call.persona, call.conversation, number),
        source="running_recaps",
    )
    if is_set:
        return WriteResult(True, number)
    versions = running_table.read_versions(call.reader("running_recaps"), call.persona, call.conversation)
    numbers = ", ".join(str(each.number) for each in versions) or "none"
    return WriteResult(False, None, "refused", notes=(f"there is no version {number}; there are: {numbers}",))


def delete_running_recap_version(
    version: int,
    *,
    conversation: object = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Delete the text of a version of the running recap; its number is not used again.

    If it is the current one, the highest version left becomes current.

    Args:
        version: its number.
        conversation: its key; None is the scope's.

    Returns:
        `(True, number, "")`; `unchanged` if there is no such version.

    Raises:
        MessageError: the number is none.
        StoreWriteError: nothing was changed.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.stories import add_running_recap_version, delete_running_recap_version, get_running_recap
    >>> db = open_database("sqlite://")
    >>> [add_running_recap_version(text, conversation="web/42", db=db) for text in ("Ann left.", "Ann left for Rome.")]
    [0, 1]
    >>> delete_running_recap_version(1, conversation="web/42", db=db).stored
    True
    >>> get_running_recap(conversation="web/42", db=db)["content"]
    'Ann left.'
    """
    number = _read_number(version)
    call = open_conversation(open_call(db, settings, scope), conversation)
    if call.place is None:
        return NO_CONVERSATION
    now = call.db.clock()
    is_deleted = call.db.idempotent_transaction(
        lambda connection: running_table.delete_version(connection, call.persona, call.conversation, number, now),
        source="running_recaps",
    )
    return WriteResult(True, number) if is_deleted else WriteResult(False, None, "unchanged")


def _read_number(version: object) -> int:
    number = rows.number(version, "version")
    if number is None:
        raise MessageError("version is None. It must be the number of a version.", fields=("version",))
    return number


def _open(
    conversation: object,
    storage: Mapping[str, Any] | None,
    db: Database | None,
    settings: GivenSettings,
    scope: Scope | None,
) -> StoryCall:
    """Return the call about the conversation named, else the scope's, else that of the storage."""
    if storage is not None and not isinstance(storage, Mapping):
        raise MessageError.of_type("storage", storage, "what get_running_recap_storage gave")
    if conversation is None and storage is not None and (scope is None or scope.conversation is None):
        conversation = storage.get("chat_id")
    return open_conversation(open_call(db, settings, scope), conversation)


def _is_own(call: StoryCall, storage: Mapping[str, Any] | None) -> bool:
    """Return whether a storage belongs to the conversation asked for; log an error if it does not."""
    if storage is None or storage.get("chat_id") == call.conversation:
        return True
    logs.event(
        logging.ERROR, "running_recap_of_another_chat", asked=call.conversation, stored=str(storage.get("chat_id"))
    )
    return False


def _build_version(version: Version) -> RunningRecapVersion:
    return {
        "version": version.number,
        "timestamp": int(version.created_at.timestamp() * 1000) if version.created_at else 0,
        "content": version.content,
        "scene_count": version.scene_count,
        "excluded_count": version.excluded_count,
        "prev_scene_index": version.prev_scene_index,
        "new_scene_index": version.new_scene_index,
        "provenance": version.provenance,
    }
