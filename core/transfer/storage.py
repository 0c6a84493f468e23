"""Stores what the readers of chat files give: new lines in whole transactions, edits one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby, islice
from typing import Any, NamedTuple

from ..access.table_rooms import resolve_scope
from ..calls.call import Call, with_viewer
from ..database.dialects import from_microseconds
from ..database.readers import reader_for
from ..errors import MessageError, StoreError, TransferError
from ..forgetting import followers
from ..memories import instructions as standing
from ..memories.rules import DEFAULT_KIND
from ..messages import new_message, table_alternatives, table_batches, table_hidden, table_known
from ..messages.new_message import NewMessage
from ..messages.table import Instructions
from ..messages.table_known import KnownMessage, Quoted
from ..scope import Privacy, Scope
from ..shapes import PERSONA_SENDER, Role
from ..stories import rules_recaps, table_imported
from ..stories.table_imported import NOTHING, Alternative, Beside
from ..text.times import parse_time
from .fields import MESSAGE_ID_BYTES, SPEAKER_BYTES, RefusedError, key_of, said_without_thoughts, text_of
from .formats import ChatFiles
from .formats.sillytavern import json_text
from .formats.sillytavern.header import Places
from .ids import IdMaker, MadeId, is_of_family, number_of, text_digest
from .items.formats import Row
from .items.storage import ItemDefaults, ItemWriter
from .shapes import Ending, Fault, Header, Line, Note, Reading
from .survey import MAX_LISTED, Plan, RoomFacts

BATCH = 500
"""Lines stored in one transaction."""
FACTS = "imported"
"""Key of a message's metadata: which program it came from, and which text and edit of it."""
_MOST_INSTRUCTIONS = 50
_QUOTE_CHARS = 2000
_FEWEST_RENAMED = 2
"""Lines of two chats that are the same by chance are fewer."""

Progress = Callable[[str, int, int], None]
"""Called with what is being done, the lines done, and how many there are; 0 for not known."""


@dataclass(slots=True)
class Outcome:
    """What became of an export."""

    counts: Counter[str] = field(default_factory=Counter)
    """`stored`, `edited`, `service`, or the reason why not, to how many."""
    refused: list[Fault] = field(default_factory=list)
    refused_count: int = 0
    story: Counter[str] = field(default_factory=Counter)
    """What was stored beside messages: `alternatives`, `recaps`, `scenes`, `running_recaps`."""
    instructions: int = 0
    instruction_texts: list[tuple[str, str]] = field(default_factory=list)
    """(who, their standing instruction), the first 50."""
    notes: list[tuple[str, Note]] = field(default_factory=list)
    """What is to be kept beside messages, with the program it is of."""
    endings: list[tuple[str, Ending]] = field(default_factory=list)
    """What chat files say of their conversations, with the key of each."""
    places: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """Conversation to (position in the file, row id) of its messages, where the order of the file is kept."""
    newest: dict[str, datetime] = field(default_factory=dict)
    """Conversation to the time of its newest message so far, where the order of the file is kept."""
    stopped_after: int | None = None
    """Row of the last message that was stored, or how many lines were, before the import was stopped."""

    def refuse(self, fault: Fault) -> None:
        """List a line that the store does not take."""
        self.refused_count += 1
        if len(self.refused) < MAX_LISTED:
            self.refused.append(fault)

    def add_place(self, key: str, line: Line, row_id: int | None) -> None:
        """Note where a message is that is stored."""
        if line.room.keeps_order and row_id is not None:
            self.places.setdefault(key, []).append((line.index, row_id))


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
    call: Call,
    files: ChatFiles,
    reading: Reading,
    plan: Plan,
    progress: Progress | None,
    should_stop: Callable[[], bool],
) -> Outcome:
    """Store the lines of an export, and return what became of them."""
    outcome, done, row = Outcome(), 0, 0
    for room, facts in plan.survey.rooms.items():
        if facts.first_lines and plan.conversation is None:
            _find_renamed(call, plan, room, facts)
    _find_rooms_of_server(call, plan)
    privacies, total = plan.privacies(), plan.survey.lines + plan.survey.services
    reading_on = _read_messages(call, files, reading, plan, outcome)
    try:
        while batch := list(islice(reading_on, BATCH)):
            if should_stop():
                outcome.stopped_after = row
                return outcome
            _store_batch(call, plan, batch, privacies, outcome)
            done += len(batch)
            row = batch[-1].line.row or done
            if progress:
                progress("storing", done, total)
        for key, ending in outcome.endings:
            _store_ending(call, key, ending, outcome)
    except StoreError as error:
        where = (
            f"All messages up to row {row} are stored; run the same import again to go on."
            if row
            else "Nothing was imported."
        )
        raise TransferError(f"{error} {where}", row=row or None) from error
    return outcome


