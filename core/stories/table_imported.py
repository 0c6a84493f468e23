"""Reads and imports data stored with messages: alternatives, recaps, scenes, the running recap."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select, update

from ..base.groups import group
from ..database import rows
from ..database.compiled import IDS, Reader, read_parts
from ..database.engine import Database
from ..database.schema import conversations, message_alternatives, message_recaps, running_recaps, scene_recaps, scenes
from ..messages import table_recaps
from ..messages.table_lines import OWN
from ..messages.table_recaps import Alternative, Recap
from ..text.sizes import estimate_tokens
from . import table_running
from .rules_running import Version

PROVENANCE = "import"

_A, _R, _S, _V, _K = (table.c for table in (message_alternatives, message_recaps, scenes, scene_recaps, conversations))


@dataclass(frozen=True, slots=True)
class Scene:
    """The scene that ends with a message."""

    name: str = ""
    visible: bool = True
    versions: tuple[str, ...] = ()
    current: int | None = None
    """Index of the current version; None without versions."""
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Beside:
    """Data stored with one message: recap, alternatives, scene."""

    recap: Recap | None = None
    alternatives: tuple[Alternative, ...] = ()
    scene: Scene | None = None


NOTHING = Beside()


def insert_beside(connection: Connection, db: Database, persona: str, new: Sequence[tuple[int, str, Beside]]) -> None:
    """Store recaps, alternatives and scenes of new messages, each given as (row id, conversation, data to store)."""
    now = db.clock()
    texts, recaps, ends, versions = [], [], [], []
    ids = iter(db.ids.take(sum(what.scene is not None for _, _, what in new)))
    for row_id, conversation, what in new:
        key = {"persona_id": persona, "message_row": row_id}
        own = {"conversation_key": conversation, "updated_at": now}
        if what.recap is not None:
            recaps.append({**key, "alternative": OWN, **own, **_recap_row(what.recap)})
        for each in what.alternatives:
            texts.append((row_id, each))
            if each.recap is not None and not each.is_current:
                number = {"alternative": each.number}
                recaps.append({**key, **number, **own, **_recap_row(each.recap), "include": None})
        if what.scene is not None:
            scene_id = next(ids)
            end = {"id": scene_id, "persona_id": persona, "conversation_key": conversation, "break_row": row_id}
            shown = {"name": what.scene.name, "visible": int(what.scene.visible)}
            ends.append({**end, **shown, "current_recap_index": what.scene.current})
            versions += _scene_recap_rows(persona, scene_id, what.scene, now)
    table_recaps.insert_alternatives(connection, persona, texts)
    for table, ready in ((message_recaps, recaps), (scenes, ends), (scene_recaps, versions)):
        rows.insert_rows(connection, table, ready)


def _recap_row(recap: Recap) -> dict[str, Any]:
    return {
        "memory": recap.memory,
        "token_count": None if recap.memory is None else estimate_tokens(recap.memory),
        "include": recap.include,
        "edited": int(recap.edited),
        "stale": int(recap.stale),
        "data": dict(recap.data) or None,
        "provenance": PROVENANCE,
    }


def _scene_recap_rows(persona: str, scene_id: int, scene: Scene, now: datetime) -> list[dict[str, Any]]:
    shared = {"persona_id": persona, "scene_id": scene_id, "provenance": PROVENANCE, "created_at": now}
    metadata = {scene.current: dict(scene.metadata)} if scene.metadata else {}
    return [
        {**shared, "version_index": number, "content": content, "metadata": metadata.get(number)}
        for number, content in enumerate(scene.versions)
    ]


def keep_conversation(
    connection: Connection,
    persona: str,
    conversation: str,
    metadata: Mapping[str, Any] | None,
    versions: Sequence[Version],
    current: int | None,
) -> int:
    """Store a file's metadata and running recaps of a conversation; return how many recap versions are new."""
    here = (_K.persona_id == persona, _K.conversation_key == conversation)
    next_number = connection.execute(select(_K.next_recap_version).where(*here).with_for_update()).scalar()
    if next_number is None:
        return 0
    new = [v for v in versions if v.number >= next_number]
    values: dict[str, Any] = {} if metadata is None else {"metadata": dict(metadata)}
    if new:
        ready = [table_running.build_row(persona, conversation, replace(v, provenance=PROVENANCE)) for v in new]
        rows.insert_rows(connection, running_recaps, ready)
        newest = max(v.number for v in new)
        if current is None or table_running.find_version(connection.execute, persona, conversation, current) is None:
            current = newest  # a version of the file may be deleted here
        values |= {"next_recap_version": newest + 1, "current_recap_version": current}
    if values:
        connection.execute(update(conversations).where(*here).values(**values))
    return len(new)


def read_beside(reader: Reader, persona: str, ids: Sequence[int]) -> dict[int, Beside]:
    """Return the recaps, alternatives and scenes of these messages by row id; messages without such data are absent."""
    columns = (_R.message_row, _R.alternative, *table_recaps.RECAP_COLUMNS)
    stored = select(*columns).where(_R.persona_id == persona, _R.message_row.in_(IDS))
    recaps = {(r.message_row, r.alternative): table_recaps.build_recap(r) for r in read_parts(reader, stored, {}, ids)}
    versions = select(_A.message_row, _A.alternative, _A.text, _A.is_current, _A.metadata)
    versions = versions.where(_A.persona_id == persona, _A.message_row.in_(IDS))
    texts: dict[int, list[Alternative]] = {}
    for r in read_parts(reader, versions.order_by(_A.message_row, _A.alternative), {}, ids):
        recap, metadata = recaps.get((r.message_row, r.alternative)), rows.read_object(r.metadata) or {}
        alternative = Alternative(r.alternative, r.text, bool(r.is_current), metadata, recap)
        texts.setdefault(r.message_row, []).append(alternative)
    ends = read_scenes(reader, persona, ids)
    row_ids_beside = {row for row, number in recaps if number == OWN} | texts.keys() | ends.keys()
    return {row: Beside(recaps.get((row, OWN)), tuple(texts.get(row, ())), ends.get(row)) for row in row_ids_beside}


def read_scenes(reader: Reader, persona: str, ids: Sequence[int]) -> dict[int, Scene]:
    scenes = select(_S.id, _S.break_row, _S.name, _S.visible, _S.current_recap_index)
    scene_rows = read_parts(reader, scenes.where(_S.persona_id == persona, _S.break_row.in_(IDS)), {}, ids)
    recaps = select(_V.scene_id, _V.version_index, _V.content, _V.metadata)
    stored = recaps.where(_V.persona_id == persona, _V.scene_id.in_(IDS)).order_by(_V.scene_id, _V.version_index)
    versions = group((r.scene_id, r) for r in read_parts(reader, stored, {}, [r.id for r in scene_rows]))
    by_row = {}
    for r in scene_rows:
        mine = versions.get(r.id, [])
        place = next((at for at, v in enumerate(mine) if v.version_index == r.current_recap_index), None)
        metadata = None if place is None else rows.read_object(mine[place].metadata)
        by_row[r.break_row] = Scene(r.name or "", bool(r.visible), tuple(v.content for v in mine), place, metadata)
    return by_row


def read_metadata(reader: Reader, persona: str, conversation: str) -> dict[str, Any] | None:
    stored = select(_K.metadata).where(_K.persona_id == persona, _K.conversation_key == conversation)
    return next((rows.read_object(row.metadata) for row in reader(stored, {})), None)
