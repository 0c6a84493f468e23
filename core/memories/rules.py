"""Rules for memory items: reading a host's values, kinds, importance, how long items are kept, modes."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, get_args

from ..base.hints import hint_name, shown
from ..base.wire_ids import find_whole
from ..errors import MessageError
from ..text.folding import fold
from ..text.host_values import newest_items, word_at
from ..text.remember_phrases import Phrases, is_request, says_something

KINDS = (
    "FactsAboutUser", "PastEvents", "SelfBeliefs", "Objectives", "KeyFacts", "Emotions", "Mood", "chat", "saved",
)  # fmt: skip
"""Kinds of items. chat: kept as it was said. saved: a person asked to remember it; never pruned."""
SAVED = "saved"
SAVED_MEMORY_CHARS = 4000
"""Maximum number of characters of one saved memory: a longer text would leave no room for other memories."""
DEFAULT_KIND = "KeyFacts"
INSTRUCTION = "instruction"
"""Kind of standing instructions: searchable, but created only by `add_saved_memory` and by messages."""
Tier = Literal["long_term", "session"]
"""long_term: kept. session: expires after SESSION_TTL_SEC."""
TIERS: tuple[Tier, ...] = get_args(Tier)
DEFAULT_IMPORTANCE = 0.5
MOST_IDS = 1000

_FIELDS = (
    "importance", "tier", "tags", "emotion", "intensity", "emotion_state", "timestamp", "expires_at", "pinned",
    "provenance", "source_message_ids", "author", "source", "response_text", "local_only", "label",
)  # fmt: skip
_TEXTS = ("text", "content")
_KNOWN = frozenset({*_FIELDS, *_TEXTS, "kind", "metadata", "id"})
NOT_SAID = frozenset(
    {"tool", "tool_result", "tool_call", "function", "function_call", "memory", "memories", "recap", "summary",
     "prompt", "context", "system", "developer", "narrator", "thought"}
)  # fmt: skip
"""Words by which a host marks text without a speaker: results of tools, memories and prompts."""
_FORMS = {fold(kind): kind for kind in (*KINDS, INSTRUCTION)}


def find_mark(message: Any) -> str:
    """Return the word, such as `tool`, that marks a message as a text that nobody said; "" without such a mark."""
    names = ("kind", "role", "type", "source")
    return next((word for name in names if (word := word_at(message, name)) in NOT_SAID), "")


def kind_of(value: object, *, also: Sequence[str] = ()) -> str:
    """Return the kind in KINDS or `also` that `value` names, in any letter case or in snake_case."""
    known = (*KINDS, *also)
    if isinstance(value, str):
        form = "".join(char for char in fold(value) if char.isalnum())
        if _FORMS.get(form) in known:
            return _FORMS[form]
    what = f"kind is {shown(value)}. It must be one of {', '.join(known)}.{hint_name(value, known)}"
    raise MessageError(what, fields=("kind",))


def read_entry(given: object, default_kind: str) -> dict[str, Any] | None:
    """Convert a fact to arguments of `new_item.read`, with unknown keys in `metadata`; None if the text is blank."""
    entry = {"text": given} if isinstance(given, str) or given is None else given
    if not isinstance(entry, Mapping):
        found = f"an entry is of type {type(given).__name__}"
        raise MessageError(f"{found}. It must be a text or a mapping with a text.", fields=("entries",))
    text = next((entry[name] for name in _TEXTS if entry.get(name) is not None), "")
    if not isinstance(text, str):
        raise MessageError.of_type("text", text, "a text")
    if not text.strip():
        return None
    kind, metadata = entry.get("kind"), entry.get("metadata")
    more = dict(metadata) if isinstance(metadata, Mapping) else {} if metadata is None else {"metadata": metadata}
    more |= {str(name): value for name, value in entry.items() if name not in _KNOWN}
    return {
        "content": text,
        "kind": default_kind if kind is None or kind == "" else kind_of(kind),
        "metadata": more or None,
        **{name: entry[name] for name in _FIELDS if entry.get(name) is not None},
    }


def importance_of(value: object, missing: float = DEFAULT_IMPORTANCE) -> float:
    """Return an importance within 0 to 1, or `missing` for a value that is not a number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        return missing
    return float(min(max(value, 0.0), 1.0))


