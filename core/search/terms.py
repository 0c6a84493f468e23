"""The terms of a query as one table; the id of a term is its position. Pure.

The keywords come first, then the tags looked for as words, the minor words, and the tags. Terms of one stem are a
group, known by the id of the first of them: `recipe` and `recipes` are one word and count once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from ..index.shapes import PHRASE, TAG, WORD, IndexTerm
from ..shapes import SOURCES
from .ranking.weights import INSIDE

_CHAT = SOURCES.index("chat_history")

Kind = Literal["keyword", "tag word", "keyword and tag", "minor", "tag"]
"""keyword: a text looked for in all sources; tag word: a tag as it is looked for in the chat; minor: a word of the
message beside those asked for, which lends a row weight; tag: a tag that rows carry."""


Least = Literal["inside", "beginning", "word"]
"""inside: the letters anywhere; beginning: at the beginning of a word; word: a form of the word."""


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """One thing looked for."""

    text: str
    """Folded; of a minor word how it begins, of a tag the tag."""
    kind: Kind
    group: int = -1
    """Id of the first term of the same stem; -1 until the table is complete."""
    index_terms: Mapping[IndexTerm, bool] = field(default_factory=dict)
    """The index terms that match it, each with whether that is the whole word."""
    pieces: tuple[tuple[IndexTerm, ...], ...] = ()
    """Of a text of several words: the words of the index that match each of them. A row needs one of each."""
    least: Least = "inside"
    """The least match that counts: a few letters are part of many unrelated words."""
    is_exact: bool = False
    """It has other characters than letters and blanks: its words find rows whose text is then compared."""
    stem: str = ""
    """Its stem where that does not follow from the text."""
    written: str = ""
    """The word as written in the message, without the capital of a sentence; blank if the message has none."""
    is_toned: bool = False
    """It is Vietnamese with tone marks: other marks make another word."""

    @property
    def is_keyword(self) -> bool:
        """Return whether it is looked for as a keyword."""
        return self.kind in ("keyword", "keyword and tag")

    @property
    def is_tag_word(self) -> bool:
        """Return whether it is a tag looked for as a word."""
        return self.kind in ("tag word", "keyword and tag")

    def applies(self, source: int) -> bool:
        """Return whether it is looked for in the texts of a source."""
        return self.kind != "tag" and (self.kind != "tag word" or source == _CHAT)


class GroupShare(NamedTuple):
    """How much a word of the index counts for a group of terms."""

    group: int
    factor: float = 1.0
    """1 for the whole word, less for letters inside it."""
    chat_only: bool = False


def list_owners(terms: Sequence[QueryTerm]) -> dict[IndexTerm, list[int]]:
    """Return all that the index is asked for, words, tags and phrases in this order, each with the ids of its terms."""
    owners: dict[int, dict[IndexTerm, list[int]]] = {WORD: {}, TAG: {}, PHRASE: {}}
    for i, term in enumerate(terms):
        for one in term.index_terms:
            owners[one[0]].setdefault(one, []).append(i)
        for one in (one for piece in term.pieces for one in piece):
            owners[WORD].setdefault(one, [])
    return owners[WORD] | owners[TAG] | owners[PHRASE]


def count_alone(term: QueryTerm, count: Callable[[IndexTerm], int]) -> int:
    """Return the document frequency of a term as a whole word, or, if that is 0, inside other words."""
    whole = sum(count(one) for one, is_whole in term.index_terms.items() if is_whole)
    return whole or sum(map(count, term.index_terms))


def share_groups(terms: Sequence[QueryTerm]) -> dict[IndexTerm, Sequence[GroupShare]]:
    """Return for each word and phrase of the index the groups of terms it counts for."""
    shares: dict[IndexTerm, Sequence[GroupShare]] = {}
    for one, owners in list_owners(terms).items():
        by_group: dict[int, GroupShare] = {}
        for term in (terms[i] for i in owners if one[0] != TAG):
            share = GroupShare(term.group, 1.0 if term.index_terms[one] else INSIDE, term.kind == "tag word")
            same = by_group.get(term.group)
            if same is None or share.factor > same.factor or same.chat_only > share.chat_only:
                by_group[term.group] = share
        shares[one] = list(by_group.values())
    return shares


def count_rows(
    terms: Sequence[QueryTerm], shares: Mapping[IndexTerm, Sequence[GroupShare]], docs: Mapping[IndexTerm, int]
) -> list[tuple[int, bool]]:
    """Return for each term the document frequency of its group or tag, and whether it was found as a whole word."""
    whole, inner = Counter[int](), Counter[int]()
    for one, of_groups in shares.items():
        for share in of_groups:
            (whole if share.factor == 1.0 else inner)[share.group] += docs.get(one, 0)
    return [
        (docs.get((TAG, term.text), 0), True)
        if term.kind == "tag"
        else (whole[term.group] or inner[term.group], whole[term.group] > 0)
        for term in terms
    ]
