"""A prompt taken apart for cutting: the fixed order of removals, and the size after each of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..text.sizes import Dumps, Measure, size
from .rules_shortening import least_size, shorten

CURRENT, RECENT, MEMORIES = "history_current_chat", "history_recent", "memories"
KEPT_RECENT = 3
"""Lines of other conversations that stay until everything else has given some of its items."""
NEVER_WHOLE = frozenset({"persona", CURRENT, RECENT})
"""Keys of `context` that go only with `context` itself."""
WHOLE_CONTEXT = "context"
SHARE = 4
"""One item takes at most one part in so many of the room for `context`; a larger one is shortened to that."""


Step = tuple[str | None, int | None]
"""One removal: the key of `context`, None for `context` itself; and the place in the list as it was before any removal,
None where the key goes whole. A plain tuple, since a prompt can have as many as it has items."""
Place = tuple[str, int | None]
"""Where an item stands: key and place in its list; None where the key's value is the item."""


def prompt_order(
    prompt: Mapping[str, Any], rank: Sequence[tuple[str, Any]] | None = None, history_floor: int = 6
) -> list[Step]:
    """Return every removal a prompt allows, in the order they are made."""
    context = context_of(prompt)
    recent, current = range(len(_items(context, RECENT))), range(len(_items(context, CURRENT)))
    memories = worst_first(_items(context, MEMORIES), rank)
    low, floor = max(len(recent) - KEPT_RECENT, 0), max(len(current) - max(history_floor, 1), 0)
    half = len(memories) // 2
    others = [name for name in context if name not in NEVER_WHOLE and name != MEMORIES]
    steps: list[Step] = [(RECENT, n) for n in recent[:low]]
    steps += [(CURRENT, n) for n in current[:floor]]
    steps += [(MEMORIES, n) for n in memories[:half]]
    steps += [(name, n) for name in reversed(others) for n in range(len(_items(context, name)) - 1, 0, -1)]
    steps += [(RECENT, n) for n in recent[low:]]
    steps += [(CURRENT, n) for n in current[floor:-1]]
    steps += [(MEMORIES, n) for n in memories[half:]]
    steps += [(name, None) for name in context if name not in NEVER_WHOLE]
    return [*steps, (None, None)] if WHOLE_CONTEXT in prompt else steps


def transmission_order(prompt: Mapping[str, Any]) -> list[Step]:
    """Return the removals made before a text is sent: memories, recent lines, lines of this chat down to one."""
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
    """Return positions of memories, lowest ranked first; those without a rank before all, the last in the
    list first.
    """
    places: dict[tuple[str, str], int] = {}
    for place, (source, own_id) in enumerate(rank or ()):
        places.setdefault((str(source), str(own_id)), place)

    def order(index: int) -> tuple[int, int]:
        item = memories[index]
        key = (str(item.get("source")), str(item.get("id"))) if isinstance(item, dict) else ("", "")
        return (-places.get(key, len(rank or ())), -index)

    return sorted(range(len(memories)), key=order)


@dataclass(frozen=True, slots=True)
class Choice:
    """What of a prompt is kept."""

    removed: int = 0
    """The first so many removals are made."""
    back: Collection[Step] = ()
    """Of these, the ones that were taken back, since there is room for them."""
    shorter: Mapping[Place, Any] = field(default_factory=dict)
    """Items that stand there shortened."""


