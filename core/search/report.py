"""The report of a search as plain JSON, without texts of rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import UTC
from typing import Any

import numpy as np

from ..access.rules import plain_key
from ..database import sources
from ..index.numbers import ViewRows
from ..text import times
from ..text.times import iso_text
from .choose import Chosen, Selection
from .plain import MOST_COMPARED
from .query import Query
from .question.question import describe_spans
from .ranking.rows import UNKNOWN
from .read import Read

_CHAT = sources.CHAT.number
UNREAD_TIME = "Words of time in the question could not be read; no span of time was looked for."


def build_report(selection: Selection) -> dict[str, Any]:
    read, current = selection.read, selection.read.ranked.round
    query, question = current.search.query, current.question
    dropped = {source.number: Counter[str]() for source in query.sources}
    for c, reason in selection.left:
        dropped[c.row.source][reason] += 1
    return {
        "ranking": query.ranking,
        "hits": [_tell_hit(read, one) for one in selection.chosen],
        "sources": {
            source.name: {
                "considered": read.ranked.considered.get(source.number, 0),
                "dropped": dict(dropped[source.number]),
                "error": str(read.ranked.errors.get(source.number, "")),
            }
            for source in query.sources
        },
        "spans": [
            {"start": iso_text(span.start), "end": iso_text(span.end), "precision": span.precision, "role": span.role}
            for span in (question.spans or current.missed)
        ],
        "notes": [
            *query.notes,
            *([UNREAD_TIME] if question.has_unread_time else []),
            *describe_spans(current.missed, times.zone(current.search.settings.timezone) or UTC),
            *([str(error)] if (error := read.meaning_error) else []),
            *([f"The search index: {why}"] if (why := read.ranked.index_error) else []),
            *(
                f"Only the newest {MOST_COMPARED:,} rows of {sources.BY_NUMBER[number].name} were compared."
                for number in read.ranked.newest_only
            ),
        ],
    }


def build_empty(query: Query) -> dict[str, Any]:
    """Return the report of a search for nothing."""
    nothing = {source.name: {"considered": 0, "dropped": {}, "error": ""} for source in query.sources}
    return {"ranking": query.ranking, "hits": [], "sources": nothing, "spans": [], "notes": list(query.notes)}


def _tell_hit(read: Read, one: Chosen) -> Mapping[str, object]:
    terms, scored = read.ranked.search.terms, one.scored
    return {
        "source": one.hit["source"],
        "id": one.hit["id"],
        "timestamp": one.hit["timestamp"],
        "conversation": plain_key(one.row.conversation),
        "speaker": one.row.said_by,
        "neighbours": _find_neighbours(read, one),
        "rank": one.rank,
        "score": round(scored.score, 4),
        "tier": scored.tier,
        "tags": sorted(terms[i].text for i in scored.matched if terms[i].kind == "tag"),
        "words": sorted(terms[i].text for i in scored.matched if terms[i].kind != "tag"),
        "context": scored.context,
        "meaning": scored.candidate.by_meaning,
        "kept": scored.kept,
        "reasons": {name: round(value, 4) for name, value in sorted((scored.parts or {}).items())},
    }


def _find_neighbours(read: Read, one: Chosen) -> list[int]:
    """Return the ids of the messages right before and after a message in its conversation."""
    place, found = one.scored.candidate.place, read.ranked.matches
    if place == UNKNOWN or one.row.source != _CHAT or found is None:
        return []
    matches, at = found.audiences[place >> 32], place & 0xFFFFFFFF
    view = matches.view
    near = [n for n in (at - 1, at + 1) if 0 <= n < len(view) and view.thread[n] == view.thread[at]]
    ids: list[int] = view.row_id[matches.keep_readable(ViewRows(np.array(near, np.int64)))].tolist()
    return ids
