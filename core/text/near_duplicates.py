"""Texts that say nearly the same: with a slip of the pen, another ending, a greeting more, other punctuation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from .folding import runs
from .languages import bare
from .stems import stems

# Left out on purpose: negations, pronouns and possessives, prepositions, numbers, question words: each of them makes
# another statement.
WEAK = (
    # English
    "a an the is am are was were be been do does did has have had will would that this it so just really very please "
    "also too well oh ah hey hi hello ok okay yes yeah yep btw actually quite lot lots much definitely totally like "
    "literally basically anyway honestly simply kindly thanks thank today's s m re ve d ll t um uh hmm lol haha and "
    "but "
    # German
    "der die das den dem des ein eine einen einem einer ist bin sind war hat habe haben wird auch ja doch mal halt "
    "eben "
    "bitte sehr wirklich echt so also ach hallo hey hi naja danke eigentlich ubrigens gerade total ganz es dass und "
    "aber "
    # French
    "le la les l un une des du de est suis sont etait a ai as c ce ca cela d j que qu vraiment tres bien aussi donc oh "
    "ah eh salut bonjour merci s il plait te vous oui ben bah bon alors et mais "
    # Spanish
    "el la los las un una unos unas lo es soy son era esta estoy ha he muy mucho realmente tambien pues bueno hola oye "
    "por favor gracias si ya que de y pero "
    # Italian
    "il lo la i gli le l un uno una e sono era ha ho molto davvero anche allora beh ciao ehi per favore grazie si gia "
    "che di del della proprio ma "
    # Portuguese
    "o a os as um uma e sou sao era esta estou tem tenho muito mesmo realmente tambem bom oi ola por favor obrigado "
    "obrigada sim ja que de do da mas "
    # Dutch
    "de het een is ben zijn was heeft heb wordt ook ja toch even wel erg heel echt dus nou hallo hoi hey alsjeblieft "
    "bedankt eigenlijk dat en maar "
    # Russian
    "это есть был была было очень правда тоже также ну вот же ли ой привет пожалуйста спасибо да уже просто вообще что "
    "и а но "
    # Japanese and Chinese, character by character
    "は が を に と も の な で す だ よ ね し た ま て わ ー 的 了 吗 嗎 呢 啊 吧 呀 哦 很 也 请 請 "
    # Korean, Greek, Arabic, Hebrew, Hindi
    "정말 진짜 너무 아주 좀 그냥 안녕 네 응 음 ο η το ειναι ειμαι πολυ και γεια ναι هو هي جدا حقا نعم مرحبا من فضلك ال "
    "הוא היא מאוד באמת כן היי את ה है हैं था थी हूँ हूं बहुत सच नमस्ते हाँ भी ही तो"
)
"""Words that may stand in one of two texts alone without the two saying something else."""

CLITICS = (
    # Korean particles and polite endings
    "은 는 이 가 을 를 에 의 도 요 이요 예요 이에요 입니다 습니다 어요 아요 에서 "
    # Russian and Czech case endings, for names and nouns alike
    "а у ы и е о ом ой ою ем ей я ю ам ах"
)
"""Endings that do not make another word of one."""


MOST_TEXTS = 200
"""Texts beyond are left alone."""
COMPARED_CHARS = 500
"""Characters of a text that are compared: two texts of about one length that agree so far are nearly the same."""
LENGTHS = 1.25
"""Most times one of two long texts may be longer than the other."""
UNLIKE = 0.35
"""Share of words of meaning that have no equal in the other, on both sides, from which two texts are not compared."""
MOST_COMPARED = 8
"""Most groups one text is compared with: those that share most of its words."""
SHARED = 0.45
"""Least share of the shorter text's words that must be the other's too before the two are compared."""
SAME_ORDER = 0.6
"""Least share of words in the same order: `Ann called Ben` is not `Ben called Ann`."""
MORE = 0.13
"""Most words of meaning that one of the two may have more, as a share of its words."""
SPELLING = 82.0
"""Least likeness of two spellings of one word."""
LONGEST_ADDED = 12
SHORTEST_MISSPELT, MISSPELT_WEAK = 5, 88.0
"""Least length, and least likeness to it, of a misspelt word that says nothing of its own."""

_ASCII_WORD = re.compile(r"\w+", re.ASCII)


@dataclass(frozen=True)
class _Said:
    tokens: tuple[str, ...]
    """Words; of scripts without spaces single characters."""
    words: frozenset[str]
    telling: frozenset[str]
    """The tokens that carry meaning; all, where none does."""
    chars: int

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each token stands in it: only texts that are compared need it."""
        return Counter(self.tokens)


def group_near_duplicates(texts: Sequence[str]) -> list[int]:
    """Return, for each text, the place of the first text that says nearly the same; its own where none does."""
    groups = list(range(len(texts)))
    known = [_read(text) for text in texts[:MOST_TEXTS]]
    leaders: list[int] = []
    for at, said in enumerate(known):
        for leader in _likely(known, leaders, said):
            if _are_near(known[leader], said):
                groups[at] = leader
                break
        else:
            leaders.append(at)
    return groups


def _likely(known: Sequence[_Said], leaders: Iterable[int], said: _Said) -> list[int]:
    """Return the groups that share enough words with a text, those that share most first."""
    telling = said.telling
    shared = []
    for leader in leaders:
        theirs = known[leader].telling
        words = len(telling & theirs)
        if words and words >= SHARED * min(len(telling), len(theirs)):
            shared.append((-words, leader))
    return [leader for _, leader in sorted(shared)[:MOST_COMPARED]]


