"""Import chats of other programs into the chat history, each message once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

from ..access.rules import plain_key
from ..calls.call import Call, GivenSettings, open_call
from ..calls.defaults import find_handle, scope_for, settings_for
from ..database.engine import Database
from ..errors import TransferError
from ..privacy.table_marks import set_privacy
from ..scope import KEY_BYTES, Privacy, Scope, key_text
from ..shapes import Progress
from ..text.times import iso_text
from ..text.times import zone as zone_named
from .fields import SPEAKER_BYTES
from .files import MAX_BYTES, WHAT_TO_DO, describe_file
from .formats import ChatFiles, find_export
from .shapes import BLANK, Fault, Reading
from .storage import ChatWriter
from .survey import MAX_LISTED, Plan, Survey, count_export


@dataclass(frozen=True, slots=True)
class ImportResult:
    """Result of an import. Numbers of messages do not count service messages, unless a field says otherwise."""

    format: str
    could_import: int = 0
    """Number of readable messages in the export, whether stored already or not; also in a dry run."""
    imported: int = 0
    edited: int = 0
    """Number of stored messages whose text the export's newer text replaced."""
    duplicates: int = 0
    service: int = 0
    """Number of messages of the application itself, such as "Ann joined": stored as hidden, with role `system`."""
    memories: int = 0
    """Number of memory items stored, such as memories of the source application."""
    skipped: int = 0
    """Number of blank messages."""
    story: dict[str, int] = field(default_factory=dict)
    """Counts of stored `alternatives`, `recaps`, `scenes` and `running_recaps`."""
    instructions: int = 0
    """Number of standing instructions found in the imported messages (RECORD_WISHES)."""
    left_out: dict[str, int] = field(default_factory=dict)
    """Number of messages, and of files without a chat, that were not stored, for each reason such as `privacy`."""
    errors: tuple[Fault, ...] = ()
    """First 1,000 parts that cannot be imported. For a single file of lines, `row` is the line and `place` is ""."""
    error_count: int = 0
    conversations: tuple[str, ...] = ()
    private_count: int = 0
    """Number of conversations that are direct messages or restricted channels."""
    days: int = 0
    """Number of days with messages, UTC."""
    speakers: dict[str, int] = field(default_factory=dict)
    participants: dict[str, str] = field(default_factory=dict)
    """Names of the first 1,000 speakers by participant key."""
    persona: tuple[str, ...] = ()
    first: str = ""
    last: str = ""
    """Time of the newest message, ISO 8601 in UTC; `first` is the time of the oldest message."""
    notes: tuple[str, ...] = ()
    dry_run: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Convert the result to plain JSON values, with fields in the order of declaration."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        values["errors"] = [
            {"row": each.row, "reason": each.reason} | ({"place": each.place} if each.place else {})
            for each in self.errors
        ]
        values["conversations"] = self.conversations[:MAX_LISTED]
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def import_file(
    path: str | PathLike[str],
    *,
    interface: str | None = None,
    conversation: str | None = None,
    persona: str | None = None,
    user: str = "",
    private: bool | None = None,
    time_zone: str = "UTC",
    day_first: bool | None = None,
    dry_run: bool = False,
    max_bytes: int = MAX_BYTES,
    progress: Progress | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> ImportResult:
    """Import the messages of a file and return the result. Importing the same file again adds nothing; a later export
    of the same chats adds new messages and edits changed messages. Invalid rows are listed, valid rows imported.

    Messages are stored in transactions of 500. To continue an interrupted import, run it again.

    Args:
        path: chats of any program that docs/import.md lists, as a file, a folder or a zip archive; or JSON Lines.
        interface: first part of the conversation keys, `interface/conversation`; None uses the application's name.
        conversation: key of one conversation into which everything is imported.
        persona: speaker who is the persona itself, by name or id; None uses the assistant or character of the file.
        user: id of the person in an export from an assistant program.
        private: True makes new conversations direct messages, or restricted if several people speak; False makes new
            groups and channels public; None follows the format of the file.
        time_zone: IANA name of the zone of times without an offset.
        day_first: whether 03/04 is 3 April in WhatsApp exports and tables; None decides from the whole file.
        dry_run: store nothing; return what an import into the given or configured database would store.
        max_bytes: maximum number of bytes of the unpacked file; 2 GiB by default.
        progress: see `Progress`.
        db, settings, scope: None uses those of the process; the scope names persona and server. If its privacy is
            `separate`, new conversations are private; new conversations with one person are separate chats.

    Raises:
        TransferError: the whole file is invalid, and nothing was stored; or the database failed, and the error names
            the last row that is stored.
        ValueError: an unknown time zone.
        MessageError: an invalid interface or conversation key.

    >>> import json, tempfile
    >>> from prompt_engine import open_database
    >>> from prompt_engine.transfer.imports import import_file
    >>> line = {"conversation": "c1", "speaker": "Ann", "text": "I like tea", "timestamp": "2026-03-10T12:00:00Z"}
    >>> with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
    ...     _ = file.write(json.dumps(line)), file.flush()
    ...     result = import_file(file.name, private=True, db=open_database("sqlite://"))
    >>> result.imported, result.conversations, result.speakers
    (1, ('import/c1',), {'Ann': 1})
    """
    file = Path(path)
    zone = zone_named(time_zone)
    if zone is None:
        raise ValueError(f"time_zone is {time_zone!r}. It must be an IANA name such as Europe/Rome.")
    if interface is not None:
        key_text(interface, "interface", 64, required=True)
    key_text(user, "user", SPEAKER_BYTES)
    if conversation is not None:
        conversation = key_text(conversation, "conversation", KEY_BYTES["conversation"], required=True)
    files = find_export(file, max_bytes)
    if files is None:
        raise TransferError(f"Nothing can be taken of {str(file)!r}: {describe_file(file)}. {WHAT_TO_DO}")
    asked = scope_for(scope, settings_for(settings))
    private = True if asked.privacy == "separate" else private
    reading = Reading(zone, day_first, user, private)
    survey = count_export(files, reading, progress)
    speaker = None if persona is None else _find_speaker(survey, key_text(persona, "persona", SPEAKER_BYTES), file)
    plan = Plan(survey, interface, conversation, speaker, private, asked.server, asked.privacy == "separate")
    if dry_run and find_handle(db) is None:
        privacies = plan.privacies()
        return _build_result(plan, files, reading, privacies, privacies.keys(), None)
    call = open_call(db, settings, scope)
    own = replace(call, scope=replace(call.scope, conversation=None, participant=None))
    writer = ChatWriter(own, files, replace(reading, notes=Counter()), plan)
    new = writer.find_rooms()
    if not dry_run:
        writer.store(progress)
        _give_to_owner(call, plan, new)
    writer.mark_private()
    return _build_result(plan, files, reading, writer.privacies, new, None if dry_run else writer)


def _give_to_owner(call: Call, plan: Plan, new: Collection[str]) -> None:
    """Turn a new group chat under one speaker's key, such as `proxy/Ann/tavern`, into a chat of that speaker alone."""
    key = plan.conversation or ""
    owner, _, chat = key.rpartition("/")
    if key in new and chat and owner in plan.name_participants() and plan.privacies()[key] == "restricted":
        set_privacy(call.db, replace(call.scope, conversation=None), key, "separate")


def _find_speaker(survey: Survey, asked: str, file: Path) -> str:
    """Return the id of the speaker whose id, name or handle is `asked`."""
    people = survey.people
    if asked in people:
        return asked
    wanted = asked.removeprefix("@").casefold()
    same = [key for key, each in people.items() if wanted in (each.name.casefold(), each.handle.casefold())]
    if len(same) == 1:
        return same[0]
    if len(same) > 1:
        raise TransferError(f"{len(same)} people are called {asked!r}. Name one by id: {', '.join(same[:8])}.")
    if len(people) >= MAX_LISTED:
        return asked
    names = ", ".join(repr(each.name) for each in sorted(people.values(), key=lambda one: -one.lines)[:8])
    raise TransferError(f"Nobody called {asked!r} speaks in {str(file)!r}. Speakers are {names}.")


_DONE = ("stored", "edited", "service", "duplicate")


def _build_result(
    plan: Plan,
    files: ChatFiles,
    reading: Reading,
    privacies: Mapping[str, Privacy],
    new: Collection[str],
    writer: ChatWriter | None,
) -> ImportResult:
    """Build the result of an import (of a dry run, if `writer` is None); `new` has the keys of new conversations."""
    survey, private = plan.survey, {key for key, privacy in privacies.items() if privacy != "public"}
    counts = Counter[str]() if writer is None else writer.counts
    left = survey.left + Counter({name: count for name, count in counts.items() if name not in _DONE})
    speakers: Counter[str] = Counter()
    for person in survey.people.values():
        speakers[person.name] += person.lines
    is_one = len(files.export.members) == 1  # in a single file of lines, the row number suffices
    errors = [fault._replace(place="") if fault.row and is_one else fault for fault in survey.faults]
    return ImportResult(
        format=files.format,
        could_import=survey.lines,
        imported=counts["stored"],
        edited=counts["edited"],
        duplicates=counts["duplicate"],
        service=counts["service"] if writer else survey.services,
        memories=writer.memories if writer else survey.notes,
        skipped=left.pop(BLANK, 0),
        story={name: count for name, count in writer.story.items() if count} if writer else {},
        instructions=writer.instructions if writer else 0,
        left_out=dict(sorted(left.items())),
        errors=tuple(sorted(errors, key=lambda fault: fault.row)),
        error_count=survey.fault_count,
        conversations=tuple(map(plain_key, privacies)),
        private_count=len(private),
        days=len(survey.days),
        speakers=dict(speakers),
        participants=plan.name_participants(),
        persona=_persona_names(plan),
        first=iso_text(survey.first),
        last=iso_text(survey.last),
        notes=tuple(_notes(plan, reading, private, new)),
        dry_run=writer is None,
    )


def _persona_names(plan: Plan) -> tuple[str, ...]:
    people = plan.survey.people
    return tuple(sorted({people[key].name for key in plan.list_own() & people.keys()}))


def _notes(plan: Plan, reading: Reading, private: Collection[str], new: Collection[str]) -> Iterator[str]:
    """Yield notes on results of the import that the user may not expect."""
    survey = plan.survey
    if not survey.lines and not survey.notes:
        bad = "can be taken; see the rows that were not" if survey.fault_count else "has a text"
        yield f"nothing is imported: no message of the file {bad}"
    for text, count in reading.notes.items():
        yield f"{text}: {count}"
    several = {name for facts in survey.rooms.values() if len(facts.assistants) > 1 for name in facts.assistants}
    if plan.persona is None and several:
        names = ", ".join(sorted(several)[:8])
        yield f"several characters speak ({names}); the persona is one of them: name it with --persona-speaker"
    if survey.lines and not _persona_names(plan):
        yield "nobody was named as the persona (--persona-speaker), so nothing here counts as said by it"
    closed = len(set(new) & set(private))
    if public := len(new) - closed:
        where = f" ({public} of {len(new)})" if closed else ""
        seen = "seen from every public conversation of their server"
        yield f"without --private new conversations are public{where}: {seen}"
    if plan.private is None and closed:
        which = "1 new conversation is" if closed == 1 else f"{closed} new conversations are"
        how = "--public (private=False) imports groups and channels as public, set_conversation_privacy opens them"
        yield f"{which} private: {how}"
    if plan.private is False and private:
        what = "direct messages, and conversations that are stored as private"
        stay = f"{len(private)} {'stays' if len(private) == 1 else 'stay'}"
        yield f"{stay} private: {what}; set_conversation_privacy opens them"
