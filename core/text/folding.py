"""How text is cleaned, folded and split into runs; everything that compares or indexes text stands on it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from .marks import marks_class

_SURROGATES = re.compile("[\ud800-\udfff]")
_SPACES = re.compile(r"\s+")
# What str.splitlines takes for a line break; a run of them is one break, so "\r\n" is one space.
_BREAKS = re.compile("[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]+")

SPACELESS = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f"  # Burmese
    "\u1780-\u17ff"  # Khmer
    "\u3005-\u3007\u3031-\u3035\u303b\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # Kana and their marks
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003ffff"  # Han
)
"""Ranges of the scripts written without spaces, as the inside of a character class."""

_SPACELESS_CHAR = SPACELESS_PATTERN = re.compile(f"[{SPACELESS}]")
_WORDS = re.compile(f"[\\w{marks_class()}]+")
_MANY_MARKS = re.compile(f"([{marks_class()}]{{30}})")
_PARTS = re.compile(f"(?P<spaceless>[{SPACELESS}]+)|[^{SPACELESS}]+")


def clean(text: str) -> str:
    """Return the text without U+0000 and with lone surrogates replaced by U+FFFD.

    >>> clean("a\\x00b"), clean("\\ud800x")
    ('ab', '\ufffdx')
    """
    if "\x00" in text:
        text = text.replace("\x00", "")
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def one_line(text: str) -> str:
    """Return the text without line breaks, each run of them as one space, cleaned.

    >>> one_line("a\\r\\nb\\u2028c\\x00")
    'a b c'
    """
    return _BREAKS.sub(" ", clean(text))


def fold(text: str) -> str:
    """Return NFKC, then case folding: what texts, tags, keywords and phrases are compared by, never ids.

    >>> fold("ＡＢＣ Straße"), fold("ﬁn"), fold("café") == fold("cafe")
    ('abc strasse', 'fin', False)
    """
    if text.isascii():
        return text.lower()
    if _MANY_MARKS.search(text):
        # Sorting marks takes time by the square of their number, so a long pile of them is folded in parts.
        return "".join(unicodedata.normalize("NFKC", part) for part in _MANY_MARKS.split(text)).casefold()
    return unicodedata.normalize("NFKC", text).casefold()


def collapsed(text: str) -> str:
    """Return the folded text with white space runs as one space, trimmed: equal texts in the sense of T36.

    >>> collapsed("Jay  likes\\ntea ")
    'jay likes tea'
    """
    return _SPACES.sub(" ", fold(text)).strip()


def is_word_char(char: str) -> bool:
    """Return whether the character belongs to words: a letter, combining mark, digit or underscore."""
    return char == "_" or unicodedata.category(char)[0] in "LMN"


def runs(folded: str) -> Iterator[tuple[str, bool]]:
    """Yield `(run, spaceless)`: the longest stretches of word characters of one kind of script, in order.

    `spaceless` runs are of scripts written without spaces. Characters that are no word characters separate runs.

    >>> list(runs("数学の宿題 is due_2, ok"))
    [('数学の宿題', True), ('is', False), ('due_2', False), ('ok', False)]
    """
    for match in _WORDS.finditer(folded):
        word = match.group()
        if word.isascii() or not _SPACELESS_CHAR.search(word):
            yield word, False
            continue
        for part in _PARTS.finditer(word):
            yield part.group(), bool(part.group("spaceless"))
