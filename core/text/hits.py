"""Snippets and matches of hits, and keys for comparing texts."""

import hashlib
import json
from bisect import bisect_left
from collections.abc import Iterable, Sequence

from ..base.patterns import lazy_pattern
from ..shapes import PERSONA_SENDER, HistoryEntry
from .folding import clean, collapsed, fold, marks_class, one_line, strip_invisible

DEFAULT_PERSONA = "default"

ELLIPSIS = "..."

MOST_PLACES = 20
NAME_CHARS = 64

_BREAK = lazy_pattern(f"(?<!\u094d)[^{marks_class()}\u0640\u1100-\u11ff\u3131-\u318e\uff9e-\uffdc]")
"""Characters before which a text can be cut without changing how either part folds.

They exclude characters that may join the preceding one: combining marks, the Arabic stretching line, Hangul letters,
halfwidth voice marks, and a Hindi consonant joined to the preceding one.
"""

_BLOCK_CHARS = 512
_STEPS_BACK = 40
"""Maximum number of characters that a cut moves back: a letter with more marks, or a longer emoji, is cut."""
_EMOJI_PARTS = "\u200d\ufe0e\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"
_WHOLE = lazy_pattern(f"(?<![\u094d\u200d])[^{marks_class()}{_EMOJI_PARTS}]")
_FLAGS = "".join(map(chr, range(0x1F1E6, 0x1F200)))
_WORD_EDGE = lazy_pattern(r"\b")
_IN_NAMES = str.maketrans({'"': "'", "[": "(", "]": ")", ":": ";", "\uff1a": ";"})


def find_cut(text: str, chars: int) -> int:
    """Return the last position up to `chars` for cutting a text, not inside a letter with marks or an emoji."""
    for at in range(chars, max(chars - _STEPS_BACK, 0), -1) if chars < len(text) else ():
        if _WHOLE.match(text, at):
            flags = at + 1 - len(text[: at + 1].rstrip(_FLAGS))  # two of these letters are one flag
            return at - 1 if flags and flags % 2 == 0 else at
    return chars


def snippet(text: str, chars: int) -> str:
    return text if len(text) <= chars else text[: find_cut(text, chars)] + ELLIPSIS


def snippet_around(text: str, at: int, length: int, chars: int) -> str:
    """Return `chars` characters of the text with the match in the middle, and `...` on each side that was cut."""
    if len(text) <= chars:
        return text
    start = at if length >= chars else at - (chars - length) // 2
    start = max(0, min(start, len(text) - chars))
    start = find_cut(text, start)
    end = find_cut(text, start + chars)
    return (ELLIPSIS if start else "") + text[start:end] + (ELLIPSIS if end < len(text) else "")


def _original_place(text: str, places: Sequence[int]) -> list[int]:
    """Return, for each of the ascending positions in `fold(text)`, where the same letter begins in `text`."""
    found: list[int] = []
    folded_at = at = 0
    while at < len(text) and len(found) < len(places):
        cut = _BREAK.search(text, at + _BLOCK_CHARS)
        end = cut.start() if cut else len(text)
        size = len(fold(text[at:end]))
        if folded_at + size > places[len(found)]:
            cuts = [piece.start() for piece in _BREAK.finditer(text, at + 1, end)]
            for first, last in zip([at, *cuts], [*cuts, end], strict=True):
                piece = text[first:last]
                folded_at += len(piece if piece.isascii() else fold(piece))
                while len(found) < len(places) and folded_at > places[len(found)]:
                    found.append(first)
        else:
            folded_at += size
        at = end
    return found + [len(text)] * (len(places) - len(found))


def _find_whole(folded: str, keyword: str) -> list[int]:
    """Return up to MOST_PLACES positions at which a folded text contains a keyword as whole words."""
    places, at = list[int](), folded.find(keyword)
    while at >= 0 and len(places) < MOST_PLACES:
        end = at + len(keyword)
        if is_whole := _WORD_EDGE.match(folded, at) and _WORD_EDGE.match(folded, end):
            places.append(at)
        at = folded.find(keyword, end if is_whole else at + 1)
    return places


