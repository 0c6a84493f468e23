"""A search before any row is read: query, terms, viewer and index."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ..access.rules import mark_server
from ..access.view import Request, Viewer
from ..calls.call import Call, load_access
from ..config import Settings
from ..database import sources
from ..database.engine import Database
from ..errors import StoreReadError
from ..index.shapes import WORD
from ..index.state import IndexState
from ..llm import embedder as embedders
from ..llm.embedder import Embedder
from ..scope import NO_SERVER
from ..tags import rules as tag_rules
from ..tags import table as tags_table
from ..text.folding import clean
from ..text.question_words import asked_words, holds, leave_call
from ..text.search_words import KEYWORD_LIMIT, least_pairs
from ..text.time import names_talk
from ..text.words import words as plain_words
from .lookup import find_terms, loosen_terms, widen_terms
from .query import Query, asks, choose_words, fold_words, list_words
from .ranking.rows import FOLDED_CHARS, PERSONA
from .terms import QueryTerm

WHOLE = 2**24
"""Number of characters that no text exceeds: texts are not cut."""
EXACT_CHARS = 200_000
"""Number of characters of a text that are searched for exact terms, which the index cannot prove."""


@dataclass(frozen=True)
class Search:
    query: Query
    viewer: Viewer
    settings: Settings
    terms: tuple[QueryTerm, ...]
    """Terms; the id of a term is its position."""
    index: IndexState | None
    index_error: StoreReadError | ValueError | None
    """Error reading the index, after which plain SQL predicates are used; None without an error."""
    embedder: Embedder | None = None

    @cached_property
    def proofs(self) -> Sequence[tuple[int, str, QueryTerm]]:
        """Return the terms that are searched for in the texts of rows, each as (id, text, term)."""
        return [(i, term.text, term) for i, term in enumerate(self.terms) if term.kind not in ("minor", "tag")]

    @cached_property
    def keyword_ids(self) -> frozenset[int]:
        return frozenset([i for i, term in enumerate(self.terms) if term.is_keyword])

    @cached_property
    def tag_ids(self) -> frozenset[int]:
        return frozenset([i for i, term in enumerate(self.terms) if term.kind == "tag"])

    @cached_property
    def tags_in_chat(self) -> frozenset[int]:
        """Return the ids of all tag terms: tags of rows, and tags searched as words in the chat."""
        return self.tag_ids | {i for i, term in enumerate(self.terms) if term.is_tag_word}

    @cached_property
    def least_pairs(self) -> tuple[frozenset[str], int]:
        """Return the character pairs of a one-word message, and how many of them a row must hold."""
        return least_pairs(self.query.text)

    @cached_property
    def has_other_words(self) -> bool:
        """Return whether an index match may be another word: with other tone marks, or too few character pairs."""
        return bool(self.least_pairs[1]) or any(term.is_toned for term in self.terms)

    @cached_property
    def is_proved_by_text(self) -> bool:
        """Return whether the text of a row found in the index must be read to prove the match."""
        return self.has_other_words or any(term.is_exact or term.least != "inside" for term in self.terms)

    def count_rows(self, numbers: Collection[int]) -> tuple[int, float]:
        """Return the number of visible rows of sources, and their mean length in words; 0 and 1 without an index."""
        rows, words = (0, 0) if self.index is None else self.index.count_rows(numbers)
        return rows, words / rows if rows else 1.0

    @cached_property
    def looked_for(self) -> Mapping[int, Sequence[str]]:
        """Return, by source, the texts around which the snippet of a row is cut: the terms, and words that match."""
        listed = {}
        for source in sources.BY_NUMBER:
            terms = [term for term in self.terms if term.applies(source)]
            words = [one for term in terms for one, whole in term.index_terms.items() if whole or term.kind == "minor"]
            texts = [*[term.text for term in terms], *[text for kind, text in words if kind == WORD]]
            listed[source] = fold_words([*map(clean, texts)])
        return listed

    @cached_property
    def searched_chars(self) -> int:
        """Return how many leading characters of each loaded row's folded text are searched."""
        return EXACT_CHARS if any(term.is_exact for term in self.terms) else FOLDED_CHARS

    @property
    def chars(self) -> int:
        """Return the number of characters of a text that its snippet needs."""
        return WHOLE if self.settings.snippet_window == "match" else self.settings.snippet_chars + 1


