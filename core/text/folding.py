"""Clean, fold and split texts, for comparing and indexing."""

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import repeat

from ..base import resources
from ..base.patterns import lazy_pattern

_ONE_LETTER = {
    "ı": "i", "ł": "l", "ø": "o", "đ": "d", "ħ": "h", "æ": "ae", "œ": "oe",
    "ё": "е", "ѐ": "е", "ѝ": "и", "ґ": "г", "\u0901": "\u0902",
    "آ": "ا", "أ": "ا", "إ": "ا", "ٱ": "ا", "ؤ": "و", "ئ": "ي", "ى": "ي", "ی": "ي", "ې": "ي", "ک": "ك",
    "ة": "ه", "ۀ": "ه", "ە": "ه", "ۃ": "ه", "\u02bb": "'", "\u02bc": "'", "\u2018": "'", "\u2019": "'",
}  # fmt: skip
"""Replacement of each letter: people write either letter for the same sound, although neither has an accent."""
_LEFT_OUT = "591-5bd 5bf 5c1-5c2 5c4-5c5 5c7 610-61a 640 64b-65f 670 6d6-6dc 6df-6e8 6ea-6ed 93c"
"""Code points that most writers omit: Hebrew and Arabic vowel signs, the Arabic stretching line, the Hindi dot."""
_ZEROS = (0x660, 0x6F0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xE50)


@lru_cache(maxsize=1)
def marks_class() -> str:
    """Return the combining marks, without selectors of variants, as the content of a regular expression's `[...]`.

    They are the marks of Unicode 14.0.0 (category M), which `\\w` leaves out. Looking up a million code points in
    `unicodedata` would take longer than importing the package.
    """
    listed = resources.find("prompts/combining_marks.txt").read_text(encoding="ascii").split()
    spans = (span.partition("-") for span in listed if span not in ("fe00-fe0f", "e0100-e01ef"))
    return "".join(f"{chr(int(first, 16))}-{chr(int(last or first, 16))}" for first, _, last in spans)


_SURROGATES = lazy_pattern("[\ud800-\udfff]")
_BREAK = "[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]"  # of str.splitlines
_BREAKS = lazy_pattern(f"{_BREAK}+")  # a run of them is one break, so "\r\n" becomes one space

_STOPS = "[.,:;!?\u2026\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f\u061f\u06d4\u0964]"
_GAP = f"(?<!\\s)\\s*{_BREAK}\\s*"
_CLEAR_GAP = f"(?:(?<={_STOPS})|(?<={_STOPS}[\"')\u00bb\u201d])){_GAP}|{_GAP}(?=[-*+\u2022]\\s|\\(?\\d{{1,3}}[.)]\\s)"
LONGEST_OF_LIST = 40
"""Maximum number of characters of each line of a list; a text with a longer line is prose."""
_LINE_GAP, _CLEAR_LINE_GAP = lazy_pattern(_GAP), lazy_pattern(_CLEAR_GAP)

_INVISIBLE = lazy_pattern(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)
"""Characters that show nothing by themselves: they join, select, reorder or fill."""

SPACELESS = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f"  # Burmese
    "\u1780-\u17ff"  # Khmer
    "\u3005-\u3007\u3031-\u3035\u303b\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # Kana and their marks
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003ffff"  # Han
)
"""Characters of scripts written without spaces, as the content of a regular expression's `[...]`."""

SPACELESS_PATTERN = lazy_pattern(f"[{SPACELESS}]")
_WORDS = lazy_pattern(f"[\\w{marks_class()}]+")
_LETTERS = (
    "a-z\u00df-\u00f6\u00f8-\u02af\u1d00-\u1dbf\u1e00-\u1eff\u2c60-\u2c7f\ua722-\ua7ff\uab30-\uab6f"  # Latin
    "\u0370-\u03ff\u1f00-\u1fff"  # Greek
    "\u0400-\u04ff"  # Cyrillic
)
_ACCENTS = lazy_pattern(f"(?<=[{_LETTERS}])[\u0300-\u036f\u1ab0-\u1ace\u1dc0-\u1dff\ufe20-\ufe2f]+")
_IS_LETTER = lazy_pattern(f"[{_LETTERS}]")
_HAS_VARIANTS = lazy_pattern(
    "[\u00df-\u024f\u02bb\u02bc\u0300-\u03ff\u0450\u0451\u045d\u0491\u0591-\u05c7\u0610-\u06ed\u06f0-\u06f9"
    "\u0901-\u0dff\u0e50-\u0e59\u1ab0-\u1ace\u1dc0-\u1fff\u2018\u2019\ufe20-\ufe2f]"
)
_HAN = lazy_pattern("[\u3400-\u9fff]")
_NASALS = lazy_pattern("[\u0919\u091e\u0923\u0928\u092e]\u094d(?=[\u0915-\u0939])")
"""A Devanagari nasal consonant before another consonant: most people write a dot above it instead."""
_KATAKANA = lazy_pattern("[\u30a1-\u30f4]")
_HIRAGANA = {code: code - 0x60 for code in range(0x30A1, 0x30F5)}
_MANY_MARKS = lazy_pattern(f"([{marks_class()}]{{30}})")
_PARTS = lazy_pattern(f"(?P<spaceless>[{SPACELESS}]+)|[^{SPACELESS}]+")