def _find_renamed(call: Call, plan: Plan, where: tuple[str, str], facts: RoomFacts) -> None:
    """Note the conversation that holds most of a room's first lines, and who spoke them there.

    A chat whose contact got another name between two exports is recognised by it.
    """
    speakers = dict(facts.first_lines)
    interface = plan.interface_of(facts.program)
    rows = table_known.read_senders(reader_for(call.db, "chat_history_cache"), call.persona, interface, speakers)
    counts = Counter(row.conversation for row in rows)
    if not counts:
        return
    key, count = max(counts.items(), key=lambda pair: pair[1])
    if count < _FEWEST_RENAMED or 2 * count < len(speakers):
        return
    plan.keys[where] = key
    stored: dict[str, Counter[str]] = {}
    for row in rows:
        if row.conversation == key and row.sender_id != PERSONA_SENDER:
            stored.setdefault(speakers[row.message_id], Counter())[row.sender_id] += 1
    for speaker, ids in stored.items():
        plan.senders[(*where, speaker)] = ids.most_common(1)[0][0]


def _find_rooms_of_server(call: Call, plan: Plan) -> None:
    """Note the key of each conversation whose name a conversation of another server has too."""
    privacies = plan.privacies()
    for room, facts in plan.survey.rooms.items():
        key = plan.key_of(*room)
        here = replace(call.scope, conversation=key, server=plan.server_of(facts.room), privacy=privacies[key])
        plan.keys[room] = resolve_scope(call.db, here).conversation or key


# From lines to messages


def _read_messages(call: Call, files: ChatFiles, reading: Reading, plan: Plan, outcome: Outcome) -> Iterator[_Ready]:
    """Yield every line that can be stored; what cannot goes to `outcome`."""
    maker = IdMaker()
    answering: dict[str, str] = {}
    times = {room: iter(facts.times) for room, facts in plan.survey.rooms.items()}
    for program, read in files.read(reading):
        if isinstance(read, Note):
            outcome.notes.append((program, read))
        elif isinstance(read, Ending):
            outcome.endings.append((plan.key_of(program, read.room.id), read))
        if not isinstance(read, Line):
            continue
        made = MadeId(read.id, "") if read.id else maker.make_id(read)
        settled = next(times[program, read.room.id], None)
        line = read if settled is None else replace(read, at=from_microseconds(settled) or read.at)
        try:
            message = _read_message(call, plan, program, line, made.id, answering)
        except (MessageError, RefusedError) as error:
            outcome.refuse(Fault(line.place, str(error).rstrip("."), line.row))
            continue
        if message is not None:
            yield _Ready(line, message, made.family, program)


def _read_message(
    call: Call, plan: Plan, program: str, line: Line, message_id: str, answering: dict[str, str]
) -> NewMessage | None:
    """Return the message of a line. A line of the persona answers whoever spoke before it."""
    key, who = plan.key_of(program, line.room.id), line.speaker
    text = text_of(line.text, "text")
    own = plan.is_persona(program, line)
    role = _role_of(line, own)
    metadata = _metadata(plan, program, line, text, own)
    message = new_message.read_message(
        replace(call.scope, conversation=key, participant=None, privacy=None),
        key,
        said_without_thoughts(text) if own else text,
        now=call.db.clock(),
        sender_name=who.name if who else None,
        sender_id=PERSONA_SENDER if own else _sender_of(plan, program, line) if role == "user" else None,
        timestamp=line.at,
        metadata=metadata or None,
        message_id=key_of(plan.id_of(line, message_id), "id", MESSAGE_ID_BYTES),
        role=role,
        triggered_by=answering.get(key) if own else None,
        title=line.room.title or None,
        hidden=line.is_service or line.hidden,
        excluded=line.is_service or line.excluded,  # no recap is made of a line of the program
    )
    if message is not None and message.participant and "bot" not in metadata:
        answering[key] = message.participant
    return message


def _role_of(line: Line, own: bool) -> Role:
    if line.is_service:
        return "system"
    if own and line.role != "thought":
        return "persona"
    return "user" if line.role in (None, "persona") else line.role


def _sender_of(plan: Plan, program: str, line: Line) -> str | None:
    """Return the id of who said a line, told apart from the persona's own."""
    if line.speaker is None:
        return None
    speaker = line.speaker.id
    sender = key_of(plan.senders.get((program, line.room.id, speaker), speaker), "the speaker's id", SPEAKER_BYTES)
    return f"name:{sender}" if sender == PERSONA_SENDER else sender


def _metadata(plan: Plan, program: str, line: Line, text: str, own: bool) -> dict[str, Any]:
    """Return what is kept beside a message: what the file says of it, and which text of which program it is."""
    metadata = dict(line.metadata)
    if not line.room.keeps_order:
        said = said_without_thoughts(text) if own else text
        facts: dict[str, Any] = {"from": program, "text": text_digest(said)}
        if line.edited is not None:
            facts["edited"] = line.edited.isoformat()
        if len(line.versions) > 1:
            facts["versions"] = len(line.versions)
        metadata[FACTS] = facts
    who = line.speaker
    if who is not None and not own and (who.is_bot or who.is_assistant):
        metadata["bot"] = True
    if line.is_service:
        metadata["service"] = True
    if line.reply_to:
        metadata["reply_to"] = {"message_id": plan.id_of(line, line.reply_to)}
    return metadata


