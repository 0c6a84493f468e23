"""Whose row it is, against whom a question is about."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ...text.folding import fold
from ...text.question_words import asked_words, holds
from ...text.stems import stem
from ...text.words import words
from ..question.question import Question
from .rows import PERSONA, Speaker


def person_of(question: Question, asker: str, speaker: Speaker) -> float:
    """Return 1 where the question is about who said a row, -1 where it is about somebody else, 0 where it
    names nobody.
    """
    if question.people:
        return 1.0 if speaker.name in question.people else -1.0
    if question.self_person:
        # `Can you tell me when I ...` is about the one who asks, whatever else it says.
        if not asker:
            return -1.0 if speaker.role == PERSONA else 0.0
        return 1.0 if speaker.key == asker else -1.0
    if question.other:
        return 1.0 if speaker.role == PERSONA else -1.0
    return 0.0


def name_texts(names: Collection[str], texts: Sequence[str], languages: Sequence[str]) -> set[int]:
    """Return the numbers of the texts looked for that are no more than words of these names."""
    parts = {stem(part, languages) for name in names for part in words(name, 2)} | {
        part for name in names for part in words(name, 2)
    }
    return {n for n, text in enumerate(texts) if fold(text) in parts}


def speaks_of_self(text: str, languages: Sequence[str]) -> float:
    """Return 1 for a row that says `I` or `my` in one of the languages: what people tell of themselves is asked for."""
    return float(holds(asked_words(text), "SELF", languages))
