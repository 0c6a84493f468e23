"""Fits a prompt into its limits: adds items in a fixed order and skips items that do not fit.

`fit_items` decides for JSON prompts (`fit`) and for chat messages (`message_lines.py`).
"""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, NamedTuple

from ..base.groups import group
from ..base.hints import shown
from ..base.wire_ids import find_whole
from ..context.context import CURRENT, INJECTED, MEMORIES, RECENT
from ..shapes import Citation, LeftOut
from ..text.extracts import fit_text
from ..text.folding import fold
from ..text.hits import find_cut, find_match, snippet_around
from ..text.host_values import get, text_at
from ..text.languages import likely_languages
from ..text.sizes import without_base64, write_json

STAYING = (CURRENT, RECENT, "thoughts", MEMORIES, "tags_placeholder")
"""Lists that stay in the prompt even if they are empty."""
NEWEST_LAST = (RECENT, "thoughts", "ai_diary", "recent_conversations", "saved_memories", "standing_wishes")
"""Lists whose last items are the most important."""
ASKED_FOR = ("standing_wishes", "saved_memories")
"""Lists of what people asked the persona to keep: they are added before the memories."""
RECAPS = (INJECTED, "message_recaps")
"""Texts whose lines stay apart, and whose end is the most important."""
SHARE = 4
"""Divisor of the limit: newest chat lines, ASKED_FOR lists, running recap and each single item get up to a quarter.

The running recap also gets room that is left."""
MEMORY_SHARE = 0.8
"""Share of the limit that matching memories get before other lists."""
NEWEST_SHARE, LINE_SHARE = 16, 48
"""Divisors: if chat lines must be cut, the newest line keeps at most 1/16 of the space, an older line 1/48."""
LEAST_LINE = 300
"""Characters that a chat line may always keep, up to a quarter of the space."""
MARK = "…"
LEAST_CHARS = 24
"""Minimum number of characters that are left of a cut text."""
LEAST_PART = 60
"""Minimum number of free characters to fill with a part of an item."""
_WORD_CHARS = 40
"""Maximum number of characters by which a cut moves back to a word's end; scripts without spaces have none."""
_COMMA = 2
ASKED_CHARS = 4_000
"""Maximum number of characters of a message whose words rank the memories."""

TokenCounter = Callable[[str], int]


class Item(NamedTuple):
    section: str
    place: int | None
    """Index in the list of the section; None if the section is a single value."""
    value: Any
    size: int = 0
    id: str = ""


Cut = Callable[[int, int], Item | None]
"""Returns an item cut to a size, from (index of the item, size); None if it cannot be cut."""


class Space:
    """Limits of a prompt in characters, tokens or both; if both are given, tokens are converted to characters."""

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
        """Returns the size of a text in the unit of `most`."""

    def count_tokens(self, text: str) -> int:
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
        """Return the unit of the limit that a text exceeds, "characters" or "tokens"; None if it fits."""
        if self.limit_chars is not None and len(text) > self.limit_chars:
            return "characters"
        return "tokens" if self.limit_tokens is not None and self.count_tokens(text) > self.limit_tokens else None


@dataclass(frozen=True, slots=True)
class Fitted:
    """A prompt within its limits, and what was cut for it."""

    prompt: Any
    """A dict, or chat messages. Parts of a dict that were not cut are the caller's own objects, not copies."""
    text: str
    """All text that counts towards the limits."""
    kept: Mapping[str, int] = field(default_factory=dict)
    """Number of items in the prompt, by section."""
    memories: Sequence[Any] = ()
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()
    parts: Mapping[str, int] = field(default_factory=dict)
    """Size of each part, for `PromptTooLargeError`, if the parts that are never cut exceed a limit; else empty."""
    broken: Literal["characters", "tokens"] | None = None
    """Unit of the exceeded limit, in which `parts` is counted."""
    citations: Mapping[str, Citation] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return len(self.text)


def read_limit_argument(name: str, value: object) -> int | None:
    number = find_whole(value)
    if value is not None and (number is None or number < 1):
        raise ValueError(f"{name} is {shown(value)}. It must be a whole number of at least 1, or None for no limit.")
    return number


