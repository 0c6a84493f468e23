"""Words of a text, the ones worth looking for, and the terms the search index holds of it."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Literal

from ..base import resources
from .folding import clean, fold, runs, word_runs
from .stems import script_language, stem

__all__ = [
    "SHORTEST_STEM",
    "Fragment",
    "choose_rarest",
    "drop_common",
    "fragments",
    "index_terms",
    "iter_words",
    "pairs",
    "salient_words",
    "search_form",
    "shared_beginning",
    "stem",
    "stop_words",
    "telling_symbols",
    "words",
]

TAGS_LIMIT = 12
"""Most tags of one message: what a message is about, not each of its words."""
KEYWORD_LIMIT = 24
"""Most words of one message that are searched for; the rarest stay, and more find no more."""
COMMON_SHARE = 0.5
"""A word in more than this share of the chat lines tells nothing apart."""
COMMON_MIN_ROWS = 100
"""Chat lines there must be before a word can be too common: of a few, half may be about one thing."""
MIN_CHARS = 3
"""Shortest word that is looked for; Hangul words need two characters, scripts without spaces have no shortest."""

_LISTED = "ar ca cs da de el en es fa fi fr he hi hu hy id it ja ko nl no pl pt ro ru sv ta th tr uk zh"
STOP_WORD_LANGUAGES = frozenset(_LISTED.split())
"""The languages that have a list in `prompts/stop_words`."""

_HANGUL = re.compile("[\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff]")
_OTHER = re.compile(r"[^\x00-\x7f\w]")


def pairs(run: str) -> Iterator[str]:
    """Yield the overlapping pairs of characters of a run, a single character itself."""
    if len(run) == 1:
        yield run
    for at in range(len(run) - 1):
        yield run[at : at + 2]


def _candidates(folded: str, min_chars: int) -> Iterator[str]:
    for run, spaceless in runs(folded):
        if spaceless:
            yield from (pair for pair in pairs(run) if not pair.isdigit())
            continue
        word = run.strip("_")
        if not word.isascii():
            word = _without_leading_marks(word)
        shortest = min_chars
        if not word.isascii() and _HANGUL.search(word):
            shortest = min(2, min_chars)
        if len(word) >= shortest and word and not word.isdigit():
            yield word


def _without_leading_marks(word: str) -> str:
    """Drop marks that belong to what stands in front, such as the variation selector of an emoji."""
    at = 0
    while at < len(word) and unicodedata.category(word[at])[0] == "M":
        at += 1
    return word[at:].strip("_") if at else word


def iter_words(text: str, min_chars: int = MIN_CHARS) -> Iterator[str]:
    """Yield what `words` lists, one by one, for callers that need the first few of a long text."""
    seen: set[str] = set()
    for word in _candidates(fold(clean(text)), min_chars):
        if word not in seen:
            seen.add(word)
            yield word


def words(text: str, min_chars: int = MIN_CHARS) -> list[str]:
    """Return the folded words of a text, unique, in first-seen order."""
    return list(iter_words(text, min_chars))


@lru_cache(maxsize=64)
def stop_words(language: str) -> frozenset[str]:
    """Return the folded stop words of a language, empty for one without a list."""
    code = language.lower()
    if code not in STOP_WORD_LANGUAGES:
        return frozenset()
    entries = (resources.find("prompts/stop_words") / f"{code}.txt").read_text(encoding="utf-8").split()
    stops: set[str] = set()
    for folded in map(fold, entries):
        stops.add(folded)
        if "'" in folded:
            stops.update(words(folded))
    return frozenset(stops)


def salient_words(text: str, languages: Sequence[str], limit: int | None = None) -> list[str]:
    """Return the words worth looking for that are no stop words of the languages, in first-seen order."""
    stops = [stop_words(language) for language in languages]
    return list(
        islice(
            (word for word in iter_words(text) if not any(word in known for known in stops)),
            limit,
        )
    )


def choose_rarest(words_in_order: Sequence[str], rows_by_word: Mapping[str, int], limit: int) -> list[str]:
    """Return at most `limit` words: the rarest, words in no row only when room is left; in the order given."""
    if len(words_in_order) <= limit:
        return list(words_in_order)

    def rarity(at: int) -> tuple[bool, int, int]:
        rows = rows_by_word.get(words_in_order[at], 0)
        return rows <= 0, rows, at

    kept = sorted(range(len(words_in_order)), key=rarity)[: max(limit, 0)]
    return [words_in_order[at] for at in sorted(kept)]


def drop_common(
    words_in_order: Sequence[str],
    rows_by_word: Mapping[str, int] | None,
    visible_rows: int,
) -> list[str]:
    """Return the words that are in no more than COMMON_SHARE of the rows; never nothing, where there was a word."""
    if not words_in_order or rows_by_word is None or visible_rows < COMMON_MIN_ROWS:
        return list(words_in_order)
    rows = {word: rows_by_word.get(word, 0) for word in words_in_order}
    kept = [word for word in words_in_order if rows[word] <= 0 or rows[word] <= COMMON_SHARE * visible_rows]
    return kept or [min(words_in_order, key=rows.__getitem__)]


def index_terms(folded: str) -> dict[str, int]:
    """Return the terms the search index holds of a folded text, each with how often it stands there."""
    if folded.isascii():
        return dict(Counter(word_runs(folded)))
    terms: Counter[str] = Counter()
    for run, spaceless in runs(folded):
        if spaceless:
            terms.update(pairs(run))
        else:
            terms[run] += 1
    for char, count in Counter(_OTHER.findall(folded)).items():
        if unicodedata.category(char) == "So":
            terms[char] += count
    return dict(terms)


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of a keyword, and how it stands to the index terms of any text that holds the keyword."""

    text: str
    """Folded characters of the piece."""
    kind: Literal["word", "pair", "char", "symbol"]
    """word: part of a run with spaces around. pair, char: of a script without spaces. symbol: of category So."""
    at_start: bool
    """It touches the keyword's start, so that the text's term may begin earlier and only ends with it."""
    at_end: bool
    """It touches the keyword's end, so that the text's term may go on and only begins with it."""
    unless: str = ""
    """Looked up only where at most one row of the conversation has a word that begins with this one."""

    @property
    def closed(self) -> bool:
        """Whether a term of the text equals the piece."""
        return not (self.at_start or self.at_end)

    def fits(self, term: str) -> bool:
        """Return whether the index term may be the one that holds this piece."""
        if self.at_start and self.at_end:
            return self.text in term
        if self.at_start:
            return term.endswith(self.text)
        return term.startswith(self.text) if self.at_end else term == self.text


