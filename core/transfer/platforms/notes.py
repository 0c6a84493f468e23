"""What an export keeps beside its chats, as memory items: what another assistant remembered, texts of projects."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

from ...calls.call import Call
from ...memories.rules import DEFAULT_KIND
from ..items.rows import Reading as ItemReading
from ..items.rows import Row
from ..items.storage import Importing, batches
from .values import Note
from .writer import Outcome, Plan

_ROOM = "memories"


def store_notes(call: Call, plan: Plan, outcome: Outcome) -> int:
    """Store the notes of an export, each once, and return how many are new; those not taken go to `outcome`."""
    stored = 0
    ordered = sorted(enumerate(outcome.notes), key=lambda pair: (pair[1][0], pair[1][1].owner.id, pair[0]))
    for (program, owner), group in groupby(ordered, key=lambda pair: (pair[1][0], pair[1][1].owner.id)):
        held = [note for _, (_, note) in group]
        interface = plan.interface_of(program)
        scope = replace(
            call.scope,
            conversation=f"{interface}/{_ROOM}",
            participant=f"{interface}/{owner}",
            privacy="direct",
            server="",
        )
        own = replace(call, scope=scope)
        importing = Importing(own, None, dry_run=False)
        rows = [_row(number, note, program) for number, note in enumerate(held, 1)]
        reading = ItemReading(scope, DEFAULT_KIND, call.db.clock(), call.settings.session_ttl_sec)
        for batch in batches(rows, reading, importing):  # type: ignore[arg-type]
            importing.store(batch)
        result = importing.result("items")
        stored += result.imported
        for problem in result.errors:
            outcome.refuse(held[problem.row - 1].place, problem.reason)
    return stored


def _row(number: int, note: Note, program: str) -> Row:
    value = {"text": note.text, "source": program, "metadata": {**note.metadata, "imported": {"from": program}}}
    if note.at is not None:
        value["timestamp"] = note.at.isoformat()
    return Row(number, None, value)
