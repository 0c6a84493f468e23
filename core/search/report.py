"""The account of one search, for `explain_search` and the report of a prompt."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..database import sources
from .choice import Result
from .gather import MOST_COMPARED


def build_report(result: Result) -> dict[str, Any]:
    """Return the report of a search: plain JSON, without any text of a row."""
    query, texts = result.round.search.query, result.round.search.texts
    left_aside = () if result.round.matches is None else result.round.matches.left_aside
    return {
        "ranking": query.ranking,
        "hits": [
            {
                "source": one.hit["source"],
                "id": one.hit["id"],
                "rank": one.rank,
                "score": round(one.candidate.score, 4),
                "tier": one.candidate.tier,
                "tags": sorted(one.candidate.tags),
                "words": sorted(texts[i] for i in one.candidate.matched),
                "context": one.candidate.context,
                "meaning": one.candidate.by_meaning,
                "reasons": {name: round(value, 4) for name, value in sorted((one.candidate.parts or {}).items())},
            }
            for one in result.chosen
        ],
        "sources": {
            source.name: {
                "considered": result.round.considered.get(source.number, 0),
                "dropped": dict(Counter(reason for c, reason in result.left if c.source == source.number)),
                "error": str(result.round.errors.get(source.number, "")),
            }
            for source in query.sources
        },
        "notes": [
            *query.notes,
            *([str(error)] if (error := result.round.meaning_error) else []),
            *([f"The search index: {why}"] if (why := result.round.index_error) else []),
            *(
                f"Only the newest {MOST_COMPARED:,} rows of {sources.BY_NUMBER[number].name} were compared."
                for number in result.round.newest_only
            ),
            *(f"left aside, too many rows hold it: {word}" for word in left_aside),
        ],
    }