def fit_items(
    items: list[Item],
    best: Sequence[int],
    room: int,
    openings: Mapping[str, int],
    separator: int,
    cut: Cut,
    filling: Collection[int] = (),
) -> list[int]:
    """Return the indexes of the items that fit, in the order of adding; shortened items replace others in `items`.

    `openings` has the size of each section's heading; `separator` is the size of the text between two items;
    `filling` has the indexes of memories that do not match.
    """
    whole, quarter, is_best = list(items), room // SHARE, frozenset(best)
    _cut_long(items, room, is_best, cut)
    kept: dict[int, None] = {}
    opened: set[str] = set()
    gap = -1

    order = order_items(items, best, room, filling)
    for n in order:
        section = items[n].section
        cost = separator if section in opened else openings.get(section, 0)
        is_turn = section == CURRENT and n not in is_best
        if is_turn and n < gap:  # the newest turns are an unbroken run
            continue
        if items[n].size + cost > room and section != MEMORIES and (items[n] is not whole[n] or is_turn):
            items[n] = cut(n, room - cost) or items[n]  # a shorter part rather than nothing of this key
        if items[n].size + cost <= room:
            room -= items[n].size + cost
            kept[n] = None
            opened.add(section)
        elif is_turn:
            gap = n
    for n in order if room > LEAST_PART else ():
        section = items[n].section
        cost = separator if section in opened else openings.get(section, 0)
        part = None if n in kept else cut(n, room - cost)
        if part is not None:
            items[n] = part
            return [*kept, n]
    for n in kept if room > LEAST_PART else ():  # the room that is left goes to the items that were shortened
        most = items[n].size + room
        most = most if items[n].section == INJECTED else min(most, quarter)
        if items[n].size >= min(whole[n].size, most):
            continue
        grown = whole[n] if whole[n].size <= most else cut(n, most)
        if grown is not None and grown.size > items[n].size:
            room -= grown.size - items[n].size
            items[n] = grown
    return list(kept)


