"""Store the lines of chat files: new lines in batches, edits one by one."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby, islice
from typing import Any, NamedTuple

from ..access import table_conversations
from ..base.groups import group
from ..calls.call import Call, load_viewer
from ..errors import MessageError, StoreError, TransferError
from ..forgetting import table_followers
from ..memories.rules import DEFAULT_KIND
from ..memories.rules_instructions import Instruction
from ..messages import new_message, table_batches, table_hidden, table_lines, table_recaps
from ..messages.new_message import NewMessage
from ..messages.table_lines import Line as StoredLine
from ..scope import MESSAGE_ID_BYTES, Privacy
from ..shapes import PERSONA_SENDER, Progress, Role
from ..stories import rules_recaps, table_imported
from ..text.times import iso_text, parse_time
from .fields import SPEAKER_BYTES, key_of, said_without_thoughts, text_of
from .formats import ChatFiles
from .formats.sillytavern import lines as tavern_lines
from .items.formats import Row
from .items.storage import ItemWriter
from .shapes import USER_NAME, Ending, Fault, Line, Note, Reading
from .survey import Plan, build_sender_id, hash_id, is_made_id, make_id, text_digest

BATCH = 500
FACTS = "imported"
"""Metadata key of an imported message for its source application, and for the digest and edit time of its text."""
_QUOTE_CHARS = 2000


class _Ready(NamedTuple):
    line: Line
    message: NewMessage

    @property
    def id(self) -> str:
        return self.message.message_id or ""


class ChatWriter:
    def __init__(self, call: Call, files: ChatFiles, reading: Reading, plan: Plan) -> None:
        self._call, self._files, self._reading, self._plan = call, files, reading, plan
        self._reader = call.db.read
        self.privacies: dict[str, Privacy] = {}
        """Privacy to store, by conversation key; `mark_private` sets `restricted` for conversations already private."""
        self._notes: list[tuple[str, Note]] = []
        self._endings: list[tuple[str, Ending]] = []
        self.counts: Counter[str] = Counter()
        """Number of lines by result: `stored`, `edited`, `service`, `duplicate`, or why lines were left out."""
        self.story: Counter[str] = Counter()
        """Numbers of stored `alternatives`, `recaps`, `scenes` and `running_recaps`."""
        self.instructions = 0
        self.memories = 0

    def find_rooms(self) -> set[str]:
        """Choose the key and the privacy of each conversation; return the keys that are not stored yet."""
        self._find_keys()
        self.privacies = self._plan.privacies()
        known = table_conversations.find_among(self._reader, self._call.persona, self.privacies)
        if self._plan.private is None:  # an export sets the privacy of new conversations only
            self.privacies |= {key: "public" for key, facts in known.items() if not facts.is_private}
        return self.privacies.keys() - known.keys()

    def mark_private(self) -> None:
        stored = table_conversations.find_among(self._reader, self._call.persona, self.privacies)
        self.privacies |= {key: "restricted" for key, facts in stored.items() if facts.is_private}

    def store(self, progress: Progress | None) -> None:
        done, row, total = 0, 0, self._plan.survey.lines + self._plan.survey.services
        messages = self._read_messages()
        try:
            while batch := list(islice(messages, BATCH)):
                self._store_batch(batch)
                done += len(batch)
                row = batch[-1].line.row or done
                if progress:
                    progress("storing", done, total)
            for key, ending in self._endings:
                self._store_ending(key, ending)
        except StoreError as error:
            where = f"All messages up to row {row} are stored; run the same import again to go on."
            raise TransferError(f"{error} {where if row else 'Nothing was imported.'}", row=row or None) from error
        self._store_notes()

    def _find_keys(self) -> None:
        plan, call = self._plan, self._call
        privacies = plan.privacies()
        for room, facts in plan.survey.rooms.items():  # a conversation on another server can have the same name
            key = plan.key_of(*room)
            with suppress(MessageError):  # the key is too long; each of its lines is refused later
                here = replace(call.scope, conversation=key, server=plan.server_of(facts.room), privacy=privacies[key])
                plan.keys[room] = table_conversations.resolve_scope(call.db, here).conversation or key

    def _read_messages(self) -> Iterator[_Ready]:
        made, plan = Counter[int](), self._plan
        answering: dict[str, str] = {}
        number = 0
        for program, read in self._files.read(self._reading):
            if isinstance(read, Note):
                self._notes.append((program, read))
            elif isinstance(read, Ending):
                self._endings.append((plan.key_of(program, read.room.id), read))
            if not isinstance(read, Line):
                continue
            number += 1
            if read.id and plan.survey.latest.get(hash_id(program, read), (0, number))[1] != number:
                self.counts["duplicate"] += 1  # another line with this id is the one that counts
                continue
            try:
                message = self._read_message(program, read, read.id or make_id(read, made), answering)
            except MessageError as error:
                plan.survey.add(program, Fault(read.place, str(error).rstrip("."), read.row))
                continue
            if message is None:
                self.counts["thoughts or calls without a word"] += 1
            else:
                yield _Ready(read, message)

    def _read_message(self, program: str, line: Line, message_id: str, answering: dict[str, str]) -> NewMessage | None:
        """Turn a line into a message to store; a line of the persona answers the last other speaker above it."""
        plan, key = self._plan, self._plan.key_of(program, line.room.id)
        own = plan.is_persona(program, line)
        role = _role_of(line, own)
        text = text_of(line.text, "text")
        text = said_without_thoughts(text) if own else text
        metadata = self._metadata(program, line, text, own)
        sender = PERSONA_SENDER if own else None
        if line.speaker and not own and role == "user":
            sender = build_sender_id(key_of(line.speaker.id, "the speaker's id", SPEAKER_BYTES))
        server = plan.server_of(line.room)
        message = new_message.read_message(
            replace(self._call.scope, conversation=key, participant=None, privacy=None, server=server),
            key,
            text,
            now=self._call.db.clock(),
            sender_name=line.speaker.name if line.speaker else None,
            sender_id=sender,
            timestamp=line.at,
            metadata=metadata or None,
            message_id=key_of(plan.id_of(line, message_id), "id", MESSAGE_ID_BYTES),
            role=role,
            triggered_by=answering.get(key) if own else None,
            title=line.room.title or None,
            hidden=line.is_service or line.hidden,
            excluded=line.is_service or line.excluded,  # lines that the program itself writes get no recap
        )
        if message is not None and message.participant and "bot" not in metadata:
            answering[key] = message.participant
        return message

    def _metadata(self, program: str, line: Line, text: str, own: bool) -> dict[str, Any]:
        metadata = dict(line.metadata)
        if program != "sillytavern":
            facts = {"from": program, "text": text_digest(text), "versions": len(line.beside.alternatives)}
            facts["edited"] = line.edited.isoformat() if line.edited else ""
            metadata[FACTS] = {name: value for name, value in facts.items() if value}
        who = line.speaker
        if who is not None and not own and (who.is_bot or who.is_assistant):
            metadata["bot"] = True
        if line.is_service:
            metadata["service"] = True
        if line.reply_to:
            metadata["reply_to"] = {"message_id": self._plan.id_of(line, line.reply_to)}
        return metadata

    def _store_batch(self, batch: Sequence[_Ready]) -> None:
        new: list[_Ready] = []
        edits: list[tuple[StoredLine, _Ready]] = []
        for key, lines in group((ready.message.conversation, ready) for ready in batch).items():
            fresh, changed = self._sort_lines(key, lines)
            new += self._with_quotes(key, fresh, lines)
            edits += changed
        for server, lines in sorted(group((self._plan.server_of(ready.line.room), ready) for ready in new).items()):
            self._insert(server, lines)
        for stored, ready in edits:
            self._change(stored, ready)

    def _sort_lines(self, key: str, lines: Sequence[_Ready]) -> tuple[list[_Ready], list[tuple[StoredLine, _Ready]]]:
        """Return a conversation's new lines and (stored message, edited line) pairs; count the duplicate lines."""
        names = [self._list_ids(ready) for ready in lines]
        ids = {name for each in names for name in each}
        stored = table_lines.read_by_ids(self._reader, self._call.persona, key, ids)
        stored |= self._find_said(key, [ready for ready in lines if not ready.line.id and ready.id not in stored])
        new: list[_Ready] = []
        edits: list[tuple[StoredLine, _Ready]] = []
        for ready, own_names in zip(lines, names, strict=True):
            there = next((stored[name] for name in own_names if name in stored), None)
            if there is None:
                new.append(ready)
                continue
            if _is_newer(there, ready):
                edits.append((there, ready))
            elif not ready.line.is_service:
                self.counts["duplicate"] += 1
        return new, edits

    def _find_said(self, key: str, lines: Sequence[_Ready]) -> dict[str, StoredLine]:
        """Return the stored messages that equal lines without an id in the export, by the id made for the line."""
        if not lines:
            return {}
        times, digests = [each.message.at for each in lines], {each.message.digest for each in lines}
        stored = table_lines.read_said(self._reader, self._call.persona, key, digests, min(times), max(times))
        others = (there for there in stored if there.edited_at is not None or not is_made_id(there.message_id or ""))
        said = group((_saying(there), there) for there in others)
        return {each.id: same.pop() for each in lines if (same := said.get(_saying(each.message)))}

    def _list_ids(self, ready: _Ready) -> list[str]:
        """Return the ids under which a line's message may be stored: its own id and the ids of its alternatives."""
        versions = [each.metadata["id"] for each in ready.line.beside.alternatives if each.metadata]
        return [ready.id, *(self._plan.id_of(ready.line, each) for each in versions)]

    def _with_quotes(self, conversation: str, new: Sequence[_Ready], lines: Sequence[_Ready]) -> Iterator[_Ready]:
        """Yield the new lines; to each reply, add the text of the message that it answers, if known."""
        wanted = {ready.message.metadata["reply_to"]["message_id"] for ready in new if ready.line.reply_to}
        quoted: dict[str, NewMessage | StoredLine] = {ready.id: ready.message for ready in lines}
        if missing := wanted - quoted.keys():
            quoted |= table_lines.read_by_ids(self._reader, self._call.persona, conversation, missing)
        for ready in new:
            metadata = ready.message.metadata
            quote = quoted.get(metadata["reply_to"]["message_id"]) if ready.line.reply_to else None
            if quote is None or quote.message_id == ready.id:
                yield ready
                continue
            reply = {"message_id": quote.message_id, "username": quote.sender_name, "sender_id": quote.sender_id,
                     "role": quote.role, "text": quote.text[:_QUOTE_CHARS],
                     "timestamp": iso_text(quote.at)}  # fmt: skip
            yield ready._replace(message=replace(ready.message, metadata={**metadata, "reply_to": reply}))

    def _insert(self, server: str, new: Sequence[_Ready]) -> None:
        call = self._call
        messages = [
            replace(ready.message, beside=ready.line.beside, instructions=_read_instructions(call, ready))
            for ready in new
        ]
        written = table_batches.insert_messages(
            call.db, replace(call.scope, server=server), messages, privacy_default=call.settings.privacy_default,
            privacy=self.privacies, write_beside=table_imported.insert_beside,
        )  # fmt: skip
        for ready, message, result in zip(new, messages, written, strict=True):
            own = ready.line.beside
            if not result.stored:
                self.counts[result.reason] += 1
                continue
            self.counts["service" if ready.line.is_service else "stored"] += 1
            self.story["alternatives"] += len(own.alternatives)
            self.story["recaps"] += own.recap is not None and own.recap.memory is not None
            self.story["scenes"] += own.scene is not None
            self.instructions += len(message.instructions)

    def _change(self, stored: StoredLine, ready: _Ready) -> None:
        call, message = self._call, ready.message
        if ready.line.beside.alternatives:
            _add_versions(call, stored.row_id, ready.line)
        # the importer has read the file, so the message's audience is allowed for this edit
        viewer = replace(load_viewer(call), audiences=(stored.audience_id,))
        result = table_followers.edit_message(call, viewer, message.conversation, stored.row_id, message.text)
        if result.reason == "privacy":
            self.counts["privacy"] += 1
            return
        kept = {**stored.metadata, **message.metadata}
        if "reply_to" in stored.metadata:
            kept["reply_to"] = stored.metadata["reply_to"]
        call.db.idempotent_transaction(
            lambda connection: table_lines.update_facts(connection, call.persona, stored.row_id, ready.id, kept),
            source="chat_history_cache",
        )
        self.counts["edited"] += 1

    def _store_ending(self, conversation: str, ending: Ending) -> None:
        call, persona = self._call, self._call.persona
        line = None if ending.header is None else tavern_lines.keep(ending.header)
        metadata: dict[str, Any] = {} if line is None else {tavern_lines.KEY: line}
        metadata |= {tavern_lines.AFTER: list(ending.after)} if ending.after else {}
        if self.story["scenes"]:
            self._give_to_scenes(conversation)
        kept = (persona, conversation, metadata or None, ending.versions, ending.current)
        self.story["running_recaps"] += call.db.idempotent_transaction(
            lambda connection: table_imported.keep_conversation(connection, *kept), source="conversations"
        )

    def _give_to_scenes(self, conversation: str) -> None:
        """Let AUTO_HIDE_SCENE_COUNT show messages again, if the file hides all messages up to a scene break."""
        persona = self._call.persona
        order = table_hidden.read_rows(self._reader, persona, conversation)
        breaks = table_hidden.read_breaks(self._reader, persona, conversation)
        at = {row.row_id: index for index, row in enumerate(order)}
        ends = [at[place.row_id] for place in breaks if place.row_id in at]
        last = rules_recaps.last_hidden_scene(ends, [row.hidden for row in order])
        if last is not None:
            self._call.db.idempotent_transaction(
                lambda connection: table_hidden.give_to_scenes(connection, persona, conversation, order[last]),
                source="chat_history_cache",
            )

    def _store_notes(self) -> None:
        def owner(pair: tuple[str, Note]) -> tuple[str, str]:
            return pair[0], pair[1].owner.id

        for (program, person), pairs in groupby(sorted(self._notes, key=owner), key=owner):
            notes = [note for _, note in pairs]
            interface = self._plan.interface_of(program)
            scope = replace(
                self._call.scope, conversation=f"{interface}/memories", participant=f"{interface}/{person}",
                privacy="direct", server="",
            )  # fmt: skip
            rows = (Row(number, None, {**note.item, "source": program}) for number, note in enumerate(notes, 1))
            result = ItemWriter(replace(self._call, scope=scope), DEFAULT_KIND).write(rows, "items")
            self.memories += result.imported
            for problem in result.errors:
                self._plan.survey.add(program, Fault(notes[problem.row - 1].place, problem.reason))


