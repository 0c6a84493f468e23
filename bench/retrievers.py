"""This engine as a retriever of the common harnesses, which need not be installed.

| harness | object | called as |
|---|---|---|
| BEIR, and what copies it | `BeirSearch` | `search(corpus, queries, top_k)` gives `{query: {document: score}}` |
| MTEB 2 | `MtebSearch` | `index(corpus, ...)` and `search(queries, top_k=..., ...)`, its `SearchProtocol` |

Documents are stored as memories of one persona, in a database in memory, or in the empty one whose URL is given. A
search finds at most 200 of them, whatever `top_k` says. Scores only give the order. Of a conversation that is a query,
the last message is searched for.

    import mteb
    from bench.retrievers import MtebSearch
    mteb.evaluate(MtebSearch(), tasks=mteb.get_tasks(tasks=["NFCorpus"]))
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import select

from bench.conversations import Clock
from core import db as core_db
from core import synth_core_memory
from core.config import Settings
from core.database.engine import Database
from core.database.schema import memories
from core.scope import Scope
from core.transfer import import_items

MOST_HITS = 200
BATCH_BYTES = 8_000_000


class Documents:
    """Documents as the memories of a persona that has no others, and searches over them."""

    def __init__(self, documents: Iterable[tuple[str, str]], db: Database, persona: str = "reader") -> None:
        self.db, self.settings, self.scope = db, Settings(), Scope(persona)
        names: dict[str, list[str]] = {}
        for name, text in documents:
            names.setdefault(_fold(text), []).append(name)
        for batch in _batches(text for text in names if text):
            result = import_items(batch, fmt="jsonl", db=self.db, settings=self.settings, scope=self.scope)
            if result.error_count:
                raise ValueError(f"{result.error_count} documents were not stored, the first: {result.errors[0]}")
        c = memories.c
        rows = self.db.read(select(c.id, c.content).where(c.persona_id == self.scope.persona), source="memories")
        self._names = {row[0]: names[_fold(row[1])] for row in rows}

    def rank(self, question: str, limit: int) -> list[str]:
        """Return the names of at most `limit` documents, best first; equal texts stand side by side."""
        _, report = synth_core_memory.explain_search(
            query=question, limit=min(limit, MOST_HITS), db=self.db, settings=self.settings, scope=self.scope
        )
        hits = sorted(report["hits"], key=lambda hit: hit["rank"])
        return [name for hit in hits for name in self._names[hit["id"]]][:limit]


class BeirSearch:
    """A retriever of BEIR: `{id: {title, text}}` and `{id: question}` in, scores out."""

    def __init__(self, url: str = "sqlite://") -> None:
        self.url = url

    def search(
        self, corpus: Mapping[str, Any], queries: Mapping[str, str], top_k: int, *_: Any, **__: Any
    ) -> dict[str, dict[str, float]]:
        """Return `{query: {document: score}}`, at most `top_k` documents each."""
        db = core_db.open_database(self.url, clock=Clock())
        try:
            documents = Documents(((name, _join_fields(row)) for name, row in corpus.items()), db)
            return {name: _score(documents.rank(_read_query(text), top_k)) for name, text in queries.items()}
        finally:
            db.close()


class MtebSearch:
    """A retriever of MTEB's retrieval and reranking tasks, conversational ones too; it encodes nothing."""

    def __init__(self, url: str = "sqlite://") -> None:
        self.url = url
        self._documents: Documents | None = None

    @property
    def mteb_model_meta(self) -> Any:
        """Return what MTEB writes beside a result; this alone needs MTEB."""
        from mteb.models.model_meta import ModelMeta  # type: ignore[import-not-found]

        return ModelMeta.create_empty({"name": "prompt-engine/search", "revision": "1"})

    def index(self, corpus: Iterable[Mapping[str, Any]], **_: Any) -> None:
        """Store a corpus: rows with `id`, `text` and perhaps `title`."""
        if self._documents is not None:
            self._documents.db.close()
        db = core_db.open_database(self.url, clock=Clock())
        self._documents = Documents(((str(row["id"]), _join_fields(row)) for row in corpus), db)

    def search(
        self,
        queries: Iterable[Mapping[str, Any]],
        *,
        top_k: int,
        top_ranked: Mapping[str, Sequence[str]] | None = None,
        **_: Any,
    ) -> dict[str, dict[str, float]]:
        """Return `{query: {document: score}}`; with `top_ranked`, of the documents named there."""
        if self._documents is None:
            raise RuntimeError("search was called before index. Call index(corpus) first.")
        results = {}
        for row in queries:
            name = str(row["id"])
            ranked = self._documents.rank(_read_query(row["text"]), MOST_HITS if top_ranked else top_k)
            allowed = set(top_ranked[name]) if top_ranked and name in top_ranked else None
            kept = [each for each in ranked if allowed is None or each in allowed]
            results[name] = _score(kept[:top_k])
        return results


def _score(ranked: Sequence[str]) -> dict[str, float]:
    return {name: 1 / place for place, name in enumerate(ranked, 1)}


def _join_fields(row: Any) -> str:
    if isinstance(row, str):
        return row
    title, text = str(row.get("title") or ""), str(row.get("text") or row.get("body") or "")
    return f"{title}\n{text}".strip()


def _read_query(query: Any) -> str:
    """Return the text of a question; of a conversation, what its last message says."""
    if isinstance(query, list):
        return _read_query(query[-1]) if query else ""
    return str(query.get("content", query.get("text", ""))) if isinstance(query, Mapping) else str(query)


def _fold(text: str) -> str:
    return " ".join(text.split())


def _batches(texts: Iterable[str]) -> Iterator[bytes]:
    lines = (json.dumps({"text": text}).encode() + b"\n" for text in texts)
    for first in lines:
        batch, size = [first], len(first)
        for line in lines:
            batch.append(line)
            size += len(line)
            if size >= BATCH_BYTES:
                break
        yield b"".join(batch)
