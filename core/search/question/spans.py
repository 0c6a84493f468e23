"""The days in the time spans of a question, and the sentence that reports an empty span."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, tzinfo

from ...text.time import Span

MOST_DAYS = 370
"""Maximum number of days by which rows in the spans are looked up."""
SOON_DAYS = 62
"""Number of days that are looked up for a span with an open end."""
_DAY = timedelta(days=1)


def list_days(spans: Sequence[Span], now: datetime, zone: tzinfo) -> tuple[str, ...]:
    """Return the ISO 8601 days of spans; of an open-ended one, SOON_DAYS from a start not past, or up to the end."""
    days: dict[str, None] = {}
    for span in spans:
        start, end = span.start, span.end
        if end is None:
            if start is None or start < now - _DAY:
                continue
            end = start + SOON_DAYS * _DAY
        start = start or end - SOON_DAYS * _DAY
        first, last = start.astimezone(zone).date(), (end - timedelta(microseconds=1)).astimezone(zone).date()
        for step in range(min((last - first).days + 1, MOST_DAYS - len(days))):
            days[(first + step * _DAY).isoformat()] = None
    return tuple(days)


def describe_spans(spans: Sequence[Span], zone: tzinfo) -> list[str]:
    """Return, for each span, the sentence that nothing is stored in it."""
    return list(dict.fromkeys(_describe(span, zone) for span in spans if span.role == "said" or len(spans) == 1))


def _describe(span: Span, zone: tzinfo) -> str:
    exact = "%Y-%m-%d" if span.precision not in ("minute", "hour", "part of day") else "%Y-%m-%d %H:%M"
    start = "" if span.start is None else span.start.astimezone(zone).strftime(exact)
    last = None if span.end is None else span.end - (timedelta(microseconds=1) if exact == "%Y-%m-%d" else timedelta())
    end = "" if last is None else last.astimezone(zone).strftime(exact)
    if start == end:
        return f"Nothing is stored of {start}."
    return "Nothing is stored" + (f" from {start}" if start else "") + (f" to {end}" if end else "") + "."
