"""Texts that were refused as recaps: kept for a person to see, who may accept them."""

from __future__ import annotations

from typing import Any, TypedDict, get_args

from ..calls.call import GivenSettings, open_call
from ..database.engine import Connection, Database
from ..messages import table_changes, table_recaps, table_scenes
from ..scope import Scope
from ..shapes import RecapTarget, WriteResult
from . import table_refused, token_counts
from .calls import StoryCall, open_conversation
from .recaps import refresh
from .running import table as running_table
from .running.table import NewVersion
from .scenes.breaks import queue_running_if_kept
from .table_refused import Refused

NO_REFUSED = WriteResult(False, None, "unchanged", notes=("there is no such refused text",))
_GONE = WriteResult(False, None, "unchanged", notes=("what the text was meant for is gone",))


class RefusedRecap(TypedDict):
    """A refused text as `list_refused` gives it. Keys stand in this order."""

    id: int
    conversation: str
    target: str
    """message, scene or running."""
    target_id: int | None
    """Row id of the message, id of the scene; None for the running recap."""
    content: str
    reason: str
    """empty, error_like, shorter, unreadable or flagged."""
    timestamp: str
    """ISO 8601, UTC; blank when it cannot be read."""


def list_refused(
    conversation: object = None,
    *,
    target: RecapTarget | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> list[RefusedRecap]:
    """Return the texts that were refused as recaps of a conversation, oldest first.

    Args:
        conversation: its key; None is the scope's.
        target: message, scene or running; None for all.

    Returns:
        One entry a text, with what it was meant for and why it was refused; [] without any.

    Raises:
        ValueError: another target.
        StoreReadError: nothing could be read.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.chat_history_cache import save_chat_message
    >>> from prompt_engine.stories import add_running_recap_version, list_refused
    >>> db = open_database("sqlite://")
    >>> message = save_chat_message("web/42", "Ann left the house.", sender_id="ann", db=db).id
    >>> add_running_recap_version("Error: timeout", conversation="web/42", db=db) is None
    True
    >>> [(each["target"], each["reason"]) for each in list_refused("web/42", db=db)]
    [('running', 'error_like')]
    """
    if target is not None and target not in get_args(RecapTarget):
        raise ValueError(f"target is {str(target)[:40]!r}. It must be 'message', 'scene' or 'running'.")
    call = open_conversation(open_call(db, settings, scope), conversation).handed_out()
    if call.place is None:
        return []
    found = table_refused.read_refused(call.reader("refused_recaps"), call.persona, call.conversation)
    return [_shown(each) for each in found if target in (None, each.target)]


def accept_refused(
    refused_id: int,
    *,
    conversation: object = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Store a refused text after all, as if it had not been refused, and take it from the list.

    Args:
        refused_id: from `list_refused`.
        conversation: its key; None is the scope's.

    Returns:
        `(True, id, "")` with the row id of the message, or the number of the version; `empty` for a blank text,
        `unchanged` where there is no such text or what it was meant for is gone, `privacy` where nothing of who said
        the message may be kept any more. Of the latter two nothing is left on the list.

    Raises:
        StoreWriteError: nothing was stored.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.chat_history_cache import save_chat_message
    >>> from prompt_engine.stories import accept_refused, add_running_recap_version, get_running_recap, list_refused
    >>> db = open_database("sqlite://")
    >>> message = save_chat_message("web/42", "Ann left the house.", sender_id="ann", db=db).id
    >>> add_running_recap_version("Error: timeout", conversation="web/42", db=db) is None
    True
    >>> (refused,) = list_refused("web/42", db=db)
    >>> accept_refused(refused["id"], conversation="web/42", db=db).stored
    True
    >>> get_running_recap(conversation="web/42", db=db)["content"]
    'Error: timeout'
    """
    call = open_conversation(open_call(db, settings, scope), conversation)
    refused = _find(call, refused_id)
    if refused is None:
        return NO_REFUSED
    if not refused.content.strip():
        return WriteResult(False, None, "empty")

    def work(connection: Connection) -> WriteResult:
        if not table_refused.delete_refused(connection, call.persona, refused.id):
            return NO_REFUSED
        return _accepted(connection, call, refused)

    return call.db.repeat(work, source="refused_recaps")


def _accepted(connection: Connection, call: StoryCall, refused: Refused) -> WriteResult:
    data, text = refused.data or {}, refused.content
    if refused.target == "running":
        names = ("scene_count", "excluded_count", "prev_scene_index", "new_scene_index")
        numbers = {name: data[name] for name in names if isinstance(data.get(name), int)}
        held = data.get("data")
        new = NewVersion(text, **numbers, provenance=_provenance(data), data=held if isinstance(held, dict) else None)
        return WriteResult(True, running_table.insert_version(connection, call.db, call.scope, new))
    if refused.target_id is None:
        return _GONE
    if refused.target == "scene":
        start = data.get("start_row")
        version = table_scenes.insert_version(
            connection, call.db, call.persona, refused.target_id, text, provenance=_provenance(data),
            start_row=start if isinstance(start, int) else None,
        )  # fmt: skip
        if version is None:
            return _GONE
        queue_running_if_kept(connection, call)
        return WriteResult(True, version)
    row = table_changes.hold_message(connection, call.persona, refused.target_id)
    if row is None:
        return _GONE
    if table_changes.is_private(connection, call.persona, row, call.settings.privacy_default):
        return WriteResult(False, refused.target_id, "privacy")
    columns = token_counts.memory_columns(text, _provenance(data), token_counts.choose_counter(None, call.settings))
    table_recaps.update_recap(
        connection, call.db.family, call.persona, call.conversation, refused.target_id, columns, {"error": None},
        now=call.db.clock(),
    )  # fmt: skip
    refresh.refresh_within(connection, call.db, call.persona, call.conversation, call.settings)
    return WriteResult(True, refused.target_id)


def _provenance(data: Any) -> str:
    said = data.get("provenance")
    return said if said in ("model", "extract", "manual", "import") else "model"


def dismiss_refused(
    refused_id: int,
    *,
    conversation: object = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Take a refused text from the list for good.

    Args and Raises: as for `accept_refused`.

    Returns:
        `(True, its id, "")`, or `unchanged` where there is none.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.chat_history_cache import save_chat_message
    >>> from prompt_engine.stories import add_running_recap_version, dismiss_refused, list_refused
    >>> db = open_database("sqlite://")
    >>> message = save_chat_message("web/42", "Ann left the house.", sender_id="ann", db=db).id
    >>> add_running_recap_version("Error: timeout", conversation="web/42", db=db) is None
    True
    >>> (refused,) = list_refused("web/42", db=db)
    >>> dismiss_refused(refused["id"], conversation="web/42", db=db).stored, list_refused("web/42", db=db)
    (True, [])
    """
    call = open_conversation(open_call(db, settings, scope), conversation)
    refused = _find(call, refused_id)
    if refused is None:
        return NO_REFUSED
    gone = call.db.repeat(
        lambda connection: table_refused.delete_refused(connection, call.persona, refused.id), source="refused_recaps"
    )
    return WriteResult(True, refused.id) if gone else NO_REFUSED


def _find(call: StoryCall, refused_id: object) -> Refused | None:
    is_number = isinstance(refused_id, int) and not isinstance(refused_id, bool) and 0 <= refused_id < 2**63
    if call.place is None or not is_number:
        return None
    refused = table_refused.find_refused(call.reader("refused_recaps"), call.persona, int(str(refused_id)))
    return refused if refused is not None and refused.conversation == call.conversation else None


def _shown(refused: Refused) -> RefusedRecap:
    return {
        "id": refused.id,
        "conversation": refused.conversation,
        "target": refused.target,
        "target_id": refused.target_id,
        "content": refused.content,
        "reason": refused.reason,
        "timestamp": refused.created_at.isoformat() if refused.created_at else "",
    }
