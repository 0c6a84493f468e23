"""Which items may hold all words of a query, by the search index."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Integer, bindparam, func, select

from ..audience.view_statement import LAST_CHAR
from ..database.dialects import ID, Key
from ..database.engine import Database
from ..database.schema import audiences, search_count, search_progress, search_vocab
from ..database.sources import MEMORIES
from ..index.lookups import TERM_BYTES, UNLISTED, WORD
from ..text.words import Fragment, fragments

MOST_IDS = 2000
MOST_TERMS = 200
MOST_LOOK_UPS = 20_000
"""Pairs of audience and word that are looked up at most."""
PIECES = 12
"""Pieces of the query that are looked at, the longest."""


def candidates(db: Database, persona: str, seen: Sequence[int] | None, words: Sequence[str]) -> list[int] | None:
    """Return ids of items among which all are that hold these words; None where the index is of no help."""
    pieces = sorted({p for word in words for p in fragments(word)}, key=lambda each: (-len(each.text), each.text))
    if not pieces or not db.read(_READY, {"source": MEMORIES.number}, source="search_progress"):
        return None
    if seen is None:
        seen = [row[0] for row in db.read(_OWN, {"persona": persona}, source="audiences")]
    own = list(seen)
    best: list[str] | None = None
    fewest = MOST_IDS + 1
    for piece in pieces[:PIECES]:
        terms = _terms(db, piece)
        if terms is None or len(terms) * len(own) > MOST_LOOK_UPS:
            continue
        values = {"audiences": own, "terms": terms, "source": MEMORIES.number}
        docs = int(db.read(_DOCS, values, source="search_count")[0][0] or 0)
        if docs < fewest:
            best, fewest = terms, docs
    if best is None:
        return None
    from ..index import audiences as index_audiences  # noqa: PLC0415 - loads numpy

    found = index_audiences.find_ids(db, persona, own, MEMORIES.number, best)
    return sorted(found) if len(found) <= MOST_IDS else None


def _terms(db: Database, piece: Fragment) -> list[str] | None:
    """Return the known words that may hold a piece, and the mark of items with words that are not known; None where
    they are too many."""
    if len(piece.text.encode("utf-8", "replace")) > TERM_BYTES:
        return [UNLISTED]
    if piece.closed:
        return [piece.text, UNLISTED]
    found: set[str] = set()
    for head, low, high in _ranges(piece):
        rows = db.read(_KNOWN, {"head": head, "low": low, "high": high, "most": MOST_TERMS + 1}, source="search_vocab")
        if len(rows) > MOST_TERMS:
            return None
        found.update(row.term for row in rows)
    return [*sorted(found), UNLISTED]


def _ranges(piece: Fragment) -> list[tuple[int, str, str]]:
    """Return the ranges of known words, and of their endings, in which words that hold a piece stand."""
    made = []
    if piece.at_end:
        made.append((1, piece.text, piece.text + LAST_CHAR))
    else:
        made.append((1, piece.text, piece.text + "\x00"))
    if piece.at_start:
        made.append((0, piece.text, piece.text + (LAST_CHAR if piece.at_end else "\x00")))
    return made


_P, _V, _N = search_progress.c, search_vocab.c, search_count.c
_READY = select(_P.ready).where(_P.source == bindparam("source"), _P.ready == 1)
_OWN = select(audiences.c.audience_id).where(audiences.c.persona_id == bindparam("persona", type_=Key(64)))
_KNOWN = (
    select(_V.term)
    .where(
        _V.head == bindparam("head", type_=Integer()),
        _V.part >= bindparam("low", type_=Key(170)),
        _V.part < bindparam("high", type_=Key(170)),
    )
    .order_by(_V.part, _V.term)
    .limit(bindparam("most", type_=Integer()))
)


_OWNED = bindparam("audiences", expanding=True, type_=ID)
_TERMS = bindparam("terms", expanding=True, type_=Key(TERM_BYTES))
_SOURCE = bindparam("source", type_=Integer())
_DOCS = select(func.sum(_N.docs)).where(
    _N.audience_id.in_(_OWNED), _N.term.in_(_TERMS), _N.source == _SOURCE, _N.kind == WORD
)
