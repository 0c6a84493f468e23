"""What lies on a message that ends a scene, value by value, as S3 names them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...database import readers
from ...database.engine import Database
from ...database.readers import Reader
from ...messages import table_scenes as scenes
from ...messages.table_scenes import Scene, set_metadata

if TYPE_CHECKING:
    from sqlalchemy import Connection


def read(reader: Reader, persona: str, row_id: int) -> dict[str, Any]:
    """Return the values that are set of the scene a message ends; none where it ends no scene."""
    scene = scenes.find(reader, persona, row_id)
    if scene is None:
        return {}
    versions = scenes.recaps(reader, persona, scene.id)
    current = next((v for v in versions if v.version == scene.recap_index), None)
    found: dict[str, Any] = {
        "scene_break": True,
        "scene_break_visible": scene.visible or None,
        "scene_break_name": scene.name or None,
        "scene_recap_versions": [v.content for v in versions] or None,
    }
    if current is not None:
        found["scene_recap_memory"] = current.content
        found["scene_recap_current_index"] = current.version
        found["scene_recap_metadata"] = dict(current.metadata) or None
    return {key: value for key, value in found.items() if value is not None}


def write(
    connection: Connection, db: Database, persona: str, conversation: str, row_id: int, key: str, value: Any
) -> bool:
    """Set one value within a transaction; False where it is so already, the message ends no scene, or there is no
    such version.

    `scene_break` makes the scene and takes it away with its recaps, the other keys need one. Another text under
    `scene_recap_memory` is a new version, None takes all versions away.
    """
    if key == "scene_break":
        if value:
            return scenes.add(connection, db, persona, conversation, row_id)[1]
        return scenes.remove(connection, persona, row_id)
    scene = scenes.find(readers.on(connection), persona, row_id)
    if scene is None:
        return False
    if key == "scene_break_visible":
        return scenes.change(connection, persona, row_id, {"visible": int(bool(value))})
    if key == "scene_break_name":
        return scenes.change(connection, persona, row_id, {"name": value or ""})
    return _write_recap(connection, db, persona, scene, key, value)


def _write_recap(connection: Connection, db: Database, persona: str, scene: Scene, key: str, value: Any) -> bool:
    if key == "scene_recap_versions" or (key == "scene_recap_memory" and value is None):
        gone = scenes.clear_recaps(connection, persona, scene.id)
        for content in value or ():
            scenes.add_recap(connection, db, persona, scene.id, content, provenance="manual")
        return bool(gone or value)
    if key == "scene_recap_memory":
        if value == scene.recap and scene.recap_index is not None:
            return False
        return scenes.add_recap(connection, db, persona, scene.id, value, provenance="manual") is not None
    if key == "scene_recap_current_index":
        return value is not None and scenes.choose_recap(connection, persona, scene.id, value)
    return scene.recap_index is not None and set_metadata(connection, persona, scene.id, scene.recap_index, value)
