"""What chat files keep beside their messages: header and running recap of a chat, memories of another program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from ..calls.call import Call
from ..database.readers import reader_for
from ..memories.rules import DEFAULT_KIND
from ..messages import table_hidden
from ..stories import table_imported
from ..stories.recaps import rules as recap_rules
from .formats.sillytavern import json_text
from .formats.sillytavern.header import Places
from .items.rows import Reading, Row
from .items.storage import Importing, batches
from .plan import Outcome, Plan
from .shapes import Ending, Fault, Header, Note

_NOTES_ROOM = "memories"


def store_ending(call: Call, conversation: str, ending: Ending, outcome: Outcome) -> None:
    """Store what a file says of its conversation: the header's own fields, the versions of the running recap."""
    header = ending.header or Header({})
    line = None if ending.header is None else json_text.keep(header.line)
    metadata: dict[str, Any] = {} if line is None else {json_text.KEY: line}
    metadata |= json_text.style_facts(header.style)
    metadata |= {json_text.AFTER: list(ending.after)} if ending.after else {}
    versions, scenes = header.versions, outcome.story["scenes"]
    reader = reader_for(call.db, "chat_history_cache")
    order = table_hidden.read_rows(reader, call.persona, conversation) if versions or scenes else []
    if scenes:
        _give_to_scenes(call, conversation, order, table_hidden.read_breaks(reader, call.persona, conversation))
    if versions:
        places = Places.build(outcome.places.get(conversation, ()), [row.row_id for row in order])
        versions = tuple(
            replace(
                version,
                prev_scene_index=places.to_own(version.prev_scene_index),
                new_scene_index=places.to_own(version.new_scene_index),
            )
            for version in versions
        )
    outcome.story["running_recaps"] += call.db.repeat(
        lambda connection: table_imported.keep_conversation(
            connection, call.persona, conversation, metadata or None, versions, header.current
        ),
        source="conversations",
    )


def _give_to_scenes(
    call: Call, conversation: str, order: Sequence[table_hidden.Row], breaks: Sequence[table_hidden.Place]
) -> None:
    """Leave to the scenes what they had hidden in the file: all of it, up to one of their breaks."""
    at = {row.place: index for index, row in enumerate(order)}
    last = recap_rules.last_hidden_scene([at[place] for place in breaks if place in at], [row.hidden for row in order])
    if last is not None:
        call.db.repeat(
            lambda connection: table_hidden.give_to_scenes(connection, call.persona, conversation, order[last].place),
            source="chat_history_cache",
        )


def store_notes(call: Call, plan: Plan, outcome: Outcome) -> int:
    """Store the notes of an export as memories, each once, and return how many are new."""
    stored = 0
    ordered = sorted(enumerate(outcome.notes), key=lambda pair: (pair[1][0], pair[1][1].owner.id, pair[0]))
    for (program, owner), group in groupby(ordered, key=lambda pair: (pair[1][0], pair[1][1].owner.id)):
        held = [note for _, (_, note) in group]
        interface = plan.interface_of(program)
        scope = replace(
            call.scope, conversation=f"{interface}/{_NOTES_ROOM}", participant=f"{interface}/{owner}", privacy="direct",
            server="",
        )  # fmt: skip
        importing = Importing(replace(call, scope=scope), None, dry_run=False)
        rows = [_note_row(number, note, program) for number, note in enumerate(held, 1)]
        reading = Reading(scope, DEFAULT_KIND, call.db.clock(), call.settings.session_ttl_sec)
        for batch in batches(rows, reading, importing):
            importing.store(batch)
        result = importing.result("items")
        stored += result.imported
        for problem in result.errors:
            outcome.refuse(Fault(held[problem.row - 1].place, problem.reason))
    return stored


def _note_row(number: int, note: Note, program: str) -> Row:
    value = {"text": note.text, "source": program, "metadata": {**note.metadata, "imported": {"from": program}}}
    if note.at is not None:
        value["timestamp"] = note.at.isoformat()
    return Row(number, None, value)
