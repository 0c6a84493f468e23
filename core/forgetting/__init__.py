"""Delete a participant, a conversation, a server or a memory for good, with everything made from it.

`db.forget` is the same function. This module also empties the caches of this process; other processes notice by version
numbers in the database at each read.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from ..access import table_participants, tombstones
from ..access.rules import check_key
from ..base import logs
from ..base.hints import shown
from ..base.text_caches import forget_texts
from ..calls.call import Call, CallOptions, find_key, open_call
from ..conversations import memory_files
from ..database.rows import yes_no
from ..errors import MessageError
from ..index.entries import HELD
from ..memories import shown_texts
from ..memories.rules import read_id
from ..scope import KEY_BYTES, key_text
from ..tags import table as tags_table
from . import table
from .table import Done

__all__ = ["Forgotten", "forget"]

LOOKS = 3
"""Maximum number of searches for rows that other writers were storing during the call."""


class Forgotten(dict[str, int]):
    """Number of rows deleted or changed, by table; 0 for tables without such rows. Attributes hold further results.

    >>> made = Forgotten({"memories": 3, "tags": 0}, operations=2)
    >>> made == {"memories": 3, "tags": 0}, made.total, made.operations
    (True, 3, 2)
    """

    dry_run: bool
    """Whether nothing was changed; the same call without `dry_run` returns the same counts."""
    operations: int
    """Number of queued operations that write texts again without the forgotten rows."""
    files: tuple[str, ...]
    """Paths of the Markdown files that were rewritten."""
    out_of_reach: tuple[str, ...]
    """Files that may still hold forgotten texts, with the reason; delete them by hand."""

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
        """Return the number of rows deleted or changed."""
        return sum(self.values())

    def as_dict(self) -> dict[str, Any]:
        """Return the whole result as plain JSON values."""
        return {
            "dry_run": self.dry_run, "total": self.total, "tables": dict(self), "operations": self.operations,
            "files": list(self.files), "out_of_reach": list(self.out_of_reach),
        }  # fmt: skip


def forget(
    *unnamed: object,
    participant: object = None,
    conversation: object = None,
    memory: object = None,
    server: object = None,
    dry_run: bool = False,
    **options: Unpack[CallOptions],
) -> Forgotten:
    """Delete everything stored about one participant, conversation, memory or server, in one transaction.

    Rows that other writers stored meanwhile are deleted in up to three further transactions.

    Args:
        participant: key `interface/id`, with all linked identities and direct conversations. An id without interface
            selects the rows of turns that had no interface.
        conversation: key `interface/chat[/thread]`, with all its messages and everything made from them.
        memory: id of an item, with its previous texts and versions and everything made from it.
        server: id of a server, with all its conversations.
        dry_run: count only.

    Returns:
        Number of rows deleted or changed, for every table; all 0 if nothing is stored under the key.

    Raises:
        MessageError: not exactly one of the four is named; or an id without interface has no rows, but somebody on an
            interface has this id.

    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.conversations import add_saved_memory
    >>> from prompt_engine.db import forget
    >>> db, scope = open_database("sqlite://"), Scope("iris", "tg/42", "tg/7")
    >>> _ = add_saved_memory("Ann likes tea", db=db, scope=scope)
    >>> forget(participant="tg/7", dry_run=True, db=db, scope=scope)["memories"]
    1
    """
    # 1. the target
    dry_run = bool(yes_no(dry_run, "dry_run"))
    call = open_call(**options)
    kind, key = _read_target(call, participant, conversation, memory, server, unnamed=unnamed)
    is_bare = kind == "participant" and "/" not in str(key)
    if dry_run or is_bare:
        counted = table.forget_target(call.db, call.persona, kind, key, dry_run=True)
        if is_bare and not any(counted.counts.values()) and table.is_on_interface(call.db, call.persona, str(key)):
            raise MessageError(
                f"participant is {key!r}, an id without its interface, and nothing is stored under it alone. "
                f"Write it as interface/id, such as {f'web/{key}'!r}.",
                fields=("participant",),
            )
        if dry_run:
            return Forgotten(counted.counts, dry_run=True, operations=counted.operations)
    # 2. its rows, and rows that other writers are storing
    done = _delete_rows(call, kind, key)
    # 3. caches and files
    shown_texts.forget_turns(call.db, call.persona, done.shown)
    call.db.caches.get(tags_table.CACHE, {}).pop(call.persona, None)
    call.db.caches.pop(HELD, None)
    forget_texts()
    written: list[str] = []
    out_of_reach: list[str] = []
    if any(done.counts.values()):
        owner = done.owner
        written, out_of_reach = memory_files.rewrite_files(call, owner.person.keys, owner.conversations)
    left = (*out_of_reach, *call.db.empty_journal())
    rows = {name: count for name, count in done.counts.items() if count}
    logs.event(logging.INFO, "forgotten", kind=kind, operations=done.operations, **rows)
    return Forgotten(done.counts, operations=done.operations, files=tuple(written), out_of_reach=left)


def _read_target(
    call: Call, participant: object, conversation: object, memory: object, server: object, *, unnamed: Sequence[object]
) -> tuple[str, str | int]:
    """Return (kind, key) of the target: its kind is participant, conversation, memory or server."""
    if unnamed:
        value = shown(unnamed[0])
        raise MessageError(
            f"forget({value}) does not say what {value} is. Write forget(participant={value}), or name it "
            "conversation, memory or server.",
            fields=("participant", "conversation", "memory", "server"),
        )
    given = {"participant": participant, "conversation": conversation, "memory": memory, "server": server}
    names = [name for name, value in given.items() if value is not None]
    if len(names) != 1:
        raise MessageError(
            f"{' and '.join(names) or 'nothing'} was given to forget. "
            "Give exactly one of participant, conversation, memory and server.",
            fields=tuple(names or given),
        )
    if participant is not None:
        return "participant", table_participants.checked_key(participant)
    if conversation is not None:
        return "conversation", check_key(find_key(call, conversation))
    if server is not None:
        return "server", key_text(server, "server", KEY_BYTES["server"], required=True)
    return "memory", read_id(memory)


def _delete_rows(call: Call, kind: str, key: str | int) -> Done:
    """Delete the target's rows, then the rows that other writers stored meanwhile; return the sums of all counts."""
    db, persona, cutoff = call.db, call.persona, call.db.ids.one()
    if kind == "participant":
        tombstones.note(db, persona, cutoff, people=[str(key)])
    elif kind == "conversation":
        tombstones.note(db, persona, cutoff, conversations=[str(key)])
    done = table.forget_target(db, persona, kind, key)
    tombstones.note(db, persona, cutoff, people=done.owner.person.keys, conversations=done.owner.conversations)
    for _ in range(LOOKS if kind != "memory" else 0):
        late = table.forget_late(db, persona, done.owner, cutoff)
        if not any(late.counts.values()):
            break
        counts = {name: count + late.counts[name] for name, count in done.counts.items()}
        done = done._replace(counts=counts, operations=done.operations + late.operations, shown=done.shown | late.shown)
    return done
