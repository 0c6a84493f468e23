"""A prompt taken apart for cutting: the fixed order of removals and the size after each of them.

Each item and each other part is written exactly once; everything else is arithmetic over commas and brackets.
Called by `prompt.rules_reduction` alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..text.sizes import Dumps, Measure, size

KEPT_LINES = {"history_recent": 3, "history_current_chat": 1}
"""Lines that stay in each history list until `context` goes whole, in the order the lists are cut."""
NEVER_WHOLE = frozenset({"persona", *KEPT_LINES})
"""Keys of `context` that go only with `context` itself."""
WHOLE_CONTEXT = "context"


Step = tuple[str | None, int | None]
"""One removal: the key of `context`, None for `context` itself; and the place in the list as it was before any removal,
None where the key goes whole. A plain tuple, since a prompt can have as many as it has items."""


def prompt_order(prompt: Mapping[str, Any], rank: Sequence[tuple[str, Any]] | None = None) -> list[Step]:
    """Return every removal a prompt allows, in the order they are made.

    Args:
        prompt: the prompt.
        rank: `(source, id)` of the memories, best first; None: in the order of the list.

    >>> steps = prompt_order({"context": {"history_recent": list("abcde"), "thoughts": []}})
    >>> steps
    [('history_recent', 0), ('history_recent', 1), ('thoughts', None), (None, None)]
    """
    context = context_of(prompt)
    steps: list[Step] = []
    for name, kept in KEPT_LINES.items():
        steps += [(name, n) for n in range(len(_items(context, name)) - kept)]
    steps += [("memories", n) for n in worst_first(_items(context, "memories"), rank)]
    steps += [(name, None) for name in context if name not in NEVER_WHOLE]
    return [*steps, (None, None)] if WHOLE_CONTEXT in prompt else steps


def transmission_order(prompt: Mapping[str, Any]) -> list[Step]:
    """Return the removals made before a text is sent: memories, recent lines, lines of this chat down to one.

    >>> prompt = {"context": {"history_current_chat": ["a", "b"], "memories": [1]}}
    >>> transmission_order(prompt)
    [('memories', 0), ('history_current_chat', 0)]
    """
    context = context_of(prompt)
    steps: list[Step] = [("memories", n) for n in worst_first(_items(context, "memories"), None)]
    steps += [("history_recent", n) for n in range(len(_items(context, "history_recent")))]
    return steps + [("history_current_chat", n) for n in range(len(_items(context, "history_current_chat")) - 1)]


def context_of(prompt: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the prompt's `context`, empty where there is none or it is no object."""
    context = prompt.get(WHOLE_CONTEXT)
    return context if isinstance(context, dict) else {}


def _items(context: Mapping[str, Any], name: str) -> Sequence[Any]:
    value = context.get(name)
    return value if isinstance(value, (list, tuple)) else ()


def worst_first(memories: Sequence[Any], rank: Sequence[tuple[str, Any]] | None) -> list[int]:
    """Return positions of memories, lowest ranked first; those without a rank before all, the last in the list first.

    >>> worst_first([{"source": "memories", "id": n} for n in (1, 2, 3)], [("memories", n) for n in (2, 3, 1)])
    [0, 2, 1]
    """
    places: dict[tuple[str, str], int] = {}
    for place, (source, own_id) in enumerate(rank or ()):
        places.setdefault((str(source), str(own_id)), place)

    def order(index: int) -> tuple[int, int]:
        item = memories[index]
        key = (str(item.get("source")), str(item.get("id"))) if isinstance(item, dict) else ("", "")
        return (-places.get(key, len(rank or ())), -index)

    return sorted(range(len(memories)), key=order)


