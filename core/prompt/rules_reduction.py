"""Which items leave a prompt so that it fits a limit.

The promise: all removals stand in one fixed order, and what is cut is a beginning of that order. So a prompt cut
at one limit holds everything that is kept at any lower one, cutting twice changes nothing, and items go whole.
How long that beginning is stands at `_first_fit`. Called by `prompt_engine`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from ..base.limits import read_limit_argument
from ..shapes import LeftOut
from ..text.sizes import Dumps, size, to_json, without_base64
from ..text.strict_json import make_strict
from .rules_reduction_plan import WHOLE_CONTEXT, Plan, prompt_order, transmission_order

Counter = Callable[[str], int]
"""Tokens of a text."""

PROTECTED = ("input", "instructions", "instructions_verbose", "actions")
"""Top-level keys that are never cut."""


class Cut(NamedTuple):
    """One removal that was made."""

    section: str
    """Key of `context`, or `context` where all of it went."""
    position: int | None
    """Place in the list as it was before any removal; None where the key went whole."""
    id: str
    """Id of the item; blank where it has none, or the key went whole."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """A prompt that fits, and what it cost."""

    prompt: dict[str, Any]
    """A new dict; items and parts that were not cut are the caller's objects."""
    size: int
    """Characters of `prompt`."""
    tokens: int | None
    """Tokens of `prompt` as sent without base64 text; None without a counter."""
    over_limit: bool
    """True when what is never cut is over a limit on its own."""
    parts: Mapping[str, int]
    """Size of each part that is left when `over_limit`, else empty; what `PromptTooLargeError` lists."""
    unit: Literal["characters", "tokens"]
    """What `parts` counts: the unit of the limit that was broken."""
    notes: tuple[str, ...]
    """What had to be made strict JSON first."""
    removed: int
    """How many removals were made."""
    plan: Plan = field(repr=False, compare=False)
    """The prompt taken apart; `cut`, `left_out` and `sections` are read from it when they are asked for."""
    ids: Mapping[str, Sequence[str]] | None = field(default=None, repr=False, compare=False)

    @property
    def cut(self) -> tuple[Cut, ...]:
        """Removals in their order."""
        return tuple(
            Cut(WHOLE_CONTEXT if section is None else section, place, _id(self, section, place))
            for section, place in self.plan.steps[: self.removed]
        )

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """One entry for each item lost, in their order; a list that went whole counts each of its items."""
        return tuple(_lost(self))

    @property
    def sections(self) -> dict[str, int]:
        """Characters of each key of `context` that is left."""
        return self.plan.section_sizes(self.removed)


