"""Words no row holds any more leave the vocabulary of the search."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from sqlalchemy import Connection, Integer, bindparam, delete, select

from ..database.bulk import chunks
from ..database.dialects import ID, Key
from ..database.engine import Database
from ..database.schema import audiences, search_count, search_stats, search_vocab
from ..index import table as index_table
from ..index.lookups import TERM_BYTES, UNLISTED, WORD

WORDS_AT_ONCE, AUDIENCES_AT_ONCE = 250, 20
_PAGE = 20_000
_C, _W, _A = search_count.c, search_vocab.c, audiences.c

_HELD = (
    select(_C.term)
    .where(
        _C.audience_id.in_(bindparam("audiences", expanding=True, type_=ID)),
        _C.kind == WORD,
        _C.term.in_(bindparam("terms", expanding=True, type_=Key(255))),
        _C.docs > 0,
    )
    .distinct()
)
_KNOWN = (
    select(_W.term)
    .where(_W.head == 1, _W.part > bindparam("above", type_=Key(160)), _W.part == _W.term)
    .order_by(_W.part)
    .limit(bindparam("most", type_=Integer()))
)
_COUNTED = (
    select(_C.audience_id, _C.term)
    .where(
        _C.audience_id == bindparam("audience", type_=ID),
        _C.kind == WORD,
        _C.term > bindparam("above", type_=Key(255)),
        _C.docs > 0,
    )
    .order_by(_C.term)
    .limit(bindparam("most", type_=Integer()))
)

_TOTALS = select(search_stats.c.audience_id, search_stats.c.docs).where(search_stats.c.audience_id > 0)


def find_unheld(connection: Connection, words: Iterable[str]) -> set[str]:
    """Return those of the words that no row holds; the audiences with most rows are asked first."""
    left = {word for word in words if word != UNLISTED and len(word.encode("utf-8", "surrogatepass")) <= TERM_BYTES}
    everywhere = _by_size(connection) if left else []
    for some in chunks(everywhere, AUDIENCES_AT_ONCE):
        if not left:
            break
        for part in chunks(sorted(left), WORDS_AT_ONCE):
            left.difference_update(connection.execute(_HELD, {"audiences": some, "terms": part}).scalars())
    return left


def _by_size(connection: Connection) -> list[int]:
    found: dict[int, int] = {}
    for audience, docs in connection.execute(_TOTALS):
        found[audience] = found.get(audience, 0) + int(docs)
    return sorted(found, key=lambda each: (-found[each], each))


def remove_unheld(connection: Connection, words: Iterable[str]) -> tuple[int, list[str]]:
    """Take the words no row holds out of the vocabulary; return how many rows of it went, and the words."""
    gone = sorted(find_unheld(connection, words))
    return remove(connection, gone), gone


def remove(connection: Connection, words: Collection[str]) -> int:
    """Delete words from the vocabulary, each under itself and under every ending of it; return how many rows went."""
    rows = 0
    for word in sorted(words):
        # The word itself goes last: as long as it is there, whoever writes it takes its endings to be there too.
        for head, parts in ((0, [word[at:] for at in range(1, len(word))]), (1, [word])):
            for some in chunks(sorted(set(parts)), WORDS_AT_ONCE):
                where = (_W.head == head, _W.part.in_(some), _W.term == word)
                rows += connection.execute(delete(search_vocab).where(*where)).rowcount
    return rows


def find_orphans(connection: Connection) -> set[str]:
    """Return every word of the vocabulary that no row holds: also those of texts that were changed or
    deleted before.
    """
    known: set[str] = set()
    above = ""
    while page := list(connection.execute(_KNOWN, {"above": above, "most": _PAGE}).scalars()):
        known.update(page)
        above = page[-1]
    for audience in _by_size(connection):
        if not known:
            break
        last = ""
        while rows := connection.execute(_COUNTED, {"audience": audience, "above": last, "most": _PAGE}).all():
            known.difference_update(row.term for row in rows)
            last = rows[-1].term
    return known


def teach_again(db: Database, words: Collection[str]) -> int:
    """Teach again what somebody said while it was taken out, and return how many words these are."""
    if not words or db.family == "sqlite":
        return 0
    db.repeat(lambda connection: connection.execute(_TOTALS.with_for_update()).all(), source="search_stats")

    def work(connection: Connection) -> int:
        said = set(words) - find_unheld(connection, words)
        index_table.learn(connection, db.family, set(said))
        return len(said)

    return db.repeat(work, source="search_vocab")
