"""Deletes recaps, scenes and running recap versions that were made from deleted or edited messages."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime

from sqlalchemy import func, select, update

from ..base.groups import group
from ..database.compiled import IDS, execute_parts
from ..database.schema import conversations, running_recaps, scene_recaps
from ..database.schema import scenes as scene_table
from ..jobs import table as jobs_table
from ..messages.table_scenes import Scene
from ..scope import Scope
from ..stories import table_running
from ..stories.rules_running import CoveredScene, RecapPlan, add_lines
from ..stories.rules_scenes import BEFORE_ALL
from ..stories.scenes import RUNNING, SCENE_RECAP, Layout, read_layout
from . import rules
from .table_rows import MADE, Removal

_S, _R, _V, _K = scene_table.c, scene_recaps.c, running_recaps.c, conversations.c


def delete_parts(removal: Removal, conversation: str, messages: Collection[int], *, edited: bool = False) -> None:
    """Delete a conversation's recaps that were made from `messages`, and queue operations that make them again.

    With `edited`, the messages changed but still exist, and recaps that a person wrote stay. Call this function before
    operations about deleted messages are removed: it queues the recaps of their scenes again.
    """
    scenes = removal.find_values(_S.id, _S.conversation_key == conversation)
    if not scenes and not removal.find_values(_V.version, _V.conversation_key == conversation):
        return
    story = read_layout(removal.connection.execute, removal.persona, conversation)
    first = _find_first(story, messages)
    if first is None:
        return
    changed = _scenes_with(removal, story, messages)
    if edited:
        changed = _delete_made(removal, changed)
    else:
        _change_scenes(removal, story, changed, messages)
    gone = () if edited else messages
    is_empty = all(row in gone for row in story.rows)
    ended = _drop_versions(removal, conversation, BEFORE_ALL if is_empty else first, edited=edited)
    if edited and ended:
        _show_scenes(removal, conversation, story, changed)
    open_recaps = jobs_table.read_open(removal.connection.execute, removal.persona, SCENE_RECAP, conversation)
    waiting = [payload.get("message_id") for payload in open_recaps.values()]
    renewed = [each for each in changed if each.recap_index is not None or each.break_row in waiting]
    left = [[row for row in story.rows_of(each) if row not in gone] for each in renewed]
    breaks = [rows[-1] for rows in left if rows and rows[-1] not in waiting]
    _queue(removal, conversation, breaks, list(open_recaps)[-1:], running=ended and not is_empty)


def _find_first(story: Layout, messages: Collection[int]) -> int | None:
    """Return the lowest index that one of `messages` had before older messages were imported; None without one."""
    here = [at for at, row in enumerate(story.rows) if row in messages]
    oldest = min((story.rows[at] for at in here), default=0)
    return sum(row < oldest for row in story.rows[: here[0]]) if here else None


def _scenes_with(removal: Removal, story: Layout, messages: Collection[int]) -> list[Scene]:
    """Return the scenes that contain one of the messages now, or contained one when their first recap was made.

    A scene begins after the nearest earlier scene with a recap. If that earlier scene got its first recap later, this
    scene's recap covers the messages of both.
    """
    recaps = removal.read_in(select(_R.scene_id, _R.created_at), _R.scene_id, [scene.id for scene in story.scenes])
    times = group((row.scene_id, row.created_at or datetime.min.replace(tzinfo=UTC)) for row in recaps)
    made = {scene_id: (min(created), scene_id) for scene_id, created in times.items()}  # the id orders equal times
    found, begins = [], dict[int, int]()
    for scene, end in zip(story.scenes, story.ends, strict=True):
        own = made.get(scene.id)
        earlier = (begins[each] for each in begins if own is None or made[each] < own)
        if any(row in messages for row in story.rows[max(earlier, default=0) : end + 1]):
            found.append(scene)
        if own is not None:
            begins[scene.id] = end + 1
    return found


def _change_scenes(removal: Removal, story: Layout, changed: Sequence[Scene], deleted: Collection[int]) -> None:
    """Delete the recaps of scenes `changed`, when forgetting also the names; move breaks off `deleted` messages."""
    ids = [scene.id for scene in changed]
    removal.delete_in(scene_recaps, _R.scene_id, ids)
    mine = update(scene_table).where(_S.persona_id == removal.persona, _S.id.in_(IDS))
    emptied = {"current_recap_index": None} | ({} if removal.keeps_names else {"name": ""})
    execute_parts(removal.connection, mine.values(emptied), ids)
    moved = rules.moved_breaks(story.rows, {scene.break_row: scene.id for scene in story.scenes}, deleted)
    for scene_id, row in moved.items():
        if row is None:
            removal.delete(scene_table, _S.id == scene_id)
        else:
            change = update(scene_table).where(_S.persona_id == removal.persona, _S.id == scene_id)
            removal.connection.execute(change.values(break_row=row))
    said_something = {scene.id for scene in changed if scene.recap_index is not None or scene.name}
    dropped = {scene_id for scene_id, row in moved.items() if row is None}
    removal.counts[scene_table.name] += len((said_something | set(moved)) - dropped)


def _delete_made(removal: Removal, scenes: Sequence[Scene]) -> list[Scene]:
    """Delete the recaps of these scenes that operations wrote; return the scenes whose current recap was deleted."""
    connection, persona = removal.connection, removal.persona
    for scene in scenes:
        mine = (_R.persona_id == persona, _R.scene_id == scene.id)
        removal.delete(scene_recaps, _R.scene_id == scene.id, _R.provenance.in_(MADE))
        if scene.provenance in MADE:
            newest = connection.execute(select(func.max(_R.version_index)).where(*mine)).scalar()
            change = update(scene_table).where(_S.persona_id == persona, _S.id == scene.id)
            connection.execute(change.values(current_recap_index=newest))
    return [scene for scene in scenes if scene.provenance in MADE]


def _drop_versions(removal: Removal, conversation: str, first: int, *, edited: bool) -> bool:
    """Delete running recap versions that cover message index `first` or later; return whether any of them had text."""
    mine = (_V.persona_id == removal.persona, _V.conversation_key == conversation)
    versions = removal.read_rows(select(_V.version, _V.new_scene_index, _V.deleted_at, _V.provenance).where(*mine))
    stale = [row.version for row in versions if row.new_scene_index >= first and (not edited or row.provenance in MADE)]
    if not stale:
        return False
    removal.delete_in(running_recaps, _V.version, stale, _V.conversation_key == conversation)
    newest = max((row.version for row in versions if row.deleted_at is None and row.version not in stale), default=None)
    there = (_K.persona_id == removal.persona, _K.conversation_key == conversation)
    change = update(conversations).where(*there, _K.current_recap_version.in_(stale))
    changed = removal.connection.execute(change.values(current_recap_version=newest)).rowcount
    removal.counts[conversations.name] += int(changed)
    return any(row.version in stale and row.deleted_at is None for row in versions)


def _show_scenes(removal: Removal, conversation: str, story: Layout, changed: Collection[Scene]) -> None:
    """If no running recap is left, store a temporary one for prompts: the recaps of the unchanged scenes, joined."""
    connection, persona = removal.connection, removal.persona
    if table_running.find_current_number(connection.execute, persona, conversation) is not None:
        return
    covered = []
    lines = []
    for scene, end in zip(story.scenes, story.ends, strict=True):
        if scene.recap_index is not None and scene not in changed:
            covered.append(CoveredScene(scene.id, end, scene.recap_index))
            lines.append(": ".join(filter(None, (scene.name, scene.recap))))
    if text := add_lines("", lines):
        version = RecapPlan(None, tuple(covered)).build_version(text, "extract")
        table_running.insert_version(connection, removal.db, Scope(persona, conversation), version)


def _queue(removal: Removal, key: str, breaks: Sequence[int], before: Sequence[int | None], *, running: bool) -> None:
    """Queue recaps of scenes one after the other, the first after the operations `before`; then the running recap."""
    persona, connection = removal.persona, removal.connection
    off = select(_K.stories_off).where(_K.persona_id == persona, _K.conversation_key == key)
    if not (breaks or running) or connection.execute(off).scalar() != 0:
        return
    for row in breaks:
        before = [removal.queue(SCENE_RECAP, key, payload={"message_id": row}, depends_on=before)]
    if running:
        removal.queue(RUNNING, key, priority="HIGH", depends_on=before)
