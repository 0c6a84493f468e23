"""Scenes and their recaps (tables scenes and scene_recaps): a scene ends with the message that has its break."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, delete, func, select, update

from ..database.compiled import Reader
from ..database.engine import Database
from ..database.schema import scene_recaps, scenes

NAME_CHARS = 200

_S, _R = scenes.c, scene_recaps.c


@dataclass(frozen=True, slots=True)
class Scene:
    id: int
    break_row: int
    name: str = ""
    visible: bool = True
    recap_index: int | None = None
    """Number of the current recap version; None for a scene without a recap."""
    recap: str = ""
    provenance: str = ""


_CURRENT = and_(_R.persona_id == _S.persona_id, _R.scene_id == _S.id, _R.version_index == _S.current_recap_index)
_WHOLE = select(_S.id, _S.break_row, _S.name, _S.visible, _S.current_recap_index, _R.content, _R.provenance)
_WHOLE = _WHOLE.select_from(scenes).outerjoin(scene_recaps, _CURRENT)


def _scene(r: Any) -> Scene:
    return Scene(
        r.id, r.break_row, r.name or "", bool(r.visible),
        None if r.content is None else r.current_recap_index, r.content or "", r.provenance or "",
    )  # fmt: skip


def read_scenes(read: Reader, persona: str, conversation: str) -> list[Scene]:
    """Return the scenes of a conversation, ordered by their break's row id."""
    here = (_S.persona_id == persona, _S.conversation_key == conversation)
    return [_scene(r) for r in read(_WHOLE.where(*here).order_by(_S.break_row, _S.id), {})]


def find_scene(read: Reader, persona: str, break_row: int) -> Scene | None:
    """Return the scene that ends with the message `break_row`; None if that message has no break."""
    ended = _WHOLE.where(_S.persona_id == persona, _S.break_row == break_row)
    return next((_scene(r) for r in read(ended, {})), None)


def insert_scene(
    connection: Connection, db: Database, persona: str, conversation: str, break_row: int, name: str = "",
    *, visible: bool = True,
) -> tuple[int, bool]:  # fmt: skip
    """Store a scene break in a locked conversation; return `(scene id, whether it is new)`: one per message."""
    there = select(_S.id).where(_S.persona_id == persona, _S.break_row == break_row)
    if (known := connection.execute(there).scalar()) is not None:
        return int(known), False
    scene_id = db.ids.one()
    place = {"persona_id": persona, "conversation_key": conversation, "break_row": break_row}
    connection.execute(scenes.insert(), {"id": scene_id, **place, "name": name, "visible": int(visible)})
    return scene_id, True


def update_scene(connection: Connection, persona: str, break_row: int, values: Mapping[str, Any]) -> bool:
    stmt = update(scenes).where(_S.persona_id == persona, _S.break_row == break_row).values(**values)
    return bool(connection.execute(stmt).rowcount)


def delete_scene(connection: Connection, persona: str, scene_id: int) -> bool:
    if not connection.execute(delete(scenes).where(_S.persona_id == persona, _S.id == scene_id)).rowcount:
        return False
    connection.execute(delete(scene_recaps).where(_R.persona_id == persona, _R.scene_id == scene_id))
    return True


def hold_scene(connection: Connection, persona: str, scene_id: int) -> bool:
    """Lock a scene until the transaction ends; return whether it exists."""
    query = select(_S.id).where(_S.persona_id == persona, _S.id == scene_id).with_for_update()
    return connection.execute(query).scalar() is not None


def insert_version(
    connection: Connection, db: Database, persona: str, scene_id: int, content: str, *, provenance: str
) -> int | None:
    """Add a version of a scene's recap and make it current; return its number, None if the scene no longer exists."""
    if not hold_scene(connection, persona, scene_id):
        return None
    highest = select(func.max(_R.version_index)).where(_R.persona_id == persona, _R.scene_id == scene_id)
    last = connection.execute(highest).scalar()
    version = 0 if last is None else int(last) + 1
    key = {"persona_id": persona, "scene_id": scene_id, "version_index": version}
    said = {"content": content, "provenance": provenance, "created_at": db.clock()}
    connection.execute(scene_recaps.insert().values({**key, **said}))
    change = update(scenes).where(_S.persona_id == persona, _S.id == scene_id)
    connection.execute(change.values(current_recap_index=version))
    return version
