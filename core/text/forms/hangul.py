"""Hangul as single letters, since Korean endings merge with the last syllable of a stem."""

from __future__ import annotations

import unicodedata

_FINALS = dict(zip("ㄴㄷㄹㅁㅂㅅㅆㅎ", "\u11ab\u11ae\u11af\u11b7\u11b8\u11ba\u11bb\u11c2", strict=True))
_VOWELS = {chr(0x314F + n): chr(0x1161 + n) for n in range(21)}
_ALONE = str.maketrans(_FINALS | _VOWELS)
"""Form inside a syllable of each letter that the rules write alone (final consonant or vowel of a syllable)."""
_FIRST, _LAST, _PER_VOWEL = 0xAC00, 0xD7A3, 28


def to_letters(text: str) -> str:
    return unicodedata.normalize("NFD", text.translate(_ALONE))


def list_beginnings(letters: str) -> list[str]:
    """Return the beginnings, in syllables, of words that begin with these letters: the last syllable may continue."""
    text = unicodedata.normalize("NFC", letters)
    last = ord(text[-1]) if text else 0
    is_open = _FIRST <= last <= _LAST and (last - _FIRST) % _PER_VOWEL == 0
    if len(text) == 1 and is_open:
        return [chr(code) for code in range(last, last + _PER_VOWEL)]
    is_whole = _FIRST <= last <= _LAST and not is_open
    return [text] if is_whole else [text[:-1]] if len(text) > 1 else []
