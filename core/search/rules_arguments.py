"""Read the arguments of a search: limit, tags, keywords, times and exclusions."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal, cast

from ..base.hints import shown
from ..base.patterns import lazy_pattern
from ..base.wire_ids import LARGEST_ID, find_whole
from ..shapes import SOURCES, Source
from ..tags.rules import TAG_BYTES, normal, tag_items
from ..text.folding import clean, fold
from ..text.time import Span
from ..text.times import parse_time

MOST_LOOKED_FOR = 48
"""Maximum number of tags, and of keywords, in one search."""

KEYWORD_CHARS = 400
"""Longest keyword, in characters."""

TIME_FORMS = (
    "an ISO 8601 time such as '2026-03-10T12:00:00Z' or '2026-03-10', a datetime, a number of seconds since 1970, or "
    "words that name one time, such as 'last week' or '3 days ago'"
)
MOST_TIME_CHARS = 200
"""Maximum number of characters of words of time."""
_DATE = lazy_pattern(r"\d{4}-?(\d\d-?\d\d|W\d\d-?\d)")
Bound = Literal["since", "until"]
ReadWords = Callable[[str], Span | None]
"""Returns the one span of time that a text names."""

_SHOWN_NAMES = 20

MOST_HITS = 200


def read_limit(value: object, default: int = 5, low: int = 1, high: int = MOST_HITS) -> tuple[int, str | None]:
    """Return the limit, clamped to `low`..`high`; `default` for None, 0 and, with a note, values that are no number."""
    if value is None:
        return default, None
    number = _read_number(value)
    if math.isnan(number):
        note = f"limit is {shown(value)}, which is no number; it must be a whole number, {low} to {high}; "
        return default, f"{note}{default} is used"
    if number < 0:
        return low, None
    whole = high if number >= high else int(number)
    return (max(whole, low), None) if whole else (default, None)


def _read_number(value: object) -> float:
    """Return a value as a number; nan if it is not one."""
    if isinstance(value, bool) or (isinstance(value, str) and len(value) > 400):
        return math.nan
    try:
        return float(cast("float", value))
    except OverflowError:
        return math.inf if cast("int", value) > 0 else -math.inf
    except (ValueError, TypeError):
        return math.nan


def _at_most(found: Mapping[str, str], name: str, notes: list[str]) -> list[str]:
    kept = list(found.values())
    rest = kept[MOST_LOOKED_FOR:]
    if rest:
        names = ", ".join(shown(item) for item in rest[:_SHOWN_NAMES])
        more = f" and {len(rest) - _SHOWN_NAMES} more" if len(rest) > _SHOWN_NAMES else ""
        notes.append(f"{name}: {len(rest)} over the limit of {MOST_LOOKED_FOR} were left out: {names}{more}")
    return kept[:MOST_LOOKED_FOR]


def read_tags(value: object) -> tuple[list[str], list[str]]:
    """Return the normalized tags to search for, unique, in the order given, and notes on those left out."""
    notes: list[str] = []
    found: dict[str, str] = {}
    for item in tag_items(value):
        tag = normal(item)
        size = len(tag.encode("utf-8"))
        if size > TAG_BYTES:
            notes.append(f"tags: a tag of {size} bytes was left out; at most {TAG_BYTES} bytes are stored")
        elif tag:
            found[tag] = tag
    return _at_most(found, "tags", notes), notes


def read_keywords(value: object) -> tuple[list[str], list[str]]:
    """Return the trimmed keywords to search for, unique after `fold`, in the order given, and notes on those cut."""
    notes: list[str] = []
    found: dict[str, str] = {}
    for item in tag_items(value, "keywords"):
        keyword = clean(item).strip()
        if len(keyword) > KEYWORD_CHARS:
            notes.append(f"keywords: a keyword of {len(keyword)} characters was cut to {KEYWORD_CHARS}")
            keyword = keyword[:KEYWORD_CHARS].strip()
        folded = fold(keyword)
        if folded.strip():
            found.setdefault(folded, keyword)
    return _at_most(found, "keywords", notes), notes


def read_time(value: object, field: Bound, read_words: ReadWords) -> datetime | None:
    """Return the time as aware UTC, None for None. A period gives its start, or as `until` its (exclusive) end."""
    if value is None:
        return None
    moment = parse_time(value)
    if moment is not None and field == "until" and type(value) in (str, date) and _DATE.fullmatch(str(value).strip()):
        moment += timedelta(days=1)
    if moment is None and isinstance(value, str) and value.strip() and len(value) <= MOST_TIME_CHARS:
        span = read_words(value)
        moment = None if span is None else span.start if field == "since" else _end_of(span)
    if moment is None:
        raise ValueError(f"{field} is {shown(value)}. It must be {TIME_FORMS}. Change it, or leave it out.")
    return moment


def _end_of(span: Span) -> datetime | None:
    if span.start and span.end and span.precision in ("minute", "hour"):  # a moment in the middle of its span
        return span.start + (span.end - span.start) / 2
    return span.end or span.start


@dataclass(frozen=True, slots=True)
class Exclude:
    rows: frozenset[tuple[Source, int]] = frozenset()
    """Excluded rows, as (source, id)."""
    conversations: frozenset[str] = frozenset()
    """Keys of conversations whose chat rows are excluded."""


def read_exclude(value: object) -> Exclude:
    if isinstance(value, Exclude):
        return value
    items = _exclude_items(value)
    rows: set[tuple[Source, int]] = set()
    conversations: set[str] = set()
    for at, item in enumerate(items):
        if isinstance(item, str):
            conversations.add(item)
        elif isinstance(item, Mapping) and {"source", "id"} <= item.keys():
            rows.add(_row(item["source"], item["id"], at))
        elif isinstance(item, (tuple, list)) and len(item) == 2:
            rows.add(_row(item[0], item[1], at))
        else:
            raise TypeError(
                f"exclude[{at}] is {shown(item)}. It must be a (source, id) pair or a conversation key. "
                "Pass a list of those."
            )
    return Exclude(frozenset(rows), frozenset(conversations))


def _exclude_items(value: object) -> Iterable[object]:
    if value is None:
        return ()
    is_pair = isinstance(value, (tuple, list)) and [type(item) for item in value] == [str, int]
    if is_pair or isinstance(value, (str, Mapping)):
        return (value,)
    if isinstance(value, (tuple, list, set, frozenset)):
        return value
    raise TypeError(f"exclude is {shown(value)}. It must be a list of (source, id) pairs and conversation keys.")


def _row(source: object, number: object, at: int) -> tuple[Source, int]:
    name = "chat_history" if source == "chat_history_cache" else source
    if name not in SOURCES:
        raise ValueError(f"exclude[{at}] names source {shown(source)}. It must be one of {', '.join(SOURCES)}.")
    if isinstance(number, str) and number.isascii() and number.isdigit() and len(number) < 20:
        number = int(number)
    if (row_id := find_whole(number)) is None:
        raise ValueError(f"exclude[{at}] has id {shown(number)}. It must be a whole number.")
    if not 0 <= row_id <= LARGEST_ID:
        raise ValueError(f"exclude[{at}] has id {shown(number)}, which no row has. Give the id of a hit.")
    return name, row_id
