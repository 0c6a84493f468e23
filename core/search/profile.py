"""Statements of a person about themselves: rows that state a fact or a taste.

Used by a search whose question is about a person as a whole, and by `lifelong.profile`. The rows come from the index of
the audiences that the search sees; nothing is stored.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from ..config import Settings
from ..database import sources
from ..database.engine import Database
from ..index.numbers import ViewRows
from ..index.shapes import WORD, RowId
from ..templates.words import phrases_by_language, phrases_for
from ..text.folding import SPACELESS_PATTERN, fold
from ..text.languages import common_words
from ..text.remember_phrases import ABOUT_PERSON, read_statements
from ..text.words import list_terms
from . import match
from .ranking.rows import FoundRow
from .resolve import Search
from .table import read_rows, read_values
from .terms import QueryTerm

MOST_READ = 300
"""Maximum number of rows of a person with a word of `_list_anchors` that are read from each audience.

Half are the newest rows, half the older rows with the rarest of these words."""
GROUPS = ABOUT_PERSON | {"wishes"}
PASSING = frozenset({"Emotions", "Mood"})
"""Kinds of memories that are no statements: how somebody felt, such as `joy`."""
ITEM, LINE = 1.0, 0.8
"""Score of a memory of a person, and of a message with a statement."""


@dataclass(frozen=True, slots=True)
class StatementRow:
    row: FoundRow
    audience: int
    text: str
    """Sentences of the statement; for a memory its whole text."""
    groups: frozenset[str]
    """Groups whose phrases the text has: facts, preferences, wishes; empty for a memory without a phrase."""
    worth: float


def read_person(search: Search, db: Database, keys: Collection[str]) -> list[StatementRow]:
    """Return the rows with statements of the person with these keys: memories, then messages, each newest first."""
    if search.index is None:
        return []
    settings = replace(search.settings, languages=search.query.languages)
    anchors = _list_anchors(phrases_by_language(ABOUT_PERSON, settings))
    lexicon = search.index.lexicon
    words = {anchor: lexicon.beginning(anchor[:-1]) if anchor.endswith("*") else (anchor,) for anchor in anchors}
    terms = tuple(
        QueryTerm(anchor, "keyword", index_terms={(WORD, word): True for word in held})
        for anchor, held in words.items()
    )
    found = match.match(replace(search, terms=terms), [], every=True).audiences
    audiences: dict[RowId, int] = {}
    for one in found:
        view = one.view
        counts = np.diff(one.postings.starts)
        rarity = np.bincount(one.postings.rows, np.repeat(1 / np.maximum(counts, 1), counts), len(view))
        held = np.isin(view.speaker, view.find_speakers("key", keys)) & ((rarity > 0) | ~view.is_chat)
        mine = one.keep_readable(ViewRows(held.nonzero()[0]))
        newest = mine[np.argsort(-view.at_us[mine], kind="stable")]
        older = newest[MOST_READ // 2 :]  # of these the ones with rare words, as small talk has some words, too
        chosen = [*newest[: MOST_READ // 2], *older[np.argsort(-rarity[older], kind="stable")[: MOST_READ // 2]]]
        places = zip(view.source[chosen].tolist(), view.row_id[chosen].tolist(), strict=True)
        audiences |= dict.fromkeys(places, view.audience)
    rows, _ = read_rows(db, audiences, read_values(search.viewer, db, search.chars, search.searched_chars))
    judged = [_judge(settings, row, audiences[row_id]) for row_id, row in rows.items()]
    stated = [each for each in judged if each is not None]
    return sorted(stated, key=lambda each: (-each.worth, -each.row.at_us, -each.row.id))


def _judge(settings: Settings, row: FoundRow, audience: int) -> StatementRow | None:
    """Return a row as a statement; None for a message without a statement, and for a feeling."""
    if row.kind in PASSING:
        return None
    text = row.texts[0]
    stated = [one for one in read_statements(text, phrases_for(text, settings)) if one.groups & GROUPS]
    groups = frozenset[str]().union(*(one.groups for one in stated)) & GROUPS
    if row.source != sources.CHAT.number:
        return StatementRow(row, audience, text, groups, ITEM)
    return StatementRow(row, audience, " ".join(one.text for one in stated), groups, LINE) if groups else None


@lru_cache(maxsize=32)
def _list_anchors(phrases: tuple[tuple[str, tuple[str, ...]], ...]) -> tuple[str, ...]:
    """Return the uncommon words of the phrases (`*` marks a prefix); in scripts without spaces, character pairs."""
    found: dict[str, None] = {}
    for language, said in phrases:
        for word in re.findall(r"\w+\*?", fold(" ".join(said))):
            if SPACELESS_PATTERN.search(word):
                found |= {pair if len(pair) > 1 else f"{pair}*": None for pair in list_terms(word)}
            elif len(word.rstrip("*")) > 2 and word not in common_words(language):
                found[word] = None
    return tuple(found)
