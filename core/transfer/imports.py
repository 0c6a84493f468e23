"""Reading a file of conversations into the chat history: all of it that can be taken, each message once.

| Called by | For |
|---|---|
| the command `prompt-engine import` | `import_file` |
| hosts | the same |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

from ..calls.call import GivenSettings, open_call
from ..database.engine import Database
from ..errors import TransferError
from ..scope import KEY_BYTES, Scope, key_text
from ..text.times import zone as zone_named
from . import lines, platforms
from .platforms.finding import Found
from .records import SPEAKER_BYTES, Problem
from .storage import Outcome, Plan, Progress, store_messages
from .survey import MAX_LISTED, look


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What an import did. `imported + duplicates + left_out` are the messages that were looked at."""

    format: str
    could_import: int = 0
    """Messages of the file that can be taken, those that are there already with them; what a dry run is asked for."""
    imported: int = 0
    edited: int = 0
    """Messages that were there already with another text, and have that of the export now."""
    duplicates: int = 0
    """Messages that were there already, from this file or another."""
    service: int = 0
    """Lines of the program itself, such as who joined: stored hidden, with the role `system`."""
    memories: int = 0
    """Memory items stored: what another assistant remembered, texts of its projects."""
    skipped: int = 0
    """Rows with a blank text."""
    story: dict[str, int] = field(default_factory=dict)
    """What came with the messages: `alternatives`, `recaps`, `scenes`, `running_recaps`, with how many."""
    instructions: int = 0
    """Standing instructions in the messages that were imported (RECORD_WISHES)."""
    instruction_texts: tuple[tuple[str, str], ...] = ()
    """Of an export, the first 50 of them: who gives them, and the texts."""
    left_out: dict[str, int] = field(default_factory=dict)
    """Why else messages were not stored, such as `privacy`, with how many; of an export in a dry run too."""
    errors: tuple[Problem, ...] = ()
    """Rows that cannot be taken; the first 1,000."""
    error_count: int = 0
    conversations: tuple[str, ...] = ()
    """Conversation keys; of a file of lines the first 1,000."""
    private_count: int = 0
    """Of the conversations of an export, how many are direct messages or closed channels."""
    days: int = 0
    """Of an export: days on which something was said, UTC."""
    speakers: dict[str, int] = field(default_factory=dict)
    persona: tuple[str, ...] = ()
    """Names whose messages are the persona's own."""
    first: str = ""
    last: str = ""
    """Times of the oldest and newest message, ISO 8601, UTC."""
    notes: tuple[str, ...] = ()
    dry_run: bool = False
    stopped_after_row: int | None = None
    """Row of the last message that was stored before the import was stopped; None when it came to the end."""

    def as_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON values, fields in their order."""
        made = {name: getattr(self, name) for name in self.__dataclass_fields__}
        made["errors"] = [_shown(problem) for problem in self.errors]
        made["conversations"] = self.conversations[:MAX_LISTED]
        made["instruction_texts"] = [list(pair) for pair in self.instruction_texts]
        return {name: list(value) if isinstance(value, tuple) else value for name, value in made.items()}


def _shown(problem: Problem) -> dict[str, Any]:
    told: dict[str, Any] = {"row": problem.row, "reason": problem.reason}
    return {**told, "place": problem.place} if problem.place else told


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
    max_bytes: int = lines.MAX_BYTES,
    progress: Progress | None = None,
    should_stop: Callable[[], bool] | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> ImportResult:
    """Return what became of the messages of a file. The same file again adds nothing; a later export of the same chats
    adds what is new, and edits what was edited.

    Bad rows are listed, good ones taken. Messages are stored in transactions of 500, so an import that was stopped or
    failed has stored whole transactions, and goes on where it was when it is run again.

    Args:
        path: an export of ChatGPT, Claude, Discord, Open WebUI, Slack, Telegram or WhatsApp, as a file, a folder or a
            zip archive; or JSON Lines, also packed with gzip: one {conversation, session, id, timestamp, speaker, text}
            a line, or a chat of SillyTavern.
        interface: first part of the conversation keys, `interface/conversation`; None is the name of the program in
            lower case, `import` for lines.
        conversation: one conversation key for everything instead.
        persona: the speaker who is the persona itself, by name, in an export also by id. None follows the file: the
            assistant of ChatGPT, Claude and Open WebUI, in a chat of SillyTavern the character.
        user: id of the one person in an export of an assistant, `user` or that of the account by default.
        private: make conversations that are not known yet direct messages, or restricted where several people speak.
            None does so for a chat of SillyTavern, and not for lines. Exports say that of each chat themselves; with
            it nothing of them becomes public either.
        time_zone: IANA name of where times without an offset were written.
        day_first: whether 03/04 is 3 April in an export of WhatsApp; None finds it out.
        dry_run: look and store nothing.
        max_bytes: most bytes of the file, unpacked; 2 GiB.
        progress: see `Progress`.
        should_stop: asked between transactions; True ends the import there.
        db: None is the database of the process.
        settings: None is those of the process.
        scope: persona and server everything is stored for; None is the current scope.

    Returns:
        What became of every row; `imported + duplicates + left_out` are the messages. Nothing stored: all of them 0.

    Raises:
        TransferError: the file cannot be taken as a whole, before anything was stored; or the database failed, with the
            row after which to go on.
        ValueError: an unknown time zone.
        MessageError: an interface or conversation key that cannot be one.

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
    if not isinstance(path, (str, PathLike)):
        raise TypeError(f"path is of type {type(path).__name__}. It must be the path of a file.")
    file = Path(path)
    zone = zone_named(time_zone)
    if zone is None:
        raise ValueError(f"time_zone is {time_zone!r}. It must be an IANA name such as Europe/Rome.")
    if interface is not None:
        key_text(interface, "interface", 64, required=True)
    if conversation is not None:
        key_text(conversation, "conversation", KEY_BYTES["conversation"], required=True)
    key_text(user, "user", SPEAKER_BYTES)
    found = platforms.find_export(file, max_bytes)
    if found is not None:
        importing = platforms.ExportImport(
            found, zone=zone, interface=interface, conversation=conversation, persona=persona, user=user,
            private=bool(private), day_first=day_first,
        )  # fmt: skip
        opened = (db, settings, scope)
        return _import_export(importing, found, opened, progress, should_stop or (lambda: False), dry_run=dry_run)
    survey = look(file, zone, max_bytes=max_bytes, progress=_named(progress, "looking"), should_stop=should_stop)
    if persona is not None and persona not in survey.speakers and len(survey.speakers) < MAX_LISTED:
        known = ", ".join(repr(name) for name in list(survey.speakers)[:8])
        raise TransferError(f"Nobody called {persona!r} speaks in {str(file)!r}. Speakers are {known}.")
    is_private = survey.format == "sillytavern" if private is None else private
    plan = Plan(file, survey, zone, interface or "import", conversation, persona, is_private, max_bytes)
    result = _describe(plan)
    if dry_run or (should_stop and should_stop()):
        return replace(result, dry_run=dry_run, stopped_after_row=None if dry_run else 0)
    outcome = store_messages(open_call(db, settings, scope), plan, progress, should_stop or (lambda: False))
    return _with_outcome(result, outcome)


