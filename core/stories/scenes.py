"""Scene breaks, the range of messages in each scene, and the recaps of scenes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypedDict, Unpack

from ..access import table_conversations
from ..calls.call import CallOptions, open_call
from ..database import rows
from ..database.compiled import Reader
from ..database.engine import Connection
from ..jobs import table as jobs_table
from ..messages import table_lines, table_scenes
from ..messages.table_scenes import Scene
from ..shapes import WriteResult
from .calls import NO_MESSAGE, StoryCall, open_conversation, open_message
from .refresh import refresh
from .rules_scenes import BEFORE_ALL

SCENE_RECAP, RUNNING = "SCENE_RECAP", "RUNNING_SCENE_RECAP"
NO_BREAK = WriteResult(False, None, "unchanged", notes=("this message has no scene break",))


@dataclass(frozen=True, slots=True)
class Layout:
    rows: tuple[int, ...] = ()
    """Row ids of the messages, oldest first; the position is the message's index."""
    scenes: tuple[Scene, ...] = ()
    """Scenes, oldest first."""
    ends: tuple[int, ...] = ()
    """Index of the last message of each scene."""

    def range_of(self, scene: Scene) -> tuple[int, int]:
        """Return a scene's first and last message index; scenes begin after the nearest earlier break with a recap."""
        last = self.ends[self.scenes.index(scene)]
        ended = [end for each, end in zip(self.scenes, self.ends, strict=True) if each.recap_index is not None]
        return max((end for end in ended if end < last), default=BEFORE_ALL) + 1, last

    def rows_of(self, scene: Scene) -> tuple[int, ...]:
        first, last = self.range_of(scene)
        return self.rows[first : last + 1]

    @property
    def last_break(self) -> int:
        """Return the message index of the newest scene break; BEFORE_ALL if there is no break."""
        return max(self.ends, default=BEFORE_ALL)


def read_layout(reader: Reader, persona: str, conversation: str) -> Layout:
    rows = table_lines.read_order(reader, persona, conversation)
    at = {row_id: index for index, row_id in enumerate(rows)}
    scenes = [scene for scene in table_scenes.read_scenes(reader, persona, conversation) if scene.break_row in at]
    scenes.sort(key=lambda scene: (at[scene.break_row], scene.id))
    return Layout(rows, tuple(scenes), tuple(at[scene.break_row] for scene in scenes))


class SceneInfo(TypedDict):
    """One scene in the result of `list_scenes`. JSON keys appear in this order."""

    id: int
    message: int | None
    """Row id of the scene's last message."""
    first_index: int
    """Index of the scene's first message."""
    last_index: int
    """Index of the scene's last message."""
    name: str
    visible: bool
    recap: str
    """Text of the current recap version; "" without a recap."""
    recap_index: int | None
    """Number of the current version."""
    provenance: str
    """Origin of the recap: model, extract, manual or import; "" without a recap."""


def add_scene_break(
    message: object,
    name: object = "",
    *,
    visible: bool = True,
    recap: bool = True,
    interface_path: object = None,
    **options: Unpack[CallOptions],
) -> WriteResult:
    """End a scene with a message, and queue the scene's recap.

    Args:
        name: of the scene, at most 200 characters.
        visible: whether AUTO_HIDE_SCENE_COUNT counts the break.
        recap: queue the recap of the scene.

    Returns:
        `(True, scene id, "")`; `duplicate` with the id of the scene that ends there already; `not_found` if the scope
        sees no such message.
    """
    notes: list[str] = []
    called = rows.name(name, "name", table_scenes.NAME_CHARS, notes)
    is_shown = bool(rows.yes_no(visible, "visible"))
    call = open_message(open_call(**options), message, interface_path)
    if call.place is None or call.row_id is None:
        return NO_MESSAGE
    queues = recap and not call.place.stories_off
    work = partial(make_break, call=call, row_id=call.row_id, name=called, visible=is_shown, queues=queues)
    result: WriteResult = call.db.idempotent_transaction(work, source="scenes")
    if result.stored:
        refresh(call)
    return WriteResult(*result, notes=(*result.notes, *notes))


def make_break(
    connection: Connection, call: StoryCall, row_id: int, name: str = "", visible: bool = True, queues: bool = True
) -> WriteResult:
    """Store a scene break within a transaction and, if `queues`, queue its recap; `not_found` without the message."""
    table_conversations.find(connection, call.persona, call.conversation, lock=True)
    if table_lines.hold_line(connection, call.persona, row_id) is None:
        return NO_MESSAGE
    here = call.db, call.persona, call.conversation
    scene_id, is_new = table_scenes.insert_scene(connection, *here, row_id, name, visible=visible)
    if not is_new:
        return WriteResult(False, scene_id, "duplicate")
    if queues:
        queue_recap(connection, call, row_id)
    return WriteResult(True, scene_id)


