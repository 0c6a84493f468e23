"""General nouns (`instruments`), and words for kinds of each noun (clarinet) or about it (`job`: hired).

The lists are in `prompts/kinds`, one file for each language: a line has class nouns, a colon, and kinds. The English
lists come from WordNet (`prompts/kinds/LICENSE.wordnet`).
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from .folding import fold
from .question_words import WITHOUT_SPACES
from .stems import stem
from .words import read_lists

MOST_CLASSES = 3


@lru_cache(maxsize=16)
def _read_classes(language: str) -> Mapping[str, frozenset[str]]:
    """Return the folded kinds of each general noun, by noun and by stem; stems that are general nouns are left out."""
    classes: dict[str, set[str]] = {}
    for nouns, kinds in read_lists(f"kinds/{language}").items():
        for noun in () if nouns.startswith("#") else fold(nouns).split():
            classes.setdefault(noun, set()).update(fold(kinds).split())
    stems: dict[str, set[str]] = {}
    for noun in () if language in WITHOUT_SPACES else set(classes):
        form = stem(noun, (language,))
        if form not in classes:  # `living` asks about a job, `live` about a home
            stems.setdefault(form, set()).update(classes[noun])
    return {form: frozenset(kinds) for form, kinds in (classes | stems).items()}


def find_kinds(text: str, words: Sequence[str], languages: Sequence[str]) -> dict[str, frozenset[str]]:
    """Return, by folded noun, the kinds of each general noun in a text, such as clarinet for `instruments`."""
    found: dict[str, frozenset[str]] = {}
    for language in languages:
        classes = _read_classes(language)
        if language in WITHOUT_SPACES:
            folded = fold(text)
            named = {noun: noun for noun in classes if noun in folded}
        else:
            named = {word: stem(word, (language,)) for word in words} if classes else {}
        for word, form in named.items():
            if kinds := classes.get(word) or classes.get(form):
                found[word] = kinds if word not in found else found[word] | kinds
    return dict(list(found.items())[:MOST_CLASSES])
