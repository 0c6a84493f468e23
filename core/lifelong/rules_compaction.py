"""Many old items that become one: which are taken, and the reply of a model read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ..memories.rules import importance_of
from ..text.folding import clean
from ..text.refusals import judge_refusal
from ..text.replies import read_object


@dataclass(frozen=True, slots=True)
class Old:
    """An item that may be compacted."""

    id: int
    audience_id: int
    participant: str | None
    local_only: int
    tags: tuple[str, ...]
    text: str
    kind: str = ""
    importance: float = 0.5
    digest: bytes = b""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The items of one compaction."""

    tag: str
    items: tuple[Old, ...]


def choose_sources(items: Sequence[Old], most: int) -> Chosen | None:
    """Return the items that become one: of the tag with the oldest item, of one audience and one participant."""
    groups: dict[tuple[str, int, str | None, int], list[Old]] = {}
    for item in items:
        for tag in item.tags:
            groups.setdefault((tag, item.audience_id, item.participant, item.local_only), []).append(item)
    for (tag, *_), found in groups.items():  # in the order of their oldest items
        if len(found) > 1:
            return Chosen(tag, tuple(found[:most]))
    return None


@dataclass(frozen=True, slots=True)
class Summed:
    """What a model made of many items."""

    summary: str
    tags: tuple[str, ...]
    feeling: str
    sources: tuple[int, ...]
    confidence: float | None


def read_summary(reply: str, allowed: Collection[int], *, patterns: Sequence[str]) -> Summed | str:
    """Return what a model made of many items, or why its answer is of no use."""
    answer = read_object(reply, ("summary",))
    if answer is None:
        return "unreadable"
    summary = answer.get("summary")
    text = clean(summary).strip() if isinstance(summary, str) else ""
    refused = judge_refusal(text, "", patterns=patterns, min_ratio=0)
    if refused:
        return refused
    listed = answer.get("source_ids")
    ids = [_id(each) for each in listed] if isinstance(listed, list) else []
    if not ids or any(each not in allowed for each in ids):
        return "source_ids"
    tags = answer.get("tags")
    confidence = answer.get("confidence")
    feeling = answer.get("feeling")
    return Summed(
        text,
        tuple(tag for tag in tags if isinstance(tag, str) and tag.strip()) if isinstance(tags, list) else (),
        feeling.strip() if isinstance(feeling, str) else "",
        tuple(dict.fromkeys(each for each in ids if each is not None)),
        None if confidence is None else importance_of(confidence, 0.0),
    )


def _id(value: object) -> int | None:
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
