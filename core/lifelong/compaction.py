"""Many old items become one, as long as nothing of them is lost on the way.

Called by `lifelong`. The new item is stored, read back, and only then its sources are archived, all in one
transaction; the model is asked outside of it.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from .. import llm
from ..base import logs
from ..calls import screening
from ..config import Settings
from ..database.engine import Database
from ..errors import ModelError, StoreWriteError
from ..memories.shapes import Compacted
from ..templates.refused import refused_patterns
from ..templates.render import Renderer
from . import table_compaction as compacting
from . import table_runs as runs
from .rules_compaction import Chosen, Summed, choose_sources, read_summary

TEMPLATE = "compaction.txt.j2"


def compact(
    db: Database,
    settings: Settings,
    persona: str,
    model: Any,
    *,
    min_age_days: int,
    batch: int,
    destination: str,
    reason: str = "by hand",
    dry_run: bool = False,
) -> Compacted:
    """Let up to `batch` old items of one tag become one; see `lifelong.compact`."""
    # 1. which items
    before = db.clock() - timedelta(days=min_age_days)
    known = llm.resolve(model, settings)
    local = destination == "local"
    old = compacting.candidates(db, persona, before, privacy_default=settings.privacy_default, local=local)
    chosen = choose_sources(old, batch)
    if chosen is None:
        return Compacted(reason="nothing_to_compact")
    sources = tuple(item.id for item in chosen.items)
    if dry_run:
        return Compacted(tag=chosen.tag, sources=sources)
    run_id = runs.begin(db, persona, "compaction", reason)
    # 2. what a model makes of them
    summed = _asked(settings, known, chosen)
    if isinstance(summed, str):
        runs.finish(db, persona, run_id, window=len(sources), error=summed)
        return Compacted(tag=chosen.tag, sources=sources, reason=summed, run_id=run_id)
    # 3. stored, read back, and only then the sources archived
    done = _stored(db, settings, persona, chosen, summed, known)
    runs.finish(
        db,
        persona,
        run_id,
        window=len(sources),
        added=int(done.id is not None),
        pruned=done.archived,
        error=done.reason,
    )
    return Compacted(done.archived, done.id, chosen.tag, done.sources, done.reason, run_id)


def _asked(settings: Settings, model: Any, chosen: Chosen) -> Summed | str:
    """Return what a model makes of the items, or a word for why it cannot be used."""
    if model is None:
        return "no_model"
    renderer = Renderer(settings.templates_dir, settings.template_steps)
    shown = [json.dumps({"id": item.id, "text": item.text}, ensure_ascii=False) for item in chosen.items]
    prompt = renderer.text(TEMPLATE, items=shown, tag=json.dumps(chosen.tag, ensure_ascii=False))
    try:
        reply = llm.ask(model, [{"role": "user", "content": prompt}], settings)
    except ModelError as error:
        logs.warning("compaction_without_model", reason=error.reason, error=error.error)
        return f"model_{error.reason}"
    allowed = {item.id for item in chosen.items}
    return read_summary(reply, allowed, patterns=refused_patterns(settings.templates_dir))


def _stored(db: Database, settings: Settings, persona: str, chosen: Chosen, summed: Summed, model: Any) -> Compacted:
    flagged, _ = screening.is_flagged(summed.summary, "memory", settings=settings)
    if flagged:
        return Compacted(sources=summed.sources, reason="flagged")
    named = settings.llm_model or type(model).__name__
    try:
        row_id = compacting.replace_by(
            db, persona, chosen, summed, model=named, privacy_default=settings.privacy_default
        )
    except StoreWriteError as error:
        logs.warning("compaction_not_stored", source=error.source, number=error.number)
        return Compacted(sources=summed.sources, reason=type(error).__name__)
    return Compacted(len(summed.sources), row_id, sources=summed.sources)
