"""Storing what the readers give: new lines in whole transactions, edits one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from typing import Any, NamedTuple

from ...calls.call import Call, with_viewer
from ...database.readers import reader_for
from ...errors import MessageError, StoreError, TransferError
from ...forgetting import followers
from ...memories import instructions as standing
from ...messages import new_message, table_alternatives, table_batches, table_known
from ...messages.new_message import NewMessage
from ...messages.table import Instructions
from ...messages.table_known import KnownMessage, Quoted
from ...scope import Privacy, Scope
from ...shapes import PERSONA_SENDER
from ...stories import table_imported
from ...stories.table_imported import Alternative, Beside
from ...text.times import parse_time
from ..records import MESSAGE_ID_BYTES, SPEAKER_BYTES, RefusedError, key_of, said_without_thoughts, text_of
from .finding import Found
from .ids import IdMaker, MadeId, is_of_family, number_of, text_digest
from .renamed import Renamed, find_renamed
from .survey import MAX_LISTED, RoomFacts, Survey
from .values import Fault, Line, Note, Reading, Speaker

BATCH = 500
"""Lines stored in one transaction."""
FACTS = "imported"
"""Key of a message's metadata: which program it came from, and which text and edit of it."""
_MOST_INSTRUCTIONS = 50
_QUOTE_CHARS = 2000

Progress = Callable[[str, int, int], None]
"""Called with what is being done, the lines done, and how many there are; 0 for not known."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How the lines of an export become messages."""

    survey: Survey
    interface: str | None
    """First part of the conversation keys; None is the name of the program."""
    conversation: str | None
    persona: str | None
    """Id of the speaker who is the persona; None follows the format."""
    private: bool
    server: str
    renamed: Renamed = field(default_factory=Renamed)

    def interface_of(self, program: str) -> str:
        """Return the first part of the keys of a program's conversations."""
        return self.interface or program

    def key_of(self, program: str, room_id: str) -> str:
        """Return the key of a conversation."""
        known = self.renamed.keys.get((program, room_id))
        return self.conversation or known or f"{self.interface_of(program)}/{room_id}"

    def sender_of(self, program: str, room_id: str, speaker: str) -> str:
        """Return the id under which a speaker's lines are stored."""
        return self.renamed.senders.get((program, room_id, speaker), speaker)

    def id_of(self, line: Line, message_id: str) -> str:
        """Return the id of a message; where several chats become one they are told apart."""
        is_one = self.conversation is not None and len(self.survey.rooms) > 1
        return f"{line.room.id}:{message_id}" if is_one else message_id

    def is_persona(self, speaker: Speaker) -> bool:
        """Return whether somebody is the persona: who was named, else whom the format says."""
        return speaker.is_assistant if self.persona is None else speaker.id == self.persona

    def privacy_of(self, facts: RoomFacts) -> Privacy:
        """Return how private a conversation is; one with a single other person is a direct message."""
        if facts.room.privacy == "public" and not self.private:
            return "public"
        others = facts.people if self.persona is None else facts.people | facts.assistants
        is_direct = facts.room.privacy == "direct" and len(others - {self.persona}) <= 1
        return "direct" if is_direct else "restricted"

    def privacies(self) -> dict[str, Privacy]:
        """Return how private each conversation is, the most private of those that become one."""
        ranks: list[Privacy] = ["public", "direct", "restricted"]
        made: dict[str, Privacy] = {}
        for (program, room_id), facts in self.survey.rooms.items():
            key, privacy = self.key_of(program, room_id), self.privacy_of(facts)
            made[key] = max(made.get(key, privacy), privacy, key=ranks.index)
        return made

    def server_of(self, line: Line) -> str:
        """Return the server of a line's conversation: the one asked for, else the export's own."""
        return self.server or line.room.server


@dataclass(slots=True)
class Outcome:
    """What became of an export."""

    counts: Counter[str] = field(default_factory=Counter)
    """`stored`, `edited`, `service`, or the reason why not, to how many."""
    refused: list[Fault] = field(default_factory=list)
    refused_count: int = 0
    alternatives: int = 0
    instructions: int = 0
    instruction_texts: list[tuple[str, str]] = field(default_factory=list)
    """(who, their standing instruction), the first 50."""
    notes: list[tuple[str, Note]] = field(default_factory=list)
    """What is to be kept beside messages, with the program it is of."""
    stopped_after: int | None = None

    def refuse(self, place: str, reason: str) -> None:
        """List a line that the store does not take."""
        self.refused_count += 1
        if len(self.refused) < MAX_LISTED:
            self.refused.append(Fault(place, reason))


