"""Memory items as the text of a file: JSON, YAML, or one item a line, piece by piece."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from ...database.rows import read_json, read_list
from ...memories.table_transfer import Place
from ...text.hits import stored_tags
from ...text.strict_json import make_strict
from .documents import Syntax

MEDIA_TYPES: dict[Syntax, str] = {
    "json": "application/json", "yaml": "application/yaml", "jsonl": "application/x-ndjson",
}  # fmt: skip


def item_of(row: Any) -> dict[str, Any]:
    """Return a row of `memories.table_transfer.COLUMNS` as an item; times are ISO 8601, UTC, blank for none."""
    return {
        "id": str(row.id),
        "text": row.content,
        "kind": row.kind,
        "tier": row.tier,
        "importance": float(row.importance),
        "tags": make_strict(stored_tags(row.tags))[0],
        "emotion": row.emotion or "",
        "persona": row.persona_id,
        "conversation": row.conversation_key,
        "participant": row.participant_key,
        "timestamp": row.timestamp.isoformat() if row.timestamp else "",
        "expires_at": row.expires_at.isoformat() if row.expires_at else "",
        "pinned": bool(row.pinned),
        "provenance": row.provenance,
        "source_message_ids": make_strict(read_list(row.source_message_ids))[0],
        "author": row.author or "",
        "source": row.source or "",
        "label": row.scope or "",
        "local_only": bool(row.local_only),
        "metadata": make_strict(read_json(row.metadata) or {})[0],  # as it was stored: an import gives it back
        "response_text": row.response_text,
        "intensity": row.intensity,
        "emotion_state": row.emotion_state or "",
        "quarantined": bool(row.quarantined),
    }


def place_text(place: Place) -> str:
    """Return a place as hosts keep it."""
    return f"{place.at.isoformat() if place.at else ''}/{place.id}"


def most_bytes(item: dict[str, Any], syntax: Syntax) -> int:
    """Return how many bytes an item takes in a file at most, roughly: YAML indents and breaks what JSON does not."""
    size = len(json.dumps(item, ensure_ascii=False).encode()) + 4
    return 2 * size if syntax == "yaml" else size


def written(items: Iterable[dict[str, Any]], syntax: Syntax) -> Iterator[str]:
    """Yield the text of a file of items, one item at a time."""
    if syntax == "jsonl":
        for item in items:
            yield json.dumps(item, ensure_ascii=False, allow_nan=False) + "\n"
    elif syntax == "yaml":
        yield from _yaml(items)
    else:
        yield '{"items": ['
        between = "\n"
        for item in items:
            yield between + json.dumps(item, ensure_ascii=False, allow_nan=False)
            between = ",\n"
        yield "\n]}\n"


def _yaml(items: Iterable[dict[str, Any]]) -> Iterator[str]:
    import yaml  # noqa: PLC0415 - 14 ms, which only YAML pays

    class Plain(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        """Writes a value out wherever it stands: aliases are not read back."""

        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the interface of the library
            return True

    head = "items:\n"
    for item in items:
        text = yaml.dump(
            [item], Dumper=Plain, allow_unicode=True, sort_keys=False, default_flow_style=False, width=10**9
        )
        yield head + text
        head = ""
    if head:
        yield "items: []\n"
