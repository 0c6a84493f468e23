"""Which known word a misspelt one means."""

from __future__ import annotations

import random

from core.text.search_words import choose_nearest, may_be_misspelt, split_halves

KNOWN = (
    "recipe garden hedgehog accordion lighthouse apricot necklace opera violin harbour dentist molar cousin island "
    "sponge barn mirror cabin festival sourdough neighbour teacher grandmother apprenticeship contract winter weather"
)


def slip(word: str, chance: random.Random) -> str:
    """Return the word with one letter too many, too few, wrong, or changed with the next; never the first."""
    at = chance.randrange(1, len(word) - 1)
    kind = chance.choice("mlws")
    letter = chance.choice("abcdefghijklmnopqrstuvwxyz")
    if kind == "m":
        return word[:at] + letter + word[at:]
    if kind == "l":
        return word[:at] + word[at + 1 :]
    if kind == "w":
        return word[:at] + letter + word[at + 1 :]
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def test_most_slips_are_put_right_among_the_words_that_the_halves_bring() -> None:
    """Both halves together bring every word that is one slip away."""
    chance = random.Random(7)
    known = dict.fromkeys(KNOWN.split(), 1)
    tried = [(slip(word, chance), word) for word in known for _ in range(20)]
    tried = [(wrong, word) for wrong, word in tried if wrong not in known and may_be_misspelt(wrong)]
    right = 0
    for wrong, word in tried:
        first, second = split_halves(wrong)
        brought = {other: rows for other, rows in known.items() if other.startswith(first) or other.endswith(second)}
        right += choose_nearest(wrong, brought, 82) == word
    assert len(tried) > 400
    assert right / len(tried) > 0.85


def test_the_word_in_more_rows_is_meant_where_two_are_as_near() -> None:
    assert choose_nearest("martan", {"marten": 1, "martin": 5}, 80) == "martin"
