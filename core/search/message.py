"""What a message is searched by: its words, and the known tags that stand in it. A prompt and a search share it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..text import search_words
from ..text.search_words import KEYWORD_LIMIT, TAGS_LIMIT
from ..text.stems import is_form, stem

if TYPE_CHECKING:
    from ..index.lexicon import Lexicon
    from ..index.state import IndexState

MOST_WORDS = 1000
"""Most words of a message that are counted to find the rarest."""


def list_words(text: str, languages: Sequence[str]) -> list[str]:
    """Return the words of a message worth looking for; of one without any the common words or symbols it asks by."""
    return (
        search_words.salient_words(text, languages, MOST_WORDS)
        or search_words.common_words_asked(text, languages, TAGS_LIMIT)
        or search_words.telling_symbols(text, TAGS_LIMIT)
    )


def choose_words(words: Sequence[str], languages: Sequence[str], index: IndexState | None) -> list[str]:
    """Return which words of a message are searched for, in their search form: of too many the rarest."""
    if index is not None and len(words) > KEYWORD_LIMIT:
        rows = {word: _count_rows(word, index.lexicon, languages) for word in words}
        words = search_words.choose_rarest(words, rows, KEYWORD_LIMIT)
    return list(dict.fromkeys(search_words.search_form(word, languages) for word in words[:KEYWORD_LIMIT]))


def _count_rows(word: str, lexicon: Lexicon, languages: Sequence[str]) -> int:
    """Return in how many rows the commonest word of the stem of a word stands."""
    form = stem(word, languages)
    beginning = word[: len(form)] if word.startswith(form) else word
    counts = lexicon.beginning(beginning).items()
    return max((n for term, n in counts if is_form(term, word, languages, form)), default=0)
