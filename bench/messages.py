"""The messages that are measured: three tags and three words each, one rare, one middling, one common."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from bench.generator import NOW, PERSONA, place
from bench.words import tag_words, vocabulary
from core.scope import Scope

WORD_BANDS = ((20, 500), (500, 10_000), (10_000, 60_000))
TAG_BANDS = ((1, 50), (50, 500), (500, 3_000))
"""Ranks in the order of frequency: common, middling, rare."""


@dataclass(frozen=True)
class Asked:
    """One message and what is looked for when the search is measured alone."""

    number: int
    tags: tuple[str, ...]
    words: tuple[str, ...]

    @property
    def text(self) -> str:
        """Return what the person says."""
        w, t = self.words, self.tags
        return (
            f"Do you remember the {w[0]} and the {t[0]}? We were talking about {w[1]}, {t[1]} and {t[2]}, then {w[2]}."
        )

    @property
    def conversation(self) -> str:
        """Return the key of the conversation it is said in, one of the public ones."""
        return place(self.number % 900).key

    @property
    def scope(self) -> Scope:
        """Return who is asking."""
        where = place(self.number % 900)
        return Scope(PERSONA, where.key, f"{where.interface}/u{(self.number % 900) * 3}")

    def as_host(self) -> dict[str, Any]:
        """Return the message as a host hands it over."""
        where = place(self.number % 900)
        sender = {"id": f"u{(self.number % 900) * 3}", "full_name": "Ada Example", "username": "ada"}
        return {
            "message_id": f"asked-{self.number}",
            "date": NOW,
            "text": self.text,
            "interface_path": where.key,
            "chat": {"id": where.chat_id, "type": "group"},
            "from_user": sender,
        }


def messages(count: int, seed: int = 7) -> list[Asked]:
    """Return the same `count` messages every time."""
    rng = random.Random(seed)
    words = vocabulary()
    tags = tag_words(words)

    def chosen(known: list[str], bands: tuple[tuple[int, int], ...]) -> tuple[str, ...]:
        return tuple(known[rng.randrange(low, high)] for low, high in bands)

    return [Asked(number, chosen(tags, TAG_BANDS), chosen(words, WORD_BANDS)) for number in range(count)]
