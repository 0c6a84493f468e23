"""A story that goes on in another conversation: a branch from a message, or the recaps of one chat in another."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from ..audience import table_conversations
from ..calls.call import Call, GivenSettings, open_call
from ..config import Settings
from ..database import readers
from ..database.engine import Connection, Database
from ..database.readers import Reader
from ..errors import MessageError
from ..messages import table_lines, table_recaps, table_scenes
from ..scope import Scope
from ..shapes import WriteReason, WriteResult
from . import table_branches
from .calls import NO_CONVERSATION, StoryCall, open_conversation
from .recaps import refresh
from .recaps.rules import concatenate
from .running import table as running_table
from .scenes import positions
from .scenes.breaks import queue_running_if_kept
from .scenes.positions import Layout
from .scenes.rules import BEFORE_ALL

if TYPE_CHECKING:
    from ..audience.view import ConversationFacts

FROM = "from"
"""Key of a recap's metadata: the conversation it was brought from."""


class Branched(TypedDict):
    """What `branch_conversation` gives. Keys stand in this order."""

    stored: bool
    reason: WriteReason
    """Blank; `unchanged`: there is no such conversation or message; `duplicate`: the target has scenes or a running
    recap of its own; `privacy`: who is in the target may not see what was said in the source."""
    messages: int
    """Messages copied; 0 where the host had saved those of the target itself."""
    recaps: int
    """Messages with a recap."""
    scenes: int
    versions: int
    current_version: int | None
    """Version of the running recap that is current in the target; None without one."""


