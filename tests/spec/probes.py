"""What a probe of a flag is: a call whose outcome must differ between two values. `test_flags` runs all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.spec.stage import Stage

Probe = Callable[[Stage, Any], object]
PROBES: dict[str, tuple[Probe, Any, Any]] = {}


def probe(before: Any, after: Any, *, name: str = "") -> Callable[[Probe], Probe]:
    """Register what must differ between two values of the flag the function is named after."""

    def keep(function: Probe) -> Probe:
        PROBES[name or function.__name__.removeprefix("_").upper()] = (function, before, after)
        return function

    return keep


def register(name: str, before: Any, after: Any, function: Probe) -> None:
    """Register a probe by the flag's name."""
    PROBES[name] = (function, before, after)