class _Ready(NamedTuple):
    """A line that can be stored."""

    line: Line
    message: NewMessage
    family: str
    """Of an id that was made; blank for one of the export's own."""
    program: str

    @property
    def key(self) -> str:
        return self.message.conversation

    @property
    def id(self) -> str:
        return self.message.message_id or ""


class _Edit(NamedTuple):
    known: KnownMessage
    ready: _Ready
    facts: Mapping[str, Any]


def store_export(
    call: Call, found: Found, reading: Reading, plan: Plan, progress: Progress | None, should_stop: Callable[[], bool]
) -> Outcome:
    """Store the lines of an export, and return what became of them."""
    outcome, done = Outcome(), 0
    for room, facts in plan.survey.rooms.items():
        if facts.first_lines and plan.conversation is None:
            find_renamed(call, plan.interface_of(facts.program), room, facts, plan.renamed)
    privacies, total = plan.privacies(), plan.survey.all_lines
    reading_on = _read_lines(call, found, reading, plan, outcome)
    try:
        while batch := list(islice(reading_on, BATCH)):
            if should_stop():
                outcome.stopped_after = done
                return outcome
            _store_batch(call, plan, batch, privacies, outcome)
            done += len(batch)
            if progress:
                progress("storing", done, total)
    except StoreError as error:
        where = f"{done} lines are stored; run the same import again to go on." if done else "Nothing was imported."
        raise TransferError(f"{error} {where}", row=done or None) from error
    return outcome


# From lines to messages


def _read_lines(call: Call, found: Found, reading: Reading, plan: Plan, outcome: Outcome) -> Iterator[_Ready]:
    """Yield every line that can be stored; what cannot goes to `outcome`."""
    maker = IdMaker()
    answering: dict[str, str] = {}
    for program, read in found.read(reading):
        if isinstance(read, Note):
            outcome.notes.append((program, read))
        if not isinstance(read, Line):
            continue
        made = MadeId(read.id, "") if read.id else maker.make(read)
        try:
            message = _read_message(call, plan, program, read, made.id, answering)
        except (MessageError, RefusedError) as error:
            outcome.refuse(read.place, str(error).rstrip("."))
            continue
        if message is not None:
            yield _Ready(read, message, made.family, program)


def _read_message(
    call: Call, plan: Plan, program: str, line: Line, message_id: str, answering: dict[str, str]
) -> NewMessage | None:
    """Return the message of a line. A line of the persona answers whoever spoke before it."""
    key, who = plan.key_of(program, line.room.id), line.speaker
    text = text_of(line.text, "text")
    own = who is not None and not line.is_service and plan.is_persona(who)
    sender = None
    if who is not None and not line.is_service:
        stored_as = plan.sender_of(program, line.room.id, who.id)
        sender = PERSONA_SENDER if own else key_of(stored_as, "the speaker's id", SPEAKER_BYTES)
        sender = f"name:{sender}" if sender == PERSONA_SENDER and not own else sender
    text = said_without_thoughts(text) if own else text
    facts: dict[str, Any] = {"from": program, "text": text_digest(text)}
    if line.edited is not None:
        facts["edited"] = line.edited.isoformat()
    if len(line.versions) > 1:
        facts["versions"] = len(line.versions)
    metadata = {**line.metadata, FACTS: facts}
    if who is not None and not own and (who.is_bot or who.is_assistant):
        metadata["bot"] = True
    if line.is_service:
        metadata["service"] = True
    if line.reply_to:
        metadata["reply_to"] = {"message_id": plan.id_of(line, line.reply_to)}
    message = new_message.read_message(
        replace(call.scope, conversation=key, participant=None, privacy=None),
        key,
        text,
        now=call.db.clock(),
        sender_name=who.name if who else None,
        sender_id=sender,
        timestamp=line.at,
        metadata=metadata,
        message_id=key_of(plan.id_of(line, message_id), "id", MESSAGE_ID_BYTES),
        role="system" if line.is_service else "persona" if own else "user",
        triggered_by=answering.get(key) if own else None,
        title=line.room.title or None,
        hidden=line.is_service,
        excluded=line.is_service,  # no recap is made of it
    )
    if message is not None and message.participant and "bot" not in metadata:
        answering[key] = message.participant
    return message


# Storing


