"""The first look at a file: which format it has, how many rows can be taken, who speaks."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from itertools import islice
from pathlib import Path
from typing import Any

from ..base.file_order import settle_times
from ..database.dialects import from_microseconds, microseconds
from ..errors import TransferError
from . import chat_records, lines, sillytavern
from .looks import WHAT_TO_DO, describe_file
from .records import Problem, Read, Reader, Record, Skipped, said_type

_LOOKED_AT = 100
"""Rows among which one must fit a format."""
MAX_LISTED = 1000
"""Bad rows that are listed; further ones are counted."""
_SPEAKERS_PER_CONVERSATION = 3
"""Enough to know whether a conversation has one other participant or more."""

FORMATS: dict[str, tuple[Callable[[dict[str, Any]], bool], Callable[[tzinfo], Reader]]] = {
    "sillytavern": (sillytavern.fits, sillytavern.TavernReader),
    "records": (chat_records.fits, chat_records.RecordReader),
}


@dataclass(slots=True)
class Survey:
    """What a file holds."""

    format: str
    keeps_order: bool = False
    records: int = 0
    skipped: int = 0
    """Blank messages; headers do not count."""
    problems: list[Problem] = field(default_factory=list)
    problem_count: int = 0
    speakers: dict[str, int] = field(default_factory=dict)
    """Name to number of messages, at most MAX_LISTED names."""
    persona_names: set[str] = field(default_factory=set)
    """Names that spoke as the persona by what the file itself says."""
    character: str = ""
    """Name of the character in the header, blank where the file names none."""
    conversations: dict[str, set[str]] = field(default_factory=dict)
    """Conversation as the file names it to its speakers, at most three, without those the file calls the persona."""
    first: datetime | None = None
    last: datetime | None = None
    bytes: int = 0
    notes: dict[str, int] = field(default_factory=dict)
    times: array[int] = field(default_factory=lambda: array("q"))
    """Of each message, in microseconds since 1970, where the order of the file is kept (`base.file_order`)."""
    moved: int = 0
    """Messages whose time did not fit their place."""

    def add(self, read: Read) -> None:
        """Count one row."""
        if isinstance(read, Problem):
            self.problem_count += 1
            if len(self.problems) < MAX_LISTED:
                self.problems.append(read)
        elif isinstance(read, Skipped):
            self.skipped += read.reason == "empty"
        else:
            self._add_record(read)

    def _add_record(self, record: Record) -> None:
        self.records += 1
        if record.speaker in self.speakers or len(self.speakers) < MAX_LISTED:
            self.speakers[record.speaker] = self.speakers.get(record.speaker, 0) + 1
        spoke = self.conversations.setdefault(record.conversation, set())
        if record.is_persona:
            self.persona_names.add(record.speaker)
        elif record.role == "user" and len(spoke) < _SPEAKERS_PER_CONVERSATION:
            spoke.add(record.speaker)
        if self.keeps_order:
            self.times.append(microseconds(record.time))
        self.first = record.time if self.first is None else min(self.first, record.time)
        self.last = record.time if self.last is None else max(self.last, record.time)


def recognise(path: Path, *, max_bytes: int = lines.MAX_BYTES) -> str:
    """Return the format of a file."""
    looked = list(islice(lines.read(path, max_bytes=max_bytes), _LOOKED_AT))
    for line in looked:
        for name, (fits, _) in FORMATS.items():
            if isinstance(line.value, dict) and fits(line.value):
                return name
    raise TransferError(f"Nothing can be taken of {str(path)!r}: {describe_file(path)}. {WHAT_TO_DO}")


def reader_of(format_name: str, zone: tzinfo) -> Reader:
    """Return a new reader of a format."""
    return FORMATS[format_name][1](zone)


def each_row(path: Path, reader: Reader, *, max_bytes: int = lines.MAX_BYTES) -> Iterator[tuple[Read, int]]:
    """Yield what a reader makes of every row, and how many bytes of the file were read so far."""
    for line in lines.read(path, max_bytes=max_bytes):
        if isinstance(line.value, dict):
            reader.text = line.text
            yield reader.read(line.row, line.value), line.position
        elif isinstance(line.value, lines.BadJson):
            yield Problem(line.row, line.value.reason), line.position
        else:
            yield Problem(line.row, f"the row is {said_type(line.value)}, it must be an object"), line.position


def look(
    path: Path,
    zone: tzinfo,
    *,
    max_bytes: int = lines.MAX_BYTES,
    progress: Callable[[int, int], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Survey:
    """Return what a whole file holds."""
    total = lines.size_of(path)
    reader = reader_of(recognise(path, max_bytes=max_bytes), zone)
    survey = Survey(reader.format, reader.keeps_order)
    for count, (read, position) in enumerate(each_row(path, reader, max_bytes=max_bytes)):
        survey.add(read)
        survey.bytes = position
        if count % 500 == 0:
            if progress:
                progress(position, total)
            if should_stop and should_stop():
                break
    if progress:
        progress(survey.bytes, total)
    survey.notes = dict(reader.notes)
    name = reader.header.line.get("character_name") if reader.header else None
    survey.character = name if isinstance(name, str) else ""
    settled = array("q", settle_times(survey.times))
    survey.moved = sum(1 for told, kept in zip(survey.times, settled, strict=True) if told != kept)
    survey.times = settled
    if settled:
        survey.first, survey.last = from_microseconds(settled[0]), from_microseconds(settled[-1])
    return survey
