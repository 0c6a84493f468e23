"""A search before any row is read: its texts joined with what is visible, and which known words hold them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..audience.view import Viewer, WordCount
from ..config import Settings
from ..database import sources
from ..index.lookups import TAG, UNLISTED, Count, Known, Wanted, rarity
from ..index.postings import Limits
from ..llm import embedder as semantic_embedder
from ..text.near_spelling import choose_nearest
from ..text.words import Fragment, fragments, is_short_word, stem
from .language import with_languages_of
from .query import ENOUGH_WORDS, Minor, Near, Query, pieces

_TAGGED = -1 - TAG
"""What stands in place of a piece's number where tags were counted."""

MINOR_SHARE = 0.1
"""A minor word in more of the visible rows than this tells nothing."""


FOLDED_CHARS = 4000
"""Characters of a row in which words beyond the budget are looked for."""
WHOLE = 2**24
"""More characters than any text has."""


@dataclass(frozen=True, slots=True)
class Search:
    """What is looked for, and what is known about it before any row is read."""

    query: Query
    viewer: Viewer
    settings: Settings
    """With the language of the message among LANGUAGES."""
    words: tuple[Wanted, ...]
    """The texts looked for; a row's matches are told by their indexes."""
    known: Known
    limits: Limits
    embedder: Any = None
    """What makes a vector of the message; None for none."""
    texts: tuple[str, ...] = field(init=False)
    """Those of `words`."""
    keyword_numbers: frozenset[int] = field(init=False)
    tag_numbers: frozenset[int] = field(init=False)
    """Which of `words` are keywords, and which are tags looked for as words."""
    said_in_chat: Sequence[tuple[int, str, bool]] = field(init=False)
    said_elsewhere: Sequence[tuple[int, str, bool]] = field(init=False)
    said_whole: Sequence[tuple[int, str, tuple[str, ...]]] = field(init=False)
    """The texts that chat rows, or others, may hold: index in `words`, text, whether that alone proves the match.
    Of `said_whole`, which count as whole words alone: index, text, the languages whose endings count."""
    stands: Mapping[str, Sequence[tuple[int, int, bool]]] = field(init=False)
    """Known word to the texts that it proves: index in `words`, place among its known words, whether it is whole."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "texts", tuple(w.text for w in self.words))
        object.__setattr__(self, "keyword_numbers", frozenset(i for i, w in enumerate(self.words) if w.is_keyword))
        object.__setattr__(self, "tag_numbers", frozenset(i for i, w in enumerate(self.words) if w.is_tag))
        said = [(i, w) for i, w in enumerate(self.words) if not (w.is_minor or w.whole_only)]
        languages = tuple(self.settings.languages)
        whole = [(i, w.text, languages) for i, w in enumerate(self.words) if w.whole_only]
        object.__setattr__(self, "said_whole", whole)
        object.__setattr__(self, "said_in_chat", [(i, w.text, w.verify) for i, w in said])
        stands: dict[str, list[tuple[int, int, bool]]] = {}
        for i, w in enumerate(self.words):
            for n, (term, is_whole) in enumerate(() if w.verify or w.walk else w.terms.items()):
                stands.setdefault(term, []).append((i, n, is_whole))
        object.__setattr__(self, "stands", stands)
        object.__setattr__(self, "said_elsewhere", [(i, w.text, w.verify) for i, w in said if w.is_keyword])

    @property
    def chars(self) -> int:
        """Return how many characters of a text are needed for its snippet."""
        return WHOLE if self.settings.snippet_window == "match" else self.settings.snippet_chars + 1


def resolve(query: Query, viewer: Viewer, settings: Settings, embedder: Any = None) -> Search:
    """Return a search joined with what is visible: which known words hold its texts, as far as `viewer`
    brought these.
    """
    settings = with_languages_of(query.text, settings)
    words, known = _join(query, viewer, settings.languages)
    here = viewer.scope.conversation or ""
    limits = query.limits(viewer.scope.persona, local_only=viewer.sees_local_only, here=here)
    own = semantic_embedder.resolve(embedder, settings)
    return Search(query, viewer, settings, words, known, limits, own)


def list_unindexed(viewer: Viewer) -> list[str]:
    """Return the note that rows of other programs are not found yet, where there are some."""
    said = f"{viewer.unindexed} rows that were inserted by SQL are not indexed yet. Run `prompt-engine db reindex`."
    return [said] if viewer.unindexed else []


def _join(query: Query, viewer: Viewer, languages: Sequence[str]) -> tuple[tuple[Wanted, ...], Known]:
    by_piece: dict[int, dict[tuple[int, int, str], int]] = {}
    for c in viewer.counts:
        by_piece.setdefault(c.fragment, {})[c.audience_id, c.source, c.term] = c.docs
    vocabulary = _Vocabulary(viewer, by_piece, tuple(languages), query.ranking == "recency")
    tags = set(query.tags)
    known = Known(
        words=_counts(c for c in viewer.counts if c.fragment != _TAGGED),
        tags=_counts(c for c in viewer.counts if c.fragment == _TAGGED and c.term in tags),
        audiences=viewer.audiences,
        sources=tuple(s.number for s in query.sources),
        chat=sources.CHAT.number,
        rows={place: docs for place, (docs, _) in viewer.docs.items()},
    )
    asked = [vocabulary.wanted(text, query) for text in query.texts]
    for near in query.near:
        asked = vocabulary.respelt(near, asked)
    return (*asked, *_minor(vocabulary, query, asked, known)), known


def _minor(vocabulary: _Vocabulary, query: Query, asked: Sequence[Wanted], known: Known) -> list[Wanted]:
    """Return the minor words that help a short question out: the rarest, none that stands in many of the rows."""
    counted = [(*vocabulary.minor(one), one) for one in query.minor]
    made = [w for w, docs, one in counted if one.of and docs]
    if len(made) == len(counted):
        return made
    most = MINOR_SHARE * sum(known.rows.values())
    telling = {
        stem(w.text, vocabulary.languages)
        for w, docs in zip(asked, rarity(asked, known.words, known.chat), strict=True)
        if 0 < docs <= most and any(w.terms.values())
    }
    found = sorted(((docs, w.text, w) for w, docs, one in counted if not one.of and 0 < docs <= most), key=_rarest)
    return made + [w for _, _, w in found[: max(0, ENOUGH_WORDS - len(telling))]]


def _rarest(found: tuple[int, str, Wanted]) -> tuple[int, str]:
    return found[:2]


def _counts(found: Iterable[WordCount]) -> list[Count]:
    return list(dict.fromkeys(Count(c.audience_id, c.term, c.source, c.docs) for c in found))


def is_form(term: str, text: str, languages: Sequence[str], form: str = "") -> bool:
    """Return whether a word is a text looked for, or has its stem."""
    word = term.strip("_")
    return word == text or stem(word, languages) in (form or stem(text, languages), text)


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    """The known words a viewer brought, by the piece that was asked for."""

    viewer: Viewer
    by_piece: dict[int, dict[tuple[int, int, str], int]]
    languages: tuple[str, ...]
    exact: bool
    """Every match has to be found: a piece that stands in more words than were taken leads nowhere."""
    words_by_piece: dict[Fragment, tuple[dict[str, int], bool]] = field(default_factory=dict)
    """What `words_with` gave for a piece: several texts have the same."""

    def wanted(self, text: str, query: Query) -> Wanted:
        """Return a text with the words its rows are found by: those of its rarest piece."""
        every = fragments(text)
        plain = Wanted(text, is_keyword=text in query.keywords, is_tag=text in query.folded_tags)
        asked = pieces(text)
        known = [self.words_with(piece) for piece in asked]
        is_whole = not self.exact and is_short_word(text)
        usable = [
            i for i, (_, cut) in enumerate(known) if is_whole or not ((cut and self.exact) or asked[i].may_be_unlisted)
        ]
        if not usable:
            return replace(plain, walk=True, whole_only=is_whole)
        terms, cut = known[min(usable, key=lambda i: (known[i][1], sum(known[i][0].values()), i))]
        if len(every) > 1 or every[0].text != text:
            return replace(plain, terms=dict.fromkeys(terms, True), verify=True, cut=cut)
        if every[0].kind != "word":
            return replace(plain, terms=dict.fromkeys(terms, True), cut=cut)
        form = stem(text, self.languages)
        held = {t: is_form(t, text, self.languages, form) for t in terms}
        if not is_whole:
            return replace(plain, terms=held, cut=cut)
        return replace(plain, terms={t: True for t, is_whole in held.items() if is_whole}, whole_only=True)

    def respelt(self, near: Near, asked: Sequence[Wanted]) -> list[Wanted]:
        """Return what is asked with a keyword that stands nowhere replaced by the known word that is meant."""
        at = next((i for i, w in enumerate(asked) if w.text == near.keyword and not (w.walk or w.verify)), None)
        known: dict[str, int] = {}
        for half in near.pieces:
            known |= self.words_with(half)[0]
        if at is None:
            return list(asked)
        known = {term: docs for term, docs in known.items() if term not in asked[at].terms}
        held = sum(docs for piece in pieces(near.keyword) for docs in self.words_with(piece)[0].values())
        if held > 1:
            return list(asked)
        # `hedgehgo` is nearer to the stem of `hedgehogs` than to the word.
        forms = {form: t for t in sorted(known) if t.startswith(form := stem(t, self.languages))}
        forms |= {t: t for t in known}
        meant = forms.get(choose_nearest(near.word, {form: known[t] for form, t in forms.items()}, near.score))
        if meant is None:
            return list(asked)
        form = stem(meant, self.languages)
        terms = dict.fromkeys((t for t in known if t == meant or stem(t, self.languages) == form), True)
        if held:
            return [*asked, Wanted(meant, is_keyword=True, is_tag=False, stem=form, terms=terms)]
        return [*asked[:at], replace(asked[at], terms=terms), *asked[at + 1 :]]

    def minor(self, asked: Minor) -> tuple[Wanted, int]:
        """Return minor words of one stem, and the rows these stand in."""
        known, _ = self.words_with(asked.piece)
        docs = {t: n for t, n in known.items() if is_form(t, "", self.languages, asked.stem)}
        docs = {t: n for t, n in docs.items() if not asked.of or asked.of not in t}
        made = Wanted(
            asked.beginning,
            is_keyword=False,
            is_tag=False,
            is_minor=True,
            stem=asked.stem,
            terms=dict.fromkeys(docs, True),
        )
        return made, sum(docs.values())

    def words_with(self, piece: Fragment) -> tuple[dict[str, int], bool]:
        """Return the visible known words that may hold a piece, with their rows, and whether some may be missing."""
        words = self.words_by_piece.get(piece)
        if words is None:
            words = self.words_by_piece[piece] = self._find_words(piece)
        return words

    def _find_words(self, piece: Fragment) -> tuple[dict[str, int], bool]:
        place = self.viewer.fragments.index(piece) if piece in self.viewer.fragments else None
        rows = {key: docs for key, docs in self.by_piece.get(-1, {}).items() if piece.fits(key[2])}
        if place is not None:
            rows |= self.by_piece.get(place, {})
        found: dict[str, int] = {}
        for (_, _, term), docs in rows.items():
            if term != UNLISTED:
                found[term] = found.get(term, 0) + docs
        return found, place is None or place in self.viewer.cut_fragments
