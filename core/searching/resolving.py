"""The texts of a search joined with what is visible: which known words hold them, and how rare they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from core.rules.lookups import UNLISTED, Count, Known, Wanted
from core.rules.words import Fragment, fragments, stem
from core.searching.query import Query, pieces
from core.store import sources
from core.store.search_index import TAG
from core.store.viewing import Viewer, WordCount

_TAGGED = -1 - TAG
"""What stands in place of a piece's number where tags were counted."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """What is looked for, and what is known about it before any row is read."""

    words: tuple[Wanted, ...]
    known: Known


def resolved(query: Query, viewer: Viewer, languages: Sequence[str]) -> Resolved:
    """Return the texts looked for with the known words that hold them, as far as `viewer` brought these."""
    by_piece: dict[int, dict[tuple[int, int, str], int]] = {}
    for c in viewer.counts:
        by_piece.setdefault(c.fragment, {})[c.audience_id, c.source, c.term] = c.docs
    vocabulary = _Vocabulary(viewer, by_piece, tuple(languages), query.ranking == "recency")
    asked = set(query.tags)
    known = Known(
        words=_counts(c for c in viewer.counts if c.fragment != _TAGGED),
        tags=_counts(c for c in viewer.counts if c.fragment == _TAGGED and c.term in asked),
        audiences=viewer.audiences,
        sources=tuple(s.number for s in query.sources),
        chat=sources.CHAT.number,
        rows={place: docs for place, (docs, _) in viewer.docs.items()},
    )
    return Resolved(tuple(vocabulary.wanted(text, query) for text in query.texts), known)


def _counts(found: Iterable[WordCount]) -> list[Count]:
    return list(dict.fromkeys(Count(c.audience_id, c.term, c.source, c.docs) for c in found))


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    """The known words a viewer brought, by the piece that was asked for."""

    viewer: Viewer
    by_piece: dict[int, dict[tuple[int, int, str], int]]
    languages: tuple[str, ...]
    exact: bool
    """Every match has to be found: a piece that stands in more words than were taken leads nowhere."""

    def wanted(self, text: str, query: Query) -> Wanted:
        """Return a text with the words its rows are found by: those of its rarest piece."""
        every = fragments(text)
        plain = Wanted(text, is_keyword=text in query.keywords, is_tag=text in query.tags)
        known = [self.words_with(piece) for piece in pieces(text)]
        usable = [i for i, (_, cut) in enumerate(known) if not (cut and self.exact)]
        if not usable:
            return replace(plain, walk=True)
        terms, cut = known[min(usable, key=lambda i: (known[i][1], sum(known[i][0].values()), i))]
        if len(every) > 1 or every[0].text != text:
            return replace(plain, terms=dict.fromkeys(terms, True), verify=True, cut=cut)
        if every[0].kind != "word":
            return replace(plain, terms=dict.fromkeys(terms, True), cut=cut)
        form = stem(text, self.languages)
        return replace(plain, terms={t: self._is_whole(t, text, form) for t in terms}, cut=cut)

    def _is_whole(self, term: str, text: str, form: str) -> bool:
        word = term.strip("_")
        return word == text or stem(word, self.languages) in (form, text)

    def words_with(self, piece: Fragment) -> tuple[dict[str, int], bool]:
        """Return the visible known words that may hold a piece, with their rows, and whether some may be missing."""
        place = self.viewer.fragments.index(piece) if piece in self.viewer.fragments else None
        rows = {key: docs for key, docs in self.by_piece.get(-1, {}).items() if piece.fits(key[2])}
        if place is not None:
            rows |= self.by_piece.get(place, {})
        found: dict[str, int] = {}
        for (_, _, term), docs in rows.items():
            if term != UNLISTED:
                found[term] = found.get(term, 0) + docs
        return found, place is None or place in self.viewer.cut_fragments
