"""Which items leave a prompt so that it fits a limit."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from ..base.limits import read_limit_argument
from ..shapes import LeftOut
from ..text.sizes import Dumps, size, to_json, without_base64
from ..text.strict_json import make_strict
from .rules_reduction_plan import (
    CURRENT,
    SHARE,
    WHOLE_CONTEXT,
    Choice,
    Place,
    Plan,
    Step,
    prompt_order,
    refill,
    transmission_order,
)

Counter = Callable[[str], int]
"""Tokens of a text."""

HISTORY_FLOOR = 6
"""Lines of this conversation that stay as long as other lists can give something."""
_WORTH_FILLING = 50
"""A long item that does not fit takes what room is left, where that is more than one part in so many of the limit."""


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
    choice: Choice = field(repr=False, compare=False)
    """What is kept."""
    plan: Plan = field(repr=False, compare=False)
    """The prompt taken apart; `cut`, `left_out` and `sections` are read from it when they are asked for."""
    history_floor: int = HISTORY_FLOOR
    ids: Mapping[str, Sequence[str]] | None = field(default=None, repr=False, compare=False)

    @property
    def removals(self) -> tuple[Cut, ...]:
        """Removals in their order, those that were taken back too."""
        return tuple(self._as_cut(step) for step in self.plan.steps[: self.choice.removed])

    @property
    def cut(self) -> tuple[Cut, ...]:
        """Removals that stand, in their order."""
        back = set(self.choice.back)
        return tuple(self._as_cut(step) for step in self.plan.steps[: self.choice.removed] if step not in back)

    @property
    def shortened(self) -> tuple[Cut, ...]:
        """Items that keep their beginning alone."""
        return tuple(self._as_cut(place) for place in self.choice.shorter)

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """One entry for each item lost, in their order; a list that went whole counts each of its items."""
        return tuple(_lost(self))

    @property
    def sections(self) -> dict[str, int]:
        """Characters of each key of `context` that is left."""
        return self.plan.section_sizes(self.choice)

    @property
    def notes_of_cuts(self) -> tuple[str, ...]:
        """What a host should know of the cut: that this conversation has fewer lines than its floor."""
        lines = self.plan.context.get(CURRENT)
        floor = min(self.history_floor, len(lines) if isinstance(lines, (list, tuple)) else 0)
        left = self.prompt.get(WHOLE_CONTEXT)
        kept = len(left.get(CURRENT) or ()) if isinstance(left, Mapping) else 0
        if kept >= floor:
            return ()
        note = (
            f"warning: {CURRENT} is cut to {kept} of {len(lines or ())} lines, fewer than history_floor"
            f" ({self.history_floor}); raise the limit, or lower MEMORY_ITEMS and CONTEXT_VERBOSITY"
        )
        return (note,)

    def _as_cut(self, step: Step) -> Cut:
        section, place = step
        return Cut(WHOLE_CONTEXT if section is None else section, place, _id(self, section, place))


def fit(
    prompt: Mapping[str, Any],
    *,
    limit_chars: int | None = None,
    limit_tokens: int | None = None,
    counter: Counter | None = None,
    dumps: Dumps | None = None,
    memory_rank: Sequence[tuple[str, Any]] | None = None,
    ids: Mapping[str, Sequence[str]] | None = None,
    history_floor: int = HISTORY_FLOOR,
) -> Reduction:
    """Return the prompt within both limits, and filled as far as its items allow."""
    if not isinstance(prompt, Mapping):
        raise TypeError(f"prompt is of type {type(prompt).__name__}. Pass the dict build_json_prompt gave.")
    limit_chars = read_limit_argument("max_chars", limit_chars)
    limit_tokens = read_limit_argument("limit_tokens", limit_tokens)
    if limit_tokens is not None and counter is None:
        raise ValueError("limit_tokens needs a counter. Pass counter=, or use max_chars.")
    plan, notes = _plan(prompt, dumps, memory_rank, history_floor)
    sizes = _Sizes(plan, counter, limit_chars, limit_tokens)
    choice = Choice()
    if not sizes.fits(choice):
        choice = _choose(plan, sizes)
    over = not sizes.fits(choice)
    by_tokens = over and (limit_chars is None or sizes.chars(choice) <= limit_chars)
    bare = plan.build(choice, plan.bare) if over else {}
    return Reduction(
        prompt=plan.build(choice),
        size=sizes.chars(choice),
        tokens=sizes.tokens(choice) if counter is not None else None,
        over_limit=over,
        parts=_parts(bare, dumps, counter if by_tokens else None) if over else {},
        unit="tokens" if by_tokens else "characters",
        notes=tuple(notes),
        choice=choice,
        plan=plan,
        history_floor=history_floor,
        ids=ids,
    )


def _choose(plan: Plan, sizes: _Sizes) -> Choice:
    """Return what is kept of a prompt that does not fit."""
    limit = sizes.limit_as_chars()
    room = limit - plan.frame
    share = room // SHARE
    large = {place for place in plan.large(room) if plan.can_shorten(place, room)}

    def keeping(removed: int) -> Choice:
        choice = Choice(removed)
        if not large:
            return choice
        lost, whole = plan.removed_places(choice)
        kept = (place for place in plan.context_places(large) if place[0] not in whole)
        short = {place: plan.shortened(place, share) for place in kept if place[1] not in lost.get(place[0], ())}
        return Choice(removed, shorter={} if plan.is_bare(choice) else short)

    # 1. as few removals as bring it within the limits
    if sizes.are_exact:
        counted = plan.sizes(room, large)
        removed = _first_fit(len(plan.steps), lambda removed: counted[removed] <= limit * SHARE)
    else:
        removed = _first_fit(len(plan.steps), lambda removed: sizes.fits(keeping(removed)))
    choice = keeping(removed)
    if removed == 0 or plan.is_bare(choice):
        return choice
    # 2. what fits whole comes back
    back = refill(plan, choice, sizes.left_chars(choice, limit), share, large)

    def with_back(count: int) -> Choice:
        more = {step: plan.shortened(_place(step), share) for step in back[:count] if step in large}
        return replace(choice, back=back[:count], shorter={**choice.shorter, **more})

    count = len(back)
    if not sizes.are_exact:
        count -= _first_fit(len(back), lambda fewer: sizes.fits(with_back(len(back) - fewer)))
    choice = with_back(count)
    # 3. a long one takes the rest
    left = sizes.left_chars(choice, limit)
    lost, whole = plan.removed_places(choice)
    for step in reversed(plan.steps[:removed]) if left * _WORTH_FILLING > limit else ():
        name, n = step
        if name is None or name in whole or n not in lost.get(name, ()):
            continue
        if step in large or (left * 2 * SHARE > room and plan.can_shorten((name, n), room)):
            item = plan.shortened((name, n), left - plan.measure.comma)
            fuller = replace(choice, back=[*choice.back, step], shorter={**choice.shorter, (name, n): item})
            return fuller if item is not None and sizes.fits(fuller) else choice
    return choice


def _place(step: Step) -> Place:
    name, n = step
    assert name is not None
    return name, n


def reduce_json_text(text: str, max_chars: int | None) -> str:
    """Return the JSON text of a prompt cut to `max_chars`, as far as memories and history lines allow."""
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
    sizes = plan.sizes()
    removed = _first_fit(len(plan.steps), lambda removed: sizes[removed] <= max_chars * SHARE)
    made = to_json(plan.build(Choice(removed)))
    return made if len(made) < len(text) else text


def items_in(value: Any) -> int:
    """Return how many items a section counts in the report: those of a list, else one, none where there is nothing."""
    if isinstance(value, (list, tuple)):
        return len(value)
    return 0 if value is None or value in ("", {}) else 1


def count_tokens(counter: Counter, text: str) -> int:
    """Return what the counter gives for the text, a fraction rounded up."""
    count: Any = counter(text)
    if isinstance(count, bool) or not isinstance(count, (int, float)) or not math.isfinite(count) or count < 0:
        raise TypeError(f"The token counter gave {type(count).__name__}. It must give a number of tokens, 0 or more.")
    return math.ceil(count)


def _plan(
    prompt: Mapping[str, Any], dumps: Dumps | None, rank: Sequence[tuple[str, Any]] | None, floor: int
) -> tuple[Plan, list[str]]:
    """Return the plan, and what had to be made strict JSON for it."""
    try:
        whole = dict(prompt)
        bare = without_base64(whole)
        return Plan(whole, bare, prompt_order(bare, rank, floor), dumps), []
    except (TypeError, ValueError, RecursionError):
        plain, notes = make_strict(prompt)
        bare = without_base64(plain)
        return Plan(plain, bare, prompt_order(bare, rank, floor), dumps), notes


def _first_fit(count: int, fits: Callable[[int], bool]) -> int:
    """Return how many removals to make, 0 to `count`; `count` also when nothing fits."""
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
    """Characters and tokens of what is kept; what has to be written or counted is so at most once."""

    def __init__(self, plan: Plan, counter: Counter | None, limit_chars: int | None, limit_tokens: int | None) -> None:
        self.plan = plan
        self.counter = counter
        self.limit_chars, self.limit_tokens = limit_chars, limit_tokens
        self.are_exact: bool = plan.is_exact and limit_tokens is None
        """Whether arithmetic alone says what fits."""
        self._chars: dict[Any, int] = {}
        self._tokens: dict[Any, int] = {}

    def chars(self, choice: Choice) -> int:
        key = _key(choice)
        if key not in self._chars:
            self._chars[key] = self.plan.size_after(choice)
        return self._chars[key]

    def tokens(self, choice: Choice) -> int:
        if self.counter is None:
            return 0
        key = _key(choice)
        if key not in self._tokens:
            text = to_json(self.plan.build(choice, self.plan.bare), self.plan.dumps)
            self._tokens[key] = count_tokens(self.counter, text)
        return self._tokens[key]

    def fits(self, choice: Choice) -> bool:
        if self.limit_chars is not None and self.chars(choice) > self.limit_chars:
            return False
        return self.limit_tokens is None or self.tokens(choice) <= self.limit_tokens

    def limit_as_chars(self) -> int:
        """Return both limits as characters of the project's own way of writing, an estimate where that is not asked."""
        return self._as_chars(self.limit_chars, self.limit_tokens)

    def left_chars(self, choice: Choice, limit: int) -> int:
        """Return how many more characters would fit, an estimate likewise."""
        if self.are_exact:
            return limit - self.chars(choice)
        tokens = None if self.limit_tokens is None else self.limit_tokens - self.tokens(choice)
        return self._as_chars(None if self.limit_chars is None else self.limit_chars - self.chars(choice), tokens)

    def _as_chars(self, chars: int | None, tokens: int | None) -> int:
        whole, plan = Choice(), self.plan
        limits = []
        if chars is not None:
            limits.append(chars if plan.is_exact else chars * plan.whole // max(self.chars(whole), 1))
        if tokens is not None:
            limits.append(tokens * plan.whole // max(self.tokens(whole), 1))
        return min(limits)


def _key(choice: Choice) -> Any:
    """Return what tells the choices of one call apart."""
    return choice.removed, tuple(choice.back), tuple(choice.shorter)


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
    plan, choice = made.plan, made.choice
    is_bare = plan.is_bare(choice)
    places, whole = plan.removed_places(choice)
    if is_bare:
        whole = set(plan.context)
    told: set[Place] = set()
    for name, n in plan.steps[: choice.removed]:
        for section in [name] if name is not None else list(plan.context):
            lost = places.get(section, set())
            if n is not None:
                numbers = [n] if n in lost or section in whole else []
            elif section in plan.items:
                numbers = [m for m in range(len(plan.items[section])) if m in lost or section in whole]
            else:
                if section in whole and (section, None) not in told and items_in(plan.context[section]):
                    yield LeftOut(section, "cut", "")
                told.add((section, None))
                continue
            for each in numbers:
                if (section, each) not in told:
                    told.add((section, each))
                    yield LeftOut(section, "cut", _id(made, section, each))
        if name is None and not plan.context and items_in(plan.bare[WHOLE_CONTEXT]):
            yield LeftOut(WHOLE_CONTEXT, "cut", "")


def _parts(bare: Mapping[str, Any], dumps: Dumps | None, counter: Counter | None) -> dict[str, int]:
    """Return the size of each part that is left, in tokens where a counter is given; no `__` marks."""
    parts = {name: value for name, value in bare.items() if not str(name).startswith("__")}
    if counter is None:
        return {name: size(value, dumps) for name, value in parts.items()}
    return {name: count_tokens(counter, to_json(value, dumps)) for name, value in parts.items()}
