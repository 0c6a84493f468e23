"""Fits a prompt into its limits: adds items in a fixed order and skips those without room.

`fit_items` decides for JSON prompts (`fit`) and for chat messages (`message_lines.py`).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

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
MEMORY_SHARE, LIST_SHARE = 0.5, 0.7
"""Part of the room that memories take before other lists, and where a list of them is asked for."""
NEWEST_SHARE, LINE_SHARE = 16, 48
"""Where something has to go, the newest line of several takes at most this part of the space, and an older one."""
LEAST_LINE = 300
"""Characters of a line of the chat that are always worth their room, up to a quarter."""
MARK = "…"
"""Stands where a text goes on that is not shown."""
LEAST_CHARS = 24
"""A text is not cut below this: what it says would be lost."""
LEAST_PART = 60
"""Characters that are worth filling with a part of an item."""
_WORD_CHARS = 40
"""How far back a cut looks for the end of a word; scripts without spaces have none."""
_COMMA = 2

TokenCounter = Callable[[str], int]


class Item(NamedTuple):
    """One item that a prompt may hold."""

    section: str
    place: int | None
    """Its place in the list of the section; None where the section is one value."""
    value: Any
    size: int = 0
    id: str = ""
    """What a report calls it."""


Cut = Callable[[int, int], Item | None]
"""Number of an item and a size to the item with the part of its text that fits; None where that cannot be."""


class Space:
    """Limits of a prompt: characters, tokens or both. Sizes are measured against the tighter limit."""

    def __init__(
        self, limit_chars: int | None = None, limit_tokens: int | None = None, counter: TokenCounter | None = None
    ) -> None:
        self.limit_chars = read_limit_argument("max_chars", limit_chars)
        self.limit_tokens = read_limit_argument("limit_tokens", limit_tokens)
        if self.limit_tokens is not None and counter is None:
            raise ValueError("limit_tokens needs a counter. Pass counter=, or use max_chars.")
        self.counter = counter
        self.most: int | None = self.limit_tokens if self.limit_chars is None else self.limit_chars
        self.measure: Callable[[str], int] = len if self.limit_tokens is None else self._measure
        """The size of a text in the unit of `most`."""

    def count_tokens(self, text: str) -> int:
        """Return what the counter gives for the text, a fraction rounded up."""
        count: Any = self.counter(text) if self.counter is not None else 0
        if isinstance(count, bool) or not isinstance(count, (int, float)) or not math.isfinite(count) or count < 0:
            kind = type(count).__name__
            raise TypeError(f"The token counter gave {kind}. It must give a number of tokens, 0 or more.")
        return math.ceil(count)

    def _measure(self, text: str) -> int:
        tokens = self.count_tokens(text)
        if self.limit_chars is None or self.limit_tokens is None:
            return tokens
        return max(len(text), math.ceil(tokens * self.limit_chars / self.limit_tokens))

    def find_broken(self, text: str) -> Literal["characters", "tokens"] | None:
        """Return the unit of the limit that the text exceeds, None if it fits."""
        if self.limit_chars is not None and len(text) > self.limit_chars:
            return "characters"
        return "tokens" if self.limit_tokens is not None and self.count_tokens(text) > self.limit_tokens else None


@dataclass(frozen=True, slots=True)
class Fitted:
    """A prompt that fits, and what it cost."""

    prompt: Any
    """A dict, or chat messages; items and parts of a dict that were not cut are the caller's objects."""
    text: str
    """All that counts for the limits."""
    kept: Mapping[str, int] = field(default_factory=dict)
    """Section to how many of its items are in the prompt."""
    memories: Sequence[Any] = ()
    """Those that are in the prompt."""
    left_out: tuple[LeftOut, ...] = ()
    """One entry for each item lost."""
    notes: tuple[str, ...] = ()
    """What had to be made strict JSON first, and of which sections parts are shown."""
    parts: Mapping[str, int] = field(default_factory=dict)
    """Size of each part where what is never cut is over a limit by itself; what `PromptTooLargeError` lists."""
    broken: Literal["characters", "tokens"] | None = None
    """The unit of the limit that is broken, which `parts` counts."""

    @property
    def size(self) -> int:
        return len(self.text)


# Limits: strict as an argument, lenient from a host's hook


def read_limit_argument(name: str, value: object) -> int | None:
    """Return the limit as a whole number of at least 1, or None when none was given."""
    if value is None or _is_limit(value):
        return value  # type: ignore[return-value]
    raise ValueError(f"{name} is {_shown(value)}. It must be a whole number of at least 1, or None for no limit.")


EngineLimit = tuple[int | None, str | None]
NO_LIMIT: EngineLimit = (None, None)


def read_engine_limit(value: object) -> EngineLimit:
    """Return the limit the hook `engine_limit` gave, and a note for the report where it cannot be used."""
    if value is None or _is_limit(value):
        return value, None  # type: ignore[return-value]
    return None, f"engine_limit gave {_shown(value)}, which is no whole number of at least 1; it is not used"