def _store_batch(
    call: Call, plan: Plan, batch: Sequence[_Ready], privacies: Mapping[str, Privacy], outcome: Outcome
) -> None:
    """Store what is new of a batch, then what was edited."""
    new: list[_Ready] = []
    edits: list[_Edit] = []
    by_key: dict[str, list[_Ready]] = {}
    for ready in batch:
        by_key.setdefault(ready.key, []).append(ready)
    for key, lines in by_key.items():
        fresh, changed = _sort_lines(call, plan, key, lines, outcome)
        new += _with_quotes(call, key, fresh, lines)
        edits += changed
    _insert(call, plan, new, privacies, outcome)
    for edit in edits:
        _change(call, edit, outcome)


def _sort_lines(
    call: Call, plan: Plan, key: str, lines: Sequence[_Ready], outcome: Outcome
) -> tuple[list[_Ready], list[_Edit]]:
    """Return what is new of one conversation, and what was edited; what is there as it is counts as there."""
    reader = reader_for(call.db, "chat_history_cache")
    others = {version.id: ready for ready in lines for version in ready.line.versions}
    ids = {ready.id for ready in lines} | {plan.id_of(ready.line, each) for each, ready in others.items()}
    known = table_known.read_by_ids(reader, call.persona, key, ids)
    new: list[_Ready] = []
    edits: list[_Edit] = []
    for ready in lines:
        names = (ready.id, *(plan.id_of(ready.line, version.id) for version in ready.line.versions))
        there = next((known[name] for name in names if name in known), None)
        if there is None:
            new.append(ready)
        elif (facts := _newer(there, ready)) is not None:
            edits.append(_Edit(there, ready, facts))
        elif not ready.line.is_service:
            outcome.counts["duplicate"] += 1
    made = [ready for ready in new if ready.family]
    if made:
        replaced = _find_replaced(call, plan, key, made)
        edits += [_Edit(there, ready, _facts(ready)) for ready, there in replaced]
        gone = {id(ready) for ready, _ in replaced}
        new = [ready for ready in new if id(ready) not in gone]
    return new, edits


def _facts(ready: _Ready) -> Mapping[str, Any]:
    return dict(ready.message.metadata[FACTS])


def _newer(there: KnownMessage, ready: _Ready) -> Mapping[str, Any] | None:
    """Return the facts of a line that says more than what is stored of it, None where it does not."""
    facts, before = _facts(ready), there.metadata.get(FACTS)
    if not isinstance(before, Mapping):  # a message that was said here, of the same platform
        is_same = there.digest == ready.message.digest
        is_later = ready.line.edited is not None and (there.edited_at is None or ready.line.edited > there.edited_at)
        return None if is_same or not is_later else facts
    if before.get("text") == facts["text"]:
        return facts if facts.get("versions", 0) > before.get("versions", 0) else None
    last = parse_time(before["edited"]) if isinstance(before.get("edited"), str) else None
    if last is not None and (ready.line.edited is None or ready.line.edited < last):
        return None  # an older export
    return facts


def _find_replaced(call: Call, plan: Plan, key: str, made: Sequence[_Ready]) -> list[tuple[_Ready, KnownMessage]]:
    """Return lines without an id of their own that stand where another stood that is in the export no more."""
    reader = reader_for(call.db, "chat_history_cache")
    there = table_known.read_by_times(reader, call.persona, key, {ready.message.at for ready in made})
    replaced = []
    for ready in made:
        for known in there:
            plain = (known.message_id or "").removeprefix(f"{ready.line.room.id}:")
            is_same = is_of_family(plain, ready.family) and known.sender_id == ready.message.sender_id
            if is_same and number_of(plain) not in plan.survey.made:
                replaced.append((ready, known))
                there.remove(known)
                break
    return replaced


def _with_quotes(call: Call, key: str, new: Sequence[_Ready], lines: Sequence[_Ready]) -> list[_Ready]:
    """Return lines that answer others with what these say, as far as that is known."""
    if not any(ready.line.reply_to for ready in new):
        return list(new)
    quoted = {each.id: Quoted(each.id, each.message.sender_name, each.message.text, each.message.at) for each in lines}
    wanted = {ready.message.metadata["reply_to"]["message_id"] for ready in new if ready.line.reply_to} - quoted.keys()
    if wanted:
        quoted |= table_known.read_quoted(reader_for(call.db, "chat_history_cache"), call.persona, key, wanted)
    return [_with_quote(ready, quoted) for ready in new]


