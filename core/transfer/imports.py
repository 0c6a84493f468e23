"""Reading a file of conversations into the chat history: all of it that can be taken, each message once.

| Called by | For |
|---|---|
| the command `prompt-engine import` | `import_file` |
| hosts | the same |
"""

from __future__ import annotations

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
from . import lines
from .records import Problem
from .storage import Outcome, Plan, Progress, store_messages
from .survey import MAX_LISTED, look


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What an import did. `imported + duplicates + left_out` are the messages that were looked at."""

    format: str
    could_import: int = 0
    """Messages of the file that can be taken, those that are there already with them; what a dry run is asked for."""
    imported: int = 0
    duplicates: int = 0
    """Messages that were there already, from this file or another."""
    skipped: int = 0
    """Rows with a blank text."""
    story: dict[str, int] = field(default_factory=dict)
    """What came with the messages: `alternatives`, `recaps`, `scenes`, `running_recaps`, with how many."""
    wishes: int = 0
    """Wishes recognised in the messages that were imported (RECORD_WISHES); a newer one takes an older one's place."""
    left_out: dict[str, int] = field(default_factory=dict)
    """Why else messages were not stored, such as `privacy`, with how many."""
    errors: tuple[Problem, ...] = ()
    """Rows that cannot be taken; the first 1,000."""
    error_count: int = 0
    conversations: tuple[str, ...] = ()
    """Conversation keys; the first 1,000."""
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
        made["errors"] = [{"row": problem.row, "reason": problem.reason} for problem in self.errors]
        return {name: list(value) if isinstance(value, tuple) else value for name, value in made.items()}


def import_file(
    path: str | PathLike[str],
    *,
    interface: str = "import",
    conversation: str | None = None,
    persona: str | None = None,
    private: bool = False,
    time_zone: str = "UTC",
    dry_run: bool = False,
    max_bytes: int = lines.MAX_BYTES,
    progress: Progress | None = None,
    should_stop: Callable[[], bool] | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> ImportResult:
    """Return what became of the messages of a file. The same file again adds nothing.

    Bad rows are listed, good ones taken. Messages are stored in transactions of 500, so an import that was stopped or
    failed has stored whole transactions, and goes on where it was when it is run again.

    Args:
        path: JSON Lines, also packed with gzip: one {conversation, session, id, timestamp, speaker, text} a line, or a
            chat of SillyTavern.
        interface: first part of the conversation keys, `interface/conversation`.
        conversation: one conversation key for everything instead.
        persona: the speaker who is the persona itself. None follows the file: in a chat of SillyTavern the character.
        private: make conversations that are not known yet direct messages, or restricted where several people speak.
        time_zone: IANA name of where times without an offset were written.
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
    key_text(interface, "interface", 64, required=True)
    if conversation is not None:
        key_text(conversation, "conversation", KEY_BYTES["conversation"], required=True)
    survey = look(file, zone, max_bytes=max_bytes, progress=_named(progress, "looking"), should_stop=should_stop)
    if persona is not None and persona not in survey.speakers and len(survey.speakers) < MAX_LISTED:
        known = ", ".join(repr(name) for name in list(survey.speakers)[:8])
        raise TransferError(f"Nobody called {persona!r} speaks in {str(file)!r}. Speakers are {known}.")
    plan = Plan(file, survey, zone, interface, conversation, persona, private, max_bytes)
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
        persona=(plan.persona,) if plan.persona is not None else tuple(sorted(survey.persona_names)),
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
    if plan.persona is None and plan.survey.records and not plan.survey.persona_names:
        yield "nobody was named as the persona (--persona), so nothing here counts as said by it"
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
        wishes=outcome.wishes,
        left_out={reason: n for reason, n in sorted(counts.items()) if reason not in ("stored", "duplicate")},
        errors=tuple(errors),
        error_count=result.error_count + len(refused),
        stopped_after_row=outcome.stopped_after_row,
    )
