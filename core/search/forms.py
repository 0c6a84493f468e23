"""Other forms and spellings of the words of a message, among the words of the index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..index.shapes import PHRASE, WORD
from ..text.folding import SPACELESS_PATTERN, fold, fold_case, word_runs
from ..text.forms.spellings import (
    LONGEST_COMPOUND,
    SHORTEST_COMPOUND,
    SHORTEST_PART,
    holds_tone,
    list_joined,
    list_other_numbers,
    list_other_scripts,
    list_quoted,
    split_compound,
    split_figures,
)
from ..text.forms.variants import find_forms
from ..text.search_words import inner_names
from ..text.stems import list_forms, stem
from .terms import Kind, QueryTerm

if TYPE_CHECKING:
    from ..index.lexicon import Lexicon
    from .ranking.rows import Matched
    from .resolve import Search

PAIR = 2
"""Number of characters of a pair; texts in scripts without spaces are indexed by pairs."""
_FIRST_HAN = "\u3400"
Resolve = Callable[[QueryTerm], QueryTerm]
"""Returns a term with the words of the index that match it."""


def list_written(text: str) -> dict[str, str]:
    """Return the written form of each folded word of a message; a sentence's first word loses its capital."""
    names = set(inner_names(text))
    spelt = {fold(word): word for word in word_runs(fold_case(text))}
    return spelt | {fold(name): name for name in names}


def add_forms(
    text: str, terms: Sequence[QueryTerm], resolve: Resolve, lexicon: Lexicon, languages: Sequence[str]
) -> list[QueryTerm]:
    """Return the terms of a message with other forms of their words, and terms for other spellings."""
    made = [
        _add_words(term, find_forms(term.written or term.text, languages, lexicon.beginning))
        if _is_word(term)
        else term
        for term in terms
    ]
    if "vi" in languages:
        made = [replace(term, is_toned=not term.written.isascii()) for term in made]
    place = {term.text: at for at, term in enumerate(made)}
    beside = [resolve(QueryTerm(phrase, "keyword", is_exact=True)) for phrase in list_quoted(text)]
    for joined, parts in list_joined(text).items():
        places = {place[part] for part in parts if part in place}
        near = lexicon.beginning(joined) if places else ()
        words = list_forms(near, joined, languages)
        for at in places if words else ():
            made[at] = _add_words(made[at], words)
    others = [*list_other_numbers(text, languages).items(), *list_other_scripts(text, languages).items()]
    for word, other in ((word, other) for word, spellings in others for other in dict.fromkeys(spellings)):
        at, is_word = place.get(word, -1), other.isalnum() and not SPACELESS_PATTERN.search(other)
        if is_word and not lexicon.beginning(fold(other)[:SHORTEST_PART]):
            continue
        if is_word and at >= 0 and _is_word(made[at]):
            made[at] = _add_words(made[at], find_forms(other, languages, lexicon.beginning))
        elif at >= 0 or not other.isdigit():  # a stop word such as `one` is not searched as a digit
            beside.append(resolve(QueryTerm(fold(other), "minor", stem=stem(word, languages))))
    for term in made:
        if term.is_keyword and not term.pieces and not term.index_terms:
            if _is_word(term):
                beside += _split(term, lexicon, languages)
            elif min(term.text) >= _FIRST_HAN:
                # two characters that may stand apart in a text: `游了泳` for `游泳`
                beside.append(resolve(QueryTerm(" ".join(term.text), "minor", stem=term.text)))
    return [*made, *(term for term in beside if term.index_terms)]


def leave_other_words(search: Search, matched: Matched, texts: Sequence[str]) -> Matched:
    """Return a row's matches without words that have other tone marks; {} if too few character pairs are left."""
    terms = search.terms
    kept = {
        i: found
        for i, found in matched.items()
        if not terms[i].is_toned or any(holds_tone(terms[i].written, text) for text in texts)
    }
    pairs, least = search.least_pairs
    held, said = {terms[i].text for i in kept}, fold(search.query.text) if least else ""
    is_other_word = len(held & pairs) < least and not any(len(text) > PAIR or text not in said for text in held)
    return {} if is_other_word else kept


def _is_word(term: QueryTerm) -> bool:
    return term.is_keyword and not term.pieces and not SPACELESS_PATTERN.search(term.text)


def _add_words(term: QueryTerm, words: Iterable[str]) -> QueryTerm:
    return replace(term, index_terms={**term.index_terms, **dict.fromkeys(((WORD, word) for word in words), True)})


def _split(term: QueryTerm, lexicon: Lexicon, languages: Sequence[str]) -> list[QueryTerm]:
    """Return the parts of a compound that no row holds, as a phrase; nothing if it has no parts."""

    def find(part: str) -> list[str]:
        near = lexicon.beginning(part[: max(SHORTEST_PART, len(part) - 1)])
        forms = find_forms(part, languages, lexicon.beginning) if near else ()
        return list(dict.fromkeys([*list_forms(near, part, languages), *forms]))

    word, parts = term.text, [[part] for part in split_figures(term.text)]
    if not parts and SHORTEST_COMPOUND <= len(word) <= LONGEST_COMPOUND:
        parts = split_compound(word, find, languages)
    is_one = not parts
    if is_one:
        halves = [[word[:at], word[at:]] for at in range(1, len(word) - 1)]
        rows = lexicon.count_rows([part for both in halves for part in both])
        parts = [[part] for part in next((both for both in halves if all(map(rows.get, both))), [])]
    if not parts or not all(lexicon.rows(word) for words in parts for word in words):
        return []
    # Many rows hold both halves of no compound: only the phrases `check-in` and `o'leary` are searched for.
    phrases = [mark.join(part for part, *_ in parts) for mark in _MARKS] if is_one else [word]
    pieces = tuple(tuple((WORD, word) for word in words) for words in parts)
    kind: Kind = "keyword" if is_one else "minor"
    made = QueryTerm(word, kind, stem=stem(word, languages), pieces=pieces, is_exact=is_one)
    return [replace(made, text=phrase, index_terms={(PHRASE, phrase): True}) for phrase in phrases]


_MARKS = "-'\u2019"
"""Marks inside a word that many people leave out."""
