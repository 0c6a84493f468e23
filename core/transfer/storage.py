"""Storing what was found in a file: its messages in their order, in whole transactions, with what lies beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from ..calls.call import Call
from ..database.dialects import from_microseconds
from ..database.readers import reader_for
from ..errors import MessageError, StoreError, TransferError
from ..memories import instructions as standing
from ..messages import new_message, table_batches, table_hidden
from ..messages.new_message import NewMessage
from ..messages.table import Instructions
from ..messages.table_hidden import Place, Row
from ..scope import Privacy, Scope
from ..shapes import PERSONA_SENDER, WriteResult
from ..stories import table_imported
from ..stories.recaps import rules as recap_rules
from ..stories.table_imported import Beside
from . import lines
from .places import Places
from .records import Header, Problem, Reader, Record, said_without_thoughts
from .sillytavern import json_text
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
        return record.speaker in self.persona_names and (record.is_persona or self.persona is not None)

    @property
    def persona_names(self) -> set[str]:
        """Return the names of the persona: the one asked for; else of the file, in a group that of its header alone."""
        told = self.survey.persona_names
        if self.persona is not None:
            return {self.persona}
        return told if len(told) == 1 else told & {self.survey.character}

    def privacy(self) -> dict[str, Privacy]:
        """Return how private each conversation is; one with a single other participant is a direct message."""
        if not self.private:
            return dict.fromkeys(map(self.key_of, self.survey.conversations), "public")
        together: dict[str, set[str]] = {}
        for name, spoke in self.survey.conversations.items():
            together.setdefault(self.key_of(name), set()).update(
                (spoke | self.survey.persona_names) - self.persona_names
            )
        return {key: "direct" if len(spoke) == 1 else "restricted" for key, spoke in together.items()}


def _stem(path: Path) -> str:
    """Return the file's name without its endings `.gz` and `.jsonl`."""
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
    instructions: int = 0
    """Standing instructions recognised in the messages stored."""
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
                self.instructions += len(each.instructions)


class _Ready(NamedTuple):
    """A message that can be stored."""

    message: NewMessage
    beside: Beside
    instructions: Instructions
    row: int
    at_index: int
    """Position in the file, as `Record.index`."""
    position: int
    """Bytes of the file read so far."""


def store_messages(call: Call, plan: Plan, progress: Progress | None, should_stop: Callable[[], bool]) -> Outcome:
    """Store the messages of a file, and return what became of them."""
    outcome, row, newest = Outcome(), 0, None
    privacy, total, in_order = plan.privacy(), lines.size_of(plan.path), plan.survey.keeps_order
    reader = reader_of(plan.survey.format, plan.zone)
    reading = _read_messages(call, plan, reader, outcome.refused)
    try:
        while batch := list(islice(reading, BATCH)):
            if should_stop():
                outcome.stopped_after_row = row
                return outcome
            if in_order:
                batch, newest = _put_in_order(call, batch, newest)
            told, along = [each.message for each in batch], [each.beside for each in batch]
            written = table_batches.insert_messages(
                call.db, call.scope, told, privacy_default=call.settings.privacy_default, privacy=privacy, beside=along,
                write_beside=table_imported.insert_beside, instructions=[each.instructions for each in batch],
            )  # fmt: skip
            outcome.add(batch, written, keeps_order=in_order)
            row = batch[-1].row
            if progress:
                progress("storing", batch[-1].position, total)
        if in_order:
            _store_conversation(call, plan, reader, outcome)
    except StoreError as error:
        raise TransferError(
            f"{error} {_go_on(row)}" if row else f"{error} Nothing was imported.", row=row or None
        ) from error
    return outcome


def _go_on(row: int) -> str:
    return f"All messages up to row {row} are stored; run the same import again to go on."


