"""A conversation taken over into another one: its messages up to a point, and all that lies on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table, select, update

from ..audience import table_conversations
from ..audience.view import ConversationFacts
from ..database import rows
from ..database.bulk import chunks
from ..database.dialects import insert_ignore
from ..database.engine import Database
from ..database.schema import chat_history_cache
from ..database.schema import conversations as conversations_table
from ..database.schema_stories import message_alternatives, message_recaps, scene_recaps, scenes
from ..database.sources import CHAT
from ..index import entries as index_entries
from ..index import table as index_table
from ..messages.table_lines import AT_ONCE
from ..messages.table_scenes import Scene
from ..scope import Privacy, Scope

_K = conversations_table.c
_C = chat_history_cache.c
_S = scenes.c
_R = scene_recaps.c
_JSON = ("metadata", "data")


def make_like(connection: Connection, db: Database, persona: str, source: ConversationFacts, key: str) -> None:
    """Make a conversation known that is as private as another one, and has its switches."""
    privacy: Privacy = "public"
    if source.is_private:
        privacy = "direct" if source.direct_person is not None else "restricted"
    scope = Scope(persona, key, server=source.server, privacy=privacy)
    table_conversations.make(connection, db, scope, sender=source.direct_person or None)
    off = select(_K.stories_off).where(_K.persona_id == persona, _K.conversation_key == source.key)
    values = {"stories_off": int(connection.execute(off).scalar() or 0), "local_only": int(source.local_only)}
    here = (_K.persona_id == persona, _K.conversation_key == key)
    connection.execute(update(conversations_table).where(*here).values(**values))


def _read(connection: Connection, table: Table, where: Any) -> list[dict[str, Any]]:
    """Return whole rows, JSON as values, ready to be inserted again."""
    found = connection.execute(select(table).where(*where)).mappings().all()
    return [{name: rows.read_json(value) if name in _JSON else value for name, value in row.items()} for row in found]


def copy_messages(
    connection: Connection, db: Database, persona: str, taken: Sequence[int], target: ConversationFacts
) -> dict[int, int]:
    """Copy messages with their index rows into a conversation that has none; return row id there to row id here."""
    ids = dict(zip(taken, db.ids.take(len(taken)), strict=True))
    newest = None
    for part in chunks(taken, AT_ONCE):
        found = _read(connection, chat_history_cache, (_C.persona_id == persona, _C.id.in_(sorted(part))))
        place = {"interface_path": target.key, "audience_id": target.audience_id}
        made = sorted(({**row, **place, "id": ids[row["id"]]} for row in found), key=lambda row: row["id"])
        rows.insert_rows(connection, chat_history_cache, made)
        index_table.add(
            connection,
            db.family,
            [
                index_entries.entry(
                    CHAT.number, row["id"], target.audience_id, row["timestamp"], row["text_folded"], (),
                    int(target.local_only),
                )
                for row in made
            ],
        )  # fmt: skip
        times = [row["timestamp"] for row in made if row["timestamp"] is not None]
        newest = max([*times, *([newest] if newest else [])], default=None)
    if newest is not None:
        table_conversations.touch(connection, persona, target.key, newest)
    return ids


def copy_recaps(connection: Connection, db: Database, persona: str, ids: Mapping[int, int], target: str) -> int:
    """Copy the recaps and alternatives of messages; return how many messages have a recap."""
    recapped: set[int] = set()
    for part in chunks(sorted(ids), AT_ONCE):
        for table in (message_recaps, message_alternatives):
            where = (table.c.persona_id == persona, table.c.message_row.in_(part))
            found = [{**row, "message_row": ids[row["message_row"]]} for row in _read(connection, table, where)]
            if table is message_recaps:
                found = [{**row, "conversation_key": target} for row in found]
                recapped |= {row["message_row"] for row in found if row["memory"] is not None}
            if found:
                connection.execute(insert_ignore(table, db.family), found)
    return len(recapped)


def copy_scenes(
    connection: Connection, db: Database, persona: str, taken: Sequence[Scene], ids: Mapping[int, int], target: str
) -> dict[int, int]:
    """Copy scenes with all versions of their recaps; return scene id there to scene id here."""
    made: dict[int, int] = {}
    for scene in taken:
        if not scene.is_brought and scene.break_row not in ids:
            continue
        new = made[scene.id] = db.ids.one()
        row = {
            "id": new,
            "persona_id": persona,
            "conversation_key": target,
            "break_row": new if scene.is_brought else ids[scene.break_row],
            "start_row": None if scene.start_row is None else ids.get(scene.start_row),
            "name": scene.name,
            "visible": int(scene.visible),
            "current_recap_index": scene.recap_index,
        }
        connection.execute(scenes.insert().values(row))
    for part in chunks(sorted(made), AT_ONCE):
        found = _read(connection, scene_recaps, (_R.persona_id == persona, _R.scene_id.in_(part)))
        if found:
            connection.execute(scene_recaps.insert(), [{**row, "scene_id": made[row["scene_id"]]} for row in found])
    return made


def has_scenes(connection: Connection, persona: str, conversation: str) -> bool:
    """Return whether a conversation has a scene."""
    found = select(_S.id).where(_S.persona_id == persona, _S.conversation_key == conversation).limit(1)
    return connection.execute(found).first() is not None
