"""How text is cleaned, folded and split into runs; everything that compares or indexes text stands on it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from ..base import resources
from ..base.patterns import lazy_pattern

# The code points of Unicode's combining marks (category M, Unicode 14.0.0), which `\w` leaves out. Written down, since
# asking `unicodedata` for each of a million code points takes longer than importing the package.
_RANGES = (
    "300-36f 483-489 591-5bd 5bf 5c1-5c2 5c4-5c5 5c7 610-61a 64b-65f 670 6d6-6dc 6df-6e4 6e7-6e8 6ea-6ed 711 "
    "730-74a 7a6-7b0 7eb-7f3 7fd 816-819 81b-823 825-827 829-82d 859-85b 898-89f 8ca-8e1 8e3-903 93a-93c "
    "93e-94f 951-957 962-963 981-983 9bc 9be-9c4 9c7-9c8 9cb-9cd 9d7 9e2-9e3 9fe a01-a03 a3c a3e-a42 a47-a48 "
    "a4b-a4d a51 a70-a71 a75 a81-a83 abc abe-ac5 ac7-ac9 acb-acd ae2-ae3 afa-aff b01-b03 b3c b3e-b44 b47-b48 "
    "b4b-b4d b55-b57 b62-b63 b82 bbe-bc2 bc6-bc8 bca-bcd bd7 c00-c04 c3c c3e-c44 c46-c48 c4a-c4d c55-c56 "
    "c62-c63 c81-c83 cbc cbe-cc4 cc6-cc8 cca-ccd cd5-cd6 ce2-ce3 d00-d03 d3b-d3c d3e-d44 d46-d48 d4a-d4d d57 "
    "d62-d63 d81-d83 dca dcf-dd4 dd6 dd8-ddf df2-df3 e31 e34-e3a e47-e4e eb1 eb4-ebc ec8-ecd f18-f19 f35 f37 "
    "f39 f3e-f3f f71-f84 f86-f87 f8d-f97 f99-fbc fc6 102b-103e 1056-1059 105e-1060 1062-1064 1067-106d "
    "1071-1074 1082-108d 108f 109a-109d 135d-135f 1712-1715 1732-1734 1752-1753 1772-1773 17b4-17d3 17dd "
    "180b-180d 180f 1885-1886 18a9 1920-192b 1930-193b 1a17-1a1b 1a55-1a5e 1a60-1a7c 1a7f 1ab0-1ace 1b00-1b04 "
    "1b34-1b44 1b6b-1b73 1b80-1b82 1ba1-1bad 1be6-1bf3 1c24-1c37 1cd0-1cd2 1cd4-1ce8 1ced 1cf4 1cf7-1cf9 "
    "1dc0-1dff 20d0-20f0 2cef-2cf1 2d7f 2de0-2dff 302a-302f 3099-309a a66f-a672 a674-a67d a69e-a69f a6f0-a6f1 "
    "a802 a806 a80b a823-a827 a82c a880-a881 a8b4-a8c5 a8e0-a8f1 a8ff a926-a92d a947-a953 a980-a983 a9b3-a9c0 "
    "a9e5 aa29-aa36 aa43 aa4c-aa4d aa7b-aa7d aab0 aab2-aab4 aab7-aab8 aabe-aabf aac1 aaeb-aaef aaf5-aaf6 "
    "abe3-abea abec-abed fb1e fe00-fe0f fe20-fe2f 101fd 102e0 10376-1037a 10a01-10a03 10a05-10a06 10a0c-10a0f "
    "10a38-10a3a 10a3f 10ae5-10ae6 10d24-10d27 10eab-10eac 10f46-10f50 10f82-10f85 11000-11002 11038-11046 "
    "11070 11073-11074 1107f-11082 110b0-110ba 110c2 11100-11102 11127-11134 11145-11146 11173 11180-11182 "
    "111b3-111c0 111c9-111cc 111ce-111cf 1122c-11237 1123e 112df-112ea 11300-11303 1133b-1133c 1133e-11344 "
    "11347-11348 1134b-1134d 11357 11362-11363 11366-1136c 11370-11374 11435-11446 1145e 114b0-114c3 "
    "115af-115b5 115b8-115c0 115dc-115dd 11630-11640 116ab-116b7 1171d-1172b 1182c-1183a 11930-11935 "
    "11937-11938 1193b-1193e 11940 11942-11943 119d1-119d7 119da-119e0 119e4 11a01-11a0a 11a33-11a39 "
    "11a3b-11a3e 11a47 11a51-11a5b 11a8a-11a99 11c2f-11c36 11c38-11c3f 11c92-11ca7 11ca9-11cb6 11d31-11d36 "
    "11d3a 11d3c-11d3d 11d3f-11d45 11d47 11d8a-11d8e 11d90-11d91 11d93-11d97 11ef3-11ef6 16af0-16af4 "
    "16b30-16b36 16f4f 16f51-16f87 16f8f-16f92 16fe4 16ff0-16ff1 1bc9d-1bc9e 1cf00-1cf2d 1cf30-1cf46 "
    "1d165-1d169 1d16d-1d172 1d17b-1d182 1d185-1d18b 1d1aa-1d1ad 1d242-1d244 1da00-1da36 1da3b-1da6c 1da75 "
    "1da84 1da9b-1da9f 1daa1-1daaf 1e000-1e006 1e008-1e018 1e01b-1e021 1e023-1e024 1e026-1e02a 1e130-1e136 "
    "1e2ae 1e2ec-1e2ef 1e8d0-1e8d6 1e944-1e94a e0100-e01ef "
)


_SELECTORS = ("fe00-fe0f", "e0100-e01ef")
"""Variation selectors choose a picture for the sign before them; they belong to no word."""


@lru_cache(maxsize=1)
def marks_class() -> str:
    """Return the combining marks, without variation selectors, as the inside of a character class."""
    spans = (span.partition("-") for span in _RANGES.split() if span not in _SELECTORS)
    return "".join(f"{chr(int(first, 16))}-{chr(int(last or first, 16))}" for first, _, last in spans)


_SURROGATES = lazy_pattern("[\ud800-\udfff]")
# What str.splitlines takes for a line break; a run of them is one break, so "\r\n" is one space.
_BREAKS = lazy_pattern("[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]+")

SPACELESS = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f"  # Burmese
    "\u1780-\u17ff"  # Khmer
    "\u3005-\u3007\u3031-\u3035\u303b\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # Kana and their marks
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003ffff"  # Han
)
"""Ranges of the scripts written without spaces, as the inside of a character class."""

_SPACELESS_CHAR = SPACELESS_PATTERN = lazy_pattern(f"[{SPACELESS}]")
_WORDS = lazy_pattern(f"[\\w{marks_class()}]+")
_LETTERS = (
    "a-z\u00df-\u00f6\u00f8-\u02af\u1d00-\u1dbf\u1e00-\u1eff\u2c60-\u2c7f\ua722-\ua7ff\uab30-\uab6f"  # Latin
    "\u0370-\u03ff\u1f00-\u1fff"  # Greek
    "\u0400-\u04ff"  # Cyrillic
)
_ACCENTS = lazy_pattern(f"(?<=[{_LETTERS}])[\u0300-\u036f\u1ab0-\u1ace\u1dc0-\u1dff\ufe20-\ufe2f]+")
_IS_LETTER = lazy_pattern(f"[{_LETTERS}]")
_HAS_VARIANTS = lazy_pattern(
    "[\u00df-\u024f\u0300-\u03ff\u0450\u0451\u045d\u0491\u0591-\u05c7\u0610-\u06ed\u06f0-\u06f9\u0901-\u0dff"
    "\u0e50-\u0e59\u1ab0-\u1ace\u1dc0-\u1fff\ufe20-\ufe2f]"
)
_HAN = lazy_pattern("[\u3400-\u9fff]")
_NASALS = lazy_pattern("[\u0919\u091e\u0923\u0928\u092e]\u094d(?=[\u0915-\u0939])")
"""A nasal of Devanagari before a consonant: most people write a dot above for it."""
_KATAKANA = lazy_pattern("[\u30a1-\u30f4]")
_MANY_MARKS = lazy_pattern(f"([{marks_class()}]{{30}})")
_PARTS = lazy_pattern(f"(?P<spaceless>[{SPACELESS}]+)|[^{SPACELESS}]+")


def clean(text: str) -> str:
    """Return the text without U+0000 and with lone surrogates replaced by U+FFFD."""
    if "\x00" in text:
        text = text.replace("\x00", "")
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def one_line(text: str) -> str:
    """Return the text without line breaks, each run of them as one space, cleaned."""
    return text if text.isprintable() else _BREAKS.sub(" ", clean(text))


def fold(text: str) -> str:
    """Return NFKC, then case folding, then one spelling for letters that people write in several ways."""
    if text.isascii():
        return text.lower()
    folded = fold_letters(text)
    return folded.translate(_hiragana()) if _KATAKANA.search(folded) else folded


def fold_letters(text: str) -> str:
    """Return the text folded but for katakana, which tells where a word of Japanese begins and ends."""
    folded = fold_case(text)
    if _HAS_VARIANTS.search(folded) is None:
        return folded
    return _ACCENTS.sub("", _NASALS.sub("\u0902", folded.translate(_variants())))


def fold_case(text: str) -> str:
    """Return NFKC, then case folding: as `fold`, with accents and variants."""
    if text.isascii():
        return text.lower()
    if _MANY_MARKS.search(text):
        # Sorting marks takes time by the square of their number, so a long pile of them is folded in parts.
        return "".join(unicodedata.normalize("NFKC", part) for part in _MANY_MARKS.split(text)).casefold()
    return unicodedata.normalize("NFKC", text).casefold()


_ONE_LETTER = {
    "ı": "i", "ł": "l", "ø": "o", "đ": "d", "ħ": "h", "æ": "ae", "œ": "oe",
    "ё": "е", "ѐ": "е", "ѝ": "и", "ґ": "г", "\u0901": "\u0902",
    "آ": "ا", "أ": "ا", "إ": "ا", "ٱ": "ا", "ؤ": "و", "ئ": "ي", "ى": "ي", "ی": "ي", "ې": "ي", "ک": "ك",
    "ة": "ه", "ۀ": "ه", "ە": "ه", "ۃ": "ه",
}  # fmt: skip
"""Letters that are written one for the other, without an accent that says so."""
_LEFT_OUT = "591-5bd 5bf 5c1-5c2 5c4-5c5 5c7 610-61a 640 64b-65f 670 6d6-6dc 6df-6e8 6ea-6ed 93c"
"""Vowel signs of Hebrew and Arabic, the line that stretches a word, the dot of Hindi: most people leave them out."""
_ZEROS = (0x660, 0x6F0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xE50)


@lru_cache(maxsize=1)
def _variants() -> dict[int, str | None]:
    """Return a map from letters to their plain form: without accents, digits as in ASCII."""
    made: dict[int, str | None] = {}
    for first, last in ((0xDF, 0x24F), (0x370, 0x3FF), (0x1E00, 0x1FFF)):
        for code in range(first, last + 1):
            plain = unicodedata.normalize("NFD", chr(code))[0]
            if ord(plain) != code and _IS_LETTER.match(plain):
                made[code] = _ONE_LETTER.get(plain, plain)
    made |= {ord(letter): plain for letter, plain in _ONE_LETTER.items()}
    made |= {zero + digit: str(digit) for zero in _ZEROS for digit in range(10)}
    spans = (span.partition("-") for span in _LEFT_OUT.split())
    return made | {code: None for first, _, last in spans for code in range(int(first, 16), int(last or first, 16) + 1)}


@lru_cache(maxsize=1)
def _simplified() -> dict[int, str]:
    """Return a map from traditional and Japanese characters to the simplified ones."""
    listed = resources.find("prompts/han.txt").read_text(encoding="utf-8").splitlines()[1:]
    return {ord(char): group[0] for line in listed for group in line.split() for char in group[1:]}


def simplify(run: str) -> str:
    """Return a run of Chinese with simplified characters in place of traditional ones."""
    return run.translate(_simplified()) if _HAN.search(run) else run


@lru_cache(maxsize=1)
def _hiragana() -> dict[int, int]:
    return {code: code - 0x60 for code in range(0x30A1, 0x30F5)}


def collapsed(text: str) -> str:
    """Return the folded text with white space runs as one space, trimmed: texts that are equal so are one text."""
    return " ".join((text.lower() if text.isascii() else fold(text)).split())


def word_runs(folded: str) -> list[str]:
    """Return the longest stretches of word characters, in order, of whatever scripts."""
    return _WORDS.findall(folded)


def all_runs(folded: str) -> list[str]:
    """Return the runs of `runs`, without their kind."""
    if folded.isascii() or not SPACELESS_PATTERN.search(folded):
        return _WORDS.findall(folded)
    return [run for run, _ in runs(folded)]


def runs(folded: str) -> Iterator[tuple[str, bool]]:
    """Yield `(run, spaceless)`: the longest stretches of word characters of one kind of script, in order."""
    for match in _WORDS.finditer(folded):
        word = match.group()
        if word.isascii() or not _SPACELESS_CHAR.search(word):
            yield word, False
            continue
        for part in _PARTS.finditer(word):
            yield part.group(), bool(part.group("spaceless"))
