"""Flags of embeddings: what makes the vectors of texts, and what the meaning of a row counts (docs/embeddings.md)."""

from __future__ import annotations

from dataclasses import dataclass

from .flag_base import FlagValues, flag
from .flag_types import EmbedderName, Text


@dataclass(frozen=True, kw_only=True, repr=False)
class SemanticFlags(FlagValues):
    """What makes vectors of texts, and what these count."""

    semantic_weight: float = flag(
        1.0,
        "What the meaning of a row counts in the ranking beside its words, where there is an embedder; 0 is nothing.",
        low=0,
        high=5,
        group="Memories",
    )
    semantic_cache_mb: int = flag(
        64,
        "Most vectors a process holds; all are compared with a message, those beyond are read for each search.",
        unit="megabytes",
        low=0,
        high=100_000,
        group="Memories",
    )
    embedder: str = flag(
        "",
        "What makes vectors of texts: http asks the server of EMBEDDER_URL, model2vec:PATH is a model in a folder.",
        kind=EmbedderName(),
        default_means="none, unless the host passes one: words alone decide",
        group="Memories",
    )
    embedder_url: str = flag(
        "",
        "Address of a server of embeddings in the OpenAI dialect, such as http://127.0.0.1:11434/v1.",
        kind=Text("an address"),
        default_means="none",
        group="Memories",
    )
    embedder_model: str = flag(
        "",
        "Name of the model of embeddings; another name is another model, and rows are embedded anew.",
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
    embedder_timeout_seconds: float = flag(
        30.0,
        "Longest wait for one answer of that server; a search waits at most 5 seconds.",
        unit="seconds",
        low=0.1,
        high=600,
        group="Memories",
    )
    embedder_batch: int = flag(
        64, "Most texts sent to that server at once.", unit="texts", low=1, high=1000, group="Memories"
    )
    embedder_dimensions: int = flag(
        0,
        "Numbers of a vector that server is asked for; 0 for as many as the model has.",
        unit="numbers",
        low=0,
        high=4096,
        group="Memories",
    )