def _cut_long(items: list[Item], room: int, is_best: Collection[int], cut: Cut) -> None:
    counts = Counter([item.section for item in items])
    newest = max((n for n, item in enumerate(items) if item.section == CURRENT), default=-1)
    for n, item in enumerate(items):
        share = room // SHARE
        if item.section in (CURRENT, RECENT) and counts[item.section] > 1 and n not in is_best:
            share = min(share, max(room // (NEWEST_SHARE if n == newest else LINE_SHARE), LEAST_LINE))
        if item.size > share:
            items[n] = cut(n, share) or item


def rank_items(items: Sequence[Item], places: Mapping[tuple[str, str | int], int]) -> list[int]:
    """Return the indexes of memories, and of other items that `places` (ranks, see `fit`) has, best first."""
    firsts = {item.section: n for n, item in reversed([*enumerate(items)])}
    ranked = []
    for n, item in enumerate(items):
        is_memory = item.section == MEMORIES
        place = places.get((item.section, item.id if is_memory else n - firsts[item.section]))
        if is_memory or place is not None:
            ranked.append((len(places) if place is None else place, n))
    return [n for _, n in sorted(ranked)]


def order_items(items: Sequence[Item], best: Sequence[int], room: int, filling: Collection[int] = ()) -> list[int]:
    """Return the indexes of the items in the order in which they are added; the last ones are left out first.

    Order: newest chat lines, lists of ASKED_FOR and the running recap, up to a quarter of the room each; the best
    memories, up to their share of the room without the recap; one item of every other list; the other memories; older
    chat lines; the rest.
    """
    chat = [n for n, item in enumerate(items) if item.section == CURRENT][::-1]
    others = group((item.section, n) for n, item in enumerate(items) if item.section not in (CURRENT, MEMORIES))
    for section in NEWEST_LAST:
        others.get(section, []).reverse()
    ranks = {n: rank for rank, n in enumerate(best)}
    others.get("saved_memories", []).sort(key=lambda n: ranks.get(n, len(items)))  # matches before the newest
    newest = _take_within(items, chat, room // SHARE)
    asked = _take_within(items, [n for name in ASKED_FOR for n in others.get(name, ())], room // SHARE)
    recap = others.pop(INJECTED, [])
    room -= sum([items[n].size for n in recap])
    better = _take_within(items, [n for n in best if n not in filling], int(room * MEMORY_SHARE))
    first = [numbers[0] for numbers in others.values()]
    rest = [n for numbers in others.values() for n in numbers[1:]]
    return list(dict.fromkeys([*newest, *asked, *recap, *better, *first, *best, *chat, *rest]))


def _take_within(items: Sequence[Item], numbers: Sequence[int], room: int) -> Sequence[int]:
    """Return the longest prefix of `numbers` (item indexes) whose items fit into `room`, but at least one index."""
    for count, n in enumerate(numbers):
        room -= items[n].size
        if room < 0:
            return numbers[: max(1, count)]
    return numbers


def keep_within(
    kept: list[int], space: Space, write: Callable[[list[int]], tuple[Any, str]]
) -> tuple[list[int], Any, str]:
    """Return `(kept, prompt, text)` with items dropped from the end until the whole fits the limit.

    A token counter may count a text higher than the sum of its parts. `write` returns prompt and text for items.
    """
    prompt, text = write(kept)
    if space.find_broken(text) is not None:
        counts = range(1, len(kept) + 1)
        kept = kept[: bisect_left(counts, True, key=lambda count: bool(space.find_broken(write(kept[:count])[1])))]
        prompt, text = write(kept)
    return kept, prompt, text


def build_fitted(items: Sequence[Item], kept: Iterable[int], prompt: Any, text: str) -> Fitted:
    there = set(kept)
    counts = dict.fromkeys([item.section for item in items], 0)
    for n in there:
        counts[items[n].section] += 1
    memories = [item.value for n, item in enumerate(items) if n in there and item.section == MEMORIES]
    lost = [LeftOut(item.section, "cut", item.id) for n, item in enumerate(items) if n not in there]
    return Fitted(prompt, text, counts, memories, tuple(lost))


def shorten(value: Any, most: int, measure: Callable[[Any], int], cut: Callable[[str, int], str]) -> Any:
    """Shorten the texts of a value by `cut` until it measures at most `most`; return None if that fails."""
    longest = max((len(text) for text in _list_texts(value)), default=0)
    if longest <= LEAST_CHARS:
        return None

    def cut_to(length: int) -> Any:
        return map_texts(value, lambda text: cut(text, length))

    lengths = range(LEAST_CHARS, min(longest, max(most * 8, LEAST_CHARS)) + 1)
    count = bisect_left(lengths, True, key=lambda length: measure(cut_to(length)) > most)
    return cut_to(lengths[count - 1]) if count else None


def cut_text(text: str, most_chars: int, words: Sequence[str] = ()) -> str:
    """Shorten a text to `most_chars` around the first match of the folded words; without a match, to its beginning."""
    if len(text) <= most_chars:
        return text
    match = find_match(text, words) if words else None
    if match is not None and sum(match) > most_chars:
        return snippet_around(text, *match, most_chars)
    kept = text[: find_cut(text, most_chars)]
    if not text[most_chars].isspace():
        start = max(0, most_chars - min(_WORD_CHARS, most_chars // 2))
        place = max((kept.rfind(sign, start) for sign in (" ", "\n", "\t")), default=-1)
        kept = kept[:place] if place > 0 else kept
    return kept.rstrip() + MARK


def cut_recap(text: str, most_chars: int) -> str:
    """Shorten a recap to its title, if it has one, and its last sentences, which have the latest state."""
    title, line, said = text.partition("\n")
    if not title.endswith(":") or len(title + line) >= most_chars:
        title, line, said = "", "", text
    if len(text) <= most_chars:
        return text
    room = most_chars - len(title + line)
    kept = said[-room:]
    kept = fit_text(said, lambda part: len(part) <= room)[0] or kept[kept.find(" ", 0, _WORD_CHARS) + 1 :]
    return f"{title}{line}{MARK}{kept}"


def choose_cutter(section: str, words: Sequence[str]) -> Callable[[str, int], str]:
    if section in RECAPS:
        return cut_recap
    return partial(cut_text, words=words) if section == MEMORIES else cut_text


def _list_texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [text for each in inside for text in _list_texts(each)]


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {name: change(each) if type(each) is str else map_texts(each, change) for name, each in value.items()}
    return [map_texts(each, change) for each in value] if isinstance(value, (list, tuple)) else value


def fit(
    prompt: Mapping[str, Any],
    space: Space,
    *,
    places: Mapping[tuple[str, str | int], int] | None = None,
    ids: Mapping[str, Sequence[str]] | None = None,
    words: Sequence[str] = (),
) -> Fitted:
    """Return the prompt as strict JSON within its limits, with as many items as fit.

    `places` gives ranks, 0 for the best, by (section, id) for memories and by (section, index) for other items; None
    ranks the memories by the words of the message in `input`. `ids` has the ids of each section's items. Long
    memories are cut around the folded `words`.
    """
    whole, context = dict(prompt), prompt.get("context")
    text = write_json(without_base64(whole))
    sections: Mapping[str, Any] = context if isinstance(context, dict) else {}
    items = list(_list_items(sections, ids or {}))
    if space.find_broken(text) is None:
        fitted = build_fitted(items, range(len(items)), whole, text)
    else:
        part = _fit_context(whole, sections, items, space, places, words) if sections else None
        fitted = part or _drop_context(whole, items, space)
    return replace(fitted, kept={**dict.fromkeys(sections, 0), **fitted.kept})


def _fit_context(
    prompt: dict[str, Any],
    context: Mapping[str, Any],
    whole: Sequence[Item],
    space: Space,
    places: Mapping[tuple[str, str | int], int] | None,
    words: Sequence[str],
) -> Fitted | None:
    """Return the prompt with the items of its context that fit; None if not even an empty context fits."""
    empty = [key for key, value in context.items() if value == [] or (key in STAYING and _is_list(value))]
    bare = [item.value for item in _list_items(without_base64(prompt)["context"], {})]
    items = [item._replace(size=space.measure(write_json(small))) for item, small in zip(whole, bare, strict=True)]

    def cut(n: int, most: int) -> Item | None:
        item = whole[n]
        if item.value is not bare[n]:  # the prompt holds a file
            return None
        shorter = choose_cutter(item.section, words)
        value = shorten(item.value, most, lambda part: space.measure(write_json(part)), shorter)
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
    if places is None:
        words = words or _list_asked(prompt)
        best = [n for n, item in enumerate(items) if item.section == MEMORIES and item.place is not None]
        weights = dict(zip(best, _weigh_memories([items[n].value for n in best], words), strict=True))
        best.sort(key=lambda n: -weights[n])
    else:
        best = rank_items(items, places)
    kept, chosen, text = keep_within(fit_items(items, best, room, openings, _COMMA, cut), space, write)
    if space.find_broken(text) is not None:
        return None
    cut_in = [items[n].section for n in kept if items[n].value is not whole[n].value]
    notes = (f"{key}: {cut_in.count(key)} shown in part, for the limit" for key in dict.fromkeys(cut_in))
    return replace(build_fitted(items, kept, chosen, text), notes=tuple(notes))


def _weigh_memories(hits: Sequence[Any], words: Sequence[str]) -> list[float]:
    texts = [fold(" ".join(_list_texts(hit))) for hit in hits]
    held = [[word for word in words if word in text] for text in texts]
    counts = Counter(word for each in held for word in each)
    return [sum(math.log1p(len(texts) / counts[word]) for word in each) for each in held]


def _list_asked(prompt: Mapping[str, Any]) -> list[str]:
    from ..text.search_words import KEYWORD_LIMIT, salient_words  # noqa: PLC0415 - loads the word lists

    text = text_at(get(prompt.get("input"), "payload"), "text")[:ASKED_CHARS]
    return salient_words(text, likely_languages(text), KEYWORD_LIMIT)


def _drop_context(prompt: dict[str, Any], items: Sequence[Item], space: Space) -> Fitted:
    """Return the prompt with an empty context; `Fitted.broken` names the limit that it still exceeds, if any."""
    rest = {key: {} if key == "context" else value for key, value in prompt.items()}
    bare = without_base64(rest)
    text = write_json(bare)
    unit = space.find_broken(text)
    measure = space.count_tokens if unit == "tokens" else len
    named = (key for key in bare if unit and key != "context" and not str(key).startswith("__"))
    parts = {key: measure(write_json(bare[key])) for key in named}
    return replace(build_fitted(items, (), rest, text), parts=parts, broken=unit)


def _list_items(context: Mapping[str, Any], ids: Mapping[str, Sequence[str]]) -> Iterable[Item]:
    """Yield the items of all sections; an item's id is that in `ids`, else its field `id`."""
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
