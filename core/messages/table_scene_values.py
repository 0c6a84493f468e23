"""The metadata of one version of a scene's recap (table scene_recaps), written on its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, update

from ..database.schema_stories import scene_recaps

_R = scene_recaps.c


def set_metadata(
    connection: Connection, persona: str, scene_id: int, version: int, metadata: Mapping[str, Any] | None
) -> bool:
    """Give a version of a scene's recap other metadata, None for none; return whether there is such a version."""
    here = (_R.persona_id == persona, _R.scene_id == scene_id, _R.version_index == version)
    stmt = update(scene_recaps).where(*here).values(metadata=dict(metadata) if metadata else None)
    return bool(connection.execute(stmt).rowcount)