def fit(
    prompt: Mapping[str, Any],
    *,
    limit_chars: int | None = None,
    limit_tokens: int | None = None,
    counter: Counter | None = None,
    dumps: Dumps | None = None,
    memory_rank: Sequence[tuple[str, Any]] | None = None,
    ids: Mapping[str, Sequence[str]] | None = None,
) -> Reduction:
    """Return the prompt with as few removals, in the order of `rules_reduction_plan`, as bring it within both limits.

    Args:
        prompt: a finished prompt; it is not changed. What is no strict JSON in it is made so first.
        limit_chars: most characters, at least 1; None for no limit.
        limit_tokens: most tokens of the text as sent, base64 left out, at least 1; None for no limit.
        counter: tokens of a text; needed with `limit_tokens`, otherwise asked once, for the result.
        dumps: another way of sending, for measuring.
        memory_rank: `(source, id)` of the memories, best first. A memory that is not named ranks below all that are,
            and of several such the last in the list goes first; so with None the list is cut from its end.
        ids: ids of the items of a section, in the order of its list, for the account of what was cut.

    Returns:
        The reduction; `over_limit` is true when a limit is broken even without `context`.

    Raises:
        ValueError: a limit that is no whole number of at least 1; `limit_tokens` without `counter`.
        TypeError: the prompt is no mapping, or the counter gave no number.

    >>> lines = [f"r{n}" for n in range(1, 7)]
    >>> fitted = fit({"context": {"history_recent": lines}, "input": "hi"}, limit_chars=72)
    >>> fitted.size, fitted.prompt["context"]["history_recent"]
    (72, ['r3', 'r4', 'r5', 'r6'])
    """
    if not isinstance(prompt, Mapping):
        raise TypeError(f"prompt is of type {type(prompt).__name__}. Pass the dict build_json_prompt gave.")
    limit_chars = read_limit_argument("max_chars", limit_chars)
    limit_tokens = read_limit_argument("limit_tokens", limit_tokens)
    if limit_tokens is not None and counter is None:
        raise ValueError("limit_tokens needs a counter. Pass counter=, or use max_chars.")
    plan, notes = _plan(prompt, dumps, memory_rank)
    sizes = _Sizes(plan, counter)

    def fits(removed: int) -> bool:
        if limit_chars is not None and sizes.chars(removed) > limit_chars:
            return False
        return limit_tokens is None or sizes.tokens(removed) <= limit_tokens

    removed = _first_fit(len(plan.steps), fits)
    over = removed == len(plan.steps) and not fits(removed)
    by_tokens = over and (limit_chars is None or sizes.chars(removed) <= limit_chars)
    return Reduction(
        prompt=plan.build(removed),
        size=sizes.chars(removed),
        tokens=sizes.tokens(removed) if counter is not None else None,
        over_limit=over,
        parts=_parts(plan.build(removed, plan.bare), dumps, counter if by_tokens else None) if over else {},
        unit="tokens" if by_tokens else "characters",
        notes=tuple(notes),
        removed=removed,
        plan=plan,
        ids=ids,
    )


def reduce_json_text(text: str, max_chars: int | None) -> str:
    """Return the JSON text of a prompt cut to `max_chars`, as far as memories and history lines allow.

    Args:
        text: a prompt as JSON text.
        max_chars: most characters, at least 1; None leaves the text as it is.

    Returns:
        The same text when it fits, is no JSON object, or nothing can be gained. Otherwise a new text in the project's
        own way of writing: memories go from the end, then history_recent from the front to none, then
        history_current_chat from the front to one. What is left may be over the limit still.

    Raises:
        ValueError: `max_chars` is no whole number of at least 1.

    >>> reduce_json_text('{"context": {"memories": ["a", "b", "c"]}}', 36)
    '{"context": {"memories": ["a"]}}'
    >>> reduce_json_text("not json", 3)
    'not json'
    """
    max_chars = read_limit_argument("max_chars", max_chars)
    if max_chars is None or len(text) <= max_chars:
        return text
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(parsed, dict):
        return text
    prompt: dict[str, Any] = make_strict(parsed)[0]
    plan = Plan(prompt, prompt, transmission_order(prompt), None)
    sizes = _Sizes(plan, None)
    made = to_json(plan.build(_first_fit(len(plan.steps), lambda removed: sizes.chars(removed) <= max_chars)))
    return made if len(made) < len(text) else text


def items_in(value: Any) -> int:
    """Return how many items a section counts in the report: those of a list, else one, none where there is nothing.

    >>> items_in(["a", "b"]), items_in("a recap"), items_in({"affinity": 0}), items_in([]), items_in(None)
    (2, 1, 1, 0, 0)
    """
    if isinstance(value, (list, tuple)):
        return len(value)
    return 0 if value is None or value in ("", {}) else 1


def count_tokens(counter: Counter, text: str) -> int:
    """Return what the counter gives for the text, a fraction rounded up.

    Raises:
        TypeError: the counter gave no number, a negative or an infinite one.

    >>> count_tokens(lambda text: len(text.split()), "a b c")
    3
    """
    count: Any = counter(text)
    if isinstance(count, bool) or not isinstance(count, (int, float)) or not math.isfinite(count) or count < 0:
        raise TypeError(f"The token counter gave {type(count).__name__}. It must give a number of tokens, 0 or more.")
    return math.ceil(count)


