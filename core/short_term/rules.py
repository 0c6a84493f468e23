"""What is kept of a turn, for how long, and what of it is shown elsewhere.

Pure: entries and times come in, decisions go out. How the host's turn is read stands in `short_term.rules_turn`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo
from hashlib import blake2b

from ..context import lines
from ..shapes import PERSONA_SENDER, HistoryEntry
from ..text.folding import collapsed, one_line
from .shapes import Chosen, Entry, Item, Life, OwnerKind, ShortTermSection, newest_first

SLICE = 10
"""Messages looked at of a turn, however few of them are kept."""
CUT_MARK = "..."
DEFAULT_PERSONA = "default"
SUMMARY_MESSAGES = 6
"""Messages an entry has at least when a summary is asked for."""
ELSEWHERE = "another place"
"""Label of an entry of another server."""


# What is kept


def slice_turn(messages: Sequence[Item | None], answers: Sequence[Item], most: int) -> tuple[Item, ...]:
    """Return what an entry keeps of a turn, oldest first: lines of before, then what the personas answered.

    Args:
        messages: those built for the turn, oldest first; None stands for what is no line, and takes a place of the
            newest that are looked at.
        answers: what the personas said in this turn, in order.
        most: SHORT_TERM_MEMORY_MAX_MESSAGES_PER_CHANNEL, 1 to 200. Of the messages the newest 10 are looked at, or
            this many where it is more.

    Returns:
        At most `most` items.

    >>> old = [None, *(Item("user", str(n)) for n in range(3))]
    >>> [item.content for item in slice_turn(old, [Item("model", "yes")], 3)]
    ['1', '2', 'yes']
    """
    newest = [item for item in messages[-max(SLICE, most) :] if item is not None]
    return tuple([*newest, *answers][-most:])


def cut_text(text: str, chars: int) -> str:
    """Return a text as an entry keeps it: whole up to `chars` characters, else cut with three dots.

    >>> cut_text("abc", 3), cut_text("abcd", 3)
    ('abc', 'abc...')
    """
    return text if len(text) <= chars else text[:chars] + CUT_MARK


def mark_participant(participant: str) -> str:
    """Return what stands in an item for who said it: 20 hexadecimal digits worked out from the participant key.

    It finds the lines of a person in any entry, whatever characters the key has, and shows nobody who it was.

    >>> len(mark_participant("discord/u1")), mark_participant("")
    (20, '')
    """
    return blake2b(participant.encode("utf-8", "replace"), digest_size=10).hexdigest() if participant else ""


def build_key(kind: OwnerKind, owner: str, channel: str, persona: str = DEFAULT_PERSONA) -> str:
    """Return the key of an entry in text form; `%` and `:` inside a part are percent-encoded.

    >>> build_key("user", "a:b", "c"), build_key("user", "a", "b:c"), build_key("server", "s1", "c", "0")
    ('shortterm:user:a%3Ab:c', 'shortterm:user:a:b%3Ac', 'shortterm:server:s1:c:0')
    """
    parts = ["shortterm", kind, _encoded(owner), _encoded(channel)]
    if persona != DEFAULT_PERSONA:
        parts.append(_encoded(persona))
    return ":".join(parts)


def _encoded(part: str) -> str:
    return part.replace("%", "%25").replace(":", "%3A")


# For how long


def build_life(entry_hours: float, summary_hours: float) -> Life:
    """Return how long entries and summaries are read, from hours.

    >>> build_life(12, 24).entry
    datetime.timedelta(seconds=43200)
    """
    return Life(timedelta(hours=entry_hours), timedelta(hours=summary_hours))


def is_alive(since: datetime | None, now: datetime, most: timedelta) -> bool:
    """Return whether something of that time is still read; at its limit it is not, without a time neither.

    >>> from datetime import UTC
    >>> noon = datetime(2026, 3, 10, 12, tzinfo=UTC)
    >>> is_alive(noon - timedelta(hours=12), noon, timedelta(hours=12)), is_alive(noon, noon, timedelta(hours=12))
    (False, True)
    """
    return since is not None and now - since < most


def is_expired(updated: datetime | None, summary_at: datetime | None, now: datetime, life: Life) -> bool:
    """Return whether an entry is too old to be read: neither its last turn nor its summary is young enough.

    Args:
        updated: when its last turn was kept, or its summary was written.
        summary_at: when its summary was written, None without one.

    >>> from datetime import UTC
    >>> noon, hour, life = datetime(2026, 3, 10, 12, tzinfo=UTC), timedelta(hours=1), build_life(12, 24)
    >>> is_expired(noon - 13 * hour, None, noon, life), is_expired(noon - 13 * hour, noon - 13 * hour, noon, life)
    (True, False)
    """
    return not is_alive(updated, now, life.entry) and not is_alive(summary_at, now, life.summary)


def drop_expired(entry: Entry, now: datetime, life: Life) -> Entry | None:
    """Return the entry without what has expired, None where all of it has."""
    if is_expired(entry.updated, entry.summary_at, now, life):
        return None
    if entry.summary_at is not None and not is_alive(entry.summary_at, now, life.summary):
        return replace(entry, summary="", summary_at=None)
    return entry


def describe_age(moment: datetime, now: datetime) -> str:
    """Return how long ago something was, in words; what lies in the future is `just now`.

    >>> from datetime import UTC
    >>> noon = datetime(2026, 3, 10, 12, tzinfo=UTC)
    >>> [describe_age(noon - timedelta(minutes=m), noon) for m in (0.5, 1.5, 59.9, 60, 1440, 10080)]
    ['just now', '1 minute ago', '59 minutes ago', '1 hour ago', '1 day ago', 'over a week ago']
    """
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
    """Return the entries a context shows: that of the channel itself for its summary, and the newest others.

    Of a channel found under both the user's and the server's key the newer entry is taken, of equal ones the user's.

    Args:
        entries: what may be seen, in any order, as `as_read` gives them; their texts are not looked at.
        channels: names of the channel the context is for; empty for none.
        most: SHORT_TERM_MAX_CHANNELS, 0 to 50 others.

    >>> from datetime import UTC
    >>> at = datetime(2026, 3, 10, 12, tzinfo=UTC)
    >>> found = [Entry(n, "default", "user", "u1", f"c{n}", at + timedelta(minutes=n)) for n in range(5)]
    >>> [entry.channel for entry in choose_entries(found, {"c4"}, 2).all]
    ['c3', 'c2']
    """
    by_channel: dict[str, list[Entry]] = {}
    for entry in entries:
        by_channel.setdefault(entry.channel, []).append(entry)
    mine: list[Entry] = []
    others: list[Entry] = []
    for name, found in by_channel.items():
        if name in channels:
            # A summary is written to both entries; where one of them was removed the other still has it.
            mine += [entry for entry in found if entry.summary_at is not None]
        else:
            others.append(_newest(found))
    return Chosen(_newest(mine) if mine else None, newest_first(tuple(others))[: max(most, 0)])


def _newest(found: Sequence[Entry]) -> Entry:
    return max(found, key=lambda e: (e.updated.timestamp() if e.updated else 0.0, e.owner_kind == "user", e.id))


def drop_shown(entry: Entry, shown: Collection[tuple[str, str]]) -> Entry:
    """Return the entry without the lines that stand elsewhere in the same prompt.

    Args:
        shown: `(conversation key, collapsed text)` of the visible messages.

    >>> found = Entry(1, "default", "user", "u1", "tg/2", None, (Item("user", "Hi  there"), Item("user", "bye")))
    >>> [item.content for item in drop_shown(found, {("tg/2", "hi there")}).items]
    ['bye']
    """
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
    """Return what a context shows of an entry: its summary, else its lines; None where there is nothing to show.

    Args:
        entry: as `as_read` gives it.
        zone: of the times in the lines (flag TIMEZONE).
        own: it is of the channel the context is for, whose lines are there already.

    >>> from datetime import UTC
    >>> at = datetime(2026, 3, 10, 13, 5, tzinfo=UTC)
    >>> found = Entry(1, "default", "user", "u1", "tg/2", at, (Item("user", "hi", "Ann", at),), channel_name="den")
    >>> build_section(found, at + timedelta(minutes=3), UTC)
    {'channel': 'den', 'age': '3 minutes ago', 'lines': ['[10/03/26:1305] Ann: "hi"']}
    """
    made: ShortTermSection = {
        "channel": ELSEWHERE if entry.elsewhere else one_line(entry.channel_name).strip() or entry.channel,
        "age": describe_age(entry.updated or now, now),
    }
    if entry.summary:
        return {**made, "summary": entry.summary}
    if own or not entry.items:
        return None
    return {**made, "lines": [_line(item, now, zone) for item in entry.items]}


def _line(item: Item, now: datetime, zone: tzinfo) -> str:
    said = HistoryEntry(
        conversation="",
        text=item.content,
        sender_id=PERSONA_SENDER if item.role == "model" else "",
        sender_name=item.speaker,
        time=item.at,
    )
    return lines.body(said, zone=zone, now=now)


# Summaries


def read_summary(text: str, chars: int) -> tuple[str, int]:
    """Return `(summary, characters cut)` of what a model wrote: trimmed, at most `chars` long.

    >>> read_summary("  they planned a trip ", 12)
    ('they planned', 7)
    """
    trimmed = text.strip()
    return trimmed[:chars], max(0, len(trimmed) - chars)


def is_summary_due(messages: int, turns: int, every: int) -> bool:
    """Return whether a new summary is asked for: at least 6 messages, and enough turns since the last one.

    Args:
        messages: how many the entry has.
        turns: since the last summary, or since the entry was made.
        every: SHORT_TERM_SUMMARY_EVERY, 1 to 1000.

    >>> is_summary_due(6, 10, 10), is_summary_due(5, 10, 10), is_summary_due(6, 9, 10)
    (True, False, False)
    """
    return messages >= SUMMARY_MESSAGES and turns >= every


def is_second(turns: int, summary_lives: bool) -> bool:
    """Return whether a summary was written since the last turn was kept: a second one is one too many.

    >>> is_second(0, True), is_second(1, True), is_second(0, False)
    (True, False, False)
    """
    return summary_lives and turns == 0
