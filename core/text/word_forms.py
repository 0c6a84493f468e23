"""What of a word is looked for: its stem where that stands in it, what its forms begin with, symbols that are words.

Called by `text.words`, which offers these names, and by the search.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import islice

from .folding import clean, fold
from .script_stems import script_language
from .stems import stem

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
    """Return the part of a word that is looked for: its stem where that stands in it, else the word itself.

    In Latin letters the stem must begin the word and have at least 3 characters. In other scripts, where articles and
    prepositions grow onto words, it may stand further in, and accents that the stem has lost do not count.

    >>> [search_form(word, ["en"]) for word in ("recipes", "running", "studies", "retrodeck")]
    ['recip', 'run', 'studi', 'retrodeck']
    >>> [search_form(word, ["en"]) for word in ("القلادة", "βερικοκιά", "고양이는", "ежи")]
    ['قلاد', 'βερικοκ', '고양이', 'ежи']
    """
    form = stem(word, languages)
    own = script_language(word)
    if len(form) < (SHORTEST_HANGUL if own == "ko" else SHORTEST_STEM):
        return word
    if not own:
        return form if word.startswith(form) else word
    at = _plain(word).find(_plain(form))
    return word[at : at + len(form)] if at >= 0 else word


def shared_beginning(word: str, form: str, languages: Sequence[str]) -> str:
    """Return what a word and all other words of its stem begin with, as far as that can be told.

    That is the stem without what changes: `hik` of hike and hiking, `backenz` of Backenzahn and Backenzähne.

    Args:
        word: folded.
        form: its stem.

    Returns:
        At least 2 characters; the word where nothing shorter is known of it.

    >>> shared_beginning("hiking", "hike", ["en"]), shared_beginning("backenzahn", "backenzahn", ["de"])
    ('hik', 'backenz')
    """
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
    """Return the symbols of a text that name a thing, such as a hedgehog or a key: what a message without words says.

    Faces, hands and hearts are the stop words among symbols: a laugh must not bring back all that was laughed about.

    >>> telling_symbols("😂🦔🦔🔑👍❤", 5)
    ['🦔', '🔑']
    """
    found = (char for char in fold(clean(text)) if _NO_WORD.match(char) and unicodedata.category(char) == "So")
    return list(islice(dict.fromkeys(char for char in found if not _FEELING.match(char)), limit))


def _plain(text: str) -> str:
    """Return the text with each character stripped of its accents, as long as it was."""
    return "".join(unicodedata.normalize("NFD", char)[0] for char in text)