def queue_recap(connection: Connection, call: StoryCall, break_row: int, before: Sequence[int] = ()) -> None:
    """Queue the recap of a scene, to run after the operations `before`, or after the last queued scene recap."""
    persona, key, payload = call.persona, call.conversation, {"message_id": break_row}
    before = before or [*jobs_table.read_open(connection.execute, persona, SCENE_RECAP, key)][-1:]
    jobs_table.enqueue(connection, call.db, persona, SCENE_RECAP, conversation=key, payload=payload, depends_on=before)


def queue_running(connection: Connection, call: StoryCall) -> None:
    jobs_table.enqueue(connection, call.db, call.persona, RUNNING, priority="HIGH", conversation=call.conversation)


def edit_scene_break(
    message: object,
    *,
    name: object = None,
    visible: object = None,
    interface_path: object = None,
    **options: Unpack[CallOptions],
) -> WriteResult:
    """Rename a scene break, or change whether AUTO_HIDE_SCENE_COUNT counts it.

    Args:
        name, visible: the new values; None keeps the stored value.

    Returns:
        `(True, scene id, "")`, or `unchanged`: there is no break, or nothing differs.
    """
    notes: list[str] = []
    wanted: dict[str, object] = {}
    if name is not None:
        wanted["name"] = rows.name(name, "name", table_scenes.NAME_CHARS, notes)
    if visible is not None:
        wanted["visible"] = rows.yes_no(visible, "visible")

    def work(connection: Connection, call: StoryCall, scene: Scene) -> WriteResult:
        changes = {key: value for key, value in wanted.items() if getattr(scene, key) != value}
        if not changes:
            return WriteResult(False, scene.id, "unchanged")
        is_there = table_scenes.update_scene(connection, call.persona, scene.break_row, changes)
        return WriteResult(True, scene.id, notes=tuple(notes)) if is_there else NO_BREAK

    return _change_scene(open_message(open_call(**options), message, interface_path), work)


def remove_scene_break(
    message: object, *, interface_path: object = None, **options: Unpack[CallOptions]
) -> WriteResult:
    """Remove the break of a message with its scene's recaps; the next scene then begins earlier.

    Returns:
        `(True, scene id, "")`, or `unchanged` without a break. A running recap keeps its text about the scene until its
        next version.
    """

    def work(connection: Connection, call: StoryCall, scene: Scene) -> WriteResult:
        is_removed = table_scenes.delete_scene(connection, call.persona, scene.id)
        return WriteResult(True, scene.id) if is_removed else NO_BREAK

    return _change_scene(open_message(open_call(**options), message, interface_path), work)


def list_scenes(conversation: object = None, **options: Unpack[CallOptions]) -> list[SceneInfo]:
    """Return the scenes of a conversation, oldest first."""
    call = open_conversation(open_call(**options), conversation).redacted()
    if call.place is None:
        return []
    story = read_layout(call.db.read, call.persona, call.conversation)
    return [
        {
            "id": scene.id,
            "message": scene.break_row,
            "first_index": story.range_of(scene)[0],
            "last_index": end,
            "name": scene.name,
            "visible": scene.visible,
            "recap": scene.recap,
            "recap_index": scene.recap_index,
            "provenance": scene.provenance,
        }
        for scene, end in zip(story.scenes, story.ends, strict=True)
    ]


def set_scene_recap(
    message: object, content: object, *, interface_path: object = None, **options: Unpack[CallOptions]
) -> WriteResult:
    """Store a scene's recap written by hand as a new, current version.

    Args:
        content: the text, at most 16 MB.

    Returns:
        `(True, number of the version, "")`; `empty` for a blank text; `unchanged` without a break, or if the current
        version has this text already.
    """
    opened = open_call(**options)
    text = rows.text(content, "content")
    if not text.strip():
        return WriteResult(False, None, "empty")

    def work(connection: Connection, call: StoryCall, scene: Scene) -> WriteResult:
        if scene.recap == text:
            return WriteResult(False, scene.recap_index, "unchanged")
        number = table_scenes.insert_version(connection, call.db, call.persona, scene.id, text, provenance="manual")
        if number is None:
            return NO_BREAK
        queue_running_if_kept(connection, call)
        return WriteResult(True, number)

    return _change_scene(open_message(opened, message, interface_path), work)


def _change_scene(call: StoryCall, work: Callable[[Connection, StoryCall, Scene], WriteResult]) -> WriteResult:
    """Run `work` in a transaction on the scene that ends with the call's message, then refresh hidden messages."""
    scene = None if call.row_id is None else table_scenes.find_scene(call.db.read, call.persona, call.row_id)
    if scene is None:
        return NO_BREAK
    result = call.db.idempotent_transaction(lambda connection: work(connection, call, scene), source="scenes")
    if result.stored:
        refresh(call)
    return result


def queue_running_if_kept(connection: Connection, call: StoryCall) -> None:
    """Queue an update of the running recap, if RUNNING_SCENE_RECAP_AUTO_GENERATE and the chat's stories are on."""
    off = call.place is not None and call.place.stories_off
    if call.settings.running_scene_recap_auto_generate and not off:
        queue_running(connection, call)
