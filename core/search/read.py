"""Third stage: read the candidates from the database; with an embedder, also compare their meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..base import logs
from ..database.engine import Database
from ..errors import ConfigError, CoreError, StoreReadError
from . import table
from .rank import Ranked, Round, Share, leave_best
from .ranking.rows import Candidate
from .table import Errors, Rows

if TYPE_CHECKING:
    from .meaning import Meanings


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """The candidates of a round after reading."""

    ranked: Ranked
    """Ranking result with the candidates that were read."""
    round: Round
    """State of this round, from which the next round continues."""
    rows: Rows = field(default_factory=dict)
    errors: Errors = field(default_factory=dict)
    meaning: Meanings | None = None
    """Similarities to the message; None without an embedder, or if it failed."""
    meaning_error: CoreError | None = None
    """Error that made similarities unavailable: only words count, in this and later rounds."""


def read_rows(ranked: Ranked, db: Database, current: Round) -> Read:
    """Return the candidates with their rows; rows that are read already are not read again."""
    return Read(ranked, current, *_read_missing(ranked, ranked.candidates, db))


def _read_missing(ranked: Ranked, candidates: Sequence[Candidate], db: Database) -> tuple[Rows, Errors]:
    missing = [key for c in candidates if (key := (c.source, c.id)) not in ranked.rows]
    rows, errors = table.read_rows(
        db, missing, table.read_values(ranked.search, db), ranked.search.viewer.scope.persona
    )
    return {**ranked.rows, **rows}, {**ranked.errors, **errors}


def read_by_meaning(ranked: Ranked, db: Database, current: Round, share: Share, before: Read | None) -> Read:
    """Return the candidates near in words or meaning, with rows; if the embedder fails, those near in words."""
    from ..llm.embedder import EmbedderError  # noqa: PLC0415 - imports clients of servers
    from . import meaning  # noqa: PLC0415

    known, candidates = None, list(ranked.candidates)
    failed = None if before is None else before.meaning_error
    if failed is None:
        try:
            known, candidates = meaning.compare_rows(ranked, db, None if before is None else before.meaning)
        except (EmbedderError, StoreReadError, ConfigError) as error:
            logs.warning("embedder_failed", error=type(error).__name__, reason=getattr(error, "reason", ""))
            failed = error
    if known is not None:
        most = max((c.score for c in candidates), default=0.0) or 1.0
        candidates = [replace(c, score=c.score + most * known.find(c.key)) for c in candidates]
    candidates, is_whole = leave_best(candidates, share)
    rows, errors = _read_missing(ranked, candidates, db)
    if known is not None:
        known = known.with_rows(list(rows))
    ranked = replace(ranked, candidates=candidates, is_complete=ranked.is_complete and is_whole)
    return Read(ranked, current, rows, errors, known, failed)