def _read_messages(call: Call, plan: Plan, reader: Reader, refused: list[Problem]) -> Iterator[_Ready]:
    """Yield every row that can be stored; rows the store refuses go to `refused`."""
    answering: dict[str, str] = {}
    scopes: dict[str, Scope] = {}
    times = iter(plan.survey.times)
    for record, position in each_row(plan.path, reader, max_bytes=plan.max_bytes):
        if not isinstance(record, Record):
            continue
        settled = next(times, None)
        at = record.time if settled is None else from_microseconds(settled)
        try:
            made = _read_message(call, plan, record, at, answering, scopes)
        except MessageError as error:
            refused.append(Problem(record.row, str(error)))
            continue
        if made is not None:
            is_bot = "bot" in (made.metadata or {})
            told = "" if is_bot else made.text
            instructions = standing.read_instructions(told, call.settings, role=made.role, excluded=made.excluded)
            yield _Ready(made, record.beside, instructions, record.row, record.index, position)


def _read_message(
    call: Call, plan: Plan, record: Record, at: datetime | None, answering: dict[str, str], scopes: dict[str, Scope]
) -> NewMessage | None:
    """Return the message of a record. A line of the persona answers whoever spoke before it."""
    key = plan.key_of(record.conversation)
    if key not in scopes:
        scopes[key] = replace(call.scope, conversation=key, participant=None, privacy=None)
    own = plan.is_persona(record)
    role = "persona" if own and record.role != "thought" else "user" if record.role == "persona" else record.role
    is_other = record.is_persona and not own  # another character of a group
    sender = record.speaker if record.speaker != PERSONA_SENDER else f"name:{record.speaker}"
    made = new_message.read_message(
        scopes[key],
        key,
        said_without_thoughts(record.text) if own else record.text,
        now=call.db.clock(),
        sender_name=record.speaker,
        sender_id=PERSONA_SENDER if own else sender if role == "user" else None,
        timestamp=at,
        metadata=({**record.metadata, "bot": True} if is_other else dict(record.metadata)) or None,
        message_id=record.message_id,
        role=role,
        triggered_by=answering.get(key) if own else None,
        hidden=record.hidden,
        excluded=record.excluded,
    )
    if made is not None and made.participant and not is_other:
        answering[key] = made.participant
    return made


def _put_in_order(call: Call, batch: Sequence[_Ready], newest: datetime | None) -> tuple[list[_Ready], datetime | None]:
    """Return a batch in which no message is older than the one before it, and the time of the last."""
    conversation = batch[0].message.conversation
    ids = [each.message.message_id for each in batch if each.message.message_id is not None]
    stored = table_imported.read_times(reader_for(call.db, "chat_history_cache"), call.persona, conversation, ids)
    made = []
    for each in batch:
        there = stored.get(each.message.message_id or "")
        if there is None and newest is not None and each.message.at < newest:
            each = each._replace(message=replace(each.message, at=newest))  # noqa: PLW2901 - the same one, later
        at = there or each.message.at
        newest = at if newest is None else max(at, newest)
        made.append(each)
    return made, newest


def _store_conversation(call: Call, plan: Plan, reader: Reader, outcome: Outcome) -> None:
    """Store what a file says of its conversation: the header's own fields, the versions of the running recap."""
    conversation = plan.key_of("")
    header = reader.header or Header({})
    line = None if reader.header is None else json_text.keep(header.line)
    metadata: dict[str, Any] = {} if line is None else {json_text.KEY: line}
    metadata |= json_text.style_facts(header.style)
    metadata |= {json_text.AFTER: after} if (after := reader.after()) else {}
    versions, scenes = header.versions, outcome.story["scenes"]
    reading = reader_for(call.db, "chat_history_cache")
    order = table_hidden.read_rows(reading, call.persona, conversation) if versions or scenes else []
    if scenes:
        _give_to_scenes(call, conversation, order, table_hidden.read_breaks(reading, call.persona, conversation))
    if versions:
        places = Places.of(outcome.places, [row.row_id for row in order])
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


def _give_to_scenes(call: Call, conversation: str, order: Sequence[Row], breaks: Sequence[Place]) -> None:
    """Leave to the scenes what they had hidden in the file: all of it, up to one of their breaks."""
    at = {row.place: index for index, row in enumerate(order)}
    last = recap_rules.last_hidden_scene([at[place] for place in breaks if place in at], [row.hidden for row in order])
    if last is not None:
        call.db.repeat(
            lambda connection: table_hidden.give_to_scenes(connection, call.persona, conversation, order[last].place),
            source="chat_history_cache",
        )
