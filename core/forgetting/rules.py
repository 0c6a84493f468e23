"""Decides how rows of other people change when a person is forgotten."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..access.rules import split_key
from ..text.folding import fold
from ..text.words import MIN_CHARS, STOP_WORD_LANGUAGES, stop_words

REPLIES = ("reply_to", "reply_to_message")
"""Metadata keys whose value describes the message that a message replies to."""
_IDS = ("sender_id", "id")
_NAMES = ("sender_name", "username", "full_name", "name")
_MESSAGE_IDS = ("message_id", "id")
_QUOTES = ("text", "message_text", "content", "caption")
_ALPHABETIC = re.compile(r"[a-z0-9_\u00c0-\u052f]")
"""A letter of a script with spaces between words; in other scripts a name can be inside a longer word."""


@dataclass(frozen=True)
class Person:
    keys: frozenset[str]
    """Participant keys of all linked identities of the person."""
    names: frozenset[str] = frozenset()
    """Names of these identities, as stored in rows."""
    is_known: bool = True
    """Whether any row has one of the keys; if not, the id in a key may be the name of somebody else."""

    @cached_property
    def folded(self) -> frozenset[str]:
        return frozenset(filter(None, (fold(name).strip() for name in self.names)))

    def is_id(self, value: object, interface: str) -> bool:
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            return False
        is_whole = "/" in str(value) or not interface
        return f"{interface}/{value}" in self.keys or (is_whole and str(value) in self.keys)

    def is_name(self, value: object) -> bool:
        return isinstance(value, str) and fold(value).strip().removeprefix("@") in self.folded

    def is_in(self, text: str | None) -> bool:
        """Return whether a text has the person's name, a part of it, or a key; as whole words in alphabetic scripts."""
        if not text:
            return False
        low = fold(text)
        parts = {part for name in self.folded for n, part in enumerate(name.split()) if n == 0 or _is_telling(part)}
        return any(_stands_in(each, low) for each in (*self.folded, *parts, *map(fold, self.keys)))


def _is_telling(part: str) -> bool:  # `quill`, not `von`
    return len(part) >= MIN_CHARS and not any(part in stop_words(code) for code in STOP_WORD_LANGUAGES)


def _stands_in(name: str, text: str) -> bool:
    if name not in text:
        return False
    before = r"(?<![^\W_])" if _ALPHABETIC.match(name[0]) else ""
    after = r"(?![^\W_])" if _ALPHABETIC.match(name[-1]) else ""
    return re.search(before + re.escape(name) + after, text) is not None


def left_involved(involved: Sequence[Any], interfaces: Collection[str], person: Person, *, by_name: bool) -> list[Any]:
    """Return a diary entry's `involved` without the person's keys; with `by_name`, also without names and ids alone."""

    def is_person(each: Any) -> bool:
        if "/" in str(each) and person.is_id(each, ""):
            return True
        return by_name and (person.is_name(each) or any(person.is_id(each, interface) for interface in interfaces))

    return [each for each in involved if not is_person(each)]


def without_reply(
    metadata: Mapping[str, Any], conversation: str, person: Person, message_ids: Collection[str], texts: Collection[str]
) -> dict[str, Any] | None:
    """Return a message's metadata without notes that it replies to the person; None if it has no such note."""
    interface, noted = split_key(conversation)[0], [name for name in REPLIES if name in metadata]
    answers = [name for name in noted if _is_of(metadata[name], interface, person, message_ids, texts)]
    return {key: value for key, value in metadata.items() if key not in answers} if answers else None


def _is_of(note: Any, interface: str, person: Person, message_ids: Collection[str], texts: Collection[str]) -> bool:
    if not isinstance(note, Mapping):
        return isinstance(note, (str, int)) and not isinstance(note, bool) and str(note) in message_ids
    user = note.get("from_user")
    who: list[Mapping[str, Any]] = [note, *([user] if isinstance(user, Mapping) else [])]
    # the `id` of the answered message is not the id of a person
    ids = [each[name] for each in who for name in _IDS if name in each and not (each is note and name == "id")]
    names = [each[name] for each in who for name in _NAMES if each.get(name)]
    if any(str(note[name]) in message_ids for name in _MESSAGE_IDS if isinstance(note.get(name), (str, int))):
        return True
    if ids or names:
        return any(person.is_id(value, interface) for value in ids) or (not ids and any(map(person.is_name, names)))
    return any(note.get(name) in texts for name in _QUOTES if isinstance(note.get(name), str) and note[name].strip())


def change_quote(
    metadata: Mapping[str, Any], message_id: str | None, old: str, new: str | None
) -> dict[str, Any] | None:
    """Return a reply's metadata with quote `old` replaced by `new`, or removed if `new` is None; None if unchanged."""
    changed = dict(metadata)
    for name in REPLIES:
        note = metadata.get(name)
        if not _quotes(note, message_id, old):
            continue
        if new is None:
            changed.pop(name)
        elif isinstance(note, Mapping):
            quoted = {key: new for key in _QUOTES if isinstance(note.get(key), str) and note[key].strip()}
            changed[name] = {**note, **quoted}
    return changed if changed != metadata else None


def _quotes(note: Any, message_id: str | None, text: str) -> bool:
    if not isinstance(note, Mapping):
        return isinstance(note, (str, int)) and not isinstance(note, bool) and str(note) == message_id
    named = [str(note[name]) for name in _MESSAGE_IDS if isinstance(note.get(name), (str, int))]
    if named and message_id is not None:
        return message_id in named
    said = [note[name].strip() for name in _QUOTES if isinstance(note.get(name), str)]
    whole = text.strip()
    cut = [quote.rstrip(".…") for quote in said if len(quote) >= 12]  # platforms cut long quotes
    return whole in filter(None, said) or any(whole.startswith(quote) for quote in cut if quote)


def without_lines(payload: Mapping[str, Any], keys: Collection[str], rows: Collection[int]) -> dict[str, Any] | None:
    """Return an operation's payload without the person's texts and row ids; None if nothing has to be removed."""
    texts, listed = payload.get("texts"), payload.get("rows")
    held = texts if isinstance(texts, list) else []
    theirs = [
        isinstance(each, Mapping) and not {each.get("participant"), each.get("triggered_by")}.isdisjoint(keys)
        for each in held
    ]
    order = listed if isinstance(listed, list) else []
    if not any(theirs) and not any(isinstance(row, int) and row in rows for row in order):
        return None
    changed = dict(payload)
    if isinstance(texts, list):
        changed["texts"] = [each for each, deleted in zip(held, theirs, strict=True) if not deleted]
    if isinstance(listed, list):
        waiting = iter(theirs)
        changed["rows"] = [row for row in order if not (next(waiting, False) if row is None else row in rows)]
    return changed


def moved_breaks(order: Sequence[int], breaks: Mapping[int, int], deleted: Collection[int]) -> dict[int, int | None]:
    """Return, by scene id, the message that gets the break of a deleted message; None if the whole scene is deleted."""
    moved: dict[int, int | None] = {}
    last: int | None = None
    for row in order:
        if row not in deleted:
            last = row
        if row in breaks:
            if row in deleted:
                moved[breaks[row]] = last
            last = None
    return moved
