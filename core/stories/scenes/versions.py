"""The recaps of scenes in versions, as a person sees and changes them. Operations make them elsewhere."""

from __future__ import annotations

from typing import TypedDict

from ...calls.call import GivenSettings, open_call
from ...calls.defaults import check_handle
from ...database import rows
from ...database.engine import Connection, Database
from ...messages import table_scenes
from ...scope import Scope
from ...shapes import WriteResult
from .breaks import NO_BREAK, open_scene, queue_running_if_kept

NO_VERSION = WriteResult(False, None, "refused", notes=("the scene has no recap of this number",))


class SceneRecap(TypedDict):
    """One version of a scene's recap as `get_scene_recaps` gives it. Keys stand in this order."""

    version: int
    content: str
    provenance: str
    timestamp: str
    """ISO 8601, UTC; blank when it cannot be read."""
    current: bool


def get_scene_recaps(
    message: object,
    *,
    interface_path: object = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> list[SceneRecap]:
    """Return every version of the recap of the scene that ends with a message, the first one first.

    Args:
        message, interface_path: the message the break lies on, as for `add_scene_break`.

    Returns:
        One entry a version, with the mark of the current one; [] where there is no break, or no recap.

    Raises:
        StoreReadError: nothing could be read.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.chat_history_cache import save_chat_message
    >>> from prompt_engine.stories import add_scene_break, get_scene_recaps, set_scene_recap
    >>> db = open_database("sqlite://")
    >>> message = save_chat_message("web/42", "Ann left the house.", sender_id="ann", db=db).id
    >>> add_scene_break(message, db=db).stored, set_scene_recap(message, "Ann left.", db=db).stored
    (True, True)
    >>> [(each["content"], each["provenance"], each["current"]) for each in get_scene_recaps(message, db=db)]
    [('Ann left.', 'manual', True)]
    """
    call, scene = open_scene(open_call(db, settings, scope), message, interface_path)
    if scene is None or call.stays_here:
        return []
    return [
        {
            "version": each.version,
            "content": each.content,
            "provenance": each.provenance,
            "timestamp": each.created_at.isoformat() if each.created_at else "",
            "current": each.version == scene.recap_index,
        }
        for each in table_scenes.read_versions(call.reader("scene_recaps"), call.persona, scene.id)
    ]


def set_scene_recap(
    message: object,
    content: object,
    *,
    interface_path: object = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Store a scene's recap written by hand: another version, which is current from then on.

    Args:
        message, interface_path: the message the break lies on, as for `add_scene_break`.
        content: the text, at most 16 MB.

    Returns:
        `(True, number of the version, "")`; `empty` for a blank text, `unchanged` where there is no break or the
        current version says that already.

    Raises:
        MessageError: a text of a wrong type or over 16 MB.
        StoreWriteError: nothing was stored.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.chat_history_cache import save_chat_message
    >>> from prompt_engine.stories import add_scene_break, get_scene_recaps, set_scene_recap
    >>> db = open_database("sqlite://")
    >>> message = save_chat_message("web/42", "Ann left the house.", sender_id="ann", db=db).id
    >>> add_scene_break(message, db=db).stored, set_scene_recap(message, "Ann left.", db=db).stored
    (True, True)
    >>> [recap["content"] for recap in get_scene_recaps(message, db=db)]
    ['Ann left.']
    """
    check_handle(db)
    text = rows.text(content, "content")
    if not text.strip():
        return WriteResult(False, None, "empty")
    call, scene = open_scene(open_call(db, settings, scope), message, interface_path)
    if scene is None:
        return NO_BREAK
    if scene.recap == text:
        return WriteResult(False, scene.recap_index, "unchanged")

    def work(connection: Connection) -> int | None:
        made = table_scenes.insert_version(connection, call.db, call.persona, scene.id, text, provenance="manual")
        queue_running_if_kept(connection, call)
        return made

    version = call.db.repeat(work, source="scene_recaps")
    return NO_BREAK if version is None else WriteResult(True, version)


def choose_scene_recap(
    message: object,
    version: int,
    *,
    interface_path: object = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Make a version of a scene's recap current.

    Args:
        message, interface_path: the message the break lies on, as for `add_scene_break`.
        version: its number, from `get_scene_recaps`.

    Returns:
        `(True, number of the version, "")`; `refused` where there is no such version, `unchanged` where there is no
        break or the version is current.

    Raises:
        StoreWriteError: nothing was changed.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.chat_history_cache import save_chat_message
    >>> from prompt_engine.stories import add_scene_break, choose_scene_recap, get_scene_recaps, set_scene_recap
    >>> db = open_database("sqlite://")
    >>> message = save_chat_message("web/42", "Ann left the house.", sender_id="ann", db=db).id
    >>> add_scene_break(message, db=db).stored
    True
    >>> numbers = [set_scene_recap(message, text, db=db).id for text in ("Ann left.", "Ann went out.")]
    >>> choose_scene_recap(message, numbers[0], db=db).stored
    True
    >>> [each["current"] for each in get_scene_recaps(message, db=db)]
    [True, False]
    """
    call, scene = open_scene(open_call(db, settings, scope), message, interface_path)
    if scene is None:
        return NO_BREAK
    number = rows.number(version, "version")
    if number is None or number == scene.recap_index:
        return WriteResult(False, number, "unchanged")

    def work(connection: Connection) -> bool:
        chosen = table_scenes.set_current(connection, call.persona, scene.id, number)
        if chosen:
            queue_running_if_kept(connection, call)
        return chosen

    chosen = call.db.repeat(work, source="scenes")
    return WriteResult(True, number) if chosen else NO_VERSION