# Storing


def _store_batch(
    call: Call, plan: Plan, batch: Sequence[_Ready], privacies: Mapping[str, Privacy], outcome: Outcome
) -> None:
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
    lines = [_in_order(ready, known.get(ready.id), outcome.newest) for ready in lines]
    new: list[_Ready] = []
    edits: list[_Edit] = []
    for ready in lines:
        names = (ready.id, *(plan.id_of(ready.line, version.id) for version in ready.line.versions))
        there = next((known[name] for name in names if name in known), None)
        if there is not None:
            outcome.add_place(key, ready.line, there.id)
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


def _in_order(ready: _Ready, there: KnownMessage | None, newest: dict[str, datetime]) -> _Ready:
    """Return a message no older than the one before it, where the order of the file is kept."""
    if not ready.line.room.keeps_order:
        return ready
    before = newest.get(ready.key)
    if there is None and before is not None and ready.message.at < before:
        ready = ready._replace(message=replace(ready.message, at=before))
    at = there.at if there is not None else ready.message.at
    newest[ready.key] = at if before is None else max(at, before)
    return ready


def _facts(ready: _Ready) -> Mapping[str, Any]:
    return dict(ready.message.metadata.get(FACTS) or {})


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
    order = sorted(range(len(new)), key=lambda at: (plan.server_of(new[at].line.room), at))
    for server, group in groupby(order, key=lambda at: plan.server_of(new[at].line.room)):
        part = [new[at] for at in group]
        instructions = [_instructions(call, ready) for ready in part]
        scope: Scope = replace(call.scope, server=server)
        written = table_batches.insert_messages(
            call.db, scope, [ready.message for ready in part], privacy_default=call.settings.privacy_default,
            privacy=privacies, beside=[_beside(ready.line) for ready in part],
            write_beside=table_imported.insert_beside, instructions=instructions,
        )  # fmt: skip
        for ready, result, instructions_of in zip(part, written, instructions, strict=True):
            outcome.add_place(ready.key, ready.line, result.id)
            if not result.stored:
                outcome.counts[result.reason] += 1
                continue
            outcome.counts["service" if ready.line.is_service else "stored"] += 1
            _count_story(_beside(ready.line), outcome.story)
            outcome.instructions += len(instructions_of)
            for instruction, _ in instructions_of[: max(0, _MOST_INSTRUCTIONS - len(outcome.instruction_texts))]:
                outcome.instruction_texts.append((ready.message.sender_name, instruction.text))


def _instructions(call: Call, ready: _Ready) -> Instructions:
    message = ready.message
    metadata = message.metadata or {}
    if ready.line.is_service or "bot" in metadata or "forwarded" in metadata:
        return ()
    return standing.read_instructions(message.text, call.settings, role=message.role, excluded=message.excluded)


def _beside(line: Line) -> Beside:
    """Return what is stored beside a message: its versions are alternatives."""
    if line.beside is not NOTHING or not line.versions:
        return line.beside
    shown = next((version.id for version in line.versions if version.text == line.text and version.id == line.id), "")
    return Beside(
        alternatives=tuple(
            Alternative(number, version.text, version.id == shown, {"id": version.id[:191]})
            for number, version in enumerate(line.versions)
        )
    )


def _count_story(beside: Beside, story: Counter[str]) -> None:
    story["alternatives"] += len(beside.alternatives)
    story["recaps"] += beside.recap is not None and beside.recap.memory is not None
    story["scenes"] += beside.scene is not None


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
    call.db.idempotent_transaction(
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


# Beside the messages: header and running recap of a chat, memories of another program


def _store_ending(call: Call, conversation: str, ending: Ending, outcome: Outcome) -> None:
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
    outcome.story["running_recaps"] += call.db.idempotent_transaction(
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
    last = rules_recaps.last_hidden_scene([at[place] for place in breaks if place in at], [row.hidden for row in order])
    if last is not None:
        call.db.idempotent_transaction(
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
            call.scope, conversation=f"{interface}/memories", participant=f"{interface}/{owner}", privacy="direct",
            server="",
        )  # fmt: skip
        defaults = ItemDefaults(scope, DEFAULT_KIND, call.db.clock(), call.settings.session_ttl_sec)
        writer = ItemWriter(replace(call, scope=scope), defaults)
        for batch in writer.batches(_note_row(number, note, program) for number, note in enumerate(held, 1)):
            writer.store(batch)
        result = writer.result("items")
        stored += result.imported
        for problem in result.errors:
            outcome.refuse(Fault(held[problem.row - 1].place, problem.reason))
    return stored


def _note_row(number: int, note: Note, program: str) -> Row:
    value = {"text": note.text, "source": program, "metadata": {**note.metadata, "imported": {"from": program}}}
    if note.at is not None:
        value["timestamp"] = note.at.isoformat()
    return Row(number, None, value)
