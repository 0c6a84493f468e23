"""What the message asks for: its tags, its words, and the question about them that the first round trip asks."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .. import hooks
from ..audience.view import Request, Viewer
from ..database import sources
from ..search.language import spoken_in, with_languages_of
from ..search.query import is_newest_first, minors, nears, pieces
from ..shapes import Vocabulary
from ..tags import rules as tag_rules
from ..text import words as word_rules
from ..text.folding import fold
from ..text.words import Fragment
from .call import MessageTags, PromptCall

MOST_WORDS = 1000
"""Most words of a message that are counted to find the rarest."""
_PLANNED, _PLANNED_CHARS = 24, 1000
"""Most stretches of a message that are counted before its persona's tags are known, and where they are looked for."""
_WORD = re.compile(r"[^\W_]+")


def find_tags(call: PromptCall, vocabulary: Vocabulary) -> MessageTags:
    """Return the tags of the message; what fails leaves none, or those before expansion."""
    text, s = call.asked_text, call.settings
    own, other = hooks.get_hook("extract_tags"), hooks.get_hook("expand_tags")

    def extracted() -> list[str]:
        if own is None and not (vocabulary.tags or vocabulary.aliases):
            return []
        if own is None:
            return tag_rules.extract(text, vocabulary=vocabulary, limit=s.tags_limit, languages=s.languages)
        return _texts(call.ask_hook(own, {"text": text, "vocabulary": vocabulary}))

    def expanded() -> list[str]:
        if other is None:
            return tag_rules.expand(said, vocabulary)
        return _texts(call.ask_hook(other, {"tags": said, "vocabulary": vocabulary}))

    none: list[str] = []
    said = call.guard("tags", "extract_tags", extracted, none)
    return MessageTags(said, call.guard("tags", "expand_tags", expanded, said))


def _texts(given: Any) -> list[str]:
    """Return the texts of what a hook gave as a list of tags."""
    if given is not None and not isinstance(given, (list, tuple, set, frozenset)):
        raise TypeError(f"A list of tags was expected, {type(given).__name__} came.")
    return [str(tag) for tag in given or () if isinstance(tag, (str, int))]


def _chat_rows(viewer: Viewer, words: Sequence[str], languages: Sequence[str]) -> dict[str, int]:
    """Return in how many visible chat rows each word stands, by its stem."""
    rows: dict[str, dict[str, int]] = {}
    seen = set()
    chat = sources.CHAT.number
    for c in viewer.counts:
        if c.source == chat and (c.audience_id, c.term) not in seen:
            seen.add((c.audience_id, c.term))
            by_term = rows.setdefault(word_rules.stem(c.term, languages), {})
            by_term[c.term] = by_term.get(c.term, 0) + c.docs
    return {w: max(rows.get(word_rules.stem(w, languages), {}).values(), default=0) for w in words}


def _spoken(call: PromptCall) -> tuple[str, ...]:
    """Return the languages whose stop words and endings count for the message: its own, then LANGUAGES."""
    return spoken_in(call.asked_text, call.settings.languages)


def salient_words(call: PromptCall) -> list[str]:
    """Return what the message has to look for: its salient words, of a message without words its symbols."""
    text = call.asked_text
    words = word_rules.salient_words(text, _spoken(call), MOST_WORDS)
    return words or word_rules.telling_symbols(text, call.settings.tags_limit)


def choose_words(call: PromptCall, words: Sequence[str], viewer: Viewer | None) -> list[str]:
    """Return the words looked for, in their search form: neither common nor more than KEYWORD_LIMIT."""
    s, spoken = call.settings, _spoken(call)
    if viewer is not None and words:
        rows = _chat_rows(viewer, words, spoken)
        visible = viewer.visible_rows(sources.CHAT.number)
        words = word_rules.drop_common(words, rows, visible)
        words = word_rules.choose_rarest(words, rows, s.keyword_limit)
    return list(dict.fromkeys(word_rules.search_form(w, spoken) for w in list(words)[: s.keyword_limit]))


def plan_request(call: PromptCall, words: Sequence[str], tags: Sequence[str]) -> Request:
    """Return the part of the first round trip's request that counts words and tags."""
    s, spoken = call.settings, _spoken(call)
    if is_newest_first(s):
        return Request()
    forms = [word_rules.search_form(w, spoken) for w in words]
    asked = [*forms[: s.keyword_limit], *tags]
    wanted = tuple(
        dict.fromkeys([*(p for text in asked for p in pieces(text)), *_beside(call, forms[: s.keyword_limit])])
    )
    whole = () if len(words) <= s.keyword_limit else tuple(dict.fromkeys([*words, *forms]))
    return Request(fragments=wanted, whole_words=whole, tags=tuple(tags))


def _beside(call: PromptCall, forms: Sequence[str]) -> list[Fragment]:
    """Return the pieces of what is looked for beside the words: their other forms, their near spellings."""
    text = call.asked_text
    s = with_languages_of(text, call.settings)
    made = [one.piece for one in minors(text, forms, s)]
    return made + [piece for one in nears(text, forms, s) for piece in one.pieces]


def close_words(call: PromptCall, words: Sequence[str], chosen: Sequence[str], viewer: Viewer) -> Viewer:
    """Return the viewer with what is known of the words looked for taken as all there is to know, where there were too
    many to ask for all."""
    if len(words) <= call.settings.keyword_limit or is_newest_first(call.settings):
        return viewer
    wanted = dict.fromkeys(piece for text in chosen for piece in pieces(text))
    known = set(viewer.fragments)
    return replace(viewer, fragments=(*viewer.fragments, *(piece for piece in wanted if piece not in known)))


def possible_tags(text: str) -> list[str]:
    """Return stretches of one to three words of a text that may be tags, where no vocabulary is known yet."""
    said = list(itertools.islice(_WORD.findall(fold(text[:_PLANNED_CHARS])), _PLANNED))
    made = (" ".join(said[at : at + length]) for length in (1, 2, 3) for at in range(len(said) - length + 1))
    return list(itertools.islice(dict.fromkeys(made), _PLANNED))