class Plan:
    """One prompt, its removals, and how to build and measure it after the first so many of them."""

    def __init__(self, prompt: dict[str, Any], bare: dict[str, Any], steps: list[Step], dumps: Dumps | None) -> None:
        """Take the prompt apart.

        Args:
            prompt: what is built from.
            bare: what is measured: the same without base64 text.
            steps: the removals in their order.
            dumps: another way of sending.
        """
        self.prompt: dict[str, Any]
        self.bare: dict[str, Any]
        self.steps: list[Step]
        self.dumps: Dumps | None
        self.prompt, self.bare, self.steps, self.dumps = prompt, bare, steps, dumps
        self.context: Mapping[str, Any] = context_of(bare)
        self.measure: Measure = Measure(dumps)
        self.items: dict[str, list[int]] = {}
        """Sizes of the items of each list that is cut item by item."""
        self.members: dict[str, int] = {}
        """Size of each member of `context`, whole."""
        self.sizes: list[int] | None = self._sizes() if self.measure.additive else None
        """Size after 0, 1, 2 ... removals; None where sizes do not add up and a whole is written to be measured."""

    def _sizes(self) -> list[int]:
        measure = self.measure
        others = [measure.member(name, value) for name, value in self.bare.items() if name != WHOLE_CONTEXT]
        rest = measure.braces + self._joined(others)
        if WHOLE_CONTEXT not in self.bare:
            return [rest]
        lists = {section for section, place in self.steps if section is not None and place is not None}
        for name, value in self.context.items():
            if name in lists:
                self.items[name] = [measure.value(item) for item in value]
                self.members[name] = measure.member(name, []) + self._joined(self.items[name])
            else:
                self.members[name] = measure.member(name, value)
        if isinstance(self.bare[WHOLE_CONTEXT], dict):
            whole = measure.member(WHOLE_CONTEXT, {}) + self._joined(list(self.members.values()))
        else:
            whole = measure.member(WHOLE_CONTEXT, self.bare[WHOLE_CONTEXT])
        return self._falling(rest, rest + whole + (measure.comma if others else 0))

    def _joined(self, sizes: list[int]) -> int:
        return sum(sizes) + self.measure.comma * max(0, len(sizes) - 1)

    def _falling(self, rest: int, size: int) -> list[int]:
        """Return the size after each removal, from `size` with none down to `rest` without `context`."""
        comma, sizes = self.measure.comma, [size]
        left = {name: len(items) for name, items in self.items.items()}
        members = dict(self.members)
        for section, index in self.steps:
            if section is None:
                size = rest
            elif index is None:
                size -= members.pop(section) + (comma if members else 0)
            else:
                gone = self.items[section][index] + (comma if left[section] > 1 else 0)
                left[section] -= 1
                members[section] -= gone
                size -= gone
            sizes.append(size)
        return sizes

    def build(self, removed: int, prompt: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return a new dict without the first `removed` removals, made from `prompt` or from the plan's own."""
        prompt = self.prompt if prompt is None else prompt
        steps = self.steps[:removed]
        if steps and steps[-1][0] is None:
            return {name: value for name, value in prompt.items() if name != WHOLE_CONTEXT}
        if not isinstance(prompt.get(WHOLE_CONTEXT), dict):
            return dict(prompt)
        whole = {section for section, index in steps if index is None}
        lost: dict[str | None, set[int]] = {}
        for section, index in steps:
            if index is not None:
                lost.setdefault(section, set()).add(index)
        context = {
            name: [item for index, item in enumerate(value) if index not in lost[name]] if name in lost else value
            for name, value in prompt[WHOLE_CONTEXT].items()
            if name not in whole
        }
        return {name: context if name == WHOLE_CONTEXT else value for name, value in prompt.items()}

    def section_sizes(self, removed: int) -> dict[str, int]:
        """Return the size of the value of each key of `context` that is left after `removed` removals."""
        if self.sizes is None:
            left = context_of(self.build(removed, self.bare))
            return {name: size(value, self.dumps) for name, value in left.items()}
        steps = self.steps[:removed]
        if steps and steps[-1][0] is None:
            return {}
        whole = {section for section, place in steps if place is None}
        names = [name for name in self.context if name not in whole]
        sizes = {name: self.members[name] - self.measure.overhead(name) for name in names}
        lost: dict[str, list[int]] = {}
        for section, place in steps:
            if place is not None and section in sizes:
                lost.setdefault(section, []).append(self.items[section][place])
        for name, gone in lost.items():
            commas = min(len(gone), len(self.items[name]) - 1)
            sizes[name] -= sum(gone) + self.measure.comma * commas
        return sizes
