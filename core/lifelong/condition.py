"""How the memory of a persona is doing, in numbers; changes nothing. Offered by `lifelong`."""

from __future__ import annotations

from ..calls.call import GivenSettings
from ..database import sources
from ..database.engine import Database
from ..index import check as index_check
from ..memories.rules import KINDS, TIERS
from ..memories.shapes import Health
from ..scope import Scope
from ..text.times import iso_text
from . import table_health
from .call import open_persona_call


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
    return {
        "items": sum(each.items for each in counts),
        "kinds": kinds,
        "archived": table_health.count_archived(db, persona),
        "exact_duplicates": table_health.count_exact_duplicates(db, persona),
        "expired": table_health.count_expired(db, persona, call.settings.session_ttl_sec),
        "never_recalled": table_health.count_never_recalled(db, persona),
        "orphans": table_health.count_orphans(db, persona),
        "index_differences": _count_differences(db, persona) if check_index else 0,
        "oldest": iso_text(min((each.oldest for each in counts if each.oldest), default=None)),
        "newest": iso_text(max((each.newest for each in counts if each.newest), default=None)),
    }


def _count_differences(db: Database, persona: str) -> int:
    """Return how many places of the search tables are not what the persona's items give."""
    audiences, number = table_health.audiences_of(db, persona), sources.MEMORIES.number
    if not audiences:
        return 0
    return sum(each.audience_id in audiences and each.source == number for each in index_check.differences(db))
