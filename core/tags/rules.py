"""Tags: their normal form, finding known ones in a text, following their links."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from itertools import islice

from ..base.patterns import lazy_pattern
from ..shapes import Vocabulary
from ..text.folding import clean, fold, fold_case
from ..text.languages import common_words, languages_of
from ..text.search_words import TAGS_LIMIT
from ..text.words import iter_words, stop_words
from .rules_index import TagIndex, index_of

__all__ = [
    "TAG_BYTES",
    "TagIndex",
    "check_alias",
    "check_link",
    "expand",
    "extract",
    "normal",
    "stored_form",
    "tag_items",
]

TAG_BYTES = 255
"""Longest stored tag in UTF-8 bytes."""

FUZZY_SCORE = 91.0
"""How alike a misspelt word must be to a known tag, 100 being equal: one wrong letter in a word of six."""
EXPANDED_LIMIT = 24
"""Most tags that are searched for, linked ones included: more make a search slower than better."""
_SHORT_NAME = 2

WEIGHTS = (0.0, 10.0)
"""A link's weight is above the first and at most the second."""

_CONTROLS = lazy_pattern("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")
_SPACES = lazy_pattern(r"\s+")


def normal(tag: str) -> str:
    """Return the tag in small letters, without control characters, trimmed, inner white space one space; ""
    when blank.
    """
    # Control characters go first: one that goes between a letter and its accent lets the two join.
    text = fold_case(_CONTROLS.sub("", clean(tag)))
    if not text.isascii():
        # Folding can leave letters that join a mark behind them (`ß` with an accent); a tag read back must find itself.
        for _ in range(4):
            again = fold_case(text)
            if again == text:
                break
            text = again
    return _SPACES.sub(" ", text).strip()


def tag_items(value: object, name: str = "tags") -> list[str]:
    """Return what was given as a list of texts: a list's elements without None, anything else as one text."""
    if value is None:
        return []
    if isinstance(value, (str, bytes, bytearray)) or not isinstance(value, (list, tuple, set, frozenset)):
        return [_text(value)]
    elements: Iterable[object] = value
    if isinstance(value, (set, frozenset)):
        elements = sorted(value, key=_text)
    found = []
    for at, element in enumerate(elements):
        if isinstance(element, (list, tuple, set, frozenset)):
            raise TypeError(
                f"{name}[{at}] is of type {type(element).__name__}. Each element of {name} must be a text; "
                "pass one flat list."
            )
        if element is not None:
            found.append(_text(element))
    return found


def _text(value: object) -> str:
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8", "replace")
    if isinstance(value, str):
        return value
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - an object of the host's may raise anything, a number be too long to write
        raise TypeError(f"A value of type {type(value).__name__} has no text. Pass texts.") from None


def _json_list(text: str) -> list[object] | None:
    if not text.lstrip().startswith("["):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, list) else None


def stored_form(value: object) -> tuple[list[str], list[int]]:
    """Return the tags to store, and the byte length of each tag that is too long to be stored."""
    parsed = _json_list(value) if isinstance(value, str) else None
    tags: list[str] = []
    dropped: list[int] = []
    for tag in dict.fromkeys(normal(item) for item in tag_items(value if parsed is None else parsed)):
        size = len(tag.encode("utf-8"))
        if size > TAG_BYTES:
            dropped.append(size)
        elif tag:
            tags.append(tag)
    return tags, dropped


def extract(
    text: str | None,
    *,
    vocabulary: Vocabulary | TagIndex | None,
    limit: int = TAGS_LIMIT,
    languages: Sequence[str],
    fuzzy_score: float = FUZZY_SCORE,
) -> list[str]:
    """Return the tags of a text, in order of appearance: its words, or the known tags among them; no stop words."""
    if not text or limit <= 0:
        return []
    spoken = languages_of(text, languages)
    if vocabulary is None:
        tags: Iterable[str] = iter_words(text)
    else:
        index = vocabulary if isinstance(vocabulary, TagIndex) else index_of(vocabulary, languages)
        tags = index.find(text, fuzzy_score)
    return list(islice((tag for tag in tags if not any(_is_stop_word(tag, language) for language in spoken)), limit))


def _is_stop_word(tag: str, language: str) -> bool:
    word = fold(tag)
    if word.isascii() and len(word) <= _SHORT_NAME:
        # The lists hold all letters and most pairs of letters: as tags, `c` and `ai` are names.
        return len(word) == _SHORT_NAME and word in common_words(language)
    return word in stop_words(language)


def expand(tags: Iterable[object], vocabulary: Vocabulary | None, limit: int = EXPANDED_LIMIT) -> list[str]:
    """Return the tags, then those one link away, the heaviest link first."""
    originals = dict.fromkeys(tag for tag in map(normal, tag_items(list(tags))) if tag)
    reached: dict[str, float] = {}
    for tag in originals if vocabulary else ():
        for linked, weight in vocabulary.links.get(tag, ()) if vocabulary else ():
            if linked not in originals and weight > reached.get(linked, 0.0):
                reached[linked] = weight
    added = sorted(reached, key=lambda tag: (-reached[tag], tag))
    return [*originals, *added][: max(limit, 0)]


def _checked(tag: object, name: str) -> str:
    text = normal(_text(tag)) if tag is not None else ""
    if not text:
        raise ValueError(f"{name} is blank. A tag needs at least one visible character.")
    size = len(text.encode("utf-8"))
    if size > TAG_BYTES:
        raise ValueError(f"{name} is {size} bytes long. At most {TAG_BYTES} bytes are allowed. Use a shorter one.")
    return text


def check_alias(alias: object, tag: object, vocabulary: Vocabulary) -> tuple[str, str]:
    """Return alias and tag in normal form, fit to be stored together."""
    other, known = _checked(alias, "alias"), _checked(tag, "tag")
    if other == known:
        raise ValueError(f"alias {other!r} is the tag itself. An alias must be another spelling.")
    if other in vocabulary.tags:
        raise ValueError(f"alias {other!r} is a tag already. Link the two tags, or choose another alias.")
    if known in vocabulary.aliases:
        raise ValueError(
            f"tag {known!r} is itself an alias of {vocabulary.aliases[known]!r}. Aliases do not chain: name that tag."
        )
    if other in vocabulary.aliases.values():
        raise ValueError(f"alias {other!r} has aliases of its own. Aliases do not chain: choose another alias.")
    return other, known


def check_link(a: object, b: object, weight: object = 1.0) -> tuple[str, str, float]:
    """Return both tags in normal form and the weight as a number, fit to be stored as a link."""
    first, second = _checked(a, "a"), _checked(b, "b")
    if first == second:
        raise ValueError(f"a and b are both {first!r}. A link joins two different tags.")
    low, high = WEIGHTS
    number = float(weight) if isinstance(weight, (int, float)) and not isinstance(weight, bool) else math.nan
    if not low < number <= high:
        raise ValueError(f"weight is {weight!r}. It must be a number above {low:g} and at most {high:g}.")
    return first, second, number
