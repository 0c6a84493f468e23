"""What the index is asked for. Pure."""

from __future__ import annotations

WORD, TAG, PHRASE, DAY = 0, 1, 2, 3
"""Kinds of what is looked up. The rows of a phrase are those that hold all of its words, the rows of a day
(`2026-03-12`) those that are about it."""
IndexTerm = tuple[int, str]
"""Kind and text of what is looked up: a word, a tag, a phrase or a day."""
