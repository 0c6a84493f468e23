"""Rules for standing instructions: which one replaces which, and which one a sentence takes back."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ..text.folding import fold, word_runs
from ..text.languages import language_of, languages_of
from ..text.search_words import salient_words
from ..text.words import stop_words

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

    @property
    def held_topics(self) -> frozenset[str]:
        """Return the topics on which it replaces others: none for `don't call me Jo`, which leaves `call me Kim`."""
        return frozenset() if self.ends else self.topics


def replaces(newer: Collection[str], older: Collection[str]) -> bool:
    """Return whether an instruction on some topics replaces an older one on others."""
    return bool(older) and set(older) <= set(newer)


def takes_back(ending: Instruction, text: str, topics: Collection[str]) -> bool:
    """Return whether a sentence takes back the instruction with this text and topics."""
    if ending.means_that_name:
        return "name" in topics
    if "name" in ending.topics:
        stops = stop_words(language_of(ending.text))
        # words that may be a name; lists of stop words contain many names of two letters
        runs = (word_runs(fold(each)) for each in (text, ending.text))
        words, said = ({word for word in run if len(word) <= 2 or word not in stops} for run in runs)
        named = [word for word in words if any(_is_form(word, other) for other in said)]
        return "name" in topics and len(named) > _NAMED * len(words)
    if ending.topics:
        return not ending.topics.isdisjoint(topics)
    words = set(salient_words(text, languages_of(text)))
    shared = words.intersection(salient_words(ending.text, languages_of(ending.text)))
    return bool(words) and len(shared) >= _ENOUGH * len(words)


def _is_form(word: str, other: str) -> bool:
    """Return whether two words are equal or forms of one word, such as `call` and `calling`."""
    pairs = enumerate(zip(word, other, strict=False))
    same = next((at for at, (one, two) in pairs if one != two), min(len(word), len(other)))
    return word == other or (same >= _STEM_CHARS and max(len(word), len(other)) - same <= _ENDING_CHARS)


def choose_holding(topics: Sequence[Collection[str]], most: int) -> list[int]:
    """Return the positions of the newest `most` instructions that no newer one replaces, in order."""
    seen: set[frozenset[str]] = set()
    holding: list[int] = []
    for at in range(len(topics) - 1, -1, -1):
        own = frozenset(topics[at])
        if not any(replaces(newer, own) for newer in seen):
            holding.append(at)
            seen.add(own)
    return holding[: max(most, 0)][::-1]
