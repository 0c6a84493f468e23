"""Detect the language of a text from its script and its common words."""

import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache

from ..base.groups import group
from ..base.patterns import lazy_pattern
from ..base.text_caches import cache_texts
from .folding import fold, fold_case
from .words import STOP_WORD_LANGUAGES, read_lists, stop_words

LOOKED_AT = 2_000

ENOUGH = 0.7
"""Minimum evidence to detect a Latin-script language; a word that only one language has counts 1."""
SURE = 1.6
WEAK = 0.25
"""Minimum evidence for a language to be among the likely languages of a text."""

_ACCENTS = lazy_pattern("[\u0300-\u036f]+")
_WORD = lazy_pattern(r"(?<!&)[^\W\d_]++(?!&)")

SCRIPTS = {
    "ja": lazy_pattern("[\u3040-\u30ff\uff66-\uff9f]"),
    "ko": lazy_pattern("[\uac00-\ud7a3\u1100-\u11ff\u3130-\u318f]"),
    "zh": lazy_pattern("[\u3400-\u4dbf\u4e00-\u9fff]"),
    "th": lazy_pattern("[\u0e00-\u0e7f]"),
    "uk": lazy_pattern("[\u0456\u0457\u0454\u0491]"),
    "ru": lazy_pattern("[\u0400-\u052f]"),
    "el": lazy_pattern("[\u0370-\u03ff\u1f00-\u1fff]"),
    "he": lazy_pattern("[\u0590-\u05ff]"),
    "fa": lazy_pattern("[\u067e\u0686\u0698\u06af\u06cc]"),
    "ar": lazy_pattern("[\u0600-\u06ff\u0750-\u077f]"),
    "hi": lazy_pattern("[\u0900-\u097f]"),
    "hy": lazy_pattern("[\u0530-\u058f]"),
    "ta": lazy_pattern("[\u0b80-\u0bff]"),
}
"""Scripts by language; the first one found in a text decides: Kana before Han, unique before shared letters."""

_WIDER = {"uk": SCRIPTS["ru"], "fa": SCRIPTS["ar"], "ja": lazy_pattern("[\u3040-\u30ff\u3400-\u9fff]")}
"""The whole alphabets of the languages that SCRIPTS identifies by only a few letters."""

_LATIN = lazy_pattern("[a-z\u00e0-\u024f\u1e00-\u1eff]")

_OWN_SIGNS = {"es": "¿¡ñ", "pt": "ãõ", "de": "ß", "pl": "ąęłśźż", "cs": "ěřů", "hu": "őű", "tr": "ğşı", "ro": "ășț"}
"""Characters that are as much evidence for a language as a word unique to it."""
_NONE = (0.0, "")
LIKELY = 3


@lru_cache(maxsize=1)
def _known() -> Mapping[str, Mapping[str, float]]:
    """Return, for each common word, its languages, each with an equal share of the weight 1."""
    lists = read_lists("common_words").items()
    owners = group((word, language) for language, words in lists for word in words.split())
    return {word: dict.fromkeys(of, 1 / len(of)) for word, of in owners.items()}


@lru_cache(maxsize=64)
def common_words(language: str) -> frozenset[str]:
    """Return the commonest words of a Latin-script language, without accents; no words for other languages."""
    return frozenset(read_lists("common_words").get(language, "").split())


def bare(text: str) -> str:
    """Return the folded text without accents."""
    folded = text.lower() if text.isascii() else fold(text)
    if folded.isascii():
        return folded
    parts = unicodedata.normalize("NFD", folded[: 4 * LOOKED_AT] if len(folded) > 4 * LOOKED_AT else folded)
    return unicodedata.normalize("NFC", _ACCENTS.sub("", parts))


def read_language(text: str) -> tuple[str, bool]:
    """Return the ISO 639-1 code of a text's language, "" if it cannot be detected; and whether it is certain."""
    said = text[:LOOKED_AT]
    if found := _by_script(said):
        return found, True
    ranked = _rank_latin(said)
    return _find_first(ranked, ENOUGH), bool(_find_first(ranked, SURE))


def _by_script(said: str) -> str:
    """Return the language of a text by its script, "" for Latin script."""
    if said.isascii():
        return ""
    folded = fold_case(said)
    letters = len(_LATIN.findall(folded))
    for language, script in SCRIPTS.items():
        # A foreign name in a Latin-script text does not decide; neither does a brand name in a Thai text.
        found = script.search(folded)
        if found is not None and len(_WIDER.get(language, script).findall(folded)) * 3 >= letters:
            return language
    return ""


def _find_first(ranked: Sequence[tuple[float, str]], enough: float) -> str:
    """Return the language with the most evidence, "" if that is too little or another one has nearly as much."""
    (worth, first), (next_worth, _) = (*ranked, _NONE, _NONE)[:2]
    return first if -worth >= enough and worth < next_worth * 1.15 else ""


