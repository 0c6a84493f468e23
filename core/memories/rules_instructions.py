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
    if ending.means_that_name:
        return "name" in topics
    if ending.stays.intersection(word_runs(fold(text))):
        return False
    if ending.topics and "name" not in ending.topics and not ending.stays:
        return not ending.topics.isdisjoint(topics)
    languages = likely_languages(f"{text} {ending.text}", ("en",))
    is_name = "name" in ending.topics
    words, said = (_words(each, languages, is_name) for each in (text, ending.text))
    # `allergic` and `allergy` are forms of one word, but not of one statement about oneself
    may_vary = is_name or bool(ending.stays)
    shared = [
        word for word in words if word in said or (may_vary and any(_is_form(word, one, languages) for one in said))
    ]
    if is_name:
        return "name" in topics and len(shared) > _NAMED * len(words)
    enough = _NAMED if ending.stays and not set(topics) <= {"name"} else _ENOUGH
    return bool(words) and len(shared) >= enough * len(words)


def _words(text: str, languages: Sequence[str], with_short: bool) -> list[str]:
    """Return the salient words; with the words of two letters, since lists of stop words contain many such names."""
    short = [word for word in word_runs(fold(text)) if len(word) <= 2] if with_short else []
    return list(dict.fromkeys([*salient_words(text, languages), *short]))


def _is_form(word: str, other: str, languages: Sequence[str]) -> bool:
    """Return whether two words are forms of one word, such as `call` and `calling`."""
    pairs = enumerate(zip(word, other, strict=False))
    same = next((at for at, (one, two) in pairs if one != two), min(len(word), len(other)))
    is_near = same >= _STEM_CHARS and max(len(word), len(other)) - same <= _ENDING_CHARS
    return is_near or stem(word, languages) == stem(other, languages)


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
