"""The terms of a query as one list, in which a term's position is its id. Pure.

Keywords come first, then tags searched as words, minor words, and tags. Terms with the same stem form a group, whose
number is the id of its first term: `recipe` and `recipes` count once.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from ..index.shapes import PHRASE, TAG, WORD, IndexTerm
from .ranking.rows import CHAT
from .ranking.weights import INSIDE

Kind = Literal["keyword", "tag word", "keyword and tag", "minor", "tag"]
"""keyword: text searched in all sources; tag word: tag searched as text in the chat; keyword and tag: both; minor: a
message's uncommon stop word, only for ranking; tag: tag of a row.
"""

Least = Literal["inside", "beginning", "word"]
"""inside: the letters anywhere; beginning: at the beginning of a word; word: a form of the word."""


class QueryTerm(NamedTuple):
    text: str
    """Folded text; for a minor word the prefix of its words, for a tag the tag."""
    kind: Kind
    group: int = -1
    """Id of the first term with the same stem; -1 until the table is complete."""
    index_terms: Mapping[IndexTerm, bool] = {}
    """Index terms that match, each with whether it is the whole word."""
    pieces: tuple[tuple[IndexTerm, ...], ...] = ()
    """For a text of several words: the matching index words of each piece. A row must hold a word of each piece."""
    least: Least = "inside"
    """Weakest match that counts: a few letters are part of many unrelated words."""
    is_exact: bool = False
    """Whether the term is quoted or has signs besides words and spaces: then the texts of found rows are compared."""
    stem: str = ""
    """Stem, if it does not follow from the text."""
    written: str = ""
    """Word as written in the message, without the capital of a sentence's beginning; "" if the message lacks it."""
    is_toned: bool = False
    """Whether the term is a Vietnamese word with tone marks: other marks make another word."""

    @property
    def is_keyword(self) -> bool:
        return self.kind in ("keyword", "keyword and tag")

    @property
    def is_tag_word(self) -> bool:
        return self.kind in ("tag word", "keyword and tag")

    def applies(self, source: int) -> bool:
        """Return whether the term is searched in the texts of a source."""
        return self.kind != "tag" and (self.kind != "tag word" or source == CHAT)


class GroupShare(NamedTuple):
    """How much a match of an index word counts for a group of terms."""

    group: int
    factor: float = 1.0
    """1 for the whole word, INSIDE for letters inside another word."""
    chat_only: bool = False


def list_owners(terms: Sequence[QueryTerm]) -> dict[IndexTerm, list[int]]:
    """Return the index terms to look up (words, then tags, then phrases), each with the ids of its query terms."""
    owners: dict[int, dict[IndexTerm, list[int]]] = {WORD: {}, TAG: {}, PHRASE: {}}
    for i, term in enumerate(terms):
        for one in term.index_terms:
            owners[one[0]].setdefault(one, []).append(i)
        for one in (one for piece in term.pieces for one in piece):
            owners[WORD].setdefault(one, [])
    return owners[WORD] | owners[TAG] | owners[PHRASE]


def count_alone(term: QueryTerm, count: Callable[[IndexTerm], int]) -> int:
    """Return the document frequency of a term as a whole word or, if that is 0, inside other words."""
    whole = sum(count(one) for one, is_whole in term.index_terms.items() if is_whole)
    return whole or sum(map(count, term.index_terms))


def share_groups(
    terms: Sequence[QueryTerm], owners: Mapping[IndexTerm, Sequence[int]]
) -> dict[IndexTerm, Sequence[GroupShare]]:
    """Return, for each word and phrase of the index that terms match, the groups of these terms with factors."""
    shares: dict[IndexTerm, Sequence[GroupShare]] = {}
    for one, ids in owners.items():
        if one[0] == TAG or not ids:
            continue
        by_group: dict[int, GroupShare] = {}
        for i in ids:
            term = terms[i]
            share = GroupShare(term.group, 1.0 if term.index_terms[one] else INSIDE, term.kind == "tag word")
            same = by_group.get(term.group)
            if same is None or share.factor > same.factor or same.chat_only > share.chat_only:
                by_group[term.group] = share
        shares[one] = list(by_group.values())
    return shares


def count_rows(
    terms: Sequence[QueryTerm], shares: Mapping[IndexTerm, Sequence[GroupShare]], docs: Mapping[IndexTerm, int]
) -> list[tuple[int, bool]]:
    """Return, for each term, the document frequency of its group or tag, and whether it was found as a whole word."""
    whole, inner = defaultdict[int, int](int), defaultdict[int, int](int)
    for one, of_groups in shares.items():
        for share in of_groups:
            (whole if share.factor == 1.0 else inner)[share.group] += docs.get(one, 0)
    found = {group: (whole[group] or inner[group], whole[group] > 0) for group in {term.group for term in terms}}
    return [(docs.get((TAG, term.text), 0), True) if term.kind == "tag" else found[term.group] for term in terms]