class Plan:
    """One prompt, its removals, and how to build and measure what a `Choice` keeps of it."""

    def __init__(self, prompt: dict[str, Any], bare: dict[str, Any], steps: list[Step], dumps: Dumps | None) -> None:
        """Take the prompt apart."""
        self.prompt: dict[str, Any]
        self.bare: dict[str, Any]
        self.steps: list[Step]
        self.dumps: Dumps | None
        self.prompt, self.bare, self.steps, self.dumps = prompt, bare, steps, dumps
        self.context: Mapping[str, Any] = context_of(bare)
        self.measure: Measure = Measure(dumps)
        self.is_exact: bool = self.measure.additive
        """Whether sizes add up; where they do not, they are estimates and a whole is written to be measured."""
        if not self.is_exact:
            self.measure = Measure(None)
        self.items: dict[str, list[int]] = {}
        """Sizes of the items of each list of `context`."""
        self.values: dict[str, int] = {}
        """Size of each other value of `context`."""
        self.keys: dict[str, int] = {}
        """What a member of `context` takes beside its items or its value, without the comma between members."""
        self.rest: int = 0
        """Size of the prompt without `context`."""
        self.frame: int = 0
        """Size of the prompt with an empty `context`; all of it where that is no object."""
        self.whole: int = 0
        """Size of the whole prompt."""
        self._shortened: dict[tuple[Place, int], Any] = {}
        self._removed: dict[tuple[int, tuple[Step, ...]], tuple[dict[str, set[int]], set[str]]] = {}
        self._take_apart()

    def _take_apart(self) -> None:
        measure, comma = self.measure, self.measure.comma
        others = [measure.member(name, value) for name, value in self.bare.items() if name != WHOLE_CONTEXT]
        self.rest = self.frame = self.whole = measure.braces + self._joined(others)
        if WHOLE_CONTEXT not in self.bare:
            return
        beside = comma if others else 0
        if not isinstance(self.bare[WHOLE_CONTEXT], dict):
            self.frame = self.whole = self.rest + beside + measure.member(WHOLE_CONTEXT, self.bare[WHOLE_CONTEXT])
            return
        self.frame = self.rest + beside + measure.member(WHOLE_CONTEXT, {})
        members = []
        for name, value in self.context.items():
            self.keys[name] = measure.overhead(name)
            if isinstance(value, (list, tuple)):
                self.items[name] = sizes = [measure.value(item) for item in value]
                self.keys[name] += measure.brackets
                members.append(self.keys[name] + self._joined(sizes))
            else:
                self.values[name] = measure.value(value)
                members.append(self.keys[name] + self.values[name])
        self.whole = self.frame + self._joined(members)

    def _joined(self, sizes: list[int]) -> int:
        return sum(sizes) + self.measure.comma * max(0, len(sizes) - 1)

    def size_of(self, place: Place) -> int:
        """Return the size of an item as it is in the prompt."""
        name, n = place
        return self.values[name] if n is None else self.items[name][n]

    # Shortening

    def large(self, room: int) -> list[Place]:
        """Return the items that are larger than their share of the room; the persona is none."""
        if room <= 0:
            return []
        places: list[Place] = [(name, None) for name, size in self.values.items() if size * SHARE > room]
        for name, sizes in self.items.items():
            if sizes and max(sizes) * SHARE > room:
                places += [(name, n) for n, size in enumerate(sizes) if size * SHARE > room]
        return [place for place in places if place[0] != "persona"]

    def context_places(self, places: Collection[Place]) -> list[Place]:
        """Return the places in the order of the prompt."""
        order = {name: n for n, name in enumerate(self.context)}
        return sorted(places, key=lambda place: (order[place[0]], place[1] or 0))

    def can_shorten(self, place: Place, room: int) -> bool:
        """Return whether an item can be shortened to its share of the room."""
        item = self._item(place, self.bare)
        if item is not self._item(place, self.prompt):  # holds a file
            return False
        return least_size(item, self.size_of(place), self.measure.value) * SHARE <= room

    def shortened(self, place: Place, most: int) -> Any:
        """Return an item shortened to a size, None where that cannot be."""
        key = (place, most)
        if key not in self._shortened:
            self._shortened[key] = shorten(self._item(place, self.prompt), most, self.measure.value)
        return self._shortened[key]

    def _item(self, place: Place, prompt: Mapping[str, Any]) -> Any:
        name, n = place
        value = prompt[WHOLE_CONTEXT][name]
        return value if n is None else value[n]

    # Sizes

    def sizes(self, room: int = 0, large: Iterable[Place] = ()) -> list[int]:
        """Return `SHARE` times the size after 0, 1, 2 ... removals, the large items counted by their share
        of the room.
        """
        comma = self.measure.comma
        spared: dict[Place, int] = {place: self.size_of(place) * SHARE - room for place in large}
        total = self.whole * SHARE - sum(spared.values())
        made = [total]
        left = {name: len(items) for name, items in self.items.items()}
        held = {name: self.keys[name] + self.values.get(name, 0) for name in self.keys}
        for listed, items in self.items.items():
            held[listed] += self._joined(items)
        members = len(held)
        for step in self.steps:
            name, n = step
            if name is None:
                total = self.rest * SHARE
            elif n is None:
                members -= 1
                total -= (held[name] + (comma if members else 0)) * SHARE
                total += sum(each for place, each in spared.items() if place[0] == name)
            else:
                gone = self.items[name][n] + (comma if left[name] > 1 else 0)
                left[name] -= 1
                held[name] -= gone
                total -= gone * SHARE
                if spared:
                    total += spared.pop((name, n), 0)
            made.append(total)
        return made

    def size_after(self, choice: Choice) -> int:
        """Return the size of the bare prompt with what is kept."""
        if not self.is_exact:
            return size(self.build(choice, self.bare), self.dumps)
        if self.is_bare(choice):
            return self.rest
        if not self.keys:
            return self.frame
        sizes = self.section_sizes(choice)
        lists = self.measure.brackets
        return self.frame + self._joined(
            [self.keys[name] - (lists if name in self.items else 0) + each for name, each in sizes.items()]
        )

    def section_sizes(self, choice: Choice) -> dict[str, int]:
        """Return the size of the value of each key of `context` that is left."""
        if not self.is_exact:
            left = context_of(self.build(choice, self.bare))
            return {name: size(value, self.dumps) for name, value in left.items()}
        if self.is_bare(choice):
            return {}
        lost, whole = self.removed_places(choice)
        made = {name: self.values.get(name, 0) for name in self.context if name not in whole}
        for name, items in self.items.items():
            if name not in whole:
                gone = lost.get(name)
                left_sizes = items if not gone else [each for n, each in enumerate(items) if n not in gone]
                made[name] = self.measure.brackets + self._joined(left_sizes)
        for place, item in choice.shorter.items():
            made[place[0]] += self.measure.value(item) - self.size_of(place)
        return made

    def is_bare(self, choice: Choice) -> bool:
        """Return whether `context` is gone."""
        return WHOLE_CONTEXT not in self.bare or (choice.removed > 0 and self.steps[choice.removed - 1] == (None, None))

    # Building

    def removed_places(self, choice: Choice) -> tuple[dict[str, set[int]], set[str]]:
        """Return the places of each list that are gone, and the keys that are gone whole; not to be changed."""
        key = (choice.removed, tuple(choice.back))
        if key not in self._removed:
            self._removed[key] = self._find_removed(choice)
        return self._removed[key]

    def _find_removed(self, choice: Choice) -> tuple[dict[str, set[int]], set[str]]:
        back = set(choice.back)
        places: dict[str, set[int]] = {}
        whole: set[str] = set()
        for step in self.steps[: choice.removed]:
            name, n = step
            if name is None or step in back:
                continue
            if n is None:
                whole.add(name)
            else:
                places.setdefault(name, set()).add(n)
        for name, n in back if whole else ():
            if name is not None and n is not None and name in whole:
                # The key came back for this item alone: what went with the key stays away.
                whole.discard(name)
                places[name] = {m for m in range(len(self.items[name])) if (name, m) not in back}
        return places, whole

    def build(self, choice: Choice, prompt: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return a new dict of what is kept, made from `prompt` or from the plan's own."""
        prompt = self.prompt if prompt is None else prompt
        if self.is_bare(choice):
            return {name: value for name, value in prompt.items() if name != WHOLE_CONTEXT}
        if not isinstance(prompt.get(WHOLE_CONTEXT), dict):
            return dict(prompt)
        places, whole = self.removed_places(choice)
        changed = {name for name, _ in choice.shorter}
        context: dict[str, Any] = {}
        for name, value in prompt[WHOLE_CONTEXT].items():
            if name in whole:
                continue
            if name not in places and name not in changed:
                context[name] = value
            elif isinstance(value, (list, tuple)):
                lost, short = places.get(name, ()), choice.shorter
                context[name] = [short.get((name, n), item) for n, item in enumerate(value) if n not in lost]
            else:
                context[name] = choice.shorter.get((name, None), value)
        return {name: context if name == WHOLE_CONTEXT else value for name, value in prompt.items()}


def refill(plan: Plan, choice: Choice, room_left: int, share: int, large: Collection[Place]) -> list[Step]:
    """Return removals that can be taken back, the last one first, since what they took fits whole."""
    comma = plan.measure.comma
    gone, absent = plan.removed_places(choice)
    absent = set(absent)
    counts = {name: len(items) - len(gone.get(name, ())) for name, items in plan.items.items()}
    members = len(plan.context) - len(absent)
    back: list[Step] = []

    def cost(place: Place) -> int:
        return min(plan.size_of(place), share) if place in large else plan.size_of(place)

    lists = {name for name, n in plan.steps[: choice.removed] if n is not None}
    smallest = min((min(plan.items[name]) for name in lists if name is not None), default=0)
    removed = plan.steps[: choice.removed][::-1]
    emptied = [step for step in removed if step[1] is None and step[0] in plan.items and not counts[step[0]]]
    for step in [*emptied, *(step for step in removed if step not in emptied)] if emptied else removed:
        name, n = step
        if name is None:
            continue
        if room_left < smallest and name not in absent:
            break
        key = (plan.keys[name] + (comma if members else 0)) if name in absent else 0
        if n is not None:
            there = counts[name] if name not in absent else 0
            needed = cost((name, n)) + (comma if there else 0)
        elif name in plan.items:
            left = [m for m in range(len(plan.items[name])) if m not in gone.get(name, ())]
            needed = sum(cost((name, m)) for m in left) + comma * max(0, len(left) - 1)
        else:
            needed = cost((name, None))
        if needed + key > room_left:
            continue
        room_left -= needed + key
        if name in absent:
            absent.discard(name)
            members += 1
            counts[name] = counts.get(name, 0) if n is None else 0
        if n is not None:
            counts[name] += 1
        back.append(step)
    return back
