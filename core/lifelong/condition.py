"""How the memory of a persona is doing, in numbers; changes nothing. Offered by `lifelong`."""

from __future__ import annotations

from ..calls.call import GivenSettings
from ..database import sources
from ..database.engine import Database
from ..index import check as index_check
from ..memories import table as memories
from ..memories.rules import KINDS, TIERS
from ..memories.shapes import Health
from ..memories.table import NEAR_CHARS
from ..scope import Scope
from ..text.times import iso_text
from . import table_health
from .call import open_persona_call

NEAR_LOOKED_AT = 500
"""Newest items that near duplicates are looked for among: every one is compared with every other."""
NEAR_SCORE = 90.0
"""Likeness that counts where NEAR_DUPLICATE_SCORE is off."""


def health(
    conf_uid: str | None = None,
    *,
    check_index: bool = True,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> Health:
    """Return how the memory of a persona is doing, in numbers; nothing is changed.

    Args:
        conf_uid: the persona; the scope's by default.
        check_index: compare the search index too, which reads all texts: about a minute for a million messages.

    Returns:
        Every number is 0, and times are blank, where there is no item.

    Raises:
        StoreReadError: nothing could be read.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.lifelong import add_facts_with_meta, health
    >>> db = open_database("sqlite://")
    >>> added = add_facts_with_meta(["Ann likes green tea"], db=db)
    >>> numbers = health(db=db)
    >>> numbers["items"], numbers["kinds"]["KeyFacts"]["long_term"], numbers["index_differences"]
    (1, 1, 0)
    """
    call = open_persona_call(db, settings, scope, conf_uid)
    db, persona = call.db, call.persona
    counts = table_health.kinds(db, persona)
    kinds = {kind: dict.fromkeys(TIERS, 0) for kind in KINDS}
    for each in counts:
        kinds.setdefault(each.kind, dict.fromkeys(TIERS, 0))[each.tier] = each.items
    score = call.settings.near_duplicate_score or NEAR_SCORE
    return {
        "items": sum(each.items for each in counts),
        "kinds": kinds,
        "archived": table_health.count_archived(db, persona),
        "exact_duplicates": table_health.count_exact_duplicates(db, persona),
        "near_duplicates": _count_near(db, persona, score),
        "expired": table_health.count_expired(db, persona, call.settings.session_ttl_sec, call.settings.active_minutes),
        "never_recalled": table_health.count_never_recalled(db, persona),
        "orphans": table_health.count_orphans(db, persona),
        "index_differences": _count_differences(db, persona) if check_index else 0,
        "oldest": iso_text(min((each.oldest for each in counts if each.oldest), default=None)),
        "newest": iso_text(max((each.newest for each in counts if each.newest), default=None)),
    }


def _count_near(db: Database, persona: str, score: float) -> int:
    """Return how many of the newest items say nearly what another one of their audience and participant says."""
    groups: dict[tuple[int, str | None], list[tuple[int, str]]] = {}
    seen: set[tuple[int, str | None, bytes]] = set()
    count = 0
    for row in table_health.newest(db, persona, NEAR_LOOKED_AT):
        whose = (row.audience_id, row.participant_key)
        same = (*whose, bytes(row.content_hash or b""))
        folded = row.text_folded or ""
        if same in seen or len(folded) > NEAR_CHARS:
            continue
        seen.add(same)
        others = groups.setdefault(whose, [])
        count += memories.nearest(folded, others, score) is not None
        others.append((row.id, folded))
    return count


def _count_differences(db: Database, persona: str) -> int:
    """Return how many places of the search tables are not what the persona's items give."""
    audiences, number = table_health.audiences_of(db, persona), sources.MEMORIES.number
    if not audiences:
        return 0
    return sum(each.audience_id in audiences and each.source == number for each in index_check.differences(db))
