"""What of a prompt stays so that it fits: items are added in one order, and what does not fit is skipped.

Called for JSON prompts (`fit`) and for chat messages (`choose`, `shorten`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from ..base.limits import read_limit_argument
from ..context.lines import ChatLine
from ..shapes import LeftOut
from ..text.hits import find_match, snippet_around
from ..text.sizes import without_base64, write_json
from ..text.strict_json import make_strict

CURRENT, RECENT, MEMORIES = "history_current_chat", "history_recent", "memories"
STAYING = (CURRENT, RECENT, "thoughts", MEMORIES, "tags_placeholder")
"""Lists that stay in the prompt when they are empty."""
NEWEST_LAST = (RECENT, "thoughts", "ai_diary", "recent_conversations", "saved_memories", "standing_wishes")
"""Lists of which the last items are worth most."""
SHARE = 4
"""The newest lines of the chat take at most a quarter of the space, and so does one item."""
NEWEST_SHARE, LINE_SHARE = 16, 48
"""Where something has to go, the newest line of several takes at most this part of the space, and an older one."""
LEAST_LINE = 300
"""Characters of a line of the chat that are always worth their room, up to a quarter."""
MARK = "…"
"""Stands where a text goes on that is not shown."""
LEAST_CHARS = 24
"""A text is not cut below this: what it says would be lost."""
_WORD_CHARS = 40
"""How far back a cut looks for the end of a word; scripts without spaces have none."""
_WORTH_FILLING = 50
"""An item takes what is left with a part of its text, where that is more than one part in so many of the space."""
_COMMA = 2

Counter = Callable[[str], int]
Measure = Callable[[str], int]


class Item(NamedTuple):
    """One item that a prompt may hold."""

    section: str
    place: int | None
    """Its place in the list of the section; None where the section is one value."""
    value: Any
    size: int


class Space:
    """How much a prompt may hold: characters, tokens or both. A size counts by whichever limit is the closer."""

    def __init__(self, limit_chars: int | None, limit_tokens: int | None, counter: Counter | None) -> None:
        """Take the limits.

        Raises:
            ValueError: a limit that is no whole number of at least 1, or tokens without a counter.
        """
        self.limit_chars = read_limit_argument("max_chars", limit_chars)
        self.limit_tokens = read_limit_argument("limit_tokens", limit_tokens)
        if self.limit_tokens is not None and counter is None:
            raise ValueError("limit_tokens needs a counter. Pass counter=, or use max_chars.")
        self.counter: Counter | None = counter
        self.most: int | None = self.limit_tokens if self.limit_chars is None else self.limit_chars
        self.measure: Measure = len if self.limit_tokens is None else self._count
        """The size of a text in the unit of `most`."""

    def _count(self, text: str) -> int:
        assert self.counter is not None and self.limit_tokens is not None
        tokens = count_tokens(self.counter, text)
        if self.limit_chars is None:
            return tokens
        return max(len(text), math.ceil(tokens * self.limit_chars / self.limit_tokens))

    def holds(self, text: str) -> bool:
        """Return whether a whole text is within both limits."""
        return self.broken(text) is None

    def broken(self, text: str) -> Literal["characters", "tokens"] | None:
        """Return the unit of the limit that a whole text breaks, None where it breaks none."""
        if self.limit_chars is not None and len(text) > self.limit_chars:
            return "characters"
        if self.limit_tokens is not None and self.counter is not None:
            return "tokens" if count_tokens(self.counter, text) > self.limit_tokens else None
        return None


def count_tokens(counter: Counter, text: str) -> int:
    """Return what the counter gives for the text, a fraction rounded up."""
    count: Any = counter(text)
    if isinstance(count, bool) or not isinstance(count, (int, float)) or not math.isfinite(count) or count < 0:
        raise TypeError(f"The token counter gave {type(count).__name__}. It must give a number of tokens, 0 or more.")
    return math.ceil(count)


# Choosing


def line_share(room: int, *, is_newest: bool) -> int:
    """Return what one of several lines of the chat may take where something has to go."""
    return min(room // SHARE, max(room // (NEWEST_SHARE if is_newest else LINE_SHARE), LEAST_LINE))


def order_items(items: Sequence[Item], best: Sequence[int], space: int) -> list[int]:
    """Return the numbers of the items in the order they are added.

    The newest lines of the chat, up to a quarter; the better half of the memories, and more up to half of the space;
    one item of every other list; the other memories; older lines; the rest.

    Args:
        best: numbers of the memories, best first.
    """
    chat = [n for n, item in enumerate(items) if item.section == CURRENT][::-1]
    others: dict[str, list[int]] = {}
    for n, item in enumerate(items):
        if item.section not in (CURRENT, MEMORIES):
            others.setdefault(item.section, []).append(n)
    for section in NEWEST_LAST:
        others.get(section, []).reverse()
    newest = chat[: max(1, _count_within(items, chat, space // SHARE))]
    better = best[: max((len(best) + 1) // 2, _count_within(items, best, space // 2))]
    first = [numbers[0] for numbers in others.values()]
    rest = [n for numbers in others.values() for n in numbers[1:]]
    return list(dict.fromkeys([*newest, *better, *first, *best, *chat, *rest]))


def _count_within(items: Sequence[Item], numbers: Sequence[int], space: int) -> int:
    """Return how many items, from the first, fit into a space."""
    for count, n in enumerate(numbers):
        space -= items[n].size
        if space < 0:
            return count
    return len(numbers)


def choose(
    items: Sequence[Item], order: Iterable[int], space: int, openings: Mapping[str, int], separator: int
) -> tuple[list[int], int]:
    """Return the numbers of the items that fit, as they were added, and the space that is left.

    Args:
        openings: what a section takes beside its items, with its first one.
        separator: what stands between two items of a section.
    """
    kept: list[int] = []
    opened: set[str] = set()
    for n in order:
        section, cost = items[n].section, items[n].size
        cost += separator if section in opened else openings.get(section, 0)
        if cost <= space:
            space -= cost
            kept.append(n)
            opened.add(section)
    return kept, space


# Shortening


def shorten(value: Any, most: int, measure: Callable[[Any], int], words: Sequence[str] = ()) -> Any:
    """Return a value with its texts cut around a match of the words so that it takes at most `most`, None where that
    cannot be."""
    longest = max((len(text) for text in _texts(value)), default=0)
    low, high = LEAST_CHARS, min(longest, max(most * 8, LEAST_CHARS))
    if longest <= LEAST_CHARS or measure(_cut_all(value, low, words)) > most:
        return None
    while low < high:
        middle = (low + high + 1) // 2
        if measure(_cut_all(value, middle, words)) <= most:
            low = middle
        else:
            high = middle - 1
    return _cut_all(value, low, words)


def cut_text(text: str, most_chars: int, words: Sequence[str] = ()) -> str:
    """Return the text, or the part of it around a match of the words, else its beginning up to a word."""
    if len(text) <= most_chars:
        return text
    match = find_match(text, words) if words else None
    if match is not None and sum(match) > most_chars:
        return snippet_around(text, *match, most_chars)
    kept = text[:most_chars]
    if not text[most_chars].isspace():
        start = max(0, most_chars - min(_WORD_CHARS, most_chars // 2))
        place = max((kept.rfind(sign, start) for sign in (" ", "\n", "\t")), default=-1)
        kept = kept[:place] if place > 0 else kept
    return kept.rstrip() + MARK


def _texts(value: Any) -> list[str]:
    """Return every text inside; names of members are none."""
    if isinstance(value, str):
        return [value]
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [text for each in inside for text in _texts(each)]


def _cut_all(value: Any, chars: int, words: Sequence[str]) -> Any:
    """Return a value with each text in it cut to a length."""
    if isinstance(value, ChatLine):
        around = max(len(value) - len(value.turn.text), 0)
        turn = replace(value.turn, text=cut_text(value.turn.text, max(chars - around, 1)))
        return ChatLine(cut_text(value, chars), turn) if len(value) > chars else value
    if isinstance(value, str):
        return cut_text(value, chars, words)
    if isinstance(value, dict):
        return {name: _cut_all(each, chars, words) for name, each in value.items()}
    return [_cut_all(each, chars, words) for each in value] if isinstance(value, (list, tuple)) else value


# JSON prompts


@dataclass(frozen=True, slots=True)
class Fitted:
    """A prompt that fits, and what it cost."""

    prompt: dict[str, Any]
    """A new dict; items and parts that were not cut are the caller's objects."""
    size: int
    """Characters of `prompt`."""
    over_limit: bool = False
    """What is never cut is over a limit by itself."""
    parts: Mapping[str, int] = field(default_factory=dict)
    """Size of each part where `over_limit`; what `PromptTooLargeError` lists."""
    unit: Literal["characters", "tokens"] = "characters"
    """What `parts` counts: the unit of the limit that was broken."""
    left_out: tuple[LeftOut, ...] = ()
    """One entry for each item lost."""
    notes: tuple[str, ...] = ()
    """What had to be made strict JSON first, and of which sections parts are shown."""