def load_viewer(call: Call, query: Query) -> tuple[Query, Viewer]:
    """Return the query with the tags in its text, and the viewer of its scope."""
    version = tags_table.get_held(call.db, call.persona)[0] if query.is_of_text else None
    seen = load_access(call, Request(vocabulary_version=version, inserted_into=query.numbers, is_prompt=True))
    # For each excluded conversation, its stored key with the mark of a server is excluded too.
    exclude, servers = query.exclude, [server for server in (seen.viewer.own.server, NO_SERVER) if server]
    if marked := {mark_server(key, server) for key in exclude.conversations for server in servers}:
        exclude = replace(exclude, conversations=exclude.conversations | marked)
    tags = query.tags
    if query.is_of_text:
        vocabulary = tags_table.hold(call.db, call.persona, seen.vocabulary_version, seen.vocabulary)
        own = tag_rules.extract(query.text, vocabulary=vocabulary, languages=call.settings.languages)
        tags = tuple(tag_rules.expand(own, vocabulary))
    return replace(query, exclude=exclude, tags=tags, notes=(*query.notes, *seen.notes)), seen.viewer


def read_index(viewer: Viewer, db: Database) -> tuple[IndexState | None, StoreReadError | ValueError | None]:
    """Return (index of the visible audiences, None), or (None, the error with which it could not be read)."""
    try:
        return (IndexState(db, viewer.audiences) if viewer.audiences else None), None
    except (StoreReadError, ValueError) as error:
        return None, error


def leave_persona(query: Query, persona: str, index: IndexState | None) -> Query:
    """Remove the persona's id and names from a query where they only address the persona: `Iris, where am I?`"""
    views = [] if index is None else [one.view for one in index.audiences.values()]
    names = {view.speakers[n].name for view in views for n in view.find_speakers("role", (PERSONA,))}
    text = leave_call(query.text, {persona, *names} - {""}, query.languages)
    if text == query.text:
        return query
    is_asking = asks(text, query.languages)
    how = {"is_asking": is_asking, "reads_times": query.reads_times}
    words = list_words(text, query.languages, **how) if query.is_of_text else ()
    keywords = fold_words(choose_words(words, query.languages, None)) if words else query.keywords
    is_question = query.is_question or (query.ranking == "relevance" and is_asking)
    return replace(query, text=text, words=tuple(words), keywords=keywords, is_question=is_question)


def build_search(
    query: Query,
    viewer: Viewer,
    settings: Settings,
    db: Database,
    embedder: Embedder | None = None,
    *,
    index: IndexState | None = None,
) -> Search:
    """Return a search with the index words that match the query; `index` may be passed if it was read before."""
    error = None
    if index is None:
        index, error = read_index(viewer, db)
        query = leave_persona(query, viewer.scope.persona, index)
    # In recency mode the index only selects the rows to compare.
    words_of = None if query.ranking == "recency" else index
    if words_of is not None and len(query.words) > KEYWORD_LIMIT:
        query = replace(query, keywords=fold_words(choose_words(query.words, query.languages, words_of)))
    if words_of is not None and _is_about_asker(query):
        query = _add_asker(query, viewer, words_of)
    terms = find_terms(query, words_of)
    return Search(query, viewer, settings, terms, index, error, embedders.resolve(embedder, settings))


def _is_about_asker(query: Query) -> bool:
    """Return whether a question asks what others said about the asker: `What did Ben say about me?`"""
    said, languages = asked_words(query.text), query.languages[:1]
    if not query.is_question or holds(said, "other", languages) or not holds(said, "about_me", languages):
        return False
    return names_talk(said, languages)


def _add_asker(query: Query, viewer: Viewer, index: IndexState) -> Query:
    """Add the asker's names to the words of a query."""
    views = [one.view for one in index.audiences.values()]
    names = {view.speakers[n].name for view in views for n in view.find_speakers("key", viewer.identities)}
    return replace(query, keywords=fold_words([*query.keywords, *plain_words(" ".join(sorted(names)))]))


def widen(search: Search, *, is_empty: bool) -> Search | None:
    """Let keywords (short ones if `is_empty`) also match inside words; return None if that changes nothing."""
    if search.index is None:
        return None
    loose = loosen_terms(search.terms) if is_empty else search.terms
    terms = widen_terms(loose, search.index.lexicon, search.query.languages)
    return None if terms == search.terms else replace(search, terms=terms)