def _saying(message: NewMessage | StoredLine) -> tuple[object, ...]:
    """Return the digest, time and speaker of a message, which together identify a message without an id."""
    who = message.sender_name or message.sender_id or USER_NAME
    return message.digest, message.at, message.role, who if message.role == "user" else ""


def _role_of(line: Line, own: bool) -> Role:
    if line.is_service:
        return "system"
    if own and line.role != "thought":
        return "persona"
    return "user" if line.role in (None, "persona") else line.role


def _is_newer(there: StoredLine, ready: _Ready) -> bool:
    """Return whether the export's line has a newer text or more alternatives than the stored message."""
    edited, before = ready.line.edited, there.metadata.get(FACTS)
    if not isinstance(before, Mapping):  # a message stored live, on the same platform
        is_later = edited is not None and (there.edited_at is None or edited > there.edited_at)
        return is_later and there.digest != ready.message.digest
    facts = ready.message.metadata[FACTS]
    if before.get("text") == facts["text"]:
        return bool(facts.get("versions", 0) > before.get("versions", 0))
    last = parse_time(before["edited"]) if isinstance(before.get("edited"), str) else None
    return last is None or (edited is not None and edited >= last)  # a message of an older export


def _read_instructions(call: Call, ready: _Ready) -> tuple[Instruction, ...]:
    message = ready.message
    if ready.line.is_service or message.metadata.keys() & {"bot", "forwarded"}:
        return ()
    return new_message.read_instructions(call, message)


def _add_versions(call: Call, row_id: int, line: Line) -> None:
    """Store the alternatives of a line that its message lacks; the alternative shown in the file becomes current."""
    there = table_recaps.read_alternatives(call.db.read, call.persona, row_id)
    numbers = {each.text: each.number for each in there}
    free = max(numbers.values(), default=-1) + 1
    added = []
    for version in line.beside.alternatives:
        if version.text not in numbers:
            numbers[version.text] = free
            added.append((row_id, table_recaps.Alternative(free, version.text, metadata=version.metadata)))
            free += 1

    def work(connection: Any) -> None:
        stored = table_lines.hold_line(connection, call.persona, row_id)
        if stored is None or not table_lines.is_open(connection, call.persona, stored, call.settings.privacy_default):
            return
        table_recaps.insert_alternatives(connection, call.persona, added)
        if line.text in numbers:
            table_recaps.set_current_alternative(connection, call.persona, row_id, numbers[line.text])

    call.db.transaction(work, source="message_alternatives")