def read_ids(ids: object) -> tuple[int, ...]:
    """Return the ids of a bulk change in the order given, without repetitions."""
    if isinstance(ids, (str, bytes, Mapping)) or not isinstance(ids, Iterable):
        raise MessageError.of_type("ids", ids, "a list of ids")
    wanted = tuple(dict.fromkeys(read_id(each) for each in newest_items(ids, "ids")))
    if len(wanted) > MOST_IDS:
        found = f"ids holds {len(wanted)} ids"
        raise MessageError(f"{found}. At most {MOST_IDS} are taken in one call. Send them in several.", fields=("ids",))
    return wanted


def read_id(value: object) -> int:
    if (number := find_whole(value)) is None or not 0 <= number < 2**63:
        given = f"of type {type(value).__name__}" if isinstance(value, str) else shown(value)
        raise MessageError(f"id is {given}. It must be the id of an item, a whole number.", fields=("id",))
    return number


def read_number(value: object, name: str, low: int, high: int, default: int) -> int:
    """Return a whole number within its range, or `default` for None."""
    if value is None:
        return default
    if (number := find_whole(value)) is None or not low <= number <= high:
        raise MessageError(f"{name} is {shown(value)}. It must be a whole number, {low} to {high}.", fields=(name,))
    return number


def read_share(value: object, name: str, default: float | None, high: float = 1) -> float | None:
    """Return a number from 0 to `high`, or `default` for None."""
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= high:
        raise MessageError(f"{name} is {shown(value)}. It must be a number, 0 to {high:g}.", fields=(name,))
    return float(value)


def check_choice(value: object, name: str, choices: Any) -> None:
    """Raise MessageError for a value that the Literal does not allow."""
    if value not in (known := get_args(choices)):
        raise MessageError(f"{name} is {shown(value)}. It must be one of {', '.join(known)}.", fields=(name,))


KEPT_KINDS = (SAVED, INSTRUCTION)
"""Kinds that people asked for: they are never pruned."""


PHRASE_BONUS, FULL_LENGTH_CHARS = 0.2, 400


def heuristic_importance(text: str) -> float:
    """Return the importance of a text that asks to be remembered: 0.3 for a short text, up to 1 for 320 characters."""
    return round(min(max(len(text) / FULL_LENGTH_CHARS, 0.1) + PHRASE_BONUS, 1.0), 3)


def expires_at(at: datetime, ttl_seconds: int) -> datetime:
    try:
        return at + timedelta(seconds=ttl_seconds)
    except OverflowError:
        return at


@dataclass(frozen=True, slots=True)
class Mode:
    reads: bool
    """Whether prompts show memories."""
    saves: bool
    """Whether the model, or the engine in its place, may save memories; hosts and people always may."""
    how: Literal["tool", "before", "-"]
    """When a memory is saved. tool: when the model calls the tool. before: before the model answers. -: never."""


MODES: Mapping[str, Mode] = {  # as in docs/conversations.md
    "agent": Mode(True, True, "tool"),
    "plus": Mode(True, True, "before"),
    "basic": Mode(True, False, "-"),
    "project": Mode(False, False, "-"),
}
_CALL = re.compile(r"(?<![\w@./+-])@memory(?![\w@-]|\.\w)[ \t]*[:,]?", re.IGNORECASE)


def asked_before(text: str, known: Sequence[Phrases]) -> tuple[str, Literal["@memory", "phrase"]] | None:
    """Return (text that a message asks to save, whether `@memory` or a phrase asks for it); None without a request."""
    call = _CALL.search(text)
    if call is None:
        return (text, "phrase") if is_request(text, known) and says_something(text, known) else None
    parts = (text[call.end() :].strip(), text[: call.start()].strip())
    return next((part for part in parts if says_something(part, known)), ""), "@memory"