def branch_conversation(
    source: object,
    target: object,
    at_message: object = None,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> Branched:
    """Take a story over into another conversation up to a message: breaks, scene recaps, versions and their counter.

    The messages up to it are copied with their recaps and alternatives where the target has none; a host that saves the
    branch's messages itself does so before, and what lies on a message goes to the one of the same index. The target is
    made as private as the source. All of it is stored or nothing.

    Args:
        source, target: conversation keys.
        at_message: the last message that is taken: its row id, else its index; None takes all.

    Returns:
        What was taken. A version whose newest scene lies behind the message is taken and not current.

    Raises:
        MessageError: a key that cannot be one, the same key twice.
        StoreWriteError: nothing was stored.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.chat_history_cache import save_chat_message
    >>> from prompt_engine.stories import add_scene_break, branch_conversation, list_scenes
    >>> db = open_database("sqlite://")
    >>> message = save_chat_message("web/42", "Ann left the house.", sender_id="ann", db=db).id
    >>> add_scene_break(message, "The harbour", db=db).stored
    True
    >>> taken = branch_conversation("web/42", "web/43", message, db=db)
    >>> taken["messages"], taken["scenes"], [scene["name"] for scene in list_scenes("web/43", db=db)]
    (1, 1, ['The harbour'])
    """
    call, goal = _open_two(open_call(db, settings, scope), source, target)
    key = goal.conversation
    if call.place is None or _is_unseen(goal):
        return _not("unchanged")

    def work(connection: Connection) -> Branched:
        told = positions.read_layout(readers.on(connection), call.persona, call.conversation)
        last = _index(told, at_message)
        facts = table_conversations.find(connection, call.persona, call.conversation, lock=True)
        if last is None or facts is None:
            return _not("unchanged")
        there = table_conversations.find(connection, call.persona, key, lock=True)
        if there is not None and _is_wider(facts, there, call.settings):
            return _not("privacy")
        if table_branches.has_scenes(connection, call.persona, key) or running_table.is_used(
            connection, call.persona, key
        ):
            return _not("duplicate")
        if there is None:
            table_branches.make_like(connection, call.db, call.persona, facts, key)
            there = table_conversations.find(connection, call.persona, key, lock=True)
            assert there is not None
        return _taken(connection, call, told, last, there)

    return call.db.transaction(work, source="conversations")


def _is_unseen(call: StoryCall) -> bool:
    """Return whether a conversation is there and the scope does not see it."""
    return (
        call.place is None
        and table_lines.find_place(call.reader("conversations"), call.persona, call.conversation) is not None
    )


def _taken(connection: Connection, call: StoryCall, told: Layout, last: int, target: ConversationFacts) -> Branched:
    persona, db = call.persona, call.db
    mine = told.rows[: last + 1]
    theirs = positions.read_layout(readers.on(connection), persona, target.key).rows
    if theirs:
        ids = dict(zip(mine, theirs, strict=False))
    else:
        ids = table_branches.copy_messages(connection, db, persona, mine, target)
    recaps = table_branches.copy_recaps(connection, db, persona, ids, target.key)
    kept = [each.scene for each in told.scenes if each.index <= last]
    made = table_branches.copy_scenes(connection, db, persona, kept, ids, target.key)
    numbers = running_table.copy_versions(connection, persona, call.conversation, target.key, made, last)
    refresh.refresh_within(connection, db, persona, target.key, call.settings)
    now = running_table.read_state(readers.on(connection), persona, target.key).current
    return {
        "stored": True,
        "reason": "",
        "messages": 0 if theirs else len(ids),
        "recaps": recaps,
        "scenes": len(made),
        "versions": len(numbers),
        "current_version": now,
    }


def _not(reason: WriteReason) -> Branched:
    return {
        "stored": False, "reason": reason, "messages": 0, "recaps": 0, "scenes": 0, "versions": 0,
        "current_version": None,
    }  # fmt: skip


def _index(told: Layout, at_message: object) -> int | None:
    """Return the index of the last message that is taken, None where there is no such message."""
    if at_message is None:
        return len(told.rows) - 1
    if isinstance(at_message, bool) or not isinstance(at_message, int):
        raise MessageError.of_type("at_message", at_message, "a row id or an index")
    if at_message in told.rows:
        return told.rows.index(at_message)
    return at_message if 0 <= at_message < len(told.rows) else None


def _open_two(call: Call, source: object, target: object) -> tuple[StoryCall, StoryCall]:
    """Return the calls about the conversation a story is taken from, and the one it goes on in."""
    key = table_conversations.check_key(target)
    mine = open_conversation(call, source)
    if key == mine.conversation:
        raise MessageError("source and target are the same conversation. Name two.", fields=("target",))
    return mine, open_conversation(call, key)


def _is_wider(source: ConversationFacts, target: ConversationFacts, settings: Settings) -> bool:
    """Return whether a prompt in the target may not show what was said in the source: other people see it, or it
    leaves this machine."""
    if source.local_only and not target.local_only:
        return True
    if source.audience_id == target.audience_id:
        return False
    servers = [_server(each) for each in (source, target)]
    return servers[0] != servers[1] or (source.is_private and settings.private_stays_private)


def _server(facts: ConversationFacts) -> str:
    """Return the server whose public conversations are seen; a direct message has none."""
    return "" if facts.direct_person is not None else facts.server


def copy_recaps(
    source: object,
    target: object,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Take what the recaps of one chat say into another, as a scene before its first message.

    That is the running recap with the scenes after it; without one the recaps of its scenes; without scenes those of
    its messages. Taken again from the same chat it is another version of that scene's recap.

    Args:
        source, target: conversation keys; both are known and seen.

    Returns:
        `(True, scene id, "")`; `empty` where the source has no recaps, `unchanged` where they were taken already or a
        conversation is not known, `privacy` where who is in the target may not see what was said in the source.

    Raises:
        MessageError: a key that cannot be one, the same key twice.
        StoreWriteError: nothing was stored.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.chat_history_cache import save_chat_message
    >>> from prompt_engine.stories import copy_recaps, edit_memory, list_scenes
    >>> db = open_database("sqlite://")
    >>> message = save_chat_message("web/42", "Ann left the house.", sender_id="ann", db=db).id
    >>> other = save_chat_message("web/43", "Good morning.", sender_id="ann", db=db).id
    >>> edit_memory(message, "Ann left.", db=db).stored, copy_recaps("web/42", "web/43", db=db).stored
    (True, True)
    >>> [scene["recap"] for scene in list_scenes("web/43", db=db)]
    ['Ann left.']
    """
    call, there = _open_two(open_call(db, settings, scope), source, target)
    if call.place is None or there.place is None:
        return NO_CONVERSATION
    if not _said(call.reader("running_recaps"), call.persona, call.conversation).strip():
        return WriteResult(False, None, "empty")

    def work(connection: Connection) -> WriteResult:
        mine = table_conversations.find(connection, call.persona, call.conversation, lock=True)
        # Read again while the source is held: what was forgotten meanwhile must not be taken over.
        text = _said(readers.on(connection), call.persona, call.conversation)
        if not text.strip():
            return WriteResult(False, None, "empty")
        theirs = table_conversations.find(connection, call.persona, there.conversation, lock=True)
        if mine is None or theirs is None:
            return NO_CONVERSATION
        if _is_wider(mine, theirs, call.settings):
            return WriteResult(False, None, "privacy")
        return _brought(connection, there, call.conversation, text)

    return call.db.repeat(work, source="scenes")


def _said(read: Reader, persona: str, conversation: str) -> str:
    """Return what the recaps of a conversation say."""
    told = positions.read_layout(read, persona, conversation)
    current = running_table.find_current(read, persona, conversation)
    after = BEFORE_ALL - 1 if current is None else current.new_scene_index
    recaps = [each.scene.recap for each in told.scenes if each.has_recap and each.index > after]
    made = "\n".join(filter(None, (current.content if current else "", *recaps)))
    return made or concatenate(memory for _, memory in table_recaps.read_memories(read, persona, told.rows))


def _brought(connection: Connection, there: StoryCall, source: str, text: str) -> WriteResult:
    """Store a text as the recap of the scene that was brought from a conversation, which is made where it is not."""
    read, persona = readers.on(connection), there.persona
    scene_id = None
    for scene in table_scenes.read_scenes(read, persona, there.conversation):
        versions = table_scenes.read_versions(read, persona, scene.id) if scene.is_brought else []
        if any(version.metadata.get(FROM) == source for version in versions):
            if scene.recap == text:
                return WriteResult(False, scene.id, "unchanged")
            scene_id = scene.id
    if scene_id is None:
        scene_id, _ = table_scenes.insert_scene(connection, there.db, persona, there.conversation, None, visible=False)
    table_scenes.insert_version(
        connection, there.db, persona, scene_id, text, provenance="import", metadata={FROM: source}
    )
    queue_running_if_kept(connection, there)
    return WriteResult(True, scene_id)