def are_near_duplicates(text: str, other: str) -> bool:
    """Return whether two texts say nearly the same."""
    return _are_near(_read(text), _read(other))


@lru_cache(maxsize=2000)
def _read(text: str) -> _Said:
    said = bare(text[:COMPARED_CHARS])
    if said.isascii():
        tokens = _ASCII_WORD.findall(said)
    else:
        tokens = [token for run, spaceless in runs(said) for token in (run if spaceless else (run,))]
    if not tokens:
        tokens = [char for char in said if not char.isspace()]
    words = frozenset(tokens)
    return _Said(tuple(tokens), words, words - _weak() or words, len(text))


def _are_near(first: _Said, second: _Said) -> bool:
    if max(first.chars, second.chars) > COMPARED_CHARS:
        longer, shorter = max(first.chars, second.chars), min(first.chars, second.chars)
        if longer > shorter * LENGTHS:
            return False
    if first.tokens == second.tokens:
        return True
    if _both_say_more(first, second):
        return False
    left, right = first.counts - second.counts, second.counts - first.counts
    if any(_must_agree(word) for word in (*left, *right)):
        return False
    if min(_meaning(left), _meaning(right)) > 2 + UNLIKE * min(len(first.tokens), len(second.tokens)):
        return False
    left, right = _without_same_words(left, right)
    only_left, only_right = _meaning(left), _meaning(right)
    if only_left and only_right:
        return False
    more = only_left or only_right
    fuller = first if only_left else second
    return more <= min(LONGEST_ADDED, int(len(fuller.tokens) * MORE)) and _same_order(first, second)


def _meaning(words: Counter[str]) -> int:
    return sum(count for word, count in words.items() if not _is_weak(word))


@lru_cache(maxsize=10_000)
def _is_weak(word: str) -> bool:
    """Return whether a word, or one spelt nearly like it, says nothing of its own."""
    if word in _weak():
        return True
    if len(word) < SHORTEST_MISSPELT:
        return False
    from rapidfuzz import fuzz, process  # noqa: PLC0415 - only where texts differ

    return process.extractOne(word, _weak(), scorer=fuzz.ratio, score_cutoff=MISSPELT_WEAK) is not None


@lru_cache(maxsize=1)
def _weak() -> frozenset[str]:
    return frozenset(bare(WEAK).split())


@lru_cache(maxsize=1)
def _clitics() -> tuple[str, ...]:
    return tuple(sorted(bare(CLITICS).split(), key=len, reverse=True))


def _must_agree(word: str) -> bool:
    """Return whether a word may not stand in one of the two alone: it holds a digit."""
    return any(char.isdigit() for char in word)


def _both_say_more(first: _Said, second: _Said) -> bool:
    """Return whether each of the two has a word of meaning that is no spelling or ending of any word of the other."""
    left, right = first.telling, second.telling
    return any(_is_apart(word, second.words, _same_word) for word in left if word not in second.words) and any(
        _is_apart(word, first.words, _same_as_word) for word in right if word not in first.words
    )


def _is_apart(word: str, others: Iterable[str], same: Callable[[str, str], bool]) -> bool:
    first = word[0]
    return not any(first == other[0] and same(word, other) for other in others) and not _is_weak(word)


def _same_as_word(word: str, other: str) -> bool:
    return _same_word(other, word)


def _without_same_words(left: Counter[str], right: Counter[str]) -> tuple[Counter[str], Counter[str]]:
    """Return what is left when spellings and endings of one word on both sides are taken as one."""
    if not left or not right:
        return left, right
    left, right = Counter(left), Counter(right)
    for word in list(left):
        for other in [word_of_right for word_of_right in right if _same_word(word, word_of_right)]:
            both = min(left[word], right[other])
            left[word] -= both
            right[other] -= both
    return +left, +right


def _same_word(word: str, other: str) -> bool:
    if word[0] != other[0] or word in _weak() or other in _weak():
        return False
    shorter = min(len(word), len(other))
    if shorter < 4:
        return _without_clitic(word) == _without_clitic(other) and not word.isascii()
    if sorted(word) == sorted(other):
        return True
    if set(stems(word, _STEMMED)) & set(stems(other, _STEMMED)) or _without_clitic(word) == _without_clitic(other):
        return True
    if shorter < SHORTEST_MISSPELT:
        return False
    from rapidfuzz import fuzz  # noqa: PLC0415 - only where texts differ

    return fuzz.ratio(word, other) >= SPELLING


_STEMMED = ("en",)


def _without_clitic(word: str) -> str:
    for ending in _clitics():
        if word.endswith(ending) and len(word) > len(ending):
            return word[: -len(ending)]
    return word


def _same_order(first: _Said, second: _Said) -> bool:
    from rapidfuzz.distance import LCSseq  # noqa: PLC0415 - only where texts differ

    both = first.counts & second.counts
    left, right = _of(first.tokens, both), _of(second.tokens, both)
    if len(left) <= 1 or left == right:
        return True
    return LCSseq.similarity(left, right) >= SAME_ORDER * min(len(left), len(right))


def _of(tokens: Iterable[str], both: Counter[str]) -> list[str]:
    return [token for token in tokens if token in both]


def forget_kept() -> None:
    """Drop the words and texts that are kept, so that no forgotten one stays in memory."""
    _is_weak.cache_clear()
    _read.cache_clear()
