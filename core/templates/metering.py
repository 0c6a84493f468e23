"""What a template costs: steps counted while it runs, and functions that count what they do."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sized
from contextvars import ContextVar
from functools import wraps
from typing import Any

from jinja2 import TemplateRuntimeError
from jinja2.runtime import StrictUndefined

TEXT_CHARS = 20_000_000
"""Most characters one operation in a template may make."""

CHARS_PER_STEP = 256
"""Handling this many characters costs one step."""

_CHARS_LOOKED_AT_PER_STEP = 4096
"""Comparing or copying characters is cheaper than making them."""

_VALUES_PER_STEP = 4

LIST_VALUES = TEXT_CHARS // 8
"""Longest list one operation may make; each place takes eight bytes."""

_SHALLOW = frozenset({"count", "d", "default", "first", "items", "last", "length", "list", "map", "reverse"})
"""Filters that look at the outermost value alone."""
_SORTING = frozenset({"sort", "dictsort"})


class TooManyStepsError(TemplateRuntimeError):
    """A template did more than TEMPLATE_STEPS allows, or made something too large."""


class Meter:
    """Counts the steps of one rendering and keeps the values a JSON template put out."""

    __slots__ = ("limit", "used", "values")

    def __init__(self, limit: int) -> None:
        self.limit: int = limit
        self.used: int = 0
        self.values: list[Any] = []

    def charge(self, steps: int) -> None:
        """Count steps."""
        self.used += steps
        if self.used > self.limit:
            raise TooManyStepsError(f"it takes more than {self.limit} steps (TEMPLATE_STEPS)")


METER: ContextVar[Meter] = ContextVar("prompt_engine_template_meter")


def charge(steps: int) -> None:
    """Count on the meter of this rendering; constants are folded while compiling, where there is none."""
    meter = METER.get(None)
    if meter is not None:
        meter.charge(steps)


def counted(items: Iterable[Any]) -> Iterator[Any]:
    """Yield the items, one step each; every `for` goes through this."""
    for item in items:
        charge(1)
        yield item


def measure(value: Any, chars_per_step: int = CHARS_PER_STEP, times: int = 1) -> None:
    """Count what it costs to write a value out, or to compare it, with all that is in it."""
    waiting: list[Any] = [value]
    values = chars = 0
    while waiting:
        each = waiting.pop()
        values += 1
        if isinstance(each, str):
            chars += len(each)
        elif isinstance(each, dict):
            waiting += (*each.keys(), *each.values())
        elif isinstance(each, (list, tuple, set, frozenset)):
            waiting += each
        if values >= _VALUES_PER_STEP * 64 or chars >= chars_per_step * 64:
            charge((values // _VALUES_PER_STEP + chars // chars_per_step) * times)
            values = chars = 0
    charge((values // _VALUES_PER_STEP + chars // chars_per_step) * times)


def measured(value: Any) -> Any:
    """Return the value, its size counted: what is compared goes through this, and every tuple, which may be a key."""
    measure(value, _CHARS_LOOKED_AT_PER_STEP)
    return value


def sized(value: Any) -> Any:
    """Return the value, its own length counted: what is cut goes through this."""
    if isinstance(value, Sized) and not isinstance(value, StrictUndefined):
        charge(len(value) // (_CHARS_LOOKED_AT_PER_STEP if isinstance(value, str) else _VALUES_PER_STEP))
    return value


def _measured_each(items: Iterable[Any]) -> Iterator[Any]:
    for item in items:
        charge(1)
        measure(item)
        yield item


def tested(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the test, whose arguments are measured: some compare them."""

    @wraps(function)
    def test(*args: Any, **kwargs: Any) -> Any:
        for each in args[1:] if hasattr(function, "jinja_pass_arg") else args:
            measure(each, _CHARS_LOOKED_AT_PER_STEP)
        return function(*args, **kwargs)

    return test


def checked_size(size: int) -> None:
    if size > TEXT_CHARS:
        raise TooManyStepsError(f"it makes a value of more than {TEXT_CHARS} characters")
    charge(size // CHARS_PER_STEP)


def bounded_range(*args: int) -> range:
    made = range(*args)
    meter = METER.get(None)
    if meter is not None and len(made) > meter.limit:
        raise TooManyStepsError(f"range() of more than {meter.limit} steps (TEMPLATE_STEPS)")
    return made


def joined(value: Iterable[Any], d: str = "") -> str:
    items = list(value)
    measure(items)
    texts = [str(item) for item in items]
    checked_size(sum(map(len, texts)) + len(d) * len(texts))
    return d.join(texts)


def replace(value: Any, old: str, new: str) -> str:
    text = str(value)
    checked_size(len(text) + text.count(old) * len(new))
    return text.replace(old, new)


def to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def charged(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the filter, each use of which costs a step and what the size of its input costs."""
    place = 1 if hasattr(function, "jinja_pass_arg") else 0
    looks_deep = name not in _SHALLOW

    @wraps(function)
    def filtered(*args: Any, **kwargs: Any) -> Any:
        value = args[place]
        if isinstance(value, str):
            charge(1 + len(value) // CHARS_PER_STEP)
        elif isinstance(value, Iterator):
            made: Iterable[Any] = (_measured_each if looks_deep else counted)(value)
            if name in _SORTING:
                whole = list(made)
                measure(whole, times=len(whole).bit_length())
                made = whole
            args = (*args[:place], made, *args[place + 1 :])
        elif looks_deep:
            times = len(value).bit_length() if name in _SORTING and isinstance(value, (list, tuple, dict)) else 1
            charge(1)
            measure(value, times=times)
        else:
            charge(1 + (len(value) if isinstance(value, Sized) and not isinstance(value, StrictUndefined) else 0))
        return function(*args, **kwargs)

    return filtered


def checked_places(value: Any, size: int) -> None:
    if isinstance(value, (list, tuple)) and size > LIST_VALUES:
        raise TooManyStepsError(f"it makes a list of more than {LIST_VALUES} values")
