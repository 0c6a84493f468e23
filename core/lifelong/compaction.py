"""Many old items become one, as long as nothing of them is lost on the way."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

from .. import llm
from ..base import logs
from ..calls import screening
from ..calls.call import Call, GivenSettings
from ..config import Settings
from ..database.engine import Database
from ..errors import ModelError, StoreWriteError
from ..memories.rules import read_number
from ..memories.shapes import Compacted
from ..scope import Scope
from ..templates.refused import refused_patterns
from ..templates.render import Renderer
from . import table_compaction, table_runs
from .call import open_persona_call
from .rules_compaction import Chosen, Summed, choose_sources, read_summary
from .table_compaction import Replacement

TEMPLATE = "compaction.txt.j2"


def compact(
    conf_uid: str | None = None,
    min_age_days: int = 30,
    batch: int = 40,
    *,
    dry_run: bool = False,
    model: Any = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> Compacted:
    """Let up to `batch` old items of one tag become one, by a model; the sources are archived only when it is stored.

    Items of one audience and one participant alone; pinned and saved ones never. One call makes one of many: call it
    again until `reason` is `nothing_to_compact`.

    Args:
        conf_uid: the persona; the scope's by default.
        min_age_days: only items at least this old, 1 to 36,500.
        batch: most items, 2 to 200.
        dry_run: tell tag and ids of what would be taken; ask no model, change nothing.
        model: the model to ask; without one that of `configure`, else that of LLM_BASE_URL.

    Returns:
        What it did; else `reason`: nothing_to_compact, no_model, unreadable, empty, error_like, source_ids, flagged,
        model_timeout and the like, or the class of what went wrong while storing. The sources are then untouched.

    Raises:
        MessageError: a value out of its range.
        StoreError: nothing could be read, or the run not be noted.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.lifelong import add_facts_with_meta, compact
    >>> db = open_database("sqlite://")
    >>> old = {"tags": ["tea"], "timestamp": "2026-01-01T12:00:00Z"}
    >>> added = add_facts_with_meta([{"text": "Ann likes tea", **old}, {"text": "Ann drinks sencha", **old}], db=db)
    >>> done = compact(dry_run=True, db=db)
    >>> done.tag, done.sources == added.ids
    ('tea', True)
    """
    # 1. which items
    days = read_number(min_age_days, "min_age_days", 1, 36_500, 30)
    most = read_number(batch, "batch", 2, 200, 40)
    call = open_persona_call(db, settings, scope, conf_uid)
    known_model = llm.resolve(model, call.settings)
    old = table_compaction.read_candidates(
        call.db,
        call.persona,
        call.db.clock() - timedelta(days=days),
        privacy_default=call.settings.privacy_default,
        local=call.destination == "local",
    )
    chosen = choose_sources(old, most)
    if chosen is None:
        return Compacted(reason="nothing_to_compact")
    sources = tuple(item.id for item in chosen.items)
    if dry_run:
        return Compacted(tag=chosen.tag, sources=sources)
    run_id = table_runs.begin(call.db, call.persona, "compaction", "by hand")
    # 2. what a model makes of them
    summed = _ask(call.settings, known_model, chosen)
    # 3. stored, read back, and only then the sources archived
    if isinstance(summed, str):
        done = Compacted(sources=sources, reason=summed)
    else:
        done = _store(call, chosen, summed, known_model)
    counts = table_runs.Counts(len(sources), int(done.id is not None), done.archived, done.reason)
    table_runs.finish(call.db, call.persona, run_id, counts)
    return replace(done, tag=chosen.tag, run_id=run_id)


def _ask(settings: Settings, model: Any, chosen: Chosen) -> Summed | str:
    """Return what a model makes of the items, or a word for why it cannot be used."""
    if model is None:
        return "no_model"
    renderer = Renderer(settings.templates_dir)
    shown = [json.dumps({"id": item.id, "text": item.text}, ensure_ascii=False) for item in chosen.items]
    prompt = renderer.text(TEMPLATE, items=shown, tag=json.dumps(chosen.tag, ensure_ascii=False))
    try:
        reply = llm.ask(model, [{"role": "user", "content": prompt}], settings)
    except ModelError as error:
        logs.warning("compaction_without_model", reason=error.reason, error=error.error)
        return f"model_{error.reason}"
    allowed = {item.id for item in chosen.items}
    return read_summary(reply, allowed, patterns=refused_patterns(settings.templates_dir))


def _store(call: Call, chosen: Chosen, summed: Summed, model: Any) -> Compacted:
    flagged, _ = screening.is_flagged(summed.summary, "memory")
    if flagged:
        return Compacted(sources=summed.sources, reason="flagged")
    named = call.settings.llm_model or type(model).__name__
    replacement = Replacement(call.persona, chosen, summed, named, call.settings.privacy_default)
    try:
        row_id = table_compaction.store(call.db, replacement)
    except StoreWriteError as error:
        logs.warning("compaction_not_stored", source=error.source, number=error.number)
        return Compacted(sources=summed.sources, reason=type(error).__name__)
    return Compacted(len(summed.sources), row_id, sources=summed.sources)
