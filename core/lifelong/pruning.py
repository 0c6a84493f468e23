"""Public functions that archive expired session items and old or unimportant long-term items."""

from __future__ import annotations

from typing import Unpack

from ..calls.call import CallOptions, find_key, open_call
from ..config import Settings
from ..config.flags import PruneMode
from ..database.rows import yes_no
from ..memories import rules
from ..memories.shapes import Pruned
from . import table_pruning
from .items import open_persona_call
from .table_pruning import Limits

LEAST_TTL_SECONDS = 60
PROTECTED_IMPORTANCE = 0.7
"""Importance from which items are not pruned by default; facts of deep consolidation have this importance."""


def read_limits(settings: Settings) -> Limits:
    age_days, importance = settings.prune_max_age_days, settings.prune_max_importance
    return Limits(age_days, importance, settings.prune_mode, PROTECTED_IMPORTANCE)


def prune_session_by_ttl(
    ttl_sec: int | None = 0, exclude_history_uid: str | None = None, **options: Unpack[CallOptions]
) -> Pruned:
    """Archive the expired session items of the persona, and return their number.

    Args:
        ttl_sec: age in seconds; 0 and None mean SESSION_TTL_SEC, 1 to 59 become 60 with a note.
        exclude_history_uid: an active conversation, whose items stay; the scope's by default. A conversation with a
            message in the last 30 minutes is active too.

    Returns:
        The number of archived items, with `items` and `notes`; a second call returns 0.

    Raises:
        MessageError: ttl_sec is negative or not a whole number.
        StoreError: some items may be archived; call again for the rest.

    >>> from prompt_engine import lifelong, open_database
    >>> db = open_database("sqlite://")
    >>> old = {"text": "Ann is tired", "tier": "session", "timestamp": "2026-01-01T12:00:00Z"}
    >>> added = lifelong.add_facts_with_meta([old], db=db)
    >>> lifelong.prune_session_by_ttl(3600, db=db), lifelong.prune_session_by_ttl(3600, db=db)
    (1, 0)
    """
    call = open_call(**options)
    seconds = rules.read_number(ttl_sec, "ttl_sec", 0, 315_360_000, 0)
    is_raised = 0 < seconds < LEAST_TTL_SECONDS
    notes = [f"ttl_sec {seconds} became {LEAST_TTL_SECONDS}, the least there is"] if is_raised else []
    seconds = max(seconds, LEAST_TTL_SECONDS) if seconds else call.settings.session_ttl_sec
    active = call.scope.conversation
    if exclude_history_uid is not None:
        active = find_key(call, exclude_history_uid, "exclude_history_uid")
    items = table_pruning.archive_expired(call.db, call.persona, seconds, given=bool(ttl_sec), active=active)
    return Pruned(len(items), items, notes=notes)


def prune_ltm(
    conf_uid: str | None = None,
    max_age_days: int | None = None,
    max_importance: float | None = None,
    mode: PruneMode | None = None,
    *,
    protect_importance: float | None = None,
    dry_run: bool = False,
    **options: Unpack[CallOptions],
) -> Pruned:
    """Archive the long-term items of the persona that are too old or too unimportant, and return their number.

    Pinned items, saved memories, instructions, and items of importance 0.7 and above stay.

    Args:
        conf_uid: id of the persona; by default the scope's persona.
        max_age_days, max_importance: prune items at least this old (1 to 36,500), and below this importance (0 to 1);
        PRUNE_MAX_AGE_DAYS and PRUNE_MAX_IMPORTANCE by default.
        mode: any (too old or too unimportant) or all (too old and too unimportant); PRUNE_MODE by default.
        protect_importance: items of at least this importance stay; 0 to 1.01 (no item is protected), 0.7 by default.
        dry_run: change nothing.

    Returns:
        The number of archived items, with `items`: the id and reasons of each.

    Raises:
        MessageError: a value out of range.
        StoreError: some items may be archived; call again for the rest.

    >>> from prompt_engine import lifelong, open_database
    >>> db = open_database("sqlite://")
    >>> added = lifelong.add_facts_with_meta([{"text": "Ann wore a hat", "importance": 0.1}, "Ann likes tea"], db=db)
    >>> done = lifelong.prune_ltm(max_importance=0.2, mode="any", dry_run=True, db=db)
    >>> done, done.items[0][1]
    (1, ('importance',))
    """
    if mode is not None:
        rules.check_choice(mode, "mode", PruneMode)
    call = open_persona_call(conf_uid, **options)
    usual = read_limits(call.settings)
    share = rules.read_share(max_importance, "max_importance", usual.max_importance)
    protected = rules.read_share(protect_importance, "protect_importance", usual.protect_importance, high=1.01)
    assert share is not None and protected is not None
    age_days = rules.read_number(max_age_days, "max_age_days", 1, 36_500, call.settings.prune_max_age_days)
    limits = Limits(age_days, share, mode or usual.mode, protected)
    items = table_pruning.prune(call.db, call.persona, limits, dry_run=bool(yes_no(dry_run, "dry_run")))
    return Pruned(len(items), items)
