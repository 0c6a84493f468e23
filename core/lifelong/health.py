"""How the memory of a persona is doing, in numbers; changes nothing. Called by `lifelong`."""

from __future__ import annotations

from ..config import Settings
from ..database import sources
from ..database.engine import Database
from ..index import check as search_check
from ..memories import table as memories
from ..memories.rules import KINDS, TIERS
from ..memories.shapes import Health
from ..memories.table import NEAR_CHARS
from ..text.times import iso_text
from . import table_health as item_health

NEAR_LOOKED_AT = 500
"""Newest items that near duplicates are looked for among: every one is compared with every other."""
NEAR_SCORE = 90.0
"""Likeness that counts where NEAR_DUPLICATE_SCORE is off."""


def health(db: Database, settings: Settings, persona: str, *, check_index: bool = True) -> Health:
    """Return the counts; see `lifelong.health`."""
    counts = item_health.kinds(db, persona)
    kinds = {kind: dict.fromkeys(TIERS, 0) for kind in KINDS}
    for each in counts:
        kinds.setdefault(each.kind, dict.fromkeys(TIERS, 0))[each.tier] = each.items
    score = settings.near_duplicate_score or NEAR_SCORE
    return {
        "items": sum(each.items for each in counts),
        "kinds": kinds,
        "archived": item_health.count_archived(db, persona),
        "exact_duplicates": item_health.count_exact_duplicates(db, persona),
        "near_duplicates": _near(db, persona, score),
        "expired": item_health.count_expired(db, persona, settings.session_ttl_sec),
        "never_recalled": item_health.count_never_recalled(db, persona),
        "orphans": item_health.count_orphans(db, persona),
        "index_differences": _differences(db, persona) if check_index else 0,
        "oldest": iso_text(min((each.oldest for each in counts if each.oldest), default=None)),
        "newest": iso_text(max((each.newest for each in counts if each.newest), default=None)),
    }


def _near(db: Database, persona: str, score: float) -> int:
    """Return how many of the newest items say nearly what another one of their audience and participant says."""
    groups: dict[tuple[int, str | None], list[tuple[int, str]]] = {}
    seen: set[tuple[int, str | None, bytes]] = set()
    found = 0
    for row in item_health.newest(db, persona, NEAR_LOOKED_AT):
        whose = (row.audience_id, row.participant_key)
        same = (*whose, bytes(row.content_hash or b""))
        folded = row.text_folded or ""
        if same in seen or len(folded) > NEAR_CHARS:
            continue
        seen.add(same)
        others = groups.setdefault(whose, [])
        found += memories.nearest(folded, others, score) is not None
        others.append((row.id, folded))
    return found


def _differences(db: Database, persona: str) -> int:
    """Return how many places of the search tables are not what the persona's items give."""
    mine, number = item_health.audiences_of(db, persona), sources.MEMORIES.number
    if not mine:
        return 0
    return sum(each.audience_id in mine and each.source == number for each in search_check.differences(db))
