"""What becomes of items by themselves: expiry, pruning, consolidation, compaction, health.

Offered by `lifelong`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..database.engine import Database
from ..errors import MessageError
from ..memories.rules import read_number
from ..memories.shapes import Added, Compacted, CycleResult, Health, Pruned
from ..scope import Scope
from . import compaction
from . import cycles as lifelong_cycles
from . import health as lifelong_health
from . import work as rooms
from .work import Given, asking


def prune_session_by_ttl(
    ttl_sec: int | None = 0,
    exclude_history_uid: str | None = None,
    conf_uid: str | None = None,
    *,
    db: Database | None = None,
    settings: Given = None,
    scope: Scope | None = None,
) -> Pruned:
    """Archive the session items of the persona that have expired, and return how many.

    Args:
        ttl_sec: age in seconds; 0 and None are SESSION_TTL_SEC, 1 to 59 become 60 with a note.
        exclude_history_uid: the active conversation, whose items stay; the scope's by default.

    Returns:
        A number with `items` and `notes`; done again: 0.

    Raises:
        MessageError: ttl_sec is negative or no whole number.
        StoreError: what was archived before is archived; calling again does the rest.
    """
    known_db, known, own = asking(db, settings, scope, conf_uid)
    return rooms.prune_session(known_db, known, own, ttl_sec, exclude_history_uid)


def prune_ltm(
    conf_uid: str | None = None,
    max_age_days: int | None = None,
    max_importance: float | None = None,
    mode: str | None = None,
    *,
    dry_run: bool = False,
    db: Database | None = None,
    settings: Given = None,
    scope: Scope | None = None,
) -> Pruned:
    """Archive the long-term items of the persona that are too old or too unimportant, and return how many.

    Pinned items, saved ones, and those of PRUNE_PROTECT_IMPORTANCE stay.

    Args:
        max_age_days: items at least this old are too old; PRUNE_MAX_AGE_DAYS by default.
        max_importance: items below are too unimportant; PRUNE_MAX_IMPORTANCE by default.
        mode: any (one of the two is enough) or all; PRUNE_MODE by default.
        dry_run: change nothing.

    Returns:
        A number with `items`: id and reasons of each.

    Raises:
        MessageError: a value out of its range.
        StoreError: what was archived before is archived; calling again does the rest.
    """
    known_db, known, own = asking(db, settings, scope, conf_uid)
    return rooms.prune_long_term(
        known_db, known, own, max_age_days=max_age_days, max_importance=max_importance, mode=mode, dry_run=dry_run
    )


# Consolidation


def consolidate_history(
    history_uid: str | None = None,
    limit_messages: int | None = None,
    conf_uid: str | None = None,
    *,
    model: Any = None,
    db: Database | None = None,
    settings: Given = None,
    scope: Scope | None = None,
) -> Added:
    """Make memory items of the newest messages of one conversation that were not consolidated yet.

    Without a model, sentences that ask to be remembered, tell facts, likings or feelings are kept as said. Messages of
    people at privacy level partial or full are left out. Where more wait than are read, the rest is queued.

    Args:
        history_uid: the conversation; the scope's by default.
        limit_messages: most messages read, within 20 to 500; CONSOLIDATION_WINDOW by default.

    Returns:
        The number of items stored, with `ids`, `merged`, and `reason` where nothing came of it: no_messages, disabled,
        privacy, unreadable (the model's reply; the messages are tried again), model_timeout and the like, changed,
        StoreWriteError.

    Raises:
        MessageError: no conversation is named.
        StoreError: not even the run could be noted.
    """
    known_db, known, own = asking(db, settings, scope, conf_uid, history_uid)
    if own.conversation is None:
        raise MessageError(
            "history_uid is missing. Name the conversation, or pass a scope that has one.", fields=("history_uid",)
        )
    return lifelong_cycles.once(known_db, known, own, model, limit_messages)


def trigger_memory_consolidation(
    reason: str = "by hand",
    conf_uid: str | None = None,
    history_uid: str | None = None,
    *,
    wait: bool = True,
    model: Any = None,
    db: Database | None = None,
    settings: Given = None,
    scope: Scope | None = None,
) -> CycleResult:
    """Consolidate the conversation named, or all that have something new, then archive what has expired.

    Args:
        reason: why, for the row of consolidation_runs.
        history_uid: only this conversation, which counts as the active one; all of the persona by default.
        wait: run it in the call; else queue it for a worker.

    Returns:
        What it did; reason `busy` while another process runs a cycle of the persona.

    Raises:
        StoreError: the cycle could not begin.
    """
    known_db, known, own = asking(db, settings, scope, conf_uid)
    own = replace(own, conversation=history_uid)
    if not wait:
        return lifelong_cycles.enqueue(known_db, own, str(reason))
    return lifelong_cycles.cycle(known_db, known, own, model, str(reason))


def run_cycle(
    conf_uid: str | None = None,
    reason: str = "interval",
    *,
    model: Any = None,
    db: Database | None = None,
    settings: Given = None,
    scope: Scope | None = None,
) -> CycleResult:
    """Run one cycle of a persona, as the scheduler does: all conversations with something new, then clean up."""
    return trigger_memory_consolidation(reason, conf_uid, model=model, db=db, settings=settings, scope=scope)


def deep_consolidation(
    conf_uid: str | None = None,
    history_uid: str | None = None,
    reason: str = "by hand",
    *,
    model: Any = None,
    db: Database | None = None,
    settings: Given = None,
    scope: Scope | None = None,
) -> CycleResult:
    """Prune long-term memory, then store the facts of the newest messages anew, tagged `deep`.

    Args:
        history_uid: only messages of this conversation; all of the persona by default.

    Returns:
        What it did; done again, nothing is there twice. Reason `busy` while another process runs a cycle.

    Raises:
        StoreError: it could not begin.
    """
    known_db, known, own = asking(db, settings, scope, conf_uid)
    own = replace(own, conversation=history_uid)
    return lifelong_cycles.cycle(known_db, known, own, model, str(reason), shallow=False, deep=True)


def on_stream_end(
    history_uid: str | None = None,
    conf_uid: str | None = None,
    *,
    wait: bool = True,
    model: Any = None,
    db: Database | None = None,
    settings: Given = None,
    scope: Scope | None = None,
) -> CycleResult:
    """Tell that a stream has ended: consolidate, clean up, and on every Nth end consolidate deeply.

    The number of ends is stored, so that a restart does not begin anew (DEEP_CONSOLIDATION_EVERY_N_STREAMS).

    Args:
        history_uid: the conversation that ended; the scope's by default, all of the persona where there is none.
        wait: run it in the call; else queue it for a worker. It is queued also while another process runs a cycle, and
            where the database does not let it begin.

    Returns:
        What it did; `deep` tells whether it was an Nth end, `queued` which operations were queued instead. Where the
        cycle failed, `reason` says why (`StoreWriteError` and the like): the end is counted, do not tell it again.

    Raises:
        StoreError: the end was not counted.
    """
    known_db, known, own = asking(db, settings, scope, conf_uid, history_uid)
    return lifelong_cycles.stream_end(known_db, known, own, model, wait=wait, conversation=own.conversation)


def compact(
    conf_uid: str | None = None,
    min_age_days: int = 30,
    batch: int = 40,
    *,
    dry_run: bool = False,
    model: Any = None,
    db: Database | None = None,
    settings: Given = None,
    scope: Scope | None = None,
) -> Compacted:
    """Let up to `batch` old items of one tag become one, by a model; the sources are archived only when it is stored.

    Items of one audience and one participant alone; pinned and saved ones never. One call makes one of many: call it
    again until `reason` is `nothing_to_compact`.

    Args:
        min_age_days: only items at least this old, 1 to 36,500.
        batch: most items, 2 to 200.
        dry_run: tell tag and ids of what would be taken; ask no model, change nothing.

    Returns:
        What it did; else `reason`: nothing_to_compact, no_model, unreadable, empty, error_like, source_ids, flagged,
        model_timeout and the like, or the class of what went wrong while storing. The sources are then untouched.

    Raises:
        MessageError: a value out of its range.
        StoreError: nothing could be read, or the run not be noted.
    """
    days = read_number(min_age_days, "min_age_days", 1, 36_500, 30)
    most = read_number(batch, "batch", 2, 200, 40)
    known_db, known, own = asking(db, settings, scope, conf_uid)
    destination = own.destination or known.prompt_destination
    return compaction.compact(
        known_db,
        known,
        own.persona,
        model,
        min_age_days=days,
        batch=most,
        destination=destination,
        dry_run=dry_run,
    )


def health(
    conf_uid: str | None = None,
    *,
    check_index: bool = True,
    db: Database | None = None,
    settings: Given = None,
    scope: Scope | None = None,
) -> Health:
    """Return how the memory of a persona is doing, in numbers; nothing is changed.

    Args:
        check_index: compare the search index too, which reads all texts: about a minute for a million messages.

    Raises:
        StoreReadError: nothing could be read.
    """
    known_db, known, own = asking(db, settings, scope, conf_uid)
    return lifelong_health.health(known_db, known, own.persona, check_index=check_index)