@cache_texts(256)
def _rank_latin(said: str) -> list[tuple[float, str]]:
    """Return (minus evidence, language) of Latin-script languages, most evidence first; cached for repeated calls."""
    found: dict[str, float] = {}
    known = _known()
    for word in _WORD.findall(bare(said)):
        if word in known:
            for language, worth in known[word].items():
                found[language] = found.get(language, 0.0) - worth
    if not said.isascii():
        lower = said.lower()
        for language, signs in _OWN_SIGNS.items():
            if not set(signs).isdisjoint(lower):
                found[language] = found.get(language, 0.0) - 1.0
    return sorted(zip(found.values(), found, strict=True))


def likely_languages(text: str, languages: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the languages a text may be in, the likeliest first; without a certain one, `languages` follow."""
    said = text[:LOOKED_AT]
    if found := _by_script(said):
        return (found,)
    ranked = _rank_latin(said)
    if sure := _find_first(ranked, SURE):
        return (sure,)
    weak = _find_first(ranked, ENOUGH)
    given = (code.lower() for code in languages)
    likely = [language for worth, language in ranked if -worth >= WEAK][:LIKELY]
    return tuple(dict.fromkeys([*([weak] if weak else []), *likely, *given]))


def languages_of(text: str, languages: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the detected language, if any, followed by the given ones."""
    found, given = read_language(text)[0], [code.lower() for code in languages]
    if found not in given and SHARING.get(found, "") in given:
        found = ""
    return tuple(dict.fromkeys([*([found] if found else []), *given]))


SHARING = {"ar": "fa", "hi": "ne"}
"""From the language that a script suggests to another language of the script, which has few letters of its own."""


# Languages of stored rows

SHARE = 0.03
"""Minimum share of rows with words of a language for the language to count as spoken."""
LITTLE = 0.2
"""Minimum share of rows with English words for the rows to count as mostly English."""
LEAST_TELLING = 3
"""Minimum number of different words for a language to count as spoken."""
MOST_SPOKEN = 3
MOST_OWNERS = 3
"""Maximum number of languages to which a word may belong and still be evidence."""


@lru_cache(maxsize=1)
def _list_words() -> Mapping[str, tuple[frozenset[str], frozenset[str]]]:
    """Return, for each language, (its common words, its common words and stop words together)."""
    listed = {}
    for language in sorted(STOP_WORD_LANGUAGES.union(read_lists("common_words"))):
        common = common_words(language) or stop_words(language)
        listed[language] = common, frozenset(word for word in common | stop_words(language) if len(word) > 1)
    return listed


@lru_cache(maxsize=1)
def listed_words() -> frozenset[str]:
    return frozenset().union(*(words for _, words in _list_words().values()))


class SpokenCounts:
    """Evidence for each language in some texts."""

    def __init__(self, docs: Mapping[str, int]) -> None:
        """Count the words of `listed_words` that belong to few languages; `docs` has the number of rows by word."""
        self.rows: defaultdict[tuple[str, bool], float] = defaultdict(float)
        """Number of rows with counted words by (language, is it common); rows are split among a word's languages."""
        self.words: defaultdict[tuple[str, bool], int] = defaultdict(int)
        """Number of different counted words, by (language, whether the word is common)."""
        found, lists = set(docs), _list_words().items()
        owners = group((w, (code, w in common)) for code, (common, words) in lists for w in words & found)
        for word, count in docs.items():
            languages = owners[word]
            if len(languages) == 1 or (len(languages) <= MOST_OWNERS and "en" not in dict(languages)):
                for owner in languages:
                    self.rows[owner] += count / len(languages)
                    self.words[owner] += 1


def spoken_languages(parts: Sequence[SpokenCounts], rows: int) -> tuple[str, ...]:
    """Return the languages spoken in `rows` rows, except English, the commonest first.

    If many rows are English, only common words of a language count, since others may also be English: Danish `dog`.
    """
    scores, words = defaultdict[tuple[str, bool], float](float), defaultdict[tuple[str, bool], int](int)
    for part in parts:
        for owner, score in part.rows.items():
            scores[owner] += score
            words[owner] += part.words[owner]
    is_english = scores["en", True] + scores["en", False] >= LITTLE * rows
    spoken, telling = defaultdict[str, float](float), defaultdict[str, int](int)
    for (language, is_common), score in scores.items():
        if language != "en" and (is_common or not is_english):
            spoken[language] += score
            telling[language] += words[language, is_common]
    enough = [code for code, score in spoken.items() if telling[code] >= LEAST_TELLING and score >= SHARE * rows]
    return tuple(sorted(enough, key=lambda code: (-spoken[code], code))[:MOST_SPOKEN])
