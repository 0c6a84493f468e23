"""Flags of embeddings, which work where a host has an embedder (docs/embeddings.md). Part of `config.flags`."""

from __future__ import annotations

from dataclasses import dataclass

from .flag_base import FlagValues, flag


@dataclass(frozen=True, kw_only=True, repr=False)
class RecallFlags(FlagValues):
    """What the meaning of texts counts."""

    semantic_weight: float = flag(
        1.0,
        "What the meaning of a row counts in the ranking beside its words, where there is an embedder; 0 is nothing.",
        low=0,
        high=5,
        group="Memories",
    )
    semantic_newest: int = flag(
        4000,
        "Newest vectors that are compared with a message, so that rows are found without a word in common; 0 for none.",
        unit="vectors",
        low=0,
        high=100_000,
        group="Memories",
    )
