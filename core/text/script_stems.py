"""Stems that Snowball has not: Hebrew and Korean; and which language a word's script speaks for.

Called by `text.stems`. Both take off what grows onto a word, particles and prefixes, never what is inside it.
"""

from __future__ import annotations

import re

_SCRIPTS = (
    ("el", re.compile("[\u0370-\u03ff\u1f00-\u1fff]")),
    ("ru", re.compile("[\u0400-\u052f]")),
    ("he", re.compile("[\u05d0-\u05ea]")),
    ("ar", re.compile("[\u0620-\u06d3]")),
    ("hi", re.compile("[\u0900-\u097f]")),
    ("ta", re.compile("[\u0b80-\u0bff]")),
    ("hy", re.compile("[\u0531-\u0587]")),
    ("ko", re.compile("[\uac00-\ud7a3]")),
)


def script_language(word: str) -> str:
    """Return the language that the script of a word speaks for, "" for Latin letters and scripts without stems.

    LANGUAGES need not name it: nobody writes Greek words in another language.

    >>> script_language("γάτες"), script_language("cats"), script_language("猫")
    ('el', '', '')
    """
    if word.isascii():
        return ""
    return next((language for language, letters in _SCRIPTS if letters.search(word)), "")


class Hebrew:
    """Takes off the prefixes of `and`, `the`, `in`, `to`, `from`, `that`, `as`, and the endings of plural and gender.

    >>> Hebrew().stemWord("והקיפודים"), Hebrew().stemWord("קיפוד")
    ('קיפוד', 'קיפוד')
    """

    shortest = 3
    _prefixes = frozenset("והבלמשכ")
    _endings = ("יהם", "יכם", "ותיי", "ותיו", "ות", "ים", "יה", "יו", "ה", "ת", "י")

    def stemWord(self, word: str) -> str:  # noqa: N802 - the name Snowball's stemmers have
        """Return the stem of a word."""
        for _ in range(3):
            if len(word) <= self.shortest or word[0] not in self._prefixes:
                break
            word = word[1:]
        for ending in self._endings:
            if word.endswith(ending) and len(word) - len(ending) >= self.shortest:
                return word[: -len(ending)]
        return word


_PARTICLES = (
    "은 는 을 를 에 의 도 만 로 으로 에서 에게 에게서 한테 한테서 와 과 하고 랑 이랑 부터 까지 보다 처럼 마다 조차 "
    "밖에 께서 께 이나 이야 이다 입니다 이에요 예요 이라고 라고 에는 에도 에서는 으로는 에게는 이가 이는 이를 들은 "
    "들이 들을 들"
)


class Korean:
    """Takes off particles: a noun and its particle are written as one word.

    >>> Korean().stemWord("고양이에게는"), Korean().stemWord("고양이")
    ('고양이', '고양이')
    """

    shortest = 2
    _particles = tuple(sorted(_PARTICLES.split(), key=len, reverse=True))

    def stemWord(self, word: str) -> str:  # noqa: N802 - the name Snowball's stemmers have
        """Return the stem of a word."""
        for particle in self._particles:
            if word.endswith(particle) and len(word) - len(particle) >= self.shortest:
                # `이` is part of many nouns: it goes only where another particle does not follow it.
                word = word[: -len(particle)] + ("이" if particle in ("이가", "이는", "이를") else "")
                break
        else:
            if word.endswith("가") and len(word) > self.shortest:
                word = word[:-1]
        return word