def _with_quote(ready: _Ready, quoted: Mapping[str, Quoted]) -> _Ready:
    told = quoted.get(ready.message.metadata["reply_to"]["message_id"]) if ready.line.reply_to else None
    if told is None or told.message_id == ready.id:
        return ready
    reply = {"message_id": told.message_id, "username": told.sender_name, "text": told.text[:_QUOTE_CHARS],
             "timestamp": told.at.isoformat()}  # fmt: skip
    return ready._replace(message=replace(ready.message, metadata={**ready.message.metadata, "reply_to": reply}))


def _insert(call: Call, plan: Plan, new: Sequence[_Ready], privacies: Mapping[str, Privacy], outcome: Outcome) -> None:
    order = sorted(range(len(new)), key=lambda at: (plan.server_of(new[at].line), at))
    for server, group in groupby(order, key=lambda at: plan.server_of(new[at].line)):
        part = [new[at] for at in group]
        instructions = [_instructions(call, ready) for ready in part]
        scope: Scope = replace(call.scope, server=server)
        written = table_batches.insert_messages(
            call.db, scope, [ready.message for ready in part], privacy_default=call.settings.privacy_default,
            privacy=privacies, beside=[_beside(ready.line) for ready in part],
            write_beside=table_imported.insert_beside, instructions=instructions,
        )  # fmt: skip
        for ready, result, found in zip(part, written, instructions, strict=True):
            if not result.stored:
                outcome.counts[result.reason] += 1
                continue
            outcome.counts["service" if ready.line.is_service else "stored"] += 1
            outcome.alternatives += len(ready.line.versions)
            outcome.instructions += len(found)
            for instruction, _ in found[: max(0, _MOST_INSTRUCTIONS - len(outcome.instruction_texts))]:
                outcome.instruction_texts.append((ready.message.sender_name, instruction.text))


def _instructions(call: Call, ready: _Ready) -> Instructions:
    """Return the standing instructions of a person; a program has none."""
    message = ready.message
    if ready.line.is_service or "bot" in message.metadata or "forwarded" in message.metadata:
        return ()
    return standing.read_instructions(message.text, call.settings, role=message.role, excluded=message.excluded)


def _beside(line: Line) -> Beside:
    """Return the versions of a line as alternatives of the message."""
    shown = next((version.id for version in line.versions if version.text == line.text and version.id == line.id), "")
    return Beside(
        alternatives=tuple(
            Alternative(number, version.text, version.id == shown, {"id": version.id[:191]})
            for number, version in enumerate(line.versions)
        )
    )


# Edits


def _change(call: Call, edit: _Edit, outcome: Outcome) -> None:
    """Give a stored message the text it has in the export now, and its other versions."""
    known, ready = edit.known, edit.ready
    message = ready.message
    if ready.line.versions:
        _add_versions(call, known.id, ready.line)
    viewer = with_viewer(call).viewer
    assert viewer is not None
    # What stands in the file was read by who may write there, whatever else that scope sees.
    viewer = replace(viewer, audiences=(known.audience_id,))
    result = followers.edit_message(call, viewer, ready.key, known.id, message.text)
    if result.reason == "privacy":
        outcome.counts["privacy"] += 1
        return
    kept = {**known.metadata, **message.metadata}
    if "reply_to" in known.metadata:
        kept["reply_to"] = known.metadata["reply_to"]
    call.db.repeat(
        lambda connection: table_known.update_facts(connection, call.persona, known.id, ready.id, kept),
        source="chat_history_cache",
    )
    outcome.counts["edited"] += 1


def _add_versions(call: Call, row_id: int, line: Line) -> None:
    """Add the versions of a line that are not stored, behind those that are, and make the shown one current."""
    there = table_alternatives.read_alternatives(reader_for(call.db, "message_alternatives"), call.persona, row_id)
    texts = {each.text: each.number for each in there}
    free = max((each.number for each in there), default=-1) + 1
    added = []
    for version in line.versions:
        if version.text not in texts:
            texts[version.text] = free
            added.append(table_alternatives.Alternative(free, version.text, metadata={"id": version.id[:191]}))
            free += 1

    def work(connection: Any) -> None:
        table_alternatives.insert_alternatives(connection, call.persona, row_id, added)
        if line.text in texts:
            table_alternatives.set_current(connection, call.persona, row_id, texts[line.text])

    call.db.transaction(work, source="message_alternatives")