def _of_run(run: str, spaceless: bool, opens: bool, ends: bool) -> Iterable[Fragment]:
    if not spaceless:
        return (Fragment(run, "word", opens, ends),)
    if len(run) == 1:
        return (Fragment(run, "char", opens, ends),)
    # Pairs inside the keyword are pairs of the text too: nothing to the left or right can change them.
    return (Fragment(pair, "pair", False, False) for pair in pairs(run))


def fragments(folded_keyword: str) -> list[Fragment]:
    """Return the index terms a keyword is made of, when it is looked for as a part of folded texts."""
    found: dict[Fragment, None] = {}
    at = 0
    end = len(folded_keyword)
    for run, spaceless in runs(folded_keyword):
        start = folded_keyword.index(run, at)
        found.update(dict.fromkeys(_symbols(folded_keyword[at:start])))
        at = start + len(run)
        found.update(dict.fromkeys(_of_run(run, spaceless, start == 0, at == end)))
    found.update(dict.fromkeys(_symbols(folded_keyword[at:])))
    return list(found)


def _symbols(between: str) -> Iterator[Fragment]:
    for char in between:
        if unicodedata.category(char) == "So":
            yield Fragment(char, "symbol", False, False)


MOST_LETTERS = 3
"""A word of no more letters stands inside many that have nothing to do with it."""


def is_short_word(text: str) -> bool:
    """Return whether a text is a word of so few letters that it is looked for as a whole word alone."""
    return len(text) <= MOST_LETTERS and text.isalpha() and all(c.upper() != c.lower() for c in text)


SHORTEST_STEM = 3
"""A shorter stem would be found inside too many words."""
SHORTEST_HANGUL = 2
"""A syllable of Hangul says as much as two letters."""
SHORTEST_BEGINNING = 2
_CHANGING = {"cs": "khrgc", "pl": "kgrdtl", "fi": "kpt", "et": "kpt"}
"""Last consonants of a stem that change before some endings, as in Czech `stolička` and `stoličce`."""
_NO_WORD = re.compile(r"[^\x00-\x7f\w]")
_FEELING = re.compile(
    "[\u2605-\u2606\u2639-\u263b\u2661-\u2665\u2714\u2728\u270a-\u270d\u2763-\u2764\u00a9\u00ae\u2122"
    "\U0001f389-\U0001f38a\U0001f440-\U0001f450\U0001f485\U0001f48b-\U0001f49f\U0001f4a2-\U0001f4ab\U0001f4af\U0001f525"
    "\U0001f595-\U0001f596\U0001f5a4\U0001f600-\U0001f64f\U0001f90c-\U0001f92f\U0001f932\U0001f937\U0001f970-\U0001f97a"
    "\U0001f9d0\U0001fae0-\U0001fae8\U0001faf0-\U0001faf8]"
)
"""Symbols of feeling: faces, hands, hearts, sparks."""


def search_form(word: str, languages: Sequence[str]) -> str:
    """Return the part of a word that is looked for: its stem where that stands in it, else the word itself."""
    form = stem(word, languages)
    own = script_language(word)
    if len(form) < (SHORTEST_HANGUL if own == "ko" else SHORTEST_STEM):
        return word
    if not own:
        return form if word.startswith(form) else word
    at = _plain(word).find(_plain(form))
    return word[at : at + len(form)] if at >= 0 else word


def shared_beginning(word: str, form: str, languages: Sequence[str]) -> str:
    """Return what a word and all other words of its stem begin with, as far as that can be told."""
    size = 0
    for own, other in zip(word, form, strict=False):
        if own != other:
            break
        size += 1
    changing = "ei" + "".join(_CHANGING.get(language, "") for language in languages)
    if len(form) > SHORTEST_STEM and size == len(form) and form[-1] in changing:
        size -= 1
    if "de" in languages:
        # The last vowel that may turn to an umlaut, as `au` does in Baum and Bäume.
        at = max(form.rfind(vowel, 0, size + 1) for vowel in "aou")
        at -= at > 0 and form[at - 1 : at + 1] == "au"
        size = min(size, at) if at >= SHORTEST_STEM else size
    return word[:size] if size >= SHORTEST_BEGINNING else word


def telling_symbols(text: str, limit: int) -> list[str]:
    """Return the symbols of a text that name a thing, such as a hedgehog or a key: what a message without
    words says.
    """
    found = (char for char in fold(clean(text)) if _NO_WORD.match(char) and unicodedata.category(char) == "So")
    return list(islice(dict.fromkeys(char for char in found if not _FEELING.match(char)), limit))


def _plain(text: str) -> str:
    """Return the text with each character stripped of its accents, as long as it was."""
    return "".join(unicodedata.normalize("NFD", char)[0] for char in text)