def _named(progress: Progress | None, what: str) -> Callable[[int, int], None] | None:
    return None if progress is None else lambda done, total: progress(what, done, total)


def _describe(plan: Plan) -> ImportResult:
    survey = plan.survey
    keys = dict.fromkeys(map(plan.key_of, survey.conversations))
    return ImportResult(
        format=survey.format,
        could_import=survey.records,
        skipped=survey.skipped,
        errors=tuple(survey.problems),
        error_count=survey.problem_count,
        conversations=tuple(islice(keys, MAX_LISTED)),
        speakers=dict(survey.speakers),
        persona=tuple(sorted(plan.persona_names)),
        first=survey.first.isoformat() if survey.first else "",
        last=survey.last.isoformat() if survey.last else "",
        notes=tuple(_notes(plan)),
    )


def _notes(plan: Plan) -> Iterator[str]:
    """Yield what somebody importing may not have meant."""
    if not plan.survey.records:
        bad = "can be taken; see the rows that were not" if plan.survey.problem_count else "has a text"
        yield f"nothing is imported: no message of the file {bad}"
    for text, count in plan.survey.notes.items():
        yield f"{text}: {count}"
    if plan.survey.moved:
        yield f"messages whose send_date does not fit their place, given the time before: {plan.survey.moved}"
    if plan.persona is None and len(plan.survey.persona_names) > 1:
        names = ", ".join(sorted(plan.survey.persona_names)[:8])
        yield f"several characters speak ({names}); the persona is one of them: name it with --persona-speaker"
    if plan.survey.records and not plan.persona_names:
        yield "nobody was named as the persona (--persona-speaker), so nothing here counts as said by it"
    if not plan.private:
        yield ("without --private new conversations are public: seen from every public conversation of the same server")


