"""What tests ask of the search index: whether it is what the rows give."""

from __future__ import annotations

from core.database.engine import Database
from core.index import check
from core.index.differences import Difference


def verify_index(db: Database) -> list[Difference]:
    """Return every place where the search index is not what the rows give."""
    return list(check.differences(db))
