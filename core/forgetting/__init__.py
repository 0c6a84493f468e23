"""DOOR: a participant, a conversation or a memory forgotten for good, with everything made of it.

`db.forget` is the same function.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from ..audience import (
    forgotten_late as forgetting_late,
)
from ..audience import (
    table_conversations as conversations,
)
from ..audience import (
    table_participants as participants,
)
from ..base import logs
from ..calls.defaults import handle, scope_for, settings_for
from ..config import Settings
from ..database.engine import Database
from ..errors import MessageError
from ..memories.rules import read_id
from ..scope import Scope
from . import table as forgetting
from . import table_words as forgetting_words
from .reach import empty_caches, rewrite_files, settle
from .table import Done, Target

__all__ = ["Forgotten", "forget"]

LOOKS = 3
"""Times it is looked for what was being written in the meantime."""


class Forgotten(dict[str, int]):
    """Table to rows deleted or changed, every table of the registry, zeros too; beside them what else was done.

    >>> made = Forgotten({"memories": 3, "tags": 0}, operations=2)
    >>> made == {"memories": 3, "tags": 0}, made.total, made.operations
    (True, 3, 2)
    """

    dry_run: bool
    """Nothing was changed; the counts are those of the call without it."""
    operations: int
    """Operations queued to make texts anew without what was forgotten."""
    files: tuple[str, ...]
    """Markdown files that were written anew."""
    out_of_reach: tuple[str, ...]
    """Files that may still hold something of it, each with why; to be deleted by hand."""

    def __init__(
        self,
        counts: Mapping[str, int],
        *,
        dry_run: bool = False,
        operations: int = 0,
        files: tuple[str, ...] = (),
        out_of_reach: tuple[str, ...] = (),
    ) -> None:
        super().__init__(counts)
        self.dry_run = dry_run
        self.operations = operations
        self.files = files
        self.out_of_reach = out_of_reach

    @property
    def total(self) -> int:
        """Rows deleted or changed in all."""
        return sum(self.values())

    def as_dict(self) -> dict[str, Any]:
        """Return the whole result as plain JSON values."""
        return {
            "dry_run": self.dry_run,
            "total": self.total,
            "tables": dict(self),
            "operations": self.operations,
            "files": list(self.files),
            "out_of_reach": list(self.out_of_reach),
        }


def forget(
    *,
    participant: object = None,
    conversation: object = None,
    memory: object = None,
    dry_run: bool = False,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> Forgotten:
    """Delete everything of one participant, conversation or memory, in one transaction, and return the counts.

    Args:
        participant: key `interface/id`: with all linked identities and direct conversations; what others keep stays
            without their name and words.
        conversation: its key: with all that was said in it and made of it.
        memory: id of an item: with its former texts and versions and what was made of it.
        dry_run: count only; the rows are held for as long as it takes.
        scope: its persona; other personas keep their rows.

    Returns:
        Table to rows deleted or changed, every table. All 0: there is nothing of it (any more).

    Raises:
        MessageError: not exactly one of the three, or one that cannot be a key or id.
        StoreWriteError: nothing was changed.
    """
    # 1. what is forgotten
    target = _target(participant, conversation, memory)
    db = handle(db)
    known = settings_for(settings, db)
    persona = scope_for(scope, known).persona
    if dry_run:
        done = forgetting.forget(db, persona, target, dry_run=True)
        return Forgotten(done.counts, dry_run=True, operations=done.operations)
    # 2. the rows, and what was being written of it
    settle(db)
    done = _forget(db, persona, target)
    # 3. what is kept elsewhere
    empty_caches(db, persona, done)
    files = rewrite_files(db, persona, known, done) if sum(done.counts.values()) else None
    rows = {table: count for table, count in done.counts.items() if count}
    logs.event(logging.INFO, "forgotten", kind=target.kind, operations=done.operations, **rows)
    return Forgotten(
        done.counts,
        operations=done.operations,
        files=files.written if files else (),
        out_of_reach=files.out_of_reach if files else (),
    )


def _target(participant: object, conversation: object, memory: object) -> Target:
    """Return what is meant.

    Raises:
        MessageError: as `forget`.
    """
    given = [
        name
        for name, value in (("participant", participant), ("conversation", conversation), ("memory", memory))
        if value is not None
    ]
    if len(given) != 1:
        told = " and ".join(given) if given else "nothing"
        raise MessageError(
            f"{told} was given to forget. Give exactly one of participant, conversation and memory.",
            fields=tuple(given) or ("participant", "conversation", "memory"),
        )
    if participant is not None:
        return Target("participant", participants.checked_key(participant))
    if conversation is not None:
        return Target("conversation", conversations.check_key(conversation))
    return Target("memory", read_id(memory))


def _forget(db: Database, persona: str, target: Target) -> Done:
    """Delete the rows, then what this process was writing when the call came, and return all counts."""
    cutoff = db.ids.one()
    if target.kind == "participant":
        forgetting_late.note(db, persona, cutoff, people=[str(target.key)])
    elif target.kind == "conversation":
        forgetting_late.note(db, persona, cutoff, conversations=[str(target.key)])
    done = forgetting.forget(db, persona, target)
    forgetting_late.note(db, persona, cutoff, people=done.people, conversations=done.conversations)
    words = set(done.words)
    for _ in range(LOOKS if target.kind != "memory" else 0):
        more = forgetting.late(db, persona, target, done.people, cutoff)
        if more is None:
            break
        counts = {table: count + more.counts.get(table, 0) for table, count in done.counts.items()}
        done = done._replace(counts=counts, operations=done.operations + more.operations)
        words |= set(more.words)
    forgetting_words.restore(db, words)
    return done