def _plan(
    prompt: Mapping[str, Any], dumps: Dumps | None, rank: Sequence[tuple[str, Any]] | None
) -> tuple[Plan, list[str]]:
    """Return the plan, and what had to be made strict JSON for it."""
    try:
        whole = dict(prompt)
        bare = without_base64(whole)
        return Plan(whole, bare, prompt_order(bare, rank), dumps), []
    except (TypeError, ValueError, RecursionError):
        plain, notes = make_strict(prompt)
        bare = without_base64(plain)
        return Plan(plain, bare, prompt_order(bare, rank), dumps), notes


def _first_fit(count: int, fits: Callable[[int], bool]) -> int:
    """Return how many removals to make, 0 to `count`; `count` also when nothing fits.

    Raising a limit never raises the answer, whatever counter is asked: the positions that are tried follow from earlier
    answers alone, never from the limit, so two searches run alike up to the first position where they differ. There the
    higher limit fits and the lower one does not, and from then on the first looks only at fewer removals, the second
    only at more. Where sizes fall with each removal, as characters do, the answer is the fewest that fit; a counter
    that gives more for less text may cost some removals too many, never a broken limit.

    >>> _first_fit(10, lambda removed: 100 - 7 * removed <= 60)
    6
    """
    if count == 0 or fits(0):
        return 0
    low, high = 1, count
    while low < high:
        middle = (low + high) // 2
        if fits(middle):
            high = middle
        else:
            low = middle + 1
    return low


class _Sizes:
    """Characters and tokens after a number of removals; what has to be written or counted is so at most once."""

    def __init__(self, plan: Plan, counter: Counter | None) -> None:
        self.plan = plan
        self.counter = counter
        self._chars: dict[int, int] = {}
        self._tokens: dict[int, int] = {}

    def chars(self, removed: int) -> int:
        if self.plan.sizes is not None:
            return self.plan.sizes[removed]
        if removed not in self._chars:
            self._chars[removed] = size(self.plan.build(removed, self.plan.bare), self.plan.dumps)
        return self._chars[removed]

    def tokens(self, removed: int) -> int:
        if self.counter is None:
            return 0
        if removed not in self._tokens:
            text = to_json(self.plan.build(removed, self.plan.bare), self.plan.dumps)
            self._tokens[removed] = count_tokens(self.counter, text)
        return self._tokens[removed]


def _id(made: Reduction, section: str | None, place: int | None) -> str:
    """Return the id of an item: as the caller gave it, else its own field `id`, else blank."""
    if section is None or place is None:
        return ""
    given = made.ids.get(section, ()) if made.ids else ()
    if place < len(given):
        return str(given[place])
    item = made.plan.context[section][place]
    own = item.get("id") if isinstance(item, dict) else None
    return str(own) if isinstance(own, (int, str)) and not isinstance(own, bool) else ""


def _lost(made: Reduction) -> Iterator[LeftOut]:
    plan = made.plan
    gone: dict[str, set[int]] = {}
    whole: set[str] = set()
    for section, place in plan.steps[: made.removed]:
        if section is not None and place is not None:
            gone.setdefault(section, set()).add(place)
            yield LeftOut(section, "cut", _id(made, section, place))
            continue
        for name in [section] if section is not None else [name for name in plan.context if name not in whole]:
            whole.add(name)
            value = plan.context[name]
            listed = isinstance(value, (list, tuple))
            for n in range(items_in(value)):
                if n not in gone.get(name, ()):
                    yield LeftOut(name, "cut", _id(made, name, n) if listed else "")
        if section is None and not plan.context and items_in(plan.bare[WHOLE_CONTEXT]):
            yield LeftOut(WHOLE_CONTEXT, "cut", "")


def _parts(bare: Mapping[str, Any], dumps: Dumps | None, counter: Counter | None) -> dict[str, int]:
    """Return the size of each part that is left, in tokens where a counter is given; no `__` marks."""
    parts = {name: value for name, value in bare.items() if not str(name).startswith("__")}
    if counter is None:
        return {name: size(value, dumps) for name, value in parts.items()}
    return {name: count_tokens(counter, to_json(value, dumps)) for name, value in parts.items()}
