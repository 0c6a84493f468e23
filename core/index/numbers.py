"""What the index is asked for. Pure."""

from __future__ import annotations

WORD, TAG, PHRASE = 0, 1, 2
"""Kinds of what is looked up. The rows of a phrase are those that hold all of its words."""
IndexTerm = tuple[int, str]
"""Kind and text of what is looked up: a word, a tag or a phrase."""
