"""A search before any row is read: its texts, and which words of the index match them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from ..access.view import Request, Viewer
from ..calls.call import Call, load_access
from ..calls.defaults import default_embedder
from ..config import Settings
from ..database.engine import Database
from ..database.sources import ALL
from ..errors import StoreReadError
from ..tags import rules as tag_rules
from ..tags import table as tags_table
from ..text.kinds import find_kinds
from ..text.search_words import (
    SHORTEST_STEM,
    choose_nearest,
    may_be_misspelt,
    minor_words,
    other_beginnings,
    search_form,
    split_halves,
)
from ..text.stems import is_form, stem, with_prefixes
from ..text.words import Fragment, fragments, is_short_word
from ..text.words import words as plain_words
from .query import Query, Wanted, choose_words, fold_words, with_languages_of

if TYPE_CHECKING:
    from ..index.lexicon import Lexicon
    from ..index.state import IndexState

_WORDS = re.compile(r"\w+( \w+)*")

FUZZY_SCORE = 82.0
"""How alike a word that found nothing must be to a known one, 100 being equal: two wrong letters in a long word."""
MINOR_SHARE = 0.1
"""A minor word in more of the visible rows than this tells nothing."""
ENOUGH_WORDS = 5
"""A message with fewer words worth looking for is helped out by its minor ones."""
MOST_MINOR = 8
"""Most of these that are looked up; the rarest stay."""
MOST_NEAR = 5
"""Most keywords whose near spellings are looked up; the longest stay."""
SHORTEST_BEGINNING = 3
"""Letters from which words that begin with a word match it."""
WHOLE = 2**24
"""More characters than any text has."""


@dataclass(frozen=True)
class Search:
    """What is looked for, and what is known about it before any row is read."""

    query: Query
    viewer: Viewer
    settings: Settings
    """With the language of the message among LANGUAGES."""
    words: tuple[Wanted, ...]
    """The texts looked for; a row's matches are told by their indexes."""
    index: IndexState | None
    """None in recency mode, and where the index cannot be read."""
    index_error: StoreReadError | ValueError | None
    """Why the index cannot be read: the plain predicates are asked."""
    embedder: Any = None
    """What makes a vector of the message; None for none."""

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Return those of `words`."""
        return tuple(w.text for w in self.words)

    @cached_property
    def keyword_numbers(self) -> frozenset[int]:
        """Return which of `words` are keywords."""
        return frozenset(i for i, w in enumerate(self.words) if w.is_keyword)

    @cached_property
    def tag_numbers(self) -> frozenset[int]:
        """Return which of `words` are tags looked for as words."""
        return frozenset(i for i, w in enumerate(self.words) if w.is_tag)

    @cached_property
    def is_proved_by_text(self) -> bool:
        """Return whether a row that the index leads to may match nothing."""
        return any(w.is_exact or w.whole_only for w in self.words)

    @cached_property
    def proofs(self) -> Sequence[tuple[int, str, Wanted]]:
        """Return the texts that are looked for in the rows read: index in `words`, text and itself."""
        return [(i, w.text, w) for i, w in enumerate(self.words) if not w.is_minor]

    def count_rows(self, numbers: Collection[int]) -> tuple[int, float]:
        """Return how many visible rows sources have, and their mean length in words; 0 and 1 without an index."""
        rows, words = (0, 0) if self.index is None else self.index.count_rows(numbers)
        return rows, words / rows if rows else 1.0

    @property
    def chars(self) -> int:
        """Return how many characters of a text are needed for its snippet."""
        return WHOLE if self.settings.snippet_window == "match" else self.settings.snippet_chars + 1


def load_viewer(call: Call, query: Query) -> tuple[Query, Viewer]:
    """Return the query with the tags that its text names, and what its scope may see."""
    version = tags_table.get_held(call.db, call.persona)[0] if query.is_of_text else None
    seen = load_access(call, Request(vocabulary_version=version, inserted_into=query.numbers, servers=True))
    query = replace(query, notes=(*query.notes, *seen.notes))
    if not query.is_of_text:
        return query, seen.viewer
    vocabulary = tags_table.hold(call.db, call.persona, seen.vocabulary_version, seen.vocabulary)
    tags = tag_rules.extract(query.text, vocabulary=vocabulary, languages=call.settings.languages)
    return replace(query, tags=tuple(tag_rules.expand(tags, vocabulary))), seen.viewer


def read_index(viewer: Viewer, db: Database) -> tuple[IndexState | None, StoreReadError | ValueError | None]:
    """Return what the index holds of the audiences seen, or why it cannot be read."""
    from ..index.state import IndexState  # noqa: PLC0415 - loads numpy, which only a search needs

    try:
        return (IndexState(db, viewer.audiences) if viewer.audiences else None), None
    except (StoreReadError, ValueError) as error:
        return None, error


def resolve(
    query: Query,
    viewer: Viewer,
    settings: Settings,
    db: Database,
    embedder: Any = None,
    *,
    index: IndexState | None = None,
) -> Search:
    """Return a search joined with what is visible: which words of the index match its texts.

    Args:
        index: where it was read for the same call before.
    """
    settings = with_languages_of(query.text, settings)
    error = None
    if query.ranking == "recency":
        index = None
    elif index is None:
        index, error = read_index(viewer, db)
    if query.is_of_text:
        query = replace(query, keywords=fold_words(choose_words(query.words, settings.languages, index)))
    words = find_words(query, index, settings.languages)
    return Search(query, viewer, settings, words, index, error, _resolve_embedder(embedder, settings))


def _resolve_embedder(embedder: Any, settings: Settings) -> Any:
    """Return the embedder to ask, None where nobody named one."""
    if embedder is None and default_embedder() is None and not settings.embedder:
        return None
    from ..llm import embedder as semantic_embedder  # noqa: PLC0415 - loads what asks servers

    return semantic_embedder.resolve(embedder, settings)


def widen(search: Search) -> Search | None:
    """Return the search with words that hold a keyword further in too; None where there are none."""
    if search.index is None:
        return None
    lexicon = search.index.lexicon
    words = tuple(_with_inner(one, lexicon) for one in search.words)
    if words == search.words:
        return None
    return replace(search, words=words)


def find_words(query: Query, index: IndexState | None, languages: Sequence[str]) -> tuple[Wanted, ...]:
    """Return the texts looked for, each with the words of the index that match it."""
    plain = [Wanted(text, text in query.keywords, text in query.folded_tags) for text in query.texts]
    if index is None:
        return tuple(plain)
    lexicon, (rows, _) = index.lexicon, index.count_rows(range(len(ALL)))
    asked = [_find_terms(one, lexicon, languages) for one in plain]
    if not (query.text and query.keywords):
        return tuple(asked)
    said: dict[str, str] = {}
    for word in plain_words(query.text):
        said.setdefault(search_form(word, languages), word)
    words = {said.get(keyword, keyword): keyword for keyword in query.keywords}
    for word in sorted(filter(may_be_misspelt, words), key=lambda each: (-len(each), each))[:MOST_NEAR]:
        asked = _respell(words[word], word, asked, lexicon, languages)
    return (*asked, *_find_minor(query, asked, lexicon, languages, rows), *_find_kinds(query, lexicon, languages))


def _find_terms(wanted: Wanted, lexicon: Lexicon, languages: Sequence[str]) -> Wanted:
    """Return a text with the words of the index that match it."""
    text, pieces = wanted.text, fragments(wanted.text)
    if len(pieces) == 1 and pieces[0].text == text:
        if pieces[0].kind != "word":
            return replace(wanted, terms=dict.fromkeys(_terms_of(pieces[0], lexicon), True))
        form = stem(text, languages)
        counts = lexicon.commonest(text) if _is_beginning(text) else Counter({text: lexicon.rows(text)})
        for beginning in with_prefixes(form, languages):
            counts = counts | lexicon.commonest(beginning)
        terms = {term: is_form(term, text, languages, form) for term in counts if counts[term]}
        if is_short_word(text):
            whole = {term: True for term, is_whole in terms.items() if is_whole}
            return replace(wanted, terms=whole, whole_only=True)
        return replace(wanted, terms=terms)
    is_exact = not _WORDS.fullmatch(text)
    return replace(wanted, is_exact=is_exact, pieces=tuple(tuple(_terms_of(piece, lexicon)) for piece in pieces))


def _terms_of(piece: Fragment, lexicon: Lexicon) -> list[str]:
    """Return the words of the index that match one word of several, or one sign of a script without spaces."""
    if piece.kind == "char":
        return sorted({*lexicon.commonest(piece.text), *lexicon.holding(piece.text)})
    if piece.kind == "word" and piece.at_end and _is_beginning(piece.text):
        return sorted(lexicon.commonest(piece.text))
    return [piece.text] if lexicon.rows(piece.text) else []


def _is_beginning(text: str) -> bool:
    """Return whether words that begin with a text match it; a syllable of Hangul says as much as two letters."""
    return len(text) >= SHORTEST_BEGINNING or (len(text) == SHORTEST_BEGINNING - 1 and not is_short_word(text))


def _with_inner(wanted: Wanted, lexicon: Lexicon) -> Wanted:
    """Return a keyword with the words that hold it further in."""
    is_word = wanted.text.isalnum() and _is_beginning(wanted.text)
    if not (wanted.is_keyword and is_word) or wanted.whole_only or wanted.pieces:
        return wanted
    inner = {term: False for term in lexicon.holding(wanted.text) if term not in wanted.terms}
    return replace(wanted, terms={**wanted.terms, **inner}) if inner else wanted


def _respell(
    keyword: str, word: str, asked: Sequence[Wanted], lexicon: Lexicon, languages: Sequence[str]
) -> list[Wanted]:
    """Return what is asked with a keyword that stands nowhere replaced by the word that is meant.

    A keyword that one row alone holds may be misspelt there too, or just be rare: it stays, and what else may be meant
    is asked for beside it.

    Args:
        word: the keyword as it was said: it may be its stem.
    """
    at = next((i for i, w in enumerate(asked) if w.text == keyword and not w.pieces), None)
    rows = 2 if at is None else sum(lexicon.rows(term) for term in asked[at].terms)
    if at is None or rows > 1:
        return list(asked)
    first, second = split_halves(word)
    alike = lexicon.beginning(first) | lexicon.ending(second, word[0])
    known = {term: docs for term, docs in alike.items() if docs and term not in asked[at].terms}
    # `hedgehgo` is nearer to the stem of `hedgehogs` than to the word.
    forms = {form: t for t in sorted(known) if t.startswith(form := stem(t, languages))}
    forms |= {t: t for t in known}
    meant = forms.get(choose_nearest(word, {form: known[t] for form, t in forms.items()}, FUZZY_SCORE))
    if meant is None:
        return list(asked)
    form = stem(meant, languages)
    terms = dict.fromkeys((t for t in known if t == meant or stem(t, languages) == form), True)
    if rows:
        return [*asked, Wanted(meant, is_keyword=True, is_tag=False, stem=form, terms=terms)]
    return [*asked[:at], replace(asked[at], terms=terms), *asked[at + 1 :]]


def _find_minor(
    query: Query, asked: Sequence[Wanted], lexicon: Lexicon, languages: Sequence[str], rows: int
) -> list[Wanted]:
    """Return other forms of the keywords, as `hiking` of `hike`, and the minor words that help a short question out:
    the rarest, none that stands in many of the rows.
    """
    forms = {word: stem(word, languages) for word in query.keywords}
    made = []
    for word, form in forms.items():
        for beginning in other_beginnings(word, languages):
            wanted, docs = _minor_word(beginning, form, lexicon, languages, unless=word)
            made += [wanted] if docs else []
    if len(forms) >= 2 * ENOUGH_WORDS:
        return made
    taken, most, found = set(forms.values()), MINOR_SHARE * rows, []
    beside = dict.fromkeys(stem(word, languages) for word in minor_words(query.text, languages, 3 * MOST_MINOR))
    for form in [form for form in beside if form not in taken][:MOST_MINOR]:
        # Its words may not have the last letter: `hike` of hiking, `studi` of study.
        beginning = form[:-1] if len(form) > SHORTEST_STEM and form[-1] in "ei" else form
        wanted, docs = _minor_word(beginning, form, lexicon, languages)
        if 0 < docs <= most:
            found.append((docs, beginning, wanted))
    if found:
        telling = {
            stem(w.text, languages) for w in asked if 0 < rows_with(w, lexicon) <= most and any(w.terms.values())
        }
        found.sort(key=itemgetter(0, 1))
        made += [wanted for _, _, wanted in found[: max(0, ENOUGH_WORDS - len(telling))]]
    return made


def _find_kinds(query: Query, lexicon: Lexicon, languages: Sequence[str]) -> list[Wanted]:
    """Return the kinds of the class nouns of a question: they count with the noun, as letters inside it do."""
    found = []
    for noun, kinds in find_kinds(query.text, languages).items() if query.is_question else ():
        terms = {term: False for kind in sorted(kinds) for term in _find_kind(kind, lexicon, languages)}
        if terms:
            form = stem(noun, languages)
            found.append(Wanted(noun, is_keyword=False, is_tag=False, is_minor=True, stem=form, terms=terms))
    return found


def _find_kind(kind: str, lexicon: Lexicon, languages: Sequence[str]) -> list[str]:
    """Return the words of the index that are one kind; of a script without spaces its signs."""
    piece = fragments(kind)[0]
    if piece.kind != "word":
        return [term for each in fragments(kind) for term in _terms_of(each, lexicon)]
    form = stem(kind, languages)
    beginning = form if kind.startswith(form) and len(form) >= SHORTEST_STEM else kind
    return [term for term in lexicon.beginning(beginning) if is_form(term, kind, languages, form)]


def _minor_word(
    beginning: str, form: str, lexicon: Lexicon, languages: Sequence[str], unless: str = ""
) -> tuple[Wanted, int]:
    """Return the words of one stem that begin alike, but for those that begin with a keyword; and the rows they
    stand in.
    """
    docs = {t: n for t, n in lexicon.beginning(beginning).items() if n and is_form(t, "", languages, form)}
    docs = {t: n for t, n in docs.items() if not (unless and t.startswith(unless))}
    terms = dict.fromkeys(docs, True)
    return Wanted(beginning, is_keyword=False, is_tag=False, is_minor=True, stem=form, terms=terms), sum(docs.values())


def rows_with(wanted: Wanted, lexicon: Lexicon) -> int:
    """Return in how many rows a text stands as a whole word, or, where it never does, at the beginning of others."""
    docs: Counter[bool] = Counter()
    for term, is_whole in wanted.terms.items():
        docs[is_whole] += lexicon.rows(term)
    return docs[True] or docs[False]
