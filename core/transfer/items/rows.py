"""What every reader of items gives: a row in our own words, or why there is none; and an item made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from ...errors import MessageError
from ...memories import new_item
from ...memories.new_item import NewMemory
from ...memories.rules import kind_of
from ...memories.rules_retention import expires_at
from ...scope import Scope
from ...text.folding import clean
from ...text.strict_json import make_strict
from ..fields import said_type

EMPTY = "empty"
"""Reason of an entry with a blank text."""


class Row(NamedTuple):
    """One row of a file."""

    number: int
    """1-based place in its list, or number of its line."""
    uid: str | int | None
    """What the file calls it."""
    value: Any
    """A text, or a mapping in the names of an export; None where the row is not taken."""
    reason: str = ""
    """Why it is not taken."""
    character: str | None = None
    """Of an entry of a book, whom its {{char}} names; blank is the persona."""


def uid_of(value: Any, missing: str | int | None = None) -> str | int | None:
    """Return what a file calls a row, cut to 64 characters; `missing` where it is neither a text nor a number."""
    if isinstance(value, str):
        return clean(value)[:64]
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else missing


@dataclass(frozen=True, slots=True)
class Reading:
    """What counts for every item of one import."""

    scope: Scope
    default_kind: str
    now: datetime
    session_ttl_seconds: int
    user_name: str = "the user"
    """Whom {{user}} names in entries of a book."""


_COLUMNS = (
    "response_text", "author", "source", "tags", "emotion", "intensity", "emotion_state", "timestamp", "importance",
    "pinned", "local_only", "quarantined", "source_message_ids", "expires_at",
)  # fmt: skip
_WHOSE = {
    "persona": "persona", "persona_id": "persona", "conf_uid": "persona",
    "conversation": "conversation", "conversation_key": "conversation", "history_uid": "conversation",
    "participant": "participant", "participant_key": "participant",
}  # fmt: skip
_UNUSED = frozenset({"id", "audience_id", "audience", "superseded_by", "archived_at", "created_at", "updated_at"})
_KNOWN = (
    frozenset({"text", "content", "kind", "tier", "provenance", "metadata", "label", "scope", *_COLUMNS, *_WHOSE})
    | _UNUSED
)
_TIERS = {"longterm": "long_term", "ltm": "long_term", "session": "session"}
_PROVENANCES = frozenset({"host", "model", "extract", "manual", "import"})


class NotTakenError(ValueError):
    """A row holds no item that can be stored; the text says why and holds nothing of the item."""


def read(value: Any, reading: Reading) -> NewMemory | None:
    """Return the item of a row, None where its text is blank."""
    given = {"text": value} if isinstance(value, str) else value
    if not isinstance(given, dict):
        raise NotTakenError(f"the item is {said_type(given)}, it must be a text or an object")
    text = given.get("text", given.get("content"))
    if text is None:
        raise NotTakenError("text is missing")
    if not isinstance(text, str):
        raise NotTakenError(f"text is {said_type(text)}, it must be a text")
    if not clean(text).strip():
        return None
    try:
        made = _build_item(text, given, reading)
    except (MessageError, TypeError) as error:
        raise NotTakenError(str(error).rstrip(".")) from None
    if made is None:
        return None
    notes = [others_note(given, reading)] if others_note(given, reading) else []
    if made.expires_at is not None and made.expires_at <= reading.now:
        notes.append("items that have expired already")
    return replace(made, notes=(*made.notes, *notes)) if notes else made


def _build_item(text: str, given: Mapping[str, Any], reading: Reading) -> NewMemory | None:
    kind = reading.default_kind if given.get("kind") is None else kind_name(given["kind"])
    values = {name: given[name] for name in _COLUMNS if given.get(name) not in (None, "", [])}
    if kind == "saved":
        values.setdefault("pinned", True)
    if "timestamp" not in values and given.get("created_at") is not None:
        values["timestamp"] = given["created_at"]
    provenance = given.get("provenance")
    is_ours = isinstance(provenance, str) and provenance in _PROVENANCES
    made = new_item.read(
        text,
        now=reading.now,
        kind=kind,
        tier=tier_name(given.get("tier")),  # type: ignore[arg-type]
        label=given.get("label") or given.get("scope") or "general",
        provenance=provenance if is_ours else "import",  # type: ignore[arg-type]
        metadata=_metadata(given, {} if is_ours or provenance is None else {"provenance": provenance}),
        **values,
    )
    if made is not None and made.tier == "session" and "expires_at" not in given:
        return replace(made, expires_at=expires_at(made.at, reading.session_ttl_seconds))
    return made


def kind_name(value: Any) -> str:
    """Return the kind of an item; blank is none, as captured memories have."""
    return "" if isinstance(value, str) and not value.strip() else kind_of(value)


def tier_name(value: Any) -> str:
    """Return the tier of an item; none is long term."""
    if value is None:
        return "long_term"
    form = "".join(char for char in value.lower() if char.isalpha()) if isinstance(value, str) else ""
    if form not in _TIERS:
        raise MessageError("tier is none of long_term, session", fields=("tier",))
    return _TIERS[form]


def _metadata(given: Mapping[str, Any], more: Mapping[str, Any]) -> Any:
    """Return what is kept beside the columns: the metadata of the file, and the fields nobody knows."""
    told = given.get("metadata") or None
    unknown = {str(name): value for name, value in given.items() if name not in _KNOWN and value is not None}
    unknown |= more
    if not unknown:
        return told
    kept = dict(told) if isinstance(told, dict) else {} if told is None else {"metadata": told}
    for name, value in unknown.items():
        free = name
        while free in kept and kept[free] != value:
            free += "_"
        kept[free] = value
    return make_strict(kept)[0]


def others_note(given: Mapping[str, Any], reading: Reading) -> str:
    """Return a note where the file says that the item is another's, else ""."""
    scope = reading.scope
    own = {"persona": scope.persona, "conversation": scope.conversation, "participant": scope.participant}
    other = dict.fromkeys(
        whose for name, whose in _WHOSE.items() if given.get(name) not in (None, "") and given[name] != own[whose]
    )
    if not other:
        return ""
    note = f"items of another {' and '.join(other)}: they are those of the call"
    # What was said in private must not be public without a word.
    opened = scope.conversation is None and given.get("conversation") not in (None, "")
    return f"{note}; in no conversation, so that everybody whom the persona talks with may see them" if opened else note
