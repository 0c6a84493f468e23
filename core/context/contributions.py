"""Items that host hooks add to the history lists, the thoughts or keys of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..shapes import HistoryContribution, HistoryEntry, LeftOut
from ..text.folding import clean
from ..text.host_values import get, text_at
from .context import OWN_KEYS
from .live import read_message
from .merge import entry_id
from .plan import RECENT, is_on

THOUGHTS = "thoughts"

REFUSED_TARGETS = (OWN_KEYS - {RECENT, THOUGHTS}) | {
    "persona",
    "latest_diary_entries",
    "diary_entries",
    "diary",
    "chat_history",
    "current_chat_history",
}
"""Context keys no hook may fill: those of the prompt itself, and those that would repeat one of its sections."""


@dataclass(frozen=True, slots=True)
class ContributedText(HistoryEntry):
    """A text of a hook: shown as one line as it is, without a sender."""


@dataclass(frozen=True, slots=True)
class Arranged:
    """The items of all contributions that are on, by the key they go to."""

    entries: dict[str, list[HistoryEntry]] = field(default_factory=dict)
    """Context key to items, in order of contribution; texts are `ContributedText`."""
    found: dict[str, int] = field(default_factory=dict)
    """Context key to number of items handed in, those left out included."""
    left_out: list[LeftOut] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def _whole(value: Any) -> int | None:
    """Return a whole number, None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _read(given: Any) -> HistoryContribution | None:
    """Return what a hook gave as a contribution with sound fields, None when it has no entries to iterate."""
    items = get(given, "entries")
    if isinstance(items, (str, Mapping)):
        items = (items,)
    try:
        entries = tuple(items)
    except Exception:  # noqa: BLE001 - iterating a hook's object may raise anything; it is then none
        return None
    return HistoryContribution(
        name=text_at(given, "name"),
        entries=entries,
        priority=_whole(get(given, "priority")) or 0,
        enabled_var=text_at(given, "enabled_var") or None,
        max_items=_whole(get(given, "max_items")),
        target=text_at(given, "target") or None,
    )


def read_contributions(given: Any) -> tuple[list[HistoryContribution], list[str]]:
    """Return the contributions among what hooks gave, highest priority first, then by name, and notes on the rest."""
    if given is None:
        return [], []
    try:
        handed = [given] if isinstance(given, (HistoryContribution, Mapping)) else list(given)
    except Exception as error:  # noqa: BLE001 - a hook's object may raise anything when it is iterated
        return [], [f"history_contributions gave no list of contributions ({type(error).__name__})"]
    read = [(item, _read(item)) for item in handed]
    notes = [f"a contribution of type {type(item).__name__} could not be read" for item, made in read if made is None]
    return sorted((made for _, made in read if made is not None), key=lambda made: (-made.priority, made.name)), notes


def _item(value: Any, order: int) -> HistoryEntry | None:
    """Return one item of a contribution as an entry, None when it is neither a text nor a message."""
    if isinstance(value, str):
        return ContributedText(conversation="", text=clean(value), order=order)
    return read_message(value, text_at(value, "interface_path", "conversation"), order)


def arrange(contributions: Any, flags: Mapping[str, object]) -> Arranged:
    """Return the items of all contributions by the key they go to."""
    made = Arranged()
    read, notes = read_contributions(contributions)
    made.notes.extend(notes)
    order = 0
    for contribution in read:
        if contribution.enabled_var is not None and not is_on(flags.get(contribution.enabled_var, True)):
            continue
        target = contribution.target or (THOUGHTS if contribution.name == THOUGHTS else RECENT)
        if target in REFUSED_TARGETS:
            made.notes.append(f"a contribution to {target} was not taken: the key is not a hook's to fill")
            continue
        order = _add(made, target, contribution, order)
    return made


def _add(made: Arranged, target: str, contribution: HistoryContribution, order: int) -> int:
    """Add the items of one contribution to its target; return the position of the next item."""
    items = contribution.entries
    entries = [_item(value, order + place) for place, value in enumerate(items)]
    first = 0 if contribution.max_items is None else len(items) - contribution.max_items
    made.found[target] = made.found.get(target, 0) + len(items)
    for place, entry in enumerate(entries):
        if entry is None:
            made.left_out.append(LeftOut(target, "invalid"))
        elif place < first:
            made.left_out.append(LeftOut(target, "limit", entry_id(entry)))
        else:
            made.entries.setdefault(target, []).append(entry)
    return order + len(items)
