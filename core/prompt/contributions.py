"""What host hooks add to a prompt: injections into `context` and recon items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..context.context import OWN_KEYS
from ..context.incoming import get
from ..shapes import SOURCES, Hit
from ..text.folding import clean, collapsed
from ..text.hits import known_name
from ..text.host_values import as_text, text_at
from ..text.times import parse_time

DROPPED_INJECTIONS = frozenset(
    {"latest_diary_entries", "diary_entries", "diary", "chat_history", "current_chat_history"}
)
"""Injections that would repeat what the prompt holds in its own sections."""

PERSONA_KEY = "persona"

_SHOWN_CHARS = 64


def merge_injections(context: Mapping[str, Any], injections: Any) -> tuple[dict[str, Any], str, tuple[str, ...]]:
    """Return `(context, persona text, notes)`: the context with the host's keys after its own."""
    merged, persona, notes = dict(context), "", []
    if injections is not None and not isinstance(injections, Mapping):
        notes.append(f"injections are of type {type(injections).__name__} and are left out")
    for key, value in injections.items() if isinstance(injections, Mapping) else ():
        shown = (
            f"injection {clean(key)[:_SHOWN_CHARS]!r}" if isinstance(key, str) else "injection without a text as key"
        )
        if key == PERSONA_KEY:
            text, note = as_text(value)
            persona = text or ""
            notes += [f"{shown} {note}"] if note else []
        elif key in DROPPED_INJECTIONS:
            notes.append(f"{shown} repeats a section of the prompt and is left out")
        elif key in OWN_KEYS:
            notes.append(f"{shown} has the name of a section and is left out")
        elif key in merged:
            notes.append(f"{shown} is there already and is left out")
        elif not _is_empty(value):
            merged[key] = value
    return merged, persona, tuple(notes)


def _is_empty(value: Any) -> bool:
    """Return whether there is nothing in it; 0 and False are something."""
    return value is None or (isinstance(value, (str, bytes, Mapping, list, tuple, set, frozenset)) and not value)


def recon_parts(
    contributions: Any,
) -> tuple[list[Hit], dict[str, Any], list[str], tuple[str, ...]]:
    """Return `(memories, recon, instruction texts, notes)` of what the hook `recon` gave."""
    if contributions is None:
        return [], {}, [], ()
    if not isinstance(contributions, (list, tuple)):
        return [], {}, [], (f"recon contributions are of type {type(contributions).__name__} and are left out",)
    memories: list[Hit] = []
    lists: dict[str, list[str]] = {"contribution": [], "snippet": [], "instruction": []}
    labels: dict[str, str] = {}
    skipped = 0
    for item in contributions:
        kind = text_at(item, "type")
        text = text_at(item, "text", "content", kind)
        kind = _tone(item) if kind == "tone" else kind
        if text and kind == "memory":
            memories.append(_memory(item, text))
        elif text and kind in lists:
            lists[kind].append(text)
        elif text and kind in ("language", "message_tone", "conversation_tone"):
            labels.setdefault(kind, text)
        else:
            skipped += 1
    recon: dict[str, Any] = {"contributions": lists["contribution"], "snippets": lists["snippet"]}
    recon |= {name: labels.get(name) for name in ("language", "message_tone", "conversation_tone")}
    notes = (f"recon: {skipped} of {len(contributions)} items have no text or no known type",) if skipped else ()
    given = {name: value for name, value in recon.items() if value}
    return append_memories((), memories)[0], given, lists["instruction"], notes


def _tone(item: Any) -> str:
    return "conversation_tone" if text_at(item, "of") == "conversation" else "message_tone"


def _memory(item: Any, text: str) -> Hit:
    """Return a recon memory in the form of a hit; without a row its id is 0."""
    source, row, moment = get(item, "source"), get(item, "id"), parse_time(get(item, "timestamp"))
    tags, speaker = get(item, "tags"), known_name(text_at(item, "speaker"))
    made: Hit = {
        "source": source if source in SOURCES else "memories",
        "id": row if isinstance(row, int) and not isinstance(row, bool) else 0,
        "timestamp": moment.isoformat() if moment else "",
        "snippet": text,
        "tags": [clean(tag) for tag in tags if isinstance(tag, str)] if isinstance(tags, (list, tuple)) else [],
    }
    return {**made, "speaker": speaker} if speaker else made


def append_memories(hits: Iterable[Hit], more: Iterable[Hit]) -> tuple[list[Hit], int]:
    """Return `(hits, dropped)`: the hits as they are, then those of `more` whose text is not there yet."""
    kept = list(hits)
    seen = {collapsed(hit["snippet"]) for hit in kept}
    dropped = 0
    for hit in more:
        text = collapsed(hit["snippet"])
        if text in seen:
            dropped += 1
            continue
        seen.add(text)
        kept.append(hit)
    return kept, dropped
