"""What a story keeps of somebody who is forgotten: recaps, scenes, versions."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import or_, select, update

from ..database.bulk import chunks
from ..database.readers import reader_in
from ..database.schema import conversations, running_recaps, scene_recaps
from ..database.schema import scenes as scene_table
from ..messages import table_scenes
from ..messages.table_scenes import Scene
from ..stories import layout
from ..stories.layout import Layout
from . import rules
from .table_rows import AT_ONCE, Removal

SCENE_RECAP, RUNNING = "SCENE_RECAP", "RUNNING_SCENE_RECAP"
"""What makes the texts anew."""
_S, _R, _V, _K = scene_table.c, scene_recaps.c, running_recaps.c, conversations.c


def delete_parts(removal: Removal, conversation: str, gone: Collection[int]) -> None:
    """Delete what a conversation's story was made of, as far as messages that go are in it, and queue it anew."""
    story = _read_story(removal, conversation)
    first = next((index for index, row in enumerate(story.rows) if row in gone), None)
    if first is None:
        return
    changed = _scenes_with(story, gone)
    _clear_scenes(removal, [scene.id for scene in changed])
    _move_breaks(removal, story, gone)
    ended = _drop_versions(removal, conversation, first)
    left = [[row for row in story.rows_of(each) if row not in gone] for each in changed if each.recap_index is not None]
    _queue(removal, conversation, [rows[-1] for rows in left if rows], running=ended)


def renew_parts(removal: Removal, conversation: str, row: int) -> None:
    """Queue anew what a conversation's story was made of a message that says something else now."""
    story = _read_story(removal, conversation)
    if row not in story.rows:
        return
    index = story.rows.index(row)
    anew = [scene.break_row for scene in _scenes_with(story, {row}) if scene.recap_index is not None]
    mine = (_V.persona_id == removal.persona, _V.conversation_key == conversation, _V.deleted_at.is_(None))
    covering = removal.read_rows(select(_V.version).where(*mine, _V.new_scene_index >= index).limit(1))
    _queue(removal, conversation, anew, running=bool(covering))


def _read_story(removal: Removal, conversation: str) -> Layout:
    """Return where the messages of a conversation lie in its story; empty where it has neither scenes nor a recap."""
    scene = select(_S.id).where(_S.persona_id == removal.persona, _S.conversation_key == conversation).limit(1)
    version = select(_V.version).where(_V.persona_id == removal.persona, _V.conversation_key == conversation).limit(1)
    if not removal.read_rows(scene) and not removal.read_rows(version):
        return Layout()
    return layout.read_layout(reader_in(removal.connection), removal.persona, conversation)


def _scenes_with(story: Layout, messages: Collection[int]) -> list[Scene]:
    return [each for each in story.scenes if any(row in messages for row in story.rows_of(each))]


def _clear_scenes(removal: Removal, ids: Sequence[int]) -> None:
    """Delete the recaps of scenes; their names may tell what was said, so they go too."""
    removal.delete_in(scene_recaps, _R.scene_id, ids)
    for part in chunks(sorted(ids), AT_ONCE):
        mine = (_S.persona_id == removal.persona, _S.id.in_(part))
        told = or_(_S.current_recap_index.is_not(None), _S.name != "")
        change = update(scene_table).where(*mine, told).values(current_recap_index=None, name="")
        removal.counts[scene_table.name] += int(removal.connection.execute(change).rowcount)


def _move_breaks(removal: Removal, story: Layout, gone: Collection[int]) -> None:
    breaks = {each.break_row: each.id for each in story.scenes}
    counted = {each.id for each in story.scenes if each.recap_index is not None or each.name}
    for scene_id, row in rules.moved_breaks(story.rows, breaks, gone).items():
        mine = (_S.persona_id == removal.persona, _S.id == scene_id)
        if row is None:
            removal.delete(scene_table, _S.id == scene_id)
            removal.counts[scene_table.name] -= scene_id in counted
        else:
            removal.connection.execute(update(scene_table).where(*mine).values(break_row=row))
            removal.counts[scene_table.name] += scene_id not in counted


def _drop_versions(removal: Removal, conversation: str, first: int) -> bool:
    """Delete the versions that hold something of what goes; return whether there were some with a text."""
    mine = (_V.persona_id == removal.persona, _V.conversation_key == conversation)
    found = removal.read_rows(select(_V.version, _V.new_scene_index, _V.deleted_at).where(*mine))
    stale = [r.version for r in found if r.new_scene_index >= first]
    removal.delete_in(running_recaps, _V.version, stale, _V.conversation_key == conversation)
    left = [r.version for r in found if r.deleted_at is None and r.version not in stale]
    there = (_K.persona_id == removal.persona, _K.conversation_key == conversation)
    change = update(conversations).where(*there, _K.current_recap_version.in_(stale))
    changed = (
        removal.connection.execute(change.values(current_recap_version=max(left, default=None))) if stale else None
    )
    removal.counts[conversations.name] += 0 if changed is None else int(changed.rowcount)
    return any(r.version in stale and r.deleted_at is None for r in found)


def _queue(removal: Removal, conversation: str, breaks: Sequence[int], *, running: bool) -> None:
    """Queue the recaps of scenes, one after the other, and the running recap behind them."""
    persona, connection = removal.persona, removal.connection
    off = select(_K.stories_off).where(_K.persona_id == persona, _K.conversation_key == conversation)
    if not (breaks or running) or connection.execute(off).scalar() != 0:
        return
    before = table_scenes.find_newest_operation(connection, persona, conversation, SCENE_RECAP)
    for row in breaks:
        after = () if before is None else (before,)
        before = removal.queue(SCENE_RECAP, conversation, payload={"message_id": row}, depends_on=after)
    if running:
        after = () if before is None else (before,)
        removal.queue(RUNNING, conversation, priority="HIGH", depends_on=after)
