"""Splits texts for an embedder, and packs vectors for storage (docs/embeddings.md)."""

import math
from array import array
from collections.abc import Iterable

PIECE_WORDS = 100
"""Usual number of words in a piece: embedders read about 200 words, and vectors of longer texts are less precise."""
MOST_PIECES = 12
"""Maximum number of pieces of a text; if a text needs more, its pieces are made longer."""
MOST_CHARS = 20_000
MOST_DIMENSIONS = 4096
STEPS = 127


def split_pieces(text: str, speaker: str = "") -> list[str]:
    """Split a text into pieces of about PIECE_WORDS words, each beginning with the speaker's name."""
    words = text[:MOST_CHARS].split()
    if not words:
        return []
    count = max(1, min(MOST_PIECES, round(len(words) / PIECE_WORDS)))
    each = -(-len(words) // count)
    lead = f"{speaker}: " if speaker else ""
    return [lead + " ".join(words[at : at + each]) for at in range(0, len(words), each)]


def pack_vector(vector: Iterable[float]) -> bytes | None:
    """Pack a vector into one signed byte per number; None if the vector is empty, zero, too long or not finite."""
    numbers = [float(each) for each in vector]
    most = max(map(abs, numbers), default=0.0)
    if not 0 < len(numbers) <= MOST_DIMENSIONS or not all(map(math.isfinite, numbers)) or most <= 0.0:
        return None
    return array("b", [round(each / most * STEPS) for each in numbers]).tobytes()
