"""One process of a history: does a step that it reads, prints what came of it, and may be killed within the step.

Clock, ids and the statement at which it dies come with the step, so that a history runs the same way again.
"""

import json
import random
import sys
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any

from core import conversations, forgetting, lifelong, synth_core_memory
from core.chat_history_cache import delete_chat_message, edit_chat_message, load_chat_history, save_chat_message
from core.config import Settings
from core.database import ids
from core.database.engine import Database
from core.db import insert_memory, reindex
from core.scope import Scope
from core.transfer.exports import export_chat
from core.transfer.imports import import_file
from core.transfer.items import export_items, import_items
from core.upkeep import migration
from tests.faults.steps import Dying
from tests.histories.model import PERSONA, Room, Text

MOST = 200


class Actor:
    def __init__(self, url: str, folder: str) -> None:
        self.now = datetime.fromisoformat("2026-03-10T12:00:00+00:00")
        self.db = Database(url, clock=lambda: self.now, timeout_seconds=30)
        self.folder = Path(folder)
        self.copy = Database(f"sqlite:///{self.folder / 'copy.db'}", clock=lambda: self.now)
        for db in (self.db, self.copy):
            migration.ensure_present(db)
        self.given: dict[str, Any] = {"db": self.db, "settings": Settings()}

    def do(self, step: dict[str, Any]) -> Any:
        self.now = datetime.fromisoformat(step["at"])
        ids.secrets.randbelow = random.Random(step["seed"]).randrange  # type: ignore[assignment]
        room = Room(*step["room"][:3], tuple(step["room"][3])) if step.get("room") else None
        kill = step.get("kill")
        with ExitStack() as stack:
            if kill is not None:
                self.db.engines()
                stack.enter_context(Dying(self.db, kill, kill=True))
            return getattr(self, step["do"])(step, room)

    def say(self, step: dict[str, Any], room: Room) -> Any:
        person, scope = step["person"], room.scope(step["person"])
        done = save_chat_message(room.key, step["text"], person.title(), person, **self.given, scope=scope)
        return done.id if done.stored else None

    def save(self, step: dict[str, Any], room: Room) -> Any:
        done = conversations.add_saved_memory(step["text"], **self.given, scope=room.scope(step["person"]))
        return done.id if done.stored else None

    def note(self, step: dict[str, Any], _: Any) -> Any:
        return insert_memory(step["text"], "Ann", "chat", ["note"], Scope(PERSONA), **self.given)

    def edit(self, step: dict[str, Any], room: Room) -> Any:
        return edit_chat_message(step["row"], step["text"], **self.given, scope=room.scope(step["person"])).stored

    def delete(self, step: dict[str, Any], room: Room) -> Any:
        return delete_chat_message(step["row"], **self.given, scope=room.scope(step["person"])).stored

    def archive(self, step: dict[str, Any], room: Room) -> Any:
        return lifelong.delete_items([step["row"]], **self.given, scope=room.scope(step["person"])).count

    def forget_person(self, step: dict[str, Any], _: Any) -> Any:
        return forgetting.forget(participant=f"web/{step['person']}", **self.given, scope=Scope(PERSONA)).total

    def forget_room(self, step: dict[str, Any], room: Room) -> Any:
        return forgetting.forget(conversation=room.key, **self.given, scope=Scope(PERSONA)).total

    def consolidate(self, step: dict[str, Any], room: Room) -> Any:
        scope = Scope(PERSONA, room.key, None, room.server, privacy=room.privacy)
        return int(lifelong.consolidate_history(room.key, **self.given, scope=scope))

    def reindex(self, step: dict[str, Any], _: Any) -> Any:
        return reindex(self.db)

    def copy_chat(self, step: dict[str, Any], room: Room) -> Any:
        """Export a conversation and import the file elsewhere, twice: the second time adds nothing."""
        file = self.folder / "chat.jsonl"
        scope = Scope(PERSONA, room.key, None, room.server, privacy=room.privacy)
        lines = export_chat(file, conversation=room.key, **self.given, scope=scope).messages
        copy = {**self.given, "db": self.copy, "conversation": f"web/copy{self.now:%H%M}", "scope": Scope(PERSONA)}
        return [lines, import_file(file, **copy).imported, import_file(file, **copy).imported]

    def copy_items(self, step: dict[str, Any], _: Any) -> Any:
        items = b"".join(
            piece if isinstance(piece, bytes) else piece.encode()
            for piece in export_items(**self.given, scope=Scope(PERSONA))
        )
        return import_items(items, fmt="json", **{**self.given, "db": self.copy}, scope=Scope(PERSONA)).imported

    def look(self, step: dict[str, Any], room: Room) -> Any:
        """Return what a person who asks in a room is shown: the lines, and the texts found by each mark."""
        asking = {**self.given, "scope": room.scope(step["person"])}
        lines = [line["text"] for line in load_chat_history(room.key, MOST, **asking)]
        found = synth_core_memory.search_memories(keywords=step["marks"], limit=MOST, **asking)
        return {"lines": lines, "found": [hit["snippet"] for hit in found]}


def step_of(text: Text, do: str) -> dict[str, Any]:
    """Return the step that stores a text, or acts on it."""
    room = text.room
    return {
        "do": do, "room": [room.key, room.privacy, room.server, list(room.people)], "person": text.person,
        "text": text.words, "row": text.row,
    }  # fmt: skip


def main(url: str, folder: str) -> None:
    actor = Actor(url, folder)
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        print(json.dumps(actor.do(json.loads(line))), flush=True)
    actor.db.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