def _with_outcome(result: ImportResult, outcome: Outcome) -> ImportResult:
    counts, refused = outcome.counts, outcome.refused
    errors = sorted((*result.errors, *refused[:MAX_LISTED]))[:MAX_LISTED]
    return replace(
        result,
        imported=counts["stored"],
        duplicates=counts["duplicate"],
        story={name: count for name, count in outcome.story.items() if count},
        instructions=outcome.instructions,
        left_out={reason: n for reason, n in sorted(counts.items()) if reason not in ("stored", "duplicate")},
        errors=tuple(errors),
        error_count=result.error_count + len(refused),
        stopped_after_row=outcome.stopped_after_row,
    )


# Exports of other programs


def _import_export(
    importing: platforms.ExportImport,
    found: Found,
    opened: tuple[Database | None, GivenSettings, Scope | None],
    progress: Progress | None,
    should_stop: Callable[[], bool],
    *,
    dry_run: bool,
) -> ImportResult:
    importing.look(_named(progress, "looking"), should_stop)
    result = _describe_export(importing, found, opened[2].server if opened[2] else "")
    if dry_run or should_stop():
        return replace(result, dry_run=dry_run, stopped_after_row=None if dry_run else 0)
    outcome, memories = importing.store(open_call(*opened), progress, should_stop)
    result = replace(result, conversations=tuple(importing.plan(opened[2].server if opened[2] else "").privacies()))
    counts = outcome.counts
    refused = [Problem(0, fault.reason, fault.place) for fault in outcome.refused]
    left = Counter(result.left_out)
    left.update({name: n for name, n in counts.items() if name not in ("stored", "edited", "service", "duplicate")})
    return replace(
        result,
        imported=counts["stored"],
        edited=counts["edited"],
        duplicates=counts["duplicate"],
        service=counts["service"],
        memories=memories,
        story={"alternatives": outcome.alternatives} if outcome.alternatives else {},
        instructions=outcome.instructions,
        instruction_texts=tuple(outcome.instruction_texts),
        left_out=dict(sorted(left.items())),
        errors=(*result.errors, *refused)[:MAX_LISTED],
        error_count=result.error_count + outcome.refused_count,
        stopped_after_row=outcome.stopped_after,
    )


def _describe_export(importing: platforms.ExportImport, found: Found, server: str) -> ImportResult:
    survey = importing.survey
    privacies = importing.plan(server).privacies()
    public = sum(1 for privacy in privacies.values() if privacy == "public")
    speakers: Counter[str] = Counter()
    for person in survey.people.values():
        speakers[person.name] += person.lines
    notes = [f"{text}: {count}" for text, count in importing.reading.notes.items()]
    if survey.lines and not importing.persona_names:
        notes.append("nobody was named as the persona (--persona-speaker), so nothing here counts as said by it")
    if public:
        notes.append(
            f"{public} of {len(privacies)} conversations are public: seen from every public one of their server"
        )
    return ImportResult(
        format=found.format,
        could_import=survey.lines,
        service=survey.services,
        memories=survey.notes,
        left_out=dict(sorted(survey.left.items())),
        errors=tuple(Problem(0, fault.reason, fault.place) for fault in survey.faults),
        error_count=survey.fault_count,
        conversations=tuple(privacies),
        private_count=len(privacies) - public,
        days=len(survey.days),
        speakers=dict(speakers),
        persona=importing.persona_names,
        first=survey.first.isoformat() if survey.first else "",
        last=survey.last.isoformat() if survey.last else "",
        notes=tuple(notes),
    )
