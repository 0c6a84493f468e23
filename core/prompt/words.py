"""What the message asks for: its tags and its words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import hooks
from ..audience.view import Viewer
from ..search.query import spoken_in
from ..search.terms import count_rows
from ..shapes import Vocabulary
from ..tags import rules as tag_rules
from ..text import search_words as word_rules
from .call import MessageTags, PromptCall

if TYPE_CHECKING:
    from ..index.state import IndexState

MOST_WORDS = 1000
"""Most words of a message that are counted to find the rarest."""


def find_tags(call: PromptCall, vocabulary: Vocabulary) -> MessageTags:
    """Return the tags of the message; what fails leaves none, or those before expansion."""
    text, s = call.asked_text, call.settings
    own, other = hooks.get_hook("extract_tags"), hooks.get_hook("expand_tags")

    def extracted() -> list[str]:
        if own is None and not (vocabulary.tags or vocabulary.aliases):
            return []
        if own is None:
            return tag_rules.extract(text, vocabulary=vocabulary, languages=s.languages)
        return _texts(call.ask_hook(own, {"text": text, "vocabulary": vocabulary}))

    def expanded() -> list[str]:
        if other is None:
            return tag_rules.expand(said, vocabulary)
        return _texts(call.ask_hook(other, {"tags": said, "vocabulary": vocabulary}))

    none: list[str] = []
    said = call.guard("extract_tags", extracted, none)
    return MessageTags(said, call.guard("expand_tags", expanded, said))


def _texts(given: Any) -> list[str]:
    """Return the texts of what a hook gave as a list of tags."""
    if given is not None and not isinstance(given, (list, tuple, set, frozenset)):
        raise TypeError(f"A list of tags was expected, {type(given).__name__} came.")
    return [str(tag) for tag in given or () if isinstance(tag, (str, int))]


def _spoken(call: PromptCall) -> tuple[str, ...]:
    """Return the languages whose stop words and endings count for the message: its own, then LANGUAGES."""
    return spoken_in(call.asked_text, call.settings.languages)


def salient_words(call: PromptCall) -> list[str]:
    """Return what the message has to look for: its salient words, of a message without words its symbols."""
    text = call.asked_text
    words = word_rules.salient_words(text, _spoken(call), MOST_WORDS)
    return words or word_rules.telling_symbols(text, word_rules.TAGS_LIMIT)


def choose_words(call: PromptCall, words: Sequence[str], viewer: Viewer | None, index: IndexState | None) -> list[str]:
    """Return the words looked for, in their search form: neither common nor more than KEYWORD_LIMIT."""
    spoken = _spoken(call)
    if viewer is not None and index is not None and words:
        rows = count_rows(words, index.lexicon, spoken)
        visible = sum(docs for docs, _ in viewer.docs.values())
        words = word_rules.drop_common(words, rows, visible)
        words = word_rules.choose_rarest(words, rows, word_rules.KEYWORD_LIMIT)
    return list(dict.fromkeys(word_rules.search_form(w, spoken) for w in list(words)[: word_rules.KEYWORD_LIMIT]))
