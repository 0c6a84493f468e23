"""What a figure is compared with: BM25 over stems, the newest lines first, and a count of tokens alike everywhere."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import Stemmer

K1, B = 1.2, 0.75
CHARS_OF_A_TOKEN = 4
_STEMMER = Stemmer.Stemmer("english")
_STOP_WORDS = re.compile(
    "a|an|and|are|as|at|be|but|by|for|if|in|into|is|it|no|not|of|on|or|such|that|the|their|then|there|these|they|this|"
    "to|was|will|with"
)


def split_terms(text: str) -> list[str]:
    """Return the stems of a text without stop words.

    >>> split_terms("The dogs were running.")
    ['dog', 'were', 'run']
    """
    return list(_STEMMER.stemWords([w for w in re.findall(r"\w+", text.lower()) if not _STOP_WORDS.fullmatch(w)]))


class BM25:
    """BM25 over texts: a text that holds a rare word of the question often, for its length, comes first."""

    def __init__(self, texts: Sequence[str]) -> None:
        terms = [split_terms(text) for text in texts]
        lengths = np.array([len(each) for each in terms], dtype=float)
        self._norm = K1 * (1 - B + B * lengths / max(1.0, lengths.mean() if terms else 1.0))
        self._postings: dict[str, list[tuple[int, int]]] = {}
        for place, each in enumerate(terms):
            for term, count in Counter(each).items():
                self._postings.setdefault(term, []).append((place, count))

    def rank(self, question: str) -> list[int]:
        """Return the places of the texts that share a word with a question, best first, equal ones in their order."""
        total, scores = len(self._norm), np.zeros(len(self._norm))
        for term in dict.fromkeys(split_terms(question)):
            if postings := self._postings.get(term):
                places, counts = np.array(postings).T
                rarity = math.log(1 + (total - len(postings) + 0.5) / (len(postings) + 0.5))
                scores[places] += rarity * counts * (K1 + 1) / (counts + self._norm[places])
        return [int(place) for place in np.argsort(-scores, kind="stable") if scores[place] > 0]


def count_tokens(text: str) -> int:
    """Return a token for every four characters begun, which needs no tokenizer and is the same on every machine.

    >>> count_tokens("hello"), count_tokens("")
    (2, 0)
    """
    return -(-len(text) // CHARS_OF_A_TOKEN)


def fill_prompt(lines: Iterable[str], limit_tokens: int) -> str:
    """Return the first lines that fit into a limit; the one that goes over it is cut.

    >>> fill_prompt(["four", "much longer than that", "more"], 4)
    'four\\nmuch longer'
    """
    taken, room = list[str](), CHARS_OF_A_TOKEN * limit_tokens
    for line in lines:
        if room <= 0:
            break
        taken.append(line[:room])
        room -= len(line) + 1
    return "\n".join(taken)