def _is_limit(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _shown(value: object) -> str:
    """Describe a bad value in a few words, an object of the host by its type alone."""
    if isinstance(value, int) and value.bit_length() > 64:
        return "a number of more than 19 digits"
    if isinstance(value, int | float) or (isinstance(value, str) and len(value) <= 40):
        return repr(value)
    return f"a text of {len(value)} characters" if isinstance(value, str) else f"of type {type(value).__name__}"


# Choosing


def fit_items(
    items: list[Item],
    best: Sequence[int],
    room: int,
    openings: Mapping[str, int],
    separator: int,
    cut: Cut,
    memory_share: float = MEMORY_SHARE,
) -> list[int]:
    """Return the indexes of the items that fit, in the order of adding; shortened items replace theirs in `items`.

    Args:
        best: indexes of the memories, best first.
        openings: size that a section adds with its first item, such as its title.
        separator: size between two items of a section.
        memory_share: part of the room that goes to memories before other lists.
    """
    counts = Counter(item.section for item in items)
    newest = max((n for n, item in enumerate(items) if item.section == CURRENT), default=-1)
    for n, item in enumerate(items):
        share = room // SHARE
        if item.section in (CURRENT, RECENT) and counts[item.section] > 1:
            share = min(share, max(room // (NEWEST_SHARE if n == newest else LINE_SHARE), LEAST_LINE))
        if item.size > share:
            items[n] = cut(n, share) or item
    kept: dict[int, None] = {}
    opened: set[str] = set()

    def find_cost(section: str) -> int:
        return separator if section in opened else openings.get(section, 0)

    order = order_items(items, best, room, memory_share)
    for n in order:
        cost = items[n].size + find_cost(items[n].section)
        if cost <= room:
            room -= cost
            kept[n] = None
            opened.add(items[n].section)
    for n in order if room > LEAST_PART else ():
        part = None if n in kept else cut(n, room - find_cost(items[n].section))
        if part is not None:
            items[n] = part
            return [*kept, n]
    return list(kept)


def order_items(items: Sequence[Item], best: Sequence[int], room: int, memory_share: float = MEMORY_SHARE) -> list[int]:
    """Return the numbers of the items in the order they are added: the last ones are the first to be left out.

    The newest lines of the chat, up to a quarter; the better half of the memories, and more up to their share;
    one item of every other list; the other memories; older lines; the rest.
    """
    chat = [n for n, item in enumerate(items) if item.section == CURRENT][::-1]
    others: dict[str, list[int]] = {}
    for n, item in enumerate(items):
        if item.section not in (CURRENT, MEMORIES):
            others.setdefault(item.section, []).append(n)
    for section in NEWEST_LAST:
        others.get(section, []).reverse()
    newest = chat[: max(1, _count_within(items, chat, room // SHARE))]
    better = best[: max((len(best) + 1) // 2, _count_within(items, best, int(room * memory_share)))]
    first = [numbers[0] for numbers in others.values()]
    rest = [n for numbers in others.values() for n in numbers[1:]]
    return list(dict.fromkeys([*newest, *better, *first, *best, *chat, *rest]))


def _count_within(items: Sequence[Item], numbers: Sequence[int], room: int) -> int:
    for count, n in enumerate(numbers):
        room -= items[n].size
        if room < 0:
            return count
    return len(numbers)


def keep_within(
    kept: list[int], space: Space, write: Callable[[list[int]], tuple[Any, str]]
) -> tuple[list[int], Any, str]:
    """Return `(kept, prompt, text)` with items dropped from the end until the whole fits the limit.

    A token counter may count a text higher than the sum of its parts.

    Args:
        write: function from items to (prompt, text).
    """
    prompt, text = write(kept)
    if space.find_broken(text) is not None:
        counts = range(1, len(kept) + 1)
        kept = kept[: bisect_left(counts, True, key=lambda count: bool(space.find_broken(write(kept[:count])[1])))]
        prompt, text = write(kept)
    return kept, prompt, text


def build_fitted(items: Sequence[Item], kept: Iterable[int], prompt: Any, text: str) -> Fitted:
    """Return the prompt with its counts of kept items and a list of those left out."""
    there = set(kept)
    counts = dict.fromkeys((item.section for item in items), 0)
    for n in there:
        counts[items[n].section] += 1
    memories = [item.value for n, item in enumerate(items) if n in there and item.section == MEMORIES]
    lost = (LeftOut(item.section, "cut", item.id) for n, item in enumerate(items) if n not in there)
    return Fitted(prompt, text, counts, memories, tuple(lost))


# Shortening


def shorten(value: Any, most: int, measure: Callable[[Any], int], words: Sequence[str] = ()) -> Any:
    """Return a value with its texts cut around a match of the words so that it takes at most `most`, None where that
    cannot be.
    """
    longest = max((len(text) for text in _list_texts(value)), default=0)
    if longest <= LEAST_CHARS:
        return None
    lengths = range(LEAST_CHARS, min(longest, max(most * 8, LEAST_CHARS)) + 1)
    count = bisect_left(lengths, True, key=lambda length: measure(_cut_texts(value, length, words)) > most)
    return _cut_texts(value, lengths[count - 1], words) if count else None


def cut_text(text: str, most_chars: int, words: Sequence[str] = ()) -> str:
    """Shorten a text to `most_chars`: around the first match of the words, else to its beginning."""
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


def _list_texts(value: Any) -> list[str]:
    """Return every text inside a value, without the keys of dicts."""
    if isinstance(value, str):
        return [value]
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [text for each in inside for text in _list_texts(each)]


def _cut_texts(value: Any, chars: int, words: Sequence[str]) -> Any:
    """Return a value with each text in it cut to a length."""
    if isinstance(value, str):
        return cut_text(value, chars, words)
    if isinstance(value, dict):
        return {name: _cut_texts(each, chars, words) for name, each in value.items()}
    return [_cut_texts(each, chars, words) for each in value] if isinstance(value, (list, tuple)) else value


# JSON prompts


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
    context = whole.get("context")
    sections: Mapping[str, Any] = context if isinstance(context, dict) else {}
    items = list(_list_items(sections, ids or {}))
    if space.find_broken(text) is None:
        fitted = build_fitted(items, range(len(items)), whole, text)
    else:
        part = _fit_context(whole, sections, items, space, rank, words) if sections else None
        fitted = part or _drop_context(whole, items, space)
    kept = {**dict.fromkeys(sections, 0), **fitted.kept}
    return replace(fitted, kept=kept, notes=(*notes, *fitted.notes))


def _fit_context(
    prompt: dict[str, Any],
    context: Mapping[str, Any],
    whole: Sequence[Item],
    space: Space,
    rank: Sequence[tuple[str, Any]],
    words: Sequence[str],
) -> Fitted | None:
    """Return the prompt with what fits of its context; None where there is no room for a context at all."""
    empty = [key for key, value in context.items() if value == [] or (key in STAYING and _is_list(value))]
    bare = [item.value for item in _list_items(without_base64(prompt)["context"], {})]
    items = [item._replace(size=space.measure(write_json(small))) for item, small in zip(whole, bare, strict=True)]

    def cut(n: int, most: int) -> Item | None:
        item = whole[n]
        if item.value is not bare[n]:  # it holds a file
            return None
        around = words if item.section == MEMORIES else ()
        value = shorten(item.value, most, lambda part: space.measure(write_json(part)), around)
        return None if value is None else item._replace(value=value, size=space.measure(write_json(value)))

    def write(kept: Iterable[int]) -> tuple[dict[str, Any], str]:
        shown: dict[str, Any] = {key: [] for key in empty}
        for n in sorted(kept):
            item = items[n]
            if item.place is None:
                shown[item.section] = item.value
            else:
                shown.setdefault(item.section, []).append(item.value)
        chosen = {**prompt, "context": {key: shown[key] for key in context if key in shown}}
        return chosen, write_json(without_base64(chosen))

    room = (space.most or 0) - space.measure(write(())[1])
    if room < 0:
        return None
    openings = {key: space.measure(write_json(key)) + _COMMA * (2 + 2 * _is_list(context[key])) for key in context}
    openings |= dict.fromkeys(empty, 0)
    places = {(str(source), str(own)): at for at, (source, own) in reversed(list(enumerate(rank)))}
    best = [n for n, item in enumerate(items) if item.section == MEMORIES and item.place is not None]
    hits = {n: items[n].value if isinstance(items[n].value, dict) else {} for n in best}
    best.sort(key=lambda n: places.get((str(hits[n].get("source")), str(hits[n].get("id"))), len(rank)))
    kept, chosen, text = keep_within(fit_items(items, best, room, openings, _COMMA, cut), space, write)
    if space.find_broken(text) is not None:
        return None
    cut_in = [items[n].section for n in kept if items[n].value is not whole[n].value]
    notes = (f"{key}: {cut_in.count(key)} shown in part, for the limit" for key in dict.fromkeys(cut_in))
    return replace(build_fitted(items, kept, chosen, text), notes=tuple(notes))


def _drop_context(prompt: dict[str, Any], items: Sequence[Item], space: Space) -> Fitted:
    """Return the prompt without its context, and the limit that it exceeds even so."""
    rest = {key: value for key, value in prompt.items() if key != "context"}
    bare = without_base64(rest)
    text = write_json(bare)
    unit = space.find_broken(text)
    measure = space.count_tokens if unit == "tokens" else len
    parts = {key: measure(write_json(value)) for key, value in bare.items() if unit and not str(key).startswith("__")}
    return replace(build_fitted(items, (), rest, text), parts=parts, broken=unit)


def _list_items(context: Mapping[str, Any], ids: Mapping[str, Sequence[str]]) -> Iterable[Item]:
    """Yield the items of the sections, each with its id as given, else with its field `id`."""
    for section, value in context.items():
        given = ids.get(section, ())
        if not _is_list(value):
            yield Item(section, None, value)
            continue
        for place, each in enumerate(value):
            own = each.get("id") if isinstance(each, dict) else None
            known = own if isinstance(own, (int, str)) and not isinstance(own, bool) else ""
            yield Item(section, place, each, id=str(given[place] if place < len(given) else known))


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))
