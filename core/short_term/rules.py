"""Rules for short-term entries: the lines they store of a turn, their expiry, and the part that prompts show."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo
from typing import NamedTuple

from ..access.rules import plain_key, show_key
from ..context import lines
from ..shapes import PERSONA_SENDER, HistoryEntry
from ..text.folding import collapsed, one_line
from ..text.hits import DEFAULT_PERSONA
from ..text.times import iso_text
from .shapes import Entry, Item, ShortTermMessage, ShortTermSection

CUT_MARK = "..."
MESSAGE_CHARS = 4000
SUMMARY_CHARS = 1500
SUMMARY_MESSAGES = 6
SUMMARY_EVERY = 10
SLICE = 10
"""Minimum number of newest messages of a turn that are read, even if an entry stores fewer."""


def slice_turn(messages: Sequence[Item | None], answers: Sequence[Item], most: int) -> tuple[Item, ...]:
    """Return the lines of a turn that an entry stores, oldest first: earlier lines, then the personas' answers."""
    newest = [item for item in messages[-max(SLICE, most) :] if item is not None]
    return tuple([*newest, *answers][-most:])


def cut_text(text: str) -> str:
    return text if len(text) <= MESSAGE_CHARS else text[:MESSAGE_CHARS] + CUT_MARK


def build_key(user: str, channel: str, persona: str = DEFAULT_PERSONA) -> str:
    """Return the key of an entry as text; `%` and `:` inside a part are percent-encoded."""
    parts = [user, channel, *([persona] if persona != DEFAULT_PERSONA else [])]
    return ":".join(["shortterm", "user", *(part.replace("%", "%25").replace(":", "%3A") for part in parts)])


def build_message(item: Item) -> ShortTermMessage:
    return {"role": item.role, "content": item.content, "speaker": item.speaker, "timestamp": iso_text(item.at)}


def is_summary_due(messages: int, turns: int) -> bool:
    return messages >= SUMMARY_MESSAGES and turns >= SUMMARY_EVERY


class Since(NamedTuple):
    """Data older than these times has expired: entries by the time of their last turn, summaries by their own time."""

    entry: datetime
    summary: datetime


def is_alive(moment: datetime | None, since: datetime) -> bool:
    """Return whether data of this time is still valid; data without a time has expired."""
    return moment is not None and moment > since


def drop_expired(entries: Iterable[Entry], since: Since) -> list[Entry]:
    live = []
    for entry in entries:
        if is_alive(entry.summary_at, since.summary):
            live.append(entry)
        elif is_alive(entry.updated, since.entry):
            live.append(replace(entry, summary="", summary_at=None))
    return live


def describe_age(moment: datetime, now: datetime) -> str:
    """Return how long ago a moment was, in words; a future moment is `just now`."""
    return "over a week ago" if now - moment >= timedelta(days=7) else lines.age_text(now - moment)


def newest_first(entries: Iterable[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda e: (-e.updated.timestamp() if e.updated else 0.0, e.channel, -e.id))


def choose_entries(
    entries: Iterable[Entry], channel: str | None, most: int, shown: Collection[tuple[str, str]] = ()
) -> tuple[list[Entry], dict[int, str]]:
    """Return (entries to show, newest first; reason by id for each entry left out).

    The channel itself shows its summary only; up to `most` other channels show their newest entry, without the lines in
    `shown`, given as (channel, text).
    """
    # Turns of a host that names no interface are stored under the channel's id alone.
    own_names = {channel, plain_key(channel).partition("/")[2]} - {""} if channel else set()
    chosen: list[Entry] = []
    left_out: dict[int, str] = {}
    channels: set[str] = set()
    others = 0
    for entry in newest_first(entries):
        is_own = entry.channel in own_names
        name = "" if is_own else entry.channel
        if name in channels or (is_own and entry.summary_at is None):
            left_out[entry.id] = "duplicate"
            continue
        channels.add(name)
        fresh = () if is_own else tuple(i for i in entry.items if not _is_shown(entry.channel, i.content, shown))
        if not entry.summary and not fresh:
            left_out[entry.id] = "visible"
        elif not is_own and others >= most:
            left_out[entry.id] = "limit"
        else:
            others += not is_own
            chosen.append(replace(entry, items=fresh))
    return chosen, left_out


def _is_shown(channel: str, content: str, shown: Collection[tuple[str, str]]) -> bool:
    text = collapsed(content)
    if len(content) <= MESSAGE_CHARS:
        return (channel, text) in shown
    start = text.removesuffix(CUT_MARK)  # the history has the whole message
    return any(where == channel and line.startswith(start) for where, line in shown)


def build_section(entry: Entry, now: datetime, zone: tzinfo) -> ShortTermSection:
    section: ShortTermSection = {
        "channel": one_line(entry.channel_name).strip() or show_key(entry.channel),
        "age": describe_age(entry.updated or now, now),
    }
    if entry.summary:
        return {**section, "summary": entry.summary}
    said = []
    for item in entry.items:
        sender_id = PERSONA_SENDER if item.role == "model" else ""
        line = HistoryEntry("", item.content, sender_id=sender_id, sender_name=item.speaker, time=item.at)
        said.append(lines.body(line, zone=zone, now=None))  # the section states the age
    return {**section, "lines": said}
