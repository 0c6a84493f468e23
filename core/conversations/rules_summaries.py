"""Titles and summaries of ended conversations: reading messages and model replies, and making extracts."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from typing import Any, Literal

from ..access.rules import named_participant, split_key
from ..context.lines import stamp, stamp_day
from ..context.live import read_line
from ..memories.rules import find_mark
from ..shapes import Line
from ..text.extracts import build_extract, rarest_words
from ..text.folding import clean
from ..text.host_values import is_plain, newest_items
from ..text.replies import judge_refusal, read_object, strip_thoughts
from ..text.times import iso_text, zone

UNTITLED, NO_SUMMARY = "Untitled conversation", "No summary"
TITLE_CHARS, SUMMARY_CHARS = 200, 2000
TITLE_WORDS, SUMMARY_SENTENCES = 8, 3
MOST_MESSAGES, MOST_CHARS = 200, 24_000
"""Maximum number of messages, and of characters in total, in one summary; the newest are used."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Title and summary of a conversation, one line each."""

    title: str
    text: str
    provenance: Literal["model", "extract"]


def read_messages(messages: object, conversation: str | None, participant: str | None = None) -> list[Line]:
    """Parse the messages that a host passes in, without blank ones and texts that nobody said, such as tool results."""
    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Iterable):
        raise TypeError(f"messages is of type {type(messages).__name__}. Pass a list of messages.")
    interface = split_key(conversation)[0] if conversation else ""
    lines = []
    last = participant
    for order, given in enumerate(newest_items(messages, "messages")):
        line = _line(given, conversation or "", interface, order)
        if line is None or not line.text.strip():
            continue
        if not line.is_persona:
            last = line.participant or participant or named_participant(interface, line.sender_name)
        lines.append(replace(line, triggered_by=last) if line.is_persona else replace(line, participant=last))
    return lines


def _line(given: Any, conversation: str, interface: str, order: int) -> Line | None:
    if isinstance(given, str):
        return Line(text=clean(given))
    if not is_plain(given) and find_mark(given):
        return None
    entry = read_line(given, conversation, order)
    if entry is None:
        return None
    is_own = entry.role == "persona"
    participant = f"{interface}/{entry.sender_id}" if interface and entry.sender_id and not is_own else None
    return Line(
        text=entry.text, sender_name=entry.sender_name or entry.username, participant=participant,
        role="persona" if is_own else "user", at=entry.time, message_id=entry.message_id, sender_id=entry.sender_id,
    )  # fmt: skip


def keep_newest(lines: Sequence[Line]) -> list[Line]:
    """Return the newest lines that fit into one question to a model, in order; at least the newest line."""
    kept: list[Line] = []
    room = MOST_CHARS
    for line in reversed(lines[-MOST_MESSAGES:]):
        room -= len(line.text)
        if kept and room < 0:
            break
        kept.append(line)
    return kept[::-1]


def cut(line: Line) -> Line:
    return replace(line, text=line.text[:MOST_CHARS])


def number_end(line: Line) -> int:
    """Return the number that identifies a conversation's end: the last message's row id, else its negative hash."""
    if line.row_id:
        return line.row_id
    identity = "\x1f".join((line.message_id or "", line.sender_id or line.sender_name, line.text, iso_text(line.at)))
    digest = int.from_bytes(hashlib.sha256(identity.encode("utf-8", "replace")).digest()[:8], "big")
    return -(digest % 2**62 + 1)


def read_title(value: object) -> str:
    """Normalise a title: one line without leading `#`, at most 200 characters; "" if `value` is unusable."""
    return " ".join(clean(value).split()).lstrip("# ")[:TITLE_CHARS].rstrip() if isinstance(value, str) else ""


def read_summary(value: object) -> str:
    """Normalise a summary: one paragraph of at most 2,000 characters; "" if `value` is not a text."""
    return " ".join(clean(value).split())[:SUMMARY_CHARS].rstrip() if isinstance(value, str) else ""


def name_speakers(lines: Sequence[Line]) -> list[str]:
    """Return the speaker of each line; [] if only one person speaks, because the summary then needs no names."""
    people = {(line.participant or line.sender_name) for line in lines if not line.is_persona}
    if len(people) < 2:
        return []
    return [line.sender_name or ("persona" if line.is_persona else "") for line in lines]


def show_lines(lines: Iterable[Line], zone: tzinfo | None = None) -> list[str]:
    """Format each line as JSON with its speaker, for the model; with `zone`, also with its number (from 1) and day."""
    shown = []
    for number, line in enumerate(lines, 1):
        dated = {"n": number, "day": stamp_day(line.at, zone).strip("[]")} if zone else {}
        speaker = line.sender_name or ("persona" if line.is_persona else "person")
        shown.append(json.dumps({**dated, "from": speaker, "text": line.text}, ensure_ascii=False))
    return shown


def extract_summary(lines: Sequence[Line]) -> Summary:
    """Build title and summary without a model: rare words of a person's first useful message, and chosen sentences."""
    texts = [line.text for line in lines]
    by_people = (line.text for line in lines if not line.is_persona)
    telling = (rarest_words([text], texts, TITLE_WORDS) for text in by_people if build_extract([text]))
    words = next(filter(None, telling), [])
    summary = read_summary(build_extract(texts, speakers=name_speakers(lines), most_sentences=SUMMARY_SENTENCES))
    return Summary(read_title(" ".join(words)) or UNTITLED, summary or NO_SUMMARY, "extract")


def build_substitute(lines: Sequence[Line]) -> Summary:
    """Build the summary to store if the model gave no usable answer."""
    return replace(extract_summary(lines), title=UNTITLED)


def read_reply(reply: str, lines: Sequence[Line], *, patterns: Sequence[str]) -> Summary:
    """Parse title and summary of a model's reply; an extract replaces a missing summary, UNTITLED a missing title."""

    def usable(text: str) -> str:
        return "" if judge_refusal(text, "", patterns=patterns) else text

    answer = read_object(reply, ("title", "summary"))
    if answer is None:
        words = usable(read_summary(strip_thoughts(reply)))
        if not words or words.startswith(("{", "[", "```")):  # an object without these keys is not a summary
            return build_substitute(lines)
        return Summary(UNTITLED, words, "model")
    title, summary = usable(read_title(answer.get("title"))), usable(read_summary(answer.get("summary")))
    if not title and not summary:
        return build_substitute(lines)
    return Summary(title or UNTITLED, summary or extract_summary(lines).text, "model")


def format_time(moment: datetime | None, zone_name: str) -> str:
    """Format a time as `YYYY-MM-DD HH:MM` in the zone; None becomes ""."""
    return stamp(moment, zone(zone_name) or UTC)[1:-1]