def find_match(text: str, keywords: Iterable[str], chars: int = 0) -> tuple[int, int] | None:
    """Return `(at, length)` of the first match that is a whole word, else of the first match; None without a match.

    `keywords` are folded. With `chars`, return the span of matches, within this length, that has the most keywords.
    """
    folded = fold(text)
    found = [each for each in keywords if each and each in folded]
    if not found:
        return None
    words = {each: _find_whole(folded, each) for each in found}
    places = [(at, -len(each)) for each, found_at in words.items() for at in found_at]
    places = sorted(places or [(folded.find(each), -len(each)) for each in found])
    start, less = places[0]
    most, passage = 0, places[:0]
    for n, (first, _) in enumerate(places if chars else ()):
        near = places[n : bisect_left(places, (first + chars,))]
        if len(near) > most < len(words):  # else it has no more keywords than an earlier one
            near = [each for each in near if each[0] - each[1] <= first + chars]
            held = len({folded[at : at - size] for at, size in near})
            most, passage = (held, near) if held > most else (most, passage)
    if passage:
        start, less = passage[0][0], passage[0][0] - max([at - size for at, size in passage])
    if text.isascii():
        return start, -less
    begin, end_piece = _original_place(text, (start, start - less - 1))
    after = _BREAK.search(text, end_piece + 1)
    return begin, (after.start() if after else len(text)) - begin


def find_column(columns: Sequence[str], keywords: Sequence[str], chars: int = 0) -> tuple[int, tuple[int, int]] | None:
    """Return (number of the first column with a match, that match); None if no column has a match."""
    matches = ((at, find_match(text, keywords, chars)) for at, text in enumerate(columns) if text)
    return next(((at, match) for at, match in matches if match is not None), None)


def snippet_of_match(columns: Sequence[str], keywords: Sequence[str], chars: int) -> str | None:
    """Return, from the first column with a match, the snippet with the most keywords; None if none matches."""
    found = find_column(columns, keywords, chars)
    return None if found is None else snippet_around(columns[found[0]], *found[1], chars)


def diary_snippet_text(*texts: str | None) -> str:
    """Return the text shown for a diary hit: the first of its texts that is not blank; "" if all are blank."""
    return next((text for text in texts if text and not text.isspace()), "")


def stored_tags(value: object) -> list[str]:
    """Return the tags of a row, stored as a JSON array of texts or given as that array; [] for anything else."""
    is_clean = isinstance(value, str) and "\\" not in value  # JSON holds other characters only escaped
    if isinstance(value, (str, bytes, bytearray)):
        if value in ("[]", b"[]"):
            return []
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return []
    if not isinstance(value, (list, tuple)) or not {*map(type, value)} <= {str}:
        return []
    return [*value] if is_clean else [*map(clean, value)]


def known_name(*names: str) -> str:
    """Return the first name that is not blank, on one line, at most NAME_CHARS long; "" if there is none.

    Characters that end a name or a time in a line are replaced, so that a name cannot imitate another speaker.
    """
    for name in names:
        shown = (name if name.isprintable() else one_line(name)).translate(_IN_NAMES).strip() if name else ""
        if shown and (shown.isascii() or strip_invisible(shown)):
            return shown if len(shown) <= NAME_CHARS else shown[: find_cut(shown, NAME_CHARS)]
    return ""


def name_persona(persona: str) -> str:
    """Return the name of a persona whose messages have no name: its id, or `self` for the default id."""
    return PERSONA_SENDER if persona in ("", DEFAULT_PERSONA) else persona


def compared_text(entry: HistoryEntry) -> str:
    """Return the folded text by which an entry is compared; it is cached, as several lists compare it."""
    if not entry.compared:
        text = entry.text
        entry.compared.append(collapsed(text if text.isprintable() else clean(text)))
    return entry.compared[0]


def entry_digest(entry: HistoryEntry) -> bytes:
    return hashlib.sha256(compared_text(entry).encode("utf-8")).digest()


def content_digest(text: str) -> bytes:
    """Return a 32-byte hash that is equal for texts that are equal after folding and collapsing white space."""
    return digest_folded(fold(clean(text)))


def digest_folded(folded: str) -> bytes:
    """Return `content_digest` of a cleaned text that is already folded."""
    return hashlib.sha256(" ".join(folded.split()).encode("utf-8")).digest()
