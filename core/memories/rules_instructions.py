"""Rules for standing instructions: which one replaces which, and which one a sentence takes back."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ..text.folding import fold, word_runs
from ..text.languages import likely_languages
from ..text.search_words import salient_words
from ..text.stems import stem

MOST_CHARS = 300
"""Maximum number of characters of an instruction."""
_NAMED = 0.67
"""Share of equal words above which a sentence names the same person: `call me` is in all of them and makes up two
thirds of `call me Kim`."""
_STEM_CHARS, _ENDING_CHARS = 4, 3
"""Minimum number of letters that two forms of a word share, and maximum length of an ending."""
_ENOUGH = 0.5
"""Share of an instruction's words that a sentence must contain to take it back."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """A sentence that gives a standing instruction, takes one back, or does both."""

    text: str
    topics: frozenset[str] = frozenset()
    """Topics of the instruction, from `text.remember_phrases.TOPICS`."""
    begins: bool = True
    ends: bool = False
    means_that_name: bool = False
    """Whether it takes a name back without saying which."""
    stays: frozenset[str] = frozenset()
    """If it tells the persona to stop something: words of the instructions that this does not take back."""

    @property
    def held_topics(self) -> frozenset[str]:
        """Return the topics on which it replaces others: none for `don't call me Jo`, which leaves `call me Kim`."""
        return frozenset() if self.ends else self.topics


def replaces(newer: Collection[str], older: Collection[str]) -> bool:
    """Return whether an instruction on some topics replaces an older one on others."""
    return bool(older) and set(older) <= set(newer)


def takes_back(ending: Instruction, text: str, topics: Collection[str]) -> bool:
    """Return whether a sentence takes back the instruction with this text and topics."""
    is_name, is_stop = "name" in ending.topics, bool(ending.stays)
    if ending.means_that_name or (is_name and "name" not in topics):
        return "name" in topics
    if ending.topics and not is_name and not is_stop:
        return not ending.topics.isdisjoint(topics)
    if not ending.stays.isdisjoint(word_runs(fold(text))):
        return False
    languages = likely_languages(f"{text} {ending.text}", ("en",))
    words, said = (  # lists of stop words contain many names of two letters
        [*salient_words(each, languages), *(word for word in word_runs(fold(each)) if is_name and len(word) <= 2)]
        for each in (text, ending.text)
    )
    # `allergic` and `allergy` are forms of one word, but not the same statement about oneself
    alike = _is_form if is_name or is_stop else lambda word, other, _: word == other
    shared = [word for word in words if any(alike(word, other, languages) for other in said)]
    is_exact = is_name or (is_stop and not set(topics) <= {"name"})
    is_part = is_stop and not is_exact and not ending.begins  # it may name a part of the wish
    count = min(len(words), len(said)) if is_part else len(words)
    return bool(shared) and len(shared) >= (_NAMED if is_exact else _ENOUGH) * count


def _is_form(word: str, other: str, languages: Sequence[str]) -> bool:
    """Return whether two words are equal or forms of one word, such as `call` and `calling`."""
    shared = max(_STEM_CHARS, len(word) - _ENDING_CHARS, len(other) - _ENDING_CHARS)
    return word[:shared] == other[:shared] or stem(word, languages) == stem(other, languages)


def choose_holding(topics: Sequence[Collection[str]]) -> list[int]:
    """Return the positions of the instructions that no newer one replaces, in order."""
    newest = {frozenset(own): at for at, own in enumerate(topics)}
    return [
        at
        for at, own in enumerate(topics)
        if not any(replaces(newer, own) for newer, later in newest.items() if later > at)
    ]