def fit(
    prompt: Mapping[str, Any],
    space: Space,
    *,
    rank: Sequence[tuple[str, Any]] = (),
    ids: Mapping[str, Sequence[str]] | None = None,
    words: Sequence[str] = (),
) -> Fitted:
    """Return the prompt within the limits, and filled as far as its items allow.

    Args:
        rank: source and id of the memories, best first; without it the first of the list are the best.
        ids: section to the ids of its items, for the account.
        words: folded words of the message; a long memory is cut around them.
    """
    if not isinstance(prompt, Mapping):
        raise TypeError(f"prompt is of type {type(prompt).__name__}. Pass the dict build_json_prompt gave.")
    whole, notes = dict(prompt), list[str]()
    try:
        text = write_json(without_base64(whole))
    except (TypeError, ValueError, RecursionError):
        whole, notes = make_strict(prompt)
        text = write_json(without_base64(whole))
    if space.most is None or space.holds(text):
        return Fitted(whole, len(text), notes=tuple(notes))
    fitted = _Fitting(whole, space, words).run(rank, ids or {}) if isinstance(whole.get("context"), dict) else None
    fitted = fitted or _without_context(whole, space, ids or {})
    return replace(fitted, notes=(*notes, *fitted.notes))


def _without_context(prompt: dict[str, Any], space: Space, ids: Mapping[str, Sequence[str]]) -> Fitted:
    """Return what is never cut, and whether that alone is over a limit."""
    rest = {key: value for key, value in prompt.items() if key != "context"}
    bare = without_base64(rest)
    text = write_json(bare)
    unit = space.broken(text)
    parts = {}
    for key, value in bare.items() if unit else ():
        if not str(key).startswith("__"):
            part = write_json(value)
            parts[key] = count_tokens(space.counter, part) if unit == "tokens" and space.counter else len(part)
    lost = tuple(_lose_all(prompt.get("context"), ids))
    return Fitted(rest, len(text), unit is not None, parts, unit or "characters", lost)