def clean(text: str) -> str:
    """Return the text without U+0000 and with lone surrogates replaced by U+FFFD."""
    if "\x00" in text:
        text = text.replace("\x00", "")
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def one_line(text: str) -> str:
    """Return the cleaned text on one line, with each run of line breaks as a space."""
    return text if text.isprintable() else _BREAKS.sub(" ", clean(text))


def join_lines(text: str) -> str:
    """Return the cleaned text on one line; ` / ` parts the short lines of a list, except at punctuation and bullets."""
    if text.isprintable() or max(map(len, text.splitlines()), default=0) > LONGEST_OF_LIST:
        return one_line(text)
    return _LINE_GAP.sub(" / ", _CLEAR_LINE_GAP.sub(" ", clean(text).strip()))


def fold(text: str) -> str:
    """Return the text after NFKC and case folding, without accents, and with one form of interchangeable letters."""
    if text.isascii():
        return text.lower()
    folded = fold_letters(text)
    return folded.translate(_HIRAGANA) if _KATAKANA.search(folded) else folded


def fold_letters(text: str) -> str:
    """Return `fold(text)`, but keep katakana, which shows where Japanese words begin and end."""
    folded = fold_case(text)
    if _HAS_VARIANTS.search(folded) is None:
        return folded
    return _ACCENTS.sub("", _NASALS.sub("\u0902", folded.translate(_variants())))


def fold_case(text: str) -> str:
    """Return the text after NFKC and case folding; accents and spelling variants stay."""
    return text.lower() if text.isascii() else normalize(text).casefold()


def normalize(text: str) -> str:
    """Return the text after NFKC; long runs of combining marks are normalized in pieces, as sorting is quadratic."""
    if not _MANY_MARKS.search(text):
        return unicodedata.normalize("NFKC", text)
    return "".join(unicodedata.normalize("NFKC", part) for part in _MANY_MARKS.split(text))


@lru_cache(maxsize=1)
def _variants() -> dict[int, str | None]:
    """Return a map from letters and digits to their plain form: without accents, ASCII digits."""
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
    listed = resources.find("prompts/han.txt").read_text(encoding="utf-8").splitlines()[1:]
    return {ord(char): group[0] for line in listed for group in line.split() for char in group[1:]}


def simplify(run: str) -> str:
    """Return a run of Chinese with simplified characters in place of traditional ones."""
    return run if run.isascii() or not _HAN.search(run) else run.translate(_simplified())


def collapsed(text: str) -> str:
    """Return the folded, trimmed text with runs of white space as one space; equal results mean duplicate texts."""
    return " ".join((text.lower() if text.isascii() else fold(text)).split())


def strip_invisible(text: str) -> str:
    """Return the text without invisible characters, and without white space at its ends; "" if nothing is visible."""
    return (text if text.isascii() else _INVISIBLE.sub("", text)).strip()


def name_form(name: str) -> str:
    """Return a form of a name by which names that look alike are equal."""
    return collapsed(strip_invisible(name))


def word_runs(folded: str) -> list[str]:
    return _WORDS.findall(folded)


def all_runs(folded: str) -> list[str]:
    if folded.isascii() or not SPACELESS_PATTERN.search(folded):  # a third less time for each text that is read closely
        return _WORDS.findall(folded)
    return [run for run, _ in runs(folded)]


def runs(folded: str) -> Iterator[tuple[str, bool]]:
    """Return `(run, spaceless)`: runs of word characters in scripts with or without spaces, in order."""
    if folded.isascii() or not SPACELESS_PATTERN.search(folded):
        return zip(_WORDS.findall(folded), repeat(False))
    return _split_runs(folded)


def _split_runs(folded: str) -> Iterator[tuple[str, bool]]:
    for match in _WORDS.finditer(folded):
        word = match.group()
        if word.isascii() or not SPACELESS_PATTERN.search(word):
            yield word, False
            continue
        for part in _PARTS.finditer(word):
            yield part.group(), bool(part.group("spaceless"))
