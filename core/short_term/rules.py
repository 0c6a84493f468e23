"""What is kept of a turn, for how long, and what of it is shown elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo
from hashlib import blake2b

from ..access.rules import show_key
from ..context import lines
from ..shapes import PERSONA_SENDER, HistoryEntry
from ..text.folding import collapsed, one_line
from .shapes import Chosen, Entry, Item, Life, ShortTermSection, newest_first

SLICE = 10
"""Messages looked at of a turn, however few of them are kept."""
CUT_MARK = "..."
DEFAULT_PERSONA = "default"
MESSAGE_CHARS = 4000
"""Most characters of a line."""
SUMMARY_CHARS = 1500
SUMMARY_MESSAGES = 6
"""Messages an entry has at least when a summary is asked for."""
SUMMARY_EVERY = 10
"""Turns after which a new summary is asked for."""


# What is kept


def slice_turn(messages: Sequence[Item | None], answers: Sequence[Item], most: int) -> tuple[Item, ...]:
    """Return what an entry keeps of a turn, oldest first: lines of before, then what the personas answered."""
    newest = [item for item in messages[-max(SLICE, most) :] if item is not None]
    return tuple([*newest, *answers][-most:])


def cut_text(text: str) -> str:
    """Return a text as an entry keeps it: whole up to `MESSAGE_CHARS` characters, else cut with three dots."""
    return text if len(text) <= MESSAGE_CHARS else text[:MESSAGE_CHARS] + CUT_MARK


def mark_participant(participant: str) -> str:
    """Return what stands in an item for who said it: 20 hexadecimal digits worked out from the participant key."""
    return blake2b(participant.encode("utf-8", "replace"), digest_size=10).hexdigest() if participant else ""


def build_key(user: str, channel: str, persona: str = DEFAULT_PERSONA) -> str:
    """Return the key of an entry in text form; `%` and `:` inside a part are percent-encoded."""
    parts = ["shortterm", "user", _encoded(user), _encoded(channel)]
    if persona != DEFAULT_PERSONA:
        parts.append(_encoded(persona))
    return ":".join(parts)


def _encoded(part: str) -> str:
    return part.replace("%", "%25").replace(":", "%3A")


# For how long


def is_alive(since: datetime | None, now: datetime, most: timedelta) -> bool:
    """Return whether something of that time is still read; at its limit it is not, without a time neither."""
    return since is not None and now - since < most


def is_expired(updated: datetime | None, summary_at: datetime | None, now: datetime, life: Life) -> bool:
    """Return whether an entry is too old to be read: neither its last turn nor its summary is young enough."""
    return not is_alive(updated, now, life.entry) and not is_alive(summary_at, now, life.summary)


def drop_expired(entry: Entry, now: datetime, life: Life) -> Entry | None:
    """Return the entry without what has expired, None where all of it has."""
    if is_expired(entry.updated, entry.summary_at, now, life):
        return None
    if entry.summary_at is not None and not is_alive(entry.summary_at, now, life.summary):
        return replace(entry, summary="", summary_at=None)
    return entry


def describe_age(moment: datetime, now: datetime) -> str:
    """Return how long ago something was, in words; what lies in the future is `just now`."""
    seconds = (now - moment).total_seconds()
    if seconds < 60:
        return "just now"
    if seconds >= 7 * 86400:
        return "over a week ago"
    for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
        count = int(seconds // size)
        if count:
            return f"{count} {unit}{'' if count == 1 else 's'} ago"
    raise AssertionError


# What is shown


def choose_entries(entries: Iterable[Entry], channels: Collection[str], most: int) -> Chosen:
    """Return the entries a context shows: that of the channel itself for its summary, and the newest others."""
    by_channel: dict[str, list[Entry]] = {}
    for entry in entries:
        by_channel.setdefault(entry.channel, []).append(entry)
    mine: list[Entry] = []
    others: list[Entry] = []
    for name, found in by_channel.items():
        if name in channels:
            mine += [entry for entry in found if entry.summary_at is not None]
        else:
            others.append(_newest(found))
    return Chosen(_newest(mine) if mine else None, newest_first(tuple(others))[: max(most, 0)])


def _newest(found: Sequence[Entry]) -> Entry:
    return max(found, key=lambda e: (e.updated.timestamp() if e.updated else 0.0, e.id))


def drop_shown(entry: Entry, shown: Collection[tuple[str, str]]) -> Entry:
    """Return the entry without the lines that stand elsewhere in the same prompt."""
    kept = tuple(item for item in entry.items if not _is_shown(entry.channel, item.content, shown))
    return entry if len(kept) == len(entry.items) else replace(entry, items=kept)


def _is_shown(channel: str, content: str, shown: Collection[tuple[str, str]]) -> bool:
    text = collapsed(content)
    if (channel, text) in shown:
        return True
    if not content.endswith(CUT_MARK):
        return False
    begun = text.removesuffix(CUT_MARK)  # the message itself is whole in the history
    return any(where == channel and said.startswith(begun) for where, said in shown)


def build_section(entry: Entry, now: datetime, zone: tzinfo, *, own: bool = False) -> ShortTermSection | None:
    """Return what a context shows of an entry: its summary, else its lines; None where there is nothing to show."""
    made: ShortTermSection = {
        "channel": one_line(entry.channel_name).strip() or show_key(entry.channel),
        "age": describe_age(entry.updated or now, now),
    }
    if entry.summary:
        return {**made, "summary": entry.summary}
    if own or not entry.items:
        return None
    return {**made, "lines": [_line(item, zone) for item in entry.items]}


def _line(item: Item, zone: tzinfo) -> str:
    said = HistoryEntry(
        conversation="",
        text=item.content,
        sender_id=PERSONA_SENDER if item.role == "model" else "",
        sender_name=item.speaker,
        time=item.at,
    )
    return lines.body(said, zone=zone, now=None)  # the age stands beside the lines


# Summaries


def read_summary(text: str) -> tuple[str, int]:
    """Return `(summary, characters cut)` of what a model wrote: trimmed, at most `SUMMARY_CHARS` long."""
    trimmed = text.strip()
    return trimmed[:SUMMARY_CHARS], max(0, len(trimmed) - SUMMARY_CHARS)


def is_summary_due(messages: int, turns: int) -> bool:
    """Return whether a new summary is asked for: at least 6 messages, and enough turns since the last one."""
    return messages >= SUMMARY_MESSAGES and turns >= SUMMARY_EVERY


def is_second(turns: int, summary_lives: bool) -> bool:
    """Return whether a summary was written since the last turn was kept: a second one is one too many."""
    return summary_lives and turns == 0
