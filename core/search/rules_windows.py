"""Time windows in words, and the payload of the memory_search action."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import Literal, cast

from ..text.folding import clean, collapsed
from ..text.hints import find_nearest
from ..text.times import parse_time
from .rules_arguments import read_keywords, read_tags, shown

Window = tuple[datetime | None, datetime | None]

WINDOW_FORMS = (
    "'yesterday', 'last week', a span such as '3 days', '10 hours', '5h', '2d', '30m' or '1w', 'start/end', "
    "{'start': ..., 'end': ...} or {'duration': '3 days'}, with start and end as ISO 8601 dates or times"
)

MAX_RESULTS = (1, 50)
DEFAULT_RESULTS = 10

_NAMED = {"yesterday": timedelta(hours=48), "last week": timedelta(days=10)}
_UNITS = {
    "m": timedelta(minutes=1),
    "minute": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "hour": timedelta(hours=1),
    "d": timedelta(days=1),
    "day": timedelta(days=1),
    "w": timedelta(weeks=1),
    "week": timedelta(weeks=1),
}
_SPAN = re.compile(r"(\d{1,9}) ?(minute|hour|day|week)s?|(\d{1,9})([mhdw])", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_LONGEST_TEXT = 200


def time_window(value: object, now: datetime, zone: tzinfo = UTC) -> Window:
    """Return `(since, until)` in UTC: since is included, until is not; None where that side is open."""
    if value is None:
        return None, None
    until = now.astimezone(UTC)
    if isinstance(value, str) and len(value) <= _LONGEST_TEXT:
        text = collapsed(clean(value))
        if text in _NAMED:
            return until - _NAMED[text], until
        if "/" in text:
            start, _, end = clean(value).partition("/")
            return _between(start.strip(), end.strip(), until, zone)
        return _back(text, until, value), until
    if isinstance(value, Mapping):
        return _of_mapping(value, until, zone)
    raise _bad(value)


def _bad(value: object, why: str = "") -> ValueError:
    return ValueError(f"time_window is {shown(value)}{why}. It must be {WINDOW_FORMS}.")


def _back(text: str, until: datetime, value: object) -> datetime:
    match = _SPAN.fullmatch(text)
    if match is None:
        raise _bad(value)
    try:
        since = until - int(match[1] or match[3]) * (_UNITS[match[2] or match[4]] * 6) / 5
    except OverflowError:
        raise _bad(value, ", which reaches before the calendar begins") from None
    if since == until:
        raise _bad(value, ", which is a span of nothing")
    return since


def _of_mapping(value: Mapping[object, object], until: datetime, zone: tzinfo) -> Window:
    given = {key: item for key, item in value.items() if item is not None and item != ""}
    unknown = [key for key in given if key not in ("start", "end", "duration")]
    if unknown:
        raise ValueError(f"time_window has the unknown key {_unknown(unknown[0], ('start', 'end', 'duration'))}.")
    if "duration" in given:
        duration = given["duration"]
        if len(given) > 1 or not isinstance(duration, str) or len(duration) > _LONGEST_TEXT:
            raise ValueError("time_window has a duration. It must be a text such as '3 days', without start and end.")
        return _back(collapsed(clean(duration)), until, duration), until
    if not given:
        raise ValueError(f"time_window is empty. It must be {WINDOW_FORMS}.")
    return _between(given.get("start"), given.get("end", until), until, zone)


def _between(start: object, end: object, now: datetime, zone: tzinfo) -> Window:
    since = None if start is None else _side(start, "start", zone, last=False)
    until = now if end is None else _side(end, "end", zone, last=True)
    if since is not None and since > until:
        raise ValueError("time_window starts after it ends. Give the earlier time as start.")
    return since, until


def _side(value: object, name: str, zone: tzinfo, *, last: bool) -> datetime:
    try:
        if isinstance(value, str) and _DATE.fullmatch(value.strip()):
            day = datetime.fromisoformat(value.strip()).date() + timedelta(days=1 if last else 0)
            return datetime.combine(day, time.min, zone).astimezone(UTC)
        moment = parse_time(value)
    except (ValueError, OverflowError):
        moment = None
    if moment is None:
        raise ValueError(
            f"time_window has {shown(value)} as {name}. It must be an ISO 8601 date or time such as "
            "'2026-03-10' or '2026-03-10T12:00:00Z'."
        )
    return moment


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """A payload of the memory_search action, read."""

    mode: Literal["tags", "free"] = "tags"
    tags: tuple[str, ...] = ()
    """In normal form."""
    keywords: tuple[str, ...] = ()
    query: str = ""
    """Cleaned and trimmed."""
    max_results: int = DEFAULT_RESULTS
    since: datetime | None = None
    until: datetime | None = None
    random: bool = False
    """Choose at random among what matches, in place of the newest."""
    notes: tuple[str, ...] = ()
    """What was dropped or cut in tags and keywords."""


_KEYS = ("mode", "tags", "keywords", "query", "max_results", "time_window", "random")


def _unknown(key: object, known: tuple[str, ...]) -> str:
    near = find_nearest(key, known)
    return shown(key) + (f"; did you mean {near!r}?" if near else f"; known are {', '.join(known)}")


def check_action_payload(payload: object, now: datetime, zone: tzinfo = UTC) -> tuple[ActionRequest, list[str]]:
    """Return the payload read, and every error in it at once; with errors the request holds defaults in their place."""
    if not isinstance(payload, Mapping):
        return ActionRequest(), [f"the payload is {shown(payload)}; it must be an object"]
    errors = [f"unknown key {_unknown(key, _KEYS)}" for key in payload if key not in _KEYS]
    notes: list[str] = []
    tags = _looked_for(payload, "tags", errors, notes)
    keywords = _looked_for(payload, "keywords", errors, notes)
    query = _query(payload.get("query"), errors)
    max_results = _max_results(payload.get("max_results"), errors)
    random = _random(payload.get("random"), errors)
    since, until = _window(payload.get("time_window"), now, zone, errors)
    mode = _mode(payload, bool(tags or keywords), bool(query), errors)
    request = ActionRequest(
        mode or "tags", tuple(tags or ()), tuple(keywords or ()), query or "", max_results, since, until, random,
        tuple(notes),
    )  # fmt: skip
    unread = tags is None or keywords is None
    if mode == "tags" and not unread and not (tags or keywords):
        errors.append("mode tags needs tags or keywords; give one of them, or mode 'free'")
    windowed = payload.get("time_window") is not None
    if mode == "free" and not (query is None or query or tags or keywords or unread or windowed or random):
        errors.append("mode free needs a query or a time_window")
    return request, errors


def _looked_for(
    payload: Mapping[object, object], name: Literal["tags", "keywords"], errors: list[str], notes: list[str]
) -> list[str] | None:
    try:
        found, said = (read_tags if name == "tags" else read_keywords)(payload.get(name))
    except TypeError as error:
        errors.append(str(error))
        return None
    notes.extend(said)
    return found


def _query(value: object, errors: list[str]) -> str | None:
    if value is None:
        return ""
    if not isinstance(value, str):
        errors.append(f"query is {shown(value)}; it must be a text")
        return None
    return clean(value).strip()


def _max_results(value: object, errors: list[str]) -> int:
    low, high = MAX_RESULTS
    if value is None:
        return DEFAULT_RESULTS
    number = value
    whole_text = isinstance(value, str) and len(value) < 10 and value.strip().isdecimal()
    if whole_text or (isinstance(value, float) and value.is_integer()):
        number = int(cast("float", value))
    if isinstance(number, bool) or not isinstance(number, int) or not low <= number <= high:
        errors.append(f"max_results is {shown(value)}; it must be a whole number, {low} to {high}")
        return DEFAULT_RESULTS
    return number


def _random(value: object, errors: list[str]) -> bool:
    if value is None or isinstance(value, bool):
        return bool(value)
    if isinstance(value, int) and value in (0, 1):
        return value == 1
    errors.append(f"random is {shown(value)}; it must be true or false")
    return False


def _window(value: object, now: datetime, zone: tzinfo, errors: list[str]) -> Window:
    try:
        return time_window(value, now, zone)
    except ValueError as error:
        errors.append(str(error))
        return None, None


def _mode(
    payload: Mapping[object, object], looks: bool, asks: bool, errors: list[str]
) -> Literal["tags", "free"] | None:
    value = payload.get("mode")
    if value is None:
        return "free" if asks and not looks else "tags"
    mode = collapsed(value) if isinstance(value, str) and len(value) <= _LONGEST_TEXT else ""
    if mode in ("tags", "free"):
        return cast("Literal['tags', 'free']", mode)
    errors.append(f"mode is {shown(value)}; it must be 'tags' or 'free'")
    return None
