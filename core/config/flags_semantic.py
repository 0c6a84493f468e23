"""Flags of embeddings: what makes the vectors of texts, and what the meaning of a row counts (docs/embeddings.md)."""

from __future__ import annotations

from dataclasses import dataclass

from .flag_base import FlagValues, flag
from .flag_types import EmbedderName, Text


@dataclass(frozen=True, kw_only=True, repr=False)
class SemanticFlags(FlagValues):
    """What makes vectors of texts, and what these count."""

    embedder: str = flag(
        "",
        "What makes vectors of texts: the address of a server in the OpenAI dialect.",
        kind=EmbedderName(),
        default_means="none, unless the host passes one: words alone decide",
        group="Memories",
    )
    embedder_model: str = flag(
        "",
        "Name of the embedding model; with another name rows are embedded again.",
        kind=Text("a name of at most 80 bytes", limit_bytes=80),
        default_means="what the server takes",
        group="Memories",
    )
    embedder_api_key: str = flag(
        "",
        "Key sent to the server of embeddings.",
        kind=Text("a key"),
        default_means="none",
        secret=True,
        group="Memories",
    )
