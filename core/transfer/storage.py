"""Storing what was found in a file: its messages in their order, in whole transactions, with what lies beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from ..config import Settings
from ..database import readers
from ..database.dialects import from_microseconds
from ..database.engine import Database
from ..errors import MessageError, StoreError, TransferError
from ..messages import (
    new_message as messages,
)
from ..messages import (
    table as chat,
)
from ..messages import (
    table_batches as chat_batches,
)
from ..messages import (
    table_hidden as hidden,
)
from ..scope import Privacy, Scope
from ..shapes import PERSONA_SENDER, WriteResult
from ..stories import table_imported as beside
from ..stories.table_imported import Beside
from ..wishes import recognition as wishing
from . import lines
from .places import Places
from .records import Header, Problem, Reader, Record
from .sillytavern import json_text as tavern_json
from .survey import Survey, each_row, reader_of

BATCH = 500
"""Messages stored in one transaction."""

Progress = Callable[[str, int, int], None]
"""Called with what is being done (`looking` or `storing`), bytes of the file done, and its size."""


class Plan(NamedTuple):
    """How the rows of one file become messages."""

    path: Path
    survey: Survey
    zone: tzinfo
    interface: str
    conversation: str | None
    persona: str | None
    private: bool
    max_bytes: int

    def key_of(self, name: str) -> str:
        """Return the key of a conversation the file names."""
        return self.conversation or f"{self.interface}/{name or _stem(self.path)}"

    def is_persona(self, record: Record) -> bool:
        """Return whether the persona said it: the one named, else whom the file says."""
        return record.speaker == self.persona if self.persona is not None else record.is_persona

    def privacy(self) -> dict[str, Privacy]:
        """Return how private each conversation is; one with a single other participant is a direct message."""
        if not self.private:
            return dict.fromkeys(map(self.key_of, self.survey.conversations), "public")
        together: dict[str, set[str]] = {}
        for name, spoke in self.survey.conversations.items():
            others = spoke if self.persona is None else spoke | self.survey.persona_names
            together.setdefault(self.key_of(name), set()).update(others - {self.persona})
        return {key: "direct" if len(spoke) == 1 else "restricted" for key, spoke in together.items()}


def _stem(path: Path) -> str:
    """Return the file's name without its endings `.gz` and `.jsonl`.

    >>> _stem(Path("chats/Iris - 2024.jsonl.gz"))
    'Iris - 2024'
    """
    name = path.name.removesuffix(".gz")
    return name.rsplit(".", 1)[0] or name


@dataclass(slots=True)
class Outcome:
    """What became of the messages of a file."""

    counts: Counter[str] = field(default_factory=Counter)
    """`stored`, or the reason why not, to how many."""
    refused: list[Problem] = field(default_factory=list)
    """Rows the store refuses."""
    story: Counter[str] = field(default_factory=Counter)
    """What was stored beside messages: `alternatives`, `recaps`, `scenes`, `running_recaps`."""
    wishes: int = 0
    """Wishes recognised in the messages stored."""
    stopped_after_row: int | None = None
    places: list[tuple[int, int]] = field(default_factory=list)
    """(position in the file, row id) of the messages that are stored, where the order of the file is kept."""

    def add(self, batch: Sequence[_Ready], written: Sequence[WriteResult], *, keeps_order: bool) -> None:
        """Count what became of a batch."""
        for each, result in zip(batch, written, strict=True):
            self.counts["stored" if result.stored else result.reason] += 1
            if keeps_order and result.id is not None:
                self.places.append((each.at_index, result.id))
            if result.stored:
                self.story["alternatives"] += len(each.beside.alternatives)
                self.story["recaps"] += each.beside.recap is not None and each.beside.recap.memory is not None
                self.story["scenes"] += each.beside.scene is not None
                self.wishes += len(each.wishes)


class _Ready(NamedTuple):
    """A message that can be stored."""

    message: messages.NewMessage
    beside: Beside
    wishes: chat.Wishes
    row: int
    at_index: int
    """Position in the file, as `Record.index`."""
    position: int
    """Bytes of the file read so far."""


def store(
    plan: Plan,
    db: Database,
    scope: Scope,
    settings: Settings,
    progress: Progress | None,
    should_stop: Callable[[], bool],
) -> Outcome:
    """Store the messages of a file, and return what became of them.

    Raises:
        TransferError: the database failed; names the row after which to go on.
    """
    outcome, row, newest = Outcome(), 0, None
    privacy, total, in_order = plan.privacy(), lines.size_of(plan.path), plan.survey.keeps_order
    reader = reader_of(plan.survey.format, plan.zone)
    reading = _ready(plan, reader, scope, db, settings, outcome.refused)
    try:
        while batch := list(islice(reading, BATCH)):
            if should_stop():
                outcome.stopped_after_row = row
                return outcome
            if in_order:
                batch, newest = _in_order(db, scope, batch, newest)
            told, along = [each.message for each in batch], [each.beside for each in batch]
            written = chat_batches.insert_messages(
                db, scope, told, privacy_default=settings.privacy_default, privacy=privacy, beside=along,
                write_beside=beside.insert_beside, wishes=[each.wishes for each in batch],
            )  # fmt: skip
            outcome.add(batch, written, keeps_order=in_order)
            row = batch[-1].row
            if progress:
                progress("storing", batch[-1].position, total)
        if in_order:
            _keep_conversation(plan, reader, db, scope, outcome)
    except StoreError as error:
        raise TransferError(
            f"{error} {_go_on(row)}" if row else f"{error} Nothing was imported.", row=row or None
        ) from error
    return outcome


def _go_on(row: int) -> str:
    return f"All messages up to row {row} are stored; run the same import again to go on."


def _ready(
    plan: Plan, reader: Reader, scope: Scope, db: Database, settings: Settings, refused: list[Problem]
) -> Iterator[_Ready]:
    """Yield every row that can be stored; rows the store refuses go to `refused`."""
    answering: dict[str, str] = {}
    times = iter(plan.survey.times)
    for record, position in each_row(plan.path, reader, max_bytes=plan.max_bytes):
        if not isinstance(record, Record):
            continue
        settled = next(times, None)
        at = record.time if settled is None else from_microseconds(settled)
        try:
            made = _message(plan, scope, db, record, at, answering)
        except MessageError as error:
            refused.append(Problem(record.row, str(error)))
            continue
        if made is not None:
            wishes = wishing.read_wishes(made.text, settings, role=made.role, excluded=made.excluded)
            yield _Ready(made, record.beside, wishes, record.row, record.index, position)


def _message(
    plan: Plan, scope: Scope, db: Database, record: Record, at: datetime | None, answering: dict[str, str]
) -> messages.NewMessage | None:
    """Return the message of a record. A line of the persona answers whoever spoke before it."""
    key = plan.key_of(record.conversation)
    own = plan.is_persona(record)
    role = "persona" if own and record.role != "thought" else "user" if record.role == "persona" else record.role
    sender = record.speaker if record.speaker != PERSONA_SENDER else f"name:{record.speaker}"
    made = messages.read_message(
        replace(scope, conversation=key, participant=None, privacy=None),
        key,
        record.text,
        now=db.clock(),
        sender_name=record.speaker,
        sender_id=PERSONA_SENDER if own else sender if role == "user" else None,
        timestamp=at,
        metadata=dict(record.metadata) or None,
        message_id=record.message_id,
        role=role,
        triggered_by=answering.get(key) if own else None,
        hidden=record.hidden,
        excluded=record.excluded,
    )
    if made is not None and made.participant:
        answering[key] = made.participant
    return made


def _in_order(
    db: Database, scope: Scope, batch: Sequence[_Ready], newest: datetime | None
) -> tuple[list[_Ready], datetime | None]:
    """Return a batch in which no message is older than the one before it, and the time of the last.

    What is stored already stays as it is: a file that has grown goes on behind it.

    Args:
        newest: time of the message before the batch.
    """
    conversation = batch[0].message.conversation
    ids = [each.message.message_id for each in batch if each.message.message_id is not None]
    stored = beside.read_times(readers.of(db, "chat_history_cache"), scope.persona, conversation, ids)
    made = []
    for each in batch:
        there = stored.get(each.message.message_id or "")
        if there is None and newest is not None and each.message.at < newest:
            each = each._replace(message=replace(each.message, at=newest))  # noqa: PLW2901 - the same one, later
        at = there or each.message.at
        newest = at if newest is None else max(at, newest)
        made.append(each)
    return made, newest


def _keep_conversation(plan: Plan, reader: Reader, db: Database, scope: Scope, outcome: Outcome) -> None:
    """Store what a file says of its conversation: the header's own fields, the versions of the running recap."""
    conversation = plan.key_of("")
    header = reader.header or Header({})
    line = None if reader.header is None else tavern_json.keep(header.line)
    metadata: dict[str, Any] = {} if line is None else {tavern_json.KEY: line}
    metadata |= {tavern_json.AFTER: after} if (after := reader.after()) else {}
    versions = header.versions
    if versions:
        order = hidden.read_rows(readers.of(db, "chat_history_cache"), scope.persona, conversation)
        places = Places.of(outcome.places, [row.row_id for row in order])
        versions = tuple(
            replace(
                version,
                prev_scene_index=places.to_own(version.prev_scene_index),
                new_scene_index=places.to_own(version.new_scene_index),
            )
            for version in versions
        )
    outcome.story["running_recaps"] += db.transaction(
        lambda connection: beside.keep_conversation(
            connection, scope.persona, conversation, metadata or None, versions, header.current
        ),
        source="conversations",
        confirm=lambda _: None,
    )
