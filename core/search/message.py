"""What a message is searched by: its words, and the known tags that stand in it. A prompt and a search share it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..access.view import AccessSnapshot
from ..database.engine import Database
from ..shapes import Vocabulary
from ..text import search_words
from ..text.search_words import KEYWORD_LIMIT, TAGS_LIMIT
from ..text.stems import is_form, stem

if TYPE_CHECKING:
    from ..index.lexicon import Lexicon
    from ..index.state import IndexState

MOST_WORDS = 1000
"""Most words of a message that are counted to find the rarest."""
_MOST_VOCABULARIES = 256
"""Most personas whose vocabulary is kept in a process."""


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


def known_vocabulary(db: Database, persona: str) -> tuple[int, Vocabulary]:
    """Return the tags of a persona as this process read them last, with their version."""
    kept: dict[str, tuple[int, Vocabulary]] = db.caches.setdefault("search.vocabulary", {})
    return kept.get(persona, (0, Vocabulary()))


def keep_vocabulary(db: Database, persona: str, seen: AccessSnapshot) -> Vocabulary:
    """Keep the vocabulary that an access look-up brought, if it is another one, and return the current one."""
    kept: dict[str, tuple[int, Vocabulary]] = db.caches.setdefault("search.vocabulary", {})
    if seen.vocabulary is not None:
        if len(kept) >= _MOST_VOCABULARIES and persona not in kept:
            kept.pop(next(iter(kept)))
        kept[persona] = seen.vocabulary_version, seen.vocabulary
    return known_vocabulary(db, persona)[1]