def items_in(value: Any) -> int:
    """Return how many items a section counts in the report: those of a list, else one, none where there is nothing."""
    if isinstance(value, (list, tuple)):
        return len(value)
    return 0 if value is None or value in ("", {}) else 1


def _lose_all(context: Any, ids: Mapping[str, Sequence[str]]) -> Iterable[LeftOut]:
    for section, value in context.items() if isinstance(context, dict) else [("context", context)]:
        listed = isinstance(value, (list, tuple))
        for place in range(items_in(value)):
            yield LeftOut(section, "cut", _id(value, section, place if listed else None, ids))


def _id(value: Any, section: str, place: int | None, ids: Mapping[str, Sequence[str]]) -> str:
    """Return the id of an item: as the caller gave it, else its own field `id`, else blank."""
    if place is None:
        return ""
    given = ids.get(section, ())
    if place < len(given):
        return str(given[place])
    item = value[place]
    own = item.get("id") if isinstance(item, dict) else None
    return str(own) if isinstance(own, (int, str)) and not isinstance(own, bool) else ""


class _Fitting:
    """One JSON prompt, taken apart."""

    def __init__(self, prompt: dict[str, Any], space: Space, words: Sequence[str]) -> None:
        self.prompt, self.space, self.words = prompt, space, words
        self.context: Mapping[str, Any] = prompt["context"]
        self.bare: Mapping[str, Any] = without_base64(prompt)["context"]
        self.empty = {key for key, value in self.bare.items() if value == [] or (key in STAYING and _is_list(value))}
        self.items: list[Item] = []
        self.numbers: dict[str, range] = {}
        """Section to the numbers of its items."""
        self.shortened: set[int] = set()
        for section, value in self.bare.items():
            start = len(self.items)
            if _is_list(value):
                self.items += [Item(section, place, each, self._size(each)) for place, each in enumerate(value)]
            else:
                self.items.append(Item(section, None, value, self._size(value)))
            self.numbers[section] = range(start, len(self.items))

    def _size(self, value: Any) -> int:
        return self.space.measure(write_json(value))

    def run(self, rank: Sequence[tuple[str, Any]], ids: Mapping[str, Sequence[str]]) -> Fitted | None:
        """Return the prompt with what fits; None where there is no room for a context at all."""
        room = (self.space.most or 0) - self.space.measure(self._write(self._build([])))
        if room < 0:
            return None
        self._shorten_large(room)
        order = order_items(self.items, self._rank(rank), room)
        openings = {
            section: self._size(section) + 2 * _COMMA + 2 * _is_list(self.bare[section]) for section in self.bare
        }
        openings |= dict.fromkeys(self.empty, 0)
        kept, left = choose(self.items, order, room, openings, _COMMA)
        kept = self._fill(order, kept, left, openings)
        prompt = self._build(kept)
        if not self.space.holds(self._write(prompt)):  # a counter may count the whole higher than its parts
            kept = kept[: self._count_fitting(kept)]
            prompt = self._build(kept)
        text = self._write(prompt)
        if not self.space.holds(text):
            return None
        return Fitted(prompt, len(text), left_out=tuple(self._list_lost(kept, ids)), notes=tuple(self._note_cuts(kept)))

    def _rank(self, rank: Sequence[tuple[str, Any]]) -> list[int]:
        """Return the numbers of the memories, best first; those without a rank after all, in the order of the list."""
        places: dict[tuple[str, str], int] = {
            (str(source), str(own)): at for at, (source, own) in reversed(list(enumerate(rank)))
        }

        def place(n: int) -> int:
            hit = self.items[n].value
            key = (str(hit.get("source")), str(hit.get("id"))) if isinstance(hit, dict) else ("", "")
            return places.get(key, len(rank))

        numbers: Sequence[int] = self.numbers.get(MEMORIES, ())
        return sorted(numbers, key=place)

    def _shorten_large(self, room: int) -> None:
        """Cut what takes more than its share of the room."""
        chat = self.numbers.get(CURRENT, range(0))
        for n, item in enumerate(self.items):
            is_line = n in chat and len(chat) > 1
            share = line_share(room, is_newest=n == chat[-1]) if is_line else room // SHARE
            if item.size > share:
                self._cut(n, share)

    def _cut(self, n: int, most: int) -> bool:
        """Cut an item to a size, where that can be; what holds a file cannot."""
        item = self.items[n]
        if self._original(item, self.context) is not self._original(item, self.bare):
            return False
        words = self.words if item.section == MEMORIES else ()
        value = shorten(self._original(item, self.context), most, self._size, words)
        if value is None:
            return False
        self.items[n] = item._replace(value=value, size=self._size(value))
        self.shortened.add(n)
        return True

    @staticmethod
    def _original(item: Item, context: Mapping[str, Any]) -> Any:
        return context[item.section] if item.place is None else context[item.section][item.place]

    def _fill(self, order: Sequence[int], kept: list[int], left: int, openings: Mapping[str, int]) -> list[int]:
        """Return what is kept with one more item, of which a part takes what is left."""
        there = set(kept)
        if left * _WORTH_FILLING < (self.space.most or 0):
            return kept
        opened = {self.items[n].section for n in kept}
        for n in order:
            section = self.items[n].section
            beside = _COMMA if section in opened else openings[section]
            if n not in there and self._cut(n, left - beside):
                return [*kept, n]
        return kept

    def _count_fitting(self, kept: Sequence[int]) -> int:
        """Return how many of the items, from the first that was added, fit together."""
        low, high = 0, len(kept)
        while low < high:
            middle = (low + high + 1) // 2
            if self.space.holds(self._write(self._build(kept[:middle]))):
                low = middle
            else:
                high = middle - 1
        return low

    def _build(self, kept: Sequence[int]) -> dict[str, Any]:
        """Return the prompt with the items that are kept."""
        context: dict[str, Any] = {}
        there = set(kept)
        for section, numbers in self.numbers.items():
            values = [self._value(n) for n in numbers if n in there]
            if values and self.items[numbers[0]].place is None:
                context[section] = values[0]
            elif values or section in self.empty:
                context[section] = values
        return {key: context if key == "context" else value for key, value in self.prompt.items()}

    def _value(self, n: int) -> Any:
        item = self.items[n]
        return item.value if n in self.shortened else self._original(item, self.context)

    @staticmethod
    def _write(prompt: dict[str, Any]) -> str:
        return write_json(without_base64(prompt))

    def _list_lost(self, kept: Sequence[int], ids: Mapping[str, Sequence[str]]) -> Iterable[LeftOut]:
        there = set(kept)
        for n, item in enumerate(self.items):
            if n not in there and (item.place is not None or items_in(item.value)):
                yield LeftOut(item.section, "cut", _id(self.bare[item.section], item.section, item.place, ids))

    def _note_cuts(self, kept: Sequence[int]) -> Iterable[str]:
        sections = [self.items[n].section for n in kept if n in self.shortened]
        for section in dict.fromkeys(sections):
            yield f"{section}: {sections.count(section)} shown in part, for the limit"


def _is_list(value: Any) -> bool:
    """Return whether a section is a list of items."""
    return isinstance(value, (list, tuple))
