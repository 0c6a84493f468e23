"""Exports of other programs: chats of ChatGPT, Claude, Discord, Open WebUI, Slack, Telegram and WhatsApp.

| Module | For |
|---|---|
| `archive`, `json_parts` | the files of an export: read where they lie, part by part |
| `finding` | which program they are of |
| `chatgpt`, `claude`, `discord` ... `whatsapp` | one format each, to `values` |
| `trees` | chats that branch |
| `survey` | the first look; stores nothing |
| `writer`, `notes` | everything into the database, whatever program it is of |

Called by `transfer.imports`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import tzinfo
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from ...calls.call import Call
from ...errors import TransferError
from ..items.pieces import check_bytes
from ..lines import MAX_BYTES
from . import notes, survey, writer
from .archive import Export
from .finding import TITLES, Found
from .renamed import Renamed
from .values import Reading
from .writer import Outcome, Plan, Progress

if TYPE_CHECKING:
    from .survey import Person, Survey

__all__ = ["ExportImport", "find_export"]


def find_export(path: Path, max_bytes: int = MAX_BYTES) -> Found | None:
    """Return the files of an export by the program they are of; None where a single file is of none of them."""
    check_bytes(max_bytes)
    try:
        is_there = path.is_file() or path.is_dir()
    except (OSError, ValueError):
        is_there = False
    if not is_there:
        return None
    export = Export(path, max_bytes)
    found = Found(export)
    if found.members:
        return found
    if not export.is_zip and not path.is_dir():
        return None
    listed = "; ".join(f"{fault.place}: {fault.reason}" for fault in export.faults[:5])
    raise TransferError(
        f"{str(path)!r} holds no chat of a program that is known: {', '.join(TITLES.values())}."
        + (f" Not looked at: {listed}." if listed else "")
    )


class ExportImport:
    """One import of an export."""

    def __init__(
        self, found: Found, *, zone: tzinfo, interface: str | None, conversation: str | None, persona: str | None,
        user: str, private: bool, day_first: bool | None,
    ) -> None:  # fmt: skip
        self.found: Found = found
        self.reading: Reading = Reading(zone, day_first, user)
        self.survey: Survey = survey.Survey()
        self._interface, self._conversation, self._private = interface, conversation, private
        self._persona = persona
        self._renamed = Renamed()

    def look(self, progress: Callable[[int, int], None] | None, should_stop: Callable[[], bool] | None) -> None:
        """Read the whole export and store nothing."""
        self.survey = survey.count_export(self.found, self.reading, progress, should_stop)
        if self._persona is not None:
            self._persona = self._find_persona(self._persona)

    def _find_persona(self, asked: str) -> str:
        """Return the id of the speaker who was named."""
        people = self.survey.people
        if asked in people:
            return asked
        wanted = asked.removeprefix("@").casefold()
        same = [key for key, each in people.items() if wanted in (each.name.casefold(), each.handle.casefold())]
        if len(same) == 1:
            return same[0]
        if len(same) > 1:
            raise TransferError(f"{len(same)} people are called {asked!r}. Name one by id: {', '.join(same[:8])}.")
        if len(people) >= survey.MAX_LISTED:
            return asked
        known = ", ".join(repr(person.name) for person in islice(_by_lines(people.values()), 8))
        raise TransferError(f"Nobody called {asked!r} speaks in {str(self.found.export.path)!r}. Speakers are {known}.")

    def plan(self, server: str) -> Plan:
        """Return how the lines become messages."""
        return Plan(
            self.survey, self._interface, self._conversation, self._persona, self._private, server, self._renamed
        )

    @property
    def persona_names(self) -> tuple[str, ...]:
        """Return the names of who counts as the persona."""
        people = self.survey.people.items()
        if self._persona is not None:
            return tuple(person.name for key, person in people if key == self._persona)
        return tuple(sorted({person.name for _, person in people if person.is_assistant}))

    def store(self, call: Call, progress: Progress | None, should_stop: Callable[[], bool]) -> tuple[Outcome, int]:
        """Store everything, and return what became of it and how many memories were stored."""
        plan = self.plan(call.scope.server)
        scope = replace(call.scope, conversation=None, participant=None)
        here = replace(call, scope=scope)
        outcome = writer.store_export(here, self.found, self.reading, plan, progress, should_stop)
        if outcome.stopped_after is not None:
            return outcome, 0
        return outcome, notes.store_notes(here, plan, outcome)


def _by_lines(people: object) -> Iterator[Person]:
    yield from sorted(people, key=lambda person: -person.lines)  # type: ignore[call-overload]
